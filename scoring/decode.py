"""Serving a transformer: one new token for each of a batch of sequences, and what bounds it.

    token = Σ over operators of max(bytes / memory rate, flop / rate) + all-reduces + gaps

The sum over operators, not one maximum of sums: a layer's weights, its cache and its messages wait
for each other. A replica is tp · pp GPUs; where experts are spread (ep > 1) the data-parallel ranks
of attention share them and move in step. Batch is per tp group and pipeline slot.

References
----------
R. Pope et al., "Efficiently scaling transformer inference," MLSys 2023. arXiv:2211.05102.
DeepSeek-AI, arXiv:2412.19437, section 3.4: expert parallelism with data-parallel attention.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np

from scoring.collectives import NEVER, Group, collective_time, domain_rate, group
from scoring.constants import DECODE, KERNELS, MEMORY
from scoring.hardware import Cluster
from scoring.kernels import attention_flop_per_s, gemm_flop_per_s, stream_bytes_per_s
from scoring.layout import MAX_EP, MAX_TP, Layout, divisors, stages_divide
from scoring.memory import BF16, MemoryTerms
from scoring.traffic import Traffic
from scoring.units import GIGA, MICRO, Value, ceil, maximum, minimum, where
from scoring.workload import WEIGHT_BYTES, Job

MAX_BATCH = 4096  # sequences of one group; beyond it schedulers, not GPUs, are the limit


@dataclass(frozen=True, slots=True)
class TokenTime:
    """Seconds of one decoding step by where they go. All broadcast over layouts."""

    weights: Value  # matrix products: reading weights, or computing
    cache: Value  # attention over the KV cache
    exposed_tp: Value
    exposed_pp: Value
    exposed_ep: Value
    overhead: Value  # gaps between kernels and the scheduler
    traffic: tuple[Traffic, ...] = ()

    @property
    def total(self) -> Value:
        """Time per output token. [s]"""
        local = self.weights + self.cache + self.overhead
        return local + self.exposed_tp + self.exposed_pp + self.exposed_ep

    @property
    def exposed(self) -> Value:
        """Communication, none of which is hidden. [s]"""
        return self.exposed_tp + self.exposed_pp + self.exposed_ep


def token_time(cluster: Cluster, job: Job, layout: Layout) -> TokenTime:
    """One decoding step of a layout, or of a column of them. [s]

    layout.micro_batch sequences of job.seq_len tokens of context on each tp group and stage.
    """
    model, gpu = job.transformer, cluster.gpu
    batch, tp = layout.micro_batch, layout.tp
    width = WEIGHT_BYTES[_stored(cluster, job)]
    reading = gpu.memory_bytes_per_s * KERNELS.skinny_memory_efficiency
    rate = gemm_flop_per_s(gpu, gpu.precision(job.precision))

    def matrix(parameters: Value, rows: Value) -> Value:
        """One matrix: its bytes, or its flop, whichever takes longer. [s]"""
        padded = rows + KERNELS.gemm_m_half
        return maximum(parameters * width / reading, 2.0 * padded * parameters / rate)

    kv_ranks = 1.0 if model.kv_width else minimum(tp, float(model.kv_heads))
    layer = matrix(model.attention_parameters / tp, batch)
    dense = model.dense_layers / model.layers
    layer = layer + dense * matrix(model.dense_mlp_parameters / tp, batch)
    expert: Value = 0.0
    expert_traffic: Traffic | None = None
    if model.moe_layers:
        mixture = 1.0 - dense
        tokens = batch * where(layout.ep > 1, layout.ep / tp, 1.0)  # that share these experts
        hit = 1.0 - (1.0 - model.topk / model.experts) ** tokens
        cut = where(layout.ep > 1, layout.ep, tp)
        touched = model.experts * hit * model.expert_parameters / cut
        pairs = tokens * model.topk * model.expert_parameters / cut
        routed = (
            DECODE.moe_us * MICRO
            + touched * width / (gpu.memory_bytes_per_s * DECODE.moe_memory_efficiency)
            + 2.0 * pairs / (rate * DECODE.moe_gemm_efficiency)
        )
        layer = layer + mixture * routed
        layer = layer + mixture * matrix(model.shared_parameters / tp, batch)
        g = group(cluster, layout.ep)
        size = (1.0 + BF16) / 2 * batch / tp * model.topk * model.hidden
        time = collective_time(cluster, "all_to_all", size, g)
        expert = 2.0 * model.moe_layers * time
        expert_traffic = Traffic("expert dispatch", "all_to_all", size, g, time, expert)
    head = maximum(
        BF16 * model.embedding_parameters / tp / reading,
        2.0 * batch * model.embedding_parameters / tp / gemm_flop_per_s(gpu, gpu.precision("bf16")),
    )
    cached = batch * job.seq_len * model.kv_cached * cache_width(cluster, job) / kv_ranks
    attention = cached / (gpu.memory_bytes_per_s * KERNELS.kv_memory_efficiency)
    tensor, tensor_traffic = _all_reduces(cluster, job, layout)
    hop = group(cluster, layout.pp, tp * layout.dp)
    send = collective_time(cluster, "send_recv", BF16 * batch * model.hidden, hop)
    sends = where(layout.pp > 1, (layout.pp - 1) * send, 0.0)
    gaps = model.layers * DECODE.kernels_per_layer * DECODE.kernel_us * MICRO
    return TokenTime(
        weights=model.layers * layer + head,
        cache=model.layers * (attention + DECODE.attention_us * MICRO),
        exposed_tp=tensor,
        exposed_pp=sends,
        exposed_ep=expert,
        overhead=gaps + DECODE.scheduler_ms * 1e-3,
        traffic=tuple(t for t in (tensor_traffic, expert_traffic) if t is not None),
    )


def _all_reduces(cluster: Cluster, job: Job, layout: Layout) -> tuple[Value, Traffic]:
    """Two sums a layer of batch · hidden, by NCCL or by a one-shot kernel. [s]"""
    model = job.transformer
    g = group(cluster, layout.tp)
    size = BF16 * layout.micro_batch * model.hidden
    time = minimum(
        collective_time(cluster, "all_reduce", size, g), one_shot_all_reduce(cluster, size, g)
    )
    time = where(g.ranks > 1, time, 0.0)
    dense = 1.0 - model.moe_layers / model.layers
    blocks = where(layout.ep > 1, 1.0 + dense, 2.0)
    shown = model.layers * blocks * time
    return shown, Traffic("tensor parallel", "all_reduce", size, g, time, shown)


def one_shot_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """A kernel in a CUDA graph in which each rank reads all others' buffers (vLLM, SGLang). [s]

    t = floor + (n − 1) · size / (e · B); legal for up to 8 ranks of one NVLink domain and 2 MiB.
    """
    floor = DECODE.custom_all_reduce_us.get(cluster.link_name)
    if floor is None or cluster.domain_gpus <= 1:
        return NEVER
    rate = domain_rate(cluster, g.fast)
    legal = (g.fast == g.ranks) & (g.ranks <= 8) & (size <= DECODE.custom_all_reduce_bytes)
    return where(legal, floor * MICRO + (g.ranks - 1) * size / maximum(rate, 1.0), NEVER)


def _stored(cluster: Cluster, job: Job) -> str:
    return cluster.gpu.precision(job.precision)


def cache_width(cluster: Cluster, job: Job) -> float:
    """Bytes of one cached number: 1 where the job and the GPU compute in fp8 or less, else 2."""
    return 1.0 if _stored(cluster, job) in ("fp8", "nvfp4") else BF16


def prefill_time(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """Time to the first token of one prompt on an idle replica. [s]"""
    model, gpu = job.transformer, cluster.gpu
    tokens = max(job.prompt_len, 1)
    cut = layout.tp
    rate = gemm_flop_per_s(gpu, gpu.precision(job.precision))
    flop = 2.0 * (tokens + KERNELS.gemm_m_half) * model.active_parameters / cut
    scores = float(tokens) ** 2 * model.layers * model.heads * 2 * model.head_dim / cut
    passes = model.layers * tokens * 2.0 * 20.0 * model.hidden / cut / stream_bytes_per_s(gpu)
    g = group(cluster, layout.tp)
    size = BF16 * tokens * model.hidden
    sums = 2.0 * model.layers * collective_time(cluster, "all_reduce", size, g)
    local = (
        flop / rate
        + scores
        / attention_flop_per_s(gpu, "flash3", tokens, (model.head_dim + model.v_head_dim) / 2)
        + passes
    )
    return local + sums + DECODE.scheduler_ms * 1e-3


def decode_memory(cluster: Cluster, job: Job, layout: Layout) -> MemoryTerms:
    """Bytes of one GPU of a serving layout: weights, the cache of its sequences, the rest. [B]"""
    model = job.transformer
    width = WEIGHT_BYTES[_stored(cluster, job)]
    ends = BF16 * model.embedding_parameters * (1 if model.tied_embeddings else 2)
    body = model.non_expert_parameters - ends / BF16
    cut = where(layout.ep > 1, layout.ep, layout.tp)
    share = ceil(model.layers / layout.pp - 1e-9) / model.layers
    weights = width * share * (body / layout.tp + model.routed_parameters / cut) + ends / layout.tp
    kv_ranks = 1.0 if model.kv_width else minimum(layout.tp, float(model.kv_heads))
    sequences = layout.micro_batch * layout.pp
    cache = sequences * job.seq_len * model.kv_cached * cache_width(cluster, job)
    return MemoryTerms(
        weights=weights,
        gradients=0.0,
        optimizer=0.0,
        activations=cache * share * model.layers / kv_ranks,
        logits=4.0 * layout.micro_batch * model.vocab / layout.tp,
        gathered=0.0,
        overhead=MEMORY.overhead_bytes + 1.0 * GIGA,
    )


@lru_cache(maxsize=256)
def decode_candidates(job: Job, gpus: int) -> Layout:
    """Every serving layout over the GPUs, one row each: tp, pp, ep, and the batch of a group."""
    model = job.transformer
    rows: list[tuple[float, ...]] = []
    for tp, pp in product(divisors(model.heads, MAX_TP), divisors(gpus, 64)):
        if gpus % (tp * pp) or not stages_divide(model, pp):
            continue
        dp = gpus // (tp * pp)
        eps = [ep for ep in divisors(model.experts, MAX_EP) or (1,) if (tp * dp) % ep == 0]
        # Spread experts need whole tp groups in step: ep is 1 or a multiple of tp.
        for ep in (ep for ep in eps if ep == 1 or ep % tp == 0):
            rows += [(tp, pp, dp, 1, ep, q, 1, 0, 0) for q in _batches(job, dp * pp)]
    table = np.array(rows, dtype=np.float64).reshape(-1, 9)
    return Layout(*table.T)


def _batches(job: Job, groups: int) -> list[int]:
    if job.micro_batch:
        return [job.micro_batch]
    if job.global_batch:
        return [-(-job.global_batch // groups)]
    halves = (round(2 ** (k / 2)) for k in range(25))
    return sorted({q for q in halves if q <= MAX_BATCH})


def tokens_per_s(job: Job, layout: Layout, token: Value) -> Value:
    """Output tokens of all groups in a second: a token of every sequence in flight. [1/s]"""
    in_flight = layout.micro_batch * layout.pp * layout.dp
    if job.global_batch:
        in_flight = minimum(in_flight, float(job.global_batch))
    return in_flight / token


def decode_layouts(cluster: Cluster, job: Job, gpus: int, top: int = 1) -> list[Layout]:
    """The layouts of highest throughput that fit and meet max_tpot_ms, best first.

    Where none is fast enough, the ones with the shortest time per token.
    """
    rows = decode_candidates(job, gpus)
    if not len(rows):
        return []
    fits = np.asarray(decode_memory(cluster, job, rows).total) <= cluster.gpu.memory_bytes
    if not fits.any():
        return []
    rows = rows.rows(fits)
    token = np.asarray(token_time(cluster, job, rows).total)
    merit = -np.asarray(tokens_per_s(job, rows, token))
    if job.max_tpot_ms is not None:
        fast = token <= job.max_tpot_ms * 1e-3
        merit = np.where(fast, merit, token) if fast.any() else token
    order = np.argsort(merit, kind="stable")[:top]
    return [rows.row(int(index)) for index in order]

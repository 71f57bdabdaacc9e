"""Serving a transformer: one new token for each of a batch of sequences, and what bounds it.

    token = Σ over kernels of (floor + max(bytes / memory rate, flop / rate)) + messages + the host

The sum over kernels, not one maximum of sums: a layer's weights, its cache and its messages wait
for each other. A replica is tp · pp GPUs; where experts are spread (ep > tp) the data-parallel
ranks of attention share them and move in step, so that one without a sequence idles. Batch is per
tp group and pipeline slot.

References
----------
R. Pope et al., "Efficiently scaling transformer inference," MLSys 2023. arXiv:2211.05102.
DeepSeek-AI, arXiv:2412.19437, section 3.4: expert parallelism with data-parallel attention.
Y. Leviathan et al., arXiv:2211.17192: speculative decoding.
"""

from dataclasses import dataclass, replace

import numpy as np

from scoring.collectives import Group, collective_time, group
from scoring.constants import MEMORY
from scoring.engines import ENGINES, SERVING, expert_us, reading_bytes_per_s
from scoring.formats import attention_format, cache_bytes, maths, stored, weight_bytes
from scoring.gpus import Gpu
from scoring.hardware import Cluster
from scoring.kernels import gemm_flop_per_s
from scoring.layout import Layout
from scoring.memory import BF16, MemoryTerms
from scoring.prefill import prefill_time
from scoring.traffic import Traffic
from scoring.units import GIGA, MICRO, Value, ceil, maximum, minimum, where
from scoring.workload import Job

MAX_BATCH = 4096  # sequences of one group; beyond it schedulers, not GPUs, are the limit


@dataclass(frozen=True, slots=True)
class TokenTime:
    """Seconds of one output token by where they go. All broadcast over layouts."""

    weights: Value  # matrix products: reading weights, or computing
    cache: Value  # attention over the KV cache
    exposed_tp: Value
    exposed_pp: Value
    exposed_ep: Value
    bubble: Value  # stages waiting for one another
    overhead: Value  # small kernels, and the host between two steps
    prefill: Value = 0.0  # prompts of others that share the steps
    traffic: tuple[Traffic, ...] = ()

    @property
    def total(self) -> Value:
        """Time per output token. [s]"""
        return self.local + self.exposed

    @property
    def local(self) -> Value:
        """All but communication. [s]"""
        return self.weights + self.cache + self.overhead + self.prefill

    @property
    def exposed(self) -> Value:
        """Communication, none of which is hidden, and stages that wait. [s]"""
        return self.exposed_tp + self.exposed_pp + self.exposed_ep + self.bubble

    def per_token(self, accepted: float) -> "TokenTime":
        """The same where each step yields `accepted` tokens; a prompt's share does not shrink."""
        shrunk = {name: getattr(self, name) / accepted for name in STEP_TERMS}
        traffic = tuple(replace(t, exposed=t.exposed / accepted) for t in self.traffic)
        return replace(self, **shrunk, traffic=traffic)


SUMS = ("all_reduce", "custom_all_reduce")
STEP_TERMS = (
    *("weights", "cache", "exposed_tp", "exposed_pp", "exposed_ep", "bubble", "overhead"),
)


def token_time(cluster: Cluster, job: Job, layout: Layout) -> TokenTime:
    """One output token of a layout, or of a column of them. [s]

    layout.micro_batch sequences of job.seq_len tokens of context on each tp group and stage. Where
    job.output_len is given, batching is continuous: a slot takes a new prompt of job.prompt_len
    once in output_len tokens, and all wait for it. With job.drafted guesses a step each step reads
    weights and cache once for 1 + drafted rows, and yields job.accepted tokens.
    """
    model = job.transformer
    rows = layout.micro_batch * (1.0 + job.drafted)
    # In a full pipeline the slowest stage sets the pace: it has the odd layer, or the head.
    slots = filled_slots(job, layout)
    paced = where(slots > 1, ceil(model.layers / layout.pp - 1e-9) * layout.pp, model.layers)
    drafts = 1.0 + job.drafted / model.layers  # each guess is one more layer, and the head
    head = slots * (1.0 + job.drafted) * _head(cluster, job, layout, rows)
    tensor, tensor_traffic = _all_reduces(cluster, job, layout, rows)
    expert, expert_traffic = _dispatch(cluster, job, layout, rows)
    hop = group(cluster, layout.pp, layout.tp * layout.dp)
    size = BF16 * rows * model.hidden
    send = collective_time(cluster, "send_recv", size, hop)
    sends = where(layout.pp > 1, layout.pp * send, 0.0)
    small = SERVING.layer_us + SERVING.router_us * model.moe_layers / model.layers
    host = ENGINES[job.engine].step_ms * 1e-3 * slots
    weights = paced * drafts * _products(cluster, job, layout, rows) + head
    cache = drafts * _attention(cluster, job, layout)
    # Sequences end when they like, so slots are never equal and stages wait for one another.
    waits = SERVING.stage_wait * (slots - 1.0) * (weights + cache)
    step = TokenTime(
        weights=weights,
        cache=cache,
        exposed_tp=tensor,
        exposed_pp=sends,
        exposed_ep=expert,
        bubble=waits,
        overhead=paced * small * MICRO + host,
        traffic=(
            tensor_traffic,
            *(() if expert_traffic is None else (expert_traffic,)),
            Traffic("pipeline", "send_recv", size, hop, send, sends),
        ),
    )
    shared: Value = 0.0
    if job.output_len and job.prompt_len:
        prompt = prefill_time(cluster, job, layout, alone=False)
        shared = layout.micro_batch / job.output_len * prompt
    return replace(step.per_token(job.accepted), prefill=shared)


def filled_slots(job: Job, layout: Layout) -> Value:
    """Pipeline slots with sequences in them: all pp, unless there are too few to fill them."""
    if not job.global_batch:
        return layout.pp
    share = job.global_batch / (layout.dp * layout.micro_batch)
    return minimum(layout.pp, maximum(ceil(share - 1e-9), 1.0))


def busy_share(job: Job, layout: Layout) -> Value:
    """Of the places for a sequence in all groups and slots, those that are taken: the rest idle."""
    if not job.global_batch:
        return 1.0
    return minimum(job.global_batch / (layout.dp * layout.pp * layout.micro_batch), 1.0)


def tokens_per_s(job: Job, layout: Layout, token: Value) -> Value:
    """Output tokens of all groups in a second: a token of every sequence in flight. [1/s]"""
    in_flight = layout.micro_batch * layout.pp * layout.dp
    if job.global_batch:
        in_flight = minimum(in_flight, float(job.global_batch))
    return in_flight / token


def _products(cluster: Cluster, job: Job, layout: Layout, rows: Value) -> Value:
    """All matrix products of one mean layer. [s]"""
    model, gpu, tp = job.transformer, cluster.gpu, layout.tp
    reading = reading_bytes_per_s(gpu, job.engine)
    kind = attention_format(job)
    rate = gemm_flop_per_s(gpu, maths(gpu, kind))

    def matrices(parameters: Value, count: float) -> Value:
        """`count` products of so many local weights together. [s]"""
        read = parameters * weight_bytes(kind) / reading
        flop = 2.0 * rows * parameters / rate
        return count * SERVING.product_us[kind] * MICRO + maximum(read, flop)

    # Queries, keys and values are one product, gate and up another; compressed attention has its
    # two ways down and up between them.
    layer = matrices(model.attention_parameters / tp, 5.0 if model.kv_width else 2.0)
    mixture = model.moe_layers / model.layers
    if model.dense_layers:
        layer = layer + model.dense_layers / model.layers * matrices(
            model.dense_mlp_parameters / tp, 2.0
        )
    if not model.moe_layers:
        return layer
    shared = matrices(model.shared_parameters / tp, 3.0 if model.shared_ffn_hidden else 1.0)
    return layer + mixture * (shared + _experts(cluster, job, layout, rows))


def _experts(cluster: Cluster, job: Job, layout: Layout, rows: Value) -> Value:
    """The routed experts of one mixture: those that some token hits are read. [s]

    Of E experts T tokens that pick k each hit E · (1 − (1 − k/E)^T), if they pick evenly.
    """
    model, gpu, kind = job.transformer, cluster.gpu, stored(job)
    spread = layout.ep > layout.tp
    ranks = where(spread, layout.ep / layout.tp, 1.0)  # that share these experts
    tokens = rows * maximum(ranks * busy_share(job, layout), 1.0)
    hit = model.experts * (1.0 - (1.0 - model.topk / model.experts) ** tokens)
    local = model.expert_parameters / maximum(layout.ep, layout.tp)
    reading = reading_bytes_per_s(gpu, job.engine) * SERVING.expert_widened.get(kind, 1.0)
    read = hit * local * weight_bytes(kind) / reading
    rate = gemm_flop_per_s(gpu, maths(gpu, kind)) * SERVING.expert_efficiency
    return expert_us(gpu) * MICRO + read + 2.0 * tokens * model.topk * local / rate


def _head(cluster: Cluster, job: Job, layout: Layout, rows: Value) -> Value:
    """The output projection, which is never narrow. [s]"""
    local = job.transformer.embedding_parameters / layout.tp
    rate = gemm_flop_per_s(cluster.gpu, cluster.gpu.precision("bf16"))
    read = BF16 * local / reading_bytes_per_s(cluster.gpu, job.engine)
    return maximum(read, 2.0 * rows * local / rate)


def _attention(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """Attention over the cache of all layers: its bytes, or the flop of many heads over few. [s]

    Compressed attention meets every head with the same cached vector, so with all heads on one GPU
    it is bound by arithmetic. An index reads a short key of every token to pick those that count.
    """
    model, gpu, tp = job.transformer, cluster.gpu, layout.tp
    sequences, context = layout.micro_batch, float(job.seq_len)
    seen = min(context, model.attended) if model.attended else context
    width = cache_bytes(gpu, job)
    others = model.layers - model.whole_layers
    states = others * model.state_width * BF16 * 2.0 / tp  # read and written
    tokens = model.whole_layers * seen + others * min(seen, float(model.window))
    read = model.kv_cached * width * tokens / kv_ranks(job, layout) + states
    if model.attended:
        read = read + model.whole_layers * context * SERVING.index_bytes
    per_token = 2.0 * model.kv_width if model.kv_width else model.head_dim + model.v_head_dim
    flop = 2.0 * tokens * model.heads / tp * per_token * (1.0 + job.drafted)
    rate = gpu.flop_per_s[gpu.precision("bf16")] * gpu.family.attention["flash3"]
    moved = maximum(read / (gpu.memory_bytes_per_s * SERVING.cache_reading), flop / rate)
    floors = model.layers * SERVING.attention_us
    floors += others * SERVING.state_us if model.state_width else 0.0
    floors += model.layers * SERVING.index_us if model.attended else 0.0
    return sequences * moved + floors * MICRO


def kv_ranks(job: Job, layout: Layout) -> Value:
    """Ranks of a tp group among which the cache is divided; the others hold copies."""
    model = job.transformer
    return 1.0 if model.kv_width else minimum(layout.tp, float(model.kv_heads))


def _all_reduces(cluster: Cluster, job: Job, layout: Layout, rows: Value) -> tuple[Value, Traffic]:
    """Two sums a layer of rows · hidden, by NCCL or by a kernel inside the CUDA graph. [s]

    Experts inside the tp group sum like an MLP; spread ones are reached by `_dispatch` instead.
    """
    model = job.transformer
    g = group(cluster, layout.tp)
    size = BF16 * rows * model.hidden
    by_nccl, in_graph = (collective_time(cluster, kind, size, g) for kind in SUMS)
    time = minimum(by_nccl, in_graph)
    dense = 1.0 - model.moe_layers / model.layers
    blocks = where(layout.ep > layout.tp, 1.0 + dense, 2.0)
    shown = model.layers * blocks * time
    kind = SUMS[bool(np.all(in_graph < by_nccl))]
    return shown, Traffic("tensor parallel", kind, size, g, time, shown)


def _dispatch(
    cluster: Cluster, job: Job, layout: Layout, rows: Value
) -> tuple[Value, Traffic | None]:
    """Tokens to the experts of other ranks, in 8 bits, and their results back in 16. [s]

    Nothing is hidden: engines that split a batch in two to compute beside it do better.
    """
    model = job.transformer
    if not model.moe_layers:
        return 0.0, None
    g = group(cluster, layout.ep)
    size = (1.0 + BF16) / 2 * rows / layout.tp * model.topk * model.hidden
    time = one_sided_exchange(cluster, size, g)
    shown = where(layout.ep > layout.tp, 2.0 * model.moe_layers * time, 0.0)
    return shown, Traffic("expert dispatch", "all_to_all", size, g, time, shown)


def one_sided_exchange(cluster: Cluster, size: Value, g: Group) -> Value:
    """An all-to-all of short messages that ranks write straight into each other's memory. [s]

    Inside a domain as any other; between them one floor and size · (n − near)/n over the NIC,
    without a meeting of every pair: DeepEP's low-latency kernels on 16 to 256 H800 within 13 %.
    """
    plain = collective_time(cluster, "all_to_all", size, g)
    leaving = (g.ranks - g.near) / g.ranks * size
    outer = leaving / max(cluster.nic_effective_bytes_per_s, 1.0)
    return where(g.domains > 1, minimum(SERVING.exchange_us * MICRO + outer, plain), plain)


# ------------------------------------------------------------------ memory


def decode_memory(gpu: Gpu, job: Job, layout: Layout) -> MemoryTerms:
    """Bytes of one GPU of a serving layout: weights, the cache of its sequences, the rest. [B]"""
    model = job.transformer
    ends = BF16 * model.embedding_parameters * (1 if model.tied_embeddings else 2)
    body = model.non_expert_parameters - ends / BF16
    share = ceil(model.layers / layout.pp - 1e-9) / model.layers
    dense = weight_bytes(attention_format(job)) * body / layout.tp
    routed = weight_bytes(stored(job)) * model.routed_parameters / maximum(layout.ep, layout.tp)
    sequences = layout.micro_batch * layout.pp
    return MemoryTerms(
        weights=share * (dense + routed) + ends / layout.tp,
        gradients=0.0,
        optimizer=0.0,
        activations=0.0,
        cache=sequences * share * sequence_bytes(gpu, job, layout),
        logits=4.0 * layout.micro_batch * model.vocab / layout.tp,
        gathered=0.0,
        overhead=MEMORY.overhead_bytes + 1.0 * GIGA,
    )


def sequence_bytes(gpu: Gpu, job: Job, layout: Layout) -> Value:
    """Cache of one sequence of job.seq_len tokens in all layers, on one GPU of its tp group. [B]"""
    cached = job.transformer.cached(float(job.seq_len)) * cache_bytes(gpu, job)
    return cached / kv_ranks(job, layout)


def most_sequences(gpu: Gpu, job: Job, layout: Layout) -> Value:
    """Sequences of a tp group and stage whose cache fits beside the weights; 0 where none does."""
    empty = decode_memory(gpu, job, replace(layout, micro_batch=0.0 * layout.tp))
    one = decode_memory(gpu, job, replace(layout, micro_batch=0.0 * layout.tp + 1.0))
    each = one.total - empty.total
    free = gpu.memory_bytes - empty.total
    return minimum(maximum(free / each // 1.0, 0.0), float(MAX_BATCH))

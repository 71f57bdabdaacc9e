"""The time of one training step, term by term: compute, what communication shows, and the bubble.

    t = m · (layers of a stage · layer + ...) + bubble + exposed DP + optimizer, · (1 + jitter)

One micro-batch of one layer is costed forward and backward; a stage is its layers; a step is m
micro-batches through the slowest stage, the fill and drain of the pipeline, and what of the
gradient exchange no backward pass hides. All of it broadcasts over layouts: scalars read like the
equations, columns are the search.

References
----------
D. Narayanan et al., arXiv:2104.04473: schedules, bubble (p − 1)/(v m), bytes of each group.
V. Korthikanti et al., arXiv:2205.05198: sequence parallelism, selective recompute.
Y. Zhao et al., "PyTorch FSDP," VLDB 2023. arXiv:2304.11277: gathers and their overlap.
H. Liu et al., "Ring attention," arXiv:2310.01889: context parallelism.
"""

from dataclasses import dataclass

from scoring.collectives import Group, collective_time, group, two_level_all_to_all
from scoring.constants import KERNELS, SOFTWARE, TRAINING, Software
from scoring.hardware import Cluster
from scoring.kernels import (
    attention_flop_per_s,
    gemm_flop_per_s,
    padded_product,
    padded_rows,
    stream_bytes_per_s,
)
from scoring.layout import Layout
from scoring.memory import BF16, local_parameters, mean_ffn_width, trainable_share
from scoring.units import Value, ceil, log2, maximum, minimum, where
from scoring.workload import Job


@dataclass(frozen=True, slots=True)
class Traffic:
    """One kind of message of a step: its purpose, one call of it, and what of all calls shows."""

    purpose: str
    kind: str
    size: Value  # of one call [B]
    group: Group
    time: Value  # of one call [s]
    exposed: Value  # of all calls of a step [s]


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one step by where they go; the terms add up to `total`. All broadcast."""

    compute: Value
    exposed_tp: Value
    exposed_pp: Value
    bubble: Value
    exposed_dp: Value
    exposed_ep: Value
    exposed_cp: Value
    optimizer: Value
    jitter: Value
    traffic: tuple[Traffic, ...] = ()

    @property
    def total(self) -> Value:
        """The step. [s]"""
        return self.compute + self.bubble + self.exposed + self.optimizer + self.jitter

    @property
    def exposed(self) -> Value:
        """Communication that nothing hides. [s]"""
        inner = self.exposed_tp + self.exposed_ep + self.exposed_cp
        return inner + self.exposed_pp + self.exposed_dp


@dataclass(frozen=True, slots=True)
class LayerTime:
    """Seconds of one layer and one micro-batch on one GPU, communication apart."""

    forward: Value
    backward: Value
    recompute: Value
    attention: Value  # of the forward pass: what a ring step of context parallelism hides behind

    @property
    def total(self) -> Value:
        """Forward, backward and what is computed twice. [s]"""
        return self.forward + self.backward + self.recompute


def training_step(cluster: Cluster, job: Job, layout: Layout) -> StepTime:
    """One training step of a job on a cluster, for one layout or a column of them.

    Parameters
    ----------
    cluster
        Its GPUs, links and fabric; layout.gpus of them are used.
    job
        A train or finetune_lora job.
    layout
        Splits that divide; nothing here checks that they fit (`memory.training_memory`).

    Returns
    -------
    StepTime
        Broadcast over the layouts. [s]
    """
    software = SOFTWARE[job.software]
    model = job.transformer
    rounds = (job.global_batch or 1) / (layout.dp * layout.micro_batch)
    many = layout.pp > 1

    layer = layer_time(cluster, job, layout)
    logits = logits_time(cluster, job, layout)
    tensor, tensor_traffic = tensor_parallel(cluster, job, layout, software)
    expert, expert_traffic = expert_parallel(cluster, job, layout)
    context, context_traffic = context_parallel(cluster, job, layout, layer)
    shown = tensor + expert + context  # per layer and micro-batch

    stage_layers = ceil(model.layers / layout.pp - 1e-9)
    last_layers = maximum(model.layers - (layout.pp - 1) * stage_layers, 0.0)
    stage = stage_layers * (layer.total + shown)
    last = last_layers * (layer.total + shown) + logits
    slowest = maximum(stage, last)
    mean = (model.layers * (layer.total + shown) + logits) / layout.pp
    waiting = rounds * where(many, slowest - mean, 0.0)
    bubble = waiting + where(many, (layout.pp - 1) * stage / layout.virtual_stages, 0.0)

    pipeline, pipeline_traffic = pipeline_sends(cluster, job, layout, rounds, software)
    data, data_traffic = data_parallel(cluster, job, layout, layer, rounds, software)
    update = optimizer_time(cluster, job, layout)

    per_stage = rounds * model.layers / layout.pp
    busy = rounds * mean + bubble + pipeline + data + update
    doublings = log2(maximum(layout.gpus / 8.0, 1.0))
    traffic = [t for t in (tensor_traffic, expert_traffic, context_traffic) if t is not None]
    return StepTime(
        compute=per_stage * layer.total + rounds * logits / layout.pp,
        exposed_tp=per_stage * tensor,
        exposed_pp=pipeline,
        bubble=bubble,
        exposed_dp=data,
        exposed_ep=per_stage * expert,
        exposed_cp=per_stage * context,
        optimizer=update,
        jitter=busy * TRAINING.jitter_per_doubling * doublings,
        traffic=(*(_all_calls(t, per_stage) for t in traffic), *pipeline_traffic, *data_traffic),
    )


def _all_calls(t: Traffic, calls: Value) -> Traffic:
    return Traffic(t.purpose, t.kind, t.size, t.group, t.time, t.exposed * calls)


# ------------------------------------------------------------------ compute


def layer_time(cluster: Cluster, job: Job, layout: Layout) -> LayerTime:
    """One layer of one micro-batch: products, attention, and passes over memory. [s]

    Products: 2 (T + m½) Σ (K + k½)(N + n½) / (peak · e) over the matrices of a layer, cut by tp.
    Attention: s · T · heads · (d + d_v) / tp flop, causal. Backward: twice the products, 2.5 times
    the attention; LoRA needs no gradient of frozen weights, so once.
    """
    gpu, software, c = cluster.gpu, SOFTWARE[job.software], TRAINING
    precision = gpu.precision(job.precision)
    tokens = layout.micro_batch * job.seq_len / layout.cp
    products = product_time(cluster, job, layout, tokens, precision)
    attention = attention_time(cluster, job, layout, tokens)
    passes = elementwise_bytes(job, layout, tokens, precision) / stream_bytes_per_s(gpu)
    weight_gradients = 1.0 if job.kind == "finetune_lora" else c.backward_over_forward
    forward = products + attention + passes
    backward = (
        weight_gradients * products
        + c.attention_backward * attention
        + c.elementwise_backward * passes
    )
    again = where(layout.recompute >= 2, forward, where(layout.recompute >= 1, attention, 0.0))
    m = software.multiplier
    return LayerTime(m * forward, m * backward, m * again, m * attention)


def product_time(
    cluster: Cluster, job: Job, layout: Layout, tokens: Value, precision: str
) -> Value:
    """Matrix products of one layer, forward: attention's four, the MLP's, and the experts'. [s]"""
    model, tp = job.transformer, layout.tp
    h = float(model.hidden)
    rate = gemm_flop_per_s(cluster.gpu, precision)
    if model.kv_width:  # compressed attention: many middling matrices of the same total
        attention = model.attention_parameters * (1.0 + 3 * KERNELS.gemm_k_half / model.q_rank) / tp
    else:
        kv = model.kv_heads * (model.head_dim + model.v_head_dim)
        attention = padded_product(h, (model.q_width + kv) / tp) + padded_product(
            model.heads * model.v_head_dim / tp, h
        )
    wide = model.mlp_matrices - 1
    work: Value = attention
    if model.dense_layers:
        width = (model.dense_ffn_hidden or model.ffn_hidden) / tp
        mlp = padded_product(h, wide * width) + padded_product(width, h)
        work = work + mlp * (model.dense_layers / model.layers)
    time = 2.0 * padded_rows(tokens) * work / rate
    if not model.moe_layers:
        return time
    share = model.moe_layers / model.layers
    if model.shared_ffn_hidden:
        width = model.shared_ffn_hidden / tp
        shared = padded_product(h, wide * width) + padded_product(width, h)
        time = time + share * 2.0 * padded_rows(tokens) * shared / rate
    return time + share * expert_time(job, layout, tokens, rate)


def expert_time(job: Job, layout: Layout, tokens: Value, rate: float) -> Value:
    """Routed experts of one mixture layer, forward, on the busiest rank. [s]

    With ep the ranks of a tp group route their own tokens to whole experts; without it each
    expert is cut by tp like a dense MLP. Each local expert is a product of few rows.
    """
    model = job.transformer
    cut = where(layout.ep > 1, 1.0, layout.tp)
    rows = tokens * model.topk * cut / layout.tp
    imbalance = job.expert_imbalance or TRAINING.expert_imbalance
    local = model.experts / layout.ep
    h, width = float(model.hidden), model.ffn_hidden / cut
    matrices = padded_product(h, (model.mlp_matrices - 1) * width) + padded_product(width, h)
    uneven = where(layout.ep > 1, imbalance, 1.0)
    padded = rows * uneven + local * KERNELS.gemm_m_half
    return 2.0 * padded * matrices / (rate * TRAINING.moe_gemm_efficiency)


def attention_time(cluster: Cluster, job: Job, layout: Layout, tokens: Value) -> Value:
    """Scores and their use, one layer, forward. [s]

    Flash kernels skip the masked half and keep scores on chip; without them all of it is computed
    and b · a · s² elements are moved several times.
    """
    model = job.transformer
    kernel = job.attention or SOFTWARE[job.software].attention
    width = model.heads * (model.head_dim + model.v_head_dim) / layout.tp
    rate = attention_flop_per_s(cluster.gpu, kernel, job.seq_len)
    flop = tokens * job.seq_len * width
    if kernel != "none":
        return flop / rate
    scores = tokens * job.seq_len * model.heads / layout.tp
    moved = TRAINING.softmax_reads * BF16 * scores
    return 2.0 * flop / rate + moved / stream_bytes_per_s(cluster.gpu)


def elementwise_bytes(job: Job, layout: Layout, tokens: Value, precision: str) -> Value:
    """Bytes of norms, residuals, rotary embedding and activations of one layer, forward. [B]"""
    model, software = job.transformer, SOFTWARE[job.software]
    spread = layout.tp if software.sequence_parallel else 1.0
    width = mean_ffn_width(job)
    inner = (3.0 if model.gated else 2.0) * width
    routed = 4.0 * model.topk * model.hidden * model.moe_layers / model.layers
    elements = TRAINING.elementwise_hidden * model.hidden / spread + (inner + routed) / layout.tp
    moved = BF16 * elements
    if precision in ("fp8", "nvfp4"):  # each product's input is read and written once more
        cast = 2.0 * model.hidden / spread + (model.q_width + width) / layout.tp
        moved = moved + 3.0 * cast
    return tokens * moved


def logits_time(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """The output projection and the loss of one micro-batch, forward and backward. [s]"""
    model, gpu = job.transformer, cluster.gpu
    tokens = layout.micro_batch * job.seq_len / layout.cp
    rate = gemm_flop_per_s(gpu, gpu.precision("bf16"))
    product = (
        2.0 * padded_rows(tokens) * padded_product(float(model.hidden), model.vocab / layout.tp)
    )
    passes = 2.0 if job.kind == "finetune_lora" else 3.0
    softmax = TRAINING.logit_bytes * tokens * model.vocab / layout.tp / stream_bytes_per_s(gpu)
    return SOFTWARE[job.software].multiplier * (passes * product / rate + softmax)


def optimizer_time(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """One Adam step over the shard of a GPU: bytes over memory rate. [s]"""
    dense, experts = local_parameters(job, layout)
    sharded = layout.zero_stage >= 1
    shard = dense / where(sharded, _zero_ranks(layout, layout.shard_ranks), 1.0) + experts / where(
        sharded, _zero_ranks(layout, layout.expert_shard_ranks), 1.0
    )
    rate = cluster.gpu.memory_bytes_per_s * KERNELS.optimizer_memory_efficiency
    return TRAINING.optimizer_bytes * shard * trainable_share(job) / rate


def _zero_ranks(layout: Layout, ranks: Value) -> Value:
    return minimum(ranks, layout.zero_group) if layout.zero_group else ranks


# ------------------------------------------------------------------ communication


def tensor_parallel(
    cluster: Cluster, job: Job, layout: Layout, software: Software
) -> tuple[Value, Traffic | None]:
    """Exposed tensor-parallel time of one layer and micro-batch. [s]

    b · s · h · 2 bytes summed twice forward and twice backward (once more each with full
    recompute): an all-reduce, or with sequence parallelism an all-gather and a reduce-scatter.
    A mixture with ep keeps only attention's.
    """
    if not isinstance(layout.tp, float) or layout.tp > 1:
        model = job.transformer
        g = group(cluster, layout.tp)
        size = BF16 * layout.micro_batch * job.seq_len / layout.cp * model.hidden
        if software.sequence_parallel:
            kind, time = "all_gather", 2.0 * collective_time(cluster, "all_gather", size, g)
        else:
            kind, time = "all_reduce", collective_time(cluster, "all_reduce", size, g)
        dense = 1.0 - model.moe_layers / model.layers
        blocks = where(layout.ep > 1, 1.0 + dense, 2.0)
        passes = where(layout.recompute >= 2, 3.0, 2.0)
        shown = (1.0 - software.tp_overlap) * blocks * passes * time
        return shown, Traffic("tensor parallel", kind, size, g, time, shown)
    return 0.0, None


def expert_parallel(cluster: Cluster, job: Job, layout: Layout) -> tuple[Value, Traffic | None]:
    """Exposed expert dispatch and combine, averaged over layers, one micro-batch. [s]

    T · topk · h · 2 bytes to the experts and back, forward and backward: four all-to-alls. Copies
    of a token for one node cross the fabric once: M(1 − (1 − 1/M)^topk) of topk.
    """
    model = job.transformer
    if not model.moe_layers or (isinstance(layout.ep, float) and layout.ep <= 1):
        return 0.0, None
    g = group(cluster, layout.ep)
    tokens = layout.micro_batch * job.seq_len / layout.cp / layout.tp
    size = BF16 * tokens * model.topk * model.hidden
    nodes = g.domains
    distinct = nodes * (1.0 - (1.0 - 1.0 / nodes) ** model.topk) / model.topk
    cost = two_level_all_to_all(cluster, size, g, minimum(distinct, 1.0))
    time = where(g.ranks > 1, cost, 0.0)
    imbalance = job.expert_imbalance or TRAINING.expert_imbalance
    passes = where(layout.recompute >= 2, 6.0, 4.0)
    shown = passes * imbalance * time * (model.moe_layers / model.layers)
    return shown, Traffic("expert dispatch", "all_to_all", size, g, time, shown)


def context_parallel(
    cluster: Cluster, job: Job, layout: Layout, layer: LayerTime
) -> tuple[Value, Traffic | None]:
    """What of the ring of keys and values attention does not hide, one layer, one micro-batch. [s]

    c − 1 steps of 2 · T · kv · d · 2 bytes / tp, each hidden behind a c-th of attention; backward
    moves gradients too, over 2.5 times the work.
    """
    if isinstance(layout.cp, float) and layout.cp <= 1:
        return 0.0, None
    model = job.transformer
    g = group(cluster, layout.cp, layout.tp)
    tokens = layout.micro_batch * job.seq_len / layout.cp
    size = BF16 * tokens * maximum(model.kv_cached / layout.tp, float(model.head_dim))
    time = collective_time(cluster, "send_recv", size, g)
    block = layer.attention / layout.cp
    passes = where(layout.recompute >= 2, 2.0, 1.0)
    forward = passes * maximum(time - block, 0.0)
    backward = maximum(2.0 * time - TRAINING.attention_backward * block, 0.0)
    shown = (layout.cp - 1) * (forward + backward)
    return shown, Traffic("context parallel", "send_recv", size, g, time, shown)


def pipeline_sends(
    cluster: Cluster, job: Job, layout: Layout, rounds: Value, software: Software
) -> tuple[Value, tuple[Traffic, ...]]:
    """Activations sent on to the next stage and gradients back, as far as they show. [s]

    b · s · h · 2 bytes (/tp, gathered again on arrival) a boundary, for each of v chunks; hidden
    in the steady state where sends overlap, but not while the pipeline fills and drains.
    """
    if isinstance(layout.pp, float) and layout.pp <= 1:
        return 0.0, ()
    tokens = layout.micro_batch * job.seq_len / layout.cp
    size = BF16 * tokens * job.transformer.hidden / layout.tp
    g = group(cluster, layout.pp, layout.tp * layout.cp * layout.dp)
    time = collective_time(cluster, "send_recv", size, g)
    steady = rounds * layout.virtual_stages * (1.0 - software.pp_overlap)
    shown = where(layout.pp > 1, 2.0 * time * (layout.pp - 1 + steady), 0.0)
    return shown, (Traffic("pipeline", "send_recv", size, g, time, shown),)


def data_parallel(
    cluster: Cluster,
    job: Job,
    layout: Layout,
    layer: LayerTime,
    rounds: Value,
    software: Software,
) -> tuple[Value, tuple[Traffic, ...]]:
    """Exposed exchange of gradients and weights of one step. [s]

    ZeRO 0: one all-reduce of the gradients. 1 and 2: reduce-scatter, then all-gather of the
    weights. They hide behind the last backward and the next forward pass of a stage as far as the
    software overlaps. ZeRO 3 gathers each layer twice and reduces it once for every micro-batch:
    max(compute, communication) a layer, and a share of the shorter one lost to sharing the GPU.
    """
    dense, experts = local_parameters(job, layout)
    share = trainable_share(job)
    g = group(cluster, layout.shard_ranks, layout.tp)
    gradient_size = software.gradient_bytes * share * dense
    weight_size = BF16 * share * dense
    reduce, gather, reduce_kind = _exchange(cluster, layout, g, gradient_size, weight_size)
    expert_time: Value = 0.0
    if job.transformer.moe_layers:
        cut = where(layout.ep > 1, layout.ep, layout.tp)
        e = group(cluster, layout.expert_shard_ranks, cut)
        sizes = software.gradient_bytes * share * experts, BF16 * share * experts
        more_reduce, more_gather, _ = _exchange(cluster, layout, e, *sizes)
        expert_time = more_reduce + more_gather
        reduce, gather = reduce + more_reduce, gather + more_gather
    layers = ceil(job.transformer.layers / layout.pp - 1e-9)
    chunks = where(
        layout.virtual_stages > 1, (layout.virtual_stages - 1) / layout.virtual_stages, 1.0
    )
    o = software.dp_overlap
    hidden_reduce = o * chunks * layers * (layer.backward + layer.recompute)
    hidden_gather = o * chunks * layers * layer.forward
    last_bucket = (reduce + gather) / maximum(layers, 4.0)
    each = maximum(reduce - hidden_reduce, 0.0)
    per_step = where(layout.zero_stage >= 2, rounds, 1.0) * each
    shown = minimum(
        per_step + maximum(gather - hidden_gather, 0.0) + last_bucket,
        per_step + reduce + gather,
    )
    sharded = _sharded_layers(cluster, job, layout, layer, rounds, g)
    shown = where(layout.zero_stage >= 3, sharded, shown)
    shown = where(layout.shard_ranks * layout.expert_shard_ranks > 1, shown, 0.0)
    time = reduce + gather - expert_time
    return shown, (Traffic("data parallel", reduce_kind, gradient_size, g, time, shown),)


def _exchange(
    cluster: Cluster, layout: Layout, g: Group, gradients: Value, weights: Value
) -> tuple[Value, Value, str]:
    """Time to reduce the gradients and to gather the weights of one group. [s]"""
    if layout.zero_group:
        # Sharded within small groups, copied across: reduce-scatter and gather stay close,
        # the sum over groups carries a shard.
        inner = group(cluster, minimum(g.ranks, layout.zero_group), layout.tp)
        across = group(cluster, g.ranks / inner.ranks, layout.tp * inner.ranks)
        reduce = collective_time(cluster, "reduce_scatter", gradients, inner)
        shard = gradients / inner.ranks
        reduce = reduce + collective_time(cluster, "all_reduce", shard, across)
        return reduce, collective_time(cluster, "all_gather", weights, inner), "reduce_scatter"
    scatter = collective_time(cluster, "reduce_scatter", gradients, g)
    gather = collective_time(cluster, "all_gather", weights, g)
    stage = layout.zero_stage
    if isinstance(stage, float) and stage >= 1:
        return scatter, gather, "reduce_scatter"
    whole = collective_time(cluster, "all_reduce", gradients, g)
    plain = stage < 1
    return where(plain, whole, scatter), where(plain, 0.0, gather), "all_reduce"


def _sharded_layers(
    cluster: Cluster, job: Job, layout: Layout, layer: LayerTime, rounds: Value, g: Group
) -> Value:
    """What ZeRO-3's gathers and reductions add to the step, over all layers. [s]"""
    if isinstance(layout.zero_stage, float) and layout.zero_stage < 3:
        return 0.0
    model = job.transformer
    dense, experts = local_parameters(job, layout)
    layers = model.layers / layout.pp
    size = BF16 * (dense + experts) / layers
    gather = collective_time(cluster, "all_gather", size, g)
    reduce = collective_time(cluster, "reduce_scatter", size * trainable_share(job), g)
    forward_more, forward_lost = _side_by_side(layer.forward, gather)
    backward_more, backward_lost = _side_by_side(layer.backward + layer.recompute, gather + reduce)
    each = (
        forward_more + backward_more + TRAINING.fsdp_overlap_loss * (forward_lost + backward_lost)
    )
    return rounds * layers * each + gather + reduce


def _side_by_side(compute: Value, communication: Value) -> tuple[Value, Value]:
    """Communication beyond compute, and the time that both run at once. [s]"""
    return maximum(communication - compute, 0.0), minimum(communication, compute)

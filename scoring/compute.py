"""What a training step computes: products, attention and passes over memory of a layer, the head,
the optimizer. Seconds on one GPU, broadcast over layouts.
"""

from collections.abc import Callable
from dataclasses import dataclass

from scoring.constants import KERNELS, SOFTWARE, TRAINING
from scoring.hardware import Cluster
from scoring.kernels import (
    attention_flop_per_s,
    edge,
    gemm_flop_per_s,
    misaligned,
    padded_product,
    padded_rows,
    stream_bytes_per_s,
)
from scoring.layout import Layout
from scoring.memory import (
    BF16,
    gradient_bytes,
    local_parameters,
    mean_ffn_width,
    trainable_share,
    zero_ranks,
)
from scoring.units import MICRO, Value, maximum, same, sqrt, where
from scoring.workload import WEIGHT_BYTES, Job


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

    def over(self, spread: Callable[[Value], Value]) -> "LayerTime":
        """The same for all rows, from a row of each kind."""
        if spread is same:
            return self
        parts = (self.forward, self.backward, self.recompute, self.attention)
        return LayerTime(*map(spread, parts))


def layer_time(cluster: Cluster, job: Job, layout: Layout) -> LayerTime:
    """One layer of one micro-batch: products, attention, and passes over memory. [s]

    Products: 2 (T + m½) Σ (K + k½)(N + n½) / (peak · e) over the matrices of a layer, cut by tp.
    Attention: s · T · heads · (d + d_v) / tp flop, causal. Backward: twice the products, 2.5 times
    the attention; LoRA needs no gradient of frozen weights, so once.
    """
    gpu, software, c = cluster.gpu, SOFTWARE[job.software], TRAINING
    precision = gpu.precision(job.precision)
    tokens = layout.micro_batch * job.seq_len / layout.cp
    dense = product_time(cluster, job, layout, tokens, precision)
    experts, expert_gradients = expert_time(cluster, job, layout, tokens, precision)
    attention = attention_time(cluster, job, layout, tokens)
    passes = elementwise_bytes(job, layout, tokens, precision) / stream_bytes_per_s(gpu)
    gaps = c.kernels_per_layer * KERNELS.launch_us * MICRO + software.layer_wait_ms * 1e-3
    kernel = job.attention or software.attention
    again_attention = c.plain_backward if kernel == "none" else c.attention_backward
    forward = dense + experts + attention + passes + gaps
    gradients = 0.0 if job.kind == "finetune_lora" else dense + expert_gradients
    backward = (
        dense
        + experts
        + gradients
        + again_attention * attention
        + c.elementwise_backward * passes
        + 2.0 * gaps
    )
    whole = forward - (
        last_product_time(cluster, job, layout, tokens, precision) if software.early_stop else 0.0
    )
    selective = attention if kernel == "none" else c.selective_passes * passes
    if software.selective_layers:
        selective = software.selective_layers * whole
    again = where(layout.recompute >= 2, whole, where(layout.recompute >= 1, selective, 0.0))
    m = software.multiplier * host_bound(job, layout, forward + backward)
    return LayerTime(m * forward, m * backward, m * again, m * attention)


def host_bound(job: Job, layout: Layout, time: Value) -> Value:
    """How much longer a layer takes because the host launches its kernels more slowly: ≥ 1. [1]

    Dropless experts change their shapes with every batch, so no graph replays them: routing and
    permutation, then each local expert's products and casts, are launched one by one, forward and
    backward. Host and GPU wait for each other by turns, so neither hides the other wholly: the root
    of the sum of their squares.
    """
    model = job.transformer
    if not model.moe_layers:
        return 1.0
    share = model.moe_layers / model.layers
    c = TRAINING
    kernels = share * (c.mixture_kernels + c.expert_kernels * model.experts / layout.ep)
    return sqrt(1.0 + (kernels * KERNELS.launch_us * MICRO / time) ** 2)


def product_time(
    cluster: Cluster, job: Job, layout: Layout, tokens: Value, precision: str
) -> Value:
    """Matrix products of one layer, forward: attention's four, the MLP's, shared experts'. [s]"""
    model, tp = job.transformer, layout.tp
    h = float(model.hidden)
    rate = gemm_flop_per_s(cluster.gpu, precision)
    if model.kv_width:  # compressed attention: many middling matrices of the same total
        attention = (
            model.attention_parameters
            * (1.0 + 3 * edge(KERNELS.gemm_k_half, precision) / model.q_rank)
            / tp
        )
    else:
        kv = model.kv_heads * (model.head_dim + model.v_head_dim)
        attention = padded_product(h, (model.q_width + kv) / tp, precision) + padded_product(
            model.heads * model.v_head_dim / tp, h, precision
        )
    wide = model.mlp_matrices - 1
    work: Value = model.attention_share * attention
    if model.ssm_layers:
        mixer = padded_product(h, model.ssm_inputs / tp, precision) + padded_product(
            model.ssm_width / tp, h, precision
        )
        work = work + model.ssm_share * mixer
    if model.dense_layers:
        width = (model.dense_ffn_hidden or model.ffn_hidden) / tp
        mlp = padded_product(h, wide * width, precision) + padded_product(width, h, precision)
        work = work + mlp * (model.dense_layers / model.layers)
    time = 2.0 * padded_rows(tokens) * work / rate * misaligned(h / tp)
    if not model.shared_ffn_hidden:
        return time
    width = model.shared_ffn_hidden / tp
    shared = padded_product(h, wide * width, precision) + padded_product(width, h, precision)
    if model.latent:
        shared = shared + 2.0 * padded_product(h, float(model.latent), precision)
    return time + model.moe_layers / model.layers * 2.0 * padded_rows(tokens) * shared / rate


def last_product_time(
    cluster: Cluster, job: Job, layout: Layout, tokens: Value, precision: str
) -> Value:
    """The MLP's last product, forward: nothing that was dropped needs its output. [s]

    PyTorch's checkpoint stops there when it recomputes a layer (set_checkpoint_early_stop, 2.1).
    """
    model = job.transformer
    width = (model.dense_ffn_hidden or model.ffn_hidden) / layout.tp
    product = (
        padded_product(width, float(model.hidden), precision) * model.dense_layers / model.layers
    )
    return 2.0 * padded_rows(tokens) * product / gemm_flop_per_s(cluster.gpu, precision)


def expert_time(
    cluster: Cluster, job: Job, layout: Layout, tokens: Value, precision: str
) -> tuple[Value, Value]:
    """Routed experts of one mixture layer on the busiest rank: forward, and weight gradients. [s]

    With ep the ranks of a tp group route their own tokens to whole experts; without it each
    expert is cut by tp like a dense MLP. Each local expert is a product of few rows, so reading
    its weights, or adding to its gradients, may take longer than the product.
    """
    model = job.transformer
    if not model.moe_layers:
        return 0.0, 0.0
    share = model.moe_layers / model.layers
    rate = gemm_flop_per_s(cluster.gpu, precision)
    stream = stream_bytes_per_s(cluster.gpu)
    cut = where(layout.ep > 1, 1.0, layout.tp)
    rows = tokens * model.topk * cut / layout.tp
    imbalance = job.expert_imbalance or TRAINING.expert_imbalance
    local = model.experts / layout.ep
    h, width = float(model.expert_width), model.ffn_hidden / cut
    matrices = padded_product(h, (model.mlp_matrices - 1) * width, precision) + padded_product(
        width, h, precision
    )
    uneven = where(layout.ep > 1, imbalance, 1.0)
    padded = rows * uneven + local * edge(KERNELS.expert_m_half, precision)
    products = 2.0 * padded * matrices / (rate * TRAINING.moe_gemm_efficiency)
    weights = local * model.expert_parameters / cut
    sums = 2.0 * gradient_bytes(job) * weights
    forward = maximum(products, WEIGHT_BYTES[precision] * weights / stream)
    return share * forward, share * maximum(products, sums / stream)


def attention_time(cluster: Cluster, job: Job, layout: Layout, tokens: Value) -> Value:
    """Scores and their use, one layer, forward. [s]

    Flash kernels skip the masked half and keep scores on chip; without them all of it is computed
    and b · a · s² elements are moved several times.
    """
    model = job.transformer
    kernel = job.attention or SOFTWARE[job.software].attention
    width = model.heads * (model.head_dim + model.v_head_dim) / layout.tp
    head_dim = (model.head_dim + model.v_head_dim) / 2
    rate = attention_flop_per_s(cluster.gpu, kernel, job.seq_len / layout.cp, head_dim)
    flop = model.attention_share * tokens * job.seq_len * width
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
    copies = model.topk * model.expert_width * model.moe_layers / model.layers
    routed = TRAINING.routed_copies * copies
    states = TRAINING.ssm_passes * model.ssm_share * model.ssm_inputs
    norms = TRAINING.elementwise_hidden * model.hidden * model.blocks / 2.0
    elements = norms / spread + (inner + routed + states) / layout.tp
    moved = BF16 * elements
    if precision in ("fp8", "nvfp4"):  # each product's input: read, written, and written transposed
        cast = 2.0 * model.hidden / spread + (model.q_width + width + copies) / layout.tp
        moved = moved + 4.0 * cast
    if job.kind == "finetune_lora":
        moved = moved + BF16 * adapter_elements(job, layout)
    return tokens * moved


def adapter_elements(job: Job, layout: Layout) -> Value:
    """Elements per token that LoRA's thin products read, and add to what the frozen ones wrote.

    At each attention projection the input is read once more and the output three times moved.
    """
    model = job.transformer
    kv = model.kv_heads * (model.head_dim + model.v_head_dim)
    projected = model.hidden + 3.0 * (model.q_width + kv)
    return (projected + model.q_width + 3.0 * model.hidden) / layout.tp


def logits_time(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """The output projection and the loss of one micro-batch, forward and backward. [s]"""
    model, gpu = job.transformer, cluster.gpu
    tokens = job.scored_share * layout.micro_batch * job.seq_len / layout.cp
    rate = gemm_flop_per_s(gpu, gpu.precision("bf16"))
    product = (
        2.0
        * padded_rows(tokens)
        * padded_product(float(model.hidden), model.vocab / layout.tp, "bf16")
    )
    passes = 2.0 if job.kind == "finetune_lora" else 3.0
    softmax = TRAINING.logit_bytes * tokens * model.vocab / layout.tp / stream_bytes_per_s(gpu)
    return SOFTWARE[job.software].multiplier * (passes * product / rate + softmax)


def optimizer_time(cluster: Cluster, job: Job, layout: Layout) -> Value:
    """One Adam step over the shard of a GPU, and what the host does between steps. [s]

    Bytes over memory rate; then norms are waited for, graphs end and begin, a batch is fetched.
    """
    dense, experts = local_parameters(job, layout)
    sharded = layout.zero_stage >= 1
    shard = dense / where(sharded, zero_ranks(layout, layout.shard_ranks), 1.0) + experts / where(
        sharded, zero_ranks(layout, layout.expert_shard_ranks), 1.0
    )
    rate = cluster.gpu.memory_bytes_per_s * KERNELS.optimizer_memory_efficiency
    moved = TRAINING.optimizer_bytes * shard * trainable_share(job)
    return moved / rate + TRAINING.step_ms * 1e-3

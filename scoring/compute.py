"""What a training step computes: products, attention and passes over memory of a layer, the head,
the optimizer. Seconds on one GPU, broadcast over layouts.
"""

from dataclasses import dataclass

from scoring.constants import KERNELS, SOFTWARE, TRAINING
from scoring.hardware import Cluster
from scoring.kernels import (
    attention_flop_per_s,
    gemm_flop_per_s,
    misaligned,
    padded_product,
    padded_rows,
    stream_bytes_per_s,
)
from scoring.layout import Layout
from scoring.memory import BF16, local_parameters, mean_ffn_width, trainable_share, zero_ranks
from scoring.units import MICRO, Value, where
from scoring.workload import Job


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
    gaps = c.kernels_per_layer * KERNELS.launch_us * MICRO
    weight_gradients = 1.0 if job.kind == "finetune_lora" else c.backward_over_forward
    forward = products + attention + passes + gaps
    backward = (
        weight_gradients * products
        + c.attention_backward * attention
        + c.elementwise_backward * passes
        + 2.0 * gaps
    )
    kernel = job.attention or software.attention
    selective = attention if kernel == "none" else c.selective_passes * passes
    again = where(layout.recompute >= 2, forward, where(layout.recompute >= 1, selective, 0.0))
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
    time = 2.0 * padded_rows(tokens) * work / rate * misaligned(h / tp)
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
    shard = dense / where(sharded, zero_ranks(layout, layout.shard_ranks), 1.0) + experts / where(
        sharded, zero_ranks(layout, layout.expert_shard_ranks), 1.0
    )
    rate = cluster.gpu.memory_bytes_per_s * KERNELS.optimizer_memory_efficiency
    return TRAINING.optimizer_bytes * shard * trainable_share(job) / rate

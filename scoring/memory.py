"""What one GPU must hold to train: weights, gradients, optimizer state, activations, and the rest.

The first pipeline stage is the fullest, for it keeps the activations of as many micro-batches as
there are stages; the last one holds the logits. Both are counted and the larger is taken.

References
----------
V. Korthikanti et al., arXiv:2205.05198, equations 1 to 6: activations of a layer, 34 s b h for
f = 4 h, term by term below so that gated MLPs, grouped queries and experts come out right.
S. Rajbhandari et al., "ZeRO," SC 2020. arXiv:1910.02054: what each stage shards.
NVIDIA/Megatron-LM, megatron/training/theoretical_memory_usage.py: 18 bytes a parameter, and
6 + 12/D with the distributed optimizer (read 2026-11-29).
"""

from dataclasses import dataclass

from scoring.constants import MEMORY, SOFTWARE
from scoring.gpus import Gpu
from scoring.layout import Layout
from scoring.units import GIGA, Value, ceil, maximum, minimum, where
from scoring.workload import WEIGHT_BYTES, Job

BF16 = 2.0  # B; weights and activations that are kept. fp8 keeps bf16 weights beside its copies
MASTER_BYTES = 4.0
ADAM_BYTES = 3.0 * MASTER_BYTES  # fp32 master weight and two moments


@dataclass(frozen=True, slots=True)
class MemoryTerms:
    """Bytes on the fullest GPU, by term; all broadcast over layouts."""

    weights: Value
    gradients: Value
    optimizer: Value
    activations: Value
    logits: Value
    gathered: Value  # ZeRO-3: the layers that are whole at one time
    overhead: Value
    cache: Value = 0.0  # keys and values of the sequences that are served

    @property
    def total(self) -> Value:
        """All terms. [B]"""
        held = self.weights + self.gradients + self.optimizer + self.gathered
        return held + self.activations + self.cache + self.logits + self.overhead

    def sentence(self, gpu: Gpu) -> str:
        """The terms in words, largest first, against what the GPU has. For one layout."""
        words = {
            "optimizer state": self.optimizer,
            "weights": self.weights,
            "gradients": self.gradients,
            "activations": self.activations,
            "KV cache": self.cache,
            "logits": self.logits,
            "gathered layers": self.gathered,
            "context and buffers": self.overhead,
        }
        terms = sorted(((float(size), word) for word, size in words.items()), reverse=True)
        listed = " + ".join(f"{word} {size / GIGA:.0f} GB" for size, word in terms if size > 5e8)
        verdict = "fits in" if float(self.total) <= gpu.memory_bytes else "exceeds the"
        return (
            f"{listed} = {float(self.total) / GIGA:.0f} GB per GPU {verdict} "
            f"{gpu.memory_bytes / GIGA:.0f} GB of {gpu.slug}"
        )


def training_memory(job: Job, layout: Layout) -> MemoryTerms:
    """Bytes of a training job on the fullest GPU of a layout. [B]"""
    weights, experts = local_parameters(job, layout)
    share = trainable_share(job)
    summed = gradient_bytes(job)
    # Sums narrower than the master weights are widened for the optimizer, a shard at a time; sums
    # wider than what a product puts out stand beside it, but where products add to them.
    widened = MASTER_BYTES if summed < MASTER_BYTES else 0.0
    beside = BF16 if summed > BF16 and not SOFTWARE[job.software].fused_sums else 0.0
    ranks = zero_ranks(layout, layout.shard_ranks)
    expert_ranks = zero_ranks(layout, layout.expert_shard_ranks)

    def sharded(stage: float, bytes_each: Value) -> Value:
        """Both kinds of parameters, each divided by its own group from a ZeRO stage on."""
        divided = layout.zero_stage >= stage
        dense = weights / where(divided, ranks, 1.0)
        return bytes_each * (dense + experts / where(divided, expert_ranks, 1.0))

    in_flight, last = _activations(job, layout)
    vocab = job.transformer.vocab
    tokens = layout.micro_batch * job.seq_len / layout.cp
    logits = 6.0 * tokens * vocab / layout.tp  # fp32 scores and their bf16 gradient
    many = layout.pp > 1
    slack = 1.0 + MEMORY.fragmentation
    layers = job.transformer.layers / layout.pp
    gathered = where(layout.zero_stage >= 3, 2.0 * BF16 * (weights + experts) / layers, 0.0)
    first_is_fuller = many & (in_flight >= last + logits)
    held = BF16
    if job.kind == "finetune_lora":  # never updated: held as they are multiplied
        held = frozen_bytes(job)
    return MemoryTerms(
        weights=sharded(3, held),
        gradients=sharded(2, summed + beside) * share,
        optimizer=sharded(1, ADAM_BYTES + where(layout.zero_stage < 3, widened, 0.0)) * share,
        activations=slack * where(first_is_fuller, in_flight, last),
        logits=slack * where(first_is_fuller, 0.0, logits),
        gathered=gathered,
        overhead=MEMORY.overhead_bytes,
    )


def local_parameters(job: Job, layout: Layout) -> tuple[Value, Value]:
    """Weights of one GPU of the first stage before ZeRO: all but experts, and experts.

    The first of several stages holds one embedding, a single stage both.
    """
    model = job.transformer
    ends = model.embedding_parameters
    both = 1.0 if model.tied_embeddings else 2.0
    body = model.non_expert_parameters - both * ends
    layers_share = ceil(model.layers / layout.pp - 1e-9) / model.layers
    dense = (body * layers_share + ends * where(layout.pp > 1, 1.0, both)) / layout.tp
    cut = where(layout.ep > 1, layout.ep, layout.tp)
    return dense, model.routed_parameters * layers_share / cut


def gradient_bytes(job: Job) -> float:
    """Bytes of one element of the gradients that are summed and sent. [B]

    fp16 is summed as it is, its scale sees to the range; bf16 in what the software sums it in.
    """
    return BF16 if job.precision == "fp16" else SOFTWARE[job.software].gradient_bytes


def frozen_bytes(job: Job) -> float:
    """Bytes of one weight that is never updated: held as it is multiplied, or wider. [B]"""
    return min(BF16, max(WEIGHT_BYTES[job.precision], SOFTWARE[job.software].frozen_bytes))


def trainable_share(job: Job) -> float:
    """Share of the weights that get gradients and optimizer state: 1, or LoRA's sliver."""
    if job.kind != "finetune_lora":
        return 1.0
    return job.trainable_parameters / job.transformer.parameters


def activation_bytes_per_layer(job: Job, layout: Layout) -> Value:
    """Activations that one layer keeps of one micro-batch until its backward pass. [B]

    Per token: 8 h at the norms and residuals, queries, keys, values and their output, and the
    MLP's inner width, of experts the input of each copy too; divided by tp but for the first where
    there is no sequence parallelism. Unfused attention keeps 5 a s more, which selective recompute
    drops, and came with dropout, whose masks are 2 h; with fused attention it drops what norms and
    activations put out (4 h and an inner width), and queries, keys and values where they come of a
    compressed vector. Full keeps the input alone.
    """
    model = job.transformer
    software = SOFTWARE[job.software]
    tokens = layout.micro_batch * job.seq_len / layout.cp
    spread = layout.tp if software.sequence_parallel else 1.0
    heads = 2.0 * (2 * model.q_width + 2 * model.kv_heads * model.head_dim)
    # What only the gradient of a weight needs is not kept for a frozen one.
    learns = 1.0 if job.kind != "finetune_lora" else 0.0
    # What the activation function read is all that a frozen MLP keeps: in the width of its weights
    # (Megatron-Core's activation_func_fp8_input_store).
    read = BF16 if learns else frozen_bytes(job)
    inner = (read * (model.mlp_matrices - 1) + BF16 * learns) * mean_ffn_width(job)
    routed = BF16 * model.topk * model.expert_width * model.moe_layers / model.layers
    states = 2.0 * BF16 * model.ssm_share * model.ssm_inputs  # before the convolution, and after
    mixers = model.attention_share * heads + states
    norms = (6.0 + BF16 * learns) * model.hidden * model.blocks / 2.0
    kept = norms / spread + (mixers + inner + routed) / layout.tp
    if (job.attention or software.attention) == "none":
        droppable: Value = 5.0 * model.heads * job.seq_len / layout.tp
        kept = kept + droppable + 2.0 * model.hidden / spread
    else:
        again = learns * mean_ffn_width(job) + (2 * model.q_width if model.kv_width else 0)
        droppable = BF16 * ((1.0 + learns) * model.hidden / spread + again / layout.tp)
    kept = kept - where(layout.recompute >= 1, droppable, 0.0)
    bare = BF16 * model.hidden / spread
    return tokens * where(layout.recompute >= 2, bare, kept)


def mean_ffn_width(job: Job) -> float:
    """Inner width that a token meets, averaged over layers: dense, routed and shared. [elements]"""
    model = job.transformer
    dense = model.dense_layers * (model.dense_ffn_hidden or model.ffn_hidden)
    routed = model.moe_layers * (model.topk * model.ffn_hidden + model.shared_ffn_hidden)
    return (dense + routed) / model.layers


def _activations(job: Job, layout: Layout) -> tuple[Value, Value]:
    """Activations of the first stage, with its micro-batches in flight, and of the last. [B]"""
    layers = ceil(job.transformer.layers / layout.pp - 1e-9)
    one = layers * activation_bytes_per_layer(job, layout)
    # Recomputing a layer needs the whole of it for a moment.
    plain = Layout(tp=layout.tp, cp=layout.cp, micro_batch=layout.micro_batch, recompute=1.0)
    moment = where(layout.recompute >= 2, activation_bytes_per_layer(job, plain), 0.0)
    rounds = (job.global_batch or 1) / (layout.dp * layout.micro_batch)
    depth = minimum(layout.pp, rounds)
    held = depth * where(
        layout.virtual_stages > 1, 1.0 + (layout.pp - 1) / (layout.pp * layout.virtual_stages), 1.0
    )
    return one * maximum(held, 1.0) + moment, one + moment


def zero_ranks(layout: Layout, ranks: Value) -> Value:
    """Ranks that share sharded states: the whole group, or zero_group of it."""
    return minimum(ranks, layout.zero_group) if layout.zero_group else ranks

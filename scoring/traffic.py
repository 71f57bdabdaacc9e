"""What a training step sends, and how much of it shows: tp, ep, cp, pp and dp in turn.

Each function returns the exposed seconds, broadcast over layouts, and one `Traffic` that says which
collective it was. Groups nest as they are placed: tp innermost, then cp, then dp, pp outermost.

References
----------
D. Narayanan et al., arXiv:2104.04473: bytes of each group. V. Korthikanti et al.,
arXiv:2205.05198: sequence parallelism. Y. Zhao et al., "PyTorch FSDP," VLDB 2023.
arXiv:2304.11277: gathers and their overlap. H. Liu et al., "Ring attention," arXiv:2310.01889.
"""

from dataclasses import dataclass

from scoring.collectives import Group, collective_time, group, two_level_all_to_all
from scoring.compute import LayerTime
from scoring.constants import TRAINING, Software
from scoring.hardware import Cluster
from scoring.layout import Layout
from scoring.memory import BF16, gradient_bytes, local_parameters, trainable_share
from scoring.units import Value, maximum, minimum, nowhere, where
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

    def called(self, times: Value) -> "Traffic":
        """Every call of a step, where `exposed` is of one."""
        shown = self.exposed * times
        return Traffic(self.purpose, self.kind, self.size, self.group, self.time, shown)


def tensor_parallel(
    cluster: Cluster, job: Job, layout: Layout, software: Software
) -> tuple[Value, Traffic | None]:
    """Exposed tensor-parallel time of one layer and micro-batch. [s]

    b · s · h · 2 bytes summed twice forward and twice backward (once more each with full
    recompute): an all-reduce, or with sequence parallelism an all-gather and a reduce-scatter.
    A mixture with ep keeps only attention's.
    """
    if not nowhere(layout.tp > 1):
        model = job.transformer
        g = group(cluster, layout.tp)
        size = BF16 * layout.micro_batch * job.seq_len / layout.cp * model.hidden
        if software.sequence_parallel:
            kind, time = "all_gather", 2.0 * collective_time(cluster, "all_gather", size, g)
        else:
            kind, time = "all_reduce", collective_time(cluster, "all_reduce", size, g)
        mixtures = model.moe_layers / model.layers
        blocks = model.blocks - where(layout.ep > 1, mixtures, 0.0)
        passes = where(layout.recompute >= 2, 3.0, 2.0)
        shown = (1.0 - software.tp_overlap) * blocks * passes * time
        return shown, Traffic("tensor parallel", kind, size, g, time, shown)
    return 0.0, None


def expert_parallel(
    cluster: Cluster, job: Job, layout: Layout, software: Software
) -> tuple[Value, Traffic | None]:
    """Exposed expert dispatch and combine, averaged over layers, one micro-batch. [s]

    T · topk · h · 2 bytes to the experts and back, forward and backward: four all-to-alls. Copies
    of a token for one node cross the fabric once: M(1 − (1 − 1/M)^topk) of topk.
    """
    model = job.transformer
    if not model.moe_layers or nowhere(layout.ep > 1):
        return 0.0, None
    g = group(cluster, layout.ep)
    tokens = layout.micro_batch * job.seq_len / layout.cp / layout.tp
    size = BF16 * tokens * model.topk * model.expert_width
    nodes = g.domains
    distinct = nodes * (1.0 - (1.0 - 1.0 / nodes) ** model.topk) / model.topk
    cost = two_level_all_to_all(cluster, size, g, minimum(distinct, 1.0))
    time = where(g.ranks > 1, cost, 0.0)
    imbalance = job.expert_imbalance or TRAINING.expert_imbalance
    passes = where(layout.recompute >= 2, 6.0, 4.0)
    if not model.ssm_layers:  # it takes turns of whole transformer layers to overlap
        passes = (1.0 - software.ep_overlap) * passes
    shown = passes * imbalance * time * (model.moe_layers / model.layers)
    return shown, Traffic("expert dispatch", "all_to_all", size, g, time, shown)


def context_parallel(
    cluster: Cluster, job: Job, layout: Layout, layer: LayerTime
) -> tuple[Value, Traffic | None]:
    """What of the ring of keys and values attention does not hide, one layer, one micro-batch. [s]

    c − 1 steps of 2 · T · kv · d · 2 bytes / tp, each hidden behind a c-th of attention; backward
    moves gradients too, over 2.5 times the work.
    """
    if nowhere(layout.cp > 1):
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
    if nowhere(layout.pp > 1):
        return 0.0, ()
    few, spread = layout.one_of_each(layout.along)
    tokens = few.micro_batch * job.seq_len / few.cp
    size = BF16 * tokens * job.transformer.hidden / few.tp
    g = group(cluster, few.pp, few.tp * few.cp * few.dp)
    call = collective_time(cluster, "send_recv", size, g)
    time = spread(call)
    steady = rounds * layout.virtual_stages * (1.0 - software.pp_overlap)
    shown = where(layout.pp > 1, 2.0 * time * (layout.pp - 1 + steady), 0.0)
    return shown, (Traffic("pipeline", "send_recv", size, g, call, shown),)


def data_parallel(
    cluster: Cluster,
    job: Job,
    layout: Layout,
    layer: LayerTime,
    rounds: Value,
    behind: tuple[Value, Value],
    software: Software,
) -> tuple[Value, tuple[Traffic, ...]]:
    """Exposed exchange of gradients and weights of one step. [s]

    ZeRO 0: one all-reduce of the gradients. 1 and 2: reduce-scatter, then all-gather of the
    weights. They hide behind the last backward and the next forward pass of a stage as far as the
    software overlaps. ZeRO 3 gathers each layer twice and reduces it once for every micro-batch:
    max(compute, communication) a layer, and what the software cannot overlap of the shorter one.
    """
    few, spread = layout.one_of_each(layout.between)
    dense, experts = local_parameters(job, few)
    g = group(cluster, few.shard_ranks, few.tp)
    sizes = [x * trainable_share(job) for x in (gradient_bytes(job), BF16)]
    reduce, gather, kind = _exchange(cluster, few, g, sizes[0] * dense, sizes[1] * dense, software)
    call = reduce + gather
    if job.transformer.moe_layers:
        cut = where(few.ep > 1, few.ep, few.tp)
        e = group(cluster, few.expert_shard_ranks, cut)
        more = _exchange(cluster, few, e, sizes[0] * experts, sizes[1] * experts, software)
        reduce, gather = reduce + more[0], gather + more[1]
    reduce, gather = spread(reduce), spread(gather)
    shown = _not_hidden(layout, rounds, behind, software, reduce, gather)
    sharded = _sharded_layers(cluster, job, layout, layer, rounds, software)
    shown = where(layout.zero_stage >= 3, sharded, shown)
    return shown, (Traffic("data parallel", kind, sizes[0] * dense, g, call, shown),)


def hidden_behind(
    layout: Layout, layer: LayerTime, rounds: Value, stage_layers: Value
) -> tuple[Value, Value]:
    """The last backward and the next forward pass of a stage, beside which replicas exchange. [s]

    Interleaved, all but the last chunk are done a round of pp micro-batches before the end.
    """
    early = (layout.virtual_stages - 1) / layout.virtual_stages
    chunks = where(layout.virtual_stages > 1, early * minimum(layout.pp, rounds), 1.0)
    window = chunks * stage_layers
    return window * (layer.backward + layer.recompute), window * layer.forward


def _not_hidden(
    layout: Layout,
    rounds: Value,
    behind: tuple[Value, Value],
    software: Software,
    reduce: Value,
    gather: Value,
) -> Value:
    """What of one exchange shows: beyond the last backward and the next forward pass, and of what
    runs beside them the share that the software does not overlap. [s]
    """
    reduce_more, reduce_lost = _side_by_side(behind[0], reduce)
    gather_more, gather_lost = _side_by_side(behind[1], gather)
    lost = 1.0 - software.dp_overlap
    reductions = where(layout.zero_stage >= 2, rounds, 1.0)  # sharded gradients keep no sum
    return reductions * (reduce_more + lost * reduce_lost) + gather_more + lost * gather_lost


def _exchange(
    cluster: Cluster,
    layout: Layout,
    g: Group,
    gradients: Value,
    weights: Value,
    software: Software,
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
        return reduce, _hand_out(cluster, weights, inner, software), "reduce_scatter"
    scatter = collective_time(cluster, software.reduces, gradients, g)
    gather = _hand_out(cluster, weights, g, software)
    plain = layout.zero_stage < 1
    if nowhere(plain):
        return scatter, gather, software.reduces
    whole = collective_time(cluster, "all_reduce", gradients, g)
    return where(plain, whole, scatter), where(plain, 0.0, gather), "all_reduce"


def _hand_out(cluster: Cluster, weights: Value, g: Group, software: Software) -> Value:
    """Time until every rank has the weights that the others updated. [s]

    One all-gather; or each rank broadcasts its shard in turn, so that the latency of a chain of n
    ranks is paid n times.
    """
    if software.sends_weights == "broadcast":
        return g.ranks * collective_time(cluster, "broadcast", weights / g.ranks, g)
    return collective_time(cluster, "all_gather", weights, g)


def _sharded_layers(
    cluster: Cluster,
    job: Job,
    layout: Layout,
    layer: LayerTime,
    rounds: Value,
    software: Software,
) -> Value:
    """What ZeRO-3's gathers and reductions add to the step, over all layers. [s]"""
    if nowhere(layout.zero_stage >= 3):
        return 0.0
    few, spread = layout.one_of_each(layout.between)
    dense, experts = local_parameters(job, few)
    layers: Value = job.transformer.layers / few.pp
    local = (dense + experts) / layers
    sums = gradient_bytes(job) * trainable_share(job) * local
    g = near = group(cluster, few.shard_ranks, few.tp)
    copies: Value = 0.0
    if layout.zero_group:  # gathered close by, and each shard's sum made equal to its copies' once
        near = group(cluster, minimum(g.ranks, layout.zero_group), few.tp)
        across = group(cluster, g.ranks / near.ranks, few.tp * near.ranks)
        copies = collective_time(cluster, "all_reduce", layers * sums / near.ranks, across)
    pieces = software.pieces
    gather = pieces * collective_time(cluster, "all_gather", BF16 * local / pieces, near)
    reduce = pieces * collective_time(cluster, "reduce_scatter", sums / pieces, near)
    layers, gather, reduce, copies = map(spread, (layers, gather, reduce, copies))
    forward_more, forward_lost = _side_by_side(layer.forward, gather)
    backward_more, backward_lost = _side_by_side(layer.backward + layer.recompute, gather + reduce)
    copies_more, copies_lost = _side_by_side(layers * (layer.backward + layer.recompute), copies)
    overlap = 1.0 - software.dp_overlap
    each = forward_more + backward_more + overlap * (forward_lost + backward_lost)
    return rounds * layers * each + gather + reduce + copies_more + overlap * copies_lost


def _side_by_side(compute: Value, communication: Value) -> tuple[Value, Value]:
    """Communication beyond compute, and the time that both run at once. [s]"""
    return maximum(communication - compute, 0.0), minimum(communication, compute)

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

from scoring.compute import LayerTime, layer_time, logits_time, optimizer_time
from scoring.constants import SOFTWARE, TRAINING
from scoring.hardware import Cluster
from scoring.layout import Layout
from scoring.traffic import (
    Traffic,
    context_parallel,
    data_parallel,
    expert_parallel,
    pipeline_sends,
    tensor_parallel,
)
from scoring.units import Value, ceil, log2, maximum, where
from scoring.workload import Job


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
    traffic: tuple[Traffic, ...] = ()  # empty for the candidates of a search

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
class Computed:
    """What a step computes on one GPU, whatever joins it to others: of each kind of row. [s]"""

    layer: LayerTime  # of a kind inside
    logits: Value  # of a kind inside
    update: Value  # of a kind between

    @classmethod
    def on(cls, cluster: Cluster, job: Job, layout: Layout) -> "Computed":
        """Of a layout, or of a column of them: equal on all clusters of equal GPUs."""
        inner, _ = layout.one_of_each(layout.inside)
        outer, _ = layout.one_of_each(layout.between)
        return cls(
            layer=layer_time(cluster, job, inner),
            logits=logits_time(cluster, job, inner),
            update=optimizer_time(cluster, job, outer),
        )


def training_step(
    cluster: Cluster, job: Job, layout: Layout, computed: Computed | None = None
) -> StepTime:
    """One training step of a job on a cluster, for one layout or a column of them.

    Parameters
    ----------
    cluster
        Its GPUs, links and fabric; layout.gpus of them are used.
    job
        A train or finetune_lora job.
    layout
        Splits that divide; nothing here checks that they fit (`memory.training_memory`).
    computed
        `Computed.on` equal GPUs, where it is at hand.

    Returns
    -------
    StepTime
        Broadcast over the layouts. [s]
    """
    software = SOFTWARE[job.software]
    model = job.transformer
    rounds = (job.global_batch or 1) / (layout.dp * layout.micro_batch)
    many = layout.pp > 1

    inner, spread = layout.one_of_each(layout.inside)
    computed = computed or Computed.on(cluster, job, layout)
    layer = computed.layer
    tensor, tensor_traffic = tensor_parallel(cluster, job, inner, software)
    expert, expert_traffic = expert_parallel(cluster, job, inner, software)
    context, context_traffic = context_parallel(cluster, job, inner, layer)
    logits = spread(computed.logits)
    tensor, expert, context = spread(tensor), spread(expert), spread(context)
    layer = layer.over(spread)
    whole = layer.total + tensor + expert + context  # of a layer and a micro-batch

    more = model.mtp_layers  # behind the last stage's own, with a head of their own
    heads = 2.0 if more else 1.0
    stage_layers = ceil(model.layers / layout.pp - 1e-9)
    last_layers = maximum(model.layers - (layout.pp - 1) * stage_layers, 0.0)
    stage = stage_layers * whole
    last = (last_layers + more) * whole + heads * logits
    slowest = maximum(stage, last)
    mean = ((model.layers + more) * whole + heads * logits) / layout.pp
    waiting = rounds * where(many, slowest - mean, 0.0)
    bubble = waiting + where(many, (layout.pp - 1) * stage / layout.virtual_stages, 0.0)

    pipeline, pipeline_traffic = pipeline_sends(cluster, job, layout, rounds, software)
    data, data_traffic = data_parallel(cluster, job, layout, layer, rounds, software)
    update = layout.one_of_each(layout.between)[1](computed.update)

    per_stage = rounds * (model.layers + more) / layout.pp
    busy = rounds * mean + bubble + pipeline + data + update
    doublings = log2(maximum(layout.gpus / 8.0, 1.0))
    traffic = [t for t in (tensor_traffic, expert_traffic, context_traffic) if t is not None]
    return StepTime(
        compute=per_stage * layer.total + rounds * heads * logits / layout.pp,
        exposed_tp=per_stage * tensor,
        exposed_pp=pipeline,
        bubble=bubble,
        exposed_dp=data,
        exposed_ep=per_stage * expert,
        exposed_cp=per_stage * context,
        optimizer=update,
        jitter=busy * TRAINING.jitter_per_doubling * doublings,
        traffic=()
        if layout.inside is not None
        else (*(t.called(per_stage) for t in traffic), *pipeline_traffic, *data_traffic),
    )

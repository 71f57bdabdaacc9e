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
    hidden_behind,
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
    """What of a step the layout and the GPU decide, whatever joins it to others. Over all rows."""

    inner: LayerTime  # of each kind of row inside a layer [s]
    layer: LayerTime  # [s]
    local: Value  # all of `layer` [s]
    heads: Value  # output projections of a micro-batch [s]
    update: Value  # the optimizer [s]
    rounds: Value  # micro-batches of a step
    layers: float  # of the whole model
    stage_layers: Value  # of the fullest stage
    last_layers: Value  # of the last stage
    per_stage: Value  # layers that a mean stage computes in a step, over all micro-batches
    doublings: Value  # of the GPUs beyond eight
    behind: tuple[Value, Value]  # what exchanges of gradients and of weights hide behind [s]

    @classmethod
    def on(cls, cluster: Cluster, job: Job, layout: Layout) -> "Computed":
        """Of a layout, or of a column of them: equal on all clusters of equal GPUs."""
        model = job.transformer
        few, spread = layout.one_of_each(layout.inside)
        inner = layer_time(cluster, job, few)
        layer = inner.over(spread)
        outer, over_rows = layout.one_of_each(layout.between)
        rounds = (job.global_batch or 1) / (layout.dp * layout.micro_batch)
        more = model.mtp_layers  # behind the last stage's own, with a head of their own
        stage_layers = ceil(model.layers / layout.pp - 1e-9)
        last_layers = maximum(model.layers - (layout.pp - 1) * stage_layers, 0.0)
        return cls(
            inner=inner,
            layer=layer,
            local=layer.total,
            heads=(2.0 if more else 1.0) * spread(logits_time(cluster, job, few)),
            update=over_rows(optimizer_time(cluster, job, outer)),
            rounds=rounds,
            layers=float(model.layers + more),
            stage_layers=stage_layers,
            last_layers=last_layers + more,
            per_stage=rounds * (model.layers + more) / layout.pp,
            doublings=log2(maximum(layout.gpus / 8.0, 1.0)),
            behind=hidden_behind(layout, layer, rounds, stage_layers),
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
    c = computed or Computed.on(cluster, job, layout)
    many = layout.pp > 1

    inner, spread = layout.one_of_each(layout.inside)
    tensor, tensor_traffic = tensor_parallel(cluster, job, inner, software)
    expert, expert_traffic = expert_parallel(cluster, job, inner, software)
    context, context_traffic = context_parallel(cluster, job, inner, c.inner)
    tensor, expert, context = spread(tensor), spread(expert), spread(context)
    whole = c.local + tensor + expert + context  # of a layer and a micro-batch

    stage = c.stage_layers * whole
    last = c.last_layers * whole + c.heads
    slowest = maximum(stage, last)
    mean = (c.layers * whole + c.heads) / layout.pp
    waiting = c.rounds * where(many, slowest - mean, 0.0)
    bubble = waiting + where(many, (layout.pp - 1) * stage / layout.virtual_stages, 0.0)

    pipeline, pipeline_traffic = pipeline_sends(cluster, job, layout, c.rounds, software)
    data, data_traffic = data_parallel(cluster, job, layout, c.layer, c.rounds, c.behind, software)
    busy = c.rounds * mean + bubble + pipeline + data + c.update
    traffic = [t for t in (tensor_traffic, expert_traffic, context_traffic) if t is not None]
    return StepTime(
        compute=c.per_stage * c.local + c.rounds * c.heads / layout.pp,
        exposed_tp=c.per_stage * tensor,
        exposed_pp=pipeline,
        bubble=bubble,
        exposed_dp=data,
        exposed_ep=c.per_stage * expert,
        exposed_cp=c.per_stage * context,
        optimizer=c.update,
        jitter=busy * TRAINING.jitter_per_doubling * c.doublings,
        traffic=()
        if layout.inside is not None
        else (*(t.called(c.per_stage) for t in traffic), *pipeline_traffic, *data_traffic),
    )

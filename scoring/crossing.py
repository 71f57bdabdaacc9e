"""What leaves an island of GPUs in a step: the least bytes that each GPU must send over the fabric.

An island is what GPUs reach without the fabric: the domain or the node. Of a collective over M
islands, with k of its ranks in each, a GPU sends at least

    all-reduce 2(M−1)/M · S/k    all-gather, reduce-scatter (M−1)/M · S/k
    all-to-all (n−k)/n · S       send to one other S

Copies of a token for experts of one island cross once in training: M(1 − (1 − 1/M)^topk) of topk.
"""

from scoring.constants import SOFTWARE
from scoring.layout import Layout
from scoring.memory import BF16, gradient_bytes
from scoring.traffic import Traffic
from scoring.workload import Job


def crossing_bytes(job: Job, layout: Layout, t: Traffic) -> float:
    """Of all calls of a step, for each GPU; 0 where the group stays on one island. [B]"""
    islands = float(t.group.domains)
    if islands <= 1:
        return 0.0
    size, ranks = float(t.size), float(t.group.ranks)
    inside = ranks / islands
    once = {
        "all_reduce": 2 * (islands - 1) / islands / inside,
        "custom_all_reduce": 2 * (islands - 1) / islands / inside,
        "all_gather": (islands - 1) / islands / inside,
        "reduce_scatter": (islands - 1) / islands / inside,
        "all_to_all": (ranks - inside) / ranks,
    }.get(t.kind, 1.0)
    if job.trains and t.purpose == "expert dispatch":
        topk = job.transformer.topk
        once *= min(islands * (1.0 - (1.0 - 1.0 / islands) ** topk) / topk, 1.0)
    return once * size * calls(job, layout, t)


def calls(job: Job, layout: Layout, t: Traffic) -> float:
    """How many calls of this kind a step has, on one GPU."""
    if job.kind == "custom":
        return sum(m.count for m in job.messages if m.kind == t.kind)
    model = job.transformer
    mixed = model.moe_layers / model.layers
    layers = model.layers / float(layout.pp)
    if job.kind == "decode" and t.purpose == "pipeline":
        return float(layout.pp)  # one for each slot of sequences
    if job.kind == "decode":
        apart = float(layout.ep) > float(layout.tp)
        summed = 2.0 - mixed if apart else 2.0
        return layers * (summed if t.purpose == "tensor parallel" else 2.0 * mixed * apart)
    software = SOFTWARE[job.software]
    rounds = (job.global_batch or 1) / float(layout.dp) / float(layout.micro_batch)
    again = 1.0 if float(layout.recompute) >= 2 else 0.0  # the forward pass once more
    if t.purpose == "data parallel":
        weights = BF16 / gradient_bytes(job)
        if float(layout.zero_stage) >= 3:
            return rounds * (1.0 + 2.0 * weights)
        return 1.0 + weights if float(layout.zero_stage) >= 1 else 1.0
    if t.purpose == "pipeline":
        return 2.0 * rounds * float(layout.virtual_stages)
    each = {
        "tensor parallel": (2.0 + again)
        * (model.blocks - mixed * (float(layout.ep) > 1))
        * (2.0 if software.sequence_parallel else 1.0),
        "expert dispatch": (4.0 + 2.0 * again) * mixed,
        "context parallel": (float(layout.cp) - 1) * (3.0 + again),
    }[t.purpose]
    return rounds * layers * each

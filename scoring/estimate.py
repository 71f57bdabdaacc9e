"""Time and dollars of a job on a cluster: the best layout, where its step goes, and how sure it is.

`estimate` answers for one cluster in full, `best` the same or why not, `rank` for many clusters.
Two efficiencies are always defined: `scaling_efficiency` holds the throughput per GPU against that
at the smallest count on which the job fits (strong scaling: the same batch; a custom job's problem
is as fixed; decoding serves as many sequences as fit), each with its best layout;
`fabric_efficiency` holds the throughput against that of the same GPUs in one scale-up domain.
"""

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from scoring.answers import DoesNotFit, Estimate, residuals
from scoring.collectives import bus_bytes_per_s, fastest_algorithm
from scoring.constants import INTERVAL
from scoring.crossing import crossing_bytes
from scoring.custom import custom_bytes_per_gpu, custom_step
from scoring.decode import decode_memory, token_time, tokens_per_s
from scoring.fields import FieldError
from scoring.formats import multiplied, stored
from scoring.hardware import Cluster
from scoring.layout import Layout, candidates, checked
from scoring.memory import MemoryTerms, training_memory
from scoring.refusals import MAX_GPUS, counted, refused
from scoring.replicas import decode_candidates, decode_layouts, fitting_layouts
from scoring.search import counts_up_to, fastest_layouts, first_fit, least_memory, smallest_count
from scoring.serving import serve
from scoring.traffic import Traffic
from scoring.training import training_step
from scoring.units import GIGA, TERA, Value
from scoring.workload import Job

LIMITS = {
    "compute_s": "compute",
    "exposed_tp_s": "tensor-parallel communication",
    "exposed_pp_s": "pipeline communication",
    "bubble_s": "pipeline bubble",
    "exposed_dp_s": "data-parallel communication",
    "exposed_ep_s": "expert-parallel communication",
    "exposed_cp_s": "context-parallel communication",
    "optimizer_s": "optimizer",
    "jitter_s": "stragglers",
}
FURTHER = 1024  # times the count that is asked for: how far a count that fits is looked for
WAITING = (
    "exposed_tp_s",
    "exposed_pp_s",
    "bubble_s",
    "exposed_dp_s",
    "exposed_ep_s",
    "exposed_cp_s",
)


# ------------------------------------------------------------------ the public questions


def estimate(
    cluster: Cluster, job: Job, gpus: int, layout: Layout | None = None
) -> Estimate | DoesNotFit:
    """The full answer for one cluster: with this layout, or with the fastest that fits.

    Parameters
    ----------
    cluster, job
        From `hardware` and `workload`.
    gpus
        How many; a part of a node, or whole nodes.
    layout
        Fixed by the user; None searches.

    Raises
    ------
    FieldError
        For `gpus` out of range or not whole nodes, and for a layout that does not divide.
    """
    reasons = refused(cluster, job, gpus)
    if reasons:
        return DoesNotFit(cluster.name, job.name, gpus, reasons, cluster.assumptions)
    if layout is not None:
        layout = checked(layout, job, gpus)
    chosen = layout or next(iter(find_layouts(cluster, job, gpus, 1)), None)
    if chosen is None or not _fits(cluster, job, chosen):
        return _does_not_fit(cluster, job, gpus, chosen)
    return _filled(cluster, job, gpus, chosen, searched=layout is None)


def best(cluster: Cluster, job: Job, gpus: int) -> Estimate | DoesNotFit:
    """The estimate of the fastest layout that fits, or why none does."""
    return estimate(cluster, job, gpus)


def search(cluster: Cluster, job: Job, gpus: int, top: int = 10) -> list[Estimate]:
    """Estimates of the best layouts, best first; empty where none fits.

    Raises
    ------
    FieldError
        For `gpus` as `estimate`, and for a `top` that is no whole number from 1 to 1000.
    """
    wanted = counted("top", top, 1000)
    if refused(cluster, job, gpus):
        return []
    found = find_layouts(cluster, job, gpus, wanted)
    return [_filled(cluster, job, gpus, layout, searched=True) for layout in found]


def layouts_considered(job: Job, gpus: int) -> int:
    """How many candidates a search of the job over the GPUs costs."""
    if job.kind == "custom":
        return 1
    return len(decode_candidates(job, gpus) if job.kind == "decode" else candidates(job, gpus))


def rank(
    clusters: Iterable[Cluster], job: Job, gpus: int, objective: str = "time"
) -> list[Estimate | DoesNotFit]:
    """Estimates for many clusters, best first; those that do not fit last, each with its reason.

    Parameters
    ----------
    clusters
        Any number; equal hardware is computed once.
    gpus
        Wanted GPUs; each cluster gets whole nodes, at least as many.
    objective
        time (most throughput per GPU of the wanted count: shortest step), efficiency (exposed
        share), or usd_per_mtoken (clusters without a price come after those with one).

    Raises
    ------
    FieldError
        For an unknown `objective`.
    """
    merits: dict[str, Callable[[Estimate], float]] = {
        "time": lambda e: e.step_time_s if e.tokens_per_s is None else 1.0 / e.tokens_per_s,
        "efficiency": lambda e: -e.fabric_efficiency,
        "usd_per_mtoken": lambda e: math.inf if e.usd_per_mtoken is None else e.usd_per_mtoken,
    }
    if objective not in merits:
        raise FieldError("objective", f"must be one of {', '.join(merits)}, not {objective!r}.")
    merit = merits[objective]
    answers = [estimate(c, job, whole_nodes(c, gpus)) for c in clusters]

    def place(answer: Estimate | DoesNotFit) -> tuple[bool, float, str]:
        known = isinstance(answer, Estimate)
        return not known, merit(answer) if isinstance(answer, Estimate) else 0.0, answer.cluster

    return sorted(answers, key=place)


def whole_nodes(cluster: Cluster, gpus: int) -> int:
    """The GPU count that is rented for at least `gpus`: part of one node, or whole nodes."""
    node, gpus = cluster.gpu_count, counted("gpus", gpus, MAX_GPUS)
    if gpus <= node:
        return gpus if node % gpus == 0 else node
    return -(-gpus // node) * node


# ------------------------------------------------------------------ one layout, filled in


def find_layouts(cluster: Cluster, job: Job, gpus: int, top: int) -> list[Layout]:
    if job.kind == "custom":
        return [Layout(dp=float(gpus))]
    if job.kind == "decode":
        return decode_layouts(cluster, job, gpus, top)
    return fastest_layouts(cluster, job, gpus, top)


def _memory(cluster: Cluster, job: Job, layout: Layout) -> MemoryTerms:
    if job.kind == "decode":
        return decode_memory(cluster.gpu, job, layout)
    if job.kind == "custom":
        held = custom_bytes_per_gpu(job, layout.gpus)
        return MemoryTerms(0.0, 0.0, 0.0, held, 0.0, 0.0, 0.0)
    return training_memory(job, layout)


def _fits(cluster: Cluster, job: Job, layout: Layout) -> bool:
    return bool(_memory(cluster, job, layout).total <= cluster.gpu.memory_bytes)


def _does_not_fit(cluster: Cluster, job: Job, gpus: int, layout: Layout | None) -> DoesNotFit:
    reasons = []
    given = layout is not None
    if layout is None and job.trains:
        layout = least_memory(job, gpus)
        if layout is None:
            reasons.append(
                f"no split of the job divides over {gpus} GPUs: batch {job.global_batch}, "
                f"{job.transformer.layers} layers, {job.transformer.heads} heads"
            )
    elif layout is None:
        rows = decode_candidates(job, gpus)
        if len(rows):
            total = np.asarray(decode_memory(cluster.gpu, job, rows).total)
            layout = rows.row(int(np.argmin(total)))
        else:
            reasons.append(f"no split of the job divides over {gpus} GPUs")
    fixed = "as asked" if given else "the least"
    if layout is not None:
        split = ", ".join(f"{k} {v}" for k, v in layout.as_json().items() if v not in (1, 0))
        memory = _memory(cluster, job, layout).sentence(cluster.gpu)
        reasons.append(f"{memory} ({fixed}, with {split or 'one GPU'})")
    near = () if given else nearest_counts(cluster, job, gpus)
    if near:
        reasons.append(f"it fits on {' or '.join(map(str, near))} GPUs")
    said = cluster.said(talks=False, crosses=False)  # links decide nothing of what fits
    return DoesNotFit(cluster.name, job.name, gpus, tuple(reasons), *said, nearest_gpus=near)


def _seconds(cluster: Cluster, job: Job, layout: Layout) -> float:
    """Step time of one layout. [s]"""
    if job.kind == "decode":
        return float(token_time(cluster, job, layout).total)
    if job.kind == "custom":
        return float(custom_step(cluster, job, layout.gpus).total)
    return float(training_step(cluster, job, layout).total)


def _breakdown(
    cluster: Cluster, job: Job, layout: Layout
) -> tuple[dict[str, float], tuple[Traffic, ...]]:
    """Seconds by term under their public names, and the messages behind them."""
    terms: dict[str, Value] = dict.fromkeys(LIMITS, 0.0)
    if job.kind == "custom":
        custom = custom_step(cluster, job, layout.gpus)
        terms |= {"compute_s": custom.compute, "jitter_s": custom.jitter}
        terms["exposed_dp_s"] = custom.exposed
        traffic = custom.traffic
    elif job.kind == "decode":
        token = token_time(cluster, job, layout)
        terms["compute_s"] = token.local
        terms |= {"exposed_tp_s": token.exposed_tp, "exposed_ep_s": token.exposed_ep}
        terms |= {"exposed_pp_s": token.exposed_pp, "bubble_s": token.bubble}
        traffic = token.traffic
    else:
        step = training_step(cluster, job, layout)
        terms |= {name: getattr(step, name.removesuffix("_s")) for name in LIMITS}
        traffic = step.traffic
    return {name: float(value) for name, value in terms.items()}, traffic


def _filled(cluster: Cluster, job: Job, gpus: int, layout: Layout, *, searched: bool) -> Estimate:
    time, traffic = _breakdown(cluster, job, layout)
    seconds = sum(time.values())
    exposed = sum(time[name] for name in WAITING)
    memory = _memory(cluster, job, layout)
    fast = _reading(cluster.optimistic, job, gpus, layout, seconds, faster=True)
    slow = _reading(cluster.pessimistic, job, gpus, layout, seconds, faster=False)
    # What the unknown could change counts as used: another layout would use it.
    open_ended = fast < seconds or slow > seconds
    talks = open_ended or any(float(t.group.ranks) > 1 for t in traffic)
    crosses = gpus > cluster.near_gpus and (
        open_ended or any(float(t.group.domains) > 1 for t in traffic)
    )
    low, high = _interval(cluster, job, crosses, min(fast, seconds), max(slow, seconds))
    serving = job.kind == "decode"
    wanted = stored(job) if serving else job.precision
    precision = multiplied(cluster.gpu, job)
    assumed, warned = cluster.said(talks=talks, crosses=crosses)
    warnings = list(warned)
    if precision != wanted:
        warnings.append(f"{cluster.gpu.slug} does not compute in {wanted}: runs in {precision}")
    if layout.gpus < gpus:
        warnings.append(f"{gpus - int(layout.gpus)} of {gpus} GPUs idle: no better split of all")
    if not cluster.measured(crosses=crosses):
        warnings.append("this GPU or fabric was never measured: the interval is twice as wide")
    assumptions = (*assumed, *job.assumptions, *_standing_assumptions(job))
    tokens: float | None = None
    if job.kind == "decode":
        tokens = float(tokens_per_s(job, layout, seconds))
        if job.max_tpot_ms is not None and seconds * 1e3 > job.max_tpot_ms:
            warnings.append(f"no layout is within {job.max_tpot_ms:g} ms a token")
    elif job.trains:
        tokens = job.tokens / seconds
    tflops = _model_flop_per_s(job, layout, seconds) / gpus / TERA
    start = smallest_way(cluster.bare(), job, gpus)
    scaling = 1.0 if start is None else _rate(job, layout, seconds) / gpus / start[2]
    fabric = _fabric_efficiency(cluster, job, gpus, layout, seconds, searched=searched)
    nodes = -(-gpus // cluster.gpu_count)
    price = None if cluster.usd_per_hour is None else cluster.usd_per_hour * nodes
    return Estimate(
        cluster=cluster.name,
        job=job.name,
        kind=job.kind,
        gpus=gpus,
        nodes=nodes,
        layout=layout,
        step_time_s=seconds,
        tokens_per_s=tokens,
        model_tflops_per_gpu=tflops,
        mfu=tflops * TERA / cluster.gpu.flop_per_s[precision],
        precision=precision,
        memory_gb_per_gpu=float(memory.total) / GIGA,
        memory=memory.sentence(cluster.gpu),
        time=time,
        exposed_share=exposed / seconds,
        scaling_efficiency=scaling,
        scaling_from=None if start is None else {"gpus": start[0], "layout": start[1].as_json()},
        scaling="weak" if job.kind == "decode" and job.global_batch is None else "strong",
        fabric_efficiency=fabric,
        limited_by=LIMITS[max(time, key=lambda name: time[name])],
        low_s=low,
        high_s=high,
        collectives=tuple(
            _collective(cluster, job, layout, t) for t in traffic if float(t.group.ranks) > 1
        ),
        assumptions=assumptions,
        warnings=tuple(warnings),
        tpot_ms=seconds * 1e3 if job.kind == "decode" else None,
        ttft_ms=float(serve(cluster, job, layout).first_token_s) * 1e3 if serving else None,
        usd_per_hour=price,
    )


def _standing_assumptions(job: Job) -> tuple[str, ...]:
    if job.kind == "custom":
        return ("messages are not overlapped with compute",)
    if job.kind == "decode":
        prompts = "share the steps" if job.output_len else "are read apart"
        return (f"every sequence has the same context; prompts {prompts}",)
    return (
        f"software: {job.software}; nothing fails, data and checkpoints are free",
        *(("experts are loaded unevenly",) if job.transformer.experts else ()),
    )


def _model_flop_per_s(job: Job, layout: Layout, seconds: float) -> float:
    if job.kind == "decode":
        rate = float(tokens_per_s(job, layout, seconds))
        return rate * job.transformer.forward_flop_per_token(2.0 * job.seq_len)
    return job.model_flop / seconds


def _collective(cluster: Cluster, job: Job, layout: Layout, t: Traffic) -> dict[str, Any]:
    """One kind of message under its public names; time and bytes of one call. [s], [B]

    `crossing_bytes` are the least that a GPU sends over the fabric for all calls of a step.
    """
    size, ranks, time = float(t.size), int(t.group.ranks), float(t.time)
    return {
        "purpose": t.purpose,
        "kind": t.kind,
        "algorithm": fastest_algorithm(cluster, t.kind, size, t.group),
        "bytes": size,
        "ranks": ranks,
        "time_s": time,
        "bus_gbytes_per_s": bus_bytes_per_s(t.kind, size, ranks, time) / GIGA,
        "exposed_s": float(t.exposed),
        "crossing_bytes": crossing_bytes(job, layout, t),
    }


def _interval(
    cluster: Cluster, job: Job, crosses: bool, fastest: float, slowest: float
) -> tuple[float, float]:
    """p10 and p90 of the step time: the model's residuals, and the reach of unknown facts. [s]"""
    residual = residuals(cluster, job, crosses=crosses)
    factor = 1.0 if cluster.measured(crosses=crosses) else INTERVAL.unmeasured_factor
    low, high = (math.exp(residual[end] * factor) for end in ("low", "high"))
    return fastest * low, slowest * high


def _reading(
    cluster: Cluster | None, job: Job, gpus: int, layout: Layout, seconds: float, *, faster: bool
) -> float:
    """Step time if the unknown were so: with this layout, or the one that would then be chosen.

    Of what is no slower with this layout the better one is only looked for on the `faster` side.
    """
    if cluster is None:
        return seconds
    same = _seconds(cluster, job, layout)
    if same <= seconds and not faster:
        return seconds
    other = next(iter(fastest_layouts(cluster, job, gpus)), layout) if job.trains else layout
    return min(same, _seconds(cluster, job, other))


def _fabric_efficiency(
    cluster: Cluster, job: Job, gpus: int, layout: Layout, seconds: float, *, searched: bool
) -> float:
    """Throughput over that without the cliff, of the same GPUs in one domain.

    A layout fixed by the user meets itself there; a searched one meets the best.
    """
    if gpus <= cluster.domain_gpus or gpus == 1:
        return 1.0
    bare, rate = cluster.bare(), _rate(job, layout, seconds)
    domain = bare.as_one_domain(gpus).unjoined()  # computed once for all fabrics
    if searched and job.kind != "custom":
        ideal = best_rate(domain, job, gpus) or rate
    else:
        ideal = _rate(job, layout, _seconds(domain, job, layout))
    return rate / max(ideal, rate)


def _rate(job: Job, layout: Layout, seconds: float) -> float:
    """Throughput in the job's own measure: tokens or steps a second."""
    if job.kind == "decode":
        return float(tokens_per_s(job, layout, seconds))
    return 1.0 / seconds


def best_rate(cluster: Cluster, job: Job, gpus: int) -> float | None:
    """Throughput of the best layout, in the job's own measure; None where none fits."""
    found = fastest_way(cluster, job, gpus)
    return None if found is None else found[1]


@lru_cache(maxsize=8192)
def fastest_way(cluster: Cluster, job: Job, gpus: int) -> tuple[Layout, float] | None:
    """The best layout on a `Cluster.bare()`, and steps or output tokens a second with it."""
    found = find_layouts(cluster, job, gpus, 1)
    if not found:
        return None
    return found[0], _rate(job, found[0], _seconds(cluster, job, found[0]))


@lru_cache(maxsize=8192)
def smallest_way(cluster: Cluster, job: Job, gpus: int) -> tuple[int, Layout, float] | None:
    """The smallest count up to `gpus` on which the job fits: its layout, and a GPU's throughput."""
    count = first_count(cluster, job, gpus)
    if count is None:
        return None
    used = cluster.unjoined() if count <= cluster.near_gpus else cluster
    found = fastest_way(used, job, count)
    if found is None:
        return None
    layout, rate = found
    return count, layout, rate / count


def first_count(cluster: Cluster, job: Job, gpus: int) -> int | None:
    """The smallest GPU count up to `gpus` on which the job fits; None where there is none."""
    if job.trains:
        return smallest_count(cluster, job, gpus)
    return next((n for n in counts_up_to(cluster, gpus) if _holds(cluster, job, n)), None)


def nearest_counts(cluster: Cluster, job: Job, gpus: int) -> tuple[int, ...]:
    """Of the counts that one would rent, the next below and above `gpus` on which the job fits.

    Whole nodes, and parts of one where a part is asked for. Above as far as GPUs are joined, and
    no further than `FURTHER` times as many.
    """
    most = min(gpus * FURTHER, MAX_GPUS, cluster.max_gpus or MAX_GPUS)
    if cluster.fabric == "none":
        most = min(most, cluster.near_gpus)
    node = cluster.gpu_count
    counts = [n for n in counts_up_to(cluster.bare(), most) if n % node == 0 or gpus < node]
    below, above = (n for n in reversed(counts) if n < gpus), (n for n in counts if n > gpus)
    found = (next((n for n in side if _holds(cluster, job, n)), None) for side in (below, above))
    return tuple(n for n in found if n)


def _holds(cluster: Cluster, job: Job, gpus: int) -> bool:
    """Whether some split of the job fits on so many GPUs."""
    memory = cluster.gpu.memory_bytes
    if job.trains:
        return first_fit(job, (gpus,), memory) is not None
    if job.kind == "decode":
        return bool(len(fitting_layouts(cluster, job, gpus)))
    return bool(custom_bytes_per_gpu(job, gpus) <= memory)

"""What the fabric costs as a job grows, and what serving gives at each speed: curves of the first.

Of the first clusters of a ranking, each kind of hardware once. A point of growth is the estimate
that `POST estimates/` gives for that count.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import scoring
from catalog.candidates import Candidate, TooMuch, Unfit, estimates
from catalog.questions import Asked

SHOWN = 5  # lines that can be told apart
STEPS = (0.25, 0.5, 1, 2, 4)  # of the count that is ranked
Ranked = Sequence[tuple[Candidate, dict[str, Any]]]


def growth(question: Asked, ranked: Ranked) -> list[dict[str, Any]]:
    """Of each of the first clusters its efficiency at a quarter to four times the count.

    `fabric_efficiency` is the throughput as a part of that of the same GPUs in one domain; low and
    high are what it is at the ends of the estimate's interval. `measured` are published runs, whose
    `share` is the throughput of a GPU as a part of that on the fewest GPUs of their series.
    Empty where it would be too much.
    """
    first = _first(ranked)
    sizes = [list(_sizes(candidate, question)) for candidate, _result in first]
    try:
        times = estimates(question, [size for each in sizes for size in each])
    except TooMuch:
        return []
    return [
        _of(candidate, result)
        | {
            "points": [_point(size, times[size.digest]) for size in each],
            "measured": _measured(question, result["offer"]),
        }
        for (candidate, result), each in zip(first, sizes, strict=True)
    ]


def _measured(question: Asked, offer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Runs that somebody published of such a job on such hardware, at several counts."""
    rate = offer["fabric_gbits_per_s_per_gpu"]
    return scoring.scaling_runs(
        question.job, offer["gpu"], offer["fabric"], None if rate is None else float(rate)
    )


def frontier(question: Asked, ranked: Ranked) -> list[dict[str, Any]]:
    """Of each of the first clusters the points of serving that no other beats, fastest first."""
    return [
        _of(each, result)
        | {"points": [p.as_json() for p in scoring.pareto(each.cluster, question.job, each.gpus)]}
        for each, result in _first(ranked)
    ]


def _first(ranked: Ranked) -> list[tuple[Candidate, dict[str, Any]]]:
    """The first clusters; of offers with equal hardware the best one alone."""
    found: dict[str, tuple[Candidate, dict[str, Any]]] = {}
    for candidate, result in ranked:
        found.setdefault(candidate.digest, (candidate, result))
    return list(found.values())[:SHOWN]


def _sizes(candidate: Candidate, question: Asked) -> Iterator[Candidate]:
    """The same hardware at other counts, in whole nodes, where so many can be had."""
    seen = set()
    for step in STEPS:
        with suppress(Unfit):
            size = candidate.machine.on(max(1, round(candidate.gpus * step)), question.job)
            if size.gpus not in seen:
                seen.add(size.gpus)
                yield size


def _of(candidate: Candidate, result: dict[str, Any]) -> dict[str, Any]:
    names = ("provider", "instance_type", "gpu", "fabric", "fabric_gbits_per_s_per_gpu")
    return {name: result["offer"][name] for name in names} | {
        "gpus": candidate.gpus,
        "domain_gpus": candidate.cluster.near_gpus,
        "unknown": sorted(candidate.machine.open_facts),
    }


def _point(size: Candidate, estimate: dict[str, Any]) -> dict[str, Any]:
    if not estimate["fits"]:
        return {"gpus": size.gpus, "fits": False, "reasons": estimate["reasons"]}
    share, step_s = estimate["fabric_efficiency"], estimate["step_time_s"]
    low, high = (share * step_s / estimate["interval"][end] for end in ("high", "low"))
    return {
        "gpus": size.gpus,
        "fits": True,
        "step_time_s": step_s,
        "scaling_efficiency": estimate["scaling_efficiency"],
        "fabric_efficiency": share,
        "low": low,
        "high": min(high, 1.0),
    }

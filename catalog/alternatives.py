"""What if: the first clusters of a ranking on other networks, and what the better is worth."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import scoring
from catalog.candidates import Candidate, Unfit, estimates
from catalog.questions import Asked

SHOWN = 5  # clusters of a ranking, best first


def alternatives(
    question: Asked, ranked: Sequence[tuple[Candidate, dict[str, Any]]]
) -> list[list[dict[str, Any]]]:
    """Of each of the first clusters every scenario that makes sense: its time and its money."""
    others = [list(_others(question, candidate)) for candidate, _result in ranked[:SHOWN]]
    times = estimates(question, [other for each in others for _, _, other in each])
    return [
        [_held_against(result, name, changes, times[other.digest]) for name, changes, other in each]
        for (_candidate, result), each in zip(ranked, others, strict=False)
    ]


def _others(question: Asked, candidate: Candidate) -> list[tuple[str, dict[str, Any], Candidate]]:
    found = []
    for name, changes in scoring.scenarios(candidate.cluster, candidate.gpus).items():
        with suppress(scoring.FieldError, Unfit):  # a domain that this node does not divide
            other = candidate.machine.supposing(changes)
            found.append((name, changes, other.on(candidate.gpus, question.job)))
    return found


def _held_against(
    result: dict[str, Any], name: str, changes: dict[str, Any], then: dict[str, Any]
) -> dict[str, Any]:
    now_s = _seconds(result["estimate"])
    then_s = _seconds(then) if then["fits"] else None
    usd = result["usd_per_hour"]
    per_gpu = usd and usd / (result["nodes"] * float(result["offer"]["gpu_count"]))
    said = scoring.changed(name, changes, now_s, then_s, per_gpu).as_json()
    mtoken = result["usd_per_mtoken"]
    ratio = said["time_ratio"]
    return said | {"usd_per_mtoken": None if mtoken is None or ratio is None else mtoken * ratio}


def _seconds(estimate: dict[str, Any]) -> float:
    """Of a unit of work: a token that is served, or a step."""
    if "tpot_ms" in estimate:
        return float(1 / estimate["tokens_per_s"])
    return float(estimate["step_time_s"])

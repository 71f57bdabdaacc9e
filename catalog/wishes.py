"""A deadline and a budget: the count of GPUs that keeps them, who cannot, what comes nearest.

"1T tokens in 30 days under $2 M: the smallest cluster that does"
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import scoring
from catalog.candidates import Candidate, Machine, Unfit, gpu_of, left_out
from catalog.questions import Asked

Result = Mapping[str, Any]
NAMED = ("provider", "instance_type", "region", "tier", "price_model")  # what tells an offer


def counted(
    asked: Asked, machines: Sequence[Machine]
) -> tuple[list[Candidate], list[dict[str, Any]]]:
    """Each machine with the count that is asked for, or the fewest GPUs that keep the deadline.

    Where no count keeps it, the fastest that was found: `kept` says so afterwards.
    """
    candidates, without = [], []
    sizes = _sizes(asked, machines) if asked.counts else {}
    for machine in machines:
        try:
            candidates.append(machine.on(_gpus(asked, machine, sizes), asked.job))
        except Unfit as reason:
            without.append(left_out(machine.offer, str(reason)))
    return candidates, without


def _gpus(asked: Asked, machine: Machine, sizes: Mapping[Any, int | Unfit]) -> int:
    if not asked.counts:
        return asked.gpus or (asked.nodes or 1) * machine.cluster.gpu_count
    size = sizes[_kind(machine)]
    if isinstance(size, Unfit):
        raise Unfit(str(size))
    return size


def _kind(machine: Machine) -> tuple[Any, ...]:
    """What its count rests on."""
    return machine.cluster.bare(), machine.most_gpus, machine.spot


def _sizes(asked: Asked, machines: Iterable[Machine]) -> dict[Any, int | Unfit]:
    """The count of each kind of machine, or why there is none."""
    found: dict[Any, int | Unfit] = {}
    for machine in sorted(machines, key=gpu_of):
        if (kind := _kind(machine)) not in found:
            try:
                found[kind] = _fewest(asked, machine)
            except Unfit as reason:
                found[kind] = reason
    return found


def _fewest(asked: Asked, machine: Machine) -> int:
    needed = 0.0
    if asked.deadline_hours is not None and asked.work is not None:
        needed = asked.work / asked.deadline_hours / 3600
    try:
        size = scoring.fewest_gpus(
            machine.cluster,
            asked.job,
            needed,
            spot=machine.spot,
            assumed=asked.reliability,
            most=machine.most_gpus,
        )
    except scoring.FieldError as problem:  # a figure that the model lacks, of this GPU alone
        raise Unfit(str(problem)) from None
    if size is None:
        raise Unfit("the job fits on no count of its GPUs that can be had together")
    return size.gpus


def kept(asked: Asked, result: Result) -> str:
    """Why a result does not keep the wishes, in words; empty where it does."""
    return "; ".join(_broken(asked, result))


def _broken(asked: Asked, result: Result) -> Iterator[str]:
    hours, usd, gpus = result["hours"], result["usd_for_the_job"], result["estimate"]["gpus"]
    if asked.deadline_hours is not None:
        if hours is None:
            yield f"on {gpus} GPUs it is never finished: failures stop it faster than it moves"
        elif hours["expected"] > asked.deadline_hours:
            took = f"takes {hours['expected']:,.0f} h on {gpus} GPUs"
            yield f"{took}, not {asked.deadline_hours:,.0f}"
    if asked.budget_usd is not None:
        if usd is None:
            yield "its price is not published"
        elif usd > asked.budget_usd:
            yield f"costs ${usd:,.0f} on {gpus} GPUs, not ${asked.budget_usd:,.0f}"


def overrun(asked: Asked, result: Result) -> float:
    """By how much the wish that is broken worst is: 1 keeps all, 1.5 takes half as much again."""
    shares = [1.0]
    if asked.deadline_hours is not None:
        hours = result["hours"]
        shares.append(hours["expected"] / asked.deadline_hours if hours else float("inf"))
    if asked.budget_usd is not None:
        usd = result["usd_for_the_job"]
        shares.append(float("inf") if usd is None else usd / asked.budget_usd)
    return max(shares)


def nearest_count(unfit: Iterable[tuple[Candidate, Result]]) -> Result | None:
    """The count nearest to the one asked for on which the job would fit, and on what."""
    ways = [(gpus, each) for each, estimate in unfit for gpus in estimate.get("nearest_gpus", ())]
    if not ways:
        return None

    def away(way: tuple[int, Candidate]) -> tuple[float, int, float, str, str]:
        gpus, candidate = way
        offer, usd = candidate.offer, candidate.offer["usd_per_gpu_hour"]
        price = float("inf") if usd is None else gpus * float(usd)
        factor = max(gpus, candidate.gpus) / min(gpus, candidate.gpus)
        return factor, -gpus, price, offer["provider"], offer["instance_type"]

    gpus, candidate = min(ways, key=away)
    return {key: candidate.offer[key] for key in NAMED} | {"gpus": gpus}


def said(asked: Asked, results: list[Any], broken: list[Any]) -> dict[str, Any] | None:
    """What came of the wishes: the smallest cluster that keeps them, or why none; the nearest."""
    if not asked.wishes:
        return None
    wish = {
        "deadline_hours": asked.deadline_hours,
        "budget_usd": asked.budget_usd,
        "tokens": asked.tokens,
        "steps": asked.steps,
        "met": bool(results),
    }
    if results:
        smallest = min(results, key=lambda each: (each["estimate"]["gpus"], _usd(each)))
        return wish | {"smallest": _short(smallest), "reason": None, "nearest": None}
    if not broken:
        reason = "no offer that the filter lets through can be estimated: left_out says why"
        return wish | {"smallest": None, "reason": reason, "nearest": None}
    nearest = min(broken, key=lambda each: (overrun(asked, each), _usd(each)))
    reason = f"no cluster does it: the nearest, {_name(nearest)}, {kept(asked, nearest)}"
    return wish | {"smallest": None, "reason": reason, "nearest": _short(nearest)}


def _usd(result: Result) -> float:
    usd = result["usd_for_the_job"]
    return float("inf") if usd is None else float(usd)


def _name(result: Result) -> str:
    return f"{result['offer']['provider']} {result['offer']['instance_type']}"


def _short(result: Result) -> dict[str, Any]:
    """What tells a result from the others, and what it takes."""
    offer = result["offer"]
    return {key: offer[key] for key in NAMED} | {
        "gpus": result["estimate"]["gpus"],
        "nodes": result["nodes"],
        "hours": result["hours"],
        "usd": result["usd_for_the_job_range"],
    }

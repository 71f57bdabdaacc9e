"""What an estimate costs on an offer now: per token, per run, per hour that is used.

What failures take is a factor of its own (`goodput`): the time of a step and the price of a million
tokens are without it, the hours and dollars of a whole job with it.
"""

from collections.abc import Mapping
from typing import Any

import scoring
from catalog.candidates import Candidate
from catalog.extras import extras
from catalog.questions import Asked
from catalog.records import PriceModel

# Hours that are paid for whatever is used, where an offer does not say more: its term. [h]
TERMS = {
    PriceModel.RESERVED_1M: 730.0,
    PriceModel.RESERVED_1Y: 8_760.0,
    PriceModel.RESERVED_3Y: 26_280.0,
}
NOT_IN_THE_PRICE = "storage, egress and taxes cost more, except for what an offer's price includes"
Range = dict[str, float]


def priced(candidate: Candidate, estimate: dict[str, Any], asked: Asked) -> dict[str, Any]:
    """An estimate with what it costs on this offer now.

    An hour that is used costs more than one that is rented, where a minimum term outlasts the job.
    """
    offer, nodes = candidate.offer, candidate.nodes
    per_hour = None if offer["usd_per_hour"] is None else float(offer["usd_per_hour"]) * nodes
    tokens, step_s = estimate["tokens_per_s"], estimate["step_time_s"]
    kept = scoring.goodput(
        asked.job,
        candidate.gpus,
        candidate.cluster.gpu_count,
        replica_gpus=scoring.replica_gpus(asked.job, estimate["layout"]),
        spot=candidate.machine.spot,
        assumed=asked.reliability,
    )
    hours = _hours(estimate, asked, kept.share)
    least = least_hours(offer)
    billed = hours and {end: max(each, least) for end, each in hours.items()}
    stretch = billed["expected"] / hours["expected"] if billed and hours else 1.0
    per_used_hour = per_hour and per_hour * stretch
    per_mtoken = scoring.usd_per_mtoken(per_used_hour, tokens)
    low, high = (estimate["interval"][end] / step_s for end in ("low", "high"))
    usd = per_hour and billed and {end: per_hour * each for end, each in billed.items()}
    working = _working_gpus(estimate, candidate)
    return {
        "offer": offer,
        "nodes": nodes,
        "estimate": estimate | {"cluster": f"{offer['provider']}/{offer['instance_type']}"},
        "usd_per_mtoken": per_mtoken,
        "usd_per_step": None if per_used_hour is None else per_used_hour * step_s / 3600,
        "usd_per_hour": per_hour,
        "goodput": kept.as_json(),
        "besides": extras(offer["provider"]),
        "usd_per_mtoken_with_failures": _over(per_mtoken, kept.share),
        "usd_per_gpu_hour_used": _over(per_used_hour, kept.share * working),
        "hours": hours,
        "hours_billed": billed and billed["expected"],
        "usd_for_the_job": usd and usd["expected"],
        "usd_for_the_job_range": usd,
        "usd_lost_to_waiting_per_hour": scoring.usd_lost_to_waiting_per_hour(
            per_hour, estimate["exposed_share"]
        ),
        "interval": {
            "of": "usd_per_mtoken" if per_mtoken else "step_time_s",
            "low": (per_mtoken or step_s) * low,
            "high": (per_mtoken or step_s) * high,
        },
    }


def least_hours(offer: Mapping[str, Any]) -> float:
    """Hours that are billed for at the least: the stated minimum, or the term of a reservation."""
    stated = offer["minimum_hours"]
    return float(stated if stated is not None else TERMS.get(offer["price_model"], 0.0))


def _hours(estimate: Mapping[str, Any], asked: Asked, share: float) -> Range | None:
    """How long the job is rented for: as asked, or what its work takes with failures. [h]"""
    if asked.hours is not None:
        return dict.fromkeys(("low", "expected", "high"), asked.hours)
    if asked.work is None or not share:
        return None
    step_s = estimate["step_time_s"]
    rate = estimate["tokens_per_s"] if asked.job.kind == "decode" else 1.0 / step_s
    expected = asked.work / rate / share / 3600
    low, high = (estimate["interval"][end] / step_s for end in ("low", "high"))
    return {"low": expected * low, "expected": expected, "high": expected * high}


def _working_gpus(estimate: Mapping[str, Any], candidate: Candidate) -> float:
    """GPUs that the layout uses; the others are paid for too."""
    layout = estimate["layout"]
    used = layout["tp"] * layout["pp"] * layout["cp"] * layout["dp"]
    return float(min(used, candidate.gpus))


def _over(usd: float | None, share: float) -> float | None:
    return None if usd is None or not share else usd / share

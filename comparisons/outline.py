"""A run in brief: what it was of, who leads it, how much changed since the one before.

It is kept beside the run when that is made, in values and not in words, so that a list in any
language reads none of the answers themselves.

    {"workloads": [title], "offers": count, "changes": {kind: count} or null for a first run,
     "leads": {"offer", "of", "value", "currency"} or null where nothing can be ranked}

`of` names the figure with its unit, and so with its currency: `usd_per_mtoken`, `eur_per_mtoken`.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from catalog import phrases
from catalog.currency import Money
from catalog.templatetags.quantities import dollars, duration, percent, price
from comparisons.change import Change
from comparisons.changes import counted, named
from comparisons.columns import per, title_of
from comparisons.form import Snapshot
from comparisons.snapshot import OFFERED

Row = Mapping[str, Any]
DOLLARS, PER_GPU_HOUR = "usd_", "usd_per_gpu_hour"
# What a workload is ranked by, and the figure of an estimate that says so; else it is its cost.
RANKED_BY = {"time": "step_time_s", "efficiency": "fabric_efficiency"}


def of(answer: Snapshot, found: Iterable[Change] | None) -> dict[str, Any]:
    """What is kept of an answer, and of its changes; None where there was no run before."""
    return {
        "workloads": [each["workload"]["title"] for each in answer["workloads"]],
        "offers": len(answer["offers"]),
        "leads": _leads(answer),
        "changes": None if found is None else dict(Counter(str(each.kind) for each in found)),
    }


def _leads(answer: Snapshot) -> dict[str, Any] | None:
    """The first of the first workload; without one, the lowest price, a fresh one first."""
    if not answer["workloads"]:
        return _cheapest(answer)
    results = answer["workloads"][0]["results"]
    if not results:
        return None
    offers = {each["key"]: each["offer"] for each in answer["offers"]}
    best = min(results, key=lambda result: result["rank"])
    name = RANKED_BY.get(answer["asked"]["objective"])
    if name is None:
        name = "usd_per_mtoken" if best["usd_per_mtoken"] is not None else "usd_per_step"
    value = best["estimate"].get(name) if name in RANKED_BY.values() else best[name]
    return _figure(answer, offers[best["key"]], name, value)


def _cheapest(answer: Snapshot) -> dict[str, Any] | None:
    offers = [each["offer"] for each in answer["offers"] if each["status"] == OFFERED]
    priced = [offer for offer in offers if offer[PER_GPU_HOUR] is not None]
    if not priced:
        return None
    best = min(priced, key=lambda offer: (offer["outdated"], float(offer[PER_GPU_HOUR])))
    return _figure(answer, best, PER_GPU_HOUR, best[PER_GPU_HOUR])


def _figure(answer: Snapshot, offer: Row, name: str, value: Any) -> dict[str, Any]:
    """Money in the comparison's currency, as its table shows it."""
    money = Money.of(answer.get("currency"))
    if name.startswith(DOLLARS):
        value = money.amount(value, offer)
    return _named({"offer": named(offer), "of": name, "value": value, "currency": money.code})


def _named(leads: Row) -> dict[str, Any]:
    """A figure in another money than dollars, not under a name that says dollars."""
    of = leads["of"]
    if of.startswith(DOLLARS):
        of = f"{leads['currency'].lower()}_{of.removeprefix(DOLLARS)}"
    return {**leads, "of": of}


def told(kept: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """What the API tells of it: an older version kept euros under the name of dollars."""
    if not kept or not kept.get("leads"):
        return kept
    return {**kept, "leads": _named(kept["leads"])}


# --- In words ---------------------------------------------------------------------------------


def line(kept: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a list shows of it; of a run that was kept without, nothing."""
    kept = kept or {}
    leads = kept.get("leads")
    return {
        "workloads": [phrases.said(title) for title in kept.get("workloads", ())],
        "clusters": kept.get("offers"),
        "leads": title_of(leads["offer"]) if leads else "",
        "figure": _shown(leads) if leads and leads["value"] is not None else "",
        "changes": counted(kept.get("changes") or {}),
    }


def _shown(leads: Row) -> str:
    """0.431 $ per million tokens; 11.8 s; 92 %."""
    name, value = leads["of"], leads["value"]
    if name == "step_time_s":
        return duration(value)
    if name == "fabric_efficiency":
        return f"{percent(value)} %"
    code = leads["currency"]
    name = f"{DOLLARS}{name.partition('_')[2]}"  # as its unit is known by, whatever the money
    amount = {
        PER_GPU_HOUR: lambda: dollars(value, code),
        "usd_per_mtoken": lambda: price(value, code),
        "usd_per_step": lambda: price(1000 * value, code),
    }[name]()
    return f"{amount} {per(name, code)}"

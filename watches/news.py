"""What of a run is news to the owner of a watch.

A run is held against what the owner was told last, offer by offer, and not against the run before
it: a price that creeps up by one percent a day passes a threshold of ten one day. `Watch.known` is
that: an answer (`comparisons.snapshot`) in which each offer is as it was told. What changed, and in
which words, is `comparisons.changes`. Where the question was edited, the next run is the new base.
Another version of the cost model is no news of the market: a watch of ranks is told that it moved
them, and holds the next run against the ranks of that version.
"""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from comparisons.change import PRICES, another
from comparisons.changes import Change, Kind, asks_alike, changes
from comparisons.form import Snapshot
from comparisons.workloads import titles
from watches.models import Watch, What

OF = {
    What.PRICE: PRICES,
    What.SPEC: {Kind.FACT},
    What.RANK: {Kind.RANK, Kind.MODEL},
    What.AVAILABILITY: {Kind.NEW, Kind.GONE, Kind.STOCK},
}


def news(watch: Watch, answer: Snapshot) -> list[Change]:
    """What to tell of an answer; `watch.known` moves on to it, as far as it is told."""
    known: Snapshot | None = watch.known
    if known is None or not asks_alike(known, answer):
        watch.known = answer
        return []
    every = changes(known, answer)
    found = [each for each in every if concerns(watch, each)]
    if watch.what in {What.PRICE, What.RANK}:
        came = {each.key for each in every if each.kind is Kind.NEW}
        _move(known, answer, found, came)
    else:  # every change is told
        watch.known = _without_forgetting(known, answer)
    return found


def concerns(watch: Watch, change: Change) -> bool:
    """Whether it is of what is watched, and large enough. What has no measure is."""
    if change.kind not in OF[What(watch.what)]:
        return False
    return watch.threshold is None or _size(change) >= watch.threshold


def _size(change: Change) -> float:
    """Percent of a price, places of a rank."""
    if change.kind not in OF[What.RANK]:
        delta = change.delta_percent
        return float("inf") if delta is None else abs(delta)
    places = (
        abs(each.rank_was - each.rank_now)
        if each.rank_was is not None and each.rank_now is not None
        else float("inf")
        for each in change.effects
        if each.moved
    )
    return max(places, default=0.0)


def _move(known: Snapshot, answer: Snapshot, found: list[Change], came: set[str]) -> None:
    """The offers that were told, and those that are new, as they are now; the rest as they were."""
    before = {each["key"] for each in known["offers"]}
    told = {each.key for each in found}
    other_model = known["model_version"] != answer["model_version"]
    _replace(
        known["offers"],
        answer["offers"],
        told | came | {each["key"] for each in answer["offers"] if each["key"] not in before},
    )
    known["types"] |= answer["types"]
    for name in ("asked", "currency", "model_version"):
        known[name] = answer[name]
    for title, old, new in zip(
        titles(answer), known["workloads"], answer["workloads"], strict=True
    ):
        if other_model:
            old["results"] = new["results"]
            continue
        ranked = {each["key"] for each in old["results"]}
        fresh = {each["key"] for each in new["results"]} - ranked - before
        here = {each.key for each in found if each.workload in {"", title}}
        _replace(old["results"], new["results"], here | fresh)


def _replace(rows: list[Any], by: Iterable[Any], keys: set[str]) -> None:
    rows[:] = [
        *(row for row in rows if row["key"] not in keys),
        *(row for row in by if row["key"] in keys),
    ]


def _without_forgetting(known: Snapshot, answer: Snapshot) -> Snapshot:
    """All of the answer; where it no longer says whether an offer is to be had, what was said."""
    answer = deepcopy(answer)  # the run's own stays as it is
    told = {each["key"]: each["offer"] for each in known["offers"]}
    for each in answer["offers"]:
        offer, before = each["offer"], told.get(each["key"])
        if offer["available"] is None and before and not another(before, offer):
            offer["available"] = before["available"]
    return answer

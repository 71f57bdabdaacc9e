"""What became of each offer between two answers: its rank and its cost, of each workload.

A rank may move without any doing of the offer. So each is asked for the rank that it would have now
among the others as they were (`Effect.rank_alone`): what differs from that, the others did.
"""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import replace
from operator import itemgetter
from typing import Any

from catalog.currency import Money
from catalog.estimates import ranked_by
from catalog.templatetags.quantities import day_of
from comparisons.change import REPLACED, Change, Effect, Kind, another, percent
from comparisons.form import Snapshot
from comparisons.workloads import identity, titles

Row = Mapping[str, Any]


class Effects:
    """What became of each offer, for each workload that both answers have."""

    def __init__(self, was: Snapshot, now: Snapshot, *, with_ranks: bool) -> None:
        self.today = day_of(now.get("catalog_changed_at"))
        self.one_model = was["model_version"] == now["model_version"]
        self.several = len(now["workloads"]) > 1
        self.found: dict[str, list[Effect]] = {}
        money = [Money.of(one.get("currency")) for one in (was, now)]
        offers = [{e["key"]: e["offer"] for e in one["offers"]} for one in (was, now)]
        befores = {identity(each): each for each in was["workloads"]}
        for title, each in zip(titles(now), now["workloads"], strict=True):
            other = befores.get(identity(each))
            if other is None:
                continue
            old, new = ({r["key"]: r for r in one["results"]} for one in (other, each))
            rows = (other["results"], each["results"])
            alone = _alone(rows, offers, now["asked"]) if with_ranks else {}
            for key in dict.fromkeys((*new, *old)):
                pair = [
                    _place(rows.get(key), offer.get(key, {}), own, with_rank=with_ranks)
                    for rows, offer, own in zip((old, new), offers, money, strict=True)
                ]
                code = "cost" if money[0].code == money[1].code else "usd"
                cost = percent(*(p[code] for p in pair))
                if another(*(offer.get(key, {}) for offer in offers)):
                    cost = pair[0]["spread"] = None  # two offers: neither saves nor narrows
                by_side = {f"{name}_{side}": p[name] for side, p in
                           zip(("was", "now"), pair, strict=True)
                           for name in ("rank", "usd", "spread")}  # fmt: skip
                effect = Effect(key=key, workload=title, cost_percent=cost,
                                rank_alone=alone.get(key), **by_side)  # fmt: skip
                self.found.setdefault(key, []).append(effect)

    def of(self, key: str) -> tuple[Effect, ...]:
        """Of an offer; nothing where the models differ, since it may be the model's doing."""
        return tuple(self.found.get(key, ())) if self.one_model else ()

    def on(self, change: Change) -> Change:
        """The change with what it did. What cannot be compared did nothing that can be told.

        Where one offer takes the place of another, each has its own side.
        """
        effects = () if change.kind is Kind.INCOMPARABLE else self.of(change.key)
        if change.was_status == REPLACED:
            effects = tuple(each.of_now() for each in effects)
        elif change.now_status == REPLACED:
            effects = tuple(each.of_then() for each in effects)
        return replace(change, effects=effects)

    def moved(self) -> tuple[Effect, ...]:
        """All that rank elsewhere, whatever the reason."""
        return tuple(each for found in self.found.values() for each in found if each.moved)

    def best_first(self, keys: Iterable[str]) -> list[str]:
        def rank(key: str) -> int:
            return min((each.rank_now or 10**6 for each in self.of(key)), default=10**6)

        return sorted(keys, key=rank)


def _place(result: Row | None, offer: Row, money: Money, *, with_rank: bool) -> dict[str, Any]:
    if result is None:
        return dict.fromkeys(("rank", "usd", "cost", "spread"))
    usd = result["usd_per_mtoken"] or result["usd_per_step"]
    estimate = result["estimate"]
    low, high = (estimate["interval"][end] for end in ("low", "high"))
    step_s = estimate["step_time_s"]
    return {
        "rank": result["rank"] if with_rank else None,
        "usd": usd,
        "cost": money.amount(usd, offer),
        "spread": None if None in {low, high, step_s} else (high - low) / 2 / step_s,
    }


# --- Whose doing a rank is --------------------------------------------------------------------


def _alone(
    results: Iterable[list[Row]], offers: Iterable[Mapping[str, Row]], asked: Row
) -> dict[str, int]:
    """Of each offer of both, its rank now among the others as they were.

    Empty where ranks do not stand in the order that we know: of what an older version kept, or of
    what a watch remembers of several runs.
    """
    before, after = (
        {
            row["key"]: _order(row, known.get(row["key"], {}), asked)
            for row in sorted(rows, key=itemgetter("rank"))
        }
        for rows, known in zip(results, offers, strict=True)
    )
    for order in (before, after):
        places = [place for place in order.values() if place is not None]
        if len(places) < len(order) or places != sorted(places):
            return {}
    return {
        key: rank if after[key] == place else 1 + bisect_left(_without(key, before), after[key])
        for rank, (key, place) in enumerate(before.items(), 1)
        if key in after
    }


def _without(key: str, order: Mapping[str, Any]) -> list[Any]:
    return [place for other, place in order.items() if other != key]


def _order(result: Row, offer: Row, asked: Row) -> tuple[Any, ...] | None:
    """What the answer was ranked by, the first first; None where it did not keep it."""
    estimate, objective = result["estimate"], asked["objective"]
    if objective == "efficiency" and estimate["fabric_efficiency"] is None:
        return None
    usd = result["usd_per_step" if result["usd_per_mtoken"] is None else "usd_per_mtoken"]
    stale_too = asked["filter"].get("include_stale") in (True, "true")
    outdated = bool(offer.get("outdated")) and not stale_too
    by = ranked_by(objective, estimate, usd, outdated=outdated)
    place = (*by, offer.get("provider"), offer.get("instance_type"))
    return None if None in place else place

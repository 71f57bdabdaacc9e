"""What became of each offer between two answers: its rank and its cost, of each workload."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from catalog.currency import Money
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
                effect = Effect(key=key, workload=title, cost_percent=cost, **by_side)
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

"""What a type costs: by place, the lowest, and how that came about."""

import heapq
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext

from catalog import phrases, wording
from catalog.charts import price_strip
from catalog.currency import Money
from catalog.plots import price_steps
from catalog.templatetags.quantities import day_of, dollars

Steps = list[tuple[datetime, float | None]]
CHEAPEST = 6  # rows of the price table; the offers page has the rest


def prices(kind: Mapping[str, Any], money: Money) -> dict[str, Any]:
    """Prices by region and tier, the cheapest first; the lowest fresh one is the figure on top."""
    offers: Sequence[Mapping[str, Any]] = kind["prices"]
    priced = [offer for offer in offers if offer["usd_per_gpu_hour"] is not None]
    rows = _by_place(offers)
    past = history(kind["history"], money)
    on_demand = [
        (offer["region"] or gettext("region not said"), _per_gpu_hour(offer, money))
        for offer in priced
        if offer["price_model"] == "on_demand"
    ]
    spot = [_per_gpu_hour(o, money) for o in priced if o["price_model"] == "spot"]
    return {
        "rows": rows[:CHEAPEST],
        "places": len(rows),
        "more": len(rows) > CHEAPEST,
        "others": any(row["other"] for row in rows),
        "spot": any(row["spot"] for row in rows),
        "tiers": any(row["tier"] or row["via"] for row in rows[:CHEAPEST]),
        "strip": price_strip(on_demand, spot, money) if len(on_demand) > 1 else "",
        "lowest": (top := lowest(priced)),
        "least": top and _per_gpu_hour(top, money),
        "fresh": _undercut(top, priced),
        "history": past,
        "last": past["periods"][-1] if past["periods"] and not offers else None,
        "unchanged": _seen_again(priced, kind["history"]),
        "includes": sorted({o["price_includes"] for o in priced if o["price_includes"]}),
        "note": ""
        if priced
        else phrases.said(next(filter(None, (o["price_note"] for o in offers)), "")),
        "listed": bool(offers),
    }


def _per_gpu_hour(offer: Mapping[str, Any], money: Money) -> float:
    return float(money.amount(offer["usd_per_gpu_hour"], offer))


def _seen_again(priced: Sequence[Mapping[str, Any]], periods: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a price was read again, on a later day than that on which it began."""
    began = {
        (period["offer__region"], period["offer__tier"], period["offer__price_model"]):
        period["valid_from"].date() for period in periods
    }  # fmt: skip
    for offer in priced:
        first = began.get((offer["region"], offer["tier"], offer["price_model"]))
        last = day_of(offer["collected_at"])
        if first and last and last > first:
            return True
    return False


def lowest(priced: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The cheapest on-demand offer, a fresh one before a dated one; else the cheapest of any."""
    on_demand = [offer for offer in priced if offer["price_model"] == "on_demand"]
    return min(
        on_demand or priced,
        key=lambda offer: (offer["outdated"], float(offer["usd_per_gpu_hour"])),
        default=None,
    )


def _undercut(top: Mapping[str, Any] | None, priced: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a dated price of the same model is lower than the fresh one that stands on top."""
    return top is not None and any(
        offer["outdated"] > top["outdated"]
        and offer["price_model"] == top["price_model"]
        and float(offer["usd_per_gpu_hour"]) < float(top["usd_per_gpu_hour"])
        for offer in priced
    )


def _by_place(offers: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    places: dict[tuple[Any, ...], dict[str, Any]] = defaultdict(
        lambda: {"on_demand": None, "spot": None, "other": None}
    )
    for offer in offers:  # the cheapest comes first, and stays
        place = places[offer["region"], offer["tier"], offer["via"]]
        model = offer["price_model"]
        column = model if model in {"on_demand", "spot"} else "other"
        place[column] = place[column] or offer
    rows = [
        {
            "region": region, "tier": tier, "via": via, **columns,
            "seen": _leading(columns)["collected_at"],
            "dated": _leading(columns)["stale"] or _leading(columns)["outdated"],
            # A price that is older than the row's first says so: none passes as fresher than it is.
            "older": [name for name, o in columns.items() if o and _older(o, _leading(columns))],
        }
        for (region, tier, via), columns in places.items()
    ]  # fmt: skip
    return sorted(rows, key=_cheapest_first)


def _leading(row: Mapping[str, Any]) -> Any:
    """The offer that a row is ordered and dated by."""
    return row["on_demand"] or row["spot"] or row["other"]


def _older(offer: Mapping[str, Any], than: Mapping[str, Any]) -> bool:
    day, first = day_of(offer["collected_at"]), day_of(than["collected_at"])
    return day is not None and first is not None and day < first


def _cheapest_first(row: Mapping[str, Any]) -> tuple[bool, float]:
    offer = _leading(row)
    price = offer["usd_per_gpu_hour"]
    return price is None, float(price or 0)


def history(kept: Sequence[Mapping[str, Any]], money: Money) -> dict[str, Any]:
    """Every change of a price, or when and at what the only one was seen."""
    periods = [
        {**period, "per_hour": money.amount(period["usd_per_hour"], period)} for period in kept
    ]
    changes = [period for period in periods if period["valid_to"] is not None]
    first: datetime | None = periods[0]["valid_from"] if periods else None
    lines = lowest_over_time(periods) if changes else {}
    finding = gettext("; ").join(_range_said(*line, money) for line in lines.items())
    named = [(wording.word("price_model", model), steps) for model, steps in lines.items()]
    return {
        "changes": len(changes),
        "periods": periods[:200],
        "first": first,
        "finding": finding,
        "drawing": price_steps(named[:5], datetime.now(UTC), finding, money.sign) if lines else "",
    }


def lowest_over_time(periods: Sequence[Mapping[str, Any]]) -> dict[str, Steps]:
    """Of each way of paying the lowest `per_hour` of an instance, from when; None where none was.

    The periods are in order of their beginning.
    """
    lines: dict[str, Steps] = {}
    for model in dict.fromkeys(period["offer__price_model"] for period in periods):
        priced = [
            (period["valid_from"], period["valid_to"], float(period["per_hour"]))
            for period in periods
            if period["offer__price_model"] == model and period["per_hour"] is not None
        ]
        if priced:
            lines[model] = _lowest_of(priced)
    return lines


def _lowest_of(priced: Sequence[tuple[datetime, datetime | None, float]]) -> Steps:
    """One sweep over the moments at which a price begins or ends; the cheapest stands on top."""
    ends = [end for _begin, end, _amount in priced if end is not None]
    steps: Steps = []
    standing: list[tuple[float, float]] = []  # an amount, and until when
    waiting = iter(priced)
    following = next(waiting, None)
    for at in sorted({begin for begin, _end, _amount in priced} | set(ends)):
        while following and following[0] <= at:
            until = following[1].timestamp() if following[1] else math.inf
            heapq.heappush(standing, (following[2], until))
            following = next(waiting, None)
        while standing and standing[0][1] <= at.timestamp():
            heapq.heappop(standing)
        lowest = standing[0][0] if standing else None
        if not steps or steps[-1][1] != lowest:
            steps.append((at, lowest))
    return steps


def _range_said(model: str, steps: Steps, money: Money) -> str:
    """On demand: $98.32 now, $92 to $104.50 so far."""
    known = [amount for _at, amount in steps if amount is not None]
    last = steps[-1][1]
    now = gettext("none now")
    if last is not None:
        now = money.heading(gettext("$%(usd)s now")) % {"usd": dollars(last, money.code)}
    return money.heading(gettext("%(model)s: %(now)s, $%(low)s to $%(high)s so far")) % {
        "model": wording.word("price_model", model),
        "now": now, "low": dollars(min(known), money.code),
        "high": dollars(max(known), money.code),
    }  # fmt: skip

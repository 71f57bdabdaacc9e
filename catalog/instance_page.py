"""The page of one instance type: figures, drawing, facts, prices, what to ask before renting."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import evidence, instances, nccl, phrases, verify, wording
from catalog.applies import arises
from catalog.charts import cliff_said, cliff_strip, price_strip
from catalog.citations import cited
from catalog.currency import Money
from catalog.models import InstanceType
from catalog.page_money import of_page
from catalog.plots import price_steps
from catalog.presets import link, pick_of
from catalog.templatetags.cells import (
    LINKED_BARS_GBYTES_PER_S,
    cliff_text,
    domain_text,
    fabric_per_gpu,
)
from catalog.templatetags.quantities import day_of, disputed_numbers, dollars, evidence_of, number
from catalog.topology import topology

CHEAPEST = 6  # rows of the price table; the offers page has the rest
BOTH_WAYS = 2  # what headlines count


@require_safe
def instance(request: HttpRequest, provider: str, name: str) -> HttpResponse:
    """Everything known of one type; it stays when its provider no longer lists it."""
    if "\x00" in provider + name:
        raise Http404
    kind = instances.detail(provider, name)
    if kind is None:
        raise Http404
    grouped = evidence.groups(kind)
    row = {**kind, "evidence": {fact["attribute"]: fact for fact in kind["facts"]}}
    shown = of_page(request.GET, request.path)
    money: Money = shown["money"]
    kept = {"currency": money.code} if money.currency else {}
    context = {
        "room": "offers",
        **shown,
        "kind": row,
        "line": summary(row),
        "figures": figures(row),
        "disputes": disputes(kind),
        "topology": topology(row),
        "cliff": cliff(row),
        "groups": grouped,
        "unknown_facts": len(evidence.unknowns(kind)),
        "old_facts": evidence.old_lines(grouped),
        "prices": prices(kind, money),
        "checklist": checklist(kind),
        "nccl": verify.nccl_lines(kind),
        "needs": verify.needs(),
        "collectives": nccl.COLLECTIVES,
        "links": {
            "json": f"/api/v1/instance-types/{quote(provider)}/{quote(name)}/{money.query}",
            "offers": link("/", kept),
            "provider": link("/", {"provider": provider, **kept}),
            "regions": link("/", {"provider": provider, "q": name, "rows": "region", **kept}),
            "rank": link("/workloads/", {"provider": provider, "q": name, **kept}),
            "compare": link("/compare/", {"pick": _pick(kind), **kept}),
        },
    }
    status = 400 if shown["problems"] else 200
    return render(request, "catalog/instance.html", context, status=status)


def summary(row: Mapping[str, Any]) -> str:
    """One line in words: GPUs, domain, fabric."""
    gpu = wording.gpu(row["gpu"], memory=True) if row["gpu"] else gettext("GPU not said")
    said = [f"{number(row['gpu_count'])} × {gpu}" if row["gpu_count"] else gpu]
    if (row["nvlink_domain_gpus"] or 0) > 1:
        said.append(gettext("NVLink domain of %(n)s") % {"n": domain_text(row)})
    elif row["scale_up"] and row["scale_up"] != "none":
        said.append(wording.word("scale_up", row["scale_up"]))
    said.append(_fabric(row))
    return " · ".join(said)


def _fabric(row: Mapping[str, Any]) -> str:
    if row["fabric"] is None:
        return gettext("fabric unknown")
    if row["fabric"] == "none":
        return gettext("no fabric")
    name = wording.fabric(row["fabric"], row["fabric_generation"])
    nics, rate = row["fabric_nics"], row["fabric_gbits_per_s_per_nic"]
    if len(fabric_per_gpu(row)) > 1:
        return gettext(", ").join((name, gettext("NIC rate disputed")))
    return f"{name}{gettext(', ')}{nics} × {number(rate)} Gb/s" if nics and rate else name


def _pick(kind: Mapping[str, Any]) -> str:
    """What is compared of a type: the offer whose price stands on top, or the type alone."""
    lowest = _lowest([offer for offer in kind["prices"] if offer["usd_per_gpu_hour"] is not None])
    return pick_of(lowest) if lowest else f"{kind['provider']}/{kind['instance_type']}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the four numbers at the top; none is unknown, unless `absent` says why."""

    value: str
    unit: str
    title: str
    basis: str = ""
    disputed: bool = False
    absent: str = ""


def figures(row: Mapping[str, Any]) -> list[Figure]:
    """NVLink and fabric per GPU, the cliff between them, and the lowest price."""
    rates = fabric_per_gpu(row)
    inside, said = row["scale_up_gbytes_per_s"], evidence_of(row, "scale_up_gbytes_per_s")
    halves = disputed_numbers(said)
    return [
        Figure(" ≠ ".join(map(number, halves)) or number(inside), "GB/s", _inside_title(row),
               said.get("basis") or "", len(halves) > 1,
               "" if arises("scale_up_gbytes_per_s", row) else gettext("no links")),
        Figure(" ≠ ".join(number(rate / 8) for rate in rates),
               f"GB/s · {' ≠ '.join(map(number, rates))} Gb/s", gettext("fabric per GPU, one way"),
               evidence_of(row, "fabric_gbits_per_s").get("basis") or "", len(rates) > 1,
               "" if arises("fabric_gbits_per_s", row) else gettext("no fabric")),
        Figure(cliff_text(row), "", gettext("cliff on leaving the domain"),
               "derived" if row["cliff"] else "", absent="" if arises("cliff", row) else "—"),
    ]  # fmt: skip


def _inside_title(row: Mapping[str, Any]) -> str:
    return gettext("%(links)s per GPU, one way") % {"links": wording.links(row["scale_up"])}


def disputes(kind: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each dispute as its claims: who says what."""
    return [
        {
            "title": wording.title(fact["attribute"]),
            "claims": [
                (evidence.value_text(fact["attribute"], claim["value"], fact["unit"]),
                 cited(claim["source"]))
                for claim in fact["claims"]
                if claim["basis"] == fact["basis"] and not claim["scope"]
            ],
            "used": evidence.value_text(fact["attribute"], fact["value"], fact["unit"]),
        }
        for fact in kind["facts"]
        if fact["disputed"] and not _follows(fact, kind)
    ]  # fmt: skip


def _follows(fact: Mapping[str, Any], kind: Mapping[str, Any]) -> bool:
    """Whether a dispute is that of other facts again, carried on by a rule."""
    stated = (each for each in kind["facts"] if each["basis"] != "derived")
    return fact["basis"] == "derived" and any(each["disputed"] for each in stated)


def cliff(row: Mapping[str, Any]) -> dict[str, Any]:
    """The two bars, one sentence, and where this type stands among all."""
    inside, rates = row["scale_up_gbytes_per_s"], [rate / 8 for rate in fabric_per_gpu(row)]
    scale = max([LINKED_BARS_GBYTES_PER_S, float(inside or 0), *rates])  # one for all types
    cliffs = InstanceType.objects.values_list("cliff", flat=True)
    everyone = [float(each) for each in cliffs if each is not None]
    finding = cliff_said(everyone, row["cliff"])
    return {
        "inside": inside,
        "inside_width": f"{100 * float(inside or 0) / scale:.2f}",
        "between": " ≠ ".join(map(number, rates)),
        "between_width": f"{100 * rates[0] / scale:.2f}" if rates else "",
        "disputed_width": f"{100 * (rates[-1] - rates[0]) / scale:.2f}" if len(rates) > 1 else "",
        "text": cliff_text(row),
        "headline": headline(row),
        "strip": cliff_strip(everyone, row["cliff"], finding),
        "finding": finding,
        "piles": sorted(Counter(map(round, everyone)).items()),
        "everyone": len(everyone),
        "beyond": domain_text(row, instance=True) if (row["scale_up_domain_gpus"] or 0) > 1 else "",
    }


def headline(row: Mapping[str, Any]) -> str:
    """Why others print twice the ratio."""
    if not row["cliff"] or (row["scale_up"] or "").startswith("nvlink_b"):
        return ""
    return gettext(
        "Headlines say %(twice)s×: they hold two-way links (%(both)s GB/s) against a one-way NIC "
        "(%(between)s GB/s). Here one way stands against one way."
    ) % {
        "twice": round(BOTH_WAYS * float(row["cliff"])),
        "both": number(BOTH_WAYS * float(row["scale_up_gbytes_per_s"])),
        "between": number(float(row["fabric_gbits_per_s_per_gpu"]) / 8),
    }


# --- Prices -----------------------------------------------------------------------------------


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
        "lowest": (lowest := _lowest(priced)),
        "least": lowest and _per_gpu_hour(lowest, money),
        "fresh": _undercut(lowest, priced),
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


def _lowest(priced: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The cheapest on-demand offer, a fresh one before a dated one; else the cheapest of any."""
    on_demand = [offer for offer in priced if offer["price_model"] == "on_demand"]
    return min(
        on_demand or priced,
        key=lambda offer: (offer["outdated"], float(offer["usd_per_gpu_hour"])),
        default=None,
    )


def _undercut(lowest: Mapping[str, Any] | None, priced: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a dated price of the same model is lower than the fresh one that stands on top."""
    return lowest is not None and any(
        offer["outdated"] > lowest["outdated"]
        and offer["price_model"] == lowest["price_model"]
        and float(offer["usd_per_gpu_hour"]) < float(lowest["usd_per_gpu_hour"])
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
    finding = "; ".join(_range_said(*line, money) for line in lines.items())
    named = [(wording.word("price_model", model), steps) for model, steps in lines.items()]
    return {
        "changes": len(changes),
        "periods": periods[:200],
        "first": first,
        "finding": finding,
        "drawing": price_steps(named[:5], datetime.now(UTC), finding, money.sign) if lines else "",
    }


Steps = list[tuple[datetime, float | None]]


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


# --- Before you rent --------------------------------------------------------------------------


def checklist(kind: Mapping[str, Any]) -> dict[str, Any]:
    """What is known and what is not, and the questions that the unknowns make."""
    asked = [item for item in kind["checklist"] if arises(item["attribute"], kind)]
    units = {fact["attribute"]: fact["unit"] for fact in kind["facts"]}
    units["fabric_gbits_per_s_per_gpu"] = "Gb/s"
    rows = [
        {
            "title": gettext(item["title"]),
            "known": item["known"],
            "text": evidence.value_text(
                item["attribute"], item["value"], units.get(item["attribute"], "")
            )
            if item["value"] is not None
            else "",
        }
        for item in asked
    ]
    questions = [gettext(question.ask) for question in instances.CHECKLIST if question.unsaid(kind)]
    questions += [
        gettext("Sources disagree on “%(fact)s”: %(values)s. Which is it?")
        % {"fact": each["title"], "values": " ≠ ".join(value for value, _cited in each["claims"])}
        for each in disputes(kind)
    ]
    questions += [
        gettext("Can you share nccl-tests all_reduce results on 4 instances (1 GB and 8 GB)?"),
        gettext("Which replacement time applies when a GPU or a NIC fails?"),
    ]
    return {"rows": rows, "questions": questions}

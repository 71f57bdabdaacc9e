"""The page of one instance type: figures, drawing, facts, prices, what to ask before renting."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import evidence, instances, nccl, verify, wording
from catalog.applies import arises
from catalog.charts import cliff_said, cliff_strip
from catalog.citations import cited
from catalog.currency import Money
from catalog.instance_prices import lowest, prices
from catalog.models import InstanceType
from catalog.page_money import of_page
from catalog.presets import link, pick_of
from catalog.templatetags.cells import (
    LINKED_BARS_GBYTES_PER_S,
    cliff_text,
    domain_text,
    fabric_per_gpu,
)
from catalog.templatetags.quantities import disputed_numbers, evidence_of, number
from catalog.topology import topology

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
    cheapest = lowest([offer for offer in kind["prices"] if offer["usd_per_gpu_hour"] is not None])
    return pick_of(cheapest) if cheapest else f"{kind['provider']}/{kind['instance_type']}"


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
            "disputed": item["attribute"] in kind["disputed"],
            "text": evidence.value_text(
                item["attribute"], item["value"], units.get(item["attribute"], "")
            )
            if item["value"] is not None
            else "",
        }
        for item in asked
    ]
    questions = [
        asked for each in instances.CHECKLIST for asked in each.left(kind, each.unsaid(kind))
    ]
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

"""The page of fabrics: "GPUs on one fabric ≥ n", as a form, a sentence and a table.

The URL is the whole state, and the form a plain GET: nothing here needs JavaScript.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import wording
from catalog.currency import Money
from catalog.fabric_list import Found, find
from catalog.fabric_query import FILTERS, FabricQuery, parse
from catalog.models import Fabric, Provider
from catalog.page_money import header
from catalog.presets import State, link, reading, state
from catalog.query import CONTINENTS, BadQuery

FABRICS = "/fabrics/"
API = "/api/v1/fabrics/"
# Who looks for a network wants a fast one, and of equal ones the cheapest.
DEFAULT_SORT = "-gbits_per_s_per_gpu,usd_per_gpu_hour"
SORTED_BY = {
    "name": "provider", "price": "usd_per_gpu_hour", "speed": "-gbits_per_s_per_gpu",
    "size": "-max_gpus",
}  # fmt: skip
SPEEDS = ("50", "100", "200", "400", "800")  # [Gb/s] per GPU, one way
KEPT = (
    "infiniband",
    "country",
    "include_unknown",
    "page_size",
    "sort",
    "currency",
)  # that the form has no field for
UNIONS = ("technology",)  # lists that only this page has


@require_safe
def fabrics(request: HttpRequest) -> HttpResponse:
    """Fabrics that answer the query string, and what a bad one was told."""
    now, query, found, problems = readable(request.GET)
    filtered = {name for name in now if name in FILTERS}
    context = {
        "room": "fabrics",
        "now": now,
        **header(FABRICS, now, money := Money(query.currency)),
        "found": found,
        "query": query,
        "options": options(now),
        "kept": [(name, now[name]) for name in KEPT if name in now],
        "left_out": left_out(now, found),
        "problems": problems,
        "filtered": filtered,
        "sorts": sorts(now),
        "dated": any((row["lowest_on_demand"] or {}).get("outdated") for row in found.rows),
        "links": {
            "all": f"{FABRICS}{money.query}",
            "json": link(API, now, sort=_sort(now), cursor=now.get("cursor")),
            "csv": link(API, now, sort=_sort(now), cursor=now.get("cursor"), format="csv"),
            "next": found.next and link(FABRICS, now, cursor=found.next),
            "previous": found.previous and link(FABRICS, now, cursor=found.previous),
        },
    }
    return render(request, "catalog/fabrics.html", context, status=400 if problems else 200)


def readable(
    given: QueryDict,
) -> tuple[dict[str, str], FabricQuery, Found, list[dict[str, str]]]:
    """The state, the question and its answer without what cannot be read, and that."""
    now, problems = _state(given), list[dict[str, str]]()
    asked = given
    while True:
        try:
            query = parse(asked)
            if not asked.get("sort"):
                query = replace(query, sort=parse(QueryDict(f"sort={DEFAULT_SORT}")).sort)
            return now, query, find(query), problems
        except BadQuery as bad:
            wrong = {name for name in asked if name[:80] in bad.fields}
            problems += [_problem(now, name, bad.fields[name[:80]]) for name in sorted(wrong)]
            now = {name: text for name, text in now.items() if name not in wrong} if wrong else {}
            asked = reading(now)


def _sort(now: State) -> str:
    return now.get("sort") or DEFAULT_SORT


def sorts(now: State) -> dict[str, dict[str, str]]:
    """For each heading its link, its arrow and its aria-sort: only the leading field has them."""
    first = _sort(now).split(",")[0]
    found = {}
    for heading, usual in SORTED_BY.items():
        field = usual.removeprefix("-")
        leads = first.removeprefix("-") == field
        down = first.startswith("-")
        turned = (field if down else f"-{field}") if leads else usual
        aria = ("descending" if down else "ascending") if leads else ""
        arrow = {"descending": "▼", "ascending": "▲"}.get(aria, "")
        found[heading] = {"href": link(FABRICS, now, sort=turned), "aria": aria, "arrow": arrow}
    return found


def _state(given: QueryDict) -> dict[str, str]:
    """What the address says; a list that is repeated is its union."""
    now = state(given)
    for name in UNIONS:
        if texts := [text for text in given.getlist(name) if text]:
            now[name] = ",".join(dict.fromkeys(texts))
    return now


def _problem(now: State, name: str, must_be: list[str]) -> dict[str, str]:
    return {
        "parameter": name[:80],
        "text": now.get(name, "")[:80],
        "must_be": " ".join(must_be),
        "href": link(FABRICS, now, **{name: None}),
    }


Options = list[tuple[str, str]]


def options(now: State) -> dict[str, Options]:
    """What the form offers: value and word. A state that no option has is an option of its own."""
    slugs = Fabric.objects.exclude(gpu=None).values_list("gpu", flat=True).distinct()
    technologies = Fabric.objects.values_list("technology", flat=True).distinct()
    providers = Provider.objects.filter(fabrics__isnull=False).distinct()
    offered: dict[str, Options] = {
        "gpu": sorted(
            ((slug, wording.gpu(slug, memory=True)) for slug in slugs if slug), key=_by_word
        ),
        "technology": [(word, wording.word("fabric", word)) for word in sorted(technologies)],
        "continent": [(name, wording.word("continent", name)) for name in CONTINENTS],
        "provider": [(p.slug, p.title) for p in providers.order_by("title")],
        "fabric_gbits_per_s_per_gpu_min": [(speed, f"≥ {speed}") for speed in SPEEDS],
    }
    for name, choices in offered.items():
        if (said := now.get(name)) and said not in dict(choices):
            choices.append((said, _own(name, said)))
    return offered


def _own(name: str, said: str) -> str:
    """What the address says that no option of ours does."""
    if name.endswith("_min"):
        return f"≥ {int(said):,}" if said.isdecimal() else f"≥ {said}"
    return said.replace(",", gettext(" or "))


def _by_word(option: tuple[str, str]) -> str:
    return option[1].lower()


def left_out(now: State, found: Found) -> Mapping[str, Any]:
    """What unknowns kept out: how many, of what, and the address that includes them, marked."""
    words = dict.fromkeys(wording.unknown_of(name) for name in found.left_out_by)
    included = [name for name in now.get("include_unknown", "").split(",") if name]
    names = ",".join([*included, *found.left_out_by])
    return {
        "total": found.left_out,
        "of": gettext(" or ").join(words),
        "include": link(FABRICS, now, include_unknown=names),
        "included": gettext(", ").join(
            dict.fromkeys(wording.unknown_of(name) for name in included)
        ),
        "leave_out": link(FABRICS, now, include_unknown=None),
    }

"""The HTML pages. The URL is the whole state; every page is complete without JavaScript.

htmx asks for the same addresses and gets the part that changed (`wants_fragment`). A page reads
what the API reads, through the same functions, so that rows on screen, in CSV and in JSON agree.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.cache import patch_vary_headers
from django.views.decorators.http import require_safe

from catalog import columns, presets, query_words, wording
from catalog import offers as listing
from catalog.currency import Money
from catalog.filters import OfferQuery, Rows, read
from catalog.freshness import dated
from catalog.models import CatalogVersion, Provider
from catalog.page_money import header
from catalog.presets import State, link
from catalog.query import BadQuery
from catalog.wording import gettext, ngettext

OFFERS = "/"
COMPARE = "/compare/"
CSV = "/api/v1/offers/"


def wants_fragment(request: HttpRequest) -> bool:
    """True when htmx swaps one part of a page; restoring history needs the whole page."""
    asked = request.headers
    return asked.get("HX-Target") == "results" and "HX-History-Restore-Request" not in asked


def answer(
    request: HttpRequest, page: str, part: str, context: Mapping[str, Any], status: int = 200
) -> HttpResponse:
    """The whole page, or for htmx the part that changed, under the address that it stands for."""
    fragment = wants_fragment(request)
    context = {**context, "fragment": fragment}
    response = render(request, part if fragment else page, context, status=status)
    patch_vary_headers(response, ("HX-Request", "HX-Target", "HX-History-Restore-Request"))
    if fragment and "HX-Boosted" not in request.headers:  # a form: its empty fields are not state
        typing = request.headers.get("HX-Trigger-Name") == "q"
        response["HX-Replace-Url" if typing else "HX-Push-Url"] = context["here"]
    return response


# --- Offers -----------------------------------------------------------------------------------


@require_safe
@wording.in_one_language
def offers(request: HttpRequest) -> HttpResponse:
    """Offers that match the query string, cheapest first, with what a bad one was told."""
    now, query, rows, problems = readable(request.GET)
    stamp = CatalogVersion.stamp()
    titles = standing(stamp)
    picks, too_many = presets.picked(now, titles), presets.too_many(now)
    if now.pop("compare", None) and picks and not too_many:
        return _elsewhere(
            request, link(COMPARE, {k: now[k] for k in ("pick", "currency") if k in now})
        )
    if too_many:
        now["pick"] = presets.BREAK.join(each.value for each in picks)
    shown = columns.shown(_named(now))
    here = set(map(presets.pick_of, rows.rows)) if query.rows is Rows.TYPE else set()
    context = {
        "room": "offers",
        "here": link(OFFERS, now, cursor=now.get("cursor")),
        "now": now,
        "asked": query_words.said(query, now, titles) if now else gettext("Offers"),
        **header(OFFERS, now, money := Money(query.currency), stamp=stamp),
        "page": rows,
        "columns": shown,
        "groups": columns.grouped(shown),
        "picks": picks,
        "elsewhere": [each for each in picks if each.value not in here],
        "too_many": too_many,
        "by_region": query.rows is Rows.REGION,
        "tabs": presets.tabs(OFFERS, now, stamp),
        "chips": list(presets.chips(OFFERS, now, query, titles)),
        "kept": list(presets.kept(now)),
        "facets": presets.facets(now, rows.facets, titles, money),
        "finder": None if now else presets.finder(rows.facets),
        "sorts": sorts(OFFERS, now, query, shown),
        "left_out": left_out(OFFERS, now, rows),
        "begins": None if rows.rows else listing.begins(query.as_of),
        "dated": dated_of(query, rows),
        "problems": problems,
        "opposed": presets.contradicting(OFFERS, now, query, titles),
        "said": said(rows, query),
        "links": {
            "csv": _csv(now, shown),
            "by_type": link(OFFERS, now, rows=None),
            "by_region": link(OFFERS, now, rows="region"),
            "next": rows.next and link(OFFERS, now, cursor=rows.next),
            "previous": rows.previous and link(OFFERS, now, cursor=rows.previous),
            "without_last": without_last(OFFERS, now, query),
            "without_picks": link(OFFERS, now, pick=None, cursor=now.get("cursor")),
        },
    }
    status = 400 if problems else 200
    return answer(request, "catalog/offers.html", "catalog/_offers.html", context, status)


def readable(
    given: QueryDict,
) -> tuple[dict[str, str], OfferQuery, listing.Page, list[dict[str, str]]]:
    """The state, the query and its rows without the parameters that cannot be read, and those.

    Nothing is filtered by a parameter that is wrong; the page says which and what it must be.
    """
    now, problems = presets.state(given), list[dict[str, str]]()
    for name in set(_named(now)) - set(columns.COLUMNS):
        must_be = gettext("%(name)s is no column. There are: %(all)s.")
        words = {"name": name[:80], "all": gettext(", ").join(columns.COLUMNS)}
        problems.append(_problem(now, "cols", [must_be % words]))
    if problems:
        del now["cols"]
    evidence = columns.evidence(columns.shown(_named(now)))
    asked = given.copy()
    for name in presets.PAGE:
        asked.pop(name, None)
    while True:
        try:
            query = read(asked)
            return now, query, listing.page(query, presets.BAR, evidence), problems
        except BadQuery as bad:
            wrong = {name for name in asked if name[:80] in bad.fields}
            problems += [_problem(now, name, bad.fields[name[:80]]) for name in sorted(wrong)]
            now = {name: text for name, text in now.items() if name not in wrong} if wrong else {}
            asked = presets.reading(now)


def _named(now: State) -> list[str]:
    """The columns that the address names."""
    return [name for name in now.get("cols", "").split(",") if name]


def _csv(now: State, shown: Sequence[columns.Column]) -> str:
    """This very table as a file: its rows, its order, its columns."""
    fields = ",".join(columns.fields(shown))
    page = dict.fromkeys(presets.PAGE)
    return link(CSV, now, **page, cursor=now.get("cursor"), fields=fields, format="csv")


def _elsewhere(request: HttpRequest, there: str) -> HttpResponse:
    """On to another page; htmx is told so in its own way."""
    if "HX-Request" in request.headers:
        return HttpResponse(headers={"HX-Redirect": there})
    return HttpResponseRedirect(there)


def _problem(now: State, name: str, must_be: list[str]) -> dict[str, str]:
    return {
        "parameter": name[:80],
        "text": now.get(name, "")[:80],
        "must_be": " ".join(must_be),
        "href": link(OFFERS, now, **{name: None}),
    }


def dated_of(query: OfferQuery, rows: listing.Page) -> str:
    """Which prices are past their limit of age, where price decides the order.

    On a further page it is at most some: fresh ones stood before.
    """
    found = dated(rows.rows) if query.sorts_by_price else ""
    return "some" if found and rows.previous else found


@lru_cache(maxsize=1)
def standing(_stamp: str) -> dict[str, str]:
    """The names of providers, until the catalog changes."""
    return provider_titles()


def provider_titles() -> dict[str, str]:
    """Each provider's name by its slug."""
    return dict(Provider.objects.values_list("slug", "title"))


def sorts(
    path: str, now: State, query: OfferQuery, shown: Sequence[columns.Column]
) -> dict[str, dict[str, str]]:
    """For each heading its link, its arrow and its aria-sort: only the leading field has them."""
    leading, down = query.sort[0]
    found = {}
    for name in ("instance_type", *(column.name for column in shown if column.sorts)):
        turned = name if name != leading or down else f"-{name}"
        aria = ("descending" if down else "ascending") if name == leading else ""
        arrow = {"descending": "▼", "ascending": "▲"}.get(aria, "")
        found[name] = {"href": link(path, now, sort=turned), "aria": aria, "arrow": arrow}
    return found


def left_out(path: str, now: State, rows: listing.Page) -> dict[str, Any]:
    """What unknowns kept out: how many, of what, and the address that includes them, marked."""
    names = [name for name, n in rows.left_out.items() if n]
    texts = list(dict.fromkeys(wording.unknown_of(name) for name in names))
    included = [name for name in now.get("include_unknown", "").split(",") if name]
    return {
        "total": rows.left_out_total,
        "of": gettext(" or ").join(texts),
        "include": link(path, now, include_unknown=",".join([*included, *names])),
        "included": gettext(", ").join(
            dict.fromkeys(wording.unknown_of(name) for name in included)
        ),
        "leave_out": link(path, now, include_unknown=None),
    }


def said(rows: listing.Page, query: OfferQuery) -> str:
    """What a screen reader hears after the list has changed."""
    count = rows.count or 0
    text = ngettext("%(n)d result", "%(n)d results", count) % {"n": count}
    if count and query.sort[0] == ("usd_per_gpu_hour", False):
        return gettext("%(results)s, lowest price first") % {"results": text}
    return text


def without_last(path: str, now: State, query: OfferQuery) -> dict[str, str] | None:
    """The address without the filter that was added last, for a list that came out empty."""
    last = next((name for name in reversed(list(now)) if name in query.filters), None)
    if last is None:
        return None
    return {"href": link(path, now, **{last: None}), "title": wording.filter_title(last)}


# --- Words ------------------------------------------------------------------------------------


@require_safe
def values(request: HttpRequest) -> HttpResponse:
    """How to read a value: each kind by shape and word."""
    return render(request, "catalog/values.html", {"room": "learn"})


# --- Around the pages -------------------------------------------------------------------------


@require_safe
def robots(_request: HttpRequest) -> HttpResponse:
    """Pages may be read by machines; the API has its own door."""
    return HttpResponse("User-agent: *\nDisallow: /api/\nDisallow: /admin/\n", "text/plain")


@require_safe
def favicon(_request: HttpRequest) -> HttpResponse:
    """Browsers ask here by themselves."""
    return HttpResponseRedirect(static("catalog/mark.svg"))

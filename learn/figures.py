"""Figures of today: what the catalog counts and knows, through the doors that pages and API use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.http import QueryDict

from catalog import offers as listing
from catalog.citations import cited
from catalog.counts import Counts, count
from catalog.filters import OfferQuery, parse
from catalog.models import CatalogVersion, Gpu
from catalog.templatetags.quantities import number
from learn.words import Word, said

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its unit and what it is of, and where it leads or comes from."""

    value: str
    unit: str
    title: str
    href: str
    source: str = ""


def query(text: str) -> OfferQuery:
    """A query string of ours, checked like everyone's."""
    return parse(QueryDict(text))


def counted(text: str) -> Counts:
    """How many offers a query lists, and how many an unknown keeps out, in today's catalog."""
    return _counted(CatalogVersion.stamp(), text)


@lru_cache(maxsize=256)
def _counted(_stamp: str, text: str) -> Counts:
    return count(query(text))


def fact(gpu: str, attribute: str) -> Mapping[str, Any] | None:
    """What the catalog knows of a GPU, with its source; None where it knows nothing."""
    known = Gpu.objects.filter(slug=gpu).first()
    found = known and known.evidence.get(attribute)
    return found if found and found.get("value") is not None else None


def figures(word: Word) -> list[Figure]:
    """Those that stand first on a word's page."""
    return [_figure(each) for each in word.figures]


def _figure(told: Mapping[str, Any]) -> Figure:
    if "offers" in told:
        rows = counted(told["offers"]).rows
        return Figure(number(rows), "", said(told), f"/?{told['offers']}")
    gpu, attribute = told["gpu"]
    known = fact(gpu, attribute)
    name, href = cited(known["source"]) if known else ("", "")
    value = number(known["value"] * told.get("times", 1)) if known else ""
    return Figure(value, told["unit"], said(told), href, name)


def examples(word: Word) -> Sequence[Mapping[str, Any]]:
    """A few offers that show it, the cheapest on demand first; of any kind where none is."""
    if not word.shows:
        return []
    shown = f"{word.shows}&page_size={EXAMPLES}"
    on_demand = listing.page(query(f"{shown}&price_model=on_demand")).rows
    return on_demand or listing.page(query(shown)).rows

"""The query string of an offers list, checked: one for the page, the API and CSV.

Every filter is a condition over columns of the listing, in three-valued logic (`columnar`): a
comparison with an unknown is neither true nor false. A row is listed where all conditions are true;
`include_unknown=<field>` lets a condition pass where it is not false; and a row is *left out by an
unknown* where the conjunction of all is neither. What has no place in a row (`applies`) is no
unknown: it is false of every value. `offers.py` runs the query.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

import numpy as np
from django.http import QueryDict

from catalog.applies import NO_PLACE
from catalog.columnar import (
    FALSE,
    SEARCHED,
    TRUE,
    Columns,
    Holds,
    Truths,
    compared,
    let_through,
)
from catalog.currency import Currency, in_currency
from catalog.facts import gpus
from catalog.query import (
    CONTINENTS,
    PAGE_SIZE,
    BadQuery,
    Format,
    Reading,
    country,
    gpu,
    number,
    one_of,
    past,
    provider,
    slug,
    truth,
    words,
    words_of_a_cursor,
)
from catalog.records import (
    NVLINK,
    OFFER_KEYS,
    FabricKind,
    MultiNode,
    PriceModel,
    ScaleUp,
    Support,
)

# --- The filters ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Filter:
    """One parameter: how its text is read, the condition it makes, the columns it looks at.

    A `many` filter takes a list (commas and repetition: their union).
    """

    name: str
    title: str
    condition: Callable[[Columns, Any], Truths]
    read: Callable[[str], object]
    fields: tuple[str, ...]
    many: bool = False

    def truths(self, columns: Columns, value: object) -> Truths:
        """Its condition at `value` in each row; `false` turns a yes-or-no condition around."""
        truths = self.condition(columns, value)
        if value is False:
            truths = -truths
        arises = self.arises(columns)
        return truths if arises is None else np.where(arises, truths, FALSE)

    @property
    def needs(self) -> set[str]:
        """The columns that its condition looks at."""
        deciding = (other for name in self.fields for other in NO_PLACE.get(name, ()))
        return {*(self.fields or SEARCHED), *deciding}

    def arises(self, columns: Columns) -> Holds | None:
        """Where what it looks at has a place; None where it has in each row."""
        places = [p for name in self.fields if (p := columns.arises(name)) is not None]
        return np.logical_and.reduce(places) if places else None


def _among(name: str, title: str, read: Callable[[str], str]) -> Filter:
    return Filter(
        name, title, lambda c, words: c.words(name).among(words), read, (name,), many=True
    )


def _at_least(name: str, title: str) -> Filter:
    column = name.removesuffix("_min")
    return _limit(name, title, np.greater_equal, column)


def _at_most(name: str, title: str) -> Filter:
    column = name.removesuffix("_max")
    return _limit(name, title, np.less_equal, column)


def _limit(name: str, title: str, compare: Callable[..., Holds], column: str) -> Filter:
    def condition(columns: Columns, limit: str) -> Truths:
        return compared(compare, columns.floats(column), float(limit))

    return Filter(name, title, condition, number, (column,))


def _yes_or_no(
    name: str, title: str, condition: Callable[[Columns], Truths], *fields: str
) -> Filter:
    return Filter(name, title, lambda columns, _: condition(columns), truth, fields)


def _nvlink(columns: Columns) -> Truths:
    """By its word, or by its domain: unknown only where neither is known."""
    domain = compared(np.greater, columns.floats("nvlink_domain_gpus"), 1)
    return np.maximum(columns.words("scale_up").among(NVLINK), domain)


def _has_words(columns: Columns, words: Sequence[str]) -> Truths:
    found = (all(word in text for word in words) for text in columns.searched)
    return np.fromiter((TRUE if each else FALSE for each in found), np.int8, len(columns.offers))


def _of_gpus(attribute: str) -> list[str]:
    """The values that the SKUs of gpus.csv have."""
    return sorted({str(facts[attribute].value) for facts in gpus().values() if attribute in facts})


FILTERS: Mapping[str, Filter] = {
    f.name: f
    for f in (
        _among("provider", "Provider", provider),
        _among("gpu", "GPU", gpu),
        _among("gpu_vendor", "GPU vendor", one_of(_of_gpus("gpu_vendor"))),
        _among("form_factor", "Form factor", one_of(_of_gpus("form_factor"))),
        _at_least("gpu_count_min", "GPUs"),
        _at_most("gpu_count_max", "GPUs"),
        _at_least("gpu_memory_gb_min", "GB per GPU"),
        _at_least("total_gpu_memory_gb_min", "GB in all"),
        _among("scale_up", "How joined", one_of(ScaleUp)),
        _yes_or_no("nvlink", "NVLink", _nvlink, "scale_up", "nvlink_domain_gpus"),
        _at_least("nvlink_generation_min", "NVLink generation"),
        _at_least("nvlink_domain_gpus_min", "NVLink domain"),
        _at_least("scale_up_domain_gpus_min", "Scale-up domain"),
        _at_least("domain_gpu_memory_gb_min", "GB in one domain"),
        _at_least("scale_up_gbytes_per_s_min", "Links of one GPU, GB/s one way"),
        _among("fabric", "Fabric", one_of(FabricKind)),
        _yes_or_no(
            "infiniband",
            "InfiniBand",
            lambda columns: columns.words("fabric").among(("infiniband",)),
            "fabric",
        ),
        _at_least("fabric_gbits_per_s_min", "Fabric Gb/s"),
        _at_least("fabric_gbits_per_s_per_gpu_min", "Fabric Gb/s per GPU"),
        _among("gpudirect", "GPUDirect", one_of(Support)),
        _among("gpudirect_rdma", "GPUDirect RDMA", one_of(Support)),
        _among("sharp", "SHARP", one_of(Support)),
        _among("multi_node", "Several instances", one_of(MultiNode)),
        _at_least("max_gpus_on_one_fabric_min", "Largest cluster"),
        _among("region", "Region", slug),
        _among("country", "Country", country),
        _among("continent", "Continent", one_of(CONTINENTS)),
        _among("price_model", "Sold as", one_of(PriceModel)),
        _among("tier", "Tier", slug),
        _at_most("usd_per_hour_max", "$ per hour"),
        _at_most("usd_per_gpu_hour_max", "$ per GPU-hour"),
        _yes_or_no(
            "available",
            "Available",
            lambda columns: compared(np.equal, columns.floats("available"), 1),
            "available",
        ),
        Filter("q", "Text", _has_words, words, ()),
    )
}
# A yes-or-no filter that the words of another decide: the words that mean yes.
DECIDED: Mapping[str, tuple[str, frozenset[str]]] = {
    "infiniband": ("fabric", frozenset({"infiniband"})),
    "nvlink": ("scale_up", frozenset(NVLINK)),
}
TEXT_LISTS = ("gpu_candidates", "disputed", "warnings")
SORTABLE = tuple(key for key in OFFER_KEYS if key not in TEXT_LISTS)
FIELDS = (*OFFER_KEYS, "checked")  # what `fields=` may ask for: the last on request alone
PRICES = ("usd_per_gpu_hour", "usd_per_hour")
# A facet counts the values of a column, or how many rows reach each of some thresholds.
FACETS: Mapping[str, tuple[str, ...]] = {
    name: () for name, f in FILTERS.items() if f.many or f.read is truth
} | {
    "fabric_gbits_per_s_per_gpu_min": ("800", "400", "200", "100"),
    "nvlink_domain_gpus_min": ("72", "16", "8", "4", "2"),
    "gpu_count_min": ("16", "8", "4", "2", "1"),
    "usd_per_gpu_hour_max": ("1", "2", "3", "6", "15"),
}
# include_unknown takes a filter's name or the name of the field that is unknown.
UNKNOWABLE = sorted(set(FILTERS) - {"q"} | {name for f in FILTERS.values() for name in f.fields})


class Rows(StrEnum):
    """One row per type × tier × price model with its lowest region, or every region."""

    TYPE = "type"
    REGION = "region"


@dataclass(frozen=True, slots=True)
class OfferQuery:
    """A checked query: what to list, in which order, how much of it, and in what form."""

    filters: Mapping[str, object] = field(default_factory=dict)
    include_unknown: tuple[str, ...] = ()
    include_stale: bool = False
    rows: Rows = Rows.TYPE
    sort: tuple[tuple[str, bool], ...] = (("usd_per_gpu_hour", False),)  # (field, descending)
    page_size: int = PAGE_SIZE
    cursor: str = ""
    fields: tuple[str, ...] = OFFER_KEYS
    format: Format = Format.JSON
    count: bool = False
    facets: tuple[str, ...] = ()
    as_of: datetime | None = None
    whole: bool = False  # every row, not a page of them
    currency: Currency | None = None  # besides the dollar
    only: Mapping[str, Sequence[int]] = field(default_factory=dict)  # numbers, by column of them

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of a row: the fields asked for, and the prices in the currency asked for."""
        return (*self.fields, *(self.currency.keys if self.currency else ()))

    def needs(self, facets: Iterable[str] = ()) -> set[str]:
        """The columns that it is answered by, and these facets."""
        looked_at = (FILTERS[name].needs for name in (*self.filters, *facets))
        return {name for name, _ in self.sort}.union(*looked_at)

    def truths(self, columns: Columns) -> dict[str, Truths]:
        """By filter, its condition in each row, unknowns let through as asked."""
        found = {}
        for name, value in self.filters.items():
            truths = FILTERS[name].truths(columns, value)
            through = self.lets_unknown_through(FILTERS[name])
            found[name] = let_through(truths) if through else truths
        return found

    def lets_unknown_through(self, wanted: Filter) -> bool:
        """Whether `include_unknown` names this filter or a field that it looks at."""
        return not {wanted.name, *wanted.fields}.isdisjoint(self.include_unknown)

    @property
    def sorts_by_price(self) -> bool:
        """Whether price leads: then rows too old to rank stand after all fresher ones."""
        return self.sort[0][0] in PRICES and not self.include_stale


# --- Reading the query string -----------------------------------------------------------------


def parse(query: QueryDict, also: Iterable[str] = ()) -> OfferQuery:
    """A query string of our own as a checked query, which some offer may pass.

    Raises
    ------
    BadQuery
        As `read`, and naming filters that contradict each other.
    """
    asked = read(query, also)
    if wrong := contradictions(asked):
        raise BadQuery(wrong)
    return asked


def read(query: QueryDict, also: Iterable[str] = ()) -> OfferQuery:
    """The query string as a checked query; no offer may pass it.

    Parameters
    ----------
    query
        Django's QueryDict. Lists take commas and repetition; an empty value is absent.
    also
        Further parameter names that the caller reads itself (the page's `cols`, say).

    Raises
    ------
    BadQuery
        Naming every parameter that is unknown, repeated or not of its form.
    """
    reading = Reading(query)
    as_of = reading.one("as_of", past)
    currency = reading.one("currency", in_currency(as_of))
    whole = reading.asks_for_all()
    filters = {name: value for name in FILTERS if (value := _filter(reading, name)) is not None}
    asked = OfferQuery(
        filters=filters,
        include_unknown=reading.many("include_unknown", one_of(UNKNOWABLE)),
        include_stale=reading.one("include_stale", truth) or False,
        rows=Rows(reading.one("rows", one_of(Rows)) or Rows.TYPE),
        sort=reading.sort(SORTABLE) or (("usd_per_gpu_hour", False),),
        page_size=PAGE_SIZE if whole else reading.page_size(),
        cursor=reading.one("cursor", words_of_a_cursor) or "",
        fields=reading.many("fields", field_of(FIELDS, currency)) or OFFER_KEYS,
        format=Format(reading.one("format", one_of(Format)) or Format.JSON),
        count=reading.one("count", truth) or False,
        facets=reading.many("facets", one_of(FACETS)),
        as_of=as_of,
        whole=whole,
        currency=currency,
    )
    reading.finish(also)
    return asked


def field_of(keys: Collection[str], currency: Currency | None) -> Callable[[str], str]:
    """One of the keys of a row. Those of the currency asked for stand there without being named."""
    known = one_of(keys)

    def read(text: str) -> str:
        if currency and text in currency.keys_beside(keys):
            raise ValueError(
                f"{text!r} stands in each row by currency={currency.code}: leave it out here."
            )
        return known(text)

    return read


def contradictions(asked: OfferQuery) -> dict[str, list[str]]:
    """Filters of which no offer can pass both, each with what it contradicts."""
    found = {}
    for pair in opposed(asked):
        for name, against in (pair, pair[::-1]):
            found[name] = [f"contradicts {against}: no offer can pass both."]
    return found


def opposed(asked: OfferQuery) -> Iterator[tuple[str, str]]:
    """The same as pairs; none where what is unknown is let through both."""
    for pair in _opposed(asked.filters):
        if not all(asked.lets_unknown_through(FILTERS[name]) for name in pair):
            yield pair


def _opposed(filters: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """A least above the most, and a yes or no that the words chosen deny."""
    for least in filters:
        most = least.removesuffix("_min") + "_max"
        if least.endswith("_min") and most in filters:
            low, high = (Decimal(str(filters[name])) for name in (least, most))
            if low > high:
                yield least, most
    for name, (column, yes) in DECIDED.items():
        words = filters.get(column)
        if name in filters and isinstance(words, list):
            agreeing = [word for word in words if (word in yes) is filters[name]]
            if not agreeing:
                yield name, column


def _filter(reading: Reading, name: str) -> object:
    """The value of one of FILTERS; None where it is absent."""
    wanted = FILTERS[name]
    if wanted.many:
        return list(reading.many(name, wanted.read)) or None
    return reading.one(name, wanted.read)

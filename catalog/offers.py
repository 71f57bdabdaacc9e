"""Lists of offers: what the page, the API and CSV say of a query.

Which rows a list has, and in which order, is found in the columns of the listing (`columnar`); the
rows of a page are then read by their numbers, by one statement that also says whether the listing
is still the one of the columns. Lists of types are folded to the lowest region of each row. A list
is walked by keyset: a cursor holds the sort values of the last row seen, so pages stay stable while
offers come and go.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from itertools import chain, islice
from typing import Any

import numpy as np
import orjson
from django.db import connection
from django.db.models import Min
from numpy.typing import NDArray

from catalog.columnar import Columns, Floats, Holds, Moved, Places, Words, in_one_piece
from catalog.counts import counts_of
from catalog.filters import OfferQuery, Rows, contradictions
from catalog.listing_columns import MONEY
from catalog.models import Price
from catalog.narrowed import Narrowed
from catalog.paging import Cursor
from catalog.records import OFFER_KEYS
from catalog.sql import rows_of, rows_read

# What a page needs of a row besides the keys that everyone gets.
HELPERS = (
    "provider_title", "offer_id", "instance_type_id", "continent", "evidence", "checked",
    "outdated", "same_fabric", "oversubscription", "scale_up_domain_guaranteed_gpus",
    "frontend_burst_gbits_per_s", "rdma", "rail_optimised", "adaptive_routing",
    "measured_pair_gbytes_per_s",
)  # fmt: skip
# Of the evidence of a type, what a row shows: the whole of it is the larger part of a page's cost.
EVIDENCE = (
    "scale_up", "scale_up_domain_gpus", "scale_up_gbytes_per_s", "fabric", "fabric_gbits_per_s",
    "fabric_gbits_per_s_per_nic", "gpudirect_rdma",
)  # fmt: skip
# The last sort keys: of one type, what tells its rows apart whichever region speaks for them.
APART = {Rows.TYPE: ("via", "tier", "price_model"), Rows.REGION: ()}
# What is not published stands last, and what is too old to rank after all fresher.
PRICED_FIRST = "usd_per_gpu_hour is null, outdated"


FEW = 1000  # rows that are read by their numbers

Values = NDArray[Any]


class Row(dict[str, Any]):
    """A row by its columns; `read` is what it was read from, which can be a key."""

    __slots__ = ("read",)

    def __init__(self, columns: Sequence[str], values: Sequence[Any]) -> None:
        super().__init__(zip(columns, values, strict=False))
        self.read = tuple(tuple(v) if type(v) is list else v for v in self.values())
        self["evidence"] = orjson.loads(self["evidence"] or "{}")


@dataclass(frozen=True, slots=True)
class Page:
    """Some rows of a list, and what a reader needs to know of the rest."""

    rows: list[Row]
    next: str | None = None
    previous: str | None = None
    count: int | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    left_out_total: int = 0
    facets: Mapping[str, Sequence[tuple[str | None, int]]] = field(default_factory=dict)
    all_outdated: bool = False


def page(query: OfferQuery, facets: Iterable[str] = (), evidence: Sequence[str] = EVIDENCE) -> Page:
    """One page of rows for a template, and the counts of these facets.

    A row has every key of an offer, and HELPERS; of its evidence these attributes.

    Raises
    ------
    BadQuery
        Where the cursor was not given out for this very list.
    """
    return in_one_piece(lambda: _page(query, list(facets), evidence))


def _page(query: OfferQuery, facets: list[str], evidence: Sequence[str]) -> Page:
    names = (*OFFER_KEYS, *HELPERS, "regions")
    walk = _Walk(query, names, evidence=evidence, facets=facets)
    keys = (*names, *(query.currency.keys if query.currency else ()))
    rows = [Row(keys, row) for row in walk.rows]
    counts = counts_of(walk.narrowed, facets)
    priced = [row for row in rows if row["usd_per_gpu_hour"] is not None]
    return Page(
        rows=rows,
        next=walk.next,
        previous=walk.previous,
        count=counts.rows,
        left_out=counts.left_out_by,
        left_out_total=counts.left_out,
        facets=counts.facets,
        all_outdated=bool(priced) and all(row["outdated"] for row in priced),
    )


def cheapest(query: OfferQuery) -> list[Row]:
    """Every row of the list, not a page of it: what the cost model ranks; `query.only` of them."""
    names = (*OFFER_KEYS, *HELPERS, "regions")
    everything = replace(query, whole=True)
    return in_one_piece(lambda: [Row(names, row) for row in _Walk(everything, names).rows])


@dataclass(frozen=True, slots=True)
class Written:
    """Rows as JSON objects, made in Postgres: of a page, with cursors to its neighbours, or all."""

    rows: Iterable[bytes]
    next: str | None
    previous: str | None
    narrowed: Narrowed

    def said(self) -> dict[str, Any]:
        """What the API says of the list besides its rows."""
        query = self.narrowed.query
        counts = counts_of(self.narrowed, query.facets)
        found: dict[str, Any] = {"left_out": counts.left_out, "left_out_by": counts.left_out_by}
        if opposed := contradictions(query):
            found["contradictions"] = opposed
        if query.count:
            found["count"] = counts.rows
        if query.currency:
            found["currency"] = query.currency.as_json()
        if query.facets:
            found["facets"] = {
                name: [{"value": value, "count": rows} for value, rows in values]
                for name, values in counts.facets.items()
            }
        return found


def written(query: OfferQuery) -> Written:
    """The rows for the API. A whole list is read from the database as its rows are taken.

    Raises
    ------
    BadQuery
        Where the cursor was not given out for this very list.
    """
    walk = in_one_piece(lambda: _Walk(query, query.fields, facets=query.facets, as_json=True))
    return Written((row[0].encode() for row in walk.rows), walk.next, walk.previous, walk.narrowed)


def begins(as_of: datetime | None) -> date | None:
    """The day on which the catalog begins, where the time that is asked for is before it."""
    if as_of is None:
        return None
    first = Price.objects.aggregate(first=Min("valid_from"))["first"]
    return first.date() if first and as_of < first else None


def of_type(instance_type_id: int) -> list[Row]:
    """Every listed offer of one type, the cheapest first: for its own page."""
    columns = (*OFFER_KEYS, *HELPERS)
    shown = ", ".join(_select(column) for column in columns)
    sql = (
        f"select {shown} from offer_listing where instance_type_id = %s "
        f"order by {PRICED_FIRST}, usd_per_gpu_hour, offer_id"
    )
    return [Row(columns, row) for row in rows_of(sql, [instance_type_id])]


# --- The rows -----------------------------------------------------------------------------------


def _select(column: str, evidence: Iterable[str] = EVIDENCE) -> str:
    """How a column is read: money as the text of a decimal without trailing zeros."""
    if column == "evidence":
        names = ", ".join(f"'{name}'" for name in evidence)
        return (
            "(select jsonb_object_agg(key, value) from jsonb_each(evidence) "
            f"where key = any(array[{names}]::text[])) as evidence"
        )
    return f"trim_scale({column})::text as {column}" if column in MONEY else column


def _read(
    of: Columns, rows: Places, regions: Places, shown: Sequence[str]
) -> Iterator[tuple[Any, ...]]:
    """What is shown of these rows, in their order, as they are taken.

    Raises
    ------
    Moved
        Where they are of another listing than the columns.
    """
    if not len(rows):
        return
    offers, at = of.offers[rows].tolist(), [] if of.as_of is None else [of.as_of]
    source = "offer_listing" if of.as_of is None else "offer_listing_at(%s)"
    # A cursor does not outlive the transaction that it is opened in.
    answer: Callable[..., Iterable[tuple[Any, ...]]] = (
        rows_of if connection.in_atomic_block else rows_read
    )
    if len(offers) <= FEW:
        answer, at = rows_of, [*at, offers]
        source = f"(select * from {source} where offer_id = any(%s))"
        if of.as_of is None:
            source = "offer_listing_of(%s)"
    sql = (
        f"select {', '.join(shown)}, (select revision::text from catalog_catalogversion) "
        "from unnest(%s::bigint[], %s::integer[]) with ordinality page (offer_id, regions, place) "
        f"join {source} l using (offer_id) order by place"
    )
    for *row, revision in answer(sql, [offers, regions.tolist(), *at]):
        if revision != of.revision:
            raise Moved
        yield tuple(row)


# --- Their order ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Key:
    """One sort key of the rows of a list: the lower its value, the earlier a row."""

    values: Values
    sign: int = 1
    words: Words | None = None  # of which the values are places

    @classmethod
    def of(cls, column: Words | Floats, rows: Places, *, descending: bool = False) -> "_Key":
        """By a column; where it is unknown, any value."""
        sign = -1 if descending else 1
        if isinstance(column, Words):
            return cls(sign * column.places[rows], sign, column)
        return cls(sign * np.nan_to_num(column[rows]), sign)

    def said(self, row: int) -> float | str | None:
        """What a cursor says of a row: what holds for a listing of another revision."""
        value = self.sign * self.values[row]
        if self.words is None:
            return float(value)
        return self.words.words[value] if value >= 0 else None

    def value(self, said: Any) -> float:
        """The value of what a cursor says."""
        return self.sign * (float(said) if self.words is None else self.words.place(said))


def _sort_keys(query: OfferQuery, of: Columns, rows: Places) -> list[_Key]:
    """What the rows of a list are sorted by; together the keys name one row.

    Unknown sorts last both ways, so whether a value is known is a key of its own, ahead of it.
    """
    keys: list[_Key] = []
    for name, descending in query.sort:
        column = of[name]
        unknown = column.places < 0 if isinstance(column, Words) else np.isnan(column)
        keys.append(_Key(unknown[rows]))
        if query.sorts_by_price and not keys[1:]:
            keys.append(_Key.of(of.floats("outdated"), rows))
        keys.append(_Key.of(column, rows, descending=descending))
    keys += [_Key.of(of[name], rows) for name in ("provider", "instance_type", *APART[query.rows])]
    return keys if query.rows is Rows.TYPE else [*keys, _Key(of.offers[rows])]


class _Walk:
    """One step through a list: the rows of this page, and cursors to its neighbours."""

    def __init__(
        self,
        query: OfferQuery,
        names: Sequence[str],
        *,
        evidence: Iterable[str] = EVIDENCE,
        facets: Iterable[str] = (),
        as_json: bool = False,
    ) -> None:
        self.query = query
        self.narrowed = Narrowed.by(query, facets)
        self.next: str | None = None
        self.previous: str | None = None
        at = Cursor.read(query.cursor, _list_of(query))
        rows, regions = self.narrowed.listed()
        self.keys = _sort_keys(query, self.narrowed.columns, rows)
        listed = self._in_order(at)
        shown = [_select(name, evidence) for name in names]
        if query.currency:
            shown += query.currency.selected
        if as_json:
            shown = [f"(select row_to_json(r)::text from (select {', '.join(shown)}) r)"]
        read = _read(self.narrowed.columns, rows[listed], regions[listed], shown)
        first = [*islice(read, 1)]  # read at once, to see whether it has moved
        if len(listed) and not first:
            raise Moved
        self.rows = chain(first, read)

    def _in_order(self, at: Cursor | None) -> Places:
        """The rows of the list that stand on this page."""
        order = np.lexsort([key.values for key in reversed(self.keys)])
        if at:
            order = order[self._past(at)[order]]
        if self.query.whole:
            return order
        size, backward = self.query.page_size, bool(at and at.backward)
        more = len(order) > size
        page = order[-size:] if backward else order[:size]
        ahead, behind = (True, more) if backward else (more, at is not None)
        if len(page):
            self.next = self._cursor(page[-1], backward=False) if ahead else None
            self.previous = self._cursor(page[0], backward=True) if behind else None
        return page

    def _past(self, at: Cursor) -> Holds:
        """Rows beyond a cursor: past its first value, or equal to it and past its second."""
        rows = len(self.keys[0].values)
        past, equal = np.zeros(rows, bool), np.ones(rows, bool)
        for key, said in zip(self.keys, at.values, strict=True):
            value = key.value(said)
            past |= equal & (key.values < value if at.backward else key.values > value)
            equal &= key.values == value
        return past

    def _cursor(self, row: int, *, backward: bool) -> str:
        values = [key.said(row) for key in self.keys]
        return Cursor(values, backward).write(_list_of(self.query))


def _list_of(query: OfferQuery) -> str:
    """What makes two pages pages of one list."""
    filters = sorted(query.filters.items())
    asked = (filters, query.include_unknown, query.rows, query.sort, query.as_of)
    return repr(("by columns", *asked, query.sorts_by_price))

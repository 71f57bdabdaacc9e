"""Lists of offers: the SQL behind the page, the API and CSV, one statement for the rows of each.

The statement reads the view `offer_listing` (or, for `as_of`, the function of the same shape),
keeps the rows whose conditions all hold, folds them to one row a type where asked, and walks them
by keyset: a cursor holds the sort values of the last row seen, so pages stay stable while offers
come and go. A list of 20,000 is answered by Postgres alone; Python only joins the lines.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import orjson
from django.db.models import Min

from catalog.counts import Counts, count, rows_of, rows_read
from catalog.filters import OfferQuery, Rows, contradictions
from catalog.models import Price
from catalog.paging import Cursor
from catalog.records import OFFER_KEYS

MONEY = frozenset({"usd_per_hour", "usd_per_gpu_hour", "native_amount", "usd_rate"})
NUMBERS = MONEY | {
    "gpu_count", "gpu_memory_gb", "vcpus", "ram_gb", "nvlink_generation", "scale_up_gbytes_per_s",
    "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus", "nvlink_domain_gpus",
    "domain_gpu_memory_gb", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s",
    "fabric_gbits_per_s_per_gpu", "frontend_gbits_per_s", "max_gpus_on_one_fabric", "cliff",
    "minimum_hours",
}  # fmt: skip
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
APART = {
    Rows.TYPE: ("coalesce(via, '')", "coalesce(tier, '')", "price_model"),
    Rows.REGION: ("offer_id",),
}
# By price: what is not published stands last, and what is too old to rank after all fresher.
PRICED_FIRST = "usd_per_gpu_hour is null, outdated"
ALL = "unbounded preceding and unbounded following"


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
    columns = (*OFFER_KEYS, *HELPERS, "regions")
    walk = _Walk(query, columns, evidence=evidence)
    keys = (*columns, *(query.currency.keys if query.currency else ()))
    rows = [Row(keys, row) for row in walk.rows]
    counts = count(query, facets)
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
    columns = (*OFFER_KEYS, *HELPERS, "regions")
    matching, values = _matching(query)
    shown = ", ".join(_select(column) for column in columns)
    sql = (
        f"with page as ({matching}) select {shown} from page join {query.source} l using (offer_id)"
    )
    return [Row(columns, row) for row in rows_of(sql, [*values, *query.at])]


@dataclass(frozen=True, slots=True)
class Written:
    """Rows as JSON objects, made in Postgres: of a page, with cursors to its neighbours, or all."""

    rows: Iterable[bytes]
    next: str | None
    previous: str | None


def written(query: OfferQuery) -> Written:
    """The rows for the API. A whole list is read from the database as its rows are taken.

    Raises
    ------
    BadQuery
        Where the cursor was not given out for this very list.
    """
    walk = _Walk(query, query.fields, as_json=True)
    return Written((row[0].encode() for row in walk.rows), walk.next, walk.previous)


def said(query: OfferQuery) -> dict[str, Any]:
    """What the API says of the list besides its rows."""
    asked = query.filters or query.count or query.facets
    counts = count(query, query.facets) if asked else Counts()  # without a filter none is left out
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


# --- The statement ----------------------------------------------------------------------------


def _where(query: OfferQuery) -> tuple[str, list[object]]:
    """The conjunction of all conditions and what fills it."""
    kept = [(sql, values) for _, sql, values in query.conditions()]
    kept += [(f"{column} = any(%s)", [list(numbers)]) for column, numbers in query.only.items()]
    sql = " and ".join(sql for sql, _ in kept) or "true"
    return sql, [value for _, values in kept for value in values]


def _matching(query: OfferQuery, columns: Iterable[str] = ("offer_id",)) -> tuple[str, list[Any]]:
    """A subquery of the rows that match, folded to one a type where asked.

    It carries `columns` alone, for rows are sorted here and the wide ones would cost most.
    """
    where, values = _where(query)
    shown = ", ".join(dict.fromkeys(["offer_id", *columns]))
    if query.rows is Rows.REGION:
        return f"select {shown}, 1 as regions from {query.source} where {where}", [
            *query.at,
            *values,
        ]
    # The lowest region speaks; a price too old to rank, or none, only where there is no other.
    lowest = f"{PRICED_FIRST}, usd_per_gpu_hour, region nulls last, offer_id"
    # In the order in which the lowest is found, so that they are sorted once.
    regions = f"partition by row_key order by {lowest} rows between {ALL}"
    sql = (
        f"select distinct on (row_key) {shown}, count(*) over ({regions}) as regions "
        f"from {query.source} where {where} order by row_key, {lowest}"
    )
    return sql, [*query.at, *values]


def _select(column: str, evidence: Iterable[str] = EVIDENCE) -> str:
    """How a column is read: money as the text of a decimal without trailing zeros."""
    if column == "evidence":
        names = ", ".join(f"'{name}'" for name in evidence)
        return (
            "(select jsonb_object_agg(key, value) from jsonb_each(evidence) "
            f"where key = any(array[{names}]::text[])) as evidence"
        )
    return f"trim_scale({column})::text as {column}" if column in MONEY else column


def _sort_keys(query: OfferQuery) -> list[tuple[str, bool]]:
    """Expressions that never are null, each with its direction; together they name one row.

    Unknown sorts last both ways, so whether a value is known is a key of its own, ahead of it.
    """
    keys: list[tuple[str, bool]] = []
    for name, descending in query.sort:
        keys.append((f"({name} is null)", False))
        if query.sorts_by_price and not keys[1:]:
            keys.append(("outdated", False))
        keys.append((_known(name), descending))
    named = {name for name, _ in query.sort}
    keys += [(name, False) for name in ("provider", "instance_type") if name not in named]
    return keys + [(apart, False) for apart in APART[query.rows]]


def _known(name: str) -> str:
    """The value of a column, or any value of its type where it is unknown."""
    if name in NUMBERS:
        return f"coalesce({name}, 0)"
    empty = {
        "available": "false",
        "stale": "false",
        "usd_rate_date": "'epoch'::date",
        "collected_at": "'epoch'::timestamptz",
    }.get(name, "''")
    return f"coalesce({name}, {empty})"


class _Walk:
    """One step through a list: the rows of this page, and cursors to its neighbours."""

    def __init__(
        self,
        query: OfferQuery,
        columns: Sequence[str],
        *,
        evidence: Iterable[str] = EVIDENCE,
        as_json: bool = False,
    ) -> None:
        self.query = query
        self.keys = _sort_keys(query)
        self.next = self.previous = None
        at = Cursor.read(query.cursor, _list_of(query))
        selected = [_select(column, evidence) for column in columns]
        if query.currency:
            selected += query.currency.selected
        sql, values = self._statement(", ".join(selected), at, as_json=as_json)
        self.rows: Iterable[tuple[Any, ...]] = rows_read(sql, values)
        if query.whole:
            return
        rows = rows_of(sql, values)
        more = len(rows) > query.page_size
        rows = rows[: query.page_size]
        if at and at.backward:
            rows.reverse()
        self.rows = rows
        ahead, behind = (bool(at), more) if at and at.backward else (more, bool(at))
        self.next = self._cursor(rows[-1], backward=False) if rows and ahead else None
        self.previous = self._cursor(rows[0], backward=True) if rows and behind else None

    def _statement(self, shown: str, at: Cursor | None, *, as_json: bool) -> tuple[str, list[Any]]:
        """The rows of the page, one more to see whether there are others, and their sort keys."""
        sorted_by = [name for name, _ in self.query.sort]
        needed = ["outdated", "provider", "instance_type", "via", "tier", "price_model", *sorted_by]
        matching, values = _matching(self.query, needed)
        backward = bool(at and at.backward)
        order = ", ".join(
            f"k{n} {'desc' if down != backward else 'asc'}" for n, (_, down) in enumerate(self.keys)
        )
        keyed = ", ".join(f"{key} as k{n}" for n, (key, _) in enumerate(self.keys))
        keys = ", ".join(f"k{n}::text" for n in range(len(self.keys)))
        row = f"(select row_to_json(r)::text from (select {shown}) r)" if as_json else shown
        after, passed = self._after(at) if at else ("true", [])
        limit, read, source = "all", "", self.query.source
        if not self.query.whole:  # read by number, and once: a plan may take 50 rows for one
            limit, source = str(self.query.page_size + 1), "listed"
            read = (
                f", listed as materialized ({self._numbered('array(select offer_id from page)')})"
            )
        sql = (
            f"with page as materialized (select offer_id, regions, {keyed} from ({matching}) m "
            f"where {after} order by {order} limit {limit}){read} "
            f"select {row}, array[{keys}] from page join {source} l using (offer_id) "
            f"order by {order}"
        )
        return sql, [*values, *passed, *self.query.at]

    def _numbered(self, offers: str) -> str:
        """The rows of some offers; those of now by a plan that Postgres has made before."""
        if self.query.as_of is None:
            return f"select * from offer_listing_of({offers})"
        return f"select * from {self.query.source} where offer_id = any({offers})"

    def _after(self, at: Cursor) -> tuple[str, list[object]]:
        """Rows beyond the cursor: k1 past v1, or equal to it and k2 past v2, and so on."""
        clauses, values = [], list[object]()
        for index, (key, down) in enumerate(self.keys):
            equal = [f"({before}) = %s" for before, _ in self.keys[:index]]
            clauses.append(
                " and ".join([*equal, f"({key}) {'<' if down != at.backward else '>'} %s"])
            )
            values += at.values[: index + 1]
        return "(" + " or ".join(f"({clause})" for clause in clauses) + ")", values

    def _cursor(self, row: tuple[Any, ...], *, backward: bool) -> str:
        return Cursor(row[-1], backward).write(_list_of(self.query))


def _list_of(query: OfferQuery) -> str:
    """What makes two pages pages of one list."""
    filters = sorted(query.filters.items())
    return repr(
        (filters, query.include_unknown, query.sorts_by_price, query.rows, query.sort, query.as_of)
    )

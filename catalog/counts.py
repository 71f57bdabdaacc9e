"""How many rows a list has, how many an unknown keeps out, how many each value of a facet gives.

One statement reads the listing once: of every row what counts it, whether each condition holds (or
cannot be said), and its value for each facet. All counts are made of these.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from catalog.filters import FACETS, FILTERS, OfferQuery, Rows, opposed
from catalog.paging import ROWS_AT_ONCE

ROWS, LEFT_OUT = "rows", "left out"
Counted = tuple[str, str | None, str]  # of what, of which value of it, the rows as an SQL condition


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of a whole list, those that an unknown kept out, and by facet those of each value.

    A row is what the list has for one: a type × tier × price model, or an offer in a region. A
    facet applies all filters but its own, to the rows in which it has a place; the unknown is
    counted under None, and last.
    """

    rows: int = 0
    left_out: int = 0
    left_out_by: Mapping[str, int] = field(default_factory=dict)
    facets: Mapping[str, Sequence[tuple[str | None, int]]] = field(default_factory=dict)


def count(query: OfferQuery, facets: Iterable[str] = ()) -> Counts:
    """Every count of one list."""
    facets = list(facets)
    conditions = list(query.conditions())
    held = {wanted.name: f"c{index}" for index, (wanted, _, _) in enumerate(conditions)}
    columns = [f"{_key(query)} as k", *(f"{sql} as {held[f.name]}" for f, sql, _ in conditions)]
    values = [value for _, _, filled in conditions for value in filled]
    counted, parts = list(_of_the_list(held)), list[str]()
    for index, name in enumerate(facets):
        others = [c for other, c in held.items() if other != name]
        if arises := FILTERS[name].arises:
            columns.append(f"{arises} as a{index}")
            others.append(f"a{index}")
        of_facet, filled = _columns(name, f"v{index}")
        columns += of_facet
        values += filled
        if FACETS[name]:
            counted += _reached(name, f"v{index}", others)
        else:
            parts.append(_facet(name, f"v{index}", others, query))
    sql = (
        f"with r as materialized (select *, {_all(held.values())} as e from "
        f"(select {', '.join(columns)} from {query.source}) a where {_counts(held, facets)}) "
        + " union all ".join([_together(counted, query), *parts])
    )
    said: dict[str, dict[str | None, int]] = defaultdict(dict)
    for what, value, rows in rows_of(sql, [*values, *query.at]):
        said[what][value] = rows
    if any(opposed(query)):  # whatever the unknown is, it is not both
        said[LEFT_OUT] = {None: 0}
    return Counts(
        rows=said[ROWS][None],
        left_out=said[LEFT_OUT].pop(None),
        left_out_by={name: n for name, n in said[LEFT_OUT].items() if name and n},
        facets={name: _in_order(name, said[_facet_of(name)]) for name in facets},
    )


def misses(query: OfferQuery) -> list[tuple[tuple[str, ...], int]]:
    """Where a list is empty: the fewest filters to drop for rows to be in it, and how many rows.

    Several such sets of equally few, the one that lets most in first; none where the catalog is
    empty.
    """
    conditions = list(query.conditions())
    failed = ", ".join(
        f"case when ({sql}) is not true then '{wanted.name}' end" for wanted, sql, _ in conditions
    )
    values = [value for _, _, filled in conditions for value in filled]
    rows = "count(*)" if query.rows is Rows.REGION else "count(distinct k)"
    sql = (
        f"select failed, {rows} from (select {_key(query)} as k, "
        f"array_remove(array[{failed}]::text[], null) as failed from {query.source}) r "
        "group by failed"
    )
    found = [(tuple(failed), rows) for failed, rows in rows_of(sql, [*values, *query.at])]
    fewest = min((len(names) for names, _rows_kept in found), default=0)
    nearest = [(names, rows) for names, rows in found if len(names) == fewest]
    return sorted(nearest, key=lambda each: (-each[1], each[0]))


def _key(query: OfferQuery) -> str:
    """A number for what is one row of this list."""
    return "offer_id" if query.rows is Rows.REGION else "row_key"


def _all(conditions: Iterable[str]) -> str:
    return " and ".join(conditions) or "true"


def _counts(held: Mapping[str, str], facets: Sequence[str]) -> str:
    """Whether a row counts for anything: all but it are left unread, the earlier the better.

    For the list it does unless a condition is false, and for a facet where all others are true. So
    a condition that no facet leaves out is one of the conjunction, and narrows what is read.
    """
    apart = {name: column for name, column in held.items() if name in facets}
    fixed = [f"({c}) is not false" for name, c in held.items() if name not in apart]
    if apart:
        others = [_all(c for other, c in held.items() if other != name) for name in apart]
        fixed.append(f"(({_all(apart.values())}) is not false or {' or '.join(others)})")
    return _all(fixed)


def _of_the_list(held: Mapping[str, str]) -> Iterator[Counted]:
    """All rows, and those that would be among them were it not for an unknown, by the filter."""
    yield ROWS, None, "e"
    yield LEFT_OUT, None, "e is null"
    for name, column in held.items():
        yield LEFT_OUT, name, f"e is null and {column} is null"


def _columns(name: str, column: str) -> tuple[list[str], list[object]]:
    """What a facet is counted by: a value, or whether each threshold is reached."""
    wanted = FILTERS[name]
    if not FACETS[name]:
        value = wanted.fields[0] if wanted.many else f"({wanted.sql})"
        return [f"({value})::text as {column}"], []
    reached = [f"{wanted.sql} as {column}_{n}" for n in range(len(FACETS[name]))]
    return [*reached, f"{wanted.fields[0]} is null as {column}"], list(FACETS[name])


def _reached(name: str, column: str, others: Sequence[str]) -> Iterator[Counted]:
    """Of a facet of thresholds, the rows that reach each."""
    reached = [(t, f"{column}_{n}") for n, t in enumerate(FACETS[name])]
    for value, holds in (*reached, (None, column)):
        yield _facet_of(name), value, _all([*others, holds])


def _facet(name: str, column: str, others: Sequence[str], query: OfferQuery) -> str:
    """Of a facet of values, the rows of each."""
    rows = f"select {column} from r where {_all(others)}"
    if query.rows is Rows.TYPE:
        rows += f" group by k, {column}"
    return f"select '{_facet_of(name)}', {column}, count(*) from ({rows}) v group by {column}"


def _facet_of(name: str) -> str:
    return f"facet {name}"


def _together(counted: Sequence[Counted], query: OfferQuery) -> str:
    """Several counts in one pass: of types, by what holds in any region."""
    whats = ", ".join(f"'{what}'" for what, _, _ in counted)
    values = ", ".join("null" if value is None else f"'{value}'" for _, value, _ in counted)
    rows, holds = "r", [condition for _, _, condition in counted]
    if query.rows is Rows.TYPE:
        any_region = ", ".join(f"bool_or({each}) as h{n}" for n, each in enumerate(holds))
        rows = f"(select {any_region} from r group by k) h"
        # What one region lists is in the list: that another's is unknown keeps nothing out.
        out = " and h0 is not true"  # the first count is of the list itself
        holds = [f"h{n}{out if c[0] == LEFT_OUT else ''}" for n, c in enumerate(counted)]
    counts = ", ".join(f"count(*) filter (where {each})" for each in holds)
    return (
        f"select t.* from (select array[{counts}] as n from {rows}) a, "
        f"unnest(array[{whats}], array[{values}]::text[], a.n) t"
    )


def _in_order(name: str, rows: Mapping[str | None, int]) -> list[tuple[str | None, int]]:
    """Thresholds as they stand, values by their rows; the unknown last."""
    if FACETS[name]:
        return [(value, rows[value]) for value in (*FACETS[name], None)]
    return sorted(rows.items(), key=lambda each: (each[0] is None, -each[1], each[0] or ""))


def rows_of(sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """What a statement over the listing answers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return list(cursor.fetchall())


def rows_read(sql: str, values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows as they are taken, at constant memory: Postgres holds them, in a cursor."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, list(values))
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows

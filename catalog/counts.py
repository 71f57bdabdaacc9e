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


@dataclass(frozen=True, slots=True)
class _Counted:
    """Of what, of which value of it, what a row of the list says of it, and when that counts."""

    what: str
    value: str | None
    said: str  # an expression over what was read
    holds: str  # a condition, with {} for what is said


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
    counted, parts = list(_of_the_list(held, query)), list[str]()
    for index, name in enumerate(facets):
        others = [c for other, c in held.items() if other != name]
        if arises := FILTERS[name].arises:
            columns.append(f"{arises} as a{index}")
            others.append(f"a{index}")
        columns.append(f"{_value(name)} as v{index}")
        if FACETS[name]:
            counted += _reached(name, f"v{index}", _all(others), query)
        else:
            parts.append(_facet(name, f"v{index}", _all(others), query))
    read = (
        f"select *, {_all(held.values())} as e from "
        f"(select {', '.join(columns)} from {query.source}) a where {_counts(held, facets)}"
    )
    # What one count takes is best not kept; and not merged with it, or each condition is asked anew
    # wherever it is named.
    read = f"materialized ({read})" if parts else f"({read} offset 0)"
    sql = f"with r as {read} " + " union all ".join([_together(counted, query), *parts])
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


def _of_the_list(held: Mapping[str, str], query: OfferQuery) -> Iterator[_Counted]:
    """All rows, and those that would be among them were it not for an unknown, by the filter."""
    yield _Counted(ROWS, None, _any("e", query), "{}")
    # What one region lists is in the list: that another's is unknown keeps nothing out.
    out = "{} and rows is not true"
    yield _Counted(LEFT_OUT, None, _any("e is null", query), out)
    for name, column in held.items():
        yield _Counted(LEFT_OUT, name, _any(f"e is null and {column} is null", query), out)


def _value(name: str) -> str:
    """What a facet is counted by: the value of a column, or whether a condition holds."""
    wanted = FILTERS[name]
    if FACETS[name]:
        return wanted.fields[0]
    return f"({wanted.fields[0] if wanted.many else f'({wanted.sql})'})::text"


def _reached(name: str, column: str, others: str, query: OfferQuery) -> Iterator[_Counted]:
    """Of a facet of thresholds, the rows that reach each: whose best region does."""
    best, reaches = ("min", "<=") if name.endswith("_max") else ("max", ">=")
    said = f"case when {others} then {column} end"
    if query.rows is Rows.TYPE:
        said = f"{best}({said})"
    for threshold in FACETS[name]:
        yield _Counted(_facet_of(name), threshold, said, f"{{}} {reaches} {threshold}")
    yield _Counted(_facet_of(name), None, _any(f"{others} and {column} is null", query), "{}")


def _any(holds: str, query: OfferQuery) -> str:
    """Whether a condition holds of a row: of a type, in any region."""
    return f"bool_or({holds})" if query.rows is Rows.TYPE else f"({holds})"


def _facet(name: str, column: str, others: str, query: OfferQuery) -> str:
    """Of a facet of values, the rows of each."""
    rows = f"select {column} from r where {others}"
    if query.rows is Rows.TYPE:
        rows += f" group by k, {column}"
    return f"select '{_facet_of(name)}', {column}, count(*) from ({rows}) v group by {column}"


def _facet_of(name: str) -> str:
    return f"facet {name}"


def _together(counted: Sequence[_Counted], query: OfferQuery) -> str:
    """Several counts in one pass: of types, by what is said of all their regions."""
    names = {each.said: f"h{n}" for n, each in enumerate(counted)}
    names[counted[0].said] = "rows"  # the first count is of the list itself
    said = ", ".join(f"{sql} as {name}" for sql, name in names.items())
    rows = f"select {said} from r" + (" group by k" if query.rows is Rows.TYPE else "")
    holds = (each.holds.format(names[each.said]) for each in counted)
    counts = ", ".join(f"count(*) filter (where {each})" for each in holds)
    whats = ", ".join(f"'{each.what}'" for each in counted)
    values = ", ".join("null" if c.value is None else f"'{c.value}'" for c in counted)
    return (
        f"select t.* from (select array[{counts}] as n from ({rows}) h) a, "
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

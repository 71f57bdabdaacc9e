"""Pages by keyset: a cursor holds the sort values of the last row seen and the list it belongs to.

So pages stay stable while rows come and go, page 400 costs what page 1 does, and a cursor that was
altered, or given out for another list, is a 400.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Generic, TypeVar

from django.core import signing
from django.db.models import F, Model, Q, QuerySet

from catalog.query import BadQuery

M = TypeVar("M", bound=Model)
ROWS_AT_ONCE = 200  # of a list that is read as it is written


@dataclass(frozen=True, slots=True)
class Cursor:
    """The sort values to go on from, and whether to go back."""

    values: list[Any]
    backward: bool = False

    def write(self, of_list: str) -> str:
        """Its text, good for the list of that identity alone."""
        return signing.dumps([self.values, self.backward], salt=of_list, compress=True)

    @classmethod
    def read(cls, text: str, of_list: str) -> "Cursor | None":
        """The cursor of a text; None where there is none.

        Raises
        ------
        BadQuery
            Where it was not given out for this very list.
        """
        if not text:
            return None
        try:
            values, backward = signing.loads(text, salt=of_list)
        except signing.BadSignature:
            message = "is not a cursor of this list: take it from `next` of the same query."
            raise BadQuery({"cursor": [message]}) from None
        return cls(values, backward)


@dataclass(frozen=True, slots=True)
class Step(Generic[M]):
    """The rows of one page, and cursors to its neighbours."""

    rows: Iterable[M]
    next: Cursor | None
    previous: Cursor | None


def step(
    queryset: QuerySet[M], sort: Sequence[tuple[str, bool]], at: Cursor | None, size: int | None
) -> Step[M]:
    """One page of a queryset: rows in order of `sort`, (field, descending); unknown last both ways.

    The primary key breaks ties, so that every row has one place. Without a size it is all of the
    list, read from the database as the rows are taken.
    """
    keys = [*sort, ("pk", False)]
    backward = bool(at and at.backward)
    if at:
        queryset = queryset.filter(_beyond(keys, at))
    queryset = queryset.order_by(*(_order(name, down, backward) for name, down in keys))
    if size is None:
        return Step(queryset.iterator(ROWS_AT_ONCE), None, None)
    found = list(queryset[: size + 1])
    more, rows = len(found) > size, found[:size]
    if backward:
        rows.reverse()
    ahead, behind = (True, more) if backward else (more, at is not None)
    return Step(
        rows,
        next=Cursor(_values(rows[-1], keys)) if rows and ahead else None,
        previous=Cursor(_values(rows[0], keys), backward=True) if rows and behind else None,
    )


def _order(name: str, down: bool, backward: bool) -> Any:
    """The unknown stands last, or first on the way back."""
    field = F(name)
    if down != backward:
        return field.desc(nulls_last=not backward or None, nulls_first=backward or None)
    return field.asc(nulls_last=not backward or None, nulls_first=backward or None)


def _beyond(keys: Sequence[tuple[str, bool]], at: Cursor) -> Q:
    """Rows past the cursor: the first key past its value, or equal and the second past its."""
    beyond, equal = Q(), Q()
    for (name, down), value in zip(keys, at.values, strict=True):
        known = Q(**{f"{name}__isnull": False})
        if value is None:  # last: nothing is past it, and all that is known before it
            past = known if at.backward else Q(pk__in=[])
            same = Q(**{f"{name}__isnull": True})
        else:
            past = Q(**{f"{name}__{'lt' if down != at.backward else 'gt'}": value})
            if not at.backward and name != "pk":
                past |= ~known
            same = Q(**{name: value})
        beyond |= equal & past
        equal &= same
    return beyond


def _values(row: Model, keys: Sequence[tuple[str, bool]]) -> list[Any]:
    return [_text(_of(row, name)) for name, _ in keys]


def _of(row: Any, path: str) -> Any:
    for name in path.split("__"):
        row = getattr(row, name)
    return row


def _text(value: Any) -> Any:
    """What a signed list can hold, and a lookup takes back."""
    if isinstance(value, date):
        return value.isoformat()
    return value if isinstance(value, int | float | None) else str(value)

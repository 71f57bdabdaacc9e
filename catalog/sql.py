"""Statements by hand: what one answers, at once or as it is taken."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.db import connection

from catalog.paging import ROWS_AT_ONCE


def rows_of(sql: str, values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """What a statement answers."""
    with connection.cursor() as cursor:
        cursor.execute(sql, list(values))
        return list(cursor.fetchall())


def rows_read(sql: str, values: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """The rows as they are taken, at constant memory: Postgres holds them, in a cursor."""
    with connection.chunked_cursor() as cursor:
        cursor.execute(sql, list(values))
        while rows := cursor.fetchmany(ROWS_AT_ONCE):
            yield from rows

"""Rows on their way in: COPY into a temporary table, from which set-wise SQL takes them.

Measured (bench/ingest.py): some twenty times the rows a second of the ORM's bulk_create. Text for
COPY can be written where the rows are made, a process away; here it is only passed on.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice

from django.db.backends.utils import CursorWrapper

__all__ = ["IDENTITY", "INCOMING", "IN_SCOPE", "CursorWrapper", "copy_text", "stage", "stage_text"]

# An offer o in one of the regions that a list speaks for; null: in any.
IN_SCOPE = "(%(scope)s::text[] is null or coalesce(o.region, '') = any(%(scope)s::text[]))"

# The offers of a list, unknown parts of their identity as empty text; `n` is their key order.
IDENTITY = {
    "provider": "text", "via": "text", "name": "text", "region": "text", "tier": "text",
    "price_model": "text",
}  # fmt: skip
INCOMING = {
    "n": "integer",
    **IDENTITY,
    "country": "text",
    "available": "boolean",
    "native_amount": "numeric(20, 8)",
    "native_currency": "text",
    "usd_per_hour": "numeric(18, 8)",
    "usd_rate": "numeric(20, 10)",
    "usd_rate_date": "date",
    "price_note": "text",
    "price_includes": "text",
    "minimum_hours": "double precision",
    "collected_at": "timestamptz",
    "source_url": "text",
    "warnings": "text[]",
    "gpu_candidates": "text[]",
    "place": "text",
}


def stage(
    cursor: CursorWrapper, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """A temporary table `table` of `columns` (name → SQL type) holding `rows`, until the commit."""
    _create(cursor, table, columns)
    with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin") as copy:
        for row in rows:
            copy.write_row(row)
    cursor.execute(f"analyze {table}")


def stage_text(
    cursor: CursorWrapper,
    table: str,
    columns: Mapping[str, str],
    blocks: Iterable[bytes],
    keys: Iterable[str] = (),
) -> None:
    """The same of rows that `copy_text` has written. The planner learns of `keys`, or of all."""
    _create(cursor, table, columns)
    with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin") as copy:
        for block in blocks:
            copy.write(block)
    cursor.execute(f"analyze {table} ({', '.join(keys or columns)})")


def _create(cursor: CursorWrapper, table: str, columns: Mapping[str, str]) -> None:
    defined = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    cursor.execute(f"drop table if exists pg_temp.{table}")
    cursor.execute(f"create temporary table {table} ({defined}) on commit drop")


# --- Text for COPY: https://www.postgresql.org/docs/current/sql-copy.html ---------------------

BLOCK = 2000  # rows


def copy_text(rows: Iterable[Sequence[object]]) -> Iterator[bytes]:
    """Rows as COPY reads them: numbers, times and text, None, and tuples of text as arrays."""
    lines = ("\t".join(map(_cell, row)) + "\n" for row in rows)
    while block := "".join(islice(lines, BLOCK)):
        yield block.encode()


@lru_cache(2**14, typed=True)  # a list says the same words in row after row
def _cell(value: object) -> str:
    if value is None:
        return r"\N"
    if isinstance(value, tuple):
        quoted = (word.replace("\\", r"\\").replace('"', r"\"") for word in value)
        value = "{" + ",".join(f'"{word}"' for word in quoted) + "}"
    text = str(value)
    return text if text.isprintable() and "\\" not in text else text.translate(_ESCAPED)


_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})

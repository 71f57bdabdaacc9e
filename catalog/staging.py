"""Rows on their way in: COPY into a temporary table, from which set-wise SQL takes them.

Measured (bench/ingest.py): some twenty times the rows a second of the ORM's bulk_create.
"""

from collections.abc import Iterable, Mapping, Sequence

from django.db.backends.utils import CursorWrapper

__all__ = ["IN_SCOPE", "CursorWrapper", "stage"]

# An offer o in one of the regions that a list speaks for; null: in any.
IN_SCOPE = "(%(scope)s::text[] is null or coalesce(o.region, '') = any(%(scope)s::text[]))"


def stage(
    cursor: CursorWrapper, table: str, columns: Mapping[str, str], rows: Iterable[Sequence[object]]
) -> None:
    """A temporary table `table` of `columns` (name → SQL type) holding `rows`, until the commit."""
    defined = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    cursor.execute(f"drop table if exists pg_temp.{table}")
    cursor.execute(f"create temporary table {table} ({defined}) on commit drop")
    with cursor.copy(f"copy {table} ({', '.join(columns)}) from stdin") as copy:
        for row in rows:
            copy.write_row(row)
    cursor.execute(f"analyze {table}")

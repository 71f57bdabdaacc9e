"""What must hold after every fault (reference/reliability.md, promise 7 and I5)."""

import hashlib

from django.db import connection

TABLES = ("comparisons_comparison", "comparisons_run", "comparisons_share")


def digest() -> str:
    """sha256 over all comparisons with their notes, all runs and all links, ordered by id."""
    whole = hashlib.sha256()
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"select row_to_json(t)::text from {table} t order by id")  # noqa: S608
            while rows := cursor.fetchmany(100):
                whole.update("\n".join(row for (row,) in rows).encode())
    return whole.hexdigest()

"""Rows a second of the whole arrow and of the ingest, and how many times those of a baseline.

    python -m bench.ingest [ROWS [OFFERS]]

The whole arrow, of 200,000 rows: parse, normalise, gates, ingest, beside a bare COPY and upsert of
the same rows (`bench.arrow`). Then the ingest beside the ORM's own upsert:

20,000 offers of 2,000 types, on a database of its own: inserted, read again unchanged, all prices
changed; first offers and prices alone, then the whole publication with facts, gates and run. The
baseline does the first in the ORM: `bulk_create(update_conflicts)` for the offers, and for their
prices the open ones read, compared in Python, closed and opened.
"""

import importlib
import subprocess
import sys

from bench.service import database

ROWS, OFFERS = 200_000, 20_000


def main() -> None:
    """In a process of its own: Django reads the address of its database once."""
    subprocess.run([sys.executable, "-m", "bench.ingest"], check=True)


if __name__ == "__main__":
    with database():
        rows, offers, *_ = [*map(int, sys.argv[1:]), *(ROWS, OFFERS)[len(sys.argv) - 1 :]]
        importlib.import_module("bench.arrow").table(rows)
        importlib.import_module("bench.ingest_rows").table(offers)

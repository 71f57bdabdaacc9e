"""Rows a second of the ingest, and how many times those of the ORM's own upsert.

    python -m bench.ingest [OFFERS]

20,000 offers of 2,000 types, on a database of its own: inserted, read again unchanged, all prices
changed; first offers and prices alone, then the whole publication with facts, gates and run. The
baseline does the first in the ORM: `bulk_create(update_conflicts)` for the offers, and for their
prices the open ones read, compared in Python, closed and opened.
"""

import importlib
import subprocess
import sys

from bench.service import database

OFFERS = 20_000


def main() -> None:
    """In a process of its own: Django reads the address of its database once."""
    subprocess.run([sys.executable, "-m", "bench.ingest"], check=True)


if __name__ == "__main__":
    with database():
        rows = importlib.import_module("bench.ingest_rows")
        rows.table(int(sys.argv[1]) if len(sys.argv) > 1 else OFFERS)

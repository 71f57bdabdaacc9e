"""What storage and egress cost at a provider, where somebody says: data/extras.csv.

A line of its own beside a price, never a part of it, and unknown (null) where nobody says: 0 is
only what a provider calls free.
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

from catalog.facts import DATA, BadFact, day
from catalog.records import Basis

WHAT = ("storage_usd_per_gb_month", "egress_usd_per_gb")
COLUMNS = ["provider", "what", "usd", "of", "basis", "source", "checked"]
MOST_USD = 10.0  # of a GB: more is a misread unit


def extras(provider: str) -> dict[str, Any]:
    """Dollars per GB-month of storage and per GB of egress, each null where unknown, and who says.

    Storage is shared by instances, as a cluster needs it; egress is to the internet.
    """
    said = _all().get(provider, {})
    known = {name: float(said[name]["usd"]) if name in said else None for name in WHAT}
    return known | {"said": [dict(said[name]) for name in WHAT if name in said]}


@cache
def _all() -> Mapping[str, Mapping[str, Mapping[str, str]]]:
    """Every line by provider and what it is the price of.

    Raises
    ------
    BadFact
        For a line that is not of the form, by its number.
    """
    found: dict[str, dict[str, Mapping[str, str]]] = defaultdict(dict)
    with (DATA / "extras.csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if rows.fieldnames != COLUMNS:
            raise BadFact(f"extras.csv line 1: the columns are {','.join(COLUMNS)}")
        for row in rows:
            fine = row["what"] in WHAT and row["basis"] in list(Basis) and row["source"]
            if not fine or not 0 <= float(row["usd"]) <= MOST_USD:
                raise BadFact(f"extras.csv line {rows.line_num}: is not of the form")
            day(row["checked"])
            found[row["provider"]][row["what"]] = row
    return found

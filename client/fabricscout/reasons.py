"""Why offers are left out of a ranking, as far as one reads it: by reason, the commonest first."""

import re
from collections.abc import Iterable
from typing import TypedDict

from fabricscout.answers import LeftOut

FIGURE = re.compile(r"\d[\d,.]*")


class Reason(TypedDict):
    """One reason: how many offers it keeps out, and what is said of the first of them."""

    count: int
    reason: str
    for_example: str


def reasons(left_out: Iterable[LeftOut]) -> list[Reason]:
    """Each reason once, whatever figures it has of each offer."""
    found: dict[str, Reason] = {}
    for each in left_out:
        offer, why = each["offer"], each["reason"]
        first = f"{offer['provider']}/{offer['instance_type']}"
        new: Reason = {"count": 0, "reason": why, "for_example": first}
        found.setdefault(FIGURE.sub("", why), new)["count"] += 1
    return sorted(found.values(), key=lambda reason: -reason["count"])

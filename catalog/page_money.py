"""The money of a page: what `currency` of its address asks for, and the links to the others."""

from datetime import datetime
from functools import lru_cache
from typing import Any

from django.http import QueryDict

from catalog.currency import Money, in_currency, known
from catalog.models import CatalogVersion
from catalog.presets import State, link, state
from catalog.query import Reading

DOLLARS = Money()


def header(
    path: str, now: State, money: Money, *, stamp: str = "", usual: Money = DOLLARS
) -> dict[str, Any]:
    """What the frame says of a page: its money, the same page in each other currency that has a
    rate, and the catalog that it is of.
    """
    stamp = stamp or CatalogVersion.stamp()
    links = [
        (code, link(path, now, currency=None if code == usual.code else code))
        for code in codes(stamp)
        if code != money.code
    ]
    return {"stamp": stamp, "money": money, "currencies": links}


@lru_cache(maxsize=1)
def codes(_stamp: str) -> list[str]:
    """The currencies that have a rate, until the catalog changes."""
    return known()


def of_page(
    given: QueryDict, path: str, at: datetime | None = None, usual: Money = DOLLARS
) -> dict[str, Any]:
    """What a page that reads no other parameter shows: its money, the others, what was wrong.

    A currency is at its newest rate, or at that of the time that the page is of; without one the
    page is in its usual money.
    """
    now, money, problems = state(given), usual, list[dict[str, str]]()
    reading = Reading(given)
    asked = reading.one("currency", in_currency(at))
    if "currency" in reading.wrong:
        problems.append(
            {
                "parameter": "currency",
                "text": now.pop("currency", "")[:80],
                "must_be": " ".join(reading.wrong["currency"]),
                "href": link(path, now),
            }
        )
    elif "currency" in now:
        money = Money(asked)
    return {**header(path, now, money, usual=usual), "problems": problems}

"""How old is too old: the one table of limits (DESIGN 4). No Django here.

The SQL of the listing is made from it, and the providers page shows it. Ages are of the data, not
of the attempt to fetch it, and go by the database's clock.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from catalog.records import PriceModel


@dataclass(frozen=True, slots=True)
class Limit:
    """When an offer is marked stale, and when it is no longer ranked by price beside fresher."""

    stale: timedelta
    outdated: timedelta


LIMITS: dict[PriceModel, Limit] = {
    PriceModel.ON_DEMAND: Limit(timedelta(days=3), timedelta(days=45)),
    PriceModel.SPOT: Limit(timedelta(hours=6), timedelta(hours=24)),
    PriceModel.RESERVED_1M: Limit(timedelta(days=30), timedelta(days=45)),
    PriceModel.RESERVED_1Y: Limit(timedelta(days=30), timedelta(days=45)),
    PriceModel.RESERVED_3Y: Limit(timedelta(days=30), timedelta(days=45)),
    PriceModel.CAPACITY_BLOCK: Limit(timedelta(days=30), timedelta(days=45)),
    PriceModel.QUOTE: Limit(timedelta(days=30), timedelta(days=45)),
}
UNPRICED = Limit(timedelta(days=30), timedelta(days=45))  # listed without a price
FACTS = timedelta(days=365)  # interconnect facts
MISSED_INTERVALS = 3  # of a provider that is fetched live; the sooner counts


def dated(offers: Iterable[Mapping[str, Any]]) -> str:
    """Which of the prices are too old to rank beside fresh ones: "all", "some", or none of them.

    Where it is some, they stand after all fresh ones, whatever they come to; a list says so.
    """
    ages = {offer["outdated"] for offer in offers if offer["usd_per_gpu_hour"] is not None}
    return ("some" if False in ages else "all") if True in ages else ""

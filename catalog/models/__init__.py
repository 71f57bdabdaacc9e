"""The tables. Rules that must always hold are held by the database itself, not by good manners.

Read in this order: `providers` (who rents, where, in which currency), `hardware` (what is known of
a GPU, an instance type, a fabric), `offers` (what can be rented, at which price, since when),
`runs` (how it came in), `rulings` (what people decided of it), `workloads` (what is estimated).
"""

from catalog.models.hardware import Fabric, Fact, Gpu, InstanceType
from catalog.models.offers import CatalogVersion, Offer, Price
from catalog.models.providers import Country, Provider, Rate, RateReading, ReadingState, Region
from catalog.models.rulings import Alias, AliasKind, Errand, ErrandKind, Ruling, Verdict
from catalog.models.runs import Lease, QuarantinedRow, RawPayload, RunPayload, RunState, ScrapeRun
from catalog.models.workloads import Answer, Estimate, Workload

__all__ = [
    "Alias",
    "AliasKind",
    "Answer",
    "CatalogVersion",
    "Country",
    "Errand",
    "ErrandKind",
    "Estimate",
    "Fabric",
    "Fact",
    "Gpu",
    "InstanceType",
    "Lease",
    "Offer",
    "Price",
    "Provider",
    "QuarantinedRow",
    "Rate",
    "RateReading",
    "RawPayload",
    "ReadingState",
    "Region",
    "Ruling",
    "RunPayload",
    "RunState",
    "ScrapeRun",
    "Verdict",
    "Workload",
]

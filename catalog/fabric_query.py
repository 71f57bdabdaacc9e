"""A question to the fabrics, read from a query string: one reading for the page and the API."""

import re
from dataclasses import dataclass
from decimal import Decimal

from django.http import QueryDict

from catalog.query import (
    CONTINENTS,
    PAGE_SIZE,
    Reading,
    country,
    gpu,
    number,
    one_of,
    provider,
    slug,
    truth,
    words_of_a_cursor,
)
from catalog.records import FabricKind

# What may be unknown of a fabric, and the filter that asks for it.
UNKNOWABLE = {
    "gpu": "gpu",
    "gpus_min": "gpus_min",
    "max_gpus": "gpus_min",
    "fabric_gbits_per_s_per_gpu_min": "fabric_gbits_per_s_per_gpu_min",
    "fabric_gbits_per_s_per_gpu": "fabric_gbits_per_s_per_gpu_min",
    "gbits_per_s_per_gpu": "fabric_gbits_per_s_per_gpu_min",
    "region": "region",
    "country": "country",
    "continent": "continent",
}
PLACE = ("region", "country", "continent")


@dataclass(frozen=True, slots=True)
class FabricQuery:
    """A checked question; empty where nothing is asked."""

    gpu: tuple[str, ...] = ()
    technology: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    region: tuple[str, ...] = ()
    country: tuple[str, ...] = ()
    continent: tuple[str, ...] = ()
    infiniband: bool | None = None
    gpus_min: int | None = None
    fabric_gbits_per_s_per_gpu_min: Decimal | None = None
    include_unknown: frozenset[str] = frozenset()  # names of filters
    page_size: int = PAGE_SIZE
    cursor: str = ""
    count: bool = False

    @property
    def identity(self) -> str:
        """What makes two pages pages of one list."""
        asked = {name: getattr(self, name) for name in FILTERS}
        return f"fabrics {asked} {sorted(self.include_unknown)}"


FILTERS = (
    "provider", "gpu", "gpus_min", "fabric_gbits_per_s_per_gpu_min", "technology", "infiniband",
    *PLACE,
)  # fmt: skip


def parse(query: QueryDict) -> FabricQuery:
    """The query string as a checked question.

    Raises
    ------
    BadQuery
        Naming every parameter that is unknown, repeated or not of its form.
    """
    reading = Reading(query)
    speed = reading.one("fabric_gbits_per_s_per_gpu_min", number)
    asked = FabricQuery(
        gpu=reading.many("gpu", gpu),
        technology=reading.many("technology", one_of(FabricKind)),
        provider=reading.many("provider", provider),
        region=reading.many("region", slug),
        country=reading.many("country", country),
        continent=reading.many("continent", one_of(CONTINENTS)),
        infiniband=reading.one("infiniband", truth),
        gpus_min=reading.one("gpus_min", whole),
        fabric_gbits_per_s_per_gpu_min=None if speed is None else Decimal(speed),
        include_unknown=frozenset(
            UNKNOWABLE[name] for name in reading.many("include_unknown", one_of(UNKNOWABLE))
        ),
        page_size=reading.page_size(),
        cursor=reading.one("cursor", words_of_a_cursor) or "",
        count=reading.one("count", truth) or False,
    )
    reading.finish(())
    return asked


def whole(text: str) -> int:
    """A number of GPUs."""
    if not re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII):
        raise ValueError("must be a whole number from 1 to 9999999.")
    return int(text)

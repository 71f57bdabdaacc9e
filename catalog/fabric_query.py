"""A question to the fabrics, read from a query string: one reading for the page and the API."""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.http import QueryDict

from catalog.currency import Currency, in_currency
from catalog.query import (
    CONTINENTS,
    PAGE_SIZE,
    Format,
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
Key = list[Any]  # what a fabric is sorted by: each value after whether it is unknown
KEYS = (
    "slug", "provider", "provider_title", "region", "regions", "technology", "generation", "gpu",
    "gbits_per_s_per_gpu", "max_gpus", "demonstrated_gpus", "multi_node", "how", "instance_types",
    "nodes", "gangs", "lowest_on_demand", "disputed", "unknown", "evidence", "source", "checked",
)  # fmt: skip
# The lowest on-demand price leads; the others are keys of a row.
SORTS = (
    "usd_per_gpu_hour", "gbits_per_s_per_gpu", "max_gpus", "demonstrated_gpus", "provider",
    "technology", "slug",
)  # fmt: skip


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
    sort: tuple[tuple[str, bool], ...] = ((SORTS[0], False),)  # (field, descending)
    fields: tuple[str, ...] = KEYS
    format: Format = Format.JSON
    whole: bool = False
    currency: Currency | None = None  # besides the dollar

    @property
    def identity(self) -> str:
        """What makes two pages pages of one list."""
        asked = {name: getattr(self, name) for name in FILTERS}
        return f"fabrics {asked} {sorted(self.include_unknown)} {self.sort}"


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
    all_of_it = reading.asks_for_all()
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
        page_size=PAGE_SIZE if all_of_it else reading.page_size(),
        whole=all_of_it,
        sort=reading.sort(SORTS) or ((SORTS[0], False),),
        fields=reading.many("fields", one_of(KEYS)) or KEYS,
        format=Format(reading.one("format", one_of(Format)) or Format.JSON),
        cursor=reading.one("cursor", words_of_a_cursor) or "",
        count=reading.one("count", truth) or False,
        currency=reading.one("currency", in_currency()),
    )
    reading.finish(())
    return asked


def whole(text: str) -> int:
    """A number of GPUs."""
    if not re.fullmatch(r"[1-9]\d{0,6}", text, re.ASCII):
        raise ValueError("must be a whole number from 1 to 9999999.")
    return int(text)


# --- Their order ------------------------------------------------------------------------------


def order(query: FabricQuery, key: Key) -> tuple[Any, ...]:
    """A key as it is compared: the unknown last both ways, and a price too old after fresher."""
    unsure, *values, slug = key
    parts = iter(values)
    found = [unsure]
    for name, down in query.sort:
        found.append(next(parts))
        if name == "usd_per_gpu_hour":
            found += [next(parts), _Turned.round(Decimal(next(parts)), down)]
        else:
            found.append(_Turned.round(next(parts), down))
    return (*found, slug)


class _Turned:
    """A value whose order is turned round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @classmethod
    def round(cls, value: Any, down: bool) -> Any:
        return cls(value) if down else value

    def __lt__(self, other: "_Turned") -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turned) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]

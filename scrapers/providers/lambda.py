"""Lambda: on-demand instances, from its public cloud API.

API: GET https://cloud.lambda.ai/api/v1/instance-types (needs an API key)
     https://docs.lambda.ai/api/cloud#list-available-instance-types (read 2026-11-29)

- Prices are US cents an hour, of the instance, and the same in every region. No spot market.
- A region is named only while it has capacity: the price stands without any, and besides once
  for each region that has the type now.
- `memory_gib` is GiB. The GPU's words hold its form and memory: "H100 (80 GB SXM5)".
- 1-Click Clusters (InfiniBand) are not in this list.
"""
# ruff: noqa: N999 -- the file has the provider's name

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial
from os import environ

from catalog.records import PriceModel
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
from scrapers.listing import (
    Document,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    key_of,
)

TYPES = "https://cloud.lambda.ai/api/v1/instance-types"
PROVIDER = Provider(
    slug="lambda",
    title="Lambda",
    homepage="https://lambda.ai/",
    source=TYPES,
    refresh=timedelta(hours=1),
    credentials=("LAMBDA_API_KEY",),
    home="US",
)
NO_PRICE = "no price in this document"
# https://docs.lambda.ai/public-cloud/on-demand/#regions (read 2026-11-29); all others are us-
COUNTRIES = {
    "asia-northeast-1": "JP",
    "asia-northeast-2": "JP",
    "asia-south-1": "IN",
    "australia-east-1": "AU",
    "europe-central-1": "DE",
    "europe-south-1": "IT",
    "me-west-1": "IL",
}


def fetch(http: Http) -> Iterator[Document]:
    """Every type, with where it is to be had now."""
    (key,) = key_of(PROVIDER, environ)
    yield http.get(TYPES, {"Authorization": f"Bearer {key}"})


def parse(documents: Sequence[Document]) -> Parsed:
    """Each type once at its price, and once for each region with capacity."""
    for document in documents:
        page = Row(document.json(), "")
        try:
            data = page.row("data")
            if data is None:
                raise Unreadable('the answer has no "data"')
            rows = [Row(data.get(name), f"data.{name}") for name in data.fields]
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        yield from each(rows, partial(_read, document=document))


def _read(row: Row, *, document: Document) -> Iterator[Listing | Ignored]:
    kind = row.row("instance_type")
    if kind is None:
        row.fail("instance_type", "is missing")
    specs = kind.row("specs")
    count = specs.number("gpus") if specs else None
    if count == 0:
        yield Ignored("no GPU type")
        return
    regions = [region.need_text("name") for region in row.rows("regions_with_capacity_available")]
    listing = partial(_listing, row, document, kind, specs, count)
    yield listing(None, bool(regions) if row.get(REGIONS) is not None else None)
    for region in regions:
        yield listing(region, True)


REGIONS = "regions_with_capacity_available"
_COUNTED = re.compile(r"([0-9]{1,3})x ")


def _listing(
    row: Row,
    document: Document,
    kind: Row,
    specs: Row | None,
    count: Decimal | None,
    region: str | None,
    available: bool | None,
) -> Listing:
    counted = _COUNTED.match(kind.text("description") or "")  # "16x H100 (80 GB SXM5)"
    if counted and count is not None and int(counted[1]) != count:
        kind.fail("description", f"says {counted[1]} GPUs and specs.gpus {count}")
    ram = specs.number("memory_gib") if specs else None
    disk = specs.number("storage_gib") if specs else None
    cents = kind.number("price_cents_per_hour")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=kind.need_text("name"),
        price_model=PriceModel.ON_DEMAND,
        region=region,
        country=_country(region),
        available=available,
        gpu=kind.text("gpu_description")
        or _COUNTED.sub("", kind.text("description") or "")
        or None,
        gpu_count=Decimal(counted[1]) if count is None and counted else count,
        vcpus=specs.number("vcpus") if specs else None,
        ram=(ram, "GiB") if ram else None,
        price=None if cents is None else Price(cents / 100),
        price_note=NO_PRICE if cents is None else None,
        price_includes=f"{disk} GiB of local storage" if disk else None,
        row=row,
    )


def _country(region: str | None) -> str | None:
    return "US" if (region or "").startswith("us-") else COUNTRIES.get(region or "")

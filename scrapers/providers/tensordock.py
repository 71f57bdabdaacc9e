"""TensorDock: a market of hosts' GPUs, sized as one likes, from its API.

API: GET https://dashboard.tensordock.com/api/v2/locations
     https://dashboard.tensordock.com/api/docs/fetch-hostnodes (read 2026-11-29)

- `price_per_hr` is for one GPU alone; vCPUs, RAM and disk are `pricing` beside it, for a unit and
  hour. We compare with 8 vCPUs and 32 GB of RAM a GPU and 100 GB of disk, the least that is let;
  where `pricing` is not given, the GPUs alone are priced, and that is said.
- `max_count` is how many can be had in one machine now, and often stale. Sizes are 1, 2, 4, 8 and
  the most.
- `data` may be an object with locations, or their list.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel, Rejected
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

LOCATIONS = "https://dashboard.tensordock.com/api/v2/locations"
PROVIDER = Provider(
    slug="tensordock",
    title="TensorDock",
    homepage="https://www.tensordock.com/",
    source=LOCATIONS,
    refresh=timedelta(hours=2),
    credentials=("TENSORDOCK_API_KEY",),
    home="US",
    market=True,
)
VCPUS, RAM_GB = Decimal(8), Decimal(32)  # a GPU
DISK_GB = Decimal(100)
MOST_GPUS = 64
STALE = "the market's own count of free GPUs, which is often stale"
ALONE = "the GPUs alone: vCPUs, RAM and disk cost extra, and are not in the listing"
COUNTRIES = {
    "australia": "AU", "austria": "AT", "belgium": "BE", "brazil": "BR", "bulgaria": "BG",
    "canada": "CA", "czechia": "CZ", "czech republic": "CZ", "denmark": "DK", "estonia": "EE",
    "finland": "FI", "france": "FR", "germany": "DE", "hungary": "HU", "iceland": "IS",
    "india": "IN", "ireland": "IE", "israel": "IL", "italy": "IT", "japan": "JP", "latvia": "LV",
    "lithuania": "LT", "malaysia": "MY", "mexico": "MX", "netherlands": "NL",
    "the netherlands": "NL", "new zealand": "NZ", "norway": "NO", "poland": "PL",
    "portugal": "PT", "romania": "RO", "singapore": "SG", "slovakia": "SK", "slovenia": "SI",
    "south africa": "ZA", "south korea": "KR", "spain": "ES", "sweden": "SE", "switzerland": "CH",
    "taiwan": "TW", "thailand": "TH", "turkey": "TR", "ukraine": "UA",
    "united arab emirates": "AE", "united kingdom": "GB", "united states": "US", "vietnam": "VN",
}  # fmt: skip


def fetch(http: Http) -> Iterator[Document]:
    """Every location: one answer."""
    (key,) = key_of(PROVIDER, os.environ)
    yield http.get(LOCATIONS, {"Authorization": f"Bearer {key}"})


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each GPU of each location, in the sizes that can be had."""
    for document in documents:
        rows = _locations(document)
        hosts = {(_place(row), str(row.fields.get("id"))) for row in rows if _place(row)}
        shared = Counter(place for place, _ in hosts)
        yield from each(rows, partial(_location, document=document, shared=shared))


def _locations(document: Document) -> list[Row]:
    page = Row(document.json(), "")
    try:
        data = page.get("data")
        if isinstance(data, list):
            return page.rows("data")
        inner = page.row("data") if "data" in page.fields else page
        if inner is None or "locations" not in inner.fields:
            raise Unreadable('the answer has no "locations"')
        return inner.rows("locations")
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _place(row: Row) -> str | None:
    """ "Chubbuck Idaho tier 1": several hosts may be there. Unreadable ones are rejected later."""
    try:
        return f"{_region(row)} {row.get('tier')}"
    except BadField:
        return None


def _region(row: Row) -> str | None:
    words = (row.text("city"), row.text("stateprovince") or row.text("country"))
    return " ".join(word for word in words if word) or None


def _location(
    row: Row, document: Document, shared: Counter[str | None]
) -> Iterator[Listing | Rejected | Ignored]:
    """A host's GPUs; its id stands beside the place where another host is there too."""
    region = _region(row)
    if shared[_place(row)] > 1:
        region = f"{region or 'unknown'} {row.need_text('id')[:8]}"
    country = row.text("country") or ""
    code = country if len(country) == 2 and country.isupper() else COUNTRIES.get(country.lower())
    tier = row.number("tier")
    gpus = row.rows("gpus")
    if not gpus:
        yield Ignored("a location without GPUs")
    there = partial(
        _gpu,
        document=document,
        region=region,
        country=code,
        tier=None if tier is None else f"tier {tier}",
    )
    yield from each(gpus, there)


def _gpu(
    gpu: Row, *, document: Document, region: str | None, country: str | None, tier: str | None
) -> Iterator[Listing]:
    """One kind of GPU of a host, in the sizes that can be had."""
    for count, available in _sizes(gpu):
        yield _listing(
            gpu,
            document,
            region=region,
            country=country,
            tier=tier,
            count=count,
            available=available,
        )


def _sizes(gpu: Row) -> list[tuple[int, bool]]:
    """1, 2, 4, 8 and the most that can be had; one that cannot, where none can."""
    most = gpu.need_number("max_count")
    if most < 0 or most != int(most) or most > MOST_GPUS:
        gpu.fail("max_count", f"{most} is not a number of GPUs")
    counts = {count for count in (1, 2, 4, 8, int(most)) if 0 < count <= most}
    return [(count, True) for count in sorted(counts)] or [(1, False)]


def _listing(
    gpu: Row,
    document: Document,
    *,
    region: str | None,
    country: str | None,
    tier: str | None,
    count: int,
    available: bool,
) -> Listing:
    words = gpu.text("displayName") or gpu.need_text("v0Name")
    amount, includes = _amount(gpu, Decimal(count))
    return Listing(
        where=gpu.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=f"{count}x {gpu.text('v0Name') or words}",
        price_model=PriceModel.ON_DEMAND,
        region=region,
        country=country,
        tier=tier,
        available=available,
        gpu=words,
        gpu_count=Decimal(count),
        price=Price(amount) if amount else None,
        price_note=None if amount else "no price in the list",
        price_includes=includes,
        warnings=(STALE,),
        row=gpu,
    )


def _amount(gpu: Row, count: Decimal) -> tuple[Decimal | None, str]:
    """GPUs, and the host's parts where they are priced; and what that includes."""
    each_gpu, pricing = gpu.number("price_per_hr"), gpu.row("pricing")
    if not each_gpu:
        return None, ALONE
    if pricing is None:
        return count * each_gpu, ALONE
    vcpus, ram = count * VCPUS, count * RAM_GB
    parts = (
        vcpus * pricing.need_number("per_vcpu_hr"),
        ram * pricing.need_number("per_gb_ram_hr"),
        DISK_GB * pricing.need_number("per_gb_storage_hr"),
    )
    if min(parts) < 0:
        pricing.fail("per_vcpu_hr", "or a price beside it is below 0")
    said = f"{count} GPUs with {vcpus} vCPUs, {ram} GB of RAM and {DISK_GB} GB of disk"
    return count * each_gpu + sum(parts), said

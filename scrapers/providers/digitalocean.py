"""DigitalOcean: GPU Droplets, from its public API.

API: GET https://api.digitalocean.com/v2/sizes
     https://docs.digitalocean.com/reference/api/reference/droplet-sizes/ (read 2026-11-29)

- `price_hourly` is for the whole Droplet, in US dollars; it is paid while the Droplet is off, too.
- `gpu_info.vram` is that of all its GPUs together; memory is in MiB.
- `regions` are those that have the size now: with none it is sold out.
- Sizes that end with "-contracted" are had by a contract of a year, those with "-200" (a small
  disk) by contract as well: neither is for anyone to start now.
- "nvidia_h100" says no form; eight of them are an SXM board, by the documentation.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, PriceModel
from scrapers.fields import BadField, Row, each
from scrapers.http import Http, counted
from scrapers.listing import (
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    key_of,
    rows_of,
)

SIZES = "https://api.digitalocean.com/v2/sizes"
PROVIDER = Provider(
    slug="digitalocean",
    title="DigitalOcean",
    homepage="https://www.digitalocean.com/",
    source=SIZES,
    refresh=timedelta(hours=6),
    credentials=("DIGITALOCEAN_TOKEN",),
    home="US",
)
PAGE, MOST_PAGES = 200, 50
# https://docs.digitalocean.com/platform/regional-availability/ (read 2026-11-29)
COUNTRIES = {
    "ams": "NL", "atl": "US", "blr": "IN", "fra": "DE", "lon": "GB", "nyc": "US", "ric": "US",
    "sfo": "US", "sgp": "SG", "syd": "AU", "tor": "CA",
}  # fmt: skip
UNITS = {"gib": "GiB", "mib": "MiB", "gb": "GB"}
BOARD = (
    "rule: Fabric Manager runs on NVSwitch boards, which carry SXM GPUs; "
    "https://docs.digitalocean.com/products/droplets/getting-started/recommended-gpu-setup/"
)
INCLUDES = "the Droplet with its boot and scratch disks and transfer allowance"
UNPRICED = "no hourly price in the list"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every page of the sizes, counted against their total."""
    (token,) = key_of(PROVIDER, os.environ)
    headers = {"Authorization": f"Bearer {token}"}
    pages = (f"{SIZES}?per_page={PAGE}&page={n}" for n in range(1, MOST_PAGES + 1))
    yield from counted((http.get(url, headers) for url in pages), _counted)


def _counted(document: Document) -> tuple[int, int]:
    page = Row(document.json(), "")
    try:
        meta = page.row("meta") or page.fail("meta", "is missing")
        return len(page.rows("sizes")), int(meta.need_number("total"))
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each size with GPUs in each region that has it."""
    for document in documents:
        rows = rows_of(document, "sizes")
        yield from each(rows, partial(_size, document=document))


def _size(row: Row, document: Document) -> Iterator[Listing | Ignored]:
    gpu = row.row("gpu_info")
    if gpu is None:
        yield Ignored("no GPU")
        return
    regions: list[str | None] = [*row.texts("regions")]
    for region in regions or [None]:
        yield _listing(row, gpu, document, region)


def _listing(row: Row, gpu: Row, document: Document, region: str | None) -> Listing:
    name, count = row.need_text("slug"), gpu.need_number("count")
    if count < 1 or count != int(count):
        gpu.fail("count", f"{count} is not a number of GPUs")
    words, by_rule = _words(gpu, count)
    total, amount, ram = _vram(gpu), row.number("price_hourly"), row.number("memory")
    model, terms = _terms(name)
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=model,
        region=region,
        country=COUNTRIES.get(region[:3]) if region else None,
        available=row.flag("available") is not False and region is not None,
        gpu=words,
        gpu_count=count,
        gpu_memory=(total[0] / count, total[1]) if total else None,
        total_gpu_memory=total,
        vcpus=row.number("vcpus"),
        ram=(ram, "MiB") if ram else None,
        price=Price(amount) if amount else None,  # 0 and null: not sold so
        price_note=terms if amount else UNPRICED,
        price_includes=INCLUDES,
        evidence=by_rule,
        row=row,
    )


def _words(gpu: Row, count: Decimal) -> tuple[str, Mapping[str, Evidence]]:
    """ "nvidia_h100" with the form that eight of them have."""
    words = gpu.need_text("model").replace("_", " ")
    if count == 8 and words.lower() in ("nvidia h100", "nvidia h200"):
        return f"{words} SXM", {"gpu": Evidence(Basis.DERIVED, BOARD)}
    return words, {}


def _vram(gpu: Row) -> tuple[Decimal, str] | None:
    vram = gpu.row("vram")
    amount = vram.number("amount") if vram else None
    if vram is None or not amount:
        return None
    unit = vram.need_text("unit")
    return amount, UNITS.get(unit, unit)


def _terms(name: str) -> tuple[PriceModel, str | None]:
    """How a size is sold, by the end of its name."""
    if name.endswith("-contracted"):
        return PriceModel.RESERVED_1Y, "by contract; 12 months by the price page"
    if name.endswith("-200"):
        return PriceModel.ON_DEMAND, "a size with a small disk, sold by contract"
    return PriceModel.ON_DEMAND, None

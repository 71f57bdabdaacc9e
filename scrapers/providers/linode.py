"""Linode (Akamai Cloud): GPU plans, from its public API.

Types:   GET https://api.linode.com/v4/linode/types
Regions: GET https://api.linode.com/v4/regions
Stock:   GET https://api.linode.com/v4/regions/availability
         https://techdocs.akamai.com/linode-api/reference/get-linode-types (read 2026-11-29)

- `price.hourly` holds where `region_prices` has no own; 0 and null are "not sold so" there, as
  for plans that only some accounts may see.
- No field names the GPU: the id does ("g2-gpu-rtx4000a1-s"), and our table reads it. "rtx6000" of
  the g1 plans is the Quadro of Turing, by the documentation.
- A region can have GPUs if its capabilities say "GPU Linodes"; which plan, the stock says.
- `memory` is in MiB.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, PriceModel, Rejected
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
)

API = "https://api.linode.com/v4"
TYPES, REGIONS, STOCK = f"{API}/linode/types", f"{API}/regions", f"{API}/regions/availability"
PROVIDER = Provider(
    slug="linode",
    title="Linode",
    homepage="https://www.linode.com/",
    source=TYPES,
    refresh=timedelta(hours=6),
    home="US",
)
PAGE, MOST_PAGES = 500, 50
CAPABLE = "GPU Linodes"
# What an id begins with, after "gpu-": our words for the GPU.
GPUS = {
    "g1-gpu-rtx6000": "Quadro RTX 6000",
    "g2-gpu-rtx4000a": "RTX 4000 Ada",
    "g3-gpu-rtxpro6000": "RTX PRO 6000",
}
RULE = "rule: the id names the GPU; https://techdocs.akamai.com/cloud-computing/docs/gpu-compute-instances"
UNPRICED = "no hourly price in the list"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Types, regions and stock, each to its last page."""
    for url in (TYPES, REGIONS, STOCK):
        yield from _pages(http, url)


def _pages(http: Http, url: str) -> Iterator[Document]:
    read = 0
    for number in range(1, MOST_PAGES + 1):
        document = http.get(f"{url}?page_size={PAGE}&page={number}")
        yield document
        page = Row(document.json(), "")
        try:
            read += len(page.rows("data"))
            pages, results = page.number("pages") or 1, page.number("results")
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        if number >= pages:
            if results is not None and read != results:
                raise FetchFailed(f"{url} has {results} rows, and its pages {read}")
            return
    raise FetchFailed(f"the pages of {url} do not end")


# --- Parse ------------------------------------------------------------------------------------


@dataclass
class _Known:
    """Countries of regions, those that can have GPUs, and the stock by plan and region."""

    countries: dict[str, str] = field(default_factory=dict)
    capable: dict[str, None] = field(default_factory=dict)
    stock: dict[str, dict[str, bool]] = field(default_factory=dict)


def parse(documents: Sequence[Document]) -> Parsed:
    """Each GPU plan in each region that has it, at that region's price."""
    known = _Known()
    pages = [(_rows(document), document) for document in documents]
    types: list[tuple[Row, Document]] = []
    for rows, document in pages:
        kinds = [(_kind(row), row) for row in rows]
        types += [(row, document) for kind, row in kinds if kind == "type"]
        yield from each([r for k, r in kinds if k == "region"], partial(_region, known=known))
        yield from each([r for k, r in kinds if k == "stock"], partial(_stock, known=known))
    for row, document in types:
        yield from each([row], partial(_type, document=document, known=known))


def _rows(document: Document) -> list[Row]:
    page = Row(document.json(), "")
    try:
        if "data" not in page.fields:
            raise Unreadable('the answer has no "data"')
        return page.rows("data")
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _kind(row: Row) -> str:
    """Which of the three lists a row is of."""
    try:
        names = row.fields
    except BadField:
        return "type"  # rejected where it is read
    if "capabilities" in names:
        return "region"
    return "stock" if "plan" in names else "type"


def _region(row: Row, known: _Known) -> Iterator[Rejected]:
    name, country = row.need_text("id"), row.text("country")
    if country:
        known.countries[name] = country.upper()
    if CAPABLE in row.texts("capabilities"):
        known.capable[name] = None
    yield from ()


def _stock(row: Row, known: _Known) -> Iterator[Rejected]:
    available = row.flag("available")
    if available is not None:
        known.stock.setdefault(row.need_text("plan"), {})[row.need_text("region")] = available
    yield from ()


def _type(row: Row, document: Document, known: _Known) -> Iterator[Listing | Ignored]:
    count, name = row.number("gpus"), row.need_text("id")
    if not count:
        yield Ignored("no GPU")
        return
    words = next((words for start, words in GPUS.items() if name.startswith(start)), None)
    if words is None:
        row.fail("id", f"{name[:40]!r} has a GPU that is not in our table")
    prices = _prices(row)
    stock = known.stock.get(name, {})
    places = list(stock) or [*known.capable] or [place for place in prices if place]
    for place in [None, *places] if not (stock or known.capable) else places:
        amount, month = prices.get(place) or prices[None]
        yield _listing(
            row,
            document,
            name=name,
            gpu=(words, count),
            region=place,
            country=_country(place, known.countries),
            available=stock.get(place) if place else None,
            amount=amount,
            month=month,
        )


def _country(region: str | None, countries: Mapping[str, str]) -> str | None:
    """Of the list of regions, else of the name: "us-ord", "de-fra-2"."""
    if region is None or region in countries:
        return countries.get(region or "")
    return region[:2].upper() if re.match(r"[a-z]{2}-", region) else None


Priced = tuple[Decimal | None, Decimal | None]  # an hour, and a month


def _prices(row: Row) -> dict[str | None, Priced]:
    """By region; None: everywhere else."""
    base = row.row("price")
    prices: dict[str | None, Priced] = {None: _priced(base) if base else (None, None)}
    for own in row.rows("region_prices"):
        prices[own.need_text("id")] = _priced(own)
    return prices


def _priced(price: Row) -> Priced:
    return price.number("hourly") or None, price.number("monthly") or None


def _listing(
    row: Row,
    document: Document,
    *,
    name: str,
    gpu: tuple[str, Decimal],
    region: str | None,
    country: str | None,
    available: bool | None,
    amount: Decimal | None,
    month: Decimal | None,
) -> Listing:
    ram = row.number("memory")
    monthly = f"; by the month it is {month}" if month else ""
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=PriceModel.ON_DEMAND,
        region=region,
        country=country,
        available=available,
        gpu=gpu[0],
        gpu_count=gpu[1],
        vcpus=row.number("vcpus"),
        ram=(ram, "MiB") if ram else None,
        price=Price(amount) if amount else None,
        price_note=None if amount else UNPRICED,
        price_includes=f"the plan with its disk and transfer allowance{monthly}",
        evidence={"gpu": Evidence(Basis.DERIVED, RULE)},
        row=row,
    )

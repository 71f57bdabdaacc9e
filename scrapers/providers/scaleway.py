"""Scaleway: GPU instances in Paris, Amsterdam, Warsaw and Milan, from its public APIs.

Prices:       GET https://api.scaleway.com/product-catalog/v2alpha1/public-catalog/products
              https://www.scaleway.com/en/developers/api/product-catalog/public-catalog
Types, stock: GET https://api.scaleway.com/instance/v1/zones/{zone}/products/servers
              GET ... /products/servers/availability
              https://www.scaleway.com/en/developers/api/instance (all read 2026-11-29)

- Prices are in euro, as units and nanos, per `unit_of_measure`: L4 are sold by the minute, RENDER-S
  and machines without GPUs by the hour.
- The list of servers has its price per hour; memories are in bytes, a GPU's for one GPU.
- `availability` is available, scarce or shortage.
- "H100" alone is the PCIe card, by its documentation; the others say SXM in their names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, PriceModel, Rejected, Value
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    MONTH_HOURS,
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
)

API = "https://api.scaleway.com"
PRODUCTS = f"{API}/product-catalog/v2alpha1/public-catalog/products"
PROVIDER = Provider(
    slug="scaleway",
    title="Scaleway",
    homepage="https://www.scaleway.com/",
    source=PRODUCTS,
    refresh=timedelta(hours=6),
    home="FR",
)
PAGE = 100
MOST_PAGES = 50
ON_SALE = ("public_beta", "preview", "general_availability", "end_of_new_features")
ENDED = {"end_of_deployment", "end_of_support", "end_of_sale", "end_of_life", "retired"}
# How many of a unit are in an hour.
AN_HOUR = {"minute": Decimal(60), "hour": Decimal(1), "month": 1 / MONTH_HOURS}
AVAILABLE = {"available": True, "scarce": True, "shortage": False}
INCLUDES = "the instance; volumes and public addresses are extra"
DOCS = (
    "github:scaleway/docs-content@06dae9d52d:"
    "pages/gpu/reference-content/choosing-gpu-instance-type.mdx"
)


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every instance product; then the types and the stock of each zone that has GPUs."""
    status = "".join(f"&status={word}" for word in ON_SALE)
    zones: set[str] = set()
    read = 0
    for page in range(1, MOST_PAGES + 1):
        document = http.get(
            f"{PRODUCTS}?product_types=instance&page_size={PAGE}&page={page}{status}"
        )
        yield document
        rows, total = _products(document)
        zones |= {zone for row in rows if (zone := _gpu_zone(row))}
        read += len(rows)
        if read >= total or not rows:
            break
    if read != total:
        raise FetchFailed(f"api.scaleway.com has {total} products, and its pages {read}")
    for zone in sorted(zones):
        servers = f"{API}/instance/v1/zones/{zone}/products/servers"
        yield from _pages(http, servers)
        yield from _pages(http, f"{servers}/availability")


def _products(document: Document) -> tuple[list[Row], int]:
    page = Row(document.json(), "")
    try:
        return page.rows("products"), int(page.need_number("total_count"))
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _gpu_zone(row: Row) -> str | None:
    """The zone of a GPU product; what cannot be read here is rejected by `parse`."""
    try:
        return _part(row, "locality").text("zone") if _hardware(row).row("gpu") else None
    except BadField:
        return None


def _pages(http: Http, url: str) -> Iterator[Document]:
    """The pages of a table, to the one that has nothing new: a page may be shorter than asked."""
    seen: set[str] = set()
    for page in range(1, MOST_PAGES + 1):
        document = http.get(f"{url}?per_page={PAGE}&page={page}")
        try:
            table = Row(document.json(), "").row("servers")
            new = set() if table is None else table.fields.keys() - seen
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        if not new and page > 1:
            return
        yield document
        seen |= new
    raise FetchFailed("the pages of api.scaleway.com do not end")


# --- Parse ------------------------------------------------------------------------------------

Place = tuple[str | None, str]  # zone and type


@dataclass
class _Known:
    """What the documents say beside each other."""

    stock: dict[Place, str] = field(default_factory=dict)
    memory: dict[str, Decimal] = field(default_factory=dict)  # of one GPU [B]
    priced: dict[str, set[str | None]] = field(default_factory=dict)  # zones of a type

    def word(self, zone: str | None, name: str) -> str | None:
        return self.stock.get((zone, name)) or self.stock.get((None, name)) or None


def parse(documents: Sequence[Document]) -> Parsed:
    """Products with what the server list knows of them; then servers that no product prices."""
    pages = [(document, *_rows(document)) for document in documents]
    known = _Known()
    for document, _, servers in pages:
        yield from each(servers, partial(_learn, zone=_zone(document), known=known))
    for document, products, _ in pages:
        yield from each(products, partial(_product, document=document, known=known))
    for document, _, servers in pages:
        yield from each(servers, partial(_server, document=document, known=known))


def _rows(document: Document) -> tuple[list[Row], list[Row]]:
    """Products, and rows of a table of servers; either is empty."""
    page = Row(document.json(), "")
    try:
        if not {"products", "servers"} & page.fields.keys():
            raise Unreadable('the answer has neither "products" nor "servers"')
        table = page.row("servers")
        servers = (
            []
            if table is None
            else [Row(value, f"servers.{name}") for name, value in table.fields.items()]
        )
        return page.rows("products"), servers
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _zone(document: Document) -> str | None:
    found = re.search(r"/zones/([a-z]{2}-[a-z]{3}-[0-9])/", document.url)
    return found[1] if found else None


def _name(row: Row) -> str:
    return row.where.removeprefix("servers.")


def _learn(row: Row, zone: str | None, known: _Known) -> Iterator[Rejected]:
    """Fills `known` from a row of a server table."""
    if isinstance(row.fields.get("availability"), str):
        word, place = row.text("availability") or "", (zone, _name(row))
        # two words for one place are of zones that the documents do not name
        known.stock[place] = word if known.stock.get(place, word) == word else ""
    info = row.fields.get("gpu_info")
    memory = info.get("gpu_memory") if isinstance(info, dict) else None
    if isinstance(memory, int) and memory > 0:
        known.memory[_name(row)] = Decimal(memory)
    yield from ()


def _product(row: Row, document: Document, known: _Known) -> Iterator[Listing | Ignored]:
    """A product of the price list."""
    gpu = _hardware(row).row("gpu")
    if gpu is None or gpu.number("count") == 0:
        yield Ignored("no GPU")
        return
    if row.text("status") in ENDED:
        yield Ignored("a product that can no longer be ordered")
        return
    name, zone = row.need_text("product"), _part(row, "locality").text("zone")
    amount, currency, note = _amount(row)
    known.priced.setdefault(name, set()).add(zone)
    cpu, ram = _hardware(row).row("cpu"), _hardware(row).row("ram")
    virtual = cpu.row("virtual") if cpu else None
    network = _hardware(row).row("network")
    yield _listing(
        row,
        document,
        name=name,
        zone=zone,
        known=known,
        gpu=gpu.need_text("type"),
        count=gpu.need_number("count"),
        memory=None,
        vcpus=virtual.number("count") if virtual else None,
        ram=ram.number("size") if ram else None,
        network=network.number("internal_bandwidth") if network else None,
        price=Price(amount, currency),
        note=note,
    )


def _server(row: Row, document: Document, known: _Known) -> Iterator[Listing | Ignored]:
    """A type of the server list, where no product has its price."""
    name, zone = _name(row), _zone(document)
    if reason := _irrelevant(row, zone, name, known):
        yield Ignored(reason)
        return
    info = row.row("gpu_info") or row.fail("gpu_info", "is missing")
    hourly, network = row.number("hourly_price"), row.row("network")
    share, memory = _slice(row)
    yield _listing(
        row,
        document,
        name=name,
        zone=zone,
        known=known,
        gpu=info.need_text("gpu_name"),
        count=row.need_number("gpu") * share,
        memory=memory or info.number("gpu_memory"),
        vcpus=row.number("ncpus"),
        ram=row.number("ram"),
        network=network.number("sum_internal_bandwidth") if network else None,
        price=Price(hourly, "EUR") if hourly else None,  # 0 and null: not sold so
        note=None if hourly else "no price in the list",
    )


def _slice(row: Row) -> tuple[Decimal, Decimal | None]:
    """The share of a GPU, and its memory [B], that a MIG profile is: "3g.40gb" of 7."""
    profile = row.text("mig_profile")
    if profile is None:
        return Decimal(1), None
    found = re.fullmatch(r"([1-7])g\.([0-9]{1,3})gb", profile)
    if found is None:
        row.fail("mig_profile", f"{profile[:40]!r} is not a slice that we know")
    return round(Decimal(found[1]) / 7, 4), Decimal(found[2]) * 10**9


def _irrelevant(row: Row, zone: str | None, name: str, known: _Known) -> str | None:
    """Why a row of a server table is no listing."""
    if "availability" in row.fields:
        return "the stock of a type"
    if not row.number("gpu"):
        return "no GPU"
    if row.flag("end_of_service"):
        return "a product that can no longer be ordered"
    zones = known.priced.get(name, set())
    if zone in zones or (zone is None and zones):
        return "a type whose price is in the catalog"
    return None


def _hardware(row: Row) -> Row:
    return _part(_part(row, "properties"), "hardware")


def _part(row: Row, name: str) -> Row:
    return row.row(name) or Row({}, f"{row.where}.{name}")


def _amount(row: Row) -> tuple[Decimal, str, str | None]:
    """An hour's price, its currency, and the printed figure where that is of another unit."""
    retail, measure = _part(_part(row, "price"), "retail_price"), _part(row, "unit_of_measure")
    amount = (retail.number("units") or 0) + (retail.number("nanos") or 0) / Decimal(10**9)
    unit, size = measure.need_text("unit"), measure.number("size") or Decimal(1)
    if unit not in AN_HOUR or size <= 0:
        measure.fail("unit", f"{size} {unit[:20]!r} is not a time that we know")
    currency = retail.text("currency_code") or "EUR"
    note = None if unit == "hour" else f"printed as {amount} {currency} for {size} {unit}"
    return amount * AN_HOUR[unit] / size, currency, note


def _listing(
    row: Row,
    document: Document,
    *,
    name: str,
    zone: str | None,
    known: _Known,
    gpu: str,
    count: Decimal,
    memory: Decimal | None,
    vcpus: Decimal | None,
    ram: Decimal | None,
    network: Decimal | None,
    price: Price | None,
    note: str | None,
) -> Listing:
    words, by_rule = _words(gpu, name)
    stock = known.word(zone, name)
    size = re.search(r"-([0-9]{2,3})G$", name)  # "H100-SXM-8-80G"
    printed = memory or known.memory.get(name)
    named = (Decimal(size[1]), "GB") if size else None
    links: dict[str, Value] = {"frontend_gbits_per_s": network / 10**9} if network else {}
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=PriceModel.ON_DEMAND,
        region=zone,
        country=zone[:2].upper() if zone else None,
        available=AVAILABLE.get(stock) if stock else None,
        gpu=words,
        gpu_count=count,
        gpu_memory=(printed, "B") if printed else named,
        vcpus=vcpus,
        ram=(ram, "B") if ram else None,
        price=price,
        price_note=note,
        price_includes=INCLUDES,
        said=links,
        evidence=by_rule,
        warnings=() if stock is None else tuple(_stock_warnings(stock)),
        row=row,
    )


def _words(gpu: str, name: str) -> tuple[str, Mapping[str, Evidence]]:
    """The GPU's name with its form: of the instance's name, or of the documentation."""
    if "SXM" in name and "SXM" not in gpu:
        return f"{gpu} SXM", {}
    if gpu == "H100":
        rule = f"rule: an H100 without SXM in its name is the PCIe card; {DOCS}"
        return "H100 PCIe", {"gpu": Evidence(Basis.DERIVED, rule)}
    return gpu, {}


def _stock_warnings(word: str) -> Iterator[str]:
    if word == "scarce":
        yield "stock is scarce"
    elif word not in AVAILABLE:
        yield f"availability {word[:20]!r} is not a word that we know"

"""Microsoft Azure: GPU sizes of Virtual Machines, from the public price list.

Prices: GET https://prices.azure.com/api/retail/prices
        https://learn.microsoft.com/rest/api/cost-management/retail-prices/azure-retail-prices
Sizes:  Resource SKUs, `Microsoft.Compute/skus`, read here where given (it needs an account)
        https://learn.microsoft.com/rest/api/compute/resource-skus/list (both read 2026-11-29)

- One `armSkuName` has rows for Linux, Windows, Spot, Low Priority (retired), Dev/Test, Cloud
  Services and reservations. Ours are Linux, pay-as-you-go, spot and reservations.
- A reservation's price is for its whole term, although the unit says "1 Hour".
- `unitOfMeasure` may be "100 Hours".
- A meter at $0 is a placeholder: the size is not sold that way there.
- Neither list names a GPU or its memory: `azure_sizes` has a table by family. The vCPUs in the
  name tell how many, so a renamed size of a known family still works, and an unknown family
  stays unknown. "GPUs": 1 of the SKU list is said of fractions too.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, FabricKind, PriceModel, Support, Value
from scrapers.azure_sizes import READ, Size, is_other_accelerator, is_rdma_capable, size
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    YEAR_HOURS,
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Partial,
    Price,
    Provider,
    Unreadable,
)
from scrapers.regions import azure_country

PRICES = "https://prices.azure.com/api/retail/prices"
NAMING = "https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"
# N is the letter of GPU families; the list is asked for once, not once a region.
FILTER = "serviceName eq 'Virtual Machines' and contains(armSkuName, 'Standard_N')"
PROVIDER = Provider(
    slug="azure",
    title="Microsoft Azure",
    homepage="https://azure.microsoft.com/",
    source=PRICES,
    refresh=timedelta(hours=12),
    home="US",
)
MOST_PAGES = 1000
ONE_HOUR = {"1 Hour": Decimal(1), "10 Hours": Decimal(10), "100 Hours": Decimal(100)}
TERMS = {
    "1 Year": (PriceModel.RESERVED_1Y, YEAR_HOURS),
    "3 Years": (PriceModel.RESERVED_3Y, 3 * YEAR_HOURS),
}
INCLUDES = "Linux; disks and traffic are extra"
SPOT_NOTE = "list price of spot: the portal may show another"
UNPRICED = "no price in this document"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every page of the price list's N series, to the last."""
    url: str | None = f"{PRICES}?$filter={FILTER.replace(' ', '%20')}"
    asked: set[str] = set()
    while url:
        if url in asked or len(asked) >= MOST_PAGES:
            raise FetchFailed("the pages of prices.azure.com do not end")
        if not url.split("?")[0].replace(":443/", "/").startswith(PRICES):
            raise FetchFailed("prices.azure.com names a next page that is not its own")
        asked.add(url)
        document = http.get(url)
        yield document
        page = Row(document.json(), "")
        try:
            url = page.text("NextPageLink")
            items, count = len(page.rows("Items")), page.number("Count")
        except BadField as problem:
            raise Unreadable(str(problem)) from None
        if count is not None and count != items:
            raise FetchFailed(f"a page says that it has {count} prices and has {items}")


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Prices, with what the SKU list says of each size; then the sizes that have no price."""
    pages = [(_page(document), document) for document in documents]
    skus = list(_skus(pages))
    known = {name: row for row, _, name in skus if name}
    primary = {meter for page, _ in pages for row in page.rows("Items") if (meter := _meter(row))}
    priced: set[tuple[str, str]] = set()
    for page, document in pages:
        read = partial(_priced, document=document, skus=known, priced=priced, primary=primary)
        yield from each(page.rows("Items"), read)
    for row, document, _ in skus:
        yield from each([row], partial(_unpriced, document=document, priced=priced))
    if reason := _gap([page for page, _ in pages if "Items" in page.fields]):
        yield Partial(reason)


def _gap(pages: Sequence[Row]) -> str | None:
    """Why these pages are not the whole price list; None where they are."""
    for page in pages:
        items, count = len(page.rows("Items")), page.fields.get("Count")
        if count is not None and count != items:
            return f"a page says that it has {count} prices and has {items}"
    if pages and pages[-1].fields.get("NextPageLink"):
        return "its last page names a next one"
    return None


def _page(document: Document) -> Row:
    """One page of either list; the SKU list may come without its envelope."""
    value = document.json()
    page = Row({"value": value} if isinstance(value, list) else value, "")
    try:
        if not {"Items", "value"} & page.fields.keys():
            raise Unreadable('the answer has neither "Items" nor "value"')
        page.rows("Items"), page.rows("value")
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None
    return page


def _skus(pages: Sequence[tuple[Row, Document]]) -> Iterator[tuple[Row, Document, str | None]]:
    for page, document in pages:
        for row in page.rows("value"):
            try:
                yield row, document, row.text("name")
            except BadField:  # rejected where it is read as a row
                yield row, document, None


def _meter(row: Row) -> object:
    """What a primary meter sells; None of another meter."""
    try:
        said = [row.text(n) for n in SOLD]
        return tuple(said) if row.flag("isPrimaryMeterRegion") else None
    except BadField:
        return None


SOLD = ("armSkuName", "armRegionName", "productName", "skuName", "type", "reservationTerm")


def _priced(
    row: Row,
    *,
    document: Document,
    skus: Mapping[str, Row],
    priced: set[tuple[str, str]],
    primary: set[object],
) -> Iterator[Listing | Ignored]:
    """A row of the price list."""
    name = (row.text("armSkuName") or "").replace(" ", "_")
    if reason := _irrelevant(row, name):
        yield Ignored(reason)
        return
    if (row.text("effectiveStartDate") or "")[:10] > document.fetched_at.date().isoformat():
        yield Ignored("a price that does not hold yet")
        return
    model, hours, minimum = _terms(row)
    region = row.need_text("armRegionName").lower()
    amount = row.need_number("retailPrice")
    if row.flag("isPrimaryMeterRegion") is False and tuple(row.text(n) for n in SOLD) in primary:
        yield Ignored("a second meter of the same size")
        return
    if amount > 0:  # at 0 it is a placeholder, and rejected
        priced.add((name, region))
    currency = row.text("currencyCode") or "USD"
    yield _listing(
        row,
        document,
        name=name,
        region=region,
        sku=skus.get(name),
        price_model=model,
        price=Price(amount, currency, hours),
        price_includes=INCLUDES,
        price_note=SPOT_NOTE if model is PriceModel.SPOT else None,
        minimum_hours=minimum,
    )


def _irrelevant(row: Row, name: str) -> str | None:
    """Why a row of the price list is none of our business."""
    product, sku = row.text("productName") or "", row.text("skuName") or ""
    meter = f"{sku} {row.text('meterName') or ''}"
    if row.text("serviceName") != "Virtual Machines" or "Cloud Services" in product:
        return "another service than Virtual Machines"
    if row.text("type") == "DevTestConsumption":
        return "a Dev/Test price"
    if not name.startswith("Standard_N"):
        return "no GPU size"
    if is_other_accelerator(name):
        return "an accelerator that is no GPU"
    if product.endswith("Windows"):
        return "a Windows price"
    if "Low Priority" in meter:
        return "a Low Priority price (retired)"
    return None


def _terms(row: Row) -> tuple[PriceModel, Decimal, float | None]:
    """How it is sold, the hours that its price is for, and the fewest that can be bought."""
    kind = row.text("type") or "Consumption"
    if kind == "Reservation":
        term = row.text("reservationTerm") or ""
        if term not in TERMS:
            row.fail("reservationTerm", f"{term!r} is not a term that we know")
        model, hours = TERMS[term]
        return model, hours, float(hours)
    if kind != "Consumption":
        row.fail("type", f"{kind!r} is not a way of selling that we know")
    unit = row.text("unitOfMeasure") or ""
    if unit not in ONE_HOUR:
        row.fail("unitOfMeasure", f"{unit!r} is not a number of hours")
    meter = f"{row.text('skuName') or ''} {row.text('meterName') or ''}"
    return (PriceModel.SPOT if "Spot" in meter else PriceModel.ON_DEMAND), ONE_HOUR[unit], None


def _unpriced(
    row: Row, *, document: Document, priced: set[tuple[str, str]]
) -> Iterator[Listing | Ignored]:
    """A size of the SKU list where no price was seen: listed all the same, without one."""
    if row.text("resourceType") not in ("virtualMachines", None):
        yield Ignored("another resource than a virtual machine")
        return
    name, has = row.need_text("name"), _capabilities(row)
    if not name.startswith("Standard_N") and not has.get("GPUs"):
        yield Ignored("no GPU size")
        return
    if is_other_accelerator(name):
        yield Ignored("an accelerator that is no GPU")
        return
    locations = row.get("locations")
    places: list[str | None] = [None]
    if isinstance(locations, list) and locations:
        places = [str(place).lower() for place in locations]
    for place in places:
        if place and (name, place) in priced:
            yield Ignored("a size whose price is listed")
            continue
        yield _listing(
            row,
            document,
            name=name,
            region=place,
            sku=row,
            price_model=PriceModel.ON_DEMAND,
            price_note=UNPRICED,
        )


def _capabilities(row: Row) -> dict[str, Row]:
    """name → the object that holds its value."""
    return {name: has for has in row.rows("capabilities") if (name := has.text("name"))}


def _listing(
    row: Row,
    document: Document,
    *,
    name: str,
    region: str | None,
    sku: Row | None,
    price_model: PriceModel,
    price: Price | None = None,
    price_note: str | None = None,
    price_includes: str | None = None,
    minimum_hours: float | None = None,
) -> Listing:
    has = _capabilities(sku) if sku is not None else {}
    stated = {key: has[key].written("value") for key in SAID_IN_NUMBERS if key in has}
    found = size(name, stated.get("vCPUs"))
    ram = stated.get("MemoryGB")
    said = _network(name, has)
    links: dict[str, Value] = {"scale_up": found.scale_up} if found and found.scale_up else {}
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=price_model,
        region=region,
        country=azure_country(region),
        gpu=found.gpu if found else None,
        gpu_count=_count(found, stated.get("GPUs")),
        gpu_memory=(found.memory_gb, "GB") if found and found.memory_gb else None,
        vcpus=stated.get("vCPUs"),
        ram=None if ram is None else (ram, "GB"),
        price=price,
        price_note=price_note,
        price_includes=price_includes,
        minimum_hours=minimum_hours,
        said=said | links,
        evidence=_evidence(found) | {key: _by_name(key, has) for key in said},
        warnings=() if found else (f"{name}: a family whose GPU is not in our table",),
        row=row,
    )


SAID_IN_NUMBERS = ("vCPUs", "GPUs", "MemoryGB")


def _count(found: Size | None, stated: Decimal | None) -> Decimal | None:
    """By the table; else as the SKU list says, which counts a fraction as 1."""
    if found and found.gpu_count is not None:
        return found.gpu_count
    return stated if stated and stated > 1 else None


def _evidence(found: Size | None) -> dict[str, Evidence]:
    if found is None:
        return {}
    evidence = Evidence(Basis.DERIVED, f"rule: sizes of the family on {found.source}", READ)
    return dict.fromkeys(("gpu", "gpu_count", "gpu_memory_gb", "scale_up"), evidence)


def _network(name: str, has: Mapping[str, Row]) -> dict[str, Value]:
    """RDMA on Azure is InfiniBand; without it, instances meet over Ethernet."""
    rdma = has["RdmaEnabled"].text("value") if "RdmaEnabled" in has else None
    if rdma is None:
        return {"fabric": FabricKind.INFINIBAND.value} if is_rdma_capable(name) else {}
    if rdma not in ("True", "False"):
        has["RdmaEnabled"].fail("value", f"{rdma[:20]!r} is neither True nor False")
    if rdma == "True":
        return {"rdma": Support.YES.value, "fabric": FabricKind.INFINIBAND.value}
    return {"rdma": Support.NO.value, "fabric": FabricKind.ETHERNET.value}


def _by_name(attribute: str, has: Mapping[str, Row]) -> Evidence:
    if "RdmaEnabled" not in has:
        return Evidence(Basis.DERIVED, f"rule: r in a size's name is RDMA capable ({NAMING})")
    if attribute == "fabric":
        note = "RdmaEnabled: RDMA on Azure is InfiniBand, and without it there is Ethernet alone"
        return Evidence(Basis.DERIVED, f"rule: {note}")
    return Evidence(Basis.DOCUMENTED, "")

"""The shapes in which Amazon gives its price list, each to products with their terms.

A row is `{"product": {"attributes": {...}}, "terms": {"OnDemand": {...}, "Reserved": {...}}}`,
whether it came from index.json, from GetProducts or from a line of index.csv.
"""

import csv
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from catalog.records import PriceModel
from scrapers.fields import Row, Unfit, Unreadable, read_json
from scrapers.http import FetchFailed, TooLarge, lines_of
from scrapers.listing import YEAR_HOURS, Document, Ignored

# --- A region's CSV, while it streams ----------------------------------------------------------

# `...,"g6.xlarge",...` of a row of a P, G or DL family
_GPU_ROW = re.compile(rb'","(?:u-)?(?:p[2-9]|g[3-9]|gr[0-9]|dl1)[a-z0-9-]*\.[a-z0-9-]+"')
HEADER = b'"SKU"'


MOST_KEPT = 64 * 2**20  # [B], of a list however long


def gpu_rows(pieces: Iterable[bytes]) -> bytes:
    """Of a region's CSV: what stands above the rows, and the GPU rows of Linux on shared hosts.

    Raises
    ------
    FetchFailed, TooLarge
        It has no header, or more of these than any region has.
    """
    whole, length, room = hashlib.sha256(), 0, MOST_KEPT
    above: list[bytes] = []
    kept: list[bytes] = []
    for line in lines_of(pieces):
        whole.update(line)
        length += len(line)
        if not above or not above[-1].startswith(HEADER):
            above.append(line)
        elif b'"Linux"' in line and b'"Shared"' in line and _GPU_ROW.search(line):
            kept.append(line)
        else:
            continue
        room -= len(line)
        if room < 0:
            raise TooLarge(f"a region's GPU rows are more than {MOST_KEPT // 2**20} MB")
    if not above or not above[-1].startswith(HEADER):
        raise FetchFailed("a region's price list has no header")
    of_whole = f'"Whole Length","{length}"\n"Whole SHA-256","{whole.hexdigest()}"\n'.encode()
    return b"".join([*above[:-1], of_whole, above[-1], *kept])


# --- The three shapes --------------------------------------------------------------------------


def bulk(page: Row) -> Iterator[Row]:
    """Each product of index.json with its own terms."""
    products, terms = page.row("products"), page.row("terms")
    for sku in products.fields if products else ():
        own = {
            kind: offers.get(sku)
            for kind in (terms.fields if terms else ())
            if terms and isinstance(offers := terms.get(kind), dict)
        }
        yield Row({"product": products.get(sku), "terms": own}, f"products.{sku}")  # type: ignore[union-attr]


def price_list(page: Row) -> Iterator[Row]:
    """GetProducts: each item an object, or JSON in a string."""
    items = page.get("PriceList")
    for n, item in enumerate(items if isinstance(items, list) else ()):
        value = item
        if isinstance(item, str):
            try:
                value = read_json(item.encode())
            except Unreadable as problem:
                value = Unfit(str(problem))
        yield Row(value, f"PriceList[{n}]")


ATTRIBUTE = {
    "Instance Type": "instanceType",
    "Operating System": "operatingSystem",
    "Tenancy": "tenancy",
    "CapacityStatus": "capacitystatus",
    "Pre Installed S/W": "preInstalledSw",
    "License Model": "licenseModel",
    "Region Code": "regionCode",
    "vCPU": "vcpu",
    "Memory": "memory",
    "Network Performance": "networkPerformance",
    "GPU": "gpu",
    "MarketOption": "marketoption",
}


def is_table(document: Document) -> bool:
    return document.body.lstrip(b"\xef\xbb\xbf").startswith((b'"FormatVersion"', HEADER))


def table(document: Document) -> list[Row] | None:
    """The rows of a CSV, in the shape of a product with one term; None where it is no CSV."""
    if not is_table(document):
        return None
    try:
        lines = document.body.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise Unreadable("the table is not UTF-8") from None
    start = next((n for n, line in enumerate(lines) if line.startswith('"SKU"')), None)
    if start is None:
        raise Unreadable("the table has no header")
    header = next(csv.reader([lines[start]]))
    if not {"Instance Type", "TermType", "Unit", "PricePerUnit", "Region Code"} <= set(header):
        raise Unreadable("the table lacks a column that we need")
    return [_tabled(header, line, f"line {n}") for n, line in enumerate(lines, 1) if n > start + 1]


def _tabled(header: Sequence[str], line: str, where: str) -> Row:
    try:
        cells = next(csv.reader([line], strict=True))
        said = dict(zip(header, cells, strict=True))
    except (csv.Error, StopIteration):
        return Row(Unfit("the line is cut short", line), where)
    except ValueError:
        reason = "the line has another number of cells than the header"
        return Row(Unfit(reason, line), where)
    product = {ours: said[theirs] for theirs, ours in ATTRIBUTE.items() if theirs in said}
    dimension = {
        "unit": said["Unit"],
        "pricePerUnit": {said.get("Currency") or "USD": said["PricePerUnit"]},
    }
    term = {
        "priceDimensions": {"row": dimension},
        "termAttributes": {
            "LeaseContractLength": said.get("LeaseContractLength"),
            "PurchaseOption": said.get("PurchaseOption"),
            "OfferingClass": said.get("OfferingClass"),
        },
    }
    return Row(
        {"product": {"attributes": product}, "terms": {said["TermType"]: {"row": term}}}, where
    )


# --- A product's terms -------------------------------------------------------------------------

TERMS = {
    "1yr": (PriceModel.RESERVED_1Y, YEAR_HOURS),
    "3yr": (PriceModel.RESERVED_3Y, 3 * YEAR_HOURS),
}


@dataclass(frozen=True, slots=True)
class Sold:
    """One way of selling: an amount for an hour, and the fewest hours."""

    model: PriceModel
    amount: Decimal
    currency: str
    minimum_hours: float | None


def ways_of_selling(terms: Row) -> Iterator[Sold | Ignored]:
    """Of one product: each rate of each term."""
    for kind in terms.fields:
        offers = terms.row(kind)
        for name in offers.fields if offers else ():
            offer = offers.row(name) if offers else None
            if offer is None:
                continue
            dimensions = offer.row("priceDimensions")
            for code in dimensions.fields if dimensions else ():
                dimension = dimensions.row(code) if dimensions else None
                if dimension is not None:
                    yield _term(kind, offer.row("termAttributes"), dimension)


def _term(kind: str, said: Row | None, dimension: Row) -> Sold | Ignored:
    price = dimension.row("pricePerUnit")
    currency = next(iter(price.fields), "USD") if price else "USD"
    amount = price.written(currency) if price else None
    if amount is None:
        dimension.fail("pricePerUnit", "is missing")
    model, hours = PriceModel.ON_DEMAND, None
    if kind == "Reserved":
        term = (said.text("LeaseContractLength") if said else None) or ""
        plain = said and (said.text("OfferingClass"), said.text("PurchaseOption"))
        if term not in TERMS or plain != ("standard", "No Upfront"):
            return Ignored("another way to pay for a reservation")
        model, hours = TERMS[term]
    elif kind != "OnDemand":
        dimension.fail("", f"{kind[:20]!r} is not a way of selling that we know")
    unit = (dimension.text("unit") or "").lower()
    if unit not in ("hrs", "hours", "hour"):
        dimension.fail("unit", f"{unit[:20]!r} is not an hour")
    return Sold(model, amount, currency, None if hours is None else float(hours))

"""Oracle Cloud Infrastructure: GPU shapes, by the list price of a GPU hour.

Prices: GET https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD
        https://docs.oracle.com/en-us/iaas/Content/Billing/Tasks/signingup_topic-Estimating_Costs.htm
Shapes: the cost estimator's shapes.json, and ListShapes of the Compute API where it is given
        (it needs an account)
        https://docs.oracle.com/en-us/iaas/api/#/en/iaas/latest/Shape/ (all read 2026-11-29)

- "GPU Per Hour" is the price of one GPU: times the GPUs of the shape. One price for all
  commercial regions.
- Licences (NVIDIA AI Enterprise), Cloud@Customer and VMware rows carry the same metric.
- A part's name says a chip, or a generation ("GPU - E3"): SHAPES has which shapes it buys.
- The estimator's memory of a GPU shape is its GPU memory, all of it.
- Preemptible capacity is half the price, where the shape allows it.
- RDMA on Oracle is RoCE v2. `rdmaBandwidthInGbps` is of all ports together: no port of a GPU
  shape is slower than 100 Gb/s, so that a smaller figure is of one port.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, FabricKind, PriceModel, Support, Value
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
from scrapers.quantities import bandwidths

PRODUCTS = "https://apexapps.oracle.com/pls/apex/cetools/api/v1/products/?currencyCode=USD"
ESTIMATOR = "https://www.oracle.com/a/ocom/docs/cloudestimator2/data/shapes.json"
PAGE = "https://docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm"
READ = date(2026, 11, 29)
PROVIDER = Provider(
    slug="oci",
    title="Oracle Cloud Infrastructure",
    homepage="https://www.oracle.com/cloud/",
    source=PRODUCTS,
    refresh=timedelta(hours=24),
    home="US",
)
EVERYWHERE = "one price in all commercial regions"
NO_PRICE = "no price in this document"
HALF = (
    "preemptible: half the on-demand price, as Oracle states it: "
    "https://docs.oracle.com/en-us/iaas/Content/Compute/Concepts/preemptible.htm"
)
INCLUDES = "the shape's CPUs and RAM; disks and traffic are extra"

# What a part's name buys: shape, the GPU's words. (PAGE, and its part numbers)
_SHAPES = """
H100                          | BM.GPU.H100.8                     | H100 SXM5
H200                          | BM.GPU.H200.8                     | H200 SXM5
B200                          | BM.GPU.B200.8                     | B200
B300                          | BM.GPU.B300.8                     | B300
GB200                         | BM.GPU.GB200.4                    | GB200
GB300                         | BM.GPU.GB300.4                    | GB300
MI300X                        | BM.GPU.MI300X.8                   | MI300X
MI355X                        | BM.GPU.MI355X.8                   | MI355X
RTX PRO 6000                  | BM.GPU.RTXPRO.8                   | RTX PRO 6000
L40S                          | BM.GPU.L40S.4                     | L40S
A10                           | BM.GPU.A10.4 VM.GPU.A10.1 VM.GPU.A10.2    | A10
A100 - v2                     | BM.GPU.A100-v2.8                  | A100 SXM4 80GB
E3                            | BM.GPU4.8                         | A100 SXM4 40GB
V2                            | BM.GPU3.8 VM.GPU3.1 VM.GPU3.2 VM.GPU3.4   | V100 16GB
Bare Metal GPU Standard - X7  | BM.GPU2.2                         | P100 16GB
Virtual Machine GPU Standard - X7 | VM.GPU2.1                     | P100 16GB
"""
BUYS = {
    line.split("|")[0].strip(): tuple(line.split("|")[1].split())
    for line in _SHAPES.strip().splitlines()
}
GPU = {
    shape: line.split("|")[2].strip()
    for line in _SHAPES.strip().splitlines()
    for shape in line.split("|")[1].split()
}


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """The whole price list, and the estimator's shapes."""
    for url in (PRODUCTS, ESTIMATOR):
        document = http.get(url)
        yield document
        try:
            if Row(document.json(), "").flag("hasMore"):
                raise FetchFailed(
                    f"{url.split('/')[2]} gives its list in pages, and we know of none"
                )
        except BadField as problem:
            raise Unreadable(str(problem)) from None


# --- Parse ------------------------------------------------------------------------------------


@dataclass(slots=True)
class Found:
    """Shapes by name, each as the documents have it, and those that a price was seen for."""

    shapes: dict[str, list[tuple[Row, Document]]] = field(default_factory=dict)
    priced: set[str] = field(default_factory=set)


def parse(documents: Sequence[Document]) -> Parsed:
    """The parts that are a GPU hour, each as the shapes it buys; then shapes without a price."""
    found = Found()
    parts: list[tuple[Row, Document]] = []
    for document in documents:
        rows, shapes = _rows(document)
        parts.extend((row, document) for row in rows)
        yield from each(shapes, partial(_shape, document=document, found=found))
    for row, document in parts:
        yield from each([row], partial(_part, document=document, found=found))
    for name, said in found.shapes.items():
        if name not in found.priced:
            row, document = said[0]
            yield from each([row], partial(_unpriced, document=document, name=name, found=found))


def _rows(document: Document) -> tuple[list[Row], list[Row]]:
    """Parts and shapes of any of the lists, told apart by their fields."""
    value = document.json()
    page = Row({"items": value} if isinstance(value, list) else value, "")
    try:
        if not {"items", "shape", "data"} & page.fields.keys():
            raise Unreadable('the answer has no "items"')
        rows = page.rows("items") + page.rows("data")
        if isinstance(value, list) and not all(isinstance(item, dict) for item in value[:1]):
            raise Unreadable("the answer is no list of shapes")
        shapes = [shape] if (shape := page.row("shape")) else []
        parts = [row for row in rows if not _is_shape(row)]
        return parts, shapes + [row for row in rows if _is_shape(row)]
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _is_shape(row: Row) -> bool:
    try:
        return bool({"shape", "products", "shapeType"} & row.fields.keys())
    except BadField:
        return False  # rejected where it is read as a part


# --- Prices -----------------------------------------------------------------------------------


def _part(row: Row, *, document: Document, found: Found) -> Iterator[Listing | Ignored]:
    title = row.text("shortDisplayName") or row.need_text("displayName")
    number = row.text("partNumber")
    if reason := _irrelevant(row, title):
        yield Ignored(reason)
        return
    amount, currency = _price(row)
    if amount == 0:
        row.fail("prices", "price 0: a placeholder, or not sold so")
    name = _name(title)
    shapes = _bought(name, number, found)
    if not shapes:
        row.fail("displayName", f"{title[:60]!r}: a GPU hour of no shape that we know")
    for shape in shapes:
        found.priced.add(shape)
        price = Price(amount, currency, per_gpu=True)
        yield _listing(row, document, shape, found, price=price)
        if _flag(shape, found, "allowPreemptible"):
            half = Price(amount / 2, currency, per_gpu=True)
            yield _listing(row, document, shape, found, price=half, model=PriceModel.SPOT)


def _irrelevant(row: Row, title: str) -> str | None:
    metric = row.text("metricName") or row.text("metricDisplayName") or ""
    category = row.text("serviceCategory") or row.text("serviceCategoryDisplayName") or ""
    if metric.lower() != "gpu per hour":
        return "no price of a GPU hour"
    if "AI Enterprise" in title or "licen" in title.lower():
        return "a software licence"
    if "Cloud@Customer" in title or "Cloud@Customer" in category:
        return "hardware at the customer's site"
    if "VMware" in title:
        return "VMware nodes"
    return None


def _price(row: Row) -> tuple[Decimal, str]:
    """What is paid as one goes."""
    places = row.rows("currencyCodeLocalizations") or [row]
    paid = [
        (amount, place.text("currencyCode") or "USD")
        for place in places
        for price in place.rows("prices")
        if price.text("model") == "PAY_AS_YOU_GO" and (amount := price.number("value")) is not None
    ]
    return paid[0] if paid else row.fail("prices", "has none that is paid as one goes")


def _name(title: str) -> str:
    """ "Oracle Cloud Infrastructure - Compute - GPU - H100" → H100; "GPU Standard - V2" → V2."""
    plain = re.sub(r"\s+", " ", title)
    plain = re.sub(r"^(?:Oracle Cloud Infrastructure|OCI) ?- ?", "", plain)
    return re.sub(r"^Compute ?- ?|^GPU(?: Standard)? ?- ?", "", re.sub(r"^Compute ?- ?", "", plain))


def _bought(name: str, number: str | None, found: Found) -> list[str]:
    """Shapes that the part buys: by our table, by the estimator's part numbers, by the chip."""
    chip = re.sub(r"[^a-z0-9]", "", name.lower())
    shapes = list(BUYS.get(name, ()))
    for shape, said in found.shapes.items():
        numbers = {
            product.text("partNumber") for row, _ in said for product in row.rows("products")
        }
        named = re.fullmatch(r"(?:BM|VM)\.GPU\.([A-Za-z0-9]+)\.[0-9]+", shape)
        same = named is not None and named[1].lower() == chip
        if shape not in shapes and (number in numbers or same):
            shapes.append(shape)
    return shapes


# --- Shapes -----------------------------------------------------------------------------------


def _shape(row: Row, *, document: Document, found: Found) -> Iterator[Ignored]:
    """Keep a GPU shape by its name."""
    name = row.text("shape") or row.need_text("name")
    if "GPU" not in name:
        yield Ignored("a shape without a GPU")
    elif row.flag("hidden") or (row.text("status") or "ACTIVE") != "ACTIVE":
        yield Ignored("a shape that is no longer sold")
    else:
        found.shapes.setdefault(name, []).append((row, document))


def _unpriced(row: Row, *, document: Document, name: str, found: Found) -> Iterator[Listing]:
    yield _listing(row, document, name, found)


def _listing(
    row: Row,
    document: Document,
    shape: str,
    found: Found,
    *,
    price: Price | None = None,
    model: PriceModel = PriceModel.ON_DEMAND,
) -> Listing:
    network = _network(shape, found)
    memory = _number(shape, found, "memoryInGBs", "memory_in_gbs")
    words, evidence = _gpu(shape, found)
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=shape,
        price_model=model,
        gpu=words,
        gpu_count=_gpus(shape, found),
        ram=(memory, "GiB") if memory else None,
        price=price,
        price_note=NO_PRICE if price is None else EVERYWHERE,
        price_includes=INCLUDES,
        said={name: value for name, (value, _) in network.items()},
        evidence=evidence | {name: known for name, (_, known) in network.items() if known},
        warnings=(HALF,) if model is PriceModel.SPOT else (),
        row=row,
    )


def _gpus(shape: str, found: Found) -> Decimal | None:
    """As a shape says it, or by the last part of its name: BM.GPU.H100.8."""
    said = _number(shape, found, "gpus", "gpuQty")
    last = shape.rpartition(".")[2]
    return said or (Decimal(last) if last.isdigit() and len(last) <= 2 else None)


def _gpu(shape: str, found: Found) -> tuple[str | None, dict[str, Evidence]]:
    """By our table, which knows the form; else by the shape's own name."""
    rule = Evidence(Basis.DERIVED, f"rule: the GPUs of the shape on {PAGE}", READ)
    evidence = dict.fromkeys(("gpu", "gpu_memory_gb"), rule)
    if _number(shape, found, "gpus", "gpuQty") is None:
        evidence["gpu_count"] = rule
    if shape in GPU:
        return GPU[shape], evidence
    named = re.fullmatch(r"(?:BM|VM)\.GPU\.([A-Za-z0-9]+)(?:-[A-Za-z0-9]+)?\.[0-9]+", shape)
    return (named[1] if named else None), evidence


def _said(shape: str, found: Found) -> Iterator[Row]:
    for row, _ in found.shapes.get(shape, ()):
        yield row


def _number(shape: str, found: Found, *names: str) -> Decimal | None:
    """The first of these fields that a document of the shape has."""
    values = (row.number(name) for row in _said(shape, found) for name in names)
    return next((value for value in values if value), None)


def _flag(shape: str, found: Found, name: str) -> bool:
    return any(row.flag(name) for row in _said(shape, found))


# --- Its network --------------------------------------------------------------------------------

Known = Mapping[str, tuple[Value, Evidence | None]]
ROCE = Evidence(Basis.DERIVED, f"rule: RDMA of Oracle's shapes is RoCE v2 ({PAGE})", READ)
PLAIN = Evidence(
    Basis.DERIVED, f"rule: a shape without RDMA ports has Ethernet alone ({PAGE})", READ
)
SLOWEST_PORT = 100  # [Gb/s]


def _network(shape: str, found: Found) -> Known:
    """From ListShapes, or from the estimator's "1 x 50 Gbps 8 x 200 Gbps RDMA"."""
    for row in _said(shape, found):
        ports = _first(row, "rdmaPorts", "rdma_ports")
        if ports is not None:
            return _listed(row, ports)
        if text := row.text("maxNetworkBandwidth"):
            return _printed(text)
    return {}


def _first(row: Row, *names: str) -> Decimal | None:
    return next((value for name in names if (value := row.number(name)) is not None), None)


def _listed(row: Row, ports: Decimal) -> Known:
    front = _first(row, "networkingBandwidthInGbps", "networking_bandwidth_in_gbps")
    known: dict[str, tuple[Value, Evidence | None]] = {}
    if front:
        known["frontend_gbits_per_s"] = front, None
    if ports == 0:
        return known | {
            "rdma": (Support.NO.value, None),
            "fabric": (FabricKind.ETHERNET.value, PLAIN),
        }
    known |= {"rdma": (Support.YES.value, None), "fabric": (FabricKind.ROCE.value, ROCE)}
    known["fabric_nics"] = int(ports), None
    total = _first(row, "rdmaBandwidthInGbps", "rdma_bandwidth_in_gbps")
    if total:
        one_port = ports > 1 and total / ports < SLOWEST_PORT
        known["fabric_gbits_per_s"] = (total * ports if one_port else total), None
    return known


def _printed(text: str) -> Known:
    """What stands before "RDMA" is the fabric; the rest is the front end."""
    before, rdma, _ = text.partition("RDMA")
    rates = list(bandwidths(before))
    known: dict[str, tuple[Value, Evidence | None]] = {}
    if rdma and rates:
        fabric = rates.pop()
        known["fabric"] = FabricKind.ROCE.value, ROCE
        known["fabric_nics"] = fabric.links, None
        known["fabric_gbits_per_s_per_nic"] = fabric.gbits_per_s, None
        known["fabric_gbits_per_s"] = fabric.total, None
    if len(rates) == 1 and not rates[0].up_to:
        known["frontend_gbits_per_s"] = rates[0].total, None
    return known

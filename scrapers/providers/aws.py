"""Amazon EC2: GPU instances, from the public price list, joined with the instance types.

Prices: GET https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonEC2/current/region_index.json
        https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/using-the-aws-price-list-bulk-api.html
Types, spot: DescribeInstanceTypes, DescribeSpotPriceHistory, where AWS_ACCESS_KEY_ID and
        AWS_SECRET_ACCESS_KEY are set (ec2:Describe* is all they need); the list needs no key
        https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceTypeInfo.html
        (all read 2026-11-29)

- A region's list has hundreds of megabytes: each is read by a task of its own and streamed, and
  its GPU rows of Linux on shared hardware are kept as they stand, with the length and hash of the
  whole above them.
- A price is of one instance. Of its many rows ours are Linux, Shared, Used, without software.
- $0 is never free: a capacity block's row, or a type that is only reserved.
- The list names no GPU, and sometimes no number of them: `aws_types` has a table by family;
  DescribeInstanceTypes says more, and its Count is 0 for a fraction of a GPU.
- Spot has a price for each zone: the lowest of a region's stands.
- A capacity block (DescribeCapacityBlockOfferings) has one fee for its instances and hours.
- EfaSupported is not GPUDirect RDMA. NetworkPerformance of an EFA type is that of its fabric.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from os import environ

from catalog.records import Basis, PriceModel, Rejected
from scrapers.aws_api import from_xml, keys_from, types_and_spot
from scrapers.aws_lists import (
    Sold,
    bulk,
    gpu_rows,
    is_table,
    price_list,
    table,
    ways_of_selling,
)
from scrapers.aws_types import (
    broken_cards,
    gpus_of,
    is_gpu_type,
    network_evidence,
    network_of,
    ram_of,
    vcpus_of,
)
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
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
from scrapers.regions import aws_country

ORIGIN = "https://pricing.us-east-1.amazonaws.com"
INDEX = f"{ORIGIN}/offers/v1.0/aws/AmazonEC2/current/region_index.json"
PROVIDER = Provider(
    slug="aws",
    title="Amazon Web Services",
    homepage="https://aws.amazon.com/ec2/",
    source=INDEX,
    refresh=timedelta(hours=24),
    home="US",
    max_bytes=2 * 2**30,
    deadline=300.0,
    budget=520.0,
)
INCLUDES = "Linux; disks and traffic are extra"
NO_PRICE = "no price in this document"
RESERVED_ONLY = "at $0 in the price list: by reservation or capacity block only"
SPOT_NOTE = "spot; the lowest of the region's zones"
BLOCK_HOURS = 24.0


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Which regions there are."""
    yield http.get(INDEX)


def parts(documents: Sequence[Document]) -> list[str]:
    """The regions, in their order."""
    return sorted(code for index in documents for code in _lists(index) if _PART.fullmatch(code))


def fetch_part(http: Http, part: str) -> Iterator[Document]:
    """The GPU rows of a region's list; types and its spot before them, where keys are set.

    Nothing of a region that the index no longer names: an empty list is for the gates.
    """
    url = _lists(http.get(INDEX)).get(part)
    if url is None:
        return
    if keys := keys_from(environ):
        yield from types_and_spot(http, keys, part)
    yield http.get(url, keep=gpu_rows)


def _lists(index: Document) -> dict[str, str]:
    """Region → the address of its list."""
    try:
        regions = Row(index.json(), "").row("regions")
        lists = {} if regions is None else {c: _list_of(regions, c) for c in regions.fields}
    except BadField as problem:
        raise Unreadable(f"region_index.json: {problem}") from None
    if not lists:
        raise FetchFailed("region_index.json has no regions")
    return lists


_PART = re.compile(r"[a-z0-9-]{3,60}")


def _list_of(regions: Row, code: str) -> str:
    path = (regions.row(code) or regions).need_text("currentVersionUrl")
    if not path.startswith("/offers/"):
        raise FetchFailed("region_index.json names a list that is not its own")
    return f"{ORIGIN}{path.removesuffix('.json')}.csv"


# --- Parse: the documents, told apart by their shape -------------------------------------------


@dataclass(slots=True)
class Found:
    """What all the documents hold, before any is joined with another."""

    types: dict[str, tuple[Row, Document]] = field(default_factory=dict)
    type_rows: list[tuple[Row, Document]] = field(default_factory=list)
    prices: list[tuple[Row, Document]] = field(default_factory=list)  # products with their terms
    spot: list[tuple[Row, Document]] = field(default_factory=list)
    blocks: list[tuple[Row, Document]] = field(default_factory=list)
    priced: set[str] = field(default_factory=set)


def parse(documents: Sequence[Document]) -> Parsed:
    """Prices with what is known of their types, spot by region, and types without a price."""
    found = Found()
    for document in documents:
        _sort(document, found)
        if is_table(document) and not document.body.endswith(b"\n"):
            yield Partial("its last line is cut short")
    for row, document in found.prices:
        yield from each([row], partial(_product, document=document, found=found))
    yield from _spot(found)
    for row, document in found.blocks:
        yield from each([row], partial(_block, document=document, found=found))
    for row, document in found.type_rows:
        yield from each([row], partial(_unpriced, document=document, found=found))


def _sort(document: Document, found: Found) -> None:
    """Put a document's rows where they belong."""
    if (lines := table(document)) is not None:
        found.prices.extend((row, document) for row in lines)
        return
    page = from_xml(document) or Row(document.json(), "")
    try:
        names = page.fields.keys()
        if "products" in names:
            found.prices.extend((row, document) for row in bulk(page))
        elif "product" in names:
            found.prices.append((page, document))
        elif "PriceList" in names:
            found.prices.extend((row, document) for row in price_list(page))
        elif "SpotPriceHistory" in names:
            found.spot.extend((row, document) for row in page.rows("SpotPriceHistory"))
        elif "CapacityBlockOfferings" in names:
            rows = page.rows("CapacityBlockOfferings")
            found.blocks.extend((row, document) for row in rows)
        elif "InstanceTypes" in names:
            found.type_rows.extend((row, document) for row in page.rows("InstanceTypes"))
            found.types.update(_by_name(page.rows("InstanceTypes"), document))
        else:
            raise Unreadable("the answer is none of the lists of EC2 that we know")
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _by_name(rows: Iterable[Row], document: Document) -> Iterator[tuple[str, tuple[Row, Document]]]:
    for row in rows:
        try:
            yield row.need_text("InstanceType"), (row, document)
        except BadField:
            continue  # rejected where it is read as a row


# --- Parse: a product -------------------------------------------------------------------------


def _product(
    row: Row, *, document: Document, found: Found
) -> Iterator[Listing | Rejected | Ignored]:
    """One type in one region, as it is sold."""
    has = (row.row("product") or row).row("attributes")
    if has is None:
        row.fail("product.attributes", "is missing")
    name = has.text("instanceType") or ""
    if reason := _irrelevant(has, name):
        yield Ignored(reason)
        return
    found.priced.add(name)
    block = "block" in (has.text("marketoption") or "").lower()
    terms = row.row("terms")
    sold = list(ways_of_selling(terms)) if terms else []
    if not sold:
        yield _offer(row, document, name, has, found, PriceModel.ON_DEMAND, note=NO_PRICE)
    for item in sold:
        if isinstance(item, Ignored):
            yield item
        else:
            yield _sold(row, document, name, has, found, item, block=block)


def _irrelevant(has: Row, name: str) -> str | None:
    """Why a row is none of our business; what is not said does not stand against it."""
    if not is_gpu_type(name):
        return "no GPU type"
    if (has.text("operatingSystem") or "Linux") != "Linux":
        return "another system than Linux"
    if (has.text("tenancy") or "Shared") != "Shared":
        return "dedicated hardware"
    block = "block" in (has.text("marketoption") or "").lower()
    if (has.text("capacitystatus") or "Used") != "Used" and not block:
        return "a reservation's own accounting"
    if (has.text("preInstalledSw") or "NA") != "NA":
        return "software in the price"
    if (has.text("licenseModel") or "No License required") != "No License required":
        return "a licence of one's own"
    return None


def _sold(
    row: Row, document: Document, name: str, has: Row, found: Found, sold: Sold, *, block: bool
) -> Listing | Rejected:
    if block:
        if sold.amount == 0:
            reason = "price 0: a capacity block is priced when it is booked"
            return Rejected(reason, row.where, row.shown)
        sold = Sold(PriceModel.CAPACITY_BLOCK, sold.amount, sold.currency, BLOCK_HOURS)
    if sold.amount == 0:
        return _offer(row, document, name, has, found, sold.model, note=RESERVED_ONLY)
    price = Price(sold.amount, sold.currency)
    minimum = sold.minimum_hours
    return _offer(row, document, name, has, found, sold.model, price=price, minimum=minimum)


# --- Parse: spot, and types alone --------------------------------------------------------------


def _spot(found: Found) -> Parsed:
    """Of each type and region the lowest zone's newest price."""
    newest: dict[tuple[str, str], tuple[str, Decimal, Row, Document]] = {}
    for row, document in found.spot:
        for item in each([row], _spot_row):
            if not isinstance(item, tuple):
                yield item
                continue
            name, zone, at, amount = item
            if (name, zone) in newest:
                yield Ignored("an older spot price")
            if (name, zone) not in newest or newest[name, zone][0] < at:
                newest[name, zone] = at, amount, row, document
    lowest: dict[tuple[str, str], tuple[Decimal, Row, Document]] = {}
    for (name, zone), (_, amount, row, document) in newest.items():
        key = name, _region_of(zone)
        if key in lowest:
            yield Ignored("spot in a dearer zone of the region")
        if key not in lowest or amount < lowest[key][0]:
            lowest[key] = amount, row, document
    for (name, region), (amount, row, document) in lowest.items():
        found.priced.add(name)
        offer = partial(
            _spot_offer, document=document, name=name, region=region, amount=amount, found=found
        )
        yield from each([row], offer)


def _spot_row(row: Row) -> Iterator[tuple[str, str, str, Decimal] | Ignored]:
    name = row.need_text("InstanceType")
    if not is_gpu_type(name):
        yield Ignored("no GPU type")
        return
    if "Linux/UNIX" not in (row.text("ProductDescription") or "Linux/UNIX"):
        yield Ignored("another system than Linux")
        return
    amount = row.written("SpotPrice")
    if amount is None:
        row.fail("SpotPrice", "is missing")
    yield name, row.need_text("AvailabilityZone"), row.text("Timestamp") or "", amount


def _region_of(zone: str) -> str:
    """ "us-east-1b" → us-east-1; a Local Zone, "us-west-2-lax-1a", is a region of its own."""
    return re.sub(r"(?<=[0-9])[a-z]$", "", zone)


def _spot_offer(
    row: Row, *, document: Document, name: str, region: str, amount: Decimal, found: Found
) -> Iterator[Listing]:
    has = Row({"regionCode": region}, row.where)
    model, price = PriceModel.SPOT, Price(amount)
    yield _offer(row, document, name, has, found, model, price=price, note=SPOT_NOTE)


def _block(row: Row, *, document: Document, found: Found) -> Iterator[Listing | Ignored]:
    """A capacity block: one fee for all its instances and hours, which are the fewest to be had."""
    name = row.need_text("InstanceType")
    if not is_gpu_type(name):
        yield Ignored("no GPU type")
        return
    hours, instances = (
        row.need_number("CapacityBlockDurationHours"),
        row.need_number("InstanceCount"),
    )
    fee = row.written("UpfrontFee")
    if fee is None or hours <= 0 or instances <= 0:
        row.fail("UpfrontFee", "is missing, or for no hours or instances")
    found.priced.add(name)
    has = Row({"regionCode": _region_of(row.need_text("AvailabilityZone"))}, row.where)
    price = Price(fee / instances, row.text("CurrencyCode") or "USD", hours)
    note = f"a block of {instances} from {(row.text('StartDate') or 'a day that is not said')[:10]}"
    model, least = PriceModel.CAPACITY_BLOCK, float(hours)
    yield _offer(row, document, name, has, found, model, price=price, note=note, minimum=least)


def _unpriced(row: Row, *, document: Document, found: Found) -> Iterator[Listing | Ignored]:
    name = row.need_text("InstanceType")
    if not is_gpu_type(name) and row.row("GpuInfo") is None:
        yield Ignored("no GPU type")
    elif name in found.priced:
        yield Ignored("a type whose price is listed")
    else:
        has = Row({}, row.where)
        yield _offer(row, document, name, has, found, PriceModel.ON_DEMAND, note=NO_PRICE)


# --- Parse: what is known of a type ------------------------------------------------------------


def _offer(
    row: Row,
    document: Document,
    name: str,
    has: Row,
    found: Found,
    model: PriceModel,
    *,
    price: Price | None = None,
    note: str | None = None,
    minimum: float | None = None,
) -> Listing:
    kind, described_in = found.types.get(name, (None, None))
    region = has.text("regionCode")
    gpu = gpus_of(name, kind, has)
    said = network_of(kind)
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=model,
        region=region,
        country=aws_country(region),
        gpu=gpu.words,
        gpu_count=gpu.count,
        gpu_memory=gpu.memory,
        total_gpu_memory=gpu.total_memory,
        vcpus=vcpus_of(kind, has),
        ram=ram_of(kind, has),
        price=price,
        price_note=note,
        price_includes=INCLUDES,
        minimum_hours=minimum,
        said=said,
        evidence=_of_the_type(described_in) | gpu.evidence | network_evidence(said),
        contradiction=broken_cards(name, kind),
        warnings=gpu.warnings,
        row=row,
    )


# What is said of a type is the same in every region: its source is no one region's list.
OF_THE_TYPE = (
    "gpu_count", "gpu_memory_gb", "vcpus", "ram_gb",
    "fabric", "fabric_nics", "fabric_gbits_per_s", "fabric_gbits_per_s_per_nic",
    "frontend_gbits_per_s", "frontend_burst_gbits_per_s",
)  # fmt: skip


def _of_the_type(described_in: Document | None) -> dict[str, Evidence]:
    """By DescribeInstanceTypes, or by the price list as a whole."""
    source = Evidence(Basis.DOCUMENTED, described_in.url if described_in else INDEX)
    return dict.fromkeys(OF_THE_TYPE, source)

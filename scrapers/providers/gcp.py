"""Google Cloud: GPU machine types, added up from the meters of the Cloud Billing catalog.

Prices: GET https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus (needs an API key)
        https://docs.cloud.google.com/billing/docs/reference/rest/v1/services.skus/list
Types:  machineTypes of the Compute API, read here where given, since they need an account
        https://docs.cloud.google.com/compute/docs/reference/rest/v1/machineTypes
        (all read 2026-11-29)

- A machine is its cores, its RAM, its GPUs and its fixed local SSDs, each a meter of its own in
  each region: all parts are of one region and one way of selling, or there is no price. A host
  alone is no offer. `gcp_machines` has what each machine takes.
- From A4 on, a "gpu slice" holds its share of the host.
- A price is `units` + `nanos` · 1e-9. RAM is by the GiB or, later, by the GB and hour; local SSD
  by the GiB and month of 730 hours.
- That a meter is for spot may stand in its description alone; commitments are meters of theirs.
- Parts of an A3 High board are spot only, although their meters have a price on demand.
- One meter may cover regions that do not have the machine: where machine types are given, only
  the regions that list it are offered.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial
from os import environ
from urllib.parse import quote

from catalog.records import Basis, PriceModel, Rejected
from scrapers.fields import BadField, Row, each
from scrapers.gcp_machines import (
    GPUS,
    MACHINES,
    PAGE,
    READ,
    Machine,
    Meter,
    amounts,
    is_attached,
    is_spot,
    meter,
)
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    MONTH_HOURS,
    YEAR_HOURS,
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    key_of,
)
from scrapers.regions import gcp_country

SKUS = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
PROVIDER = Provider(
    slug="gcp",
    title="Google Cloud",
    homepage="https://cloud.google.com/",
    source=SKUS,
    refresh=timedelta(hours=12),
    credentials=("GCP_API_KEY",),
    home="US",
)
MOST_PAGES = 100
INCLUDES = "cores, RAM, GPUs and fixed local SSDs of one region; disks and traffic are extra"
NO_PRICE = "no price in this document"
MINIMUM = {PriceModel.RESERVED_1Y: YEAR_HOURS, PriceModel.RESERVED_3Y: 3 * YEAR_HOURS}
SOLD = {
    "OnDemand": PriceModel.ON_DEMAND,
    "Preemptible": PriceModel.SPOT,
    "Commit1Yr": PriceModel.RESERVED_1Y,
    "Commit3Yr": PriceModel.RESERVED_3Y,
}


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every page of Compute Engine's meters. The key goes in a header: no address has it."""
    (key,) = key_of(PROVIDER, environ)
    token: str | None = ""
    for _ in range(MOST_PAGES):
        page = f"&pageToken={quote(token)}" if token else ""
        url = f"{SKUS}?currencyCode=USD&pageSize=5000{page}"
        document = http.get(url, {"X-Goog-Api-Key": key})
        yield document
        try:
            token = Row(document.json(), "").text("nextPageToken")
        except BadField as problem:
            raise Unreadable(str(problem)) from None
        if not token:
            return
    raise FetchFailed(f"the pages of cloudbilling.googleapis.com do not end within {MOST_PAGES}")


# --- Parse ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rate:
    """What a meter asks for one hour of one core, GiB or GPU, and the row that says so."""

    amount: Decimal
    currency: str
    row: Row
    document: Document


Key = tuple[str, PriceModel]  # region and way of selling


@dataclass(slots=True)
class Found:
    """What all the documents hold, before machines are added up."""

    rates: dict[tuple[Meter, Key], Rate] = field(default_factory=dict)
    types: dict[str, list[tuple[str, Row, Document]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    priced: set[tuple[str, str]] = field(default_factory=set)


def parse(documents: Sequence[Document]) -> Parsed:
    """Each machine in each region that prices all its parts; then the types without a price."""
    found = Found()
    for document in documents:
        page = Row(document.json(), "")
        try:
            skus, types = page.rows("skus"), list(_machine_types(page))
            if not {"skus", "items"} & page.fields.keys():
                raise Unreadable('the answer has neither "skus" nor "items"')
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        yield from each(skus, partial(_meter, document=document, found=found))
        yield from each(types, partial(_type, document=document, found=found))
    for machine in MACHINES:
        yield from _machine(machine, found)
    for name, places in found.types.items():
        for region, row, document in places:
            if (name, region) not in found.priced:
                yield from each([row], partial(_unpriced, document=document, region=region))


def _machine_types(page: Row) -> Iterator[Row]:
    """Of one zone, or of all: {"zones/us-central1-a": {"machineTypes": [...]}}."""
    if not isinstance(page.get("items"), dict):
        yield from page.rows("items")
        return
    zones = page.row("items")
    for zone in zones.fields if zones else ():
        listed = zones.row(zone) if zones else None
        yield from listed.rows("machineTypes") if listed else ()


def _meter(row: Row, *, document: Document, found: Found) -> Iterator[Ignored]:
    """Keep a meter's rate by what it is for; of two for the same, the lower."""
    description = row.need_text("description")
    part = meter(description)
    category = row.row("category")
    usage = category.text("usageType") if category else None
    if part is None:
        if reason := _other(category, description):
            yield Ignored(reason)
            return
        row.fail("description", f"{description[:60]!r}: a GPU of no machine type that we know")
    model = PriceModel.SPOT if is_spot(description) else SOLD.get(usage or "OnDemand")
    if model is None:
        row.fail("category.usageType", f"{usage!r} is not a way of selling that we know")
    amount, currency = _rate(row, part)
    again = 0
    regions = row.get("serviceRegions")
    for region in regions if isinstance(regions, list) else ():
        key: tuple[Meter, Key] = part, (str(region)[:40], model)
        other = found.rates.get(key)
        again += other is not None and other.amount != amount
        if other is None or amount < other.amount:
            found.rates[key] = Rate(amount, currency, row, document)
    if again:
        row.fail("pricingInfo", f"two prices for {description[:60]!r}; the lower stands")
    yield Ignored("a part's price, added up in its machines")


def _other(category: Row | None, description: str) -> str | None:
    """Why a meter is of no machine of ours; None: it is a GPU that we do not know."""
    group = category.text("resourceGroup") if category else None
    if group != "GPU":
        return "a meter of no GPU machine"
    if is_attached(description):
        return "a GPU that is attached to hosts of any size"
    if any(word in description for word in ("DWS", "Reserved", "Sole Tenancy", "Workstation")):
        return "another way of selling a GPU"
    return None


def _rate(row: Row, part: Meter) -> tuple[Decimal, str]:
    """For an hour, of one core or GPU, or of one GiB."""
    pricing = (row.rows("pricingInfo") or [Row({}, f"{row.where}.pricingInfo")])[-1]
    expression = pricing.row("pricingExpression")
    tiers = expression.rows("tieredRates") if expression else []
    first = [tier for tier in tiers if not tier.number("startUsageAmount")]
    price = first[0].row("unitPrice") if first else None
    if expression is None or price is None:
        row.fail("pricingInfo", "has no price")
    amount = (price.written("units") or 0) + (price.number("nanos") or 0) * Decimal("1e-9")
    if amount <= 0:
        price.fail("nanos", "price 0: a placeholder, or not sold so")
    amount = Decimal(amount) * _of_one(expression, part)
    return amount, price.text("currencyCode") or "USD"


GIB = Decimal(2**30)


def _of_one(expression: Row, part: Meter) -> Decimal:
    """What turns the unit's price into that of one core, GPU or GiB for an hour."""
    unit = expression.text("usageUnit") or ""
    wanted = {"ram": ("GiBy.h", "GBy.h"), "ssd": ("GiBy.mo", "GBy.mo")}.get(part.part, ("h",))
    if unit not in wanted:
        expression.fail("usageUnit", f"{unit[:20]!r} is not a unit of this part")
    gib = GIB / Decimal(10**9) if unit.startswith("GBy") else Decimal(1)
    return gib / MONTH_HOURS if part.part == "ssd" else gib


# --- Machines, added up ------------------------------------------------------------------------


def _machine(machine: Machine, found: Found) -> Iterator[Listing | Rejected]:
    """Wherever its GPU is priced."""
    parts = amounts(machine)
    gpu = Meter("gpu", machine.gpu)
    listed = {region for region, _, _ in found.types.get(machine.name, ())}
    for of, key in list(found.rates):
        if of != gpu or (listed and key[0] not in listed):
            continue
        if machine.spot_only and key[1] is not PriceModel.SPOT:
            continue
        rates = {part: found.rates.get((part, key)) for part in parts}
        yield from each(
            [found.rates[gpu, key].row],
            partial(_added, machine=machine, key=key, rates=rates, found=found),
        )


def _added(
    row: Row, *, machine: Machine, key: Key, rates: dict[Meter, Rate | None], found: Found
) -> Iterator[Listing | Rejected]:
    region, model = key
    lacking = [part for part, rate in rates.items() if rate is None]
    if any(part.part != "ssd" for part in lacking):
        what = " and ".join(sorted(part.part for part in lacking))
        reason = f"{machine.name} in {region}: the GPU's price without the {what} of its host"
        yield Rejected(reason, row.where, row.shown)
        return
    known = [(amount, rates[part]) for part, amount in amounts(machine).items()]
    priced = [(amount, rate) for amount, rate in known if rate is not None]
    if len({rate.currency for _, rate in priced}) > 1:
        yield Rejected(f"{machine.name}: parts in two currencies", row.where, row.shown)
        return
    found.priced.add((machine.name, region))
    total = sum((amount * rate.amount for amount, rate in priced), Decimal(0))
    gpu = rates[Meter("gpu", machine.gpu)]
    described = next(
        (r for place, r, _ in found.types.get(machine.name, ()) if place == region), None
    )
    yield Listing(
        where=row.where,
        url=gpu.document.url if gpu else SKUS,
        fetched_at=priced[0][1].document.fetched_at,
        instance=machine.name,
        price_model=model,
        region=region,
        country=gcp_country(region),
        gpu=GPUS[machine.gpu],
        gpu_count=Decimal(machine.gpu_count),
        vcpus=_number(described, "guestCpus") or Decimal(machine.vcpus),
        ram=_ram(described) or (Decimal(machine.ram_gib), "GiB"),
        price=Price(total, priced[0][1].currency),
        price_includes=INCLUDES,
        minimum_hours=float(MINIMUM[model]) if model in MINIMUM else None,
        evidence=_evidence(described),
        warnings=("the price of its local SSDs is not in the document",) if lacking else (),
        row=row,
    )


def _evidence(described: Row | None) -> dict[str, Evidence]:
    """The shape of a machine is from Google's page, unless a machine type says it."""
    rule = Evidence(Basis.DERIVED, f"rule: machine types on {PAGE}", READ)
    from_page = ("gpu", "gpu_count", "vcpus", "ram_gb", "gpu_memory_gb")
    return dict.fromkeys(from_page if described is None else ("gpu",), rule)


# --- Machine types -----------------------------------------------------------------------------


def _type(row: Row, *, document: Document, found: Found) -> Iterator[Ignored]:
    """Keep a GPU machine type by its name, once a region."""
    if not row.rows("accelerators"):
        yield Ignored("a machine type without a GPU")
        return
    name = row.need_text("name")
    zone = row.need_text("zone").rsplit("/", 1)[-1]
    region = zone.rpartition("-")[0] or zone
    if region in {place for place, _, _ in found.types[name]}:
        yield Ignored("the same machine type in another zone")
    else:
        found.types[name].append((region, row, document))


def _unpriced(row: Row, *, document: Document, region: str) -> Iterator[Listing]:
    accelerator = row.rows("accelerators")[0]
    yield Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=row.need_text("name"),
        price_model=PriceModel.ON_DEMAND,
        region=region,
        country=gcp_country(region),
        gpu=accelerator.need_text("guestAcceleratorType"),
        gpu_count=accelerator.number("guestAcceleratorCount"),
        vcpus=_number(row, "guestCpus"),
        ram=_ram(row),
        price_note=NO_PRICE,
        row=row,
    )


def _number(row: Row | None, name: str) -> Decimal | None:
    return row.number(name) if row else None


def _ram(row: Row | None) -> tuple[Decimal, str] | None:
    mib = _number(row, "memoryMb")
    return (mib, "MiB") if mib else None

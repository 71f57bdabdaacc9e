"""OVHcloud: GPU instances of the Public Cloud, from its public order catalogue.

Prices:  GET https://eu.api.ovh.com/v1/order/catalog/public/cloud?ovhSubsidiary=FR
         https://eu.api.ovh.com/console/?section=%2Forder (read 2026-11-29)
Flavors: /cloud/project/{id}/flavor, read here where given (it needs an account): where a type is
         to be had.

- Prices are whole numbers of 1e-8 of the currency, before VAT; the French catalogue's is the euro.
- A type has a plan by the hour (h100-380.consumption) and one by the month
  (h100-380.monthly.postpaid), which is a minimum of a month: 730 hours.
- Three-zone regions and local zones have plans of their own: "h100-380.consumption.3AZ".
- The GPU is in `blobs.technical.gpu`, its memory that of one. [GB]
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel, Rejected, Value
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
from scrapers.listing import (
    HOUR,
    MONTH_HOURS,
    Document,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
)

CATALOGUE = "https://eu.api.ovh.com/v1/order/catalog/public/cloud?ovhSubsidiary=FR"
PROVIDER = Provider(
    slug="ovh",
    title="OVHcloud",
    homepage="https://www.ovhcloud.com/",
    source=CATALOGUE,
    refresh=timedelta(hours=12),
    home="FR",
)
OF_THE_CURRENCY = Decimal("1e-8")
INSTANCES = "publiccloud-instance"
PLAN = re.compile(
    r"(?P<name>[a-z0-9-]+?)\.(?:hour\.)?(?P<way>consumption|monthly|month)(?:\.postpaid)?"
    r"(?:\.(?P<zones>.+))?"
)
UNITS = {
    "hour": (PriceModel.ON_DEMAND, HOUR),
    "month": (PriceModel.RESERVED_1M, MONTH_HOURS),
}
INCLUDES = "the instance with its local disks, excl. VAT; more volumes are extra"
COUNTRIES = {
    "GRA": "FR", "SBG": "FR", "RBX": "FR", "PAR": "FR", "BHS": "CA", "TOR": "CA", "DE": "DE",
    "LIM": "DE", "UK": "GB", "WAW": "PL", "MIL": "IT", "SGP": "SG", "SYD": "AU", "MUM": "IN",
    "VA": "US", "OR": "US",
}  # fmt: skip
Stock = dict[str, dict[str, bool | None]]


def fetch(http: Http) -> Iterator[Document]:
    """The whole catalogue: one answer."""
    yield http.get(CATALOGUE)


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each GPU plan by the hour and by the month, in each region that the flavors name."""
    stock: Stock = {}
    catalogues: list[tuple[Row, Document]] = []
    for document in documents:
        value = document.json()
        if isinstance(value, list):
            rows = Row({"": value}, "").rows("")
            yield from each(rows, partial(_flavor, stock=stock))
        else:
            catalogues.append((_catalogue(value), document))
    for page, document in catalogues:
        read = partial(_addon, document=document, currency=_currency(page), stock=stock)
        yield from each(page.rows("addons"), read)


def _catalogue(value: object) -> Row:
    page = Row(value, "")
    try:
        if "addons" not in page.fields:
            raise Unreadable('the answer has no "addons"')
        page.rows("addons"), _currency(page)
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None
    return page


def _currency(page: Row) -> str:
    locale = page.row("locale") or page.fail("locale", "is missing")
    return locale.need_text("currencyCode")


def _flavor(row: Row, stock: Stock) -> Iterator[Ignored]:
    """Fills `stock`: type → the regions that have it."""
    available = row.flag("available")
    stock.setdefault(row.need_text("name"), {})[row.need_text("region")] = available
    yield Ignored("the region of a type")


def _addon(
    row: Row, document: Document, currency: str, stock: Mapping[str, Mapping[str, bool | None]]
) -> Iterator[Listing | Rejected | Ignored]:
    technical = _inside(row, "blobs", "technical")
    gpu = technical.row("gpu") if technical else None
    if technical is None or gpu is None or not gpu.number("number"):
        yield Ignored("no GPU")
        return
    if reason := _irrelevant(row, technical):
        yield Ignored(reason)
        return
    code = row.need_text("planCode")
    plan = PLAN.fullmatch(code) or row.fail("planCode", f"{code[:60]!r} is not a plan we know")
    priced = partial(
        _pricing,
        row=row,
        document=document,
        plan=plan,
        technical=technical,
        gpu=gpu,
        currency=currency,
        regions=stock.get(plan["name"]) or {None: None},
    )
    yield from each(row.rows("pricings"), priced)


def _pricing(
    pricing: Row,
    *,
    row: Row,
    document: Document,
    plan: re.Match[str],
    technical: Row,
    gpu: Row,
    currency: str,
    regions: Mapping[str, bool | None] | Mapping[None, None],
) -> Iterator[Listing | Ignored]:
    """A price of a plan, in each of its regions."""
    if reason := _other_terms(pricing):
        yield Ignored(reason)
        return
    for region, available in regions.items():
        yield _listing(
            row,
            pricing,
            document,
            plan=plan,
            technical=technical,
            gpu=gpu,
            currency=currency,
            region=region,
            available=available,
        )


def _inside(row: Row, *names: str) -> Row | None:
    """An object some steps inside, or None where one of them is absent or null."""
    for name in names:
        inner = row.row(name)
        if inner is None:
            return None
        row = inner
    return row


def _irrelevant(row: Row, technical: Row) -> str | None:
    """Why a plan with a GPU is none of our business."""
    if (row.text("product") or INSTANCES) != INSTANCES:
        return "another product than an instance"
    system = technical.row("os")
    if system is not None and system.text("family") == "windows":
        return "a Windows price"
    blobs = row.row("blobs")
    if blobs is not None and "coming_soon" in blobs.texts("tags"):
        return "a type that is not sold yet"
    return None


def _other_terms(pricing: Row) -> str | None:
    """Why a price of a plan is not what an hour or a month costs."""
    if pricing.number("commitment"):
        return "a price with a commitment"
    quantity = pricing.row("quantity")
    if quantity is not None and (quantity.number("min") or 1) > 1:
        return "a price for many"
    if (pricing.text("intervalUnit") or "none") == "none":
        return "a price that is paid once"
    return None


def _listing(
    row: Row,
    pricing: Row,
    document: Document,
    *,
    plan: re.Match[str],
    technical: Row,
    gpu: Row,
    currency: str,
    region: str | None,
    available: bool | None,
) -> Listing:
    unit, interval = pricing.need_text("intervalUnit"), pricing.number("interval") or Decimal(1)
    if unit not in UNITS or interval < 1:
        pricing.fail("intervalUnit", f"{interval} {unit[:20]!r} is not a time that we know")
    model, hours = UNITS[unit]
    cpu, ram = technical.row("cpu"), _size(technical, "memory")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=plan["name"],
        price_model=model,
        region=region,
        country=_country(region),
        tier=plan["zones"],
        available=available,
        gpu=gpu.need_text("model"),
        gpu_count=gpu.need_number("number"),
        gpu_memory=_size(gpu, "memory"),
        vcpus=cpu.number("cores") if cpu else None,
        ram=ram,
        price=Price(pricing.need_number("price") * OF_THE_CURRENCY, currency, interval * hours),
        price_note="by the month" if unit == "month" else None,
        price_includes=INCLUDES,
        minimum_hours=float(MONTH_HOURS) if unit == "month" else None,
        said=_network(technical),
        row=row,
    )


def _size(row: Row, name: str) -> tuple[Decimal, str] | None:
    part = row.row(name)
    amount = part.number("size") if part else None
    return (amount, "GB") if amount else None


def _network(technical: Row) -> dict[str, Value]:
    """Mb/s where they are guaranteed: "up to" is no figure of ours."""
    bandwidth = technical.row("bandwidth")
    if bandwidth is None or not bandwidth.flag("guaranteed"):
        return {}
    level = bandwidth.number("level")
    return {"frontend_gbits_per_s": level / 1000} if level else {}


def _country(region: str | None) -> str | None:
    """ "GRA11", "DE1", "EU-WEST-PAR", "US-EAST-VA-1": the last word that is a place."""
    words = re.findall("[A-Z]+", region or "")
    return next((COUNTRIES[word] for word in reversed(words) if word in COUNTRIES), None)

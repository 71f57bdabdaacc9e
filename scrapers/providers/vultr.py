"""Vultr: cloud GPUs, whole and in slices, and bare metal, from its public API.

Cloud GPU:  GET https://api.vultr.com/v2/plans?type=vcg
Bare metal: GET https://api.vultr.com/v2/plans-metal
Regions:    GET https://api.vultr.com/v2/regions
            https://www.vultr.com/api/#tag/plans (read 2026-11-29)

- `hourly_cost` and `hourly_cost_preemptible` are for the whole plan; 0 is "not sold that way".
  A month costs `monthly_cost` at most, which is 672 hours.
- A plan may be listed with a price and not be for order so: `deploy_ondemand` false.
- `gpu_vram_gb` is that of the plan: of eight GPUs together, or of a slice of one. How many GPUs
  that is follows from the card's memory, where `gpu_count` is not given.
- Older answers name the GPUs of bare metal in the plan's id alone: "vbm-112c-2048gb-8-h100-gpu".
- `locations` are those that have the plan now. `ram` is in MiB.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
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

API = "https://api.vultr.com/v2"
CLOUD, METAL = f"{API}/plans?type=vcg&per_page=500", f"{API}/plans-metal?per_page=500"
REGIONS = f"{API}/regions?per_page=500"
PROVIDER = Provider(
    slug="vultr",
    title="Vultr",
    homepage="https://www.vultr.com/",
    source=CLOUD,
    refresh=timedelta(hours=6),
    home="US",
)
LISTS = ("plans", "plans_metal", "regions")
MOST_PAGES = 50
# Memory of one GPU of the kinds that Vultr has. [GB]
WHOLE_GB = {
    "A16": 16, "A40": 48, "A100": 80, "L40S": 48, "L40": 48, "H100": 80, "GH200": 96, "H200": 141,
    "B200": 180, "B300": 288, "MI300X": 192, "MI325X": 256, "MI355X": 288,
    "RTXPRO6000": 96,
}  # fmt: skip
# https://api.vultr.com/v2/regions, for answers without it: airports.
COUNTRIES = {
    "ams": "NL", "atl": "US", "blr": "IN", "bom": "IN", "cdg": "FR", "del": "IN", "dfw": "US",
    "ewr": "US", "fra": "DE", "hnl": "US", "icn": "KR", "itm": "JP", "jnb": "ZA", "lax": "US",
    "lhr": "GB", "mad": "ES", "man": "GB", "mel": "AU", "mex": "MX", "mia": "US", "nrt": "JP",
    "ord": "US", "sao": "BR", "scl": "CL", "sea": "US", "sgp": "SG", "sjc": "US", "sto": "SE",
    "syd": "AU", "tlv": "IL", "waw": "PL", "yto": "CA",
}  # fmt: skip
NOT_FOR_ORDER = "listed, but not for order this way now"
UNPRICED = "no hourly price in the list"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every page of the three lists."""
    for url, name in zip((CLOUD, METAL, REGIONS), LISTS, strict=True):
        yield from _pages(http, url, name)


def _pages(http: Http, url: str, name: str) -> Iterator[Document]:
    """The pages of one list, with their rows counted against its total."""
    read, cursor = 0, ""
    for _ in range(MOST_PAGES):
        document = http.get(f"{url}&cursor={cursor}" if cursor else url)
        yield document
        page = Row(document.json(), "")
        try:
            meta = page.row("meta") or page.fail("meta", "is missing")
            links, total = meta.row("links"), meta.need_number("total")
            read += len(page.rows(name))
            following = (links.text("next") if links else None) or ""
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        if not following:
            if read != total:
                raise FetchFailed(f"api.vultr.com has {total} {name}, and its pages {read}")
            return
        if following == cursor:
            break
        cursor = following
    raise FetchFailed(f"the pages of {name} do not end")


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each plan in each location, on demand and preemptible."""
    countries: dict[str, str] = dict(COUNTRIES)
    pages = [(_page(document), document) for document in documents]
    for page, _ in pages:
        yield from each(page.rows("regions"), partial(_region, countries=countries))
    for page, document in pages:
        for name in ("plans", "plans_metal"):
            read = partial(_plan, document=document, countries=countries)
            yield from each(page.rows(name), read)


def _page(document: Document) -> Row:
    page = Row(document.json(), "")
    try:
        if not set(LISTS) & page.fields.keys():
            raise Unreadable("the answer has no plans and no regions")
        for name in LISTS:
            page.rows(name)
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None
    return page


def _region(row: Row, countries: dict[str, str]) -> Iterator[Rejected]:
    """Fills `countries`."""
    name, country = row.need_text("id"), row.text("country")
    if country and re.fullmatch("[A-Z]{2}", country):
        countries[name] = country
    yield from ()


def _plan(
    row: Row, document: Document, countries: Mapping[str, str]
) -> Iterator[Listing | Ignored]:
    name = row.need_text("id")
    words, by_name = _gpu(row, name)
    if words is None:
        yield Ignored("no GPU")
        return
    places: list[str | None] = [*row.texts("locations")]
    for place in places or [None]:
        for model, price, note, sold in _prices(row):
            yield _listing(
                row,
                document,
                name=name,
                gpu=(words, by_name),
                region=place,
                country=countries.get(place or ""),
                model=model,
                price=price,
                note=note,
                available=sold and place is not None,
            )


_IN_ID = re.compile(r"-(?:([0-9]{1,2})-)?([a-z0-9]+)-gpu$")  # "vbm-112c-2048gb-8-h100-gpu"


def _gpu(row: Row, name: str) -> tuple[str | None, Decimal | None]:
    """The words for one GPU, and how many the plan or its id says."""
    found = _IN_ID.search(name)
    by_id = Decimal(found[1] or 1) if found else None
    said = row.text("gpu_type")  # "NVIDIA_A100"
    words = said.replace("_", " ") if said else found[2].upper() if found else None
    return words, row.number("gpu_count") or by_id


def _chip(words: str) -> str:
    """ "NVIDIA RTX PRO 6000" → "RTXPRO6000"."""
    return "".join(word for word in words.upper().split() if word not in ("NVIDIA", "AMD"))


def _prices(row: Row) -> Iterator[tuple[PriceModel, Price | None, str | None, bool]]:
    """Each way that it is sold: model, price, note, and whether it can be ordered so."""
    ways = (
        (PriceModel.ON_DEMAND, "hourly_cost", "deploy_ondemand"),
        (PriceModel.SPOT, "hourly_cost_preemptible", "deploy_preemptible"),
    )
    priced = False
    for model, cost, deploy in ways:
        amount, sold = row.number(cost), row.flag(deploy) is not False
        if amount:
            priced = True
            yield model, Price(amount), None if sold else NOT_FOR_ORDER, sold
    if not priced:
        yield PriceModel.ON_DEMAND, None, UNPRICED, False


def _listing(
    row: Row,
    document: Document,
    *,
    name: str,
    gpu: tuple[str, Decimal | None],
    region: str | None,
    country: str | None,
    model: PriceModel,
    price: Price | None,
    note: str | None,
    available: bool,
) -> Listing:
    words, said = gpu
    vram, whole = row.number("gpu_vram_gb"), WHOLE_GB.get(_chip(words))
    count = _count(row, vram, whole, said)
    sliced = count < 1
    ram = row.number("ram")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=model,
        region=region,
        country=country,
        available=available,
        gpu=f"{words} {whole}GB" if sliced else words,
        gpu_count=count,
        gpu_memory=(vram if sliced else vram / count, "GB") if vram else None,
        vcpus=row.number("vcpu_count") or row.number("cpu_threads"),
        ram=(ram, "MiB") if ram else None,
        price=price,
        price_note=note,
        price_includes=_includes(row, model),
        evidence={"gpu": _slice(document.url, whole)} if sliced else {},
        row=row,
    )


def _count(row: Row, vram: Decimal | None, whole: int | None, said: Decimal | None) -> Decimal:
    """GPUs of the plan, or the share of one: by its memory, where the card's is known."""
    if said is not None and (said < 1 or said != int(said)):
        row.fail("gpu_count", f"{said} is not a number of GPUs")
    if vram is None or whole is None:
        return said or row.fail("gpu_vram_gb", "how many GPUs the plan has cannot be told")
    if vram <= 0:
        row.fail("gpu_vram_gb", f"{vram} is not a memory")
    share = vram / whole
    if share < Decimal("0.9"):
        return round(share, 4)
    if said is not None and said != round(share):
        row.fail("gpu_count", f"{said} GPUs of {whole} GB are not {vram} GB")
    return Decimal(round(share))


def _slice(url: str, whole: int | None) -> Evidence:
    rule = f"rule: Vultr's slices are of the {whole} GB card, its largest plan of one GPU; {url}"
    return Evidence(Basis.DERIVED, rule)


def _includes(row: Row, model: PriceModel) -> str:
    name = "monthly_cost_preemptible" if model is PriceModel.SPOT else "monthly_cost"
    month = row.number(name)
    most = f"; a month costs {month} at most" if month else ""
    return f"the plan with its disk and traffic allowance{most}"

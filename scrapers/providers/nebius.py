"""Nebius: GPU platforms and presets; prices from its public page.

Prices: GET https://nebius.com/prices
Types:  PlatformService.List of its gRPC API, as JSON, read here where given (it needs an account)
        https://github.com/nebius/api/blob/main/nebius/compute/v1/platform_service.proto
        https://docs.nebius.com/compute/virtual-machines/types (all read 2026-11-29)

- A price is of one GPU with its share of the host, the same for each preset of its platform and in
  every region. "from" prices are of the smallest preset.
- The price of a preset by the API takes an estimate for each, on demand and preemptible, by an
  account: that is not done here.
- A platform that we do not know is listed by its own name, never left out.
- The page is read by the headings of its tables; without them it is Unreadable.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, PriceModel, Rejected
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
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
from scrapers.pages import Element, read_page

PAGE = "https://nebius.com/prices"
TYPES_PAGE = "https://docs.nebius.com/compute/virtual-machines/types"
READ = date(2026, 11, 29)
PROVIDER = Provider(
    slug="nebius",
    title="Nebius",
    homepage="https://nebius.com/",
    source=PAGE,
    refresh=timedelta(hours=24),
    how="from its public price page: its API takes its SDK and an account, and is not read",
    home="NL",
)
NO_PRICE = "no price in this document"
SHARE = "the GPU's share of vCPUs and RAM; disks are extra"
# Product of the page → presets that it prices, by platform and preset (TYPES_PAGE).
PRESETS = {
    "B300": ("gpu-b300-sxm 8gpu",),
    "B200": ("gpu-b200-sxm 1gpu-20vcpu-224gb", "gpu-b200-sxm 8gpu-160vcpu-1792gb"),
    "H200": ("gpu-h200-sxm 1gpu-16vcpu-200gb", "gpu-h200-sxm 8gpu-128vcpu-1600gb"),
    "H100": ("gpu-h100-sxm 1gpu-16vcpu-200gb", "gpu-h100-sxm 8gpu-128vcpu-1600gb"),
    "L40S INTEL": ("gpu-l40s-a 1gpu-8vcpu-32gb",),
    "L40S AMD": ("gpu-l40s-d 1gpu-16vcpu-96gb",),
}


def fetch(http: Http) -> Iterator[Document]:
    """The price page."""
    yield http.get(PAGE)


def parse(documents: Sequence[Document]) -> Parsed:
    """Prices of a page, presets of a list of platforms."""
    priced: set[str] = set()
    for document in sorted(documents, key=lambda document: not _is_page(document)):
        if _is_page(document):
            for item in _page(document):
                priced |= {item.instance} if isinstance(item, Listing) else set()
                yield item
            continue
        page = Row(document.json(), "")
        try:
            if not {"items", "platform"} & page.fields.keys():
                raise Unreadable('the answer has neither "items" nor "platform"')
            one, region = page.row("platform"), page.text("region")
            platforms = [*page.rows("items"), *([one] if one else [])]
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        read = partial(_platform, document=document, region=region, priced=priced)
        yield from each(platforms, read)


def _is_page(document: Document) -> bool:
    return document.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"


# --- Platforms --------------------------------------------------------------------------------


def _platform(
    row: Row, *, document: Document, region: str | None, priced: set[str]
) -> Iterator[Listing | Ignored]:
    """Every preset with GPUs; JSON of protobuf may have either spelling of a name."""
    metadata, spec = row.row("metadata"), row.row("spec")
    if metadata is None or spec is None:
        row.fail("metadata", "or spec is missing")
    name = metadata.need_text("name")
    memory = spec.number("gpu_memory_gigabytes") or spec.number("gpuMemoryGigabytes")
    for preset in spec.rows("presets"):
        has = preset.row("resources") or Row({}, f"{preset.where}.resources")
        gpus = has.number("gpu_count") or has.number("gpuCount")
        if not gpus:
            yield Ignored("a preset without a GPU")
            continue
        instance = f"{name} {preset.need_text('name')}"
        if region is None and instance in priced:
            yield Ignored("a preset whose price is listed")
            continue
        ram = has.number("memory_gibibytes") or has.number("memoryGibibytes")
        yield Listing(
            where=preset.where,
            url=document.url,
            fetched_at=document.fetched_at,
            instance=instance,
            price_model=PriceModel.ON_DEMAND,
            region=region,
            gpu=_words(name),
            gpu_count=gpus,
            gpu_memory=(memory, "GB") if memory else None,
            vcpus=has.number("vcpu_count") or has.number("vcpuCount"),
            ram=(ram, "GiB") if ram else None,
            price_note=NO_PRICE,
            evidence={"gpu": _by_name()},
            warnings=() if name in KNOWN else (f"unknown platform {name}",),
            row=row,
        )


KNOWN = {preset.partition(" ")[0] for presets in PRESETS.values() for preset in presets} | {
    "gpu-b200-sxm-a",
    "gpu-rtx6000",
}


def _words(platform: str) -> str:
    """ "gpu-b200-sxm-a" → "b200 sxm": what stands at the end alone is a kind of host."""
    if platform == "gpu-rtx6000":
        return "RTX PRO 6000"
    return re.sub(r"^gpu-|-[a-z]$", "", platform).replace("-", " ")


def _by_name() -> Evidence:
    return Evidence(Basis.DERIVED, f"rule: GPUs of the platform on {TYPES_PAGE}", READ)


# --- The page ---------------------------------------------------------------------------------


def _page(document: Document) -> Iterator[Listing | Rejected | Ignored]:
    found = False
    for number, table in enumerate(read_page(document.body).all("table")):
        rows = table.all("tr")
        columns = _columns(rows[0]) if rows else None
        if columns is None:
            continue
        found = True
        for n, row in enumerate(rows[1:], 1):
            where = f"table[{number}].row[{n}]"
            try:
                yield from list(_row(row, columns, where, document))
            except BadField as problem:
                yield Rejected(problem.reason, problem.where, row.text())
    if not found:
        raise Unreadable("the page has no table of prices for a GPU and hour")


def _columns(heading: Element) -> dict[int, PriceModel] | None:
    """Which cells are prices of a GPU and hour; None: a table of other things."""
    titles = [title.lower() for title in _cells(heading)]
    if not titles or "gpu" not in titles[0]:
        return None
    hourly = {n: title for n, title in enumerate(titles) if n and "hour" in title}
    models = {
        n: PriceModel.SPOT if "preemptible" in title else PriceModel.ON_DEMAND
        for n, title in hourly.items()
        if "preemptible" in title or "on-demand" in title
    }
    return models if PriceModel.ON_DEMAND in models.values() else None


def _cells(row: Element) -> list[str]:
    return [e.text() for e in row.inside if isinstance(e, Element) and e.tag in ("th", "td")]


_PRICE = re.compile(r"(from )?\$ ?([0-9]{1,3}(?:\.[0-9]{1,4})?)", re.IGNORECASE)
NOT_SOLD = {"", "-", "n/a", "\N{EM DASH}", "\N{EN DASH}"}


def _row(
    row: Element, columns: dict[int, PriceModel], where: str, document: Document
) -> Iterator[Listing | Ignored]:
    cells = _cells(row)
    if len(cells) <= max(columns):
        raise BadField(where, f"{len(cells)} cells, where {max(columns) + 1} were")
    presets = _presets(cells[0])
    if not presets:
        raise BadField(where, f"unknown GPU name {cells[0][:60]!r}: of no preset that we know")
    for column, model in columns.items():
        text = cells[column]
        price = _PRICE.fullmatch(text)
        contact = "contact" in text.lower() and model is PriceModel.ON_DEMAND
        if not price and not contact:
            if text.lower() not in NOT_SOLD and "contact" not in text.lower():
                raise BadField(where, f"{text[:40]!r} is not a price in US$")
            yield Ignored("not sold so")
            continue
        for preset in presets:
            yield Listing(
                where=where,
                url=document.url,
                fetched_at=document.fetched_at,
                instance=preset,
                price_model=model if price else PriceModel.QUOTE,
                gpu=_words(preset.partition(" ")[0]),
                gpu_count=Decimal(re.findall(r"([0-9]+)gpu", preset)[0]),
                price=Price(Decimal(price[2]), per_gpu=True) if price else None,
                price_note=("from" if price[1] else None) if price else "contact sales",
                price_includes=SHARE,
                evidence={"gpu": _by_name(), "gpu_count": _by_name()},
                row=row.text(),
            )


def _presets(product: str) -> tuple[str, ...]:
    """ "NVIDIA HGX H100"; of the L40S, by the maker of the host's processor."""
    words = set(re.findall(r"[A-Z0-9]+", product.upper()))
    return next((types for name, types in PRESETS.items() if set(name.split()) <= words), ())

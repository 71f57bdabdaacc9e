"""CoreWeave: GPU instances, from its public price page. There is no price API.

Page: GET https://www.coreweave.com/pricing (read 2026-11-29)

- A price is of one instance, usually 8 GPUs; of an NVL72 rack, of one tray of 4.
- "4^1" is a 4 with a footnote; thousands have a comma.
- "N/A" and an empty cell are "not sold so"; "Contact sales" is a quote.
- One table a region ("Europe"), and an offer for each, where they agree too.
- The page shows each price again in a block for small screens.
- The page names products; TYPES has the instance types that the documentation has for them:
  https://docs.coreweave.com/docs/platform/instances/gpu-instances
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from catalog.records import PriceModel, Rejected
from scrapers.fields import BadField
from scrapers.http import Http
from scrapers.listing import Document, Listing, Parsed, Price, Provider, Unreadable
from scrapers.pages import Element, read_page, the

PAGE = "https://www.coreweave.com/pricing"
PROVIDER = Provider(
    slug="coreweave",
    title="CoreWeave",
    homepage="https://www.coreweave.com/",
    source=PAGE,
    refresh=timedelta(hours=24),
    how="from its public price page",
    home="US",
)
COLUMNS = (
    "GPU Model",
    "GPU Count",
    "VRAM (GB)",
    "vCPUs",
    "System RAM (GB)",
    "Local Storage (TB)",
    "On-Demand Price (Per Hour)",
    "Spot Price (Per Hour)",
)
# Product of the page, without "NVIDIA", and its GPUs → instance type.
TYPES = {
    ("GB300 NVL72", 4): "gb300-4x",
    ("GB200 NVL72", 4): "gb200-4x",
    ("HGX B300", 8): "b300-8x",
    ("HGX B200", 8): "b200-8x",
    ("HGX H200", 8): "gd-8xh200ib-i128",
    ("HGX H100", 8): "gd-8xh100ib-i128",
    ("GH200", 1): "gd-1xgh200",
    ("A100", 8): "gd-8xa100-i128",
    ("L40S", 8): "gd-8xl40s-i128",
    ("L40", 8): "gd-8xl40-i128",
    ("RTX PRO 6000 Blackwell Server Edition", 8): "rtxp6000-8x",
    ("RTX PRO 6000 Server", 8): "rtxp6000-8x",
}
CONTACT = "contact sales"
NOT_SOLD = {"", "n/a", "-", "\N{EM DASH}"}


def fetch(http: Http) -> Iterator[Document]:
    """The page."""
    yield http.get(PAGE)


# --- Rows -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One row of one region's table."""

    where: str
    region: str
    name: str
    gpus: int
    vram: Decimal
    vcpus: Decimal | None
    ram: Decimal | None
    disk: str
    on_demand: Decimal | str | None  # CONTACT: a quote
    spot: Decimal | str | None
    shown: str


def parse(documents: Sequence[Document]) -> Parsed:
    """Each product, on demand or by quote, and spot where it is sold so."""
    for document in documents:
        lines: list[Line] = []
        for item in _lines(read_page(document.body)):
            if isinstance(item, Line):
                lines.append(item)
            else:
                yield item
        yield from _listings(lines, document)


def _lines(page: Element) -> Iterator[Line | Rejected]:
    sections = [s for s in page.all(".section-content") if s.all(".gpu-pricing")]
    if not sections:
        raise Unreadable("the page has no table of GPU prices")
    for section in sections:
        region = section.all("h5")[0].text() if section.all("h5") else ""
        table = section.all(".gpu-pricing")[0]
        _check_columns(table)
        for n, row in enumerate(table.all(".kubernetes-gpu-pricing")):
            where = f"{region.title() or 'table'}[{n}]"
            try:
                yield _line(row, re.sub(r"^region: ?", "", region, flags=re.IGNORECASE), where)
            except BadField as problem:
                yield Rejected(problem.reason, problem.where, row.text())


def _check_columns(table: Element) -> None:
    header = table.all(".table-v2-header")
    grid = header[0].all(".table-grid") if header else []
    columns = tuple(cell.text() for cell in grid[0].all("div")) if grid else ()
    if columns != COLUMNS:
        raise Unreadable(f"the table has other columns: {', '.join(columns)[:200]}")


def _line(row: Element, region: str, where: str) -> Line:
    cells = row.all(".table-grid")[0].all(".table-v2-cell") if row.all(".table-grid") else []
    if len(cells) != len(COLUMNS):
        raise BadField(where, f"{len(cells)} cells, where {len(COLUMNS)} were")
    name = the(cells[0].all(".table-model-name"), "a name", where).text()
    gpus = re.fullmatch(r"([0-9]{1,3})(?:\^[0-9]+)?", cells[1].text())
    if gpus is None:
        raise BadField(where, f"GPU Count {cells[1].text()[:20]!r} is not a number")
    return Line(
        where,
        region.title(),
        re.sub(r"^NVIDIA ", "", name),
        int(gpus[1]),
        _number(cells[2], "VRAM", where) or Decimal(0),
        _number(cells[3], "vCPUs", where),
        _number(cells[4], "System RAM", where),
        cells[5].text(),
        _price(cells[6], where),
        _price(cells[7], where),
        row.text(),
    )


_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]{1,4})?|[0-9]{1,7}(?:\.[0-9]{1,4})?")


def _number(cell: Element, column: str, where: str) -> Decimal | None:
    text = cell.text()
    if text.lower() in NOT_SOLD:
        return None
    if not _NUMBER.fullmatch(text):
        raise BadField(where, f"{column} {text[:20]!r} is not a number")
    return Decimal(text.replace(",", ""))


def _price(cell: Element, where: str) -> Decimal | str | None:
    """Of an hour; CONTACT where sales is to be asked, None where it is not sold so."""
    text = cell.text()
    if CONTACT in text.lower():
        return CONTACT
    if text.lower() in NOT_SOLD:
        return None
    found = re.fullmatch(r"\$ ?(" + _NUMBER.pattern + ")", text)
    if found is None:
        raise BadField(where, f"{text[:40]!r} is not a price in US$")
    return Decimal(found[1].replace(",", ""))


# --- Offers -----------------------------------------------------------------------------------


def _listings(lines: Sequence[Line], document: Document) -> Iterator[Listing]:
    """One offer for each region: who asks for a continent finds what is sold there."""
    for line in lines:
        for model, price in _ways(line):
            yield _listing(line, model, price, document)


def _ways(line: Line) -> Iterator[tuple[PriceModel, Decimal | None]]:
    if isinstance(line.on_demand, Decimal):
        yield PriceModel.ON_DEMAND, line.on_demand
    elif line.on_demand == CONTACT or line.spot is None:
        yield PriceModel.QUOTE, None
    if isinstance(line.spot, Decimal):
        yield PriceModel.SPOT, line.spot


def _instance(line: Line) -> str:
    return TYPES.get((line.name, line.gpus), f"{line.gpus}x {line.name}")


def _listing(
    line: Line,
    model: PriceModel,
    price: Decimal | None,
    document: Document,
) -> Listing:
    return Listing(
        where=line.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=_instance(line),
        price_model=model,
        region=line.region or None,
        gpu=line.name,
        gpu_count=Decimal(line.gpus),
        gpu_memory=(line.vram, "GB") if line.vram else None,
        vcpus=line.vcpus,
        ram=(line.ram, "GB") if line.ram else None,
        price=None if price is None else Price(price),
        price_note="contact sales" if price is None else None,
        price_includes=f"{line.disk} TB of local storage" if line.disk else None,
        row=line.shown,
    )

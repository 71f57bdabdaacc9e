"""CUDO Compute: virtual machines sized as one likes, in many data centres, from its public API.

API: GET https://rest.compute.cudo.org/v1/vms/machine-types
     https://www.cudocompute.com/docs/api (read 2026-11-29)

- A price is a sum: vCPUs, GiB of memory, GPUs and GiB of disk, each with a price an hour, written
  as `{"value": "0.0022"}`; 0 for the GPU is "not sold".
- Sizes are free, and all of them would be thousands of rows: we take 1, 2, 4, 8 GPUs and the most
  of a machine, with 8 vCPUs and 32 GiB a GPU as far as the type allows, and 100 GiB of disk; or
  the sizes that stand beside the list (`spec`).
- Names of fields come in two spellings: `gpuPriceHr` and `gpu_price_hr`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
from scrapers.listing import Document, Ignored, Listing, Parsed, Price, Provider, Unreadable

TYPES = "https://rest.compute.cudo.org/v1/vms/machine-types"
PROVIDER = Provider(
    slug="cudo",
    title="CUDO Compute",
    homepage="https://www.cudocompute.com/",
    source=TYPES,
    refresh=timedelta(hours=6),
    home="GB",
)
VCPUS, MEMORY_GIB = Decimal(8), Decimal(32)  # a GPU
DISK_GIB = Decimal(100)
MOST_GPUS = 64
MOST_SIZES = 8
NO_COUNTRIES = {"eu", "ap", "na"}
COUNTRIES = {"uk": "GB"}
NO_PRICE = "no price for its GPU in the list"


def fetch(http: Http) -> Iterator[Document]:
    """Every machine type of every data centre: one answer."""
    yield http.get(TYPES)


# --- Parse ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Size:
    """What a machine is made of."""

    vcpus: Decimal
    memory_gib: Decimal
    gpus: Decimal


def parse(documents: Sequence[Document]) -> Parsed:
    """Each machine type of each data centre, in its sizes."""
    for document in documents:
        page = Row(document.json(), "")
        try:
            name = _field(page, "machineTypes")
            if name not in page.fields:
                raise Unreadable('the answer has no "machineTypes"')
            rows, sizes = page.rows(name), [_named(row) for row in page.rows("spec")[:MOST_SIZES]]
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        yield from each(rows, partial(_type, document=document, named=sizes))


def _field(row: Row, name: str) -> str:
    """The name, or its other spelling where the row has that."""
    other = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    return other if other in row.fields and name not in row.fields else name


def _number(row: Row, name: str) -> Decimal | None:
    return row.number(_field(row, name))


def _text(row: Row, name: str) -> str | None:
    return row.text(_field(row, name))


def _hourly(row: Row, name: str) -> Decimal | None:
    part = row.row(_field(row, name))
    return part.written("value") if part else None


def _named(row: Row) -> _Size:
    """A size that the document names."""
    size = _Size(row.need_number("vcpu"), row.need_number("mem"), row.need_number("gpu"))
    if not 0 < size.gpus <= MOST_GPUS or size.vcpus < 0 or size.memory_gib < 0:
        row.fail("gpu", "is no size of a machine")
    return size


def _type(row: Row, document: Document, named: Sequence[_Size]) -> Iterator[Listing | Ignored]:
    gpu = _text(row, "gpuModel")
    if not gpu:
        yield Ignored("no GPU")
        return
    free = _number(row, "maxGpuFree")
    for size in named or _sizes(row):
        available = None if free is None else free >= size.gpus
        yield _listing(row, document, gpu, size, available)


def _sizes(row: Row) -> Iterator[_Size]:
    """1, 2, 4, 8 GPUs and the most of a machine; 1 where that is not said."""
    most = _number(row, "maxGpuPerVm") or _number(row, "maxGpuFree") or Decimal(1)
    if most < 1 or most != int(most) or most > MOST_GPUS:
        row.fail("maxGpuPerVm", f"{most} is not a number of GPUs")
    least = _number(row, "minGpuPerVm") or Decimal(1)
    for count in sorted({c for c in (1, 2, 4, 8, int(most)) if least <= c <= most} or {int(most)}):
        yield _fitting(row, Decimal(count))


def _fitting(row: Row, gpus: Decimal) -> _Size:
    """Our vCPUs and memory a GPU, moved into what the type allows beside so many GPUs."""
    vcpus = max(gpus * VCPUS, _number(row, "minVcpu") or Decimal(0))
    vcpus = _between(vcpus, gpus, _number(row, "minVcpuPerGpu"), _number(row, "maxVcpuPerGpu"))
    memory = max(gpus * MEMORY_GIB, _number(row, "minMemoryGib") or Decimal(0))
    fewest, most = _number(row, "minVcpuPerMemoryGib"), _number(row, "maxVcpuPerMemoryGib")
    if most and most > 0:
        memory = max(memory, vcpus / most)
    if fewest and fewest > 0:
        memory = min(memory, vcpus / fewest)
    return _Size(vcpus, Decimal(round(memory)), gpus)


def _between(
    amount: Decimal, gpus: Decimal, least: Decimal | None, most: Decimal | None
) -> Decimal:
    if least:
        amount = max(amount, gpus * least)
    return min(amount, gpus * most) if most else amount


def _listing(
    row: Row, document: Document, gpu: str, size: _Size, available: bool | None
) -> Listing:
    region, memory = _text(row, "dataCenterId"), _number(row, "gpuMemoryGib")
    amount, includes = _amount(row, size)
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=f"{_name(row)}_{size.gpus}x{size.vcpus}v{size.memory_gib}gb",
        price_model=PriceModel.ON_DEMAND,
        region=region,
        country=_country(region),
        available=available,
        gpu=re.sub(r"\s*\([^()]*\)$", "", gpu),  # "A40 (compute mode)"
        gpu_count=size.gpus,
        gpu_memory=(memory, "GiB") if memory else None,
        vcpus=size.vcpus,
        ram=(size.memory_gib, "GiB"),
        price=Price(amount) if amount else None,
        price_note=None if amount else NO_PRICE,
        price_includes=includes,
        row=row,
    )


def _name(row: Row) -> str:
    """The machine type, with the GPU where the type does not name it."""
    kind = _text(row, "machineType") or row.fail("machineType", "is missing")
    gpu = (_text(row, "gpuModelId") or "").lower().removeprefix("nvidia-")
    return kind if gpu in kind.lower() else f"{kind}-{gpu}"


def _amount(row: Row, size: _Size) -> tuple[Decimal | None, str]:
    """The sum of the parts, and what it is the sum of."""
    each_gpu = _hourly(row, "gpuPriceHr")
    disk = _hourly(row, "minStorageGibPriceHr")
    parts = [
        size.vcpus * _part(row, "vcpuPriceHr"),
        size.memory_gib * _part(row, "memoryGibPriceHr"),
        DISK_GIB * disk if disk else Decimal(0),
    ]
    if min(parts) < 0:
        row.fail("vcpuPriceHr", "or a price beside it is below 0")
    said = f"{size.gpus} GPUs with {size.vcpus} vCPUs and {size.memory_gib} GiB of memory"
    said += f", and {DISK_GIB} GiB of disk" if disk else "; disk is extra"
    return (size.gpus * each_gpu + sum(parts) if each_gpu else None), said


def _part(row: Row, name: str) -> Decimal:
    """A price that must be there: without it the sum would be too low."""
    price = _hourly(row, name)
    return row.fail(name, "is missing") if price is None else price


def _country(region: str | None) -> str | None:
    """Of "se-stockholm-1"."""
    found = re.match(r"([a-z]{2})-", region or "")
    if found is None or found[1] in NO_COUNTRIES:
        return None
    return COUNTRIES.get(found[1], found[1].upper())

"""Shadeform: other clouds' GPU instances through one API; each is that cloud's, `via` Shadeform.

API: GET https://api.shadeform.ai/v1/instances/types
     https://docs.shadeform.ai/api-reference/instances/instances-types (read 2026-11-29)

- `hourly_price` is US cents for the whole instance. There is no spot.
- `cloud` is whose instance it is, `cloud_instance_type` that cloud's own name for it: where we read
  the cloud itself, its own word wins, and this one checks it.
- `vram_per_gpu_in_gb` is of one GPU. [GB, whatever other catalogs make of it]
- `interconnect` (pcie, sxm4, sxm5) is the GPU's form; `nvlink` is true or false.
- `availability` has each region; `available` false is sold out there.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import WITHHELD, Basis, PriceModel, Rejected, ScaleUp, Value
from scrapers.fields import Row, each
from scrapers.http import Http
from scrapers.listing import (
    Document,
    Evidence,
    Listing,
    Parsed,
    Price,
    Provider,
    key_of,
    rows_of,
)
from scrapers.regions import named_country

TYPES = "https://api.shadeform.ai/v1/instances/types"
PROVIDER = Provider(
    slug="shadeform",
    title="Shadeform",
    homepage="https://www.shadeform.ai/",
    source=TYPES,
    refresh=timedelta(hours=2),
    credentials=("SHADEFORM_API_KEY",),
    home="US",
)
# GPUs that are sold in more than one form: theirs is worth a word.
FORMED = re.compile(r"(A100|A800|H100|H200|H800|V100)\b", re.IGNORECASE)
FORM = re.compile(r"sxm|pcie|nvl|oam", re.IGNORECASE)


def fetch(http: Http) -> Iterator[Document]:
    """Every type of every cloud: one answer."""
    (key,) = key_of(PROVIDER, os.environ)
    yield http.get(TYPES, {"X-API-KEY": key})


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each type in each of its regions."""
    for document in documents:
        rows = rows_of(document, "instance_types")
        yield from each(rows, partial(_type, document=document))


def _type(row: Row, document: Document) -> Iterator[Listing | Rejected]:
    """A type without regions is sold out; a bad region spoils itself alone."""
    kind = _listing(row, document)
    places = row.rows("availability")
    if places:
        yield from each(places, partial(_there, kind=kind))
    else:
        yield kind


def _there(place: Row, kind: Listing) -> Iterator[Listing]:
    yield replace(
        kind,
        region=place.need_text("region"),
        country=_country(place),
        available=place.flag("available"),
    )


def _listing(row: Row, document: Document) -> Listing:
    has = row.row("configuration") or row.fail("configuration", "is missing")
    count = has.need_number("num_gpus")
    if count < 1 or count != int(count):
        has.fail("num_gpus", f"{count} is not a number of GPUs")
    cents = row.number("hourly_price")
    memory, ram = has.number("vram_per_gpu_in_gb"), has.number("memory_in_gb")
    said, evidence, warnings = _links(has, count, document.url)
    deployed = row.text("deployment_type")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        provider=row.need_text("cloud"),
        instance=row.text("cloud_instance_type") or row.need_text("shade_instance_type"),
        price_model=PriceModel.ON_DEMAND,
        tier=None if deployed == "vm" else deployed,
        available=False,
        gpu=_words(has),
        gpu_count=count,
        gpu_memory=(memory, "GB") if memory else None,
        vcpus=has.number("vcpus"),
        ram=(ram, "GB") if ram else None,
        price=Price(cents / 100) if cents else None,
        price_note=None if cents else "no price in the list",
        price_includes=_includes(has),
        said=said,
        evidence=evidence,
        warnings=warnings,
        row=row,
    )


def _words(has: Row) -> str:
    """The GPU's name, with its form where it has several and the name does not say it."""
    words, form = has.need_text("gpu_type").replace("_", " "), has.text("interconnect")
    if form and FORMED.match(words) and FORM.match(form) and not FORM.search(words):
        return f"{words} {form}"
    return words


def _links(
    has: Row, count: Decimal, url: str
) -> tuple[dict[str, Value], dict[str, Evidence], tuple[str, ...]]:
    """What `nvlink` says of the links between several GPUs."""
    nvlink, form = has.flag("nvlink"), (has.text("interconnect") or "").lower()
    if count < 2 or nvlink is None:
        return {}, {}, ()
    if form == "pcie":
        kind = ScaleUp.NVLINK_BRIDGE if nvlink else ScaleUp.PCIE
        return {"scale_up": kind.value}, {}, ()
    if form.startswith("sxm") and not nvlink:  # not what the board has: then unknown
        note = f"{WITHHELD}: nvlink is false and interconnect is {form}"
        odd = f"nvlink is false, and interconnect {form} has it: ask the cloud"
        return {"scale_up": None}, {"scale_up": Evidence(Basis.STATED, url, note=note)}, (odd,)
    return {}, {}, ()


def _country(place: Row) -> str | None:
    """Of "US, Wichita, KS", else of "kansascity-usa-1"."""
    first = (place.text("display_name") or "").split(",")[0].strip()
    if re.fullmatch("[A-Z]{2}", first):
        return first
    return named_country(place.text("region"))


def _includes(has: Row) -> str:
    disk = has.number("storage_in_gb")
    return f"the instance with {disk} GB of disk" if disk else "the instance as the cloud has it"

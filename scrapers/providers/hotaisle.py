"""Hot Aisle: AMD MI300X in Michigan, as virtual machines and bare metal, from its API.

API: GET https://admin.hotaisle.app/api/teams/{team}/virtual_machines/available/
     GET https://admin.hotaisle.app/api/teams/{team}/bare_metal/available/
     https://admin.hotaisle.app/api/docs/ (read 2026-11-29)

- `OnDemandPrice` is US cents an hour for the whole machine. RAM and disk are in bytes.
- `MinimumReservationMinutes`: bare metal is let by the month at least, at a price of its own.
- `Quantity` 0 is sold out; the answer `null` is that nothing is listed now, an empty list.
- `Specs.cpus` is one object of a virtual machine, and a list of bare metal.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
from scrapers.listing import (
    Document,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    key_of,
)

TEAMS = "https://admin.hotaisle.app/api/teams"
LISTS = ("virtual_machines/available/", "bare_metal/available/")
PROVIDER = Provider(
    slug="hotaisle",
    title="Hot Aisle",
    homepage="https://hotaisle.xyz/",
    source="https://admin.hotaisle.app/api/docs/",  # the lists themselves are each team's
    refresh=timedelta(hours=2),
    credentials=("HOTAISLE_API_KEY", "HOTAISLE_TEAM"),
    home="US",
)
VM, METAL = "VM", "bare metal"
MONTH_MINUTES = Decimal(28 * 24 * 60)  # the shortest month
UNPRICED = "no price in the list"


def fetch(http: Http) -> Iterator[Document]:
    """Both lists. The team's name is in the address asked, and not in the one kept."""
    key, team = key_of(PROVIDER, os.environ)
    for path in LISTS:
        document = http.get(f"{TEAMS}/{team}/{path}", {"Authorization": f"Token {key}"})
        yield replace(document, url=f"{TEAMS}/{{team}}/{path}")


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each machine that is listed, to be had now or not."""
    for document in documents:
        value = document.json()
        if value is None:  # nothing is listed now
            continue
        if not isinstance(value, list):
            raise Unreadable("the answer is no list of machines")
        try:
            rows = Row({"": value}, "").rows("")
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        yield from each(rows, partial(_machine, document=document))


def _machine(row: Row, document: Document) -> Iterator[Listing | Ignored]:
    specs = row.row("Specs") or row.fail("Specs", "is missing")
    gpu, count = _gpus(specs)
    if gpu is None:
        yield Ignored("no GPU")
        return
    cents, quantity = row.number("OnDemandPrice"), row.number("Quantity")
    minutes, ram = row.number("MinimumReservationMinutes"), specs.number("ram_capacity")
    yield Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=f"{gpu} x{count}",
        price_model=_model(minutes),
        country=PROVIDER.home,
        tier=METAL if isinstance(specs.get("cpus"), list) else VM,
        available=None if quantity is None else quantity > 0,
        gpu=gpu,
        gpu_count=count,
        vcpus=specs.number("cpu_cores"),
        ram=(ram, "B") if ram else None,
        price=Price(cents / 100) if cents else None,
        price_note=None if cents else UNPRICED,
        price_includes=_includes(specs),
        minimum_hours=float(minutes / 60) if minutes else None,
        row=row,
    )


def _gpus(specs: Row) -> tuple[str | None, Decimal]:
    """The model and how many of it; two models in one machine are not for us to price."""
    parts = specs.rows("gpus")
    models = {part.need_text("model") for part in parts}
    if len(models) > 1:
        specs.fail("gpus", "are of several models")
    count = sum((part.need_number("count") for part in parts), Decimal(0))
    if models and (count < 1 or count != int(count)):
        specs.fail("gpus", f"{count} is not a number of GPUs")
    return (models.pop() if models else None), count


def _model(minutes: Decimal | None) -> PriceModel:
    """By the month where a month is the least that can be had."""
    if minutes is not None and minutes >= MONTH_MINUTES:
        return PriceModel.RESERVED_1M
    return PriceModel.ON_DEMAND


def _includes(specs: Row) -> str:
    disk = specs.number("disk_capacity")
    return f"the machine with {disk / 10**12:.1f} TB of disk" if disk else "the machine"

"""JarvisLabs: GPUs in India and Europe, one to eight of a host, from its API.

API: GET https://backendn.jarvislabs.net/misc/server_meta
     https://docs.jarvislabs.ai (read 2026-11-29)

- Prices, vCPUs and RAM are for one GPU. `num_gpus` is the most that one instance can have; it and
  `vram` are text. Sizes are 1, 2, 4, 8 and the most.
- A container and a virtual machine of one GPU are one offer at one price.
- `spot_price` null: not sold so. `effective_num_free_devices` is what is free now.
- One GPU has two spellings: "RTX PRO 6000" and "RTX-PRO6000".
"""

import os
import re
from collections.abc import Iterator, Sequence
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

META = "https://backendn.jarvislabs.net/misc/server_meta"
PROVIDER = Provider(
    slug="jarvislabs",
    title="JarvisLabs",
    homepage="https://jarvislabs.ai/",
    source=META,
    refresh=timedelta(hours=2),
    credentials=("JARVISLABS_API_KEY",),
    home="IN",
)
MOST_GPUS = 64
INCLUDES = "the GPUs with their vCPUs and RAM; storage is extra"
UNPRICED = "no price in the list"


def fetch(http: Http) -> Iterator[Document]:
    """Everything on sale: one answer."""
    (key,) = key_of(PROVIDER, os.environ)
    yield http.get(META, {"Authorization": f"Bearer {key}"})


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each GPU in each region, in the sizes of its host, on demand and as spot."""
    for document in documents:
        page = Row(document.json(), "")
        try:
            if "server_meta" not in page.fields:
                raise Unreadable('the answer has no "server_meta"')
            rows = page.rows("server_meta")
        except BadField as problem:
            raise Unreadable(f"the answer: {problem}") from None
        yield from each(rows, partial(_gpu, document=document))
        yield from each([page], _others)


def _others(page: Row) -> Iterator[Ignored]:
    """Machines without GPUs."""
    cpus = page.row("cpu_meta")
    for _ in cpus.rows("combinations") if cpus else ():
        yield Ignored("no GPU")


def _gpu(row: Row, document: Document) -> Iterator[Listing]:
    ways = (
        (
            PriceModel.ON_DEMAND,
            "price_per_hour",
            ("effective_num_free_devices", "num_free_devices"),
        ),
        (PriceModel.SPOT, "spot_price", ("spot_num_free_devices",)),
    )
    sold = [(model, row.number(price), _free(row, free)) for model, price, free in ways]
    if not any(amount for _, amount, _ in sold):
        sold = [(PriceModel.ON_DEMAND, None, sold[0][2])]
    else:
        sold = [way for way in sold if way[1]]  # 0 and null: not sold so
    for count in _sizes(row):
        for model, amount, free in sold:
            yield _listing(row, document, count, model, amount, free)


def _free(row: Row, names: Sequence[str]) -> Decimal | None:
    return next((free for name in names if (free := row.number(name)) is not None), None)


def _sizes(row: Row) -> list[int]:
    """1, 2, 4, 8 and the most that one instance can have; 1 where that is not said."""
    most = row.written("num_gpus")
    if most is None:
        return [1]
    if most < 1 or most != int(most) or most > MOST_GPUS:
        row.fail("num_gpus", f"{most} is not a number of GPUs")
    return sorted({count for count in (1, 2, 4, 8, int(most)) if count <= most})


def _listing(
    row: Row,
    document: Document,
    count: int,
    model: PriceModel,
    amount: Decimal | None,
    free: Decimal | None,
) -> Listing:
    gpu, memory, region = row.need_text("gpu_type"), row.written("vram"), row.text("region")
    vcpus, ram = row.number("cpus_per_gpu"), row.number("ram_per_gpu")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=_instance(gpu, count, vcpus, ram),
        price_model=model,
        region=region,
        country="IN" if region and region.startswith("india-") else None,
        available=None if free is None else free >= count,
        gpu=re.sub(r"(?<=[A-Z])-(?=PRO)", " ", gpu),  # "RTX-PRO6000"
        gpu_count=Decimal(count),
        gpu_memory=(memory, "GB") if memory else None,
        vcpus=count * vcpus if vcpus else None,
        ram=(count * ram, "GB") if ram else None,
        price=Price(amount, per_gpu=True) if amount else None,
        price_note=None if amount else UNPRICED,
        price_includes=INCLUDES,
        row=row,
    )


def _instance(gpu: str, count: int, vcpus: Decimal | None, ram: Decimal | None) -> str:
    """ "2x_RTXPRO6000_56V_320G": one name for both spellings, as other catalogs have it."""
    name = re.sub(r"[ -](?=PRO|6000)", "", gpu).replace(" ", "-")
    host = [f"{count * part}{sign}" for part, sign in ((vcpus, "V"), (ram, "G")) if part]
    return "_".join([f"{count}x", name, *host])

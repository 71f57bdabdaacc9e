"""Prime Intellect: other clouds' GPUs and clusters through one API; each is that cloud's, `via` it.

API: GET https://api.primeintellect.ai/api/v1/availability/gpus
     https://docs.primeintellect.ai/api-reference/check-gpu-availability (read 2026-11-29)

- `prices.onDemand`, or `communityPrice` of the community's cloud, is for all `gpuCount` GPUs
  together; `isSpot` says that it can be taken away.
- `provider` is whose GPUs they are: where we read it itself, its own word wins.
- A chip with its memory is `gpuType` (H100_80GB), its form `socket` (SXM5, PCIe).
- Clusters have more GPUs than one machine, and `interconnect` [Gb/s] with its type; whether that is
  of a node or of the cluster is not said.
- `stockStatus` is Available, Low, Medium or High where there is some.
"""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import FabricKind, MultiNode, PriceModel, Value
from scrapers.fields import BadField, Row, each
from scrapers.http import Http, counted
from scrapers.listing import (
    Document,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    key_of,
    rows_of,
)

GPUS = "https://api.primeintellect.ai/api/v1/availability/gpus"
PROVIDER = Provider(
    slug="primeintellect",
    title="Prime Intellect",
    homepage="https://www.primeintellect.ai/",
    source=GPUS,
    refresh=timedelta(hours=2),
    credentials=("PRIME_API_KEY",),
    home="US",
)
PAGE, MOST_PAGES = 500, 100
NODE_GPUS = 8
CPU = "CPU_NODE"
FORMED = {"A100", "A800", "H100", "H200", "H800", "V100"}  # sold in more than one form
IN_STOCK = {"available": True, "low": True, "medium": True, "high": True}
OUT = {"unavailable": False, "out_of_stock": False, "none": False}
FABRICS = {
    "infiniband": FabricKind.INFINIBAND,
    "roce": FabricKind.ROCE,
    "rocev2": FabricKind.ROCE,
    "ethernet": FabricKind.ETHERNET,
    "efa": FabricKind.EFA,
}
UNPRICED = "no price in the list"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Every page, counted against the total."""
    (key,) = key_of(PROVIDER, os.environ)
    headers = {"Authorization": f"Bearer {key}"}
    pages = (f"{GPUS}?page={n}&page_size={PAGE}" for n in range(1, MOST_PAGES + 1))
    yield from counted((http.get(url, headers) for url in pages), _counted)


def _counted(document: Document) -> tuple[int, int]:
    page = Row(document.json(), "")
    try:
        return len(page.rows("items")), int(page.need_number("totalCount"))
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each item, as it is sold."""
    for document in documents:
        rows = rows_of(document, "items")
        yield from each(rows, partial(_item, document=document))


def _item(row: Row, document: Document) -> Iterator[Listing | Ignored]:
    if row.text("gpuType") == CPU:
        yield Ignored("no GPU")
        return
    count, owner = row.need_number("gpuCount"), row.need_text("provider")
    if count < 1 or count != int(count):
        row.fail("gpuCount", f"{count} is not a number of GPUs")
    (words, memory), ram = _gpu(row), _default(row, "memory")
    amount, currency, variable = _price(row)
    said, warnings = _fabric(row, count)
    yield Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        provider=owner,
        instance=_instance(row, count),
        price_model=PriceModel.SPOT if row.flag("isSpot") else PriceModel.ON_DEMAND,
        region=row.text("dataCenter") or row.text("region"),
        country=_country(row),
        tier=_tier(row, owner),
        available=_available(row),
        gpu=words,
        gpu_count=count,
        gpu_memory=(memory, "GB") if memory else None,
        vcpus=_default(row, "vcpu"),
        ram=(ram, "GB") if ram else None,
        price=Price(amount, currency) if amount else None,
        price_note=(variable or None) if amount else UNPRICED,
        price_includes=f"{count} GPUs as Prime Intellect sells them; disks may be extra",
        said=said,
        warnings=warnings,
        row=row,
    )


def _instance(row: Row, count: Decimal) -> str:
    """ "2x NVIDIA H100 80GB HBM3"; "16x 8x_H100_80GB", two machines of eight."""
    name = row.text("cloudId") or row.need_text("gpuType")
    return name if count == 1 else f"{count}x {name}"


def _gpu(row: Row) -> tuple[str, Decimal | None]:
    """The GPU's name, with its form where it has several, and its memory: "H100_80GB", "SXM5".

    The socket of others ("SXM5" of an MI300X) is not theirs.
    """
    kind, memory = row.need_text("gpuType"), row.number("gpuMemory")
    found = re.fullmatch(r"(.+?)_([0-9]{1,3})GB", kind)
    words = (found[1] if found else kind).replace("_", " ")
    if memory is None and found:
        memory = Decimal(found[2])
    socket = row.text("socket") if words.upper() in FORMED else None
    return f"{words} {socket}" if socket else words, memory or None


def _price(row: Row) -> tuple[Decimal | None, str, str]:
    """The total, its currency, and whether it moves."""
    prices = row.row("prices")
    if prices is None:
        return None, "USD", ""
    moves = "the price moves with the market" if prices.flag("isVariable") else ""
    amount = prices.number("onDemand")
    if row.text("security") == "community_cloud":
        amount = prices.number("communityPrice") or amount
    return amount or None, prices.text("currency") or "USD", moves


def _default(row: Row, name: str) -> Decimal | None:
    part = row.row(name)
    return part.number("defaultCount") if part else None


def _country(row: Row) -> str | None:
    country = row.text("country") or ""
    return country.upper() if len(country) == 2 and country.isalpha() else None


def _tier(row: Row, owner: str) -> str | None:
    """RunPod has two clouds by these names; of others, only the community's is a tier."""
    tier = (row.text("security") or "").removesuffix("_cloud")
    return None if tier == "secure" and owner != "runpod" else tier or None


def _available(row: Row) -> bool | None:
    return (IN_STOCK | OUT).get((row.text("stockStatus") or "").lower())


def _fabric(row: Row, count: Decimal) -> tuple[dict[str, Value], tuple[str, ...]]:
    """What joins the machines, where the item says it."""
    rate, word = row.number("interconnect"), row.text("interconnectType")
    kind = FABRICS.get((word or "").lower())
    said: dict[str, Value] = {"fabric": kind.value} if kind else {}
    if word and kind is None:
        return {}, (f"interconnectType {word[:20]!r} is not a fabric that we know",)
    if count > NODE_GPUS:
        said["multi_node"] = MultiNode.SELF_SERVE.value
        machines = f"{count} GPUs are several machines"
        if rate:
            machines += f"; of which the {rate} Gb/s are is not said"
        return said, (machines,)
    return said | ({"fabric_gbits_per_s": rate} if rate and kind else {}), ()

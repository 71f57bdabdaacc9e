"""Voltage Park: bare-metal nodes of 8 GPUs, on Ethernet or on InfiniBand.

API: GET https://cloud-api.voltagepark.com/api/v1/bare-metal/locations (no key)
     https://docs.voltagepark.com/on-demand/api (read 2026-11-29)

- Prices are decimal strings, US$ for one GPU and hour; a node has 8.
- Each location sells two networks at two prices: two types of one node.
- Where no GPU is free the count is 0 and the price stays.
- A location has an id and no name: in which country it lies is not said.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import FabricKind, PriceModel
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    Document,
    Ignored,
    Listing,
    Parsed,
    Price,
    Provider,
    Unreadable,
    rows_of,
)

LOCATIONS = "https://cloud-api.voltagepark.com/api/v1/bare-metal/locations"
PROVIDER = Provider(
    slug="voltagepark",
    title="Voltage Park",
    homepage="https://www.voltagepark.com/",
    source=LOCATIONS,
    refresh=timedelta(hours=6),
    home="US",
)
LIMIT = 100
MOST_PAGES = 100
NETWORKS = {
    "ethernet": ("Ethernet", FabricKind.ETHERNET),
    "infiniband": ("InfiniBand", FabricKind.INFINIBAND),
}


def fetch(http: Http) -> Iterator[Document]:
    """Every page; in the end as many locations as it says that there are."""
    seen = 0
    for page in range(MOST_PAGES):
        after = f"?limit={LIMIT}&offset={seen}" if page else ""
        document = http.get(f"{LOCATIONS}{after}")
        yield document
        answer = Row(document.json(), "")
        try:
            rows, total = len(answer.rows("results")), answer.number("total_result_count")
            more = answer.flag("has_next")
        except BadField as problem:
            raise Unreadable(str(problem)) from None
        seen += rows
        if not more or not rows:
            if total is not None and seen != total:
                raise FetchFailed(
                    f"Voltage Park says that it has {total} locations and gave {seen}"
                )
            return
    raise FetchFailed(f"the pages of Voltage Park do not end within {MOST_PAGES}")


def parse(documents: Sequence[Document]) -> Parsed:
    """A node on each network of each location."""
    for document in documents:
        rows = rows_of(document, "results")
        yield from each(rows, partial(_read, document=document))


def _read(row: Row, *, document: Document) -> Iterator[Listing | Ignored]:
    for network in NETWORKS:
        amount = row.written(f"gpu_price_{network}")
        if not amount:
            yield Ignored("a network that is not sold there")
        else:
            yield _listing(row, document, network, amount)


def _listing(row: Row, document: Document, network: str, amount: Decimal) -> Listing:
    node = row.row("specs_per_node")
    if node is None:
        row.fail("specs_per_node", "is missing")
    gpu, count = node.need_text("gpu_model"), node.need_number("gpu_count")
    word, fabric = NETWORKS[network]
    free, ram = row.number(f"gpu_count_{network}"), node.number("ram_gb")
    disk = node.number("storage_gb")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=f"bare metal {count}x {_short(gpu)} ({word})",
        price_model=PriceModel.ON_DEMAND,
        available=None if free is None else free >= count,
        gpu=gpu,
        gpu_count=count,
        ram=(ram, "GB") if ram else None,
        price=Price(amount, per_gpu=True),
        price_includes=f"{disk} GB of local storage" if disk else None,
        said={"fabric": fabric.value},
        row=row,
    )


def _short(gpu: str) -> str:
    """ "h100-sxm5-80gb" → H100 SXM5, without the memory."""
    words = [word for word in gpu.replace("_", "-").split("-") if not word.lower().endswith("gb")]
    return " ".join(words).upper()

"""Vast.ai: a market of other people's machines, rented whole or in parts, from its search API.

API: POST https://console.vast.ai/api/v0/bundles/
     https://docs.vast.ai/api-reference/search/search-offers (read 2026-11-29)

- An answer is cut at `limit` (64 unless said) without a page token: walk on by price.
- Left unsaid, `verified`, `rentable` and `cpu_arch` hide much of the market: all are said.
  `external` is not: it is null on most offers, which no list of true and false would match.
- `dph_base` is the GPUs of the offer, all of them, for an hour; `dph_total` adds 8 GB of disk.
  We compare with 100 GB: `storage_cost` is US$ per GB and month, and a month there is 720 hours.
- `min_bid` is the price of an interruptible instance, without disk.
- `gpu_ram` is the usable MiB of one GPU, `cpu_ram` the MB of this offer, already its share.
- Several offers may be parts of one machine (`gpu_ids` overlap): they cannot all be had at once.
- `bw_nvlink` is measured by the host's own test [GB/s]; 0 says "not measured, or none".
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import WITHHELD, Basis, MultiNode, PriceModel, Rejected, Value
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
from scrapers.quantities import fold

BUNDLES = "https://console.vast.ai/api/v0/bundles/"
PROVIDER = Provider(
    slug="vast",
    title="Vast.ai",
    homepage="https://vast.ai/",
    source=BUNDLES,
    refresh=timedelta(hours=1),
    home="US",
    market=True,
)
LIMIT = 2000
MOST_PAGES = 1000
EITHER = {"in": [True, False]}
DISK_GB = Decimal(100)
MONTH_HOURS = Decimal(720)
WITH_DISK = "100 GB of disk at the host's price; traffic is extra"
WITHOUT_DISK = "the GPUs alone: the price of disk is not in the listing"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """The whole market, cheapest first, each page from the last price of the one before."""
    seen: set[Decimal | None] = set()
    cheapest = Decimal(0)
    for _ in range(MOST_PAGES):
        document = http.post_json(BUNDLES, _search(cheapest))
        yield document
        rows = _offers(document)
        new = {_number(row, "id") for row in rows} - seen
        dearest = max((_number(row, "dph_total") or cheapest for row in rows), default=cheapest)
        if not new:
            return
        if dearest <= cheapest and len(rows) >= LIMIT:
            raise FetchFailed(f"more than {LIMIT} offers at one price: the walk cannot go on")
        seen |= new
        cheapest = dearest
    raise FetchFailed(f"the walk by price did not end within {MOST_PAGES} pages")


def _search(cheapest: Decimal) -> dict[str, object]:
    return {
        "type": "ondemand",
        "limit": LIMIT,
        "order": [["dph_total", "asc"], ["id", "asc"]],
        "dph_total": {"gte": float(cheapest)},
        "verified": EITHER,
        "rentable": EITHER,
        "cpu_arch": {"in": ["amd64", "arm64"]},
    }


def _offers(document: Document) -> list[Row]:
    page = Row(document.json(), "")
    try:
        if "offers" not in page.fields:
            raise Unreadable('the answer has no "offers"')
        return page.rows("offers")
    except BadField as problem:
        raise Unreadable(f"the answer {problem.reason}") from None


def _number(row: Row, name: str) -> Decimal | None:
    """For the walk alone: what cannot be read here is rejected by `parse`."""
    try:
        return row.number(name)
    except BadField:
        return None


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """On demand, and interruptible where a bid is taken, for each offer of a machine."""
    seen: set[Decimal] = set()
    for document in documents:
        yield from each(_offers(document), partial(_read, document=document, seen=seen))


def _read(
    row: Row, document: Document, seen: set[Decimal]
) -> Iterator[Listing | Rejected | Ignored]:
    offer = row.number("id")
    if offer is not None and offer in seen:
        yield Ignored("an offer that stood on the page before")
        return
    yield _listing(row, document, PriceModel.ON_DEMAND, _base(row))
    bid = row.number("min_bid")
    if bid is not None and bid != 0:  # 0: no bids are taken
        yield _listing(row, document, PriceModel.SPOT, bid)
    if offer is not None:
        seen.add(offer)


def _base(row: Row) -> Decimal | None:
    """The GPUs alone, for an hour."""
    base, total = row.number("dph_base"), row.number("dph_total")
    if base is not None or total is None:
        return base
    return total - (row.number("storage_total_cost") or 0)


def _listing(row: Row, document: Document, model: PriceModel, base: Decimal | None) -> Listing:
    gpu, count = row.text("gpu_name"), row.need_number("num_gpus")
    if count < 1 or count != int(count):
        row.fail("num_gpus", f"{count} is not a number of GPUs")
    disk = row.number("storage_cost")
    if disk is not None and disk < 0:
        row.fail("storage_cost", "is negative")
    region, country = _place(row.text("geolocation"))
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=_instance(row, gpu, int(count)),
        price_model=model,
        region=region,
        country=country,
        tier=_tier(row),
        available=_available(row),
        gpu=gpu,
        gpu_count=count,
        gpu_memory=_amount(row, "gpu_ram", "MiB"),
        total_gpu_memory=_amount(row, "gpu_total_ram", "MiB"),
        vcpus=row.number("cpu_cores_effective"),
        ram=_amount(row, "cpu_ram", "MB"),
        price=None if base is None else _with_disk(base, disk),
        price_note=_note(model, base),
        price_includes=WITHOUT_DISK if disk is None else WITH_DISK,
        board_gpus=_board(row, count),
        said=_links(row, count) | _alone(row),
        evidence=_evidence(document.url),
        warnings=tuple(_warnings(row, count)),
        row=row,
    )


def _with_disk(base: Decimal, disk: Decimal | None) -> Price:
    """A price of 0 stays 0, to be seen for what it is."""
    return Price(base if disk is None or base <= 0 else base + DISK_GB * disk / MONTH_HOURS)


def _note(model: PriceModel, base: Decimal | None) -> str | None:
    if base is None:
        return "no price in this document"
    return "the lowest bid taken now; can be interrupted" if model is PriceModel.SPOT else None


def _instance(row: Row, gpu: str | None, count: int) -> str:
    """Stable while the machine and the size are: an offer's own id changes with every rental."""
    machine, gpu = row.number("machine_id"), fold(gpu or "GPU")
    if machine is not None:
        return f"{count}x {gpu} m{machine}"
    return f"{count}x {gpu} o{row.need_number('id')}"


def _amount(row: Row, name: str, unit: str) -> tuple[Decimal, str] | None:
    amount = row.number(name)
    return None if amount is None else (amount, unit)


CONTINENTS = {"AF", "AN", "AS", "EU", "NA", "OC", "SA"}


def _place(geolocation: str | None) -> tuple[str | None, str | None]:
    """Region and country: "Utah, US", ", CA" (no city), "US", "Utah, US, NA" (a continent)."""
    parts = [part.strip() for part in (geolocation or "").split(",")]
    if len(parts) > 2 and parts[-1] in CONTINENTS:
        parts.pop()
    country = parts[-1] if len(parts[-1]) == 2 and parts[-1].isalpha() else None
    region = " ".join(part for part in parts if part)
    return region or None, country and country.upper()


HOSTING = {None: "", Decimal(0): "community", Decimal(1): "datacenter"}


def _tier(row: Row) -> str | None:
    """Who hosts and whether the machine passed the tests: "datacenter-verified"."""
    hosting = HOSTING.get(row.number("hosting_type"), "other")
    state = row.text("verification")
    if state is None and (verified := row.flag("verified")) is not None:
        state = "verified" if verified else "unverified"
    return "-".join(word for word in (hosting, state) if word) or None


def _available(row: Row) -> bool | None:
    rentable, rented = row.flag("rentable"), row.flag("rented")
    return None if rentable is None else rentable and not rented


# --- Links: measured by the host, so evidence of NVLink and never of its absence ---------------


def _links(row: Row, count: Decimal) -> dict[str, Value]:
    """What `bw_nvlink` shows, for more than one GPU."""
    measured = row.number("bw_nvlink")
    if count < 2 or measured is None:
        return {}
    if measured <= 0:  # "0 = not measured or absent": nothing follows, not even from the board
        return {"scale_up": None}
    return {"measured_pair_gbytes_per_s": round(measured, 2)}


def _alone(row: Row) -> dict[str, Value]:
    """An offer is one machine: there is no second one of it to rent."""
    return {} if row.text("cluster_id") else {"multi_node": MultiNode.NO.value}


def _board(row: Row, count: Decimal) -> int | None:
    """GPUs of the whole machine."""
    share = row.number("gpu_frac")
    return round(count / share) if share else None


def _evidence(url: str) -> dict[str, Evidence]:
    note = "bw_nvlink, as the host's own test measured it; the direction is not said"
    none = f"{WITHHELD}: bw_nvlink is 0, which is not measured, or none"
    return {
        "measured_pair_gbytes_per_s": Evidence(Basis.MEASURED, url, note=note),
        "scale_up": Evidence(Basis.DOCUMENTED, url, note=none),
        "multi_node": Evidence(Basis.DERIVED, "rule: an offer of this market is one machine"),
    }


def _warnings(row: Row, count: Decimal) -> Iterator[str]:
    if row.text("gpu_name") is None:
        yield "the listing does not name the GPU"
    if count > 1 and row.number("bw_nvlink") == 0:
        yield "bw_nvlink is 0: not measured, or no NVLink; ask the host"
    if count > 1 and row.flag("vms_enabled"):
        yield "the host rents virtual machines, where GPU peer-to-peer and NVLink may be missing"
    share = row.number("gpu_frac")
    if share is not None and share < 1:
        yield "a part of a machine that is also offered in other sizes: do not add them up"
    space = row.number("disk_space")
    if space is not None and space < DISK_GB:
        yield f"the machine has {space:.0f} GB of disk, less than the 100 GB in the price"

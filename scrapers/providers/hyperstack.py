"""Hyperstack (NexGen Cloud): GPU virtual machines in Canada, Norway and the US, from its API.

Flavors:   GET https://infrahub-api.nexgencloud.com/v1/core/flavors
           https://docs.hyperstack.cloud/docs/api-reference/list-flavors
Pricebook: GET https://infrahub-api.nexgencloud.com/v1/pricebook
           https://docs.hyperstack.cloud/docs/api-reference/get-pricebook
Stock:     GET https://infrahub-api.nexgencloud.com/v1/core/stocks (all read 2026-11-29)

- The pricebook has a price for one GPU and hour, as text or number, by the GPU's name; CPU and RAM
  of GPU flavors are lines of it too, at 0. `discount_applied` says that `value` is the caller's
  own: the list price is `original_value` then.
- A flavor stands in each region that has it. `available` of the stock is text.
- The GPU's name says its form: PCIe, PCIe-NVLink (bridged), SXM5; "-spot" ends what can be taken
  away, "-K" what has the faster network.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import Basis, PriceModel, Rejected, ScaleUp, Value
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
    key_of,
)

API = "https://infrahub-api.nexgencloud.com/v1"
FLAVORS, PRICEBOOK, STOCKS = f"{API}/core/flavors", f"{API}/pricebook", f"{API}/core/stocks"
PROVIDER = Provider(
    slug="hyperstack",
    title="Hyperstack",
    homepage="https://www.hyperstack.cloud/",
    source=FLAVORS,
    refresh=timedelta(hours=6),
    credentials=("HYPERSTACK_API_KEY",),
    home="GB",
)
COUNTRIES = {"CANADA": "CA", "NORWAY": "NO", "US": "US"}
LABELS = "https://docs.hyperstack.cloud/docs/hardware/flavor-labels"
INCLUDES = "the GPUs with the flavor's vCPUs, RAM and disks; public addresses are extra"
FASTER = "a flavor with the faster network (-K); its speed is not in the list"
SPOT_NOTE = "can be taken away; no snapshots"


def fetch(http: Http) -> Iterator[Document]:
    """Flavors, pricebook and stock: one answer each."""
    (key,) = key_of(PROVIDER, os.environ)
    for url in (FLAVORS, PRICEBOOK, STOCKS):
        yield http.get(url, {"api_key": key})


# --- Parse ------------------------------------------------------------------------------------


@dataclass
class _Known:
    """The pricebook by name, and the stock by region, model and size."""

    prices: dict[str, Decimal] = field(default_factory=dict)
    priced: bool = False  # a pricebook was among the documents
    stock: dict[tuple[str, str, str], Decimal] = field(default_factory=dict)


def parse(documents: Sequence[Document]) -> Parsed:
    """Flavors with the pricebook's prices. A price without a flavor is no offer."""
    known = _Known()
    groups: list[tuple[Row, Document]] = []
    prices: list[Row] = []
    stocks: list[Row] = []
    for document in documents:
        flavors, lines, regions = _rows(document)
        groups += [(row, document) for row in flavors]
        prices += lines
        stocks += regions
    yield from each(prices, partial(_price, known=known, used=bool(groups)))
    yield from each(stocks, partial(_stock, known=known))
    for group, document in groups:
        yield from each([group], partial(_group, document=document, known=known))


def _rows(document: Document) -> tuple[list[Row], list[Row], list[Row]]:
    """Groups of flavors, lines of the pricebook, regions of the stock; of one answer or all."""
    value = document.json()
    page = Row({"pricebook": value} if isinstance(value, list) else value, "")
    try:
        if not {"data", "flavors", "pricebook", "stocks"} & page.fields.keys():
            raise Unreadable("the answer is neither flavors, nor a pricebook, nor stock")
        inner = page.row("flavors") if isinstance(page.get("flavors"), dict) else page
        stock = page.row("stocks") if isinstance(page.get("stocks"), dict) else page
        return (
            inner.rows("data") if inner else [],
            page.rows("pricebook"),
            stock.rows("stocks") if stock else [],
        )
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _price(row: Row, known: _Known, used: bool) -> Iterator[Rejected | Ignored]:
    """Fills `known` from a line of the pricebook."""
    known.priced = True
    name, value = row.need_text("name"), row.written("value")
    if row.flag("discount_applied"):
        value = row.written("original_value") or value
    if value is None:
        row.fail("value", "is missing")
    known.prices[name] = value
    if used:
        return
    if name.upper() in ("CPU", "RAM"):
        yield Ignored("a price of no GPU")
    else:
        yield Rejected("a price without a flavor that has it", row.where, row.shown)


def _stock(row: Row, known: _Known) -> Iterator[Ignored]:
    """Fills `known` from a region of the stock."""
    region = row.need_text("region")
    for model in row.rows("models"):
        name, sizes = model.need_text("model"), model.row("configurations")
        for size in sizes.fields if sizes else ():
            known.stock[region, name, size] = (sizes.written(size) if sizes else None) or Decimal(0)
        if not sizes:
            known.stock[region, name, ""] = model.written("available") or Decimal(0)
        yield Ignored("the stock of a model")


def _group(row: Row, document: Document, known: _Known) -> Iterator[Listing | Rejected | Ignored]:
    """The flavors of one GPU in one region."""
    gpu, region = row.text("gpu"), row.text("region_name")
    read = partial(_flavor, gpu=gpu, region=region, document=document, known=known)
    yield from each(row.rows("flavors"), read)


def _flavor(
    row: Row, gpu: str | None, region: str | None, document: Document, known: _Known
) -> Iterator[Listing | Ignored]:
    gpu, count = row.text("gpu") or gpu, row.number("gpu_count")
    if not gpu or count == 0:
        yield Ignored("no GPU")
        return
    name, region = row.need_text("name"), row.text("region_name") or region
    if count is None or count < 1:
        row.fail("gpu_count", f"{count} is not a number of GPUs")
    spot = name.lower().endswith("-spot") or gpu.lower().endswith("-spot")
    priced_as = f"{gpu}-spot" if spot and not gpu.lower().endswith("-spot") else gpu
    price, note = _amount(row, priced_as, count, known)
    said, evidence = _links(gpu, count)
    available, warnings = _available(row, gpu, count, region, known)
    ram = row.number("ram")
    yield Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=re.sub("-spot$", "", name, flags=re.IGNORECASE),
        price_model=PriceModel.SPOT if spot else PriceModel.ON_DEMAND,
        region=region,
        country=COUNTRIES.get(region.split("-")[0]) if region else None,
        available=available,
        gpu=re.sub(r"(-spot|-K8s|-K)+$", "", gpu, flags=re.IGNORECASE),  # "H100-80G-PCIe-NVLink"
        gpu_count=count,
        vcpus=row.number("cpu"),
        ram=(ram, "GB") if ram else None,
        price=price,
        price_note=SPOT_NOTE if spot and price else note,
        price_includes=INCLUDES,
        said=said,
        evidence=evidence,
        warnings=(*warnings, FASTER) if f"{name} {gpu} ".upper().count("-K ") else warnings,
        row=row,
    )


def _amount(row: Row, gpu: str, count: Decimal, known: _Known) -> tuple[Price | None, str | None]:
    """GPUs, vCPUs and RAM at the pricebook's prices; 0 for the GPU is "not sold so"."""
    each_gpu = known.prices.get(gpu)
    if not each_gpu:
        said = "the pricebook has no price for it" if known.priced else "no price in this document"
        return None, said
    host = [(row.number("cpu"), "CPU"), (row.number("ram"), "RAM")]
    parts = [(amount or 0) * known.prices.get(part, Decimal(0)) for amount, part in host]
    return Price(count * each_gpu + sum(parts)), None


def _links(gpu: str, count: Decimal) -> tuple[dict[str, Value], dict[str, Evidence]]:
    """NVLink that the name of a PCIe card says."""
    if count < 2 or "NVLINK" not in gpu.upper() or "PCIE" not in gpu.upper():
        return {}, {}
    rule = f"rule: NVLink on PCIe cards is a bridge; {LABELS}"
    return {"scale_up": ScaleUp.NVLINK_BRIDGE.value}, {"scale_up": Evidence(Basis.DERIVED, rule)}


def _available(
    row: Row, gpu: str, count: Decimal, region: str | None, known: _Known
) -> tuple[bool | None, tuple[str, ...]]:
    """By the flavor itself, else by the stock of its GPU; both are shown where they differ."""
    sizes = [known.stock.get((region or "", gpu, size)) for size in (f"{count}x", "")]
    stock = next((number > 0 for number in sizes if number is not None), None)
    said = row.flag("stock_available")
    if said is not None and stock is not None and said is not stock:
        words = {True: "some", False: "none"}
        return said, (f"the flavor says {words[said]} in stock, the list of stock {words[stock]}",)
    return (stock if said is None else said), ()

"""Crusoe: GPU instances, from its public price page. Its API has no prices.

Page: GET https://crusoe.ai/cloud/pricing (read 2026-11-29)

- A price is for one GPU and hour, first on demand, then spot.
- "Contact sales" is a quote, never a 0.
- The page names a GPU; TYPES has the largest instance type of it:
  https://docs.crusoecloud.com/compute/virtual-machines/overview
"""

import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal

from catalog.records import PriceModel, Rejected
from scrapers.fields import BadField
from scrapers.http import Http
from scrapers.listing import Document, Listing, Parsed, Price, Provider, Unreadable
from scrapers.pages import Element, read_page, the

PAGE = "https://crusoe.ai/cloud/pricing"
PROVIDER = Provider(
    slug="crusoe",
    title="Crusoe",
    homepage="https://crusoe.ai/",
    source=PAGE,
    refresh=timedelta(hours=24),
    how="from its public price page",
    home="US",
)
# Chip, memory [GB] and form of the page → instance type, its GPUs, the GPU's words.
TYPES = {
    ("GB200", 186, ""): ("gb200-186gb-nvl-ib.4x", 4, "GB200"),
    ("B300", 288, ""): ("b300-288gb-sxm-ib.8x", 8, "B300"),
    ("B200", 180, ""): ("b200-180gb-sxm-ib.8x", 8, "B200"),
    ("B200", 192, ""): ("b200-180gb-sxm-ib.8x", 8, "B200"),
    ("H200", 141, ""): ("h200-141gb-sxm-ib.8x", 8, "H200 SXM5"),
    ("H100", 80, ""): ("h100-80gb-sxm-ib.8x", 8, "H100 SXM5"),
    ("A100", 80, "sxm"): ("a100-80gb-sxm-ib.8x", 8, "A100 SXM4 80GB"),
    ("A100", 80, "pcie"): ("a100-80gb.8x", 8, "A100 PCIe 80GB"),
    ("A100", 40, "pcie"): ("a100.8x", 8, "A100 PCIe 40GB"),
    ("L40S", 48, ""): ("l40s-48gb.8x", 8, "L40S"),
    ("A40", 48, ""): ("a40.8x", 8, "A40"),
    ("MI300X", 192, ""): ("mi300x-192gb-ib.8x", 8, "MI300X"),
    ("MI355X", 288, ""): ("mi355x-288gb-roce.8x", 8, "MI355X"),
}
CONTACT = "contact sales"
NOT_SOLD = {"", "n/a", "-", "\N{EM DASH}"}


def fetch(http: Http) -> Iterator[Document]:
    """The page."""
    yield http.get(PAGE)


def parse(documents: Sequence[Document]) -> Parsed:
    """Each GPU, on demand or by quote, and spot where it is sold so."""
    for document in documents:
        cards = read_page(document.body).all(".pricing_gpu-item")
        if not cards:
            raise Unreadable("the page has no list of GPU prices")
        for n, card in enumerate(cards):
            try:
                yield from list(_read(card, f"item[{n}]", document))
            except BadField as problem:
                yield Rejected(problem.reason, problem.where, card.text())


def _read(card: Element, where: str, document: Document) -> Iterator[Listing]:
    heading = the(card.all(".pricing-item-heading"), "a heading", where).text()
    prices = card.all(".pricing-rich")
    if len(prices) != 2:
        raise BadField(where, f"{len(prices)} prices, where on demand and spot were")
    on_demand, spot = (_price(price, where) for price in prices)
    words = " ".join([heading, *(tag.text() for tag in card.all(".pricing-tag"))])
    if on_demand is not None or spot is None:
        model = PriceModel.ON_DEMAND if on_demand else PriceModel.QUOTE
        yield _listing(card, where, document, words, model, on_demand)
    if spot is not None:
        yield _listing(card, where, document, words, PriceModel.SPOT, spot)


def _price(element: Element, where: str) -> Decimal | None:
    """US$ for one GPU and hour; None: by quote, or not sold so."""
    text = element.text()
    if CONTACT in text.lower() or text.lower() in NOT_SOLD:
        return None
    found = re.fullmatch(r"\$ ?([0-9]{1,4}(?:\.[0-9]{1,4})?) ?/ ?GPU-h(?:ou)?r", text)
    if found is None:
        raise BadField(where, f"{text[:40]!r} is not a price in US$ for a GPU and hour")
    return Decimal(found[1])


def _listing(
    card: Element,
    where: str,
    document: Document,
    words: str,
    model: PriceModel,
    price: Decimal | None,
) -> Listing:
    instance, gpus, gpu = _type(words, where)
    return Listing(
        where=where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=instance,
        price_model=model,
        gpu=gpu,
        gpu_count=Decimal(gpus),
        price=None if price is None else Price(price, per_gpu=True),
        price_note="contact sales" if price is None else "by the GPU: the largest type of it",
        row=card.text(),
    )


_FORMS = {"sxm": "sxm", "sxm4": "sxm", "hgx": "sxm", "pcie": "pcie"}


def _type(words: str, where: str) -> tuple[str, int, str]:
    """By chip, memory and, where both are sold, form: "NVIDIA A100 80GB SXM"."""
    tokens = re.findall(r"[A-Za-z0-9]+", words)
    memories = [int(found[1]) for t in tokens if (found := re.fullmatch(r"([0-9]{2,3})GB", t))]
    form = next((_FORMS[t.lower()] for t in tokens if t.lower() in _FORMS), "")
    for chip in tokens:
        for memory in memories:
            kind = TYPES.get((chip.upper(), memory, form)) or TYPES.get((chip.upper(), memory, ""))
            if kind:
                return kind
    raise BadField(where, f"unknown GPU name {words[:60]!r}: of no type that we know")

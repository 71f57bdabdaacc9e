"""Verda (once DataCrunch): GPU instances in Finland and Iceland, from its public API.

Types:        GET https://api.verda.com/v1/instance-types
Availability: GET https://api.verda.com/v1/instance-availability, for clients with a key
              https://api.verda.com/v1/docs (both read 2026-11-29)

- `price_per_hour` and `spot_price` are text, for the whole instance; null: not sold so.
- `gpu_memory` is that of all GPUs together. [GB]
- A type has one price wherever it stands. The availability says where it can be had now: a
  location with an empty list is sold out, one that is not in the list is no more.
- `p2p` ("50GB/s") does not say whether it counts one way or both: it is shown, not believed.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel, Rejected
from scrapers.fields import BadField, Row, each
from scrapers.http import FetchFailed, Http
from scrapers.listing import Document, Ignored, Listing, Parsed, Price, Provider, Unreadable

TYPES = "https://api.verda.com/v1/instance-types"
AVAILABILITY = "https://api.verda.com/v1/instance-availability"
TOKENS = "https://api.verda.com/v1/oauth2/token"
PROVIDER = Provider(
    slug="verda",
    title="Verda",
    homepage="https://verda.com/",
    source=TYPES,
    refresh=timedelta(hours=6),
    home="FI",
)
COUNTRIES = {"FIN": "FI", "ICE": "IS"}
DISK_EXTRA = "the instance; disks are extra"
UNPRICED = "no price in the list"


# --- Fetch ------------------------------------------------------------------------------------


def fetch(http: Http) -> Iterator[Document]:
    """Types and prices; the availability too with VERDA_CLIENT_ID and VERDA_CLIENT_SECRET."""
    yield http.get(TYPES)
    client, secret = os.environ.get("VERDA_CLIENT_ID"), os.environ.get("VERDA_CLIENT_SECRET")
    if client and secret:
        yield http.get(AVAILABILITY, {"Authorization": f"Bearer {_token(http, client, secret)}"})


def _token(http: Http, client: str, secret: str) -> str:
    """Never part of a document that is kept."""
    asked = {"grant_type": "client_credentials", "client_id": client, "client_secret": secret}
    try:
        return Row(http.post_json(TOKENS, asked).json(), "").need_text("access_token")
    except (BadField, Unreadable):
        raise FetchFailed("api.verda.com answers without a token") from None


# --- Parse ------------------------------------------------------------------------------------


def parse(documents: Sequence[Document]) -> Parsed:
    """Each type on demand and as spot, in each location that the availability names."""
    types: list[tuple[Row, Document]] = []
    places: list[Row] = []
    for document in documents:
        rows, is_availability = _rows(document)
        if is_availability:
            places += rows
        else:
            types += [(row, document) for row in rows]
    stock: dict[str, set[str]] = {}
    yield from each(places, partial(_stock, stock=stock))
    for row, document in types:
        yield from each([row], partial(_read, document=document, stock=stock))


def _rows(document: Document) -> tuple[list[Row], bool]:
    """The rows of one answer, and whether they are the availability."""
    value = document.json()
    if isinstance(value, list):
        rows = Row({"": value}, "").rows("")
        return rows, any(isinstance(item, dict) and "location_code" in item for item in value)
    page = Row(value, "")
    try:
        for name in ("instance_availability", "instance_types"):
            if name in page.fields:
                return page.rows(name), name == "instance_availability"
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None
    raise Unreadable("the answer is no list of instance types or of their availability")


def _stock(row: Row, stock: dict[str, set[str]]) -> Iterator[Rejected]:
    """Fills `stock`: location → the types to be had there now."""
    if row.get("availabilities") is None:  # an empty list is sold out, no list says nothing
        row.fail("availabilities", "is not a list")
    stock.setdefault(row.need_text("location_code"), set()).update(row.texts("availabilities"))
    yield from ()


def _read(
    row: Row, document: Document, stock: Mapping[str, set[str]]
) -> Iterator[Listing | Ignored]:
    gpu = row.row("gpu")
    count = gpu.need_number("number_of_gpus") if gpu else row.fail("gpu", "is missing")
    if count == 0:
        yield Ignored("no GPU")
        return
    if count < 0 or count != int(count):
        row.fail("gpu.number_of_gpus", f"{count} is not a number of GPUs")
    name = row.need_text("instance_type")
    for region in stock or (None,):
        available = name in stock[region] if region is not None else None
        for model, price, note in _prices(row):
            yield _listing(
                row,
                document,
                name=name,
                count=count,
                region=region,
                available=available,
                model=model,
                price=price,
                note=note,
            )


def _prices(row: Row) -> Iterator[tuple[PriceModel, Price | None, str | None]]:
    currency = row.text("currency") or "USD"
    ways = ((PriceModel.ON_DEMAND, "price_per_hour"), (PriceModel.SPOT, "spot_price"))
    sold = [(model, amount) for model, field in ways if (amount := row.written(field))]
    for model, amount in sold:
        yield model, Price(amount, currency), None
    if not sold:  # "" and 0 are "not sold so" as null is
        yield PriceModel.ON_DEMAND, None, UNPRICED


def _listing(
    row: Row,
    document: Document,
    *,
    name: str,
    count: Decimal,
    region: str | None,
    available: bool | None,
    model: PriceModel,
    price: Price | None,
    note: str | None,
) -> Listing:
    cpu, total = row.row("cpu"), _gigabytes(row, "gpu_memory")
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=name,
        price_model=model,
        region=region,
        country=COUNTRIES.get(region.split("-")[0]) if region else None,
        available=available,
        gpu=_words(row),
        gpu_count=count,
        gpu_memory=(total[0] / count, total[1]) if total else None,
        total_gpu_memory=total,
        vcpus=cpu.number("number_of_cores") if cpu else None,
        ram=_gigabytes(row, "memory"),
        price=price,
        price_note=note,
        price_includes=_includes(row),
        warnings=tuple(_warnings(row)),
        row=row,
    )


def _words(row: Row) -> str | None:
    """ "H100 SXM5 80GB"; "CC" at its end is confidential computing on the same GPU."""
    words = row.text("name") or row.text("model")
    return words.removesuffix(" CC") if words else None


def _gigabytes(row: Row, name: str) -> tuple[Decimal, str] | None:
    part = row.row(name)
    amount = part.number("size_in_gigabytes") if part else None
    return (amount, "GB") if amount else None


def _includes(row: Row) -> str:
    disk = _gigabytes(row, "storage")
    return f"with {disk[0]} GB of local disk" if disk else DISK_EXTRA


def _warnings(row: Row) -> Iterator[str]:
    if p2p := row.text("p2p"):
        yield f"p2p {p2p[:40]!r} between its GPUs, by the provider; one way or both is not said"

"""RunPod: pods of one or more GPUs, in its secure and its community cloud, and Instant Clusters.

API: POST https://api.runpod.io/graphql, gpuTypes (answers without a key)
     https://graphql-spec.runpod.io/#definition-GpuType
     GET https://rest.runpod.io/v2/catalog/gpus, read here where given (it needs a key)
     https://docs.runpod.io/api-reference-v2 (both read 2026-11-29)

- Every price is US$ for one GPU and hour, bids and cluster prices too.
- Secure and community cloud are two tiers. 0 says "not sold there", never free.
- A community price far below the secure one stands where nobody offers: a placeholder.
- Of several GPUs in one pod, `lowestPrice` knows: the document's `gpu_count` says how many.
- `stockStatus` null says that none is to be had. `minMemory` is the host's RAM [GB].
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from functools import partial

from catalog.records import PriceModel, Rejected
from scrapers.fields import BadField, Row, each
from scrapers.http import Http
from scrapers.listing import Document, Listing, Parsed, Price, Provider, Unreadable

GRAPHQL = "https://api.runpod.io/graphql"
PROVIDER = Provider(
    slug="runpod",
    title="RunPod",
    homepage="https://www.runpod.io/",
    source=GRAPHQL,
    refresh=timedelta(hours=1),
    home="US",
)
LOWEST = "{ minimumBidPrice uninterruptablePrice minVcpu minMemory stockStatus }"
QUERY = f"""query {{ gpuTypes {{
  id displayName memoryInGb maxGpuCount secureCloud communityCloud
  securePrice communityPrice secureSpotPrice communitySpotPrice
  clusterPrice nodeGroupDatacenters {{ id }}
  secureLowest: lowestPrice(input: {{ gpuCount: 1, secureCloud: true }}) {LOWEST}
  communityLowest: lowestPrice(input: {{ gpuCount: 1, secureCloud: false }}) {LOWEST}
}} }}"""
TIERS = ("secure", "community")
PLACEHOLDER = Decimal(3)  # times below the secure price
CLUSTER_GPUS = Decimal(8)
INCLUDES = "the pod's vCPUs and RAM; disk is extra"
NOT_SOLD = "listed, and sold in neither cloud now"
BID = "the lowest bid taken now; can be interrupted"


def fetch(http: Http) -> Iterator[Document]:
    """Every GPU type, in one answer."""
    yield http.post_json(GRAPHQL, {"query": QUERY})


def parse(documents: Sequence[Document]) -> Parsed:
    """On demand and spot in each cloud, and a node of a cluster, for each GPU type."""
    for document in documents:
        rows, count = _types(document)
        yield from each(rows, partial(_read, document=document, count=count))


def _types(document: Document) -> tuple[list[Row], Decimal]:
    """The GPU types of either API, and for how many GPUs the document was asked."""
    page = Row(document.json(), "")
    try:
        count = page.number("gpu_count") or Decimal(1)
        if "gpus" in page.fields:
            return page.rows("gpus"), count
        data = page.row("data")
        if data is None or "gpuTypes" not in data.fields:
            raise Unreadable('the answer has neither "data.gpuTypes" nor "gpus"')
        return data.rows("gpuTypes"), count
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None


def _read(row: Row, *, document: Document, count: Decimal) -> Iterator[Listing | Rejected]:
    sold = [*_priced(row, document), *_lowest(row, document, count), *_cluster(row, document)]
    if sold:
        yield from sold
    else:
        yield _listing(row, document, PriceModel.ON_DEMAND, None)


def _priced(row: Row, document: Document) -> Iterator[Listing | Rejected]:
    """One GPU, by the list price of each cloud."""
    listed = row.row("price")  # REST; GraphQL has securePrice
    price = {t: listed.number(t) if listed else row.number(f"{t}Price") for t in TIERS}
    for tier, amount in price.items():
        if not amount or (listed and row.flag(tier) is False):
            continue
        if tier == "community" and amount * PLACEHOLDER < (price["secure"] or 0):
            reason = f"held: {amount} is far below the secure price: a placeholder"
            yield Rejected(reason, f"{row.where}.communityPrice", row.shown)
            continue
        yield _listing(row, document, PriceModel.ON_DEMAND, amount, tier=tier)
        if spot := row.number(f"{tier}SpotPrice"):
            yield _listing(row, document, PriceModel.SPOT, spot, tier=tier)


def _lowest(row: Row, document: Document, count: Decimal) -> Iterator[Listing]:
    """`count` GPUs in one pod by `lowestPrice`, where no list price says it."""
    lowest = row.row("lowestPrice")
    if lowest is None:
        return
    tier = _matching(row, lowest)
    asked = {"tier": tier, "count": count, "lowest": lowest}
    price, bid = lowest.number("uninterruptablePrice"), lowest.number("minimumBidPrice")
    if price and (tier is None or count != 1):
        yield _listing(row, document, PriceModel.ON_DEMAND, price, **asked)  # type: ignore[arg-type]
    if bid and not (tier and count == 1 and row.number(f"{tier}SpotPrice")):
        yield _listing(row, document, PriceModel.SPOT, bid, **asked)  # type: ignore[arg-type]


def _matching(row: Row, lowest: Row) -> str | None:
    """The cloud that the lowest price is of, as the list prices tell."""
    price = lowest.number("uninterruptablePrice")
    return next((tier for tier in TIERS if price and row.number(f"{tier}Price") == price), None)


def _cluster(row: Row, document: Document) -> Iterator[Listing]:
    """A node of an Instant Cluster: 8 GPUs, where RunPod prices them."""
    if price := row.number("clusterPrice"):
        yield _listing(row, document, PriceModel.ON_DEMAND, price, cluster=True)


def _listing(
    row: Row,
    document: Document,
    model: PriceModel,
    price: Decimal | None,
    *,
    tier: str | None = None,
    count: Decimal = Decimal(1),
    lowest: Row | None = None,
    cluster: bool = False,
) -> Listing:
    gpu = row.need_text("id")
    memory = row.number("memoryInGb") or row.number("memory")
    host = None if cluster else lowest or _host(row, tier)
    ram = host.number("minMemory") if host else None
    return Listing(
        where=row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        instance=_instance(row, gpu, count, cluster=cluster),
        price_model=model,
        tier=tier,
        available=_cluster_stock(row) if cluster else _stock(row, host, price),
        gpu=gpu,
        gpu_count=CLUSTER_GPUS if cluster else count,
        gpu_memory=(memory, "GB") if memory else None,
        vcpus=host.number("minVcpu") if host else None,
        ram=(ram, "GB") if ram else None,
        price=None if price is None else Price(price, per_gpu=True),
        price_note=NOT_SOLD if price is None else BID if model is PriceModel.SPOT else None,
        price_includes=INCLUDES,
        row=row,
    )


def _instance(row: Row, gpu: str, count: Decimal, *, cluster: bool) -> str:
    """By the GPU's id, as pods are ordered; a cluster's node by the chip, as its page has it."""
    if cluster:  # "H100 SXM" → "Instant Cluster: H100"
        return f"Instant Cluster: {row.need_text('displayName').split()[0]}"
    return gpu if count == 1 else f"{count}x {gpu}"


def _host(row: Row, tier: str | None) -> Row | None:
    """What is said of the pod: of this cloud, or of whichever is cheapest."""
    return row.row(f"{tier}Lowest") or row.row("lowestPrice")


STOCK = {"high": True, "medium": True, "low": True, "none": False, "unavailable": False}


def _stock(row: Row, host: Row | None, price: Decimal | None) -> bool | None:
    if price is None:
        return False
    if host is not None and "stockStatus" in host.fields:
        return STOCK.get((host.text("stockStatus") or "none").lower())
    return STOCK.get((row.text("availability") or "").lower())


def _cluster_stock(row: Row) -> bool | None:
    return bool(row.rows("nodeGroupDatacenters")) if row.get("nodeGroupDatacenters") else None

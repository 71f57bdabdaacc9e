"""SkyPilot's catalogs: other clouds' prices as CSV, a file a cloud; each is that cloud's, `via` it.

Files: https://github.com/skypilot-org/skypilot-catalog, catalogs/v8/{cloud}/vms.csv (the number of
       the folder moves); the same under https://skypilot-catalog.s3.us-east-1.amazonaws.com/
Read:  https://docs.skypilot.co/en/latest/overview.html and the files (read 2026-11-29)

- A file does not say of which cloud it is: its address or name does (`lambda/vms.csv`,
  `lambda.csv`), or else the way in which the cloud names its types.
- `Price` and `SpotPrice` are US$ an hour of the instance. Empty and 0 mean: no price.
- A zone has a row of its own; the lowest zone of a region is the region's price.
- Google's host and GPUs stand in rows apart, in each zone: they are added before any lowest is
  taken, and a GPU without its host in that zone is no price of anything.
- `GpuInfo` is a Python literal, JSON (also with `null` in between) or only the GPU's name. Its
  `SizeInMiB` is of one GPU, in some files of all; 48 is in GB. `TotalGpuMemoryInMiB` is not read.
- A last column may hold an unquoted comma (Azure's "V1,V2").
- Nothing says when a price was read: a catalog that is fetched today may be of last year.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from catalog.records import PriceModel, Rejected
from scrapers.azure_sizes import size as azure_size
from scrapers.fields import BadField, Row
from scrapers.gcp_machines import GPUS, MACHINES, Machine
from scrapers.http import FetchFailed, Http
from scrapers.listing import (
    Document,
    Ignored,
    Listing,
    Parsed,
    Partial,
    Price,
    Provider,
)
from scrapers.regions import aws_country, azure_country, gcp_country
from scrapers.sky_files import cloud_of, lines_of

FOLDER = "catalogs/v8/{cloud}/vms.csv"
PROVIDER = Provider(
    slug="skypilot",
    title="SkyPilot catalogs",
    homepage="https://github.com/skypilot-org/skypilot-catalog",
    source=f"https://raw.githubusercontent.com/skypilot-org/skypilot-catalog/master/{FOLDER}",
    refresh=timedelta(hours=24),
    how="from files that others keep; they do not say when a price was read",
    home="US",
)
MIRROR = f"https://skypilot-catalog.s3.us-east-1.amazonaws.com/{FOLDER}"
# Those whose own lists ask for a key, or that nothing else here reads.
FETCHED = (
    "gcp", "hyperbolic", "hyperstack", "jarvislabs", "lambda", "mithril", "nebius", "seeweb",
    "yotta",
)  # fmt: skip
UNDATED = "the catalog does not say when it read this price"
OTHERS = re.compile(r"tpu|inferentia|trainium|fpga|qualcomm|alveo", re.IGNORECASE)
FORMED = re.compile(r"(?:A100|A800|H100|H200|H800|V100)(?!.*(?:sxm|pcie|nvl\b))", re.IGNORECASE)
VAST_NAME = re.compile(r"[0-9]{1,3}x-(.{1,40})-[0-9]{1,4}-[0-9]{1,8}")  # "4x-RTX_4060_Ti-32-65536"
FORM = re.compile(r"(?<![a-z])(sxm\d?|pcie|nvl)(?![a-z])", re.IGNORECASE)
MOST_OF_ONE = 400 * 1024  # [MiB]: more is the memory of several
LEAST_MIB = 1024  # a smaller figure is in GB
# What Google's GPU rows call what the machines' table has.
GOOGLES = {
    "A100": "a100-40", "A100-80GB": "a100-80", "H100": "h100", "H100-MEGA": "h100-plus",
    "H200": "h200", "B200": "b200", "GB200": "gb200", "L4": "l4", "RTXPRO6000": "rtxpro6000",
    "RTX-PRO-6000": "rtxpro6000",
}  # fmt: skip
COUNTRIES: Mapping[str, Callable[[str | None], str | None]] = {
    "aws": aws_country,
    "azure": azure_country,
    "gcp": gcp_country,
}


def fetch(http: Http) -> Iterator[Document]:
    """A file a cloud, from the mirror where GitHub will not answer; those that neither has are
    missed in `parse`.

    Raises
    ------
    FetchFailed
        There is none at all.
    """
    problems: list[FetchFailed] = []
    for cloud in FETCHED:
        for address in (PROVIDER.source, MIRROR):
            try:
                yield http.get(address.format(cloud=cloud))
                break
            except FetchFailed as problem:
                problems.append(problem)
    if len(problems) == 2 * len(FETCHED):
        raise problems[0]


# --- Parse ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sold:
    """One row that can be rented as it stands: an instance in a zone, and its two prices."""

    row: Row
    instance: str
    region: str
    gpu: str
    gpu_count: Decimal
    memory_mib: Decimal | None
    on_demand: Decimal | None
    spot: Decimal | None
    vcpus: Decimal | None
    ram_gib: Decimal | None


Read = Sold | Rejected | Ignored


def parse(documents: Sequence[Document]) -> Parsed:
    """Each type in each region, at the lowest of its zones."""
    clouds = set()
    for document in documents:
        rows = list(lines_of(document))
        lines = [row for row in rows if isinstance(row, Row)]
        cloud = cloud_of(document.url, lines)
        clouds.add(cloud)
        yield from (row for row in rows if isinstance(row, Rejected))
        sold = list(_googles(lines) if cloud == "gcp" else _each(lines))
        yield from (item for item in sold if not isinstance(item, Sold))
        yield from _offers([item for item in sold if isinstance(item, Sold)], cloud, document)
    if missing := sorted(set(FETCHED) - clouds):
        yield Partial(f"the catalogs of {', '.join(missing)} are not among these")


# --- Rows -------------------------------------------------------------------------------------


def _each(rows: Iterable[Row]) -> Iterator[Read]:
    for row in rows:
        try:
            yield _sold(row)
        except BadField as problem:
            yield Rejected(problem.reason, problem.where, row.shown)


def _sold(row: Row) -> Sold | Ignored:
    gpu = row.text("AcceleratorName")
    if gpu is None:
        return Ignored("no GPU")
    if OTHERS.match(gpu):
        return Ignored("an accelerator that is no GPU")
    count = row.written("AcceleratorCount")
    if count is None or count <= 0:
        row.fail("AcceleratorCount", "is missing")
    return Sold(
        row=row,
        instance=row.need_text("InstanceType"),
        region=row.need_text("Region"),
        gpu=gpu,
        gpu_count=count,
        memory_mib=_memory(row),
        on_demand=row.written("Price") or None,
        spot=row.written("SpotPrice") or None,
        vcpus=row.written("vCPUs"),
        ram_gib=row.written("MemoryGiB"),
    )


def _memory(row: Row) -> Decimal | None:
    """The figure as printed. [MiB]"""
    found = re.search(r"SizeInMiB['\"]?: ?([0-9]{1,9})(?:\.[0-9]+)?", row.text("GpuInfo") or "")
    if found is None or found[1] == "0":
        return None
    size = Decimal(found[1])
    return size * 1024 if size < LEAST_MIB else size


def _googles(rows: Sequence[Row]) -> Iterator[Read]:
    """Hosts and GPUs of a zone, added where they make a machine that Google sells."""
    hosts: dict[tuple[str, str], Row] = {}
    parts: list[Row] = []
    for row in rows:
        gpu, name = row.text("AcceleratorName"), row.text("InstanceType")
        if gpu is not None and OTHERS.match(gpu):
            yield Ignored("an accelerator that is no GPU")
        elif gpu is not None:
            parts.append(row)
        elif name in BY_NAME:
            hosts[row.text("AvailabilityZone") or "", name] = row
        else:
            yield Ignored("no GPU")
    for row in parts:
        try:
            yield from _machines(row, hosts)
        except BadField as problem:
            yield Rejected(problem.reason, problem.where, row.shown)


BY_NAME = {machine.name: machine for machine in MACHINES}


def _machines(row: Row, hosts: Mapping[tuple[str, str], Row]) -> Iterator[Sold]:
    gpu, count = row.need_text("AcceleratorName"), row.written("AcceleratorCount")
    zone = row.text("AvailabilityZone") or ""
    fitting = [m for m in MACHINES if m.gpu == GOOGLES.get(gpu) and m.gpu_count == count]
    found = [(machine, host) for machine in fitting if (host := hosts.get((zone, machine.name)))]
    if not fitting:
        raise BadField(row.where, f"{count} {gpu} alone: no machine that we know is made of them")
    if not found:
        raise BadField(row.where, f"the price of {gpu} alone: no host of it in {zone} is priced")
    for machine, host in found:
        yield Sold(
            row=row,
            instance=machine.name,
            region=row.need_text("Region"),
            gpu=GPUS[machine.gpu],
            gpu_count=Decimal(machine.gpu_count),
            memory_mib=None,
            on_demand=_sum("Price", row, host, machine),
            spot=_sum("SpotPrice", row, host, machine),
            vcpus=host.written("vCPUs"),
            ram_gib=host.written("MemoryGiB"),
        )


def _sum(name: str, gpus: Row, host: Row, machine: Machine) -> Decimal | None:
    """Both parts, or no price; of some machines the host is inside the GPU's own price."""
    part, rest = gpus.written(name), host.written(name)
    if machine.host is None:
        return sum(filter(None, (part, rest)), Decimal(0)) or None
    return part + rest if part and rest else None


# --- Offers -----------------------------------------------------------------------------------


def _offers(rows: Sequence[Sold], cloud: str, document: Document) -> Iterator[Listing | Ignored]:
    """The lowest zone of each region; what has no price anywhere is listed without one, once."""
    totals = _prints_totals(rows)
    cheapest: dict[tuple[str, str, PriceModel], tuple[Decimal, Sold]] = {}
    unpriced = {sold.instance: sold for sold in rows}
    for sold in rows:
        for model, price in ((PriceModel.ON_DEMAND, sold.on_demand), (PriceModel.SPOT, sold.spot)):
            if price is None:
                continue
            unpriced.pop(sold.instance, None)
            key = sold.instance, sold.region, model
            if key in cheapest:
                yield Ignored("another zone, or another machine of the name: no cheaper")
            if key not in cheapest or price < cheapest[key][0]:
                cheapest[key] = price, sold
    for (_, _, model), (price, sold) in cheapest.items():
        yield _listing(sold, model, price, cloud, document, totals=totals)
    for sold in unpriced.values():
        yield _listing(sold, PriceModel.ON_DEMAND, None, cloud, document, totals=totals)


def _prints_totals(rows: Sequence[Sold]) -> bool | None:
    """Whether the file prints the memory of all GPUs of a type together; None: it cannot be told.

    Told by the GPUs that it also has alone: twice a single one's figure is the total of two.
    """
    single: dict[str, set[Decimal]] = defaultdict(set)
    for sold in rows:
        if sold.gpu_count == 1 and sold.memory_mib:
            single[sold.gpu].add(sold.memory_mib)
    said = set()
    for sold in rows:
        if sold.gpu_count > 1 and sold.memory_mib:
            all_of_them = _near(sold.memory_mib / sold.gpu_count, single[sold.gpu])
            one_of_them = _near(sold.memory_mib, single[sold.gpu])
            said |= {all_of_them} if all_of_them != one_of_them else set()
    return said.pop() if len(said) == 1 else None


def _near(mib: Decimal, sizes: set[Decimal]) -> bool:
    return any(abs(mib - size) <= size / 50 for size in sizes)


def _of_one(sold: Sold, *, totals: bool | None) -> Decimal | None:
    """The memory of one GPU. [MiB]"""
    printed = sold.memory_mib
    if printed is None or sold.gpu_count <= 1:
        return printed
    return printed / sold.gpu_count if totals or printed > MOST_OF_ONE else printed


def _listing(
    sold: Sold,
    model: PriceModel,
    price: Decimal | None,
    cloud: str,
    document: Document,
    *,
    totals: bool | None,
) -> Listing:
    words, count, memory = _gpus(sold, cloud, totals=totals)
    return Listing(
        where=sold.row.where,
        url=document.url,
        fetched_at=document.fetched_at,
        provider=cloud,
        instance=sold.instance.replace("_", " ", 1) if cloud == "nebius" else sold.instance,
        price_model=model,
        region=sold.region if price else None,
        country=_country(cloud, sold.region) if price else None,
        gpu=words,
        gpu_count=count,
        gpu_memory=memory,
        vcpus=sold.vcpus,
        ram=(sold.ram_gib, "GiB") if sold.ram_gib else None,
        price=Price(price) if price else None,
        price_note=None if price else "no price in the catalog",
        warnings=(UNDATED,),
        row=sold.row,
    )


def _gpus(
    sold: Sold, cloud: str, *, totals: bool | None
) -> tuple[str, Decimal, tuple[Decimal, str] | None]:
    """The words for one GPU, how many, its memory. Of Azure's sizes the table knows the shares."""
    known = azure_size(sold.instance, sold.vcpus) if cloud == "azure" else None
    if known is not None and known.gpu_count is not None:
        memory = (known.memory_gb, "GB") if known.memory_gb else None
        return known.gpu, known.gpu_count, memory
    each = _of_one(sold, totals=totals)
    if cloud == "vast" and (named := VAST_NAME.fullmatch(sold.instance)):  # all of its own name
        return named[1].replace("_", " "), sold.gpu_count, (each, "MiB") if each else None
    form = FORM.search(sold.instance.replace("_", " "))
    words = sold.gpu.replace("_", " ")
    if form and FORMED.match(words):
        words = f"{words} {form[1]}"
    return words, sold.gpu_count, (each, "MiB") if each else None


def _country(cloud: str, region: str) -> str | None:
    """By the cloud's own names; else of "Taiwan, TW, AS" (city, country, continent)."""
    if cloud in COUNTRIES:
        return COUNTRIES[cloud](region)
    found = re.fullmatch(r".*, ([A-Z]{2})(?:, [A-Z]{2})?", region)
    return found[1] if found else None

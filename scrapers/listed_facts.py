"""What a listing says of its instance type, as facts with their evidence."""

from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal

from catalog.facts import ATTRIBUTES, BadFact
from catalog.records import Basis, Fact, ScaleUp, Value
from scrapers.gpu_names import Named, chip_of, form_of, memory_of
from scrapers.listing import Evidence, Listing
from scrapers.quantities import NOMINAL_TOLERANCE, distance_from_nominal, gigabytes


class Inconsistent(ValueError):
    """A figure that cannot be."""


def facts_of(
    owner: str,
    via: str | None,
    listing: Listing,
    gpu: Named | None,
    collected_at: datetime | None,
) -> Iterator[Fact]:
    """What the listing says of the type, each with its evidence. An aggregator's is `stated`."""
    day = (collected_at or listing.fetched_at).date()
    said: dict[str, tuple[Value, str]] = {}
    if gpu and gpu.slug:
        said["gpu"] = gpu.slug, f"printed as {listing.gpu}"
    if listing.gpu_count is not None:
        said["gpu_count"] = listing.gpu_count, ""
    if (memory := _memory(listing, gpu)) is not None:
        said["gpu_memory_gb"] = memory
    if listing.vcpus is not None:
        said["vcpus"] = round(listing.vcpus, 2), ""
    if listing.ram is not None:
        said["ram_gb"] = round(gigabytes(*listing.ram), 2), f"{listing.ram[0]} {listing.ram[1]}"
    said |= {name: (value, "") for name, value in listing.said.items()}
    usual = Evidence(Basis.STATED if via else Basis.DOCUMENTED, listing.url)
    for name, (value, note) in said.items():
        yield _fact(owner, listing, name, _checked(name, value), note, day, usual)
    if "scale_up" not in said:
        yield from _measured_links(owner, listing, gpu, day)


def _checked(name: str, value: Value) -> Value:
    """The value in its attribute's own type, or the row is refused."""
    if value is None:
        return None
    try:
        return ATTRIBUTES[name].read(str(value))
    except BadFact as problem:
        raise Inconsistent(f"{name} {problem}") from None


def _fact(
    owner: str, listing: Listing, name: str, value: Value, note: str, day: date, usual: Evidence
) -> Fact:
    evidence = listing.evidence.get(name, usual)
    return Fact(
        subject=f"{owner}/{listing.instance}",
        attribute=name,
        value=value,
        basis=evidence.basis,
        source=evidence.source or listing.url,
        checked=evidence.checked or day,
        note=evidence.note or note,
    )


def _memory(listing: Listing, gpu: Named | None) -> tuple[Decimal, str] | None:
    """Of one GPU, or of the slice, in nominal GB, with the printed figure beside it."""
    count, printed = listing.gpu_count, listing.gpu_memory
    note = f"printed as {printed[0]} {printed[1]}" if printed else ""
    if count is not None and count < 1:
        return _of_a_slice(listing, gpu, count, note)
    if gpu and gpu.slug and printed:
        return Decimal(memory_of(gpu.slug)), note
    if printed is None:
        sizes = {memory_of(slug) for slug in gpu.candidates} if gpu else set()
        return (Decimal(sizes.pop()), "of each that it may be") if len(sizes) == 1 else None
    gb = gigabytes(*printed)
    nominal = min(NOMINAL_GB, key=lambda nominal: distance_from_nominal(gb, nominal))
    near = distance_from_nominal(gb, nominal) < Decimal("0.03")
    return (Decimal(nominal) if near else round(gb, 1)), note


def _of_a_slice(
    listing: Listing, gpu: Named | None, count: Decimal, note: str
) -> tuple[Decimal, str] | None:
    """The printed figure, or the share of the card's memory where it is that in other units."""
    whole = memory_of(gpu.slug) if gpu and gpu.slug else None
    part = None if whole is None else round(whole * count, 2)
    if listing.gpu_memory is None:
        return None if part is None else (part, f"{count} of {whole} GB")
    gb = gigabytes(*listing.gpu_memory)
    if part and (nominal := round(part)) and distance_from_nominal(gb, nominal) < NOMINAL_TOLERANCE:
        return Decimal(nominal), note
    return Decimal(round(gb)), note


# Memories that cards are sold with. [GB]
NOMINAL_GB = (
    4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 186, 192, 256, 288,
)  # fmt: skip

# NVLink on the edge of a PCIe card joins two by a bridge (four for H200 NVL): the vendor's cards.
BRIDGED = {"a100", "a800", "a30", "a40", "h100", "h200", "rtx3090", "rtxa5000", "rtxa6000"}
BOARD_GPUS = 8


def _measured_links(owner: str, listing: Listing, gpu: Named | None, day: date) -> Iterator[Fact]:
    """NVLink that was measured between the GPUs: by a bridge, or by the switch of a board of 8."""
    if listing.said.get("measured_pair_gbytes_per_s") is None or gpu is None or not gpu.slug:
        return
    form, chip = form_of(gpu.slug), chip_of(gpu.slug)
    if form in ("pcie", "nvl") and chip in BRIDGED:
        value, rule = ScaleUp.NVLINK_BRIDGE, "NVLink measured between PCIe cards is a bridge"
    elif form in ("sxm4", "sxm5", "sxm6") and listing.board_gpus == BOARD_GPUS:
        value, rule = ScaleUp.NVSWITCH, "NVLink measured on a part of an 8-GPU SXM board"
    else:
        return
    subject = f"{owner}/{listing.instance}"
    yield Fact(
        subject, "scale_up", value.value, Basis.DERIVED, f"rule: {rule} ({listing.url})", day
    )

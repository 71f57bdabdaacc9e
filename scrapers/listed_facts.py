"""What a listing says of its instance type, as facts with their evidence, and whether it can be."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal

from catalog.consistency import contradictions, faster_than_nvlink
from catalog.facts import ATTRIBUTES, BadFact
from catalog.ledger import plain
from catalog.records import Basis, Fact, ScaleUp, Value
from scrapers.gpu_names import Named, chip_of, form_of, memory_of
from scrapers.listing import Evidence, Listing
from scrapers.quantities import NOMINAL_TOLERANCE, distance_from_nominal, gigabytes


class Inconsistent(ValueError):
    """A figure that cannot be."""


class Contradiction(ValueError):
    """Figures of one row that contradict each other: one of them is wrong."""


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
    elif gpu and len(forms := {form_of(slug) for slug in gpu.candidates}) == 1:
        said["form_factor"] = forms.pop(), "of each that it may be"
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
    """Of one GPU, or of the slice, in nominal GB, with the printed figure beside it.

    Nominal is what the SKUs that it may be are sold with: without one, the figure is as printed.
    """
    count, printed = listing.gpu_count, listing.gpu_memory
    note = f"printed as {printed[0]} {printed[1]}" if printed else ""
    if count is not None and count < 1:
        return _of_a_slice(listing, gpu, count, note)
    if printed is None and gpu and gpu.slug:
        return None  # the SKU says it
    sizes = {memory_of(slug) for slug in _slugs(gpu)}
    if len(sizes) == 1 and not (gpu and gpu.note):
        return Decimal(sizes.pop()), note or "of each that it may be"
    return (round(gigabytes(*printed), 1), note) if printed else None


def _slugs(gpu: Named | None) -> tuple[str, ...]:
    """The SKU, or those that it may be."""
    return () if gpu is None else (gpu.slug,) if gpu.slug else gpu.candidates


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


# --- Whether it can be ------------------------------------------------------------------------

TOTAL_TOLERANCE = Decimal("0.02")


def check_figures(listing: Listing, gpu: Named | None) -> None:
    """Gate: name, form and memory are of one SKU, count × memory is the total, no link too fast.

    Raises
    ------
    Contradiction
        With the equation in words.
    """
    said = listing.contradiction or _wrong_total(listing) or _wrong_sku(listing, gpu)
    if sentence := said or _wrong_link(listing, gpu):
        raise Contradiction(sentence)


def check_equations(facts: Iterable[Fact]) -> None:
    """Gate: what the listing says satisfies the equations that hold of every machine.

    Raises
    ------
    Contradiction
    """
    for _, sentence in contradictions(facts):
        raise Contradiction(sentence)


def _wrong_total(listing: Listing) -> str | None:
    each, total, count = listing.gpu_memory, listing.total_gpu_memory, listing.gpu_count
    if each is None or total is None or count is None:
        return None
    parts = max(count, Decimal(1))  # a slice is one, with the memory that is its own
    counted, printed = parts * gigabytes(*each), gigabytes(*total)
    if abs(counted - printed) <= printed * TOTAL_TOLERANCE:
        return None
    return (
        f"count × memory = total: the total GPU memory, {plain(total[0])} {total[1]}, is not "
        f"{plain(parts)} x {plain(each[0])} {each[1]}: a mixed machine, or a wrong count"
    )


def _wrong_sku(listing: Listing, gpu: Named | None) -> str | None:
    """A memory that no SKU of that name and form has, whole or as the slice that it is of one."""
    sizes = sorted({memory_of(slug) for slug in _slugs(gpu)})
    if gpu is None or not sizes:
        return None
    count, printed = listing.gpu_count, listing.gpu_memory
    gb = None if printed is None else round(gigabytes(*printed), 1)
    if count is None or count < 1:  # a share that is not said is one
        if gb is None or gb <= sizes[-1] or _near(gb, sizes[-1]):
            return None
        return f"a part of the memory ≤ the whole: {plain(gb)} GB is more than a {listing.gpu} has"
    if not gpu.note:
        return None
    if gb is None:  # the name itself prints it
        return f"{listing.gpu}: {gpu.note}"
    known = " or ".join(map(str, sizes))
    times = f"{plain(count)} ×"
    right = f"{times} {known} GB of {listing.gpu}"
    if listing.total_gpu_memory:
        total, unit = listing.total_gpu_memory
        return f"count × memory = total: {plain(total)} {unit} is not {right}"
    return f"count × memory = total: {times} {plain(gb)} GB is not {right}"


def _near(gb: Decimal, nominal: int) -> bool:
    return distance_from_nominal(gb, nominal) < NOMINAL_TOLERANCE


def _wrong_link(listing: Listing, gpu: Named | None) -> str | None:
    name = "measured_pair_gbytes_per_s"
    measured, evidence = listing.said.get(name), listing.evidence.get(name)
    if measured is None:
        return None
    rate = Decimal(str(measured))
    problem = faster_than_nvlink(rate, _slugs(gpu))
    word = evidence.note.partition(",")[0] if evidence else "measured"  # the provider's own
    return problem and f"{word} {plain(rate)} GB/s: {problem}"

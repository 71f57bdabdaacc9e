"""What Amazon's GPU instance types hold: by family and size, and as DescribeInstanceTypes has it.

Neither the price list nor DescribeInstanceTypes says SXM or PCIe, and the price list names no GPU.
Sources: https://aws.amazon.com/ec2/instance-types/accelerated-computing/ and the pages of the
families (read 2026-11-29). A family that is not here is known by what DescribeInstanceTypes says.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from catalog.records import Basis, FabricKind, Value
from scrapers.fields import Row
from scrapers.listing import Evidence
from scrapers.quantities import bandwidths, count

READ = date(2026, 11, 29)
PAGE = "https://aws.amazon.com/ec2/instance-types/accelerated-computing/"


@dataclass(frozen=True, slots=True)
class Family:
    """The GPU of a family, and how many of it by size: "12xlarge:4"; the first for all others.

    `card_gbits_per_s`: what DescribeInstanceTypes prints of a network card, where that is its rate
    as an ENA and its EFA is faster.
    """

    gpu: str
    sizes: str
    card_gbits_per_s: int | None = None


_ONES = "xlarge:1 2xlarge:1 4xlarge:1 8xlarge:1 16xlarge:1"
_G = f"{_ONES} 12xlarge:4 24xlarge:4 48xlarge:8"
_G7 = "2xlarge:1 4xlarge:1 8xlarge:1 12xlarge:2 24xlarge:4 48xlarge:8"
FAMILIES = {
    "p2": Family("K80", "xlarge:1 8xlarge:8 16xlarge:16"),
    "p3": Family("V100 SXM2 16GB", "2xlarge:1 8xlarge:4 16xlarge:8"),
    "p3dn": Family("V100 SXM2 32GB", "24xlarge:8"),
    "p4d": Family("A100 SXM4 40GB", "24xlarge:8"),
    "p4de": Family("A100 SXM4 80GB", "24xlarge:8"),
    "p5": Family("H100 SXM5", "4xlarge:1 48xlarge:8"),
    "p5e": Family("H200 SXM5", "48xlarge:8"),
    "p5en": Family("H200 SXM5", "48xlarge:8"),
    # a card: 400 Gb/s of EFA and 200 of ENA, https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/
    "p6-b200": Family("B200", "48xlarge:8", 200),  # efa-acc-inst-types.html
    "p6-b300": Family("B300", "48xlarge:8"),
    "p6e-gb200": Family("GB200", "36xlarge:4"),
    "g3": Family("M60", "4xlarge:1 8xlarge:2 16xlarge:4"),
    "g3s": Family("M60", "xlarge:1"),
    "g4ad": Family("Radeon Pro V520", "xlarge:1 2xlarge:1 4xlarge:1 8xlarge:2 16xlarge:4"),
    "g4dn": Family("T4", f"{_ONES} 12xlarge:4 metal:8"),
    "g5": Family("A10G", _G),
    "g5g": Family("T4G", "xlarge:1 2xlarge:1 4xlarge:1 8xlarge:1 16xlarge:2 metal:2"),
    "g6": Family("L4", _G),
    "gr6": Family("L4", "4xlarge:1 8xlarge:1"),
    "g6e": Family("L40S", _G),
    "g6f": Family("L4", "large:1/8 xlarge:1/8 2xlarge:1/4 4xlarge:1/2"),
    "gr6f": Family("L4", "4xlarge:1/2"),
    "g7": Family("RTX PRO 4500", _G7),
    "g7e": Family("RTX PRO 6000", _G7),
    "dl1": Family("Gaudi HL-205", "24xlarge:8"),
}
# Inferentia, Trainium, Qualcomm, video and FPGA cards are no GPUs.
_OTHER = re.compile(r"(?:inf|trn|dl2q|vt|f)[0-9]")
_GPU = re.compile(r"(?:u-)?(?:p[2-9]|g[3-9]|gr[0-9]|dl1)[a-z0-9-]*\.")


def is_gpu_type(name: str) -> bool:
    """By its letters: P and G families, and Gaudi's."""
    return bool(_GPU.match(name)) and not _OTHER.match(name)


def family_of(name: str) -> Family | None:
    return FAMILIES.get(name.partition(".")[0])


def gpus_in(name: str) -> Decimal | None:
    """How many GPUs the size has; 1/8: a share of one."""
    family = family_of(name)
    by_size = dict(pair.split(":") for pair in family.sizes.split()) if family else {}
    return count(by_size.get(name.partition(".")[2], ""))


# --- One type: `kind` as DescribeInstanceTypes has it, `has` as the price list does -------------


@dataclass(frozen=True, slots=True)
class Gpus:
    """The GPUs of one type and how that is known."""

    words: str | None
    count: Decimal | None
    memory: tuple[Decimal, str] | None
    total_memory: tuple[Decimal, str] | None
    evidence: dict[str, Evidence]
    warnings: tuple[str, ...] = ()


def gpus_of(name: str, kind: Row | None, has: Row) -> Gpus:
    """By DescribeInstanceTypes where it is at hand, then by the family, then by the list."""
    family, by_size = family_of(name), gpus_in(name)
    rule = Evidence(Basis.DERIVED, f"rule: GPUs of the family on {PAGE}", READ)
    printed, count, memory = _described(kind)
    words = printed
    evidence: dict[str, Evidence] = {}
    if family and (printed is None or _same_chip(printed, family.gpu)):
        words, evidence["gpu"] = family.gpu, rule
    if not count and by_size is not None:
        count, evidence["gpu_count"] = by_size, rule
    if count is None:
        count = has.written("gpu") or None
    if memory is None:
        evidence["gpu_memory_gb"] = rule
    warnings = () if words else (f"{name}: a family whose GPU is not in our table",)
    return Gpus(words, count, memory, _total_memory(kind), evidence, warnings)


def _described(kind: Row | None) -> tuple[str | None, Decimal | None, tuple[Decimal, str] | None]:
    """The name, number and memory [MiB] that DescribeInstanceTypes has; a fraction's Count is 0,
    its share by `GpuPartitionSize` or else by its memory (`normalise`)."""
    info = kind.row("GpuInfo") if kind else None
    gpus = info.rows("Gpus") if info else []
    if not gpus:
        return None, None, None
    gpu = gpus[0]
    count, part = gpu.number("Count"), gpu.number("GpuPartitionSize")
    if count == 0:
        count = part if part and part < 1 else count
    memory = gpu.row("MemoryInfo")
    mib = memory.number("SizeInMiB") if memory else None
    return gpu.text("Name"), count, (mib, "MiB") if mib else None


def _total_memory(kind: Row | None) -> tuple[Decimal, str] | None:
    info = kind.row("GpuInfo") if kind else None
    mib = info.number("TotalGpuMemoryInMiB") if info else None
    return (mib, "MiB") if mib else None


def _same_chip(printed: str, table: str) -> bool:
    """True where the table says more of the very chip: "H100" and "H100 SXM5"."""
    words = set(re.findall(r"[a-z0-9]+", printed.lower())) - {"server"}
    return words <= set(re.findall(r"[a-z0-9]+", table.lower()))


def vcpus_of(kind: Row | None, has: Row) -> Decimal | None:
    info = kind.row("VCpuInfo") if kind else None
    return info.number("DefaultVCpus") if info else has.written("vcpu")


_GIB = re.compile(r"([0-9,]{1,9}(?:\.[0-9]{1,3})?) GiB")


def ram_of(kind: Row | None, has: Row) -> tuple[Decimal, str] | None:
    info = kind.row("MemoryInfo") if kind else None
    mib = info.number("SizeInMiB") if info else None
    if mib:
        return mib, "MiB"
    found = _GIB.fullmatch(has.text("memory") or "")  # "1,952 GiB"
    return (Decimal(found[1].replace(",", "")), "GiB") if found else None


def network_of(kind: Row | None) -> dict[str, Value]:
    """EFA is the fabric, at the whole NetworkPerformance; without it, there is Ethernet."""
    info = kind.row("NetworkInfo") if kind else None
    efa = info.flag("EfaSupported") if info else None
    if info is None or efa is None:
        return {}
    rates = bandwidths(info.text("NetworkPerformance") or "")
    rate = rates[0] if len(rates) == 1 else None
    if not efa:
        speed = "frontend_burst_gbits_per_s" if rate and rate.up_to else "frontend_gbits_per_s"
        return {"fabric": FabricKind.ETHERNET.value} | ({speed: rate.total} if rate else {})
    said: dict[str, Value] = {"fabric": FabricKind.EFA.value}
    most = info.row("EfaInfo")
    nics = most.number("MaximumEfaInterfaces") if most else None
    if nics:
        said["fabric_nics"] = int(nics)
    if rate and not rate.up_to:
        said["fabric_gbits_per_s"] = rate.total
        if rate.counted:  # "4x 100 Gigabit"
            said["fabric_gbits_per_s_per_nic"] = rate.gbits_per_s
    return said


def broken_cards(name: str, kind: Row | None) -> str | None:
    """What is wrong with NetworkCards beside NetworkPerformance: None, or the equation in words.

    Those that have EFA have the whole rate together, or each of them can have all of it.
    """
    info = kind.row("NetworkInfo") if kind else None
    rates = bandwidths(info.text("NetworkPerformance") or "") if info else ()
    cards = (
        [card.number("BaselineBandwidthInGbps") for card in info.rows("NetworkCards")]
        if info
        else []
    )
    known = sorted((rate for rate in cards if rate), reverse=True)
    if info is None or len(rates) != 1 or rates[0].up_to or len(known) < max(len(cards), 1):
        return None
    total, efa = rates[0].total, info.row("EfaInfo")
    nics = int(efa.number("MaximumEfaInterfaces") or 0) if efa else 0
    used = known[: nics or len(known)]
    family = family_of(name)
    as_ena = family and nics == len(cards) and {*used} == {family.card_gbits_per_s}
    if as_ena or {*used} == {total} or abs(sum(used) - total) <= total / 50:
        return None
    each = " + ".join(f"{n} × {rate:g}" for rate, n in Counter(used).items())
    return f"NICs × rate = total: {each} Gb/s of NetworkCards is not {total} Gb/s"


def network_evidence(said: Mapping[str, Value]) -> dict[str, Evidence]:
    if said.get("fabric") != FabricKind.ETHERNET.value:
        return {}
    note = "EfaSupported is false: instances meet over Ethernet alone"
    return {"fabric": Evidence(Basis.DERIVED, f"rule: {note}")}

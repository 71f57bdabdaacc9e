"""The ledger of facts: what may be said of a GPU, an instance type or a fabric, and which
statement speaks when several do.

`ATTRIBUTES` names what can be known and in which unit. `read` loads the files of `catalog/data/`
and refuses a line without a source, by its number. `resolve` turns all that is said of one
instance type into one value an attribute, with its evidence. No Django here.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from functools import cache
from pathlib import Path

from catalog.records import (
    Basis,
    FabricKind,
    Fact,
    MultiNode,
    ScaleUp,
    Support,
    Value,
)

DATA = Path(__file__).parent / "data"


class BadFact(ValueError):
    """A statement that cannot be taken, in one sentence."""


# --- What can be known ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Attribute:
    """A name, its unit, how its text is read, and the column of an instance type it fills.

    `lower` orders two disputed values: filters and the cost model take the lower (DESIGN 3).
    """

    name: str
    unit: str
    read: Callable[[str], Value]
    title: str
    group: str = "other"
    column: bool = True


def _number(low: str, high: str) -> Callable[[str], Decimal]:
    lowest, highest = Decimal(low), Decimal(high)

    def read(text: str) -> Decimal:
        if len(text) > 24:
            raise BadFact("is too long for a number")
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise BadFact(f"{text!r} is not a number") from None
        if not number.is_finite() or not lowest <= number <= highest:
            raise BadFact(f"{text} is not between {low} and {high}")
        return number

    return read


def _whole(low: str, high: str) -> Callable[[str], int]:
    number = _number(low, high)

    def read(text: str) -> int:
        value = number(text)
        if value != int(value):
            raise BadFact(f"{text} is not a whole number")
        return int(value)

    return read


def _one_of(words: type[StrEnum]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in list(words):
            raise BadFact(f"{text!r} is none of {', '.join(words)}")
        return words(text).value

    return read


def _text(text: str) -> str:
    if len(text) > 400:
        raise BadFact("is longer than 400 characters")
    return text


SOFTWARE = ("drivers", "NCCL plugin", "MPI", "image")


def _software(text: str) -> str:
    """What is stated of each part of the software: "drivers: yes; MPI: no"; in that order."""
    said = [part.partition(": ") for part in text.split("; ")]
    names = [name for name, _, _ in said]
    if names != [name for name in SOFTWARE if name in names]:
        raise BadFact(f"{text[:40]!r} is not of {', '.join(SOFTWARE)}, once each and in this order")
    for _, _, word in said:
        _one_of(Support)(word)
    return text


def _attributes(*given: Attribute) -> Mapping[str, Attribute]:
    return {attribute.name: attribute for attribute in given}


ATTRIBUTES = _attributes(
    # the GPU
    Attribute("gpu", "", _text, "GPU", "gpu"),
    Attribute("gpu_count", "GPUs", _number("0.01", "1024"), "GPUs in the instance", "gpu"),
    Attribute("gpu_memory_gb", "GB", _number("0.5", "2048"), "Memory of one GPU", "gpu"),
    Attribute("gpu_vendor", "", _text, "GPU vendor", "gpu"),
    Attribute("form_factor", "", _text, "Form factor", "gpu"),
    Attribute("vcpus", "vCPUs", _number("0.1", "4096"), "vCPUs", "gpu"),
    Attribute("ram_gb", "GB", _number("0.1", "65536"), "Host memory", "gpu"),
    # inside the domain
    Attribute("scale_up", "", _one_of(ScaleUp), "How the GPUs are joined", "inside"),
    Attribute("nvlink_generation", "", _whole("1", "6"), "NVLink generation", "inside"),
    Attribute("scale_up_gbytes_per_s", "GB/s", _number("1", "5000"), "Per GPU, one way", "inside"),
    Attribute(
        "scale_up_pair_gbytes_per_s", "GB/s", _number("1", "5000"), "Per pair, one way", "inside"
    ),
    Attribute("scale_up_domain_gpus", "GPUs", _whole("1", "1024"), "Scale-up domain", "inside"),
    Attribute(
        "scale_up_domain_guaranteed_gpus", "GPUs", _whole("1", "1024"), "Guaranteed", "inside"
    ),
    # between instances
    Attribute("fabric", "", _one_of(FabricKind), "Fabric", "between"),
    Attribute("fabric_generation", "", _text, "Fabric generation", "between"),
    Attribute("fabric_nics", "NICs", _whole("0", "64"), "Fabric NICs", "between"),
    Attribute(
        "fabric_gbits_per_s_per_nic", "Gb/s", _number("0.1", "3200"), "Rate of one NIC", "between"
    ),
    Attribute("fabric_gbits_per_s", "Gb/s", _number("0.1", "60000"), "Of one instance", "between"),
    Attribute("gpudirect", "", _one_of(Support), "GPUDirect, no host bounce", "between"),
    Attribute("gpudirect_rdma", "", _one_of(Support), "GPUDirect RDMA", "between"),
    Attribute("rdma", "", _one_of(Support), "RDMA", "between"),
    Attribute("sharp", "", _one_of(Support), "SHARP", "between"),
    Attribute("rail_optimised", "", _one_of(Support), "Rail-optimised", "between"),
    Attribute("adaptive_routing", "", _one_of(Support), "Adaptive routing", "between"),
    Attribute("oversubscription", "", _number("1", "64"), "Oversubscription, n:1", "between"),
    Attribute("multi_node", "", _one_of(MultiNode), "Several instances", "between"),
    Attribute("same_fabric", "", _text, "Same fabric, how", "between"),
    Attribute(
        "max_gpus_on_one_fabric", "GPUs", _whole("1", "10000000"), "Largest cluster", "between"
    ),
    Attribute("software_support", "", _software, "Software that is stated", "between"),
    # the front end: never the fabric
    Attribute("frontend_gbits_per_s", "Gb/s", _number("0.01", "3200"), "Front end", "frontend"),
    Attribute("frontend_burst_gbits_per_s", "Gb/s", _number("0.01", "3200"), "Up to", "frontend"),
    # what somebody measured: beside the nominal value, never in dispute with it
    Attribute(
        "measured_pair_gbytes_per_s",
        "GB/s",
        _number("0.01", "5000"),
        "Measured, one pair",
        "measured",
    ),
    Attribute(
        "measured_all_reduce_gbytes_per_s",
        "GB/s",
        _number("0.01", "5000"),
        "Measured all-reduce bus bandwidth",
        "measured",
    ),
    # of other collectives, with so many GPUs and bytes alone: they have a scope, and fill no column
    *(
        Attribute(
            f"measured_{kind}_gbytes_per_s",
            "GB/s",
            _number("0.01", "5000"),
            f"Measured {title} bus bandwidth",
            "measured",
            False,
        )
        for kind, title in (
            ("all_gather", "all-gather"),
            ("reduce_scatter", "reduce-scatter"),
            ("all_to_all", "all-to-all"),
            ("send_recv", "send and receive"),
        )
    ),
    # of a GPU alone: what the cost model reads
    Attribute("memory_gbytes_per_s", "GB/s", _number("10", "30000"), "HBM", "peak", False),
    Attribute("bf16_tflops", "Tflop/s", _number("1", "20000"), "bf16, dense", "peak", False),
    Attribute("fp16_tflops", "Tflop/s", _number("1", "20000"), "fp16, dense", "peak", False),
    Attribute("fp8_tflops", "Tflop/s", _number("1", "40000"), "fp8, dense", "peak", False),
    Attribute("fp4_tflops", "Tflop/s", _number("1", "80000"), "fp4, dense", "peak", False),
    Attribute("pcie_generation", "", _whole("1", "7"), "PCIe", "peak", False),
    Attribute("tdp_w", "W", _number("10", "3000"), "Board power", "peak", False),
    # of a fabric generation alone
    Attribute("port_gbits_per_s", "Gb/s", _number("1", "6400"), "Port, one way", "link", False),
    Attribute("latency_us", "µs", _number("0.01", "1000"), "Latency", "link", False),
)


# --- The files of catalog/data/ ---------------------------------------------------------------

COLUMNS = ("subject", "attribute", "value", "unit", "basis", "source", "checked", "scope", "note")


def read(path: Path) -> Iterator[Fact]:
    """The facts of one file, in its order.

    Raises
    ------
    BadFact
        Naming the file, the line and what is wrong with it; nothing of the file is taken then.
    """
    with path.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines)
        header = tuple(next(rows, ()))
        if header != COLUMNS:
            raise BadFact(f"{path.name} line 1: the columns are {','.join(COLUMNS)}")
        for row in rows:
            if not row:
                continue
            try:
                yield _fact(row)
            except BadFact as problem:
                raise BadFact(f"{path.name} line {rows.line_num}: {problem}") from None


def _fact(row: list[str]) -> Fact:
    if len(row) != len(COLUMNS):
        raise BadFact(f"has {len(row)} fields, not {len(COLUMNS)}")
    subject, name, text, unit, basis, source, checked, scope, note = row
    attribute = ATTRIBUTES.get(name)
    if attribute is None:
        raise BadFact(f"attribute: {name!r} is not an attribute; see ATTRIBUTES in facts.py")
    if not subject:
        raise BadFact("subject: is empty")
    if unit != attribute.unit:
        raise BadFact(f"unit: {name} is given in {attribute.unit or 'no unit'}, not {unit!r}")
    if basis not in list(Basis):
        raise BadFact(f"basis: {basis!r} is none of {', '.join(Basis)}")
    if not source:
        raise BadFact("source: is empty; a fact without a source does not load")
    return Fact(
        subject=subject,
        attribute=name,
        value=_value(attribute, text),
        basis=Basis(basis),
        source=source,
        checked=day(checked),
        scope=scope,
        provisional=note.startswith("provisional"),
        note=note,
    )


def _value(attribute: Attribute, text: str) -> Value:
    if text == "":  # looked for there on that day, and not found
        return None
    try:
        return attribute.read(text)
    except BadFact as problem:
        raise BadFact(f"value: {attribute.name} {problem}") from None


def day(text: str) -> date:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        raise BadFact(f"checked: {text[:40]!r} is not a date like 2026-11-29") from None
    if day > datetime.now(UTC).date() + timedelta(days=1):  # it is tomorrow already in Tokyo
        raise BadFact(f"checked: {text} has not come yet")
    return day


@cache
def gpus() -> Mapping[str, Mapping[str, Fact]]:
    """Every GPU SKU by its slug, each attribute with the fact that speaks. From data/gpus.csv."""
    said: dict[str, list[Fact]] = defaultdict(list)
    for fact in read(DATA / "gpus.csv"):
        said[fact.subject].append(fact)
    return {
        slug: {name: finding.fact for name, finding in speaking(facts).items()}
        for slug, facts in said.items()
    }


# --- Which statement speaks -------------------------------------------------------------------

# Measurements live in measured_* attributes, where they are the only basis.
STRENGTH = (Basis.DOCUMENTED, Basis.SPEC, Basis.STATED, Basis.MEASURED, Basis.DERIVED)


@dataclass(frozen=True, slots=True)
class Finding:
    """The value of one attribute: the fact that speaks, and every other claim kept beside it."""

    fact: Fact
    claims: tuple[Fact, ...]
    disputed: bool = False

    @property
    def value(self) -> Value:
        return self.fact.value


def speaking(facts: Iterable[Fact]) -> dict[str, Finding]:
    """For each attribute, the finding at no particular scope.

    The strongest basis speaks. Values that differ there are disputed, and the lower one is used;
    weaker claims stay in `claims`. A fact with a scope never speaks for the whole type; a value of
    None (looked, not found) never speaks against one that is known.
    """
    by_attribute: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        by_attribute[fact.attribute].append(fact)
    return {
        name: finding
        for name, claims in by_attribute.items()
        if (finding := _finding(claims)) is not None
    }


def _finding(claims: list[Fact]) -> Finding | None:
    known = [claim for claim in claims if claim.value is not None and not claim.scope]
    if not known:
        return None
    strongest = min(STRENGTH.index(claim.basis) for claim in known)
    peers = [claim for claim in known if STRENGTH.index(claim.basis) == strongest]
    values = {claim.value for claim in peers}
    lowest = min(peers, key=lambda claim: (promise(claim.value), -claim.checked.toordinal()))
    return Finding(lowest, tuple(claims), disputed=len(values) > 1)


def promise(value: Value) -> tuple[float, str]:
    """What orders two answers: the one that promises less first. Words go by what they promise."""
    if isinstance(value, int | float | Decimal):
        return (float(value), "")
    return (float(_PROMISE.get(str(value), 50)), str(value))


_PROMISE: dict[str, int] = {
    str(word): rank
    for words in (
        (Support.NO, Support.CONDITIONAL, Support.YES),
        (MultiNode.NO, MultiNode.RESERVATION, MultiNode.SELF_SERVE),
        (
            ScaleUp.NONE,
            ScaleUp.PCIE,
            ScaleUp.NVLINK_BRIDGE,
            ScaleUp.GAUDI_MESH,
            ScaleUp.INFINITY_FABRIC_MESH,
            ScaleUp.NVLINK_MESH,
            ScaleUp.NVSWITCH,
        ),
        (FabricKind.ETHERNET, FabricKind.EFA, FabricKind.ROCE, FabricKind.INFINIBAND),
    )
    for rank, word in enumerate(words)
}

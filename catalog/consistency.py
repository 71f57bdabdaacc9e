"""Equations that what is said of one type must satisfy, in words where it does not.

    NICs × rate = the instance's fabric        an InfiniBand NIC ≤ a port of its generation
    any NIC ≤ the fastest port that is sold    a measured NVLink ≤ the links of its SKU
    links of a full mesh × rate = scale-up per GPU, through a switch = the SKU's own rate
    guaranteed GPUs ≤ GPUs of the domain       count × memory of a whole GPU = that of its SKU
    a peak = the SKU's dense one

They hold for what speaks with one voice: statements of one basis and scope. Where two sources give
an attribute two values, that is a dispute and stays one: it is enough that some choice among what
is said satisfies the equation. Fabric per GPU and memory per domain are computed (`catalog.ledger`)
and hold by that.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, partial
from itertools import product

from catalog.facts import DATA, gpus, read
from catalog.records import Basis, FabricKind, Fact, ScaleUp, Value

TOLERANCE = Decimal("0.02")  # rates are printed rounded
# XDR InfiniBand and 800G Ethernet; the 1600 of GDR is a plan: infinibandta.org/infiniband-roadmap
FASTEST_PORT_GBITS_PER_S = Decimal(800)
MESHES = (ScaleUp.INFINITY_FABRIC_MESH, ScaleUp.GAUDI_MESH)
SAID = (Basis.DOCUMENTED, Basis.SPEC, Basis.STATED)
Check = Callable[[Sequence[Value]], str | None]


@dataclass(frozen=True, slots=True)
class Equation:
    """Attributes, and what is wrong with one value of each: a sentence, or None."""

    attributes: tuple[str, ...]
    wrong: Check


def contradictions(facts: Iterable[Fact]) -> Iterator[tuple[str, str]]:
    """Subjects of which what is said breaks an equation, each with it in words."""
    for (subject, *_), said in sorted(_voices(facts).items()):
        for equation in EQUATIONS:
            if sentence := _broken(equation, said):
                yield subject, sentence


def _voices(facts: Iterable[Fact]) -> Mapping[tuple[str, str, str], Mapping[str, list[Value]]]:
    """Values by subject, scope and basis, then by attribute."""
    said: dict[tuple[str, str, str], dict[str, list[Value]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for fact in facts:
        if fact.basis in SAID and fact.value is not None:
            said[fact.subject, fact.scope, fact.basis][fact.attribute].append(fact.value)
    return said


def _broken(equation: Equation, said: Mapping[str, list[Value]]) -> str | None:
    """What is wrong with the first choice of values, where every choice is wrong."""
    choices = list(product(*(said.get(name, ()) for name in equation.attributes)))
    sentences = [equation.wrong(choice) for choice in choices]
    return sentences[0] if sentences and all(sentences) else None


def _number(value: Value) -> Decimal:
    return Decimal(str(value))


def _unequal(left: Decimal, right: Decimal) -> bool:
    return abs(left - right) > TOLERANCE * max(abs(left), abs(right))


def _of_the_sku(gpu: Value, attribute: str) -> Decimal | None:
    """What the datasheet says of a SKU, a number."""
    fact = gpus().get(str(gpu), {}).get(attribute)
    return None if fact is None or fact.value is None else _number(fact.value)


def faster_than_nvlink(gbytes_per_s: Decimal, skus: Iterable[str]) -> str | None:
    """What is wrong with a measured rate between GPUs that are one of `skus`, or unknown. [GB/s]

    A measurement may count both ways: it is held to twice the one-way rate of the fastest SKU.
    """
    linked = [sku for sku in skus if _of_the_sku(sku, "scale_up_gbytes_per_s")]
    rates = {sku: _of_the_sku(sku, "scale_up_gbytes_per_s") or 0 for sku in linked or gpus()}
    fastest = max(rates, key=lambda sku: rates[sku])
    both_ways = 2 * rates[fastest]
    if gbytes_per_s <= both_ways * (1 + TOLERANCE):
        return None
    return f"no NVLink is faster than the {both_ways} GB/s of {fastest}, both ways together"


# --- The equations ----------------------------------------------------------------------------


def _nics(values: Sequence[Value]) -> str | None:
    nics, rate, total = map(_number, values)
    if not _unequal(nics * rate, total):
        return None
    return f"NICs × rate = total: {nics} × {rate} Gb/s is {nics * rate} Gb/s, not {total} Gb/s"


def _fastest(values: Sequence[Value]) -> str | None:
    """Of one NIC, as it is printed."""
    rate = _number(values[0])
    if rate <= FASTEST_PORT_GBITS_PER_S * (1 + TOLERANCE):
        return None
    return f"rate ≤ port: no NIC has {rate} Gb/s, the fastest has {FASTEST_PORT_GBITS_PER_S} Gb/s"


def _each_fastest(values: Sequence[Value]) -> str | None:
    """Of one NIC, by the rate of all together."""
    nics, total = map(_number, values)
    if not nics or total <= nics * FASTEST_PORT_GBITS_PER_S * (1 + TOLERANCE):
        return None
    most = FASTEST_PORT_GBITS_PER_S
    return f"NICs × rate = total: {nics} × {most} Gb/s, the fastest NIC, is less than {total} Gb/s"


def _port(values: Sequence[Value]) -> str | None:
    """Of InfiniBand a generation is a port rate; of EFA or RoCE it is a protocol."""
    kind, generation, rate = values[0], str(values[1]), _number(values[2])
    port = ports().get(f"{kind}-{generation.lower()}")
    if kind != FabricKind.INFINIBAND or port is None or rate <= port * (1 + TOLERANCE):
        return None
    return f"rate ≤ port: a port of {generation} has {port} Gb/s, not {rate} Gb/s"


@cache
def ports() -> Mapping[str, Decimal]:
    """The port of each generation of fabrics.csv, four lanes, one way. [Gb/s]"""
    said = (fact for fact in read(DATA / "fabrics.csv") if fact.attribute == "port_gbits_per_s")
    return {fact.subject: _number(fact.value) for fact in said}


def _mesh(values: Sequence[Value]) -> str | None:
    """In a full mesh of n each GPU has one link to each of the n − 1 others."""
    kind, pair, domain, total = values
    if kind not in MESHES:
        return None
    links, rate, whole = _number(domain) - 1, _number(pair), _number(total)
    if not _unequal(links * rate, whole):
        return None
    return f"links × rate = total: {links} × {rate} GB/s is {links * rate} GB/s, not {whole} GB/s"


def _switch(values: Sequence[Value]) -> str | None:
    """Through NVSwitches a GPU has all its links; what vendors print counts both ways."""
    gpu, kind, total = values
    rated, printed = _of_the_sku(gpu, "scale_up_gbytes_per_s"), _number(total)
    if kind != ScaleUp.NVSWITCH or rated is None or not _unequal(rated, printed):
        return None
    both = " (that is both ways)" if not _unequal(printed, 2 * rated) else ""
    return f"links × rate = total: a {gpu} has {rated} GB/s one way, not {printed} GB/s{both}"


def _guaranteed(values: Sequence[Value]) -> str | None:
    guaranteed, domain = map(_number, values)
    if guaranteed <= domain:
        return None
    return f"guaranteed ≤ domain: {guaranteed} GPUs are guaranteed of a domain of {domain}"


def _memory(values: Sequence[Value]) -> str | None:
    """A slice of a GPU has less than its SKU; a whole one has what the SKU is sold with."""
    gpu, count, memory = values
    whole, each = _of_the_sku(gpu, "gpu_memory_gb"), _number(memory)
    if whole is None or _number(count) < 1 or not _unequal(each, whole):
        return None
    total = f"{count} × {each} GB is not {count} × {whole} GB"
    return f"count × memory = total: {total} of {gpu}"


def _peak(name: str, values: Sequence[Value]) -> str | None:
    """Vendors print the peak of sparse matrices, twice the dense one."""
    gpu, printed = values[0], _number(values[1])
    dense = _of_the_sku(gpu, name)
    if dense is None or not _unequal(dense, printed):
        return None
    sparse = " (that is the sparse one)" if not _unequal(printed, 2 * dense) else ""
    kind = name.removesuffix("_tflops")
    return f"dense peak: a {gpu} has {dense} Tflop/s in {kind}, not {printed} Tflop/s{sparse}"


PEAKS = ("bf16_tflops", "fp16_tflops", "fp8_tflops", "fp4_tflops")
EQUATIONS = (
    Equation(("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s"), _nics),
    Equation(("fabric_gbits_per_s_per_nic",), _fastest),
    Equation(("fabric_nics", "fabric_gbits_per_s"), _each_fastest),
    Equation(("fabric", "fabric_generation", "fabric_gbits_per_s_per_nic"), _port),
    Equation(
        ("scale_up", "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus", "scale_up_gbytes_per_s"),
        _mesh,
    ),
    Equation(("gpu", "scale_up", "scale_up_gbytes_per_s"), _switch),
    Equation(("scale_up_domain_guaranteed_gpus", "scale_up_domain_gpus"), _guaranteed),
    Equation(("gpu", "gpu_count", "gpu_memory_gb"), _memory),
    *(Equation(("gpu", name), partial(_peak, name)) for name in PEAKS),
)

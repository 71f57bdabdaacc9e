"""Equations that what one provider documents of one type must satisfy, said in words where not.

    NICs × rate = the instance's fabric        links of a full mesh × rate = scale-up per GPU
    guaranteed GPUs ≤ GPUs of the domain       memory of a whole GPU = memory of its SKU

Fabric per GPU and memory per domain are computed (`catalog.ledger`) and hold by that. Where two
sources give an attribute two values, that is a dispute and stays one: it is enough that some choice
among what is documented satisfies the equation.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import product

from catalog.facts import gpus
from catalog.records import Basis, Fact, ScaleUp, Value

TOLERANCE = Decimal("0.02")  # rates are printed rounded
MESHES = (ScaleUp.INFINITY_FABRIC_MESH, ScaleUp.GAUDI_MESH)
Check = Callable[[Sequence[Value]], str | None]


@dataclass(frozen=True, slots=True)
class Equation:
    """Attributes, and what is wrong with one value of each: a sentence, or None."""

    attributes: tuple[str, ...]
    wrong: Check


def contradictions(facts: Iterable[Fact]) -> Iterator[tuple[str, str]]:
    """Subjects whose documented values break an equation, each with it in words."""
    for (subject, _scope), said in sorted(_documented(facts).items()):
        for equation in EQUATIONS:
            if sentence := _broken(equation, said):
                yield subject, sentence


def _documented(facts: Iterable[Fact]) -> Mapping[tuple[str, str], Mapping[str, list[Value]]]:
    """Values by subject and scope, then by attribute."""
    said: dict[tuple[str, str], dict[str, list[Value]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        if fact.basis == Basis.DOCUMENTED and fact.value is not None:
            said[fact.subject, fact.scope][fact.attribute].append(fact.value)
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


def _nics(values: Sequence[Value]) -> str | None:
    nics, rate, total = map(_number, values)
    if not _unequal(nics * rate, total):
        return None
    return f"NICs × rate = total: {nics} × {rate} Gb/s is {nics * rate} Gb/s, not {total} Gb/s"


def _mesh(values: Sequence[Value]) -> str | None:
    """In a full mesh of n each GPU has one link to each of the n − 1 others."""
    kind, pair, domain, total = values
    if kind not in MESHES:
        return None
    links, rate, whole = _number(domain) - 1, _number(pair), _number(total)
    if not _unequal(links * rate, whole):
        return None
    return f"links × rate = total: {links} × {rate} GB/s is {links * rate} GB/s, not {whole} GB/s"


def _guaranteed(values: Sequence[Value]) -> str | None:
    guaranteed, domain = map(_number, values)
    if guaranteed <= domain:
        return None
    return f"guaranteed ≤ domain: {guaranteed} GPUs are guaranteed of a domain of {domain}"


def _memory(values: Sequence[Value]) -> str | None:
    """A slice of a GPU has less than its SKU; a whole one has what the SKU is sold with."""
    gpu, count, memory = values
    sold = gpus().get(str(gpu), {}).get("gpu_memory_gb")
    if sold is None or sold.value is None or _number(count) < 1:
        return None
    each, whole = _number(memory), _number(sold.value)
    if not _unequal(each, whole):
        return None
    total = f"{count} × {each} GB is not {count} × {whole} GB"
    return f"count × memory = total: {total} of {gpu}"


EQUATIONS = (
    Equation(("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s"), _nics),
    Equation(
        ("scale_up", "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus", "scale_up_gbytes_per_s"),
        _mesh,
    ),
    Equation(("scale_up_domain_guaranteed_gpus", "scale_up_domain_gpus"), _guaranteed),
    Equation(("gpu", "gpu_count", "gpu_memory_gb"), _memory),
)

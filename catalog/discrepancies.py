"""Where what somebody measured contradicts what the ledger says: flagged for a person, not decided.

A measurement stands beside the nominal value and is never in dispute with it (DESIGN 3), but it
tells on a wrong one: a pair of GPUs that is faster than its links, or a quarter as fast, is joined
in another way than the ledger says; so is one that beats PCIe where the ledger knows of no link. A
form factor, a count or a peer path that somebody observed (`nvidia-smi`) is a claim of basis
`measured` of that attribute, and contradicts where it differs from the value that speaks.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.db.models import Q
from django.utils.translation import gettext as _

from catalog.facts import gpus
from catalog.models import Fact, InstanceType
from catalog.records import NVLINK, Basis, ScaleUp

PAIR = "measured_pair_gbytes_per_s"
TOO_FAST, TOO_SLOW = 1.05, 0.25  # of the nominal rate of a pair, one way
# Sixteen lanes, one way, after 128b/130b (from 6: FLIT) coding, by PCIe generation. [GB/s]
PCIE_GBYTES_PER_S = {3: 15.8, 4: 31.5, 5: 63.0, 6: 121.0}
UNLINKED = (ScaleUp.PCIE, ScaleUp.NONE)


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One contradiction: of which type, in which attribute, what against what, and who measured."""

    subject: str
    attribute: str
    ledger_value: float | str | None
    measured_value: float | str
    source: str
    why: str


def discrepancies() -> list[dict[str, Any]]:
    """Every contradiction of the catalog, by subject."""
    kinds = InstanceType.objects.exclude(measured_pair_gbytes_per_s=None)
    found = [d for kind in kinds if (d := of_a_pair(kind)) is not None]
    found += observed()
    return [asdict(each) for each in sorted(found, key=lambda d: (d.subject, d.attribute))]


# --- A measured pair against its links --------------------------------------------------------


def of_a_pair(kind: InstanceType) -> Discrepancy | None:
    """What a measured pair of a type says against the links that the ledger gives it."""
    measured = kind.measured_pair_gbytes_per_s
    if measured is None:
        return None
    if kind.scale_up in UNLINKED:
        return _beats_pcie(kind, measured)
    least, most = nominal_pair(kind)
    if most is not None and measured > TOO_FAST * most:
        return _of(kind, "scale_up_pair_gbytes_per_s", most, _("faster than its links can be"))
    if kind.scale_up in NVLINK and least is not None and measured < TOO_SLOW * least:
        why = _("slower than NVLink of %(rate)g GB/s a pair") % {"rate": least}
        return _of(kind, "scale_up", kind.scale_up, why)
    return None


def nominal_pair(kind: InstanceType) -> tuple[float | None, float | None]:
    """The least and the most that two GPUs of a type can have between them, one way. [GB/s]

    Of a mesh whose pairs are not documented: an even share of all links, and all of them.
    """
    pair, total = kind.scale_up_pair_gbytes_per_s, kind.scale_up_gbytes_per_s
    if pair is not None or total is None:
        return pair, pair
    peers = (kind.scale_up_domain_gpus or 2) - 1
    return total / max(peers, 1), total


def _beats_pcie(kind: InstanceType, measured: float) -> Discrepancy | None:
    generation = gpus().get(str(kind.gpu_id), {}).get("pcie_generation")
    most = PCIE_GBYTES_PER_S.get(int(str(generation.value))) if generation else None
    if most is None or measured <= TOO_FAST * most:
        return None
    why = _("faster than PCIe %(generation)s of %(rate)g GB/s: some link is there") % {
        "generation": generation and generation.value, "rate": most,
    }  # fmt: skip
    return _of(kind, "scale_up", kind.scale_up, why)


def _of(kind: InstanceType, attribute: str, ledger: float | str | None, why: str) -> Discrepancy:
    source = kind.evidence.get(PAIR, {}).get("source", "")
    measured = float(kind.measured_pair_gbytes_per_s or 0)
    return Discrepancy(str(kind), attribute, ledger, measured, source, why)


# --- What somebody observed of the machine ----------------------------------------------------


def observed() -> Iterator[Discrepancy]:
    """Observations that differ from the value that speaks; of no scope, for that says its own."""
    seen = Fact.objects.live().filter(Q(basis=Basis.MEASURED), ~Q(value=None), scope="")
    seen = seen.exclude(attribute__startswith="measured_").filter(subject__contains="/")
    kinds = _speaking({fact.subject for fact in seen})
    for fact in seen.order_by("subject", "attribute", "id"):
        said = _said(kinds.get(fact.subject, {}), fact.attribute)
        if said is not None and not _same(said, str(fact.value)):
            yield Discrepancy(
                fact.subject, fact.attribute, said, str(fact.value), fact.source,
                _("observed on the machine"),
            )  # fmt: skip


def _speaking(subjects: set[str]) -> Mapping[str, Mapping[str, Any]]:
    """The columns of the types, by `provider/name`."""
    providers = {subject.partition("/")[0] for subject in subjects}
    rows = InstanceType.objects.filter(provider__in=providers).values()
    return {f"{row['provider_id']}/{row['name']}": row for row in rows}


def _said(values: Mapping[str, Any], attribute: str) -> Any:
    """What the ledger says; of a form factor, what the SKU has that it names."""
    if attribute == "form_factor":
        form = gpus().get(str(values.get("gpu_id")), {}).get("form_factor")
        return form.value if form else None
    return values.get("gpu_id" if attribute == "gpu" else attribute)


def _same(said: Any, seen: str) -> bool:
    """Whether a column and the text of an observation are one value."""
    if isinstance(said, str):
        return said == seen
    return Decimal(str(said)) == Decimal(seen)

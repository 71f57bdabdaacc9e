"""What is known of one instance type, and what is computed of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from catalog.facts import ATTRIBUTES, Finding
from catalog.records import NVLINK, Value


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of one instance type: a finding an attribute, and what is computed of them."""

    findings: Mapping[str, Finding]

    def __getitem__(self, name: str) -> Value:
        finding = self.findings.get(name)
        return finding.value if finding else None

    def number(self, name: str) -> Decimal | None:
        """The value of a numeric attribute. In its own unit, or None where unknown."""
        value = self[name]
        return None if value is None else Decimal(str(value))

    @property
    def disputed(self) -> tuple[str, ...]:
        """Attributes whose strongest claims differ, in the order of ATTRIBUTES."""
        return tuple(
            name for name in ATTRIBUTES if (f := self.findings.get(name)) is not None and f.disputed
        )

    @property
    def nvlink_domain_gpus(self) -> int | None:
        """GPUs that reach each other over NVLink; 1 where there is none; None where unknown."""
        scale_up, domain = self["scale_up"], self["scale_up_domain_gpus"]
        if scale_up is not None and scale_up not in NVLINK:
            return 1
        if domain is None or (scale_up is None and self["nvlink_generation"] is None):
            return None
        return int(Decimal(str(domain)))

    @property
    def domain_gpu_memory_gb(self) -> Decimal | None:
        """Memory a model can be split over without leaving the fast links. [GB]"""
        return _times(self.number("scale_up_domain_gpus"), self.number("gpu_memory_gb"))

    @property
    def fabric_gbits_per_s_per_gpu(self) -> Decimal | None:
        """One way, guaranteed. [Gb/s]"""
        total, count = self.number("fabric_gbits_per_s"), self.number("gpu_count")
        return None if total is None or count is None else total / count

    @property
    def cliff(self) -> Decimal | None:
        """How steep the fall is on leaving the domain: its GB/s over the fabric's, both one way."""
        inside, between = self.number("scale_up_gbytes_per_s"), self.fabric_gbits_per_s_per_gpu
        return None if inside is None or not between else inside / (between / 8)

    def columns(self) -> dict[str, Value]:
        """The columns of an instance type: every attribute that has one, and the computed four."""
        said = {name: self[name] for name, a in ATTRIBUTES.items() if a.column}
        return said | {
            "nvlink_domain_gpus": self.nvlink_domain_gpus,
            "domain_gpu_memory_gb": rounded(self.domain_gpu_memory_gb),
            "fabric_gbits_per_s_per_gpu": rounded(self.fabric_gbits_per_s_per_gpu),
            "cliff": rounded(self.cliff),
            "disputed": self.disputed,
        }


def _times(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    return None if a is None or b is None else a * b


def rounded(number: Decimal | None) -> Decimal | None:
    """To four places, as the columns keep it."""
    return None if number is None else round(number, 4)

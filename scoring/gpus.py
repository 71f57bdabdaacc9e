"""GPUs as the model sees them: memory, its rate, dense peaks by precision, and their usual links.

The figures stand in gpus.toml, each table with its source; `kernels` there names the efficiency
table of constants.toml that was measured on the GPU or on its nearest kin.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any

from scoring.constants import KERNEL_FAMILIES, KERNELS, MEMORY, KernelFamily, data_file
from scoring.fields import FieldError, Fields
from scoring.units import GIB, GIGA, TERA

PRECISIONS = ("nvfp4", "fp8", "bf16", "fp16", "tf32", "fp64")


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """One GPU as it is sold. Rates in B/s and flop/s, memory in B. Compared by identity."""

    slug: str
    memory_gb: float
    memory_bytes: float  # what a process can allocate, all of it
    memory_bytes_per_s: float
    flop_per_s: Mapping[str, float]  # dense peak by precision
    family: KernelFamily
    family_name: str
    measured: bool
    pcie_generation: int
    pcie_p2p: bool  # usual, where nobody says
    scale_up: str
    nvlink_generation: int | None  # None where it has no NVLink
    scale_up_bytes_per_s: float
    pair_bytes_per_s: float
    domain_gpus: int
    tdp_watts: float | None  # None where nobody says

    @property
    def is_superchip(self) -> bool:
        """True where the GPU hangs on its CPU over NVLink, not PCIe: the form in its slug."""
        return "-superchip-" in self.slug

    def precision(self, wanted: str) -> str:
        """The wanted precision, or the next wider one that this GPU computes in.

        A V100 has no bf16 and an A100 no fp8: a job that asks for it runs in what there is.
        """
        if wanted in self.flop_per_s:
            return wanted
        if wanted == "fp64":
            raise FieldError("precision", f"fp64 rate of {self.slug} is not known to the model.")
        wider = [p for p in PRECISIONS[PRECISIONS.index(wanted) + 1 :] if p in self.flop_per_s]
        return next((p for p in wider if p != "fp64"), "fp16")


@cache
def gpus() -> Mapping[str, Gpu]:
    """Every GPU of gpus.toml by its slug."""
    return {slug: _gpu(slug, table) for slug, table in data_file("gpus.toml").items()}


def gpu(slug: str) -> Gpu:
    """The GPU of a slug.

    Raises
    ------
    FieldError
        For `gpu`, when the slug is not one of gpus.toml.
    """
    checked = Fields({"gpu": slug}).text("gpu", gpus())
    if checked is None:
        raise FieldError("gpu", "must be given.")
    return gpus()[checked]


@lru_cache(maxsize=256)
def capped(part: Gpu, watts: float) -> Gpu:
    """The GPU held to less power than it is sold with; memory keeps its clock.

    Near the top of the curve power grows as the clock to the 2.5: an H100 at 500 of its 700 W
    sustains .87 of its rate, within the 5 to 15 % that caps cost.

    Raises
    ------
    FieldError
        For `gpu_power_watts`, when it exceeds what the GPU is built for, or that is not known.
    """
    if part.tdp_watts is None:
        raise FieldError("gpu_power_watts", f"the rated power of {part.slug} is not known.")
    if watts > part.tdp_watts:
        raise FieldError(
            "gpu_power_watts", f"exceeds the {part.tdp_watts:g} W that {part.slug} is built for."
        )
    share = (watts / part.tdp_watts) ** (1 / KERNELS.power_exponent)
    return replace(part, flop_per_s={name: rate * share for name, rate in part.flop_per_s.items()})


def _gpu(slug: str, table: Mapping[str, Any]) -> Gpu:
    usable = MEMORY.hbm_usable if table["memory_kind"] == "hbm" else MEMORY.gddr_usable
    total = table.get("scale_up_gbytes_per_s", 0.0) * GIGA
    return Gpu(
        slug=slug,
        memory_gb=table["memory_gb"],
        memory_bytes=table["memory_gb"] * GIB * usable,  # "80 GB" holds 80 GiB
        memory_bytes_per_s=table["memory_tbytes_per_s"] * TERA,
        flop_per_s={name: rate * TERA for name, rate in table["tflops"].items()},
        family=KERNEL_FAMILIES[table["kernels"]],
        family_name=table["kernels"],
        measured=table["measured"],
        pcie_generation=table["pcie_generation"],
        pcie_p2p=table["pcie_p2p"],
        scale_up=table["scale_up"],
        nvlink_generation=table.get("nvlink_generation"),
        scale_up_bytes_per_s=total,
        pair_bytes_per_s=table.get("scale_up_pair_gbytes_per_s", 0.0) * GIGA,
        domain_gpus=table.get("scale_up_domain_gpus", 1),
        tdp_watts=table.get("tdp_watts"),
    )

"""What can be asked of an instance type at all: one table of where a fact has no place.

A null is unknown, save where another fact that is known leaves nothing to know: GPUs that are
joined by the host's PCIe alone have no link speed, instances without a fabric no fabric NICs, and
another vendor's links no NVLink generation. Such a fact is *not applicable*: it meets no filter,
counts for no unknown, and nobody is asked for it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from catalog.records import NVLINK, FabricKind, ScaleUp

UNLINKED = (ScaleUp.PCIE, ScaleUp.NONE)
NOT_NVLINK = tuple(kind for kind in ScaleUp if kind not in NVLINK)

Values = dict[str, tuple[str, ...]]  # by attribute

_LINKS: Values = {"scale_up": UNLINKED}
_FABRIC: Values = {"fabric": (FabricKind.NONE,)}
# Of an attribute, the known values of others with which it has no place.
NO_PLACE: Mapping[str, Values] = {
    "nvlink_generation": {"scale_up": NOT_NVLINK, "gpu_vendor": ("amd", "intel")},
    **dict.fromkeys(
        ("scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s", "scale_up_domain_guaranteed_gpus"),
        _LINKS,
    ),
    **dict.fromkeys(
        (
            "fabric_generation", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s",
            "fabric_gbits_per_s_per_gpu", "gpudirect", "gpudirect_rdma", "rdma", "sharp",
            "rail_optimised", "adaptive_routing", "oversubscription", "multi_node", "same_fabric",
            "max_gpus_on_one_fabric",
        ),
        _FABRIC,
    ),
    "cliff": _LINKS | _FABRIC,
}  # fmt: skip


def arises(attribute: str, kind: Mapping[str, Any]) -> bool:
    """Whether an attribute can be asked of a type; where what decides is unknown, it can."""
    ruled_out = NO_PLACE.get(attribute, {})
    return not any(kind.get(other) in values for other, values in ruled_out.items())


def arises_sql(attribute: str) -> str:
    """The same over the columns of a listing: true or false, never null; empty where it always is.

    A value that stands there counts, whatever the table says.
    """
    ruled_out = NO_PLACE.get(attribute, {})
    unlikely = " or ".join(f"{other} in {_listed(values)}" for other, values in ruled_out.items())
    return f"({attribute} is not null or ({unlikely}) is not true)" if unlikely else ""


def _listed(values: Iterable[str]) -> str:
    return f"({', '.join(repr(str(value)) for value in values)})"

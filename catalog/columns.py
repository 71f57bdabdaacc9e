"""The columns of the offers table: which there are, which are shown, and what each is in CSV.

A column is called what its leading field is called in the API. `cols=` names those to show; their
order is ours. The link to CSV carries their fields, so that the file is this very table.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

Words = str | Promise


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its heading, its place on a phone's card, and the fields that it shows."""

    name: str
    group: str
    title: Words
    small: Words = ""  # beneath the heading: the unit, or what is taken
    label: Words = ""  # on a card
    look: str = "o3"
    also: tuple[str, ...] = ()  # fields besides the leading one
    evidence: tuple[str, ...] = ()  # attributes whose basis a cell marks
    usual: bool = False
    sorts: bool = True

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, which stand on the right."""
        return self.look.split()[0] == "n"


GROUPS: Mapping[str, Words] = {
    "inside": _("Inside"),
    "between": _("Between"),
    "gpu": _("GPU"),
    "price": _("Price"),
    "evidence": _("Evidence"),
}
COLUMNS: Mapping[str, Column] = {
    column.name: column
    for column in (
        Column("gpu", "gpu", _("GPU"), "", _("GPU"), "w3 o1",
               ("gpu_count", "gpu_memory_gb", "gpu_candidates"), usual=True),
        Column("usd_per_gpu_hour", "price", _("$ per GPU-hour"), _("lowest region"), "", "n prc",
               ("region", "native_amount", "native_currency", "minimum_hours", "collected_at"),
               usual=True),
        Column("usd_per_hour", "price", _("$ per instance-hour"), "", _("$ per instance"), "n o3"),
        Column("available", "price", _("Available now"), "", _("Available now"), sorts=False),
        Column("domain_gpu_memory_gb", "inside", _("Memory of a domain"), "GB",
               _("GB in one domain"), "n o3"),
        Column("scale_up", "inside", _("How the GPUs are joined"), "", _("How the GPUs are joined"),
               "o3", ("nvlink_generation",), ("scale_up",)),
        Column("nvlink_domain_gpus", "inside", _("NVLink domain"), _("GPUs"), _("NVLink domain"),
               "n o3", ("scale_up_domain_gpus",), ("scale_up_domain_gpus", "scale_up"), usual=True),
        Column("scale_up_gbytes_per_s", "inside", _("Links"), _("GB/s, one way"),
               _("Links GB/s"), "n o3", (), ("scale_up_gbytes_per_s",), usual=True),
        Column("fabric", "between", _("Fabric"), "", _("Fabric"), "w3 o2",
               ("fabric_generation", "fabric_nics", "fabric_gbits_per_s_per_nic"),
               ("fabric", "fabric_gbits_per_s_per_nic"), usual=True),
        Column("fabric_gbits_per_s_per_gpu", "between", _("Fabric per GPU"), _("Gb/s, one way"),
               _("Gb/s per GPU"), "n w3 o2", (),
               ("fabric_gbits_per_s", "fabric_gbits_per_s_per_nic"), usual=True),
        Column("cliff", "between", _("Cliff"), _("links ÷ fabric"), _("Cliff"), "w3 o1", (),
               ("fabric_gbits_per_s", "fabric_gbits_per_s_per_nic"), usual=True),
        Column("gpudirect_rdma", "between", _("GPUDirect RDMA"), "", _("GPUDirect RDMA"), "o3", (),
               ("gpudirect_rdma",), usual=True),
        Column("sharp", "between", "SHARP", "", "SHARP", "o3", (), ("sharp",)),
        Column("max_gpus_on_one_fabric", "between", _("Largest cluster"), _("GPUs"),
               _("Largest cluster"), "n o3", (), ("max_gpus_on_one_fabric",)),
        Column("multi_node", "between", _("Several instances together"), "",
               _("Several instances together"), "o3", (), ("multi_node",)),
        Column("frontend_gbits_per_s", "between", _("Front end"), "Gb/s", _("Front end"), "n o3",
               (), ("frontend_gbits_per_s",)),
        Column("vcpus", "gpu", _("vCPUs"), "", _("vCPUs"), "n o3"),
        Column("ram_gb", "gpu", _("Host memory"), "GB", _("Host memory"), "n o3"),
        Column("checked", "evidence", _("Checked"), "", _("Checked"), "n w6 inl o4", usual=True,
               sorts=False),
        Column("collected_at", "evidence", _("Price seen"), "", _("Price seen"), "n o3",
               ("native_amount",)),
        Column("source_url", "evidence", _("Source of the price"), "", _("Source of the price"),
               "w6 o3 src", ("native_amount",), sorts=False),
    )
}  # fmt: skip
USUAL = tuple(name for name, column in COLUMNS.items() if column.usual)
ALWAYS = ("provider", "via", "instance_type", "tier", "price_model")  # what names a row


def shown(chosen: Iterable[str]) -> list[Column]:
    """The columns of these names, or the usual ones, in our order."""
    names = set(chosen) or set(USUAL)
    return [column for name, column in COLUMNS.items() if name in names]


def fields(columns: Sequence[Column]) -> tuple[str, ...]:
    """What names a row, and all that its cells show: the columns of its CSV."""
    each = (name for column in columns for name in (column.name, *column.also))
    return tuple(dict.fromkeys((*ALWAYS, *each)))


def evidence(columns: Sequence[Column]) -> tuple[str, ...]:
    """The attributes of which a row must say how they are known."""
    return tuple(dict.fromkeys(name for column in columns for name in column.evidence))


def grouped(columns: Sequence[Column]) -> list[tuple[Words, list[tuple[Column, bool]]]]:
    """For the picker: each group with its columns, and whether each is shown."""
    names = {column.name for column in columns}
    return [
        (title, [(c, c.name in names) for c in COLUMNS.values() if c.group == group])
        for group, title in GROUPS.items()
    ]

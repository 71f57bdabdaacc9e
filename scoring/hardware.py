"""What is there: the links of a domain and of a node, the fabric between nodes, a cluster.

A `Cluster` is many equal nodes on one fabric. Three levels of links join its GPUs, each as fast as
its slowest part: the scale-up domain (NVSwitch, a mesh, a bridged pair; 72 GPUs of many nodes in
an NVL72), the PCIe tree of a node where the domain is smaller than the node, and the NICs. All
rates are one way and per GPU, in B/s.

Unknown is None at the door (`Cluster.from_fields`) and becomes a stated, plausible value here, with
the pessimistic and the optimistic reading of the same facts beside it, so that an estimate can say
how far the unknown reaches.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from scoring.cluster_facts import (
    DIRECT_FABRICS,
    FABRIC_NAMES,
    MESHES,
    Facts,
)
from scoring.constants import (
    FABRICS,
    LINKS,
    NETWORK,
    PCIE_X16_BYTES_PER_S,
    FabricConstants,
    LinkConstants,
    data_file,
)
from scoring.fields import FieldError, Fields
from scoring.gpus import Gpu
from scoring.units import BITS_PER_BYTE, GIGA, MICRO

NVLINK = "nvlink"  # before its generation, a table of link constants
SPREADING_FABRICS = ("infiniband", "efa", "slingshot")  # route around load by themselves
MEASURED_FABRICS = ("infiniband", "roce", "efa", "gpudirect_tcpxo", "omni_path")
# Least and most of what a cluster can be made of; rates in B/s, counts in GPUs.
LIMITS = (
    ("gpu_count", 1, 1024),
    ("domain_gpus", 1, 2**40),
    ("scale_up_bytes_per_s", 0.0, 1e30),
    ("pair_bytes_per_s", 0.0, 1e30),
    ("pcie_bytes_per_s", 0.0, 1e30),
    ("nic_bytes_per_s", 0.0, 1e30),
    ("oversubscription", 1.0, 100.0),
)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Equal nodes of GPUs on one fabric, in SI units, with what was assumed to complete it.

    Build it with `from_fields`; `dataclasses.replace` asks what-if questions of one that exists.
    """

    name: str
    gpu: Gpu
    gpu_count: int  # of one node
    domain_gpus: int  # that share the scale-up links; may exceed gpu_count
    scale_up: str
    link: LinkConstants  # of the domain
    link_name: str
    scale_up_bytes_per_s: float  # one way, a GPU to all its peers
    pair_bytes_per_s: float  # one way, between two GPUs
    pcie: LinkConstants  # between domains of one node
    pcie_bytes_per_s: float
    fabric: str  # "none" where nodes are not joined
    fabric_link: FabricConstants
    nic_bytes_per_s: float  # one way, per GPU, as written; see `nic_effective_bytes_per_s`
    gpudirect: bool
    sharp: bool
    oversubscription: float
    spreads: bool  # adaptive routing or rails keep a large network's flows apart
    site_gpus: int | None  # of one data centre; None = all in one
    site_bytes_per_s: float  # between two data centres
    site_round_trip_s: float
    max_gpus: int | None
    usd_per_hour: float | None  # of one node
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    of_links: tuple[str, ...] = ()  # of both, what matters only where GPUs exchange anything,
    of_fabric: tuple[str, ...] = ()  # and only where something leaves domain and node
    pessimistic: "Cluster | None" = field(default=None, repr=False)
    optimistic: "Cluster | None" = field(default=None, repr=False)

    def __hash__(self) -> int:
        """By what decides the time on it; equal clusters agree on these."""
        rates = (self.gpu, self.gpu_count, self.domain_gpus, self.scale_up_bytes_per_s)
        return hash((*rates, self.fabric, self.nic_bytes_per_s, self.oversubscription))

    def __post_init__(self) -> None:
        """Refuse what no machine can be, also where `dataclasses.replace` asks what if.

        Raises
        ------
        FieldError
            Naming the field.
        """
        for field_name, low, high in LIMITS:
            value = getattr(self, field_name)
            if not low <= value <= high:
                raise FieldError(field_name, f"must be from {low:g} to {high:g}, not {value!r}.")
        if self.fabric not in FABRIC_NAMES:
            raise FieldError("fabric", f"must be one of {', '.join(FABRIC_NAMES)}.")

    @classmethod
    def from_fields(
        cls, given: Mapping[str, object], name: str = "cluster", *, typed: bool = False
    ) -> "Cluster":
        """A cluster from the names and units of the catalog; None or absent means unknown.

        Parameters
        ----------
        given
            `gpu` is required. Known: gpu_count, scale_up, scale_up_gbytes_per_s [GB/s, one way],
            scale_up_pair_gbytes_per_s, scale_up_domain_gpus,
            scale_up_domain_guaranteed_gpus, nvlink_generation, pcie_generation, pcie_p2p, fabric,
            fabric_nics, fabric_gbits_per_s_per_nic, fabric_gbits_per_s [Gbit/s, one way, of a
            node], gpudirect, gpudirect_rdma, sharp, oversubscription, adaptive_routing,
            rail_optimised, site_gpus, site_link_gbits_per_s, site_round_trip_ms (a second data
            centre), gpu_power_watts (a cap), max_gpus_on_one_fabric, usd_per_hour [of a node].
            Descriptive fields of an offer are accepted and ignored.
        name
            What to call it in sentences.
        typed
            Whether it is from JSON, where no text is a number.

        Raises
        ------
        FieldError
            Naming the field: unknown, not a number, out of range, or contradicting another.
        """
        facts = Facts.read(given, typed=typed)
        expected = _read_as(facts, name, "expected")
        if not facts.unknown:
            return expected
        return replace(
            expected,
            pessimistic=_read_as(facts, name, "low"),
            optimistic=_read_as(facts, name, "high"),
        )

    @property
    def near_gpus(self) -> int:
        """GPUs that reach each other without the fabric: the larger of node and domain."""
        return max(self.gpu_count, self.domain_gpus)

    @property
    def surely_near_gpus(self) -> int:
        """`near_gpus`, however what is unknown turns out."""
        readings = (self, self.pessimistic, self.optimistic)
        return min(each.near_gpus for each in readings if each is not None)

    @property
    def is_mesh(self) -> bool:
        """True where two GPUs share only the direct link between them."""
        return self.scale_up in MESHES

    @property
    def nic_effective_bytes_per_s(self) -> float:
        """One GPU's share of the NICs after transport, host bounce and oversubscription. [B/s]

        A GPU reaches its NICs over its own PCIe lanes, so 400 Gbit/s in a machine of PCIe 4 are
        220; superchips, whose NICs hang on the CPU, over NVLink.
        """
        rate = self.nic_bytes_per_s * self.fabric_link.efficiency / self.oversubscription
        if not self.gpu.is_superchip:
            rate = min(rate, self.pcie_bytes_per_s)
        if self.fabric == "ethernet":
            node_cap = NETWORK.socket_node_gbytes_per_s * GIGA
            return min(rate, node_cap / self.gpu_count)
        return rate if self.gpudirect else rate * NETWORK.host_bounce_efficiency

    @property
    def hop_s(self) -> float:
        """Latency of one step between nodes. [s]"""
        bounce = 0.0 if self.gpudirect or self.fabric == "ethernet" else NETWORK.host_bounce_us
        node = self.nic_bytes_per_s * self.gpu_count * BITS_PER_BYTE / GIGA
        link = self.fabric_link
        hop = link.first_hop_us if node <= link.first_node_gbits else link.hop_us
        return (hop + bounce) * MICRO

    @property
    def unknown(self) -> bool:
        """True where a fact that moves the estimate was not known."""
        return self.pessimistic is not None

    def measured(self, *, crosses: bool) -> bool:
        """True where the constants were measured on such GPUs, and on such a fabric if it counts.

        Parameters
        ----------
        crosses
            Whether anything is sent over the fabric.
        """
        return self.gpu.measured and (not crosses or self.fabric in MEASURED_FABRICS)

    def said(self, *, talks: bool, crosses: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Assumptions, and warnings, that matter to a job that `talks` or `crosses` the fabric."""
        idle = {*(() if talks else self.of_links), *(() if crosses else self.of_fabric)}
        kept = [
            tuple(t for t in texts if t not in idle) for texts in (self.assumptions, self.warnings)
        ]
        return kept[0], kept[1]

    @property
    def cliff(self) -> float | None:
        """Scale-up rate over fabric rate, per GPU, both one way; None without either."""
        if not self.scale_up_bytes_per_s or not self.nic_bytes_per_s:
            return None
        return self.scale_up_bytes_per_s / self.nic_bytes_per_s

    def as_one_domain(self, gpus_in_domain: int) -> "Cluster":
        """The same GPUs with all of them in one scale-up domain: the cluster without its cliff.

        PCIe GPUs, which have no domain to extend, share one PCIe switch's rate without loss.
        """
        total = self.scale_up_bytes_per_s or self.pcie_bytes_per_s
        pair = self.pair_bytes_per_s or total
        return replace(
            self,
            domain_gpus=max(gpus_in_domain, self.domain_gpus),
            site_gpus=None,
            scale_up="nvswitch" if self.scale_up in ("pcie", "none") else self.scale_up,
            scale_up_bytes_per_s=total,
            pair_bytes_per_s=pair,
            pessimistic=None,
            optimistic=None,
        )

    def unjoined(self) -> "Cluster":
        """The same without its fabric: equal for clusters that differ in what joins their nodes."""
        return replace(
            self,
            fabric="none",
            fabric_link=FABRICS["ethernet"],
            nic_bytes_per_s=0.0,
            gpudirect=False,
            sharp=False,
            oversubscription=1.0,
            spreads=False,
        )

    def bare(self) -> "Cluster":
        """What decides the time on it: equal for clusters that differ in name or price only."""
        return replace(
            self,
            name="",
            max_gpus=None,
            usd_per_hour=None,
            assumptions=(),
            warnings=(),
            of_links=(),
            of_fabric=(),
            pessimistic=None,
            optimistic=None,
        )


def unknown_facts(given: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    """The fields of a cluster that are unknown and move an estimate: each with its low and high.

    Raises
    ------
    FieldError
        As `Cluster.from_fields`.
    """
    return Facts.read(given).plausible()


def _read_as(facts: Facts, name: str, case: str) -> Cluster:
    """The cluster with every unknown read low, as expected, or high."""
    notes, warnings = list[str](), list[str]()  # of the links in a domain and in a node
    beyond, beyond_warnings = list[str](), list[str]()  # of the fabric
    part, count = facts.part()
    scale_up = facts.scale_up_read(case, notes)
    domain, total, pair = facts.domain_read(part, scale_up, count, warnings)
    fabric, node_rate = facts.fabric_read(case, count, beyond, beyond_warnings)
    direct = facts.gpudirect
    if direct is None:
        direct = fabric in DIRECT_FABRICS and case != "low"
        if fabric in DIRECT_FABRICS:
            beyond.append(f"gpudirect is unknown: assumed {'yes' if direct else 'no'}")
    p2p = facts.pcie_p2p
    if p2p is None:
        p2p = part.pcie_p2p
        if count > domain:
            word = "on" if p2p else "off"
            notes.append(f"peer-to-peer over PCIe is unknown: assumed {word} for this GPU")
    link_name = _link_name(scale_up, facts.nvlink_generation)
    return Cluster(
        name=name,
        gpu=part,
        gpu_count=count,
        domain_gpus=domain,
        scale_up=scale_up,
        link=LINKS[link_name],
        link_name=link_name,
        scale_up_bytes_per_s=total,
        pair_bytes_per_s=pair,
        pcie=LINKS["pcie_p2p" if p2p else "pcie_host"],
        pcie_bytes_per_s=PCIE_X16_BYTES_PER_S[facts.pcie_generation],
        fabric=fabric,
        fabric_link=FABRICS[fabric if fabric != "none" else "ethernet"],
        nic_bytes_per_s=node_rate / count,
        gpudirect=direct,
        sharp=bool(facts.sharp) and fabric == "infiniband",
        oversubscription=facts.oversubscription or 1.0,
        spreads=facts.spreads or fabric in SPREADING_FABRICS,
        site_gpus=facts.site_gpus,
        site_bytes_per_s=facts.site_rate,
        site_round_trip_s=facts.site_round_trip_s,
        max_gpus=facts.max_gpus,
        usd_per_hour=facts.usd_per_hour,
        assumptions=(*notes, *beyond),
        warnings=(*warnings, *beyond_warnings),
        of_links=(*notes, *warnings),
        of_fabric=(*beyond, *beyond_warnings),
    )


def _link_name(scale_up: str, nvlink_generation: int | None) -> str:
    """The table of link constants for a domain: of its generation, or the nearest measured one.

    The generation decides what the links can do, as sums in the switch; what a rate was cut to
    scales them.
    """
    if scale_up in ("infinity_fabric_mesh", "gaudi_mesh"):
        return "mesh"
    measured = sorted(int(name.removeprefix(NVLINK)) for name in LINKS if name.startswith(NVLINK))
    wanted = nvlink_generation or measured[0]
    return f"{NVLINK}{min(max(wanted, measured[0]), measured[-1])}"


@cache
def _reference() -> Mapping[str, Mapping[str, object]]:
    return data_file("clusters.toml")


def clusters() -> tuple[str, ...]:
    """Slugs of the reference clusters."""
    return tuple(_reference())


def cluster_fields(slug: str) -> Mapping[str, object]:
    """The fields of a reference cluster, as a cluster file would hold them.

    Raises
    ------
    FieldError
        For `cluster`, when there is no such slug.
    """
    known = Fields({"cluster": slug}).text("cluster", _reference())
    return _reference()[known or ""]


@cache
def cluster(slug: str) -> Cluster:
    """A reference cluster by its slug, as `dgx-h100-ndr`."""
    return Cluster.from_fields(cluster_fields(slug), name=slug)

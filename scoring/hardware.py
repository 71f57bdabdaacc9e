"""What is there: the links of a domain and of a node, the fabric between nodes, a cluster.

A `Cluster` is many equal nodes on one fabric. Three levels of links join its GPUs, each as fast as
its slowest part: the scale-up domain (NVSwitch, a mesh, a bridged pair; 72 GPUs of many nodes in
an NVL72), the PCIe tree of a node where the domain is smaller than the node, and the NICs. All
rates are one way and per GPU, in B/s.

Unknown is None at the door (`Cluster.from_fields`) and becomes a stated, plausible value here, with
the pessimistic and the optimistic reading of the same facts beside it, so that an estimate can say
how far the unknown reaches.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache

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
from scoring.gpus import Gpu, gpu
from scoring.units import BITS_PER_BYTE, GIGA, MICRO

SCALE_UPS = (
    "nvswitch",
    "nvlink_mesh",
    "nvlink_bridge",
    "pcie",
    "infinity_fabric_mesh",
    "gaudi_mesh",
    "none",
)
MESHES = ("nvlink_mesh", "infinity_fabric_mesh", "gaudi_mesh")
FABRIC_NAMES = (*FABRICS, "none")
DIRECT_FABRICS = ("infiniband", "roce", "efa", "gpudirect_tcpx", "gpudirect_tcpxo", "slingshot")
MEASURED_FABRICS = ("infiniband", "roce", "efa", "omni_path")
# Least and most of what a cluster can be made of; rates in B/s, counts in GPUs.
LIMITS = (
    ("gpu_count", 1, 1024),
    ("domain_gpus", 1, 2**40),
    ("scale_up_bytes_per_s", 0.0, 1e30),
    ("pair_bytes_per_s", 0.0, 1e30),
    ("pcie_bytes_per_s", 0.0, 1e12),
    ("nic_bytes_per_s", 0.0, 1e30),
    ("oversubscription", 1.0, 100.0),
)
# Fields of the catalog that describe a cluster to people and not to the physics.
IGNORED_FIELDS = (
    *("name", "slug", "title", "source", "provider", "via", "instance_type", "region", "country"),
    *("tier", "price_model", "available", "gpu_candidates", "gpu_vendor", "form_factor"),
    *("gpu_memory_gb", "domain_gpu_memory_gb", "vcpus", "ram_gb", "nvlink_domain_gpus"),
    *("fabric_generation", "fabric_gbits_per_s_per_gpu", "frontend_gbits_per_s"),
    *("frontend_burst_gbits_per_s", "rdma", "rail_optimised", "adaptive_routing", "multi_node"),
    *("same_fabric", "cliff", "disputed", "usd_per_gpu_hour", "native_amount", "native_currency"),
    *("usd_rate", "usd_rate_date", "price_note", "price_includes", "minimum_hours"),
    *("collected_at", "stale", "source_url", "warnings", "software_support"),
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
    max_gpus: int | None
    usd_per_hour: float | None  # of one node
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    pessimistic: "Cluster | None" = field(default=None, repr=False)
    optimistic: "Cluster | None" = field(default=None, repr=False)

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
    def from_fields(cls, given: Mapping[str, object], name: str = "cluster") -> "Cluster":
        """A cluster from the names and units of the catalog; None or absent means unknown.

        Parameters
        ----------
        given
            `gpu` is required. Known: gpu_count, scale_up, scale_up_gbytes_per_s [GB/s, one way],
            scale_up_pair_gbytes_per_s, scale_up_domain_gpus,
            scale_up_domain_guaranteed_gpus, nvlink_generation, pcie_generation, pcie_p2p, fabric,
            fabric_nics, fabric_gbits_per_s_per_nic, fabric_gbits_per_s [Gbit/s, one way, of a
            node], gpudirect, gpudirect_rdma, sharp, oversubscription, max_gpus_on_one_fabric,
            usd_per_hour [of a node]. Descriptive fields of an offer are accepted and ignored.
        name
            What to call it in sentences.

        Raises
        ------
        FieldError
            Naming the field: unknown, not a number, out of range, or contradicting another.
        """
        facts = _Facts.read(given)
        expected = facts.cluster(name, "expected")
        if not facts.unknown:
            return expected
        return replace(
            expected,
            pessimistic=facts.cluster(name, "low"),
            optimistic=facts.cluster(name, "high"),
        )

    @property
    def near_gpus(self) -> int:
        """GPUs that reach each other without the fabric: the larger of node and domain."""
        return max(self.gpu_count, self.domain_gpus)

    @property
    def is_mesh(self) -> bool:
        """True where two GPUs share only the direct link between them."""
        return self.scale_up in MESHES

    @property
    def nic_effective_bytes_per_s(self) -> float:
        """One GPU's share of the NICs after transport, host bounce and oversubscription. [B/s]"""
        rate = self.nic_bytes_per_s * self.fabric_link.efficiency / self.oversubscription
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

    @property
    def measured(self) -> bool:
        """True where kernels and fabric are of kinds that the constants were measured on."""
        return self.gpu.measured and self.fabric in (*MEASURED_FABRICS, "none")

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
            scale_up="nvswitch" if self.scale_up in ("pcie", "none") else self.scale_up,
            scale_up_bytes_per_s=total,
            pair_bytes_per_s=pair,
            pessimistic=None,
            optimistic=None,
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
            pessimistic=None,
            optimistic=None,
        )


@dataclass(frozen=True, slots=True)
class _Facts:
    """The checked fields of a cluster, None where unknown, and the list of what is unknown."""

    gpu: Gpu
    gpu_count: float
    scale_up: str | None
    total: float | None  # [B/s]
    pair: float | None  # [B/s]
    domain: int | None
    pcie_generation: int
    pcie_p2p: bool | None
    fabric: str | None
    node_rate: float | None  # [B/s]
    gpudirect: bool | None
    sharp: bool | None
    oversubscription: float | None
    max_gpus: int | None
    usd_per_hour: float | None
    unknown: tuple[str, ...]

    @classmethod
    def read(cls, given: Mapping[str, object]) -> "_Facts":
        f = Fields(given)
        slug = f.text("gpu")
        if slug is None:
            raise FieldError("gpu", "must be given: the slug of the GPU, as h100-sxm5-80gb.")
        part = gpu(slug)
        count = f.number("gpu_count", 1 / 64, 1024)
        scale_up = f.text("scale_up", SCALE_UPS)
        total = f.number("scale_up_gbytes_per_s", 0, 10_000)
        pair = f.number("scale_up_pair_gbytes_per_s", 0, 10_000)
        guaranteed = f.whole("scale_up_domain_guaranteed_gpus", 1, 10_000)
        domain = f.whole("scale_up_domain_gpus", 1, 10_000)
        f.whole("nvlink_generation", 1, 9)
        pcie = f.whole("pcie_generation", 3, 6)
        p2p = f.truth("pcie_p2p")
        fabric = f.text("fabric", FABRIC_NAMES)
        node_rate = _node_rate(f)
        rdma = f.truth("gpudirect_rdma")
        direct = f.truth("gpudirect")
        sharp = f.truth("sharp")
        over = f.number("oversubscription", 1, 100)
        max_gpus = f.whole("max_gpus_on_one_fabric", 1, 10_000_000)
        usd = f.number("usd_per_hour", 0, 1e7)
        for ignored in IGNORED_FIELDS:
            f.raw(ignored)
        f.finish()
        if count is not None and count > 1 and count != int(count):
            raise FieldError("gpu_count", f"must be whole, or a fraction below 1, not {count:g}.")
        if total and pair and pair > total * 1.001:
            raise FieldError(
                "scale_up_pair_gbytes_per_s", f"exceeds scale_up_gbytes_per_s ({total:g} GB/s)."
            )
        if total == 0 and scale_up not in (None, "pcie", "none"):
            raise FieldError("scale_up_gbytes_per_s", f"is 0 but scale_up is {scale_up}.")
        if node_rate == 0 and fabric not in (None, "none"):
            raise FieldError("fabric_gbits_per_s", f"is 0 but fabric is {fabric}.")
        direct = rdma if direct is None else direct
        fabric = "none" if fabric is None and node_rate == 0 else fabric
        unknown = [
            label
            for label, value in (
                ("fabric", fabric),
                ("fabric_gbits_per_s", node_rate if fabric != "none" else 0.0),
                ("gpudirect", direct if fabric in DIRECT_FABRICS else False),
                (
                    "scale_up",
                    scale_up or (part.scale_up if part.scale_up != "nvlink_bridge" else None),
                ),
            )
            if value is None
        ]
        return cls(
            gpu=part,
            gpu_count=count or 1,
            scale_up=scale_up,
            total=None if total is None else total * GIGA,
            pair=None if pair is None else pair * GIGA,
            domain=guaranteed or domain,
            pcie_generation=pcie or part.pcie_generation,
            pcie_p2p=p2p,
            fabric=fabric,
            node_rate=node_rate,
            gpudirect=direct,
            sharp=sharp,
            oversubscription=over,
            max_gpus=max_gpus,
            usd_per_hour=usd,
            unknown=tuple(unknown),
        )

    def cluster(self, name: str, case: str) -> Cluster:
        """The cluster with every unknown read low, as expected, or high."""
        notes: list[str] = []
        warnings: list[str] = []
        part, count = self._slice()
        scale_up = self._scale_up(case, notes)
        domain, total, pair = self._domain(part, scale_up, count, warnings)
        fabric, node_rate = self._fabric(case, count, notes, warnings)
        direct = self.gpudirect
        if direct is None:
            direct = fabric in DIRECT_FABRICS and case != "low"
            if fabric in DIRECT_FABRICS:
                notes.append(f"gpudirect is unknown: assumed {'yes' if direct else 'no'}")
        p2p = self.pcie_p2p
        if p2p is None:
            # Ada cards and consumer boards bounce through the host; measured on 8×L40S.
            p2p = part.family_name not in ("l40s", "ampere_pcie", "volta")
            if count > domain:
                word = "on" if p2p else "off"
                notes.append(f"peer-to-peer over PCIe is unknown: assumed {word} for this GPU")
        link_name = _link_name(scale_up, total)
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
            pcie_bytes_per_s=PCIE_X16_BYTES_PER_S[self.pcie_generation],
            fabric=fabric,
            fabric_link=FABRICS[fabric if fabric != "none" else "ethernet"],
            nic_bytes_per_s=node_rate / count,
            gpudirect=direct,
            sharp=bool(self.sharp) and fabric == "infiniband",
            oversubscription=self.oversubscription or 1.0,
            max_gpus=self.max_gpus,
            usd_per_hour=self.usd_per_hour,
            assumptions=tuple(notes),
            warnings=tuple(warnings),
        )

    def _slice(self) -> tuple[Gpu, int]:
        """The GPU and how many; a fraction of one becomes a smaller GPU, alone."""
        if self.gpu_count >= 1:
            return self.gpu, int(self.gpu_count)
        share = self.gpu_count
        smaller = replace(
            self.gpu,
            memory_gb=self.gpu.memory_gb * share,
            memory_bytes=self.gpu.memory_bytes * share,
            memory_bytes_per_s=self.gpu.memory_bytes_per_s * share,
            flop_per_s={name: rate * share for name, rate in self.gpu.flop_per_s.items()},
        )
        return smaller, 1

    def _scale_up(self, case: str, notes: list[str]) -> str:
        if self.scale_up is not None:
            return self.scale_up
        if self.gpu_count <= 1 and self.gpu.domain_gpus <= 8:
            return "none"
        usual = self.gpu.scale_up
        if usual == "nvlink_bridge" and case != "high":
            usual = "pcie"  # bridges are an option that most providers do not fit
        notes.append(f"scale_up is unknown: assumed {usual}, as {self.gpu.slug} is usually built")
        return usual

    def _domain(
        self, part: Gpu, scale_up: str, count: int, warnings: list[str]
    ) -> tuple[int, float, float]:
        """GPUs of one domain, the rate to all peers and between two. [1], [B/s], [B/s]"""
        if scale_up in ("pcie", "none"):
            return 1, 0.0, 0.0
        usual = part.domain_gpus if part.domain_gpus > 8 else min(part.domain_gpus, count)
        domain = self.domain or usual
        if domain < count and count % domain:
            raise FieldError(
                "scale_up_domain_gpus",
                f"must divide gpu_count ({count}) or be a multiple of it, not {domain}.",
            )
        if domain > count and domain % count:  # a part of a box that was rented out in pieces
            domain = domain // count * count
        if scale_up == "nvlink_bridge" and domain > 4:
            warnings.append(f"an NVLink bridge joins 2 or 4 GPUs, not {domain}: taken as 2")
            domain = 2
        total = self.total or part.scale_up_bytes_per_s
        if not total:
            raise FieldError(
                "scale_up_gbytes_per_s", f"must be given for {part.slug} with scale_up {scale_up}."
            )
        if self.pair:
            pair = self.pair
        elif scale_up in MESHES:
            pair = (
                part.pair_bytes_per_s if part.scale_up == scale_up else total / max(domain - 1, 1)
            )
        else:
            pair = total
        return domain, total, min(pair, total)

    def _fabric(
        self, case: str, count: int, notes: list[str], warnings: list[str]
    ) -> tuple[str, float]:
        """The fabric and the rate of one node, [B/s]; assumptions are noted."""
        unknown = NETWORK.unknown_gbits_per_s_per_gpu
        fabric, rate = self.fabric, self.node_rate
        if fabric == "none":
            return "none", 0.0
        if fabric is None:
            known_fast = rate is not None and rate / count >= 50 * GIGA / BITS_PER_BYTE
            middle = "roce" if known_fast else NETWORK.unknown_fabric
            fabric = {"low": NETWORK.unknown_fabric, "expected": middle, "high": "infiniband"}[case]
            notes.append(f"fabric is unknown: assumed {fabric}")
            warnings.append("what joins the nodes is unknown: the interval spans Ethernet to NDR")
        if rate is None:
            per_gpu = unknown[case]
            if fabric in ("infiniband", "roce", "efa") and self.fabric is not None:
                per_gpu = max(per_gpu, {"low": 12.5, "expected": 100.0, "high": 400.0}[case])
            notes.append(f"fabric_gbits_per_s is unknown: assumed {per_gpu:g} Gbit/s per GPU")
            warnings.append("the fabric's rate is unknown: the interval is wide")
            rate = per_gpu * count * GIGA / BITS_PER_BYTE
        return fabric, rate


def _node_rate(f: Fields) -> float | None:
    """Fabric rate of one node, one way, from its total or from its NICs. [B/s]"""
    nics = f.whole("fabric_nics", 0, 1024)
    each = f.number("fabric_gbits_per_s_per_nic", 0, 10_000)
    node = f.number("fabric_gbits_per_s", 0, 1_000_000)
    product = nics * each if nics is not None and each is not None else None
    if node is not None and product is not None and not math.isclose(node, product, rel_tol=0.01):
        raise FieldError(
            "fabric_gbits_per_s",
            f"is {node:g} but fabric_nics × fabric_gbits_per_s_per_nic is {product:g} Gbit/s.",
        )
    node = product if node is None else node
    return None if node is None else node * GIGA / BITS_PER_BYTE


def _link_name(scale_up: str, total: float) -> str:
    """The table of link constants for a domain, by its kind and its rate [B/s]."""
    if scale_up in ("infinity_fabric_mesh", "gaudi_mesh"):
        return "mesh"
    if total >= 700 * GIGA:
        return "nvlink5"
    return "nvlink4" if total >= 380 * GIGA else "nvlink3"


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

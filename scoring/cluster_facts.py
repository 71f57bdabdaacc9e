"""What is said of a cluster: the catalog's fields, checked, and what stands in for the unknown.

`Facts.read` takes the names and units of the catalog; None or absent means unknown. What is unknown
is then read low, as expected, or high, each a stated and plausible value.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scoring.constants import FABRICS, NETWORK
from scoring.fields import FieldError, Fields
from scoring.gpus import Gpu, capped, gpu
from scoring.units import BITS_PER_BYTE, GIGA

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
# Fields of the catalog that describe a cluster to people and not to the physics.
IGNORED_FIELDS = (
    *("name", "slug", "title", "source", "provider", "via", "instance_type", "region", "country"),
    *("tier", "price_model", "available", "gpu_candidates", "gpu_vendor", "form_factor"),
    *("gpu_memory_gb", "domain_gpu_memory_gb", "vcpus", "ram_gb", "nvlink_domain_gpus"),
    *("fabric_generation", "fabric_gbits_per_s_per_gpu", "frontend_gbits_per_s"),
    *("frontend_burst_gbits_per_s", "rdma", "multi_node"),
    *("same_fabric", "cliff", "disputed", "usd_per_gpu_hour", "native_amount", "native_currency"),
    *("usd_rate", "usd_rate_date", "price_note", "price_includes", "minimum_hours"),
    *("collected_at", "stale", "source_url", "warnings", "software_support"),
)


@dataclass(frozen=True, slots=True)
class Facts:
    """The checked fields of a cluster, None where unknown, and the list of what is unknown."""

    gpu: Gpu
    gpu_count: float
    scale_up: str | None
    total: float | None  # [B/s]
    pair: float | None  # [B/s]
    domain: int | None
    nvlink_generation: int | None
    pcie_generation: int
    pcie_p2p: bool | None
    fabric: str | None
    node_rate: float | None  # [B/s]
    gpudirect: bool | None
    sharp: bool | None
    oversubscription: float | None
    spreads: bool  # the network is said to spread its load: adaptive routing, or rails
    site_gpus: int | None
    site_rate: float  # of the link between two sites [B/s]
    site_round_trip_s: float
    max_gpus: int | None
    usd_per_hour: float | None
    unknown: tuple[str, ...]

    @classmethod
    def read(cls, given: Mapping[str, object], *, typed: bool = False) -> "Facts":
        f = Fields(given, typed=typed)
        slug = f.text("gpu")
        if slug is None:
            raise FieldError("gpu", "must be given: the slug of the GPU, as h100-sxm5-80gb.")
        sold = gpu(slug)
        count = f.number("gpu_count", 1 / 64, 1024)
        scale_up = f.text("scale_up", SCALE_UPS)
        total = f.number("scale_up_gbytes_per_s", 0, 10_000)
        pair = f.number("scale_up_pair_gbytes_per_s", 0, 10_000)
        guaranteed = f.whole("scale_up_domain_guaranteed_gpus", 1, 10_000)
        domain = f.whole("scale_up_domain_gpus", 1, 10_000)
        nvlink = f.whole("nvlink_generation", 1, 9)
        pcie = f.whole("pcie_generation", 3, 6)
        p2p = f.truth("pcie_p2p")
        fabric = f.text("fabric", FABRIC_NAMES)
        node_rate = _node_rate(f)
        rdma = f.truth("gpudirect_rdma")
        direct = f.truth("gpudirect")
        sharp = f.truth("sharp")
        over = f.number("oversubscription", 1, 100)
        spreads = [f.truth("adaptive_routing"), f.truth("rail_optimised")]
        site_gpus, site_rate, round_trip = _site(f)
        watts = f.number("gpu_power_watts", 1, 10_000)
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
        part = sold if watts is None else capped(sold, watts)
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
            nvlink_generation=nvlink or part.nvlink_generation,
            pcie_generation=pcie or part.pcie_generation,
            pcie_p2p=p2p,
            fabric=fabric,
            node_rate=node_rate,
            gpudirect=direct,
            sharp=sharp,
            oversubscription=over,
            spreads=any(spreads),
            site_gpus=site_gpus,
            site_rate=site_rate,
            site_round_trip_s=round_trip,
            max_gpus=max_gpus,
            usd_per_hour=usd,
            unknown=tuple(unknown),
        )

    def plausible(self) -> dict[str, tuple[object, object]]:
        """Of each unknown that moves an estimate, the low and the high of what it may be.

        Under the field's own name, in its unit: what `from_fields` takes if it became known.
        """
        count = self.part()[1]
        cases = [
            {
                "fabric": (read := self.fabric_read(case, count, [], []))[0],
                "fabric_gbits_per_s": read[1] * BITS_PER_BYTE / GIGA,
                "gpudirect": answer,
                "scale_up": self.scale_up_read(case, []),
            }
            for case, answer in (("low", "no"), ("high", "yes"))
        ]
        return {name: (cases[0][name], cases[1][name]) for name in self.unknown}

    def part(self) -> tuple[Gpu, int]:
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

    def scale_up_read(self, case: str, notes: list[str]) -> str:
        if self.scale_up is not None:
            return self.scale_up
        if self.gpu_count <= 1 and self.gpu.domain_gpus <= 8:
            return "none"
        usual = self.gpu.scale_up
        if usual == "nvlink_bridge" and case != "high":
            usual = "pcie"  # bridges are an option that most providers do not fit
        built = f"assumed {usual}, as {self.gpu.slug} is usually built"
        notes.append(f"how the GPUs are joined is unknown: {built}")
        return usual

    def domain_read(
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

    def fabric_read(
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
            notes.append(f"the fabric's rate is unknown: assumed {per_gpu:g} Gb/s per GPU")
            warnings.append("the fabric's rate is unknown: the interval is wide")
            rate = per_gpu * count * GIGA / BITS_PER_BYTE
        return fabric, rate


def _site(f: Fields) -> tuple[int | None, float, float]:
    """GPUs of one data centre, the rate and the round trip of the link to the next. [B/s], [s]"""
    gpus = f.whole("site_gpus", 1, 10_000_000)
    rate = f.number("site_link_gbits_per_s", 0.001, 1_000_000)
    trip = f.number("site_round_trip_ms", 0, 10_000)
    if gpus is None:
        if rate is not None or trip is not None:
            raise FieldError("site_gpus", "must be given where a link between sites is.")
        return None, 0.0, 0.0
    if rate is None or trip is None:
        missing = "site_link_gbits_per_s" if rate is None else "site_round_trip_ms"
        raise FieldError(missing, "must be given with site_gpus.")
    return gpus, rate * GIGA / BITS_PER_BYTE, trip * 1e-3


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

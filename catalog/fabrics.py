"""Fabrics as things of their own: which types can be had together on one network, and how large.

The rule ("one network"): a type whose provider says how several of its instances are joined
(`multi_node`, `same_fabric` or `max_gpus_on_one_fabric`) over a fabric with RDMA or GPUDirect
stands on a fabric. Types of one provider and one GPU of which the same is said, in technology,
generation, speed, size and means, stand on the same one: a cluster is ordered of one GPU, and that
two GPUs share a network is not said by their speeds being equal. A type whose GPU is not known
stands alone. Where something else is said of a region, it makes a fabric of that region; a region
of which its provider says that no instances are joined there is none of the fabric's; and where
regions are named in which they are joined, the fabric is in no others. What is said of an NVLink
domain (a rack, an UltraServer, a ComputeDomain) is not said of the fabric between domains.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from catalog.models import Fabric, InstanceType
from catalog.records import FabricKind, MultiNode

RULE = "rule: one network (catalog.fabrics)"
LIMITS = ("max_gpus_on_one_fabric", "multi_node", "same_fabric")
MAKES = ("fabric", "fabric_generation", "fabric_gbits_per_s_per_gpu", *LIMITS)
JOINED = (MultiNode.SELF_SERVE, MultiNode.RESERVATION)
ALTERNATIVE = "; or: "  # between several ways of which each is enough
INSIDE_A_DOMAIN = re.compile(r"NVLink|UltraServer|ComputeDomain|gpu_memory_fabric_id")


@dataclass(frozen=True, slots=True)
class Network:
    """What makes two types stand on the same fabric."""

    provider: str
    technology: str
    generation: str | None
    gbits_per_s_per_gpu: float | None
    max_gpus: int | None
    how: str | None
    multi_node: str | None
    gpu: str | None
    alone: str | None = None  # the type's name, where its GPU is not known
    region: str | None = None

    @property
    def slug(self) -> str:
        """The same for the same network, and not for another."""
        words = (self.provider, self.region, self.technology, self.generation, self.gpu)
        name = "-".join(word.lower().replace(" ", "-") for word in words if word)
        tail = hashlib.blake2b(repr(self).encode(), digest_size=3).hexdigest()
        return f"{name[:180]}-{tail}"


def rebuild(providers: Collection[str]) -> None:
    """Make the fabrics of these providers what the rule makes of their types."""
    standing: dict[Network, list[InstanceType]] = defaultdict(list)
    for kind in InstanceType.objects.filter(provider__in=providers).order_by("provider_id", "name"):
        for network in networks(kind):
            standing[network].append(kind)
    kept = [_store(network, kinds) for network, kinds in standing.items()]
    Fabric.objects.filter(provider__in=providers).exclude(slug__in=kept).delete()


def networks(kind: InstanceType) -> Iterator[Network]:
    """The networks that a type stands on: one a region spoken of, and one wherever else."""
    said = {region: dict(kind.by_region or {})[region] for region in apart(kind)}
    for region, there in said.items():
        if network := _network(kind, region, there):
            yield network
    named = any(there.get("multi_node") in JOINED for there in said.values())
    if not named and (elsewhere := _network(kind, None, {})):
        yield elsewhere


def apart(kind: InstanceType) -> list[str]:
    """The regions of which something is said that makes the network there another, or none."""
    return sorted(
        region
        for region, there in (kind.by_region or {}).items()
        if not there.keys().isdisjoint(MAKES)
    )


def _network(kind: InstanceType, region: str | None, there: Mapping[str, Any]) -> Network | None:
    """The network that joins several of a type, by what is said of a region before the rest."""
    known = {name: there.get(name, getattr(kind, name)) for name in MAKES}
    network = Network(
        provider=kind.provider_id,
        technology=str(known["fabric"]),
        generation=known["fabric_generation"],
        gbits_per_s_per_gpu=known["fabric_gbits_per_s_per_gpu"],
        max_gpus=known["max_gpus_on_one_fabric"],
        how=between_domains(known["same_fabric"]),
        multi_node=known["multi_node"],
        gpu=kind.gpu_id,
        alone=None if kind.gpu_id else kind.name,
        region=region,
    )
    without = known["fabric"] in (None, FabricKind.ETHERNET, FabricKind.NONE)
    if without or network.multi_node == MultiNode.NO:
        return None
    return network if network.how or network.multi_node or network.max_gpus else None


def between_domains(same_fabric: str | None) -> str | None:
    """Of the ways to be placed together, those that speak of the fabric and not of NVLink."""
    ways = (same_fabric or "").split(ALTERNATIVE)
    return ALTERNATIVE.join(way for way in ways if not INSIDE_A_DOMAIN.search(way)) or None


def _store(network: Network, kinds: Iterable[InstanceType]) -> str:
    kinds = list(kinds)
    fabric, _ = Fabric.objects.update_or_create(
        slug=network.slug,
        defaults={
            "provider_id": network.provider,
            "region": network.region,
            "gpu": network.gpu,
            "technology": network.technology,
            "generation": network.generation,
            "gbits_per_s_per_gpu": network.gbits_per_s_per_gpu,
            "max_gpus": network.max_gpus,
            "how": network.how,
            "multi_node": network.multi_node,
            "source": _sources(kinds),
            "checked": _checked(kinds),
        },
    )
    fabric.instance_types.set(kinds)
    return network.slug


def _sources(kinds: Iterable[InstanceType]) -> str:
    return "; ".join([RULE, *sorted({said["source"] for said in _grounds(kinds)})])[:1000]


def _checked(kinds: Iterable[InstanceType]) -> date:
    """The day of the oldest of the statements that it rests on."""
    days = (date.fromisoformat(said["checked"]) for said in _grounds(kinds))
    return min(days, default=date.min)


def _grounds(kinds: Iterable[InstanceType]) -> Iterator[Mapping[str, Any]]:
    for kind in kinds:
        for name in ("fabric", *LIMITS):
            said = kind.evidence.get(name, {})
            if said.get("value") is not None:
                yield said

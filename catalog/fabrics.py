"""Fabrics as things of their own: which types can be had together on one network, and how large.

The rule ("one network"): a type whose provider says how several of its instances are joined
(`multi_node`, `same_fabric` or `max_gpus_on_one_fabric`) over a fabric with RDMA or GPUDirect
stands on a fabric; types of one provider of which the same is said, in technology, generation,
speed, size and means, stand on the same one. A statement whose scope is a region makes a fabric of
that region.
"""

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from catalog.models import Fabric, InstanceType, Region
from catalog.records import FabricKind, MultiNode

RULE = "rule: one network (catalog.fabrics)"
LIMITS = ("max_gpus_on_one_fabric", "multi_node", "same_fabric")


@dataclass(frozen=True, slots=True)
class Network:
    """What makes two types stand on the same fabric."""

    provider: str
    technology: str
    generation: str | None
    gbits_per_s_per_gpu: float | None
    max_gpus: int | None
    how: str | None
    region: str | None = None

    @property
    def slug(self) -> str:
        """The same for the same network, and not for another."""
        words = (self.provider, self.region, self.technology, self.generation)
        name = "-".join(word.lower().replace(" ", "-") for word in words if word)
        tail = hashlib.blake2b(repr(self).encode(), digest_size=3).hexdigest()
        return f"{name[:180]}-{tail}"


def rebuild(providers: Collection[str]) -> None:
    """Make the fabrics of these providers what the rule makes of their types."""
    regions = set(Region.objects.filter(provider__in=providers).values_list("region", flat=True))
    standing: dict[Network, list[InstanceType]] = defaultdict(list)
    types = InstanceType.objects.filter(provider__in=providers, fabric__isnull=False)
    for kind in types.order_by("provider_id", "name"):
        for network in networks(kind, regions):
            standing[network].append(kind)
    kept = [_store(network, kinds) for network, kinds in standing.items()]
    Fabric.objects.filter(provider__in=providers).exclude(slug__in=kept).delete()


def networks(kind: InstanceType, regions: Collection[str]) -> Iterator[Network]:
    """The networks that a type stands on: one wherever it is sold, and one a region spoken of."""
    if kind.fabric in (None, FabricKind.ETHERNET, FabricKind.NONE):
        return
    everywhere = Network(
        provider=kind.provider_id,
        technology=str(kind.fabric),
        generation=kind.fabric_generation,
        gbits_per_s_per_gpu=kind.fabric_gbits_per_s_per_gpu,
        max_gpus=kind.max_gpus_on_one_fabric,
        how=kind.same_fabric or kind.multi_node,
    )
    joined = kind.multi_node != MultiNode.NO
    if joined and (everywhere.how or everywhere.max_gpus):
        yield everywhere
    for region, attribute, value in _scoped(kind):
        if region in regions:
            yield _in(everywhere, region, attribute, value)


def _in(network: Network, region: str, attribute: str, value: object) -> Network:
    if attribute == "max_gpus_on_one_fabric":
        return replace(network, region=region, max_gpus=int(str(value)))
    return replace(network, region=region, how=str(value))


def _scoped(kind: InstanceType) -> Iterator[tuple[str, str, object]]:
    for attribute in LIMITS:
        for claim in kind.evidence.get(attribute, {}).get("claims", ()):
            if claim["scope"] and claim["value"] not in (None, MultiNode.NO):
                yield claim["scope"], attribute, claim["value"]


def _store(network: Network, kinds: Iterable[InstanceType]) -> str:
    kinds = list(kinds)
    fabric, _ = Fabric.objects.update_or_create(
        slug=network.slug,
        defaults={
            "provider_id": network.provider,
            "region": network.region,
            "technology": network.technology,
            "generation": network.generation,
            "gbits_per_s_per_gpu": network.gbits_per_s_per_gpu,
            "max_gpus": network.max_gpus,
            "how": network.how,
            "source": _sources(kinds),
            "checked": min((k.checked for k in kinds if k.checked), default=date.min),
        },
    )
    fabric.instance_types.set(kinds)
    return network.slug


def _sources(kinds: Iterable[InstanceType]) -> str:
    said = {
        kind.evidence[name]["source"]
        for kind in kinds
        for name in (*LIMITS, "fabric")
        if name in kind.evidence
    }
    return "; ".join([RULE, *sorted(said)])[:1000]

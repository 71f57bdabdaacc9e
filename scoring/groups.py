"""Ranks that communicate, and how the links of a cluster divide them.

A group is described by how many of its ranks share a scale-up domain and how many reach each other
without the fabric, so that one formula serves a box of 8, a bridged pair, an NVL72 and a rack of
PCIe nodes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from scoring.hardware import Cluster
from scoring.units import (
    Value,
    ceil,
    greatest_common_divisor,
    maximum,
    minimum,
    where,
)

STRADDLE_MAX_ISLAND = 16  # GPUs; nodes are filled to the last GPU, racks are not


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that communicate, and how the links of a cluster divide them. All broadcast.

    ranks ≥ 1; fast: of them in one scale-up domain; near: reached without the fabric; domains: how
    many islands the fabric joins; sites: over how many data centres they lie, and beside: how many
    such groups lie side by side and share the link between these.
    """

    ranks: Value
    fast: Value
    near: Value
    domains: Value
    sites: Value = 1.0
    beside: Value = 1.0


def group(cluster: Cluster, ranks: Value, stride: Value = 1.0, *, alone: bool = False) -> Group:
    """The group of `ranks` GPUs that stand `stride` apart in the cluster's order.

    Ranks fill a domain first: a tensor-parallel group has stride 1, a data-parallel group stands
    tp · cp apart. Many such groups lie side by side, unless it is `alone`: then it starts at the
    edge of an island and straddles none.
    """
    islands = (cluster.domain_gpus, cluster.near_gpus, cluster.site_gpus)
    if isinstance(ranks, np.ndarray) or isinstance(stride, np.ndarray):
        return _group(*islands, ranks, stride, alone=alone)
    return _one_group(*islands, ranks, stride, alone=alone)


def _group(
    domain: int, near_gpus: int, site: int | None, ranks: Value, stride: Value, *, alone: bool
) -> Group:
    ranks = maximum(ranks, 1.0)
    fast = _whole_share(domain, ranks, stride, alone=alone)
    near = _whole_share(near_gpus, ranks, stride, alone=alone)
    domains = ceil(ranks / near - 1e-9)
    if site is None:
        return Group(ranks, fast, near, domains)
    sites = minimum(ceil(ranks * stride / site - 1e-9), ranks)
    return Group(ranks, fast, near, domains, sites, stride)


_one_group = lru_cache(maxsize=16_384)(_group)


def _whole_share(island: int, ranks: Value, stride: Value, *, alone: bool) -> Value:
    """Ranks of the group on one island, in equal parts, so that rings stay regular.

    Groups that do not tile a node straddle two: 12 ranks on nodes of 8 sit 8 + 4 and 4 + 8, so
    only gcd(12, 8) = 4 lanes are sure. A large domain, as an NVL72, leaves its rest idle instead.
    """
    span = ranks * stride
    inside = maximum(minimum((island + 1e-9) / stride // 1.0, ranks), 1.0)
    if island <= STRADDLE_MAX_ISLAND and not alone:
        common = greatest_common_divisor(span, island)
        tiled = (span >= island * ranks) | (common == span) | (common == island)
        inside = where(tiled, inside, maximum(common / stride // 1.0, 1.0))
    return ranks / ceil(ranks / inside - 1e-9)

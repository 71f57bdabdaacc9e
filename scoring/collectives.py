"""How long a collective takes on a cluster: latency, bytes over the slowest link, and the ramp.

    t = base + steps · hop + x + √(ramp · steps · x),    x = bytes moved / bandwidth

The square root is the slow approach of a pipeline to line rate; without it every measured curve is
missed by 20 to 50 % in its middle. Constants are those of constants.toml. A group of ranks is
described by how many of them share a scale-up domain and how many reach each other without the
fabric, so that one formula serves a box of 8, a bridged pair, an NVL72 and a rack of PCIe nodes.
The time of a collective is the minimum over the algorithms that are legal for it: NCCL tunes itself
the same way.

References
----------
P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations,"
J. Parallel Distrib. Comput., 69(2), 2009. doi:10.1016/j.jpdc.2008.09.002
NCCL, src/graph/tuning.cc: latencies, and which algorithm is legal where (read 2026-11-29).
nccl-tests, doc/PERFORMANCE.md: the definition of bus bandwidth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from scoring.constants import NETWORK
from scoring.hardware import Cluster
from scoring.units import (
    MICRO,
    Value,
    ceil,
    greatest_common_divisor,
    log2,
    maximum,
    minimum,
    sqrt,
    where,
)

KINDS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "all_to_all",
    "send_recv",
)
NEVER = 1e30  # s: an algorithm that is not legal here. Finite, so that no arithmetic warns
CHANNEL_RANKS_CAP = 8.0  # the ring's rate no longer grows with ranks beyond this many
STRADDLE_MAX_ISLAND = 16  # GPUs; nodes are filled to the last GPU, racks are not
TREE_EFFICIENCY = 0.92  # of the ring's rate; NCCL tuning.cc
NVLS_MIN_RANKS = 5.0  # the in-switch gain is 1.00 up to 4 ranks; stas00 network/README L921-941
HIERARCHY_MAX_DOMAIN = 16.0  # 20 racks of NVL72 measure as flat rings; coreweave/nccl-tests


@dataclass(frozen=True, slots=True)
class Group:
    """Ranks that communicate, and how the links of a cluster divide them. All broadcast.

    ranks ≥ 1; fast: of them in one scale-up domain; near: reached without the fabric; domains: how
    many islands the fabric joins.
    """

    ranks: Value
    fast: Value
    near: Value
    domains: Value


def group(cluster: Cluster, ranks: Value, stride: Value = 1.0, *, alone: bool = False) -> Group:
    """The group of `ranks` GPUs that stand `stride` apart in the cluster's order.

    Ranks fill a domain first: a tensor-parallel group has stride 1, a data-parallel group stands
    tp · cp apart. Many such groups lie side by side, unless it is `alone`: then it starts at the
    edge of an island and straddles none.
    """
    ranks = maximum(ranks, 1.0)
    fast = _whole_share(cluster.domain_gpus, ranks, stride, alone=alone)
    near = _whole_share(cluster.near_gpus, ranks, stride, alone=alone)
    return Group(ranks, fast, near, ceil(ranks / near - 1e-9))


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


# ------------------------------------------------------------------ rates and latencies


def domain_rate(cluster: Cluster, fast: Value) -> Value:
    """Bus bandwidth of a ring of `fast` ranks inside one domain. [B/s]

    B · e · n/(n + c) with n capped at 8; on a mesh only the n − 1 direct links of a rank count.
    """
    ranks = minimum(fast, CHANNEL_RANKS_CAP)
    total: Value = cluster.scale_up_bytes_per_s
    if cluster.is_mesh:
        total = minimum(total, maximum(fast - 1, 1.0) * cluster.pair_bytes_per_s)
    return total * cluster.link.efficiency * ranks / (ranks + cluster.link.channel_ranks)


def pcie_rate(cluster: Cluster, near: Value, fast: Value) -> Value:
    """Bus bandwidth of a ring through PCIe between the domains of one node. [B/s]

    x16 · e · (2/u)^s with u domains: without peer-to-peer all pairs share the host's memory.
    """
    units = maximum(near / fast, 2.0)
    return (
        cluster.pcie_bytes_per_s
        * cluster.pcie.efficiency
        * (2.0 / units) ** (cluster.pcie.share_exponent)
    )


def ring_rate(cluster: Cluster, g: Group) -> Value:
    """Bus bandwidth of a flat ring: the slowest link on it sets the pace. [B/s]

    Inside a node as above; between nodes each of the `near` ranks drives its own share of NICs.
    """
    rate = (
        where(g.fast > 1, domain_rate(cluster, g.fast), NEVER) if cluster.domain_gpus > 1 else NEVER
    )
    if cluster.near_gpus > cluster.domain_gpus:
        rate = minimum(rate, where(g.near > g.fast, pcie_rate(cluster, g.near, g.fast), NEVER))
    nic = g.near * cluster.nic_effective_bytes_per_s
    return minimum(rate, where(g.domains > 1, maximum(nic, 1.0), NEVER))


def _inner_link(cluster: Cluster) -> tuple[float, float, float]:
    """Base, hop and ramp of the links inside a node. [s]"""
    link = cluster.link if cluster.domain_gpus > 1 else cluster.pcie
    if cluster.near_gpus > cluster.domain_gpus > 1:
        return link.base_s, max(link.hop_s, cluster.pcie.hop_s), link.ramp_s
    return link.base_s, link.hop_s, link.ramp_s


def _ring(cluster: Cluster, g: Group, passes: float, size: Value) -> Value:
    """`passes` trips of size·(n−1)/n around the ring of a group. [s]"""
    base, hop, ramp = _inner_link(cluster)
    many = g.domains > 1
    steps = passes * (g.ranks - 1)
    crossings = where(many, passes * (g.domains - 1), 0.0)
    latency = (steps - crossings) * hop * where(
        many, NETWORK.ring_hop_factor, 1.0
    ) + crossings * cluster.hop_s
    x = steps / g.ranks * size / ring_rate(cluster, g)
    pace = (steps - crossings) * ramp + crossings * cluster.fabric_link.ramp_us * MICRO
    return base + latency + x + sqrt(pace * x)


# ------------------------------------------------------------------ algorithms


def ring_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """Reduce-scatter, then all-gather: 2(n−1) steps of size/n each. [s]

    Parameters
    ----------
    size
        Buffer on each rank. [B]
    g
        The ranks; a ring of one takes `base`, which `collective_time` turns into no time.
    """
    return _ring(cluster, g, 2.0, size)


def ring_all_gather(cluster: Cluster, size: Value, g: Group) -> Value:
    """n−1 steps, each passing size/n on; `size` is the gathered buffer. [B] → [s]"""
    return _ring(cluster, g, 1.0, size)


def tree_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """Double binary tree over nodes, a chain inside each: latency grows with log₂ of the nodes. [s]

    t = base + 2[(near−1)·hop + log₂(M)·hop_net] + 2·size/(.92·ring rate); NCCL tuning.cc.
    """
    if cluster.domain_gpus > HIERARCHY_MAX_DOMAIN:
        return NEVER
    base, hop, ramp = _inner_link(cluster)
    depth = 2.0 * log2(maximum(g.domains, 1.0))
    latency = 2.0 * (g.near - 1) * hop + depth * cluster.hop_s
    x = 2.0 * size / (TREE_EFFICIENCY * ring_rate(cluster, g))
    pace = 2.0 * (g.near - 1) * ramp + depth * cluster.fabric_link.ramp_us * MICRO
    return base + latency + x + sqrt(pace * x)


def nvls_rate(cluster: Cluster, fast: Value) -> Value:
    """Bus bandwidth of an all-reduce summed inside the NVSwitch. [B/s]

    Grows from the ring's rate at 4 ranks to its full gain at 8 (1.14 / 1.19 / 1.26 / 1.29 at
    5..8 on H200, stas00 network/README). The ring's rate where there is no such switch.
    """
    ring = domain_rate(cluster, fast)
    if not (cluster.link.nvls and cluster.scale_up == "nvswitch"):
        return ring
    share = 1.0 - 0.045 * (CHANNEL_RANKS_CAP - minimum(fast, CHANNEL_RANKS_CAP))
    full = cluster.link.nvls * cluster.scale_up_bytes_per_s * share
    return where(fast >= NVLS_MIN_RANKS, maximum(full, ring), ring)


def nvls_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """In-switch all-reduce inside one domain; legal from 5 ranks of one NVSwitch domain. [s]"""
    if not (cluster.link.nvls and cluster.scale_up == "nvswitch"):
        return NEVER
    steps = 2.0 * (g.ranks - 1)
    x = steps / g.ranks * size / nvls_rate(cluster, g.fast)
    time = cluster.link.nvls_us * MICRO + x + sqrt(cluster.link.ramp_s * steps * x)
    legal = (g.fast >= NVLS_MIN_RANKS) & (g.fast == g.ranks)
    return where(legal, time, NEVER)


def hierarchical_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """Reduce-scatter in the domain, all-reduce of size/near over each NIC, all-gather. [s]

    The two levels run as a pipeline: the slower one's bytes, both latencies. A tree sends each
    byte once per NIC over two domains and twice over more, so two nodes run faster than any
    larger number (487 against 400 GB/s on p5). Legal for whole domains of at most 16 GPUs.
    """
    if cluster.domain_gpus < cluster.near_gpus or cluster.domain_gpus > HIERARCHY_MAX_DOMAIN:
        return NEVER
    inner = 2.0 * (g.fast - 1) / g.fast * size / maximum(nvls_rate(cluster, g.fast), 1.0)
    sends = where(g.domains > 2, 2.0, 1.0)
    outer = sends * size / g.near / max(cluster.nic_effective_bytes_per_s, 1.0)
    depth = 2.0 * log2(maximum(g.domains, 1.0))
    base, hop, ramp = _inner_link(cluster)
    latency = base + 2.0 * (g.fast - 1) * hop + depth * cluster.hop_s
    x = maximum(inner, outer)
    pace = ramp * 2.0 * (g.fast - 1) + cluster.fabric_link.ramp_us * MICRO * depth
    return where((g.domains > 1) & (g.fast > 1), latency + x + sqrt(pace * x), NEVER)


def sharp_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """The InfiniBand switches sum (CollNet): each byte crosses a NIC once, at any size. [s]"""
    if not cluster.sharp or cluster.domain_gpus < cluster.near_gpus:
        return NEVER
    inner_rate = maximum(nvls_rate(cluster, g.fast) * NETWORK.sharp_efficiency, 1.0)
    inner = 2.0 * (g.fast - 1) / g.fast * size / inner_rate
    outer = size / g.near / max(cluster.nic_effective_bytes_per_s, 1.0)
    base, hop, ramp = _inner_link(cluster)
    latency = base + 2.0 * (g.fast - 1) * hop + 2.0 * cluster.hop_s
    x = maximum(inner, outer)
    pace = ramp * 2.0 * g.fast + cluster.fabric_link.ramp_us * MICRO * 2.0
    return where(g.domains > 1, latency + x + sqrt(pace * x), NEVER)


def pat_all_gather(cluster: Cluster, size: Value, g: Group) -> Value:
    """Parallel aggregated trees, one rank a node: log₂ steps, .75 of the rate; NCCL ≥ 2.23. [s]"""
    if isinstance(g.near, float) and g.near > 1:
        return NEVER
    base, _, ramp = _inner_link(cluster)
    steps = log2(maximum(g.ranks, 1.0))
    x = (g.ranks - 1) / g.ranks * size / (0.75 * ring_rate(cluster, g))
    pace = max(ramp, cluster.fabric_link.ramp_us * MICRO)
    time = base + steps * cluster.hop_s + 2.8 * MICRO * g.ranks / 8.0 + x + sqrt(pace * steps * x)
    return where((g.near == 1) & (g.ranks > 2), time, NEVER)


def two_level_all_to_all(
    cluster: Cluster, size: Value, g: Group, outer_share: Value = 1.0
) -> Value:
    """Every rank sends size/n to each other: the slower of the inner and the fabric's share. [s]

    t = base + floor + max(size·(near−1)/n / inner, size·(n−near)/n · outer_share / nic) + ramp.
    outer_share < 1 where copies for one node cross the fabric once, as in expert dispatch.
    """
    nic = max(cluster.nic_effective_bytes_per_s, 1.0)
    inside = Group(g.near, g.fast, g.near, 1.0)
    inner_rate = NETWORK.all_to_all_efficiency * ring_rate(cluster, inside)
    inner = (g.near - 1) / g.ranks * size / inner_rate
    many = g.domains > 1
    outer = where(many, (g.ranks - g.near) / g.ranks * size * outer_share / nic, 0.0)
    base, _, ramp = _inner_link(cluster)
    latency = base + NETWORK.all_to_all_us * MICRO + where(many, cluster.hop_s, 0.0)
    peers = where(many, (g.domains - 1) * cluster.fabric_link.ramp_us * MICRO, 0.0)
    x = maximum(inner, outer)
    return latency + peers + x + sqrt(ramp * (g.ranks - 1) * x)


def chain_broadcast(cluster: Cluster, size: Value, g: Group) -> Value:
    """One root's buffer through a pipelined chain: size over the slowest link. [s]"""
    base, hop, ramp = _inner_link(cluster)
    many = g.domains > 1
    crossings = where(many, g.domains - 1, 0.0)
    latency = (g.ranks - 1 - crossings) * hop + crossings * cluster.hop_s
    x = size / ring_rate(cluster, g)
    return base + latency + x + sqrt(ramp * (g.ranks - 1) * x)


def one_send(cluster: Cluster, size: Value, g: Group) -> Value:
    """One rank sends its buffer to the farthest of its group. [s]"""
    nic = max(cluster.nic_effective_bytes_per_s, 1.0)
    link = NETWORK.send_recv_efficiency * max(cluster.pair_bytes_per_s, 1.0)
    rate = where(g.near > g.fast, pcie_rate(cluster, 2.0 * g.fast, g.fast), link)
    rate = where(g.domains > 1, minimum(where(g.fast > 1, link, nic), nic), rate)
    latency = where(g.domains > 1, cluster.hop_s, 0.0)
    return NETWORK.send_recv_us * MICRO + latency + size / rate


ALGORITHMS: dict[str, dict[str, Callable[[Cluster, Value, Group], Value]]] = {
    "all_reduce": {
        "ring": ring_all_reduce,
        "tree": tree_all_reduce,
        "nvls": nvls_all_reduce,
        "hierarchical": hierarchical_all_reduce,
        "sharp": sharp_all_reduce,
    },
    "all_gather": {"ring": ring_all_gather, "pat": pat_all_gather},
    "reduce_scatter": {"ring": ring_all_gather, "pat": pat_all_gather},
    "broadcast": {"chain": chain_broadcast},
    "all_to_all": {"two_level": two_level_all_to_all},
    "send_recv": {"direct": one_send},
}


# ------------------------------------------------------------------ the choice


def collective_time(cluster: Cluster, kind: str, size: Value, g: Group) -> Value:
    """Time of a collective by the fastest legal algorithm; one rank is free. [s]

    Parameters
    ----------
    kind
        One of `KINDS`.
    size
        Buffer as nccl-tests counts it: the whole one of a rank; for all-gather and
        reduce-scatter the gathered one. [B]
    g
        The ranks, from `group(cluster, ranks, stride)`. Broadcasts with `size`.
    """
    times = [cost(cluster, size, g) for cost in ALGORITHMS[kind].values()]
    return where(g.ranks > 1, reduce(minimum, times), 0.0)


def fastest_algorithm(cluster: Cluster, kind: str, size: float, g: Group) -> str:
    """The name of the algorithm behind `collective_time`, for one size and one group."""
    costs = {name: cost(cluster, size, g) for name, cost in ALGORITHMS[kind].items()}
    return min(costs, key=lambda name: float(costs[name]))


def bus_factor(kind: str, ranks: Value) -> Value:
    """Bus bandwidth over algorithm bandwidth, as nccl-tests defines it. [1]

    all-reduce 2(n−1)/n; all-gather, reduce-scatter and all-to-all (n−1)/n; the others 1.
    """
    if kind == "all_reduce":
        return 2.0 * (ranks - 1) / ranks
    if kind in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return 1.0


def bus_bytes_per_s(kind: str, size: float, ranks: float, time_s: float) -> float:
    """Bus bandwidth of a collective of one buffer size that took some time. [B/s]"""
    return float(bus_factor(kind, ranks)) * size / time_s if time_s > 0 else 0.0

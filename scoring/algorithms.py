"""The algorithms of collectives: latency, bytes over the slowest link, and the ramp.

    t = base + steps · hop + x + √(ramp · steps · x),    x = bytes moved / bandwidth

The square root is the slow approach of a pipeline to line rate; inside a node, and in trees between
nodes, every measured curve is missed by 20 to 50 % in its middle without it. Rings between nodes,
over 2 to 128 of them and over 20 racks, are met by a straight α–β line. Constants are those of
constants.toml. An algorithm that is not legal for a group takes NEVER.

References
----------
P. Patarasuk, X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations,"
J. Parallel Distrib. Comput., 69(2), 2009. doi:10.1016/j.jpdc.2008.09.002
NCCL, src/graph/tuning.cc: latencies, and which algorithm is legal where (read 2026-11-29).
nccl-tests, doc/PERFORMANCE.md: the definition of bus bandwidth.
"""

import math
from collections.abc import Callable
from functools import reduce

from scoring.constants import NETWORK
from scoring.groups import Group
from scoring.hardware import Cluster
from scoring.units import (
    GIGA,
    MICRO,
    Truth,
    Value,
    log2,
    maximum,
    minimum,
    nowhere,
    sqrt,
    where,
)

NEVER = 1e30  # s: an algorithm that is not legal here. Finite, so that no arithmetic warns
CHANNEL_RANKS_CAP = 8.0  # the ring's rate no longer grows with ranks beyond this many
NODE_DOMAIN = 16  # GPUs; wider domains are racks: 20 of NVL72 measure as flat rings; coreweave
ONE_SHOT_MAX_RANKS = 8.0


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


def nic_rate(cluster: Cluster, g: Group) -> Value:
    """One rank's share of the NICs: falls as flows meet in a network of several tiers. [B/s]

    B · (1 − loss)^log₂(M / tier) beyond the nodes that one tier of switches joins.
    """
    rate = max(cluster.nic_effective_bytes_per_s, 1.0)
    if nowhere(g.domains > NETWORK.tier_nodes):
        return rate
    loss = NETWORK.spread_loss if cluster.spreads else NETWORK.hash_loss
    beyond = maximum(g.domains / NETWORK.tier_nodes, 1.0)
    return rate * beyond ** math.log2(1.0 - loss)


def ring_rate(cluster: Cluster, g: Group) -> Value:
    """Bus bandwidth of a flat ring: the slowest link on it sets the pace. [B/s]

    Inside a node as above; between nodes each of the `near` ranks drives its own share of NICs.
    Rings that leave a rack-wide domain drive fewer of its channels.
    """
    rate: Value = NEVER
    if cluster.domain_gpus > 1:
        rate = domain_rate(cluster, g.fast)
        if cluster.domain_gpus > NODE_DOMAIN:
            rate = rate * where(g.domains > 1, NETWORK.rack_ring_efficiency, 1.0)
        rate = where(g.fast > 1, rate, NEVER)
    if cluster.near_gpus > cluster.domain_gpus:
        rate = minimum(rate, where(g.near > g.fast, pcie_rate(cluster, g.near, g.fast), NEVER))
    nic = g.near * nic_rate(cluster, g)
    return minimum(rate, where(g.domains > 1, nic, NEVER))


def _inner_link(cluster: Cluster) -> tuple[float, float, float]:
    """Base, hop and ramp of the links inside a node. [s]"""
    link = cluster.link if cluster.domain_gpus > 1 else cluster.pcie
    if cluster.near_gpus > cluster.domain_gpus > 1:
        return link.base_s, max(link.hop_s, cluster.pcie.hop_s), link.ramp_s
    return link.base_s, link.hop_s, link.ramp_s


def crossing_s(cluster: Cluster, x: Value) -> Value:
    """Latency of one step between nodes, of a message that moves for x seconds. [s]

    NCCL sends short messages with flags among the data (LL), long ones in chunks that wait for a
    handshake (Simple): a step takes a share of `hop_s` at first, all of it from a few µs on.
    """
    short = NETWORK.short_hop_share
    return cluster.hop_s * (short + (1.0 - short) * x / (x + NETWORK.protocol_us * MICRO))


def _ring(cluster: Cluster, g: Group, passes: float, size: Value) -> Value:
    """`passes` trips of size·(n−1)/n around the ring of a group. [s]"""
    base, hop, ramp = _inner_link(cluster)
    many = g.domains > 1
    steps = passes * (g.ranks - 1)
    # A ring of M nodes leaves each once, and the last step that a pass saves is one inside.
    crossings = where(many, passes * (g.domains - where(g.near > 1, 0.0, 1.0)), 0.0)
    x = steps / g.ranks * size / ring_rate(cluster, g)
    latency = (steps - crossings) * hop + crossings * crossing_s(cluster, x / passes)
    latency = latency * where(many, NETWORK.ring_hop_factor, 1.0)
    pace = where(many, crossings * cluster.fabric_link.ramp_us * MICRO, steps * ramp)
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

        t = base + 2[(near−1)·hop + log₂(M)·hop_net] + max(2·size/inner, sends·size/(near·nic))/e

    A byte leaves a node twice, up and down, but once between two nodes, each the root of one tree:
    two nodes run faster than any larger number (78 of a ring's 50 GB/s on p4de).
    """
    base, hop, ramp = _inner_link(cluster)
    depth = 2.0 * log2(maximum(g.domains, 1.0))
    inner = 2.0 * size / ring_rate(cluster, Group(g.near, g.fast, g.near, 1.0))
    x = maximum(inner, _over_the_fabric(cluster, size, g)) / NETWORK.tree_efficiency
    latency = 2.0 * (g.near - 1) * hop + depth * crossing_s(cluster, x)
    tree_ramp = where(g.domains > 1, cluster.fabric_link.tree_ramp_us * MICRO, 0.0)
    ramps = 2.0 * (g.near - 1) * ramp + tree_ramp
    time = base + latency + x + sqrt(ramps * x)
    return time if cluster.domain_gpus <= NODE_DOMAIN else where(g.domains > 1, NEVER, time)


def _over_the_fabric(cluster: Cluster, size: Value, g: Group) -> Value:
    """A tree's bytes on the NICs of one node: size/near each, twice beyond two nodes. [s]"""
    sends = where(g.domains > 2, 2.0, 1.0)
    over = sends * size / g.near / nic_rate(cluster, g)
    return where(g.domains > 1, over, 0.0)


def sums_in_switch(cluster: Cluster) -> bool:
    """True where the switch of a domain can do the sum of an all-reduce (NVLS)."""
    return cluster.link.nvls > 0 and cluster.scale_up == "nvswitch"


def nvls_rate(cluster: Cluster, fast: Value) -> Value:
    """Bus bandwidth of an all-reduce summed inside the NVSwitch. [B/s]

    Grows from the ring's rate at few ranks to its full gain at 8 (1.14 / 1.19 / 1.26 / 1.29 at
    5..8 on H200, stas00 network/README). The ring's rate where there is no such switch.
    """
    ring = domain_rate(cluster, fast)
    if not sums_in_switch(cluster):
        return ring
    share = 1.0 - NETWORK.nvls_rank_loss * (CHANNEL_RANKS_CAP - minimum(fast, CHANNEL_RANKS_CAP))
    full = cluster.link.nvls * cluster.scale_up_bytes_per_s * share
    return where(fast >= cluster.link.nvls_min_ranks, maximum(full, ring), ring)


def nvls_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """In-switch all-reduce inside one domain; legal from a few ranks of one NVSwitch on. [s]"""
    legal = (g.fast >= cluster.link.nvls_min_ranks) & (g.fast == g.ranks)
    if not sums_in_switch(cluster) or nowhere(legal):
        return NEVER
    steps = 2.0 * (g.ranks - 1)
    x = steps / g.ranks * size / nvls_rate(cluster, g.fast)
    time = cluster.link.nvls_us * MICRO + x + sqrt(cluster.link.ramp_s * steps * x)
    return where(legal, time, NEVER)


def nvls_tree_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """The switch sums inside each domain, a tree carries size/near over each NIC between. [s]

    The two levels run as a pipeline: the slower one's bytes, both latencies. Over two domains a
    byte leaves once, else twice (487 against 400 GB/s on two p5). Legal for whole domains: nodes,
    or a pair of racks.
    """
    legal = (g.domains > 1) & (g.fast > 1)
    if cluster.domain_gpus > NODE_DOMAIN:
        legal = legal & (g.domains <= 2)
    if not sums_in_switch(cluster) or cluster.domain_gpus < cluster.near_gpus or nowhere(legal):
        return NEVER
    inner = 2.0 * (g.fast - 1) / g.fast * size / maximum(nvls_rate(cluster, g.fast), 1.0)
    depth = 2.0 * log2(maximum(g.domains, 1.0))
    base, hop, ramp = _inner_link(cluster)
    x = maximum(inner, _over_the_fabric(cluster, size, g))
    latency = base + 2.0 * (g.fast - 1) * hop + depth * crossing_s(cluster, x)
    pace = ramp * 2.0 * (g.fast - 1) + cluster.fabric_link.tree_ramp_us * MICRO
    return where(legal, latency + x + sqrt(pace * x), NEVER)


def sharp_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """The InfiniBand switches sum (CollNet): each byte crosses a NIC once, at any size. [s]"""
    if not cluster.sharp or cluster.domain_gpus < cluster.near_gpus:
        return NEVER
    inner_rate = maximum(nvls_rate(cluster, g.fast) * NETWORK.sharp_efficiency, 1.0)
    inner = 2.0 * (g.fast - 1) / g.fast * size / inner_rate
    outer = size / g.near / nic_rate(cluster, g)
    base, hop, ramp = _inner_link(cluster)
    x = maximum(inner, outer)
    latency = base + 2.0 * (g.fast - 1) * hop + 2.0 * crossing_s(cluster, x)
    pace = ramp * 2.0 * g.fast + cluster.fabric_link.tree_ramp_us * MICRO
    return where(g.domains > 1, latency + x + sqrt(pace * x), NEVER)


def one_shot_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """A kernel in which each rank reads the buffers of all others (vLLM, TensorRT-LLM, SGLang). [s]

    t = floor + (n − 1)·size/(e · ring rate); up to 8 ranks of one node.
    """
    x = (g.ranks - 1) * size / (NETWORK.one_shot_efficiency * ring_rate(cluster, g))
    return where(_one_node(g), NETWORK.one_shot_us * MICRO + x, NEVER)


def two_shot_all_reduce(cluster: Cluster, size: Value, g: Group) -> Value:
    """The same in two passes, sum a share and gather it: fewer bytes, one more meeting. [s]"""
    x = 2.0 * (g.ranks - 1) / g.ranks * size / (NETWORK.one_shot_efficiency * ring_rate(cluster, g))
    floor = (NETWORK.one_shot_us + NETWORK.one_shot_meeting_us) * MICRO
    return where(_one_node(g), floor + x, NEVER)


def _one_node(g: Group) -> Truth:
    return (g.domains <= 1) & (g.ranks <= ONE_SHOT_MAX_RANKS)


def pat_all_gather(cluster: Cluster, size: Value, g: Group) -> Value:
    """Parallel aggregated trees, one rank a node: log₂ steps at less than the ring's rate. [s]"""
    legal = (g.near == 1) & (g.ranks > 2)
    if nowhere(legal):
        return NEVER
    base, _, ramp = _inner_link(cluster)
    steps = log2(maximum(g.ranks, 1.0))
    x = (g.ranks - 1) / g.ranks * size / (NETWORK.pat_efficiency * ring_rate(cluster, g))
    pace = max(ramp, cluster.fabric_link.ramp_us * MICRO)
    latency = base + steps * crossing_s(cluster, x) + NETWORK.pat_rank_us * MICRO * g.ranks
    time = latency + x + sqrt(pace * steps * x)
    return where(legal, time, NEVER)


def two_level_all_to_all(
    cluster: Cluster, size: Value, g: Group, outer_share: Value = 1.0
) -> Value:
    """Every rank sends size/n to each other: the slower of the inner and the fabric's share. [s]

    t = base + floor + max(size·(near−1)/n / inner, size·(n−near)/n · outer_share / nic) + ramp.
    outer_share < 1 where copies for one node cross the fabric once, as in expert dispatch.
    """
    nic = nic_rate(cluster, g)
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


def expert_exchange(cluster: Cluster, tokens: Value, hidden: Value, topk: Value, g: Group) -> Value:
    """Tokens of a mixture to their experts in fp8 and back in bf16, as DeepEP sends them. [s]

    A token goes once to each node that has one of its topk experts, over the fabric, and once to
    each such rank, inside: of M places expect M(1 − (1 − 1/M)^topk), less its own. `tokens` and
    `hidden` are of one rank; each way takes a floor and the slower of the two levels, where inside
    a node the SMs that copy may be slower than the links.
    """
    nic = nic_rate(cluster, g)
    inside = Group(g.near, g.fast, g.near, 1.0)
    links = NETWORK.all_to_all_efficiency * ring_rate(cluster, inside)
    inner_rate = minimum(links, NETWORK.expert_copy_gbytes_per_s * GIGA)
    remote = g.domains * (1.0 - (1.0 - 1.0 / g.domains) ** topk) * (1.0 - 1.0 / g.domains)
    ranks = g.ranks * (1.0 - (1.0 - 1.0 / g.ranks) ** topk) * (1.0 - 1.0 / g.near)
    element = tokens * hidden
    meeting = NETWORK.expert_us + NETWORK.expert_node_us * (g.domains - 1)
    one_way = maximum(element * ranks / inner_rate, element * remote / nic)
    return 2.0 * meeting * MICRO + 3.0 * one_way


def chain_broadcast(cluster: Cluster, size: Value, g: Group) -> Value:
    """One root's buffer through a pipelined chain; a reduce is the chain run backwards. [s]"""
    base, hop, ramp = _inner_link(cluster)
    many = g.domains > 1
    crossings = where(many, g.domains - 1, 0.0)
    latency = (g.ranks - 1 - crossings) * hop + crossings * cluster.hop_s
    x = size / ring_rate(cluster, g)
    return base + latency + x + sqrt(ramp * (g.ranks - 1) * x)


def one_send(cluster: Cluster, size: Value, g: Group) -> Value:
    """One rank sends its buffer to the farthest of its group. [s]

    Among more than two each receives while it sends, one step of a ring, at no more than its rate.
    """
    nic = nic_rate(cluster, g)
    link: Value = NETWORK.send_recv_efficiency * max(cluster.pair_bytes_per_s, 1.0)
    link = where(g.fast > 2, minimum(link, domain_rate(cluster, g.fast)), link)
    rate = where(g.near > g.fast, pcie_rate(cluster, 2.0 * g.fast, g.fast), link)
    rate = where(g.domains > 1, minimum(where(g.fast > 1, link, nic), nic), rate)
    latency = where(g.domains > 1, cluster.hop_s, 0.0)
    return NETWORK.send_recv_us * MICRO + latency + size / rate


Algorithm = Callable[[Cluster, Value, Group], Value]
NCCL_ALL_REDUCE: dict[str, Algorithm] = {
    "ring": ring_all_reduce,
    "tree": tree_all_reduce,
    "nvls": nvls_all_reduce,
    "nvls_tree": nvls_tree_all_reduce,
    "sharp": sharp_all_reduce,
}
ALGORITHMS: dict[str, dict[str, Algorithm]] = {
    "all_reduce": NCCL_ALL_REDUCE,
    "all_gather": {"ring": ring_all_gather, "pat": pat_all_gather},
    "reduce_scatter": {"ring": ring_all_gather, "pat": pat_all_gather},
    "broadcast": {"chain": chain_broadcast},
    "reduce": {"chain": chain_broadcast},
    "all_to_all": {"two_level": two_level_all_to_all},
    "send_recv": {"direct": one_send},
    # What serving engines use in place of NCCL where it is legal.
    "custom_all_reduce": {
        "one_shot": one_shot_all_reduce,
        "two_shot": two_shot_all_reduce,
        **NCCL_ALL_REDUCE,
    },
}
KINDS = tuple(ALGORITHMS)


def formula_time(cluster: Cluster, kind: str, size: Value, g: Group) -> Value:
    """The fastest legal algorithm's time by its formula. [s]"""
    return reduce(minimum, (cost(cluster, size, g) for cost in ALGORITHMS[kind].values()))

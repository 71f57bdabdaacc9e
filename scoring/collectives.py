"""How long a collective takes on a cluster, by which algorithm, and its bus bandwidth.

The time is the minimum over the algorithms that are legal (`algorithms`; NCCL tunes itself the same
way), and where the same kind of link was measured it is drawn to the measured curve (`curves`).
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from scoring.algorithms import (
    ALGORITHMS,
    KINDS,
    NEVER,
    domain_rate,
    formula_time,
    two_level_all_to_all,
)
from scoring.curves import correction
from scoring.groups import Group, group
from scoring.hardware import Cluster
from scoring.units import Value, maximum, where

__all__ = [
    "ALGORITHMS",
    "KINDS",
    "NEVER",
    "Group",
    "bus_bytes_per_s",
    "bus_factor",
    "collective_time",
    "domain_rate",
    "expected_bus",
    "fastest_algorithm",
    "forget_times",
    "group",
    "legal_times",
    "two_level_all_to_all",
]


def expected_bus(
    cluster: Cluster, ranks: int, sizes: Sequence[int], kind: str = "all_reduce"
) -> list[tuple[int, float]]:
    """The bus bandwidth that nccl-tests should print, for each buffer size. [B], [B/s]"""
    g = group(cluster, float(ranks))
    times = [float(collective_time(cluster, kind, float(size), g)) for size in sizes]
    return [
        (size, bus_bytes_per_s(kind, size, ranks, time))
        for size, time in zip(sizes, times, strict=True)
    ]


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
    if isinstance(size, np.ndarray) or isinstance(g.ranks, np.ndarray):
        return _time(cluster, kind, size, g)
    return _one_time(cluster, kind, size, g)


def _time(cluster: Cluster, kind: str, size: Value, g: Group) -> Value:
    time = formula_time(cluster, kind, size, g) * correction(cluster, kind, size, g)
    if cluster.site_gpus is not None:
        time = over_sites(cluster, kind, size, g, time)
    return where(g.ranks > 1, time, 0.0)


# Layouts tried one by one share most of their groups and messages.
_one_time = lru_cache(maxsize=65_536)(_time)


def forget_times() -> None:
    """Empty the memory of single times, which hang on the constants."""
    _one_time.cache_clear()


def over_sites(cluster: Cluster, kind: str, size: Value, g: Group, time: Value) -> Value:
    """The time of a collective that takes `time` in one data centre, over those of its group. [s]

    The slower of what it takes inside and of what all groups side by side send over the link, and
    half a round trip for each site that a message passes on its way. An all-reduce sends its buffer
    both ways around the sites; an all-to-all what each half has for the other.
    """
    hops = g.sites - 1
    passes = 2.0 if kind in ("all_reduce", "custom_all_reduce") else 1.0
    sent = passes * size
    if kind == "all_to_all":
        sent = size * g.ranks * hops / g.sites**2
    link = sent * g.beside / max(cluster.site_bytes_per_s, 1.0)
    crossing = passes * hops * cluster.site_round_trip_s / 2
    return where(g.sites > 1, maximum(time, link) + crossing, time)


def legal_times(cluster: Cluster, kind: str, size: float, g: Group) -> dict[str, float]:
    """The time of each algorithm that is legal for one size and one group. [s]"""
    drawn = float(correction(cluster, kind, size, g))
    times = {name: float(cost(cluster, size, g)) for name, cost in ALGORITHMS[kind].items()}
    legal = {name: drawn * time for name, time in times.items() if time < NEVER}
    return {name: float(over_sites(cluster, kind, size, g, time)) for name, time in legal.items()}


def fastest_algorithm(cluster: Cluster, kind: str, size: float, g: Group) -> str:
    """The name of the algorithm behind `collective_time`, for one size and one group."""
    times = legal_times(cluster, kind, size, g)
    return min(times, key=lambda name: times[name])


def bus_factor(kind: str, ranks: Value) -> Value:
    """Bus bandwidth over algorithm bandwidth, as nccl-tests defines it. [1]

    all-reduce 2(n−1)/n; all-gather, reduce-scatter and all-to-all (n−1)/n; the others 1.
    """
    if kind in ("all_reduce", "custom_all_reduce"):
        return 2.0 * (ranks - 1) / ranks
    if kind in ("all_gather", "reduce_scatter", "all_to_all"):
        return (ranks - 1) / ranks
    return 1.0


def bus_bytes_per_s(kind: str, size: float, ranks: float, time_s: float) -> float:
    """Bus bandwidth of a collective of one buffer size that took some time. [B/s]"""
    return float(bus_factor(kind, ranks)) * size / time_s if time_s > 0 else 0.0

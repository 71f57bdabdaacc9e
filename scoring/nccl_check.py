"""A run of nccl-tests held against line rate, against the model, and against what others measured.

Where it is slower than predicted, each usual fault (RDMA off, sockets, half the NICs, links off) is
supposed in turn, and the one whose curve lies nearest to the measured one is named.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from scoring.accuracy import measured_errors
from scoring.collectives import bus_bytes_per_s, collective_time
from scoring.fields import FieldError
from scoring.groups import Group, group
from scoring.hardware import Cluster, unknown_facts
from scoring.held import Peer, peers
from scoring.nccl_rows import Timing
from scoring.nccl_tests import Run
from scoring.refusals import unjoined
from scoring.units import GIGA, MICRO
from scoring.what_if import scenarios, supposing

# Faults of a cluster that is otherwise as sold: scenarios of `what_if`, and links that are off.
FAULTS = ("rdma_off", "sockets", "half_the_nics", "oversubscribed_2_to_1")
DIP = 0.5  # of what is predicted
TELLING_BYTES = 1 << 20  # smaller messages tell latency, not which links are used
NEARER = 0.7  # of the distance as sold: from here on a fault explains a run better
EXPLAINED = math.log(1.4)  # and it lies within a factor of 1.4 of the run


@dataclass(frozen=True, slots=True)
class Point:
    """One message size: measured and predicted, in GB/s of bus bandwidth, and µs."""

    size: int
    line: int
    out_of_place: Timing
    in_place: Timing | None
    predicted_us: float
    predicted_gbytes_per_s: float
    low_gbytes_per_s: float  # of what is predicted over every plausible value of the unknown
    high_gbytes_per_s: float

    @property
    def measured_gbytes_per_s(self) -> float:
        """The better placement."""
        inside = self.in_place.bus_gbytes_per_s if self.in_place else 0.0
        return max(self.out_of_place.bus_gbytes_per_s, inside)

    @property
    def of_prediction(self) -> float:
        """Measured over predicted bus bandwidth, by their times. [1]"""
        return self.predicted_us / self.measured_us

    @property
    def measured_us(self) -> float:
        """The time of the better placement."""
        times = [self.out_of_place.time_us, *([self.in_place.time_us] if self.in_place else [])]
        return min(times)

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "bytes": self.size,
            "line": self.line,
            "measured_us": self.measured_us,
            "measured_bus_gbytes_per_s": self.measured_gbytes_per_s,
            "predicted_us": self.predicted_us,
            "predicted_bus_gbytes_per_s": self.predicted_gbytes_per_s,
            "predicted_low": self.low_gbytes_per_s,
            "predicted_high": self.high_gbytes_per_s,
        }


@dataclass(frozen=True, slots=True)
class Held:
    """A run, and what it was held against."""

    run: Run
    nodes: int
    cluster: Cluster
    across: bool  # whether it leaves domain and node over the fabric
    nics: int | None  # of a node, where that is known
    points: tuple[Point, ...]
    line_rate_gbytes_per_s: float | None  # None: a rate that it follows from is not known
    within: float  # the error that nine of ten predictions of such a collective keep, as a share
    looks_like: str | None  # a fault, by name
    peers: tuple[Peer, ...]

    @property
    def of_line_rate(self) -> float | None:
        """The share of line rate that the best message reaches."""
        rate = self.line_rate_gbytes_per_s
        return self.run.peak.bus_gbytes_per_s / rate if rate else None

    @property
    def largest(self) -> Point:
        """The largest message."""
        return max(self.points, key=lambda point: point.size)

    @property
    def slow(self) -> bool:
        """Whether the largest message is slower than the model errs, whatever is unknown."""
        point = self.largest
        return point.measured_gbytes_per_s * (1 + self.within) < point.low_gbytes_per_s

    @property
    def dip(self) -> Point | None:
        """The message that falls farthest below its prediction, where that is by half or more."""
        telling = [each for each in self.points if each.size >= TELLING_BYTES]
        worst = min(telling, key=lambda each: each.of_prediction, default=None)
        return worst if worst and worst.of_prediction < DIP else None


def check_run(run: Run, fields: Mapping[str, Any], nodes: int | None = None) -> Held:
    """Hold a run against the cluster that it is said to have run on.

    Parameters
    ----------
    fields
        Of the cluster, as `Cluster.from_fields` takes them.
    nodes
        How many took part, where the paste does not say.

    Raises
    ------
    FieldError
        As `Cluster.from_fields`; for `ranks` or `nodes` that the cluster cannot be.
    """
    cluster = Cluster.from_fields(fields)
    nodes = _nodes(run, cluster, nodes)
    if run.ranks < 2:
        raise FieldError("ranks", "a collective of one GPU exchanges nothing: run two or more.")
    if apart := unjoined(cluster, run.ranks):
        raise FieldError("ranks", f"{apart}.")
    g = _spread(cluster, run.ranks, nodes)
    known = _rate_known(fields, g)
    held = Held(
        run=run,
        nodes=nodes,
        cluster=cluster,
        across=float(g.domains) > 1,
        nics=int(fields["fabric_nics"]) if fields.get("fabric_nics") else None,
        points=tuple(_points(run, cluster, g)),
        line_rate_gbytes_per_s=line_rate(cluster, run.kind, g) / GIGA if known else None,
        within=_within(g),
        looks_like=None,
        peers=tuple(peers(cluster, run.kind, run.ranks, float(run.largest.size))),
    )
    return replace(held, looks_like=_looks_like(run, fields, cluster, g)) if held.slow else held


def _nodes(run: Run, cluster: Cluster, given: int | None) -> int:
    nodes = run.nodes or given or -(-run.ranks // cluster.gpu_count)
    if given and run.nodes and given != run.nodes:
        raise FieldError("nodes", f"the paste lists {run.nodes} hosts, not {given}.")
    if nodes > run.ranks or -(-run.ranks // nodes) > cluster.gpu_count:
        each = -(-run.ranks // nodes)
        raise FieldError(
            "ranks",
            f"{run.ranks} ranks on {nodes} nodes are {each} on each, and this type has "
            f"{cluster.gpu_count} GPUs.",
        )
    return nodes


def _spread(cluster: Cluster, ranks: int, nodes: int) -> Group:
    """The group of the ranks as they were spread: part of the GPUs of each node, perhaps."""
    full = group(cluster, float(ranks), alone=True)
    if nodes <= float(full.domains) or cluster.domain_gpus > cluster.gpu_count:
        return full
    each = ranks / nodes
    return Group(float(ranks), min(float(full.fast), each), min(float(full.near), each),
                 float(nodes))  # fmt: skip


def _points(run: Run, cluster: Cluster, g: Group) -> Iterator[Point]:
    ends = (cluster, cluster.pessimistic or cluster, cluster.optimistic or cluster)
    for row in run.rows:
        times = [float(collective_time(each, run.kind, float(row.size), g)) for each in ends]
        rates = [bus_bytes_per_s(run.kind, row.size, run.ranks, t) / GIGA for t in times]
        out, *rest = row.timings
        yield Point(
            row.size, row.line, out, rest[0] if rest else None, times[0] / MICRO, rates[0],
            min(rates), max(rates),
        )  # fmt: skip


# ------------------------------------------------------------------ line rate


def line_rate(cluster: Cluster, kind: str, g: Group) -> float:
    """The bus bandwidth at which the slowest link of a ring would be full. [B/s]

    Inside a domain that of a GPU's links to all its peers; between PCIe cards of one lane set;
    across the fabric that of all NICs which the ranks of a node have, for an all-to-all only what
    leaves the node counted, for a send of one GPU its own share.
    """
    inside = _inside_rate(cluster, g)
    if float(g.domains) <= 1:
        return inside
    ranks, near, nic = float(g.ranks), float(g.near), cluster.nic_bytes_per_s
    if kind == "send_recv":
        return min(nic, inside)
    if kind == "all_to_all":
        return min(nic * (ranks - 1) / max(ranks - near, 1.0), inside)
    return min(nic * near, inside)


def _inside_rate(cluster: Cluster, g: Group) -> float:
    if float(g.near) <= 1:
        return math.inf
    if float(g.fast) < float(g.near):
        return cluster.pcie_bytes_per_s
    if cluster.is_mesh:
        return min(cluster.scale_up_bytes_per_s, (float(g.fast) - 1) * cluster.pair_bytes_per_s)
    return cluster.scale_up_bytes_per_s


def _rate_known(fields: Mapping[str, Any], g: Group) -> bool:
    """Whether no rate that a line rate follows from is unknown."""
    across = ("fabric", "fabric_gbits_per_s") if float(g.domains) > 1 else ()
    inside = ("scale_up", "scale_up_gbytes_per_s") if float(g.near) > 1 else ()
    return not set(unknown_facts(fields)) & {*across, *inside}


def _within(g: Group) -> float:
    """The error that nine of ten predictions of such a collective keep, as a share."""
    span = "collective_across" if float(g.domains) > 1 else "collective_inside"
    return math.exp(float(measured_errors()[span]["p90_abs_error"])) - 1


# ------------------------------------------------------------------ faults


def _looks_like(run: Run, fields: Mapping[str, Any], cluster: Cluster, g: Group) -> str | None:
    """The fault that explains a run better than the cluster as sold does; None where none does.

    What the log of the run shows to be otherwise is none.
    """
    as_sold = _distance(run, cluster, g)
    found = {}
    log = run.log
    if log.sockets and float(g.domains) > 1:
        return "sockets"
    for name, changes in _faults(cluster, run.ranks, g).items():
        if log.direct and name in ("rdma_off", "sockets"):
            continue
        with suppress(FieldError):
            supposed = Cluster.from_fields(supposing(fields, changes))
            spread = group(supposed, float(run.ranks), alone=True) if float(g.domains) <= 1 else g
            found[name] = _distance(run, supposed, spread)
    if not found:
        return None
    best = min(found, key=lambda name: found[name])
    return best if found[best] < min(NEARER * as_sold, EXPLAINED) else None


def _faults(cluster: Cluster, ranks: int, g: Group) -> dict[str, dict[str, Any]]:
    if float(g.domains) > 1:
        crossing = max(ranks, cluster.near_gpus + 1)
        return {n: c for n, c in scenarios(cluster, crossing).items() if n in FAULTS}
    linked = cluster.scale_up not in ("pcie", "none")
    return {"links_off": {"scale_up": "pcie", "nvlink_generation": None}} if linked else {}


def _distance(run: Run, cluster: Cluster, g: Group) -> float:
    """The mean of |ln(predicted / measured)| over the messages that tell."""
    telling = [row for row in run.rows if row.size >= TELLING_BYTES] or [run.largest]
    errors = []
    for row in telling:
        took = min(each.time_us for each in row.timings) * MICRO
        errors.append(abs(math.log(float(collective_time(cluster, run.kind, row.size, g)) / took)))
    return math.fsum(errors) / len(errors)

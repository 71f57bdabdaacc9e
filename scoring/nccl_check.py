"""A run of nccl-tests held against line rate, against the model, and against what others measured.

Where it is slower than predicted, each usual fault (RDMA off, sockets, half the NICs, links off) is
supposed in turn, and those whose curves lie nearest to the measured one are named. What the log of
the run shows decides between them.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
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
from scoring.said import Said
from scoring.units import BITS_PER_BYTE, GIGA, MICRO
from scoring.what_if import scenarios, supposing

# Faults of a cluster that is otherwise as sold: scenarios of `what_if`, and links that are off.
FAULTS = ("rdma_off", "sockets", "half_the_nics", "oversubscribed_2_to_1")
HIDDEN_BY_DIRECT = ("rdma_off", "sockets")  # none where NICs read GPU memory
DIP = 0.5  # of what is predicted
TELLING_BYTES = 1 << 20  # smaller messages tell latency, not which links are used
NEARER = 0.7  # of the distance as sold: from here on a fault explains a run better
EXPLAINED = math.log(1.4)  # and it lies within a factor of 1.4 of the run
ALIKE = math.log(1.05)  # faults whose distances differ by less have one curve


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
    inside_limits: bool  # whether the links inside have that rate, and not the fabric
    within: float  # the error that nine of ten predictions of such a collective keep, as a share
    looks_like: tuple[str, ...]  # faults, by name: several where their curves are one
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
    def judged_by(self) -> tuple[float, float]:
        """The bus bandwidths between which the largest message is as it should be. [GB/s]

        What is plausible of all that is unknown, and the model's error on top.
        """
        point, error = self.largest, 1 + self.within
        return point.low_gbytes_per_s / error, point.high_gbytes_per_s * error

    @property
    def slow(self) -> bool:
        """Whether the largest message is slower than the model errs, whatever is unknown."""
        return self.largest.measured_gbytes_per_s < self.judged_by[0]

    @property
    def dip(self) -> Point | None:
        """The message that falls farthest below its prediction, where that is by half or more."""
        telling = [each for each in self.points if each.size >= TELLING_BYTES]
        worst = min(telling, key=lambda each: each.of_prediction, default=None)
        return worst if worst and worst.of_prediction < DIP else None


class BadRun(FieldError):
    """A run that the cluster cannot have seen; `said` has the sentence."""

    def __init__(self, field: str, text: str, figures: Mapping[str, object] | None = None) -> None:
        self.said = Said("bad_run", text, figures or {})
        super().__init__(field, str(self.said))


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
        As `Cluster.from_fields`; a `BadRun` for `ranks` or `nodes` that the cluster cannot be.
    """
    # It ran on what was rented: the domain may be larger than what a provider promises at least.
    guaranteed, fields = fields, {**fields, "scale_up_domain_guaranteed_gpus": None}
    cluster = Cluster.from_fields(fields)
    nodes = _nodes(run, cluster, nodes)
    if run.ranks < 2:
        raise BadRun("ranks", "A collective of one GPU exchanges nothing: run two or more.")
    if apart := unjoined(cluster, run.ranks):
        raise FieldError("ranks", apart)
    g = _spread(cluster, run.ranks, nodes)
    known = _rate_known(fields, g)
    held = Held(
        run=run,
        nodes=nodes,
        cluster=cluster,
        across=float(g.domains) > 1,
        nics=int(fields["fabric_nics"]) if fields.get("fabric_nics") else None,
        points=tuple(_points(run, cluster, g, _plausible(guaranteed, run.ranks, nodes))),
        line_rate_gbytes_per_s=line_rate(cluster, run.kind, g) / GIGA if known else None,
        inside_limits=line_rate(cluster, run.kind, g) >= _inside_rate(cluster, g),
        within=_within(g),
        looks_like=(),
        peers=tuple(peers(cluster, run.kind, g, float(run.largest.size))),
    )
    return replace(held, looks_like=_looks_like(held, fields, g))


def _nodes(run: Run, cluster: Cluster, given: int | None) -> int:
    nodes = run.nodes or given or -(-run.ranks // cluster.gpu_count)
    if given and run.nodes and given != run.nodes:
        text = "Hosts in the paste: %(listed)s, not %(given)s."
        raise BadRun("nodes", text, {"listed": run.nodes, "given": given})
    if nodes > run.ranks or -(-run.ranks // nodes) > cluster.gpu_count:
        text = "%(ranks)s ranks cannot run on %(nodes)s × %(gpus)s GPUs, at least one on each node."
        figures = {"ranks": run.ranks, "nodes": nodes, "gpus": cluster.gpu_count}
        raise BadRun("ranks", text, figures)
    return nodes


def _spread(cluster: Cluster, ranks: int, nodes: int) -> Group:
    """The group of the ranks as they were spread: part of the GPUs of each node, perhaps."""
    full = group(cluster, float(ranks), alone=True)
    if nodes <= float(full.domains) or cluster.domain_gpus > cluster.gpu_count:
        return full
    each = ranks / nodes
    return Group(float(ranks), min(float(full.fast), each), min(float(full.near), each),
                 float(nodes))  # fmt: skip


def _plausible(fields: Mapping[str, Any], ranks: int, nodes: int) -> list[tuple[Cluster, Group]]:
    """What a run may have met: both ends of all that is unknown, the domain of what is rented and
    of what is promised, and switches that do not sum, as NCCL asks them to only where told."""
    found = []
    for promised in {None, fields.get("scale_up_domain_guaranteed_gpus")}:
        for sharp in {"no", fields.get("sharp")}:
            supposed = {"scale_up_domain_guaranteed_gpus": promised, "sharp": sharp}
            with suppress(FieldError):
                cluster = Cluster.from_fields({**fields, **supposed})
                g = _spread(cluster, ranks, nodes)
                found += [(cluster.pessimistic or cluster, g), (cluster.optimistic or cluster, g)]
    return found


def _points(
    run: Run, cluster: Cluster, g: Group, plausible: Sequence[tuple[Cluster, Group]]
) -> Iterator[Point]:
    ends = ((cluster, g), *plausible)
    for row in run.rows:
        size = float(row.size)
        times = [float(collective_time(each, run.kind, size, spread)) for each, spread in ends]
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


def _looks_like(held: Held, fields: Mapping[str, Any], g: Group) -> tuple[str, ...]:
    """The faults that explain a run better than the cluster as sold does, the likeliest first.

    What the log of the run shows to be so is the fault, and what it shows to be otherwise is none.
    """
    run, cluster = held.run, held.cluster
    unsummed = {**fields, "sharp": "no"}
    if not held.slow:
        last, error = replace(run, rows=(run.largest,)), math.log1p(held.within)
        below = _distance(last, cluster, g) > error > _supposed(last, unsummed, {}, g)
        return ("sharp_off",) if below and held.largest.of_prediction < 1 else ()
    as_sold = min(_distance(run, cluster, g), _supposed(run, unsummed, {}, g))
    faults = _faults(held, g)
    if held.across and run.log.sockets:
        return ("sockets",)
    if "domain_off" in faults and (run.log.sockets or run.log.direct is not None):
        return ("domain_off",)  # messages that should stay in the domain leave over the network
    if held.across and run.log.direct is False and "rdma_off" in faults:
        return ("rdma_partly_off" if run.log.mixed else "rdma_off",)
    if run.log.direct:
        faults = {name: each for name, each in faults.items() if name not in HIDDEN_BY_DIRECT}
    found = {
        name: min(_supposed(run, base, changes, g) for base in (fields, unsummed))
        for name, changes in faults.items()
    }
    best = min(found.values(), default=math.inf)
    if best >= min(NEARER * as_sold, EXPLAINED):
        return ()
    alike = tuple(sorted((n for n in found if found[n] <= best + ALIKE), key=lambda n: found[n]))
    return ("fewer_nics",) if "fewer_nics" in alike else alike


def _supposed(run: Run, fields: Mapping[str, Any], changes: Mapping[str, Any], g: Group) -> float:
    """How far a run is from the cluster with these changes; infinitely where that is none."""
    try:
        supposed = Cluster.from_fields(supposing(fields, changes))
    except FieldError:
        return math.inf
    inside = float(g.domains) <= 1
    return _distance(run, supposed, group(supposed, float(run.ranks), alone=True) if inside else g)


def _faults(held: Held, g: Group) -> dict[str, dict[str, Any]]:
    """What to suppose, by fault; how many NICs are in use is for the log to say where it does."""
    cluster, seen = held.cluster, held.run.log.devices
    if not held.across:
        if held.nodes > 1:
            return {"domain_off": {"scale_up_domain_gpus": cluster.gpu_count}}
        linked = cluster.scale_up not in ("pcie", "none")
        return {"links_off": {"scale_up": "pcie", "nvlink_generation": None}} if linked else {}
    crossing = max(int(float(g.ranks)), cluster.near_gpus + 1)
    found = {n: c for n, c in scenarios(cluster, crossing).items() if n in FAULTS}
    if seen and held.nics:
        del found["half_the_nics"]
        if seen < held.nics:
            node = cluster.nic_bytes_per_s * cluster.gpu_count * BITS_PER_BYTE / GIGA
            found["fewer_nics"] = {"fabric_gbits_per_s": node * seen / held.nics}
    return found


def _distance(run: Run, cluster: Cluster, g: Group) -> float:
    """The mean of |ln(predicted / measured)| over the messages that tell."""
    telling = [row for row in run.rows if row.size >= TELLING_BYTES] or [run.largest]
    errors = []
    for row in telling:
        took = min(each.time_us for each in row.timings) * MICRO
        errors.append(abs(math.log(float(collective_time(cluster, run.kind, row.size, g)) / took)))
    return math.fsum(errors) / len(errors)

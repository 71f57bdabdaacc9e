"""Measurements of collectives that are held here: the peers of one that somebody has just made.

Inside a domain or a node those are the curves of curves.toml, across the fabric the rows of
between_nodes.csv, each with the source that it was read in.
"""

import csv
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from scoring.collectives import bus_bytes_per_s
from scoring.constants import data_file
from scoring.curves import links_of
from scoring.fields import FieldError
from scoring.groups import Group, group
from scoring.hardware import Cluster
from scoring.machines import CannotPredict
from scoring.machines import machine as machine_of
from scoring.measured_collectives import Question, measured_seconds, question
from scoring.units import GIGA, MICRO

BETWEEN_NODES = Path(__file__).with_name("between_nodes.csv")
# How far two may differ and be comparable, as a factor.
ALIKE, ALIKE_RATE = 2.0, 1.25  # sizes and ranks; rates of links, and how ranks share them


@dataclass(frozen=True, slots=True)
class Peer:
    """What somebody else measured of the same collective on a like machine."""

    source: str
    gpu: str
    ranks: int
    fabric: str
    gbits_per_s_per_gpu: float  # of the fabric, one way; 0 inside a node
    size: float
    bus_gbytes_per_s: float

    def as_json(self) -> dict[str, object]:
        """Plain values under these names."""
        return {
            "source": self.source,
            "gpu": self.gpu,
            "ranks": self.ranks,
            "fabric": self.fabric,
            "fabric_gbits_per_s_per_gpu": round(self.gbits_per_s_per_gpu, 3),
            "bytes": self.size,
            "bus_gbytes_per_s": self.bus_gbytes_per_s,
        }


def peers(cluster: Cluster, kind: str, g: Group, size: float) -> list[Peer]:
    """What is held of a collective on machines joined alike, the nearest in size and ranks first.

    One of each source: inside by the same links; across the fabric of the same kind and a like
    rate per GPU, on nodes and domains of as many of the ranks, with links of a like rate.
    """
    ranks = int(float(g.ranks))
    if float(g.domains) > 1:
        found = _across(cluster, kind, g, size)
    else:
        inside = float(g.fast) == float(g.ranks)
        found = _inside(links_of(cluster)[0 if inside else 1], kind, ranks, size)
    ordered = sorted(found, key=lambda each: _distance(each, ranks, size))
    return list({each.source: each for each in reversed(ordered)}.values())[::-1]


def _distance(peer: Peer, ranks: int, size: float) -> float:
    return abs(math.log(peer.size / size)) + abs(math.log(peer.ranks / ranks))


def _like(one: float, other: float, by: float = ALIKE) -> bool:
    return 1 / by <= one / other <= by if one and other else one == other


def _inside(link: tuple[str, str], kind: str, ranks: int, size: float) -> Iterator[Peer]:
    for machine in data_file("curves.toml")["machine"]:
        cluster = machine["cluster"]
        for curve in machine["curve"]:
            here = (cluster["scale_up"], machine["link"]) == link and curve["kind"] == kind
            low, high = curve["bytes"][0], curve["bytes"][-1]
            if not here or not _like(curve["ranks"], ranks) or high * ALIKE < size:
                continue
            at = min(max(size, low), high)
            points = np.log(curve["bytes"]), np.log(curve["us"])
            took = MICRO * math.exp(float(np.interp(math.log(at), *points)))
            rate = bus_bytes_per_s(kind, at, curve["ranks"], took) / GIGA
            yield Peer(curve["source"], cluster["gpu"], curve["ranks"], "none", 0.0, at, rate)


@cache
def _rows() -> tuple[tuple[str, Cluster, Question, float], ...]:
    """Source, machine, question and seconds of each row between nodes."""
    found = []
    with BETWEEN_NODES.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            with suppress(CannotPredict, FieldError):
                asked = question(row)
                took = measured_seconds(row, asked)
                found.append((row["source_repo_or_doc"], machine_of(row), asked, took))
    return tuple(found)


def _across(cluster: Cluster, kind: str, g: Group, size: float) -> Iterator[Peer]:
    for source, machine, asked, took in _rows():
        same = machine.fabric == cluster.fabric and asked.kind == kind
        if not same or not _like(asked.size, size) or not _like(asked.ranks, float(g.ranks)):
            continue
        theirs = group(machine, asked.ranks, alone=True)
        like = machine.scale_up == cluster.scale_up and all(
            _like(float(one), float(other), ALIKE_RATE)
            for one, other in (
                (machine.nic_bytes_per_s, cluster.nic_bytes_per_s),
                (machine.scale_up_bytes_per_s, cluster.scale_up_bytes_per_s),
                (theirs.near, g.near),
                (theirs.fast, g.fast),
            )
        )
        if like:
            rate = bus_bytes_per_s(kind, asked.size, asked.ranks, took) / GIGA
            gbits = machine.nic_bytes_per_s * 8 / GIGA
            yield Peer(source, machine.gpu.slug, int(asked.ranks), machine.fabric, gbits,
                       asked.size, rate)  # fmt: skip

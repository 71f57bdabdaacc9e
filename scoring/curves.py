"""Measured curves of collectives: what they say about a link, interpolated in log–log.

curves.toml holds times by message size for each kind of link (its form, its generation), collective
and number of ranks. Each is turned once into its ratio to the formula for the same machine, on a
grid of powers of two; between the points the logarithm of the ratio is interpolated over the
logarithms of size and ranks, and beyond them it stays. So a curve speaks for every machine with
such links, at its own rates: what differs from the measured one differs by the formula.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.algorithms import formula_time
from scoring.constants import LINKS, data_file
from scoring.groups import Group, group
from scoring.hardware import Cluster
from scoring.units import Value, exp, floor, log2, maximum, minimum, where

SMALLEST, LARGEST = 14, 34  # log₂ bytes of the grid: 16 kB to 16 GB
FEWEST, MOST = 1, 7  # log₂ ranks: 2 to 128
# The same ring run backwards: either stands for a rank count that was measured of the other alone.
MIRRORS = {"all_gather": "reduce_scatter", "reduce_scatter": "all_gather"}
COLUMNS, ROWS = LARGEST - SMALLEST + 1, MOST - FEWEST + 1


@dataclass(frozen=True, slots=True)
class Grid:
    """ln(measured / formula) at every power of two of ranks and bytes, row by row."""

    numbers: tuple[float, ...]
    column: NDArray[np.float64]

    def at(self, size: Value, ranks: Value) -> Value:
        """The ratio at a size and a number of ranks, bilinear between the logarithms. [1]"""
        x = minimum(maximum(log2(maximum(size, 1.0)) - SMALLEST, 0.0), COLUMNS - 1.0)
        y = minimum(maximum(log2(ranks) - FEWEST, 0.0), ROWS - 1.0)
        left, low = minimum(floor(x), COLUMNS - 2.0), minimum(floor(y), ROWS - 2.0)
        right, up = x - left, y - low
        corner = low * COLUMNS + left
        below = self._value(corner) * (1.0 - right) + self._value(corner + 1) * right
        corner = corner + COLUMNS
        above = self._value(corner) * (1.0 - right) + self._value(corner + 1) * right
        return exp(below * (1.0 - up) + above * up)

    def _value(self, place: Value) -> Value:
        if isinstance(place, np.ndarray):
            return self.column[place.astype(np.intp)]
        return self.numbers[int(place)]


Grids = dict[tuple[str, str, str], Grid]


def correction(cluster: Cluster, kind: str, size: Value, g: Group) -> Value:
    """Measured over formula for a group on links that were measured; 1 on all others. [1]

    Inside a scale-up domain, or inside a node across its PCIe tree; never across the fabric.
    """
    ratio: Value = 1.0
    for inside, link in zip((True, False), links_of(cluster), strict=True):
        grid = _grids().get((*link, kind))
        if grid is None:
            continue
        here = (g.ranks > 1) & (g.domains <= 1)
        here = here & ((g.fast == g.ranks) if inside else (g.fast < g.ranks))
        if here.any() if isinstance(here, np.ndarray) else here:
            ratio = where(here, grid.at(size, maximum(g.ranks, 2.0)), ratio)
    return ratio


def links_of(cluster: Cluster) -> tuple[tuple[str, str], tuple[str, str]]:
    """Form and link inside a domain, and between the domains of one node."""
    across = "pcie_p2p" if cluster.pcie is LINKS["pcie_p2p"] else "pcie_host"
    return (cluster.scale_up, cluster.link_name), (cluster.scale_up, across)


@cache
def _grids() -> Grids:
    return grids_of(data_file("curves.toml")["machine"])


def grids_of(machines: Iterable[Mapping[str, Any]]) -> Grids:
    """The grids of some tables of curves.toml, by form of scale-up, link and collective."""
    grids = {}
    for machine in machines:
        cluster = Cluster.from_fields(machine["cluster"])
        curves: dict[str, dict[float, list[float]]] = defaultdict(dict)
        for curve in machine["curve"]:
            curves[curve["kind"]][float(curve["ranks"])] = _ratios(cluster, curve)
        for kind, other in MIRRORS.items():
            if other in curves:
                curves[kind] = {**curves[other], **curves[kind]}
        for kind, by_ranks in curves.items():
            grids[cluster.scale_up, machine["link"], kind] = _grid(by_ranks)
    return grids


def _ratios(cluster: Cluster, curve: Mapping[str, Any]) -> list[float]:
    """ln(measured / formula) of one curve at the powers of two of the grid."""
    sizes, times = np.array(curve["bytes"], dtype=float), np.array(curve["us"]) * 1e-6
    g = group(cluster, float(curve["ranks"]), alone=True)
    formula = [float(formula_time(cluster, curve["kind"], float(size), g)) for size in sizes]
    grid = np.arange(SMALLEST, LARGEST + 1)
    return list(np.interp(grid, np.log2(sizes), np.log(times / formula)))


def _grid(by_ranks: dict[float, list[float]]) -> Grid:
    ranks = sorted(by_ranks)
    table = np.array([by_ranks[n] for n in ranks])
    rows = np.arange(FEWEST, MOST + 1)
    filled = np.array([np.interp(rows, np.log2(ranks), column) for column in table.T]).T.ravel()
    return Grid(tuple(float(value) for value in filled), filled)

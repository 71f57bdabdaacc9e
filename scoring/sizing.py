"""How many GPUs a wish takes: the fewest of a cluster that make a job fast enough.

Throughput is in the job's own measure, steps or output tokens a second, and what counts is what
failures leave of it (`goodput`).
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from scoring.constants import GOODPUT, Reliability
from scoring.estimate import fastest_way, first_count, whole_nodes
from scoring.goodput import goodput
from scoring.hardware import Cluster
from scoring.workload import Job

MOST_TRIED = 24  # counts of one cluster
FINENESS = 32  # a count is the fewest to within this part of it; of fewer nodes, to the node


@dataclass(frozen=True, slots=True)
class Size:
    """A GPU count and the throughput that failures leave of it; `enough` for the wish or not."""

    gpus: int
    useful_rate: float
    enough: bool


def replica_gpus(job: Job, layout: Mapping[str, object]) -> float:
    """GPUs that wait for one another, by the layout in JSON: of a served model one copy's."""
    ways = {name: float(str(layout[name])) for name in ("tp", "pp", "cp", "dp", "ep")}
    inside = ways["tp"] * ways["pp"] * ways["cp"]
    return max(inside, ways["ep"]) if job.kind == "decode" else inside * ways["dp"]


def fewest_gpus(
    cluster: Cluster,
    job: Job,
    needed_rate: float,
    *,
    spot: bool = False,
    assumed: Reliability = GOODPUT,
    most: int = 131_072,
) -> Size | None:
    """The fewest GPUs, in whole nodes or equal parts of one, that make the job so fast.

    Where none do, the fastest that were tried, not `enough`; None where the job fits on none.
    A count that fails is taken to speak for those below it.

    Parameters
    ----------
    needed_rate
        Steps a second; of a served model tokens a second.
    spot, assumed
        For goodput.
    most
        GPUs that can be had together.
    """
    bare = cluster.bare()
    gpus = first_count(bare, job, most)
    if gpus is None:
        return None

    def tried(count: int) -> Size:
        """The first count from here on over which a split divides, rounder ones first."""
        for rounder in _rounder(cluster, count, most):
            found = fastest_way(bare, job, rounder)
            if found is not None:
                layout, rate = found
                copy = replica_gpus(job, layout.as_json())
                kept = goodput(
                    job, rounder, cluster.gpu_count, replica_gpus=copy, spot=spot, assumed=assumed
                )
                return Size(rounder, rate * kept.share, rate * kept.share >= needed_rate)
        return Size(count, 0.0, enough=False)

    return _fewest(cluster, gpus, most, needed_rate, tried)


def _fewest(
    cluster: Cluster, start: int, most: int, needed_rate: float, tried: Callable[[int], Size]
) -> Size:
    """Upwards from `start` as if throughput rose with the count, then down to just enough."""
    node = cluster.gpu_count
    last = most if most <= node else most // node * node
    below, found = 0, tried(start)
    fastest, left = found, MOST_TRIED
    while not found.enough and found.gpus < last and left > MOST_TRIED // 2:
        below, left = found.gpus, left - 1
        line = needed_rate / found.useful_rate if found.useful_rate else 1.0
        wanted = min(found.gpus * max(line, 1.25), last)
        found = tried(min(whole_nodes(cluster, math.floor(wanted) + (wanted < last)), last))
        fastest = max(fastest, found, key=lambda size: size.useful_rate)
    if not found.enough:
        return fastest
    while left and found.gpus - below > max(node, found.gpus // FINENESS):
        line = found.gpus * needed_rate / found.useful_rate
        between = [
            whole_nodes(cluster, math.ceil(max(n, 1))) for n in (line, (below + found.gpus) / 2)
        ]
        guess = next((n for n in between if below < n < found.gpus), None)
        if guess is None:
            break
        fewer, left = tried(guess), left - 1
        if fewer.enough and fewer.gpus < found.gpus:
            found = fewer
        else:
            below = guess
    return found


def _rounder(cluster: Cluster, count: int, most: int) -> Iterator[int]:
    """The count, and the next of ever rounder numbers of nodes: 16ths of a power of two, 8ths..."""
    yield count
    nodes = count // cluster.gpu_count
    for kept_bits in (5, 4, 3, 2, 1):
        grain = 1 << max(nodes.bit_length() - kept_bits, 0)
        rounded = -(-nodes // grain) * grain * cluster.gpu_count
        if count < rounded <= most:
            yield rounded

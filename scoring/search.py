"""The fastest layout of a training job on a cluster: all candidates at once, a column each.

Memory is costed first and once for all clusters with the same GPU memory; of the recompute levels
of one split only the least that fits is kept, for less recompute is never slower. What is left is
costed in one broadcast per cluster.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scoring.constants import LinkConstants
from scoring.gpus import Gpu
from scoring.hardware import Cluster
from scoring.layout import RECOMPUTE, Layout, candidates
from scoring.memory import training_memory
from scoring.training import training_step
from scoring.workload import Job

BLOCK_ROWS = 16_384  # candidates costed at once: about 60 columns of 128 kB stay near the caches
FIRST_LOOK = 128  # candidates that set the bound for the others


@lru_cache(maxsize=96)  # a table is about 1 MB
def fitting(job: Job, gpus: int, memory_bytes: float) -> Layout:
    """Candidates that fit into a GPU's memory, each with the least recompute that does."""
    rows = candidates(job, gpus)
    if not len(rows):
        return rows
    total = np.asarray(training_memory(job, rows).total)
    fits = total <= memory_bytes
    levels = 1 if job.recompute else len(RECOMPUTE)
    table = fits.reshape(-1, levels)
    first = np.argmax(table, axis=1) + np.arange(len(table)) * levels
    return rows.rows(first[table.any(axis=1)])


@lru_cache(maxsize=256)
def least_memory(job: Job, gpus: int) -> Layout | None:
    """The candidate that needs the least memory, fitting or not; None where nothing divides."""
    rows = candidates(job, gpus)
    if not len(rows):
        return None
    return rows.row(int(np.argmin(np.asarray(training_memory(job, rows).total))))


def step_times(cluster: Cluster, job: Job, rows: Layout) -> NDArray[np.float64]:
    """Seconds of one step for each row, in blocks that bound the memory used."""
    count = len(rows)
    times = np.empty(count)
    for start in range(0, count, BLOCK_ROWS):
        block = rows.rows(np.arange(start, min(start + BLOCK_ROWS, count)))
        times[start : start + BLOCK_ROWS] = training_step(cluster, job, block).total
    return times


def fastest_layouts(cluster: Cluster, job: Job, gpus: int, top: int = 1) -> list[Layout]:
    """The `top` fastest layouts that fit, best first; empty where none fits."""
    if top == 1:
        found = fastest(cluster.bare(), job, gpus)
        return [] if found is None else [found]
    rows = fitting(job, gpus, cluster.gpu.memory_bytes)
    if not len(rows):
        return []
    order = np.argsort(step_times(cluster, job, rows), kind="stable")[:top]
    return [rows.row(int(index)) for index in order]


@lru_cache(maxsize=8192)
def fastest(cluster: Cluster, job: Job, gpus: int) -> Layout | None:
    """The fastest layout on a `Cluster.bare()`, or None where none fits.

    Branch and bound: the most promising few by their time on a network that costs nothing, then
    every other whose bound is below the best of them. Exact, for a network only ever adds.
    """
    rows, floor = by_lower_bound(cluster.gpu, job, gpus)
    if not len(rows):
        return None
    first = rows.rows(np.arange(min(FIRST_LOOK, len(rows))))
    times = step_times(cluster, job, first)
    reach = int(np.searchsorted(floor, times.min()))
    if reach > len(first):
        rest = rows.rows(np.arange(len(first), reach))
        times = np.concatenate([times, step_times(cluster, job, rest)])
    return rows.row(int(np.argmin(times)))


@lru_cache(maxsize=64)
def by_lower_bound(gpu: Gpu, job: Job, gpus: int) -> tuple[Layout, NDArray[np.float64]]:
    """Layouts that fit, and their step time on a free network, in its ascending order. [s]"""
    rows = fitting(job, gpus, gpu.memory_bytes)
    if not len(rows):
        return rows, np.empty(0)
    times = step_times(free_network(gpu), job, rows)
    order = np.argsort(times, kind="stable")
    return rows.rows(order), times[order]


def free_network(gpu: Gpu) -> Cluster:
    """GPUs in one domain without latency and without a limit: a lower bound of any cluster."""
    free = LinkConstants(efficiency=1.0, base_us=0.0, hop_us=0.0, ramp_us=0.0)
    return replace(
        Cluster.from_fields({"gpu": gpu.slug, "fabric": "none"}),
        gpu=gpu,
        domain_gpus=2**40,
        scale_up="nvswitch",
        link=free,
        scale_up_bytes_per_s=1e30,
        pair_bytes_per_s=1e30,
    )


def counts_up_to(cluster: Cluster, gpus: int) -> list[int]:
    """GPU counts that one would rent, ascending: parts of a node, then whole nodes."""
    node = cluster.gpu_count
    parts = [count for count in range(1, node + 1) if node % count == 0]
    nodes = [m * 2**k for k in range(24) for m in (1, 3)]
    return sorted({c for c in (*parts, *(node * n for n in nodes), gpus) if c <= gpus})


def smallest_count(cluster: Cluster, job: Job, gpus: int) -> int | None:
    """The smallest GPU count, up to `gpus`, on which some layout of the job fits."""
    counts = tuple(counts_up_to(cluster, gpus))
    return first_fit(job, counts, cluster.gpu.memory_bytes)


@lru_cache(maxsize=4096)
def first_fit(job: Job, counts: tuple[int, ...], memory_bytes: float) -> int | None:
    """The first of the counts on which the job fits into a GPU's memory."""
    return next((n for n in counts if len(fitting(job, n, memory_bytes))), None)

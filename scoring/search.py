"""The fastest layout of a training job on a cluster: all candidates at once, a column each.

Memory is costed first and once for all clusters; of the recompute levels of one split only the
least that fits is kept, for less recompute is never slower. What a step computes is costed once for
all clusters of equal GPUs, and what is left, its messages, once for each kind of candidate that
sends the same.
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
from scoring.training import Computed, training_step
from scoring.workload import Job


@lru_cache(maxsize=96)  # a table is about 1 MB
def fitting(job: Job, gpus: int, memory_bytes: float) -> Layout:
    """Candidates that fit into a GPU's memory, each with the least recompute that does."""
    rows = candidates(job, gpus)
    if not len(rows):
        return rows
    fits = memory_totals(job, gpus) <= memory_bytes
    levels = 1 if job.recompute else len(RECOMPUTE)
    table = fits.reshape(-1, levels)
    first = np.argmax(table, axis=1) + np.arange(len(table)) * levels
    return rows.rows(first[table.any(axis=1)])


@lru_cache(maxsize=64)
def memory_totals(job: Job, gpus: int) -> NDArray[np.float64]:
    """Bytes on the fullest GPU of each candidate."""
    return np.asarray(training_memory(job, candidates(job, gpus)).total)


@lru_cache(maxsize=256)
def least_memory(job: Job, gpus: int) -> Layout | None:
    """The candidate that needs the least memory, fitting or not; None where nothing divides."""
    rows = candidates(job, gpus)
    if not len(rows):
        return None
    return rows.row(int(np.argmin(memory_totals(job, gpus))))


def fastest_layouts(cluster: Cluster, job: Job, gpus: int, top: int = 1) -> list[Layout]:
    """The `top` fastest layouts that fit, best first; empty where none fits."""
    if top == 1:
        found = fastest(cluster.bare(), job, gpus)
        return [] if found is None else [found]
    rows = fitting(job, gpus, cluster.gpu.memory_bytes)
    if not len(rows):
        return []
    order = np.argsort(training_step(cluster, job, rows).total, kind="stable")[:top]
    return [rows.row(int(index)) for index in order]


@lru_cache(maxsize=8192)
def fastest(cluster: Cluster, job: Job, gpus: int) -> Layout | None:
    """The fastest layout on a `Cluster.bare()`, or None where none fits."""
    rows, computed = by_compute(cluster.gpu, job, gpus)
    if not len(rows):
        return None
    return rows.row(int(np.argmin(training_step(cluster, job, rows, computed).total)))


@lru_cache(maxsize=64)
def by_compute(gpu: Gpu, job: Job, gpus: int) -> tuple[Layout, Computed]:
    """Layouts that fit, the one that would be fastest on a free network first, and their compute.

    So of layouts that are equally fast the one that sends more is chosen last.
    """
    free = free_network(gpu)
    rows = fitting(job, gpus, gpu.memory_bytes)
    if len(rows):
        rows = rows.rows(np.argsort(training_step(free, job, rows).total, kind="stable"))
    return rows, Computed.on(free, job, rows)


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

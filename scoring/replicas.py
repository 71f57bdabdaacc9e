"""How a served model is split over GPUs: every layout that divides and fits, and the best of them.

What fits hangs on the GPU alone and is found once for all clusters of it; the time of a token is
then costed in one broadcast per cluster.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from scoring.decode import decode_memory, most_sequences, token_time, tokens_per_s
from scoring.gpus import Gpu
from scoring.hardware import Cluster
from scoring.layout import COLUMNS, MAX_EP, MAX_TP, Layout, divisors, stages_divide
from scoring.workload import Job

UNDECIDED = 0.10  # of throughput: nearer than the model's own median error, the simpler layout wins
QUARTERS = tuple(sorted({round(2 ** (k / 4)) for k in range(49)}))  # batches, up to MAX_BATCH


@lru_cache(maxsize=256)
def decode_candidates(job: Job, gpus: int) -> Layout:
    """Every serving layout over the GPUs, one row each: tp, pp, ep, and the batch of a group.

    Or over the largest power of two of them, with the rest idle: experts divide over 64 of 72.
    """
    counts = sorted({gpus, 1 << (gpus.bit_length() - 1)}, reverse=True)
    splits = [split for count in counts for split in _splits(job, count)]
    batches = [_batches(job, dp * pp) for _tp, pp, dp, _ep in splits]
    sizes = [len(each) for each in batches]
    tp, pp, dp, ep = np.repeat(np.array(splits, float).reshape(-1, 4), sizes, axis=0).T
    batch = np.array([size for each in batches for size in each], float)
    one, none = np.ones(len(batch)), np.zeros(len(batch))
    return Layout(tp, pp, dp, one, ep, batch, one, none, none)


def _splits(job: Job, gpus: int) -> Iterator[tuple[int, int, int, int]]:
    """tp, pp, dp, ep of every split that takes all of so many GPUs."""
    model = job.transformer
    for tp, pp in product(divisors(model.heads, MAX_TP), divisors(gpus, 64)):
        if gpus % (tp * pp) or not stages_divide(model, pp):
            continue
        dp = gpus // (tp * pp)
        eps = [ep for ep in divisors(model.experts, MAX_EP) or (1,) if (tp * dp) % ep == 0]
        # Spread experts need whole tp groups in step; inside one, tp cuts them as well as ep.
        for ep in eps:
            if ep == 1 or (ep > tp and ep % tp == 0):
                yield tp, pp, dp, ep


def _batches(job: Job, groups: int) -> tuple[int, ...]:
    """Sequences of a group that are tried: as asked, or each fourth of a doubling."""
    if job.micro_batch:
        return (job.micro_batch,)
    if job.global_batch:
        return (-(-job.global_batch // groups),)
    return QUARTERS


def fitting_layouts(cluster: Cluster, job: Job, gpus: int) -> Layout:
    """The candidates whose weights and cache fit into a GPU's memory; may have no rows.

    Where the batch is free, each split is there with as many sequences as its cache holds, too.
    """
    return _fitting(cluster.gpu, job, gpus)


@lru_cache(maxsize=64)
def _fitting(gpu: Gpu, job: Job, gpus: int) -> Layout:
    rows = decode_candidates(job, gpus)
    if not len(rows):
        return rows
    fits = np.asarray(decode_memory(gpu, job, rows).total) <= gpu.memory_bytes
    if job.micro_batch or job.global_batch:
        return rows.rows(fits)
    first = rows.rows(np.asarray(rows.micro_batch) == 1)
    full = replace(first, micro_batch=np.asarray(most_sequences(gpu, job, first)))
    full = full.rows(np.asarray(full.micro_batch) >= 1)
    return stacked(rows.rows(fits), full)


def stacked(above: Layout, below: Layout) -> Layout:
    """The rows of two layouts of columns, one under the other."""
    pairs = {name: (getattr(above, name), getattr(below, name)) for name in COLUMNS}
    columns: dict[str, Any] = {name: np.concatenate(pair) for name, pair in pairs.items()}
    return replace(above, **columns)


def decode_layouts(cluster: Cluster, job: Job, gpus: int, top: int = 1) -> list[Layout]:
    """The layouts of highest throughput that fit and meet max_tpot_ms, best first.

    Of layouts whose throughput is within `UNDECIDED` of the best the one that splits the model
    over the fewest GPUs comes first, and of those the one of the fewest stages: replicas share
    nothing that could be slow or fail, and a stage needs sequences of its own. Where none is fast
    enough, the ones with the shortest time per token.
    """
    rows = fitting_layouts(cluster, job, gpus)
    if not len(rows):
        return []
    token = np.asarray(token_time(cluster, job, rows).total)
    rate = np.asarray(tokens_per_s(job, rows, token))
    limit = np.inf if job.max_tpot_ms is None else job.max_tpot_ms * 1e-3
    if not (token <= limit).any():
        return [rows.row(int(index)) for index in np.argsort(token, kind="stable")[:top]]
    merit = np.where(token <= limit, rate, 0.0)
    near = merit >= (1.0 - UNDECIDED) * merit.max()
    split = np.where(near, np.asarray(rows.tp * rows.pp), np.inf)
    stages = np.where(near, np.asarray(rows.pp), np.inf)
    order = np.lexsort((-merit, stages, split))
    return [rows.row(int(index)) for index in order[:top]]

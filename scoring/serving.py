"""Serving as its users see it: time to the first token, time per token, throughput of a GPU.

Batching is continuous: while some sequences decode, the prompts of others are read, and all share
the GPUs. A `Pareto` curve is what one cluster can be made to do: every layout and every batch, and
of them those that no other beats in both speed for one reader and tokens of a GPU. Two pools, one
that reads prompts and one that decodes, keep the two from waiting for each other and pay for it
with a copy of the cache.

References
----------
G.-I. Yu et al., "Orca: a distributed serving system for transformer-based generative models," OSDI
2022: continuous batching.
P. Patel et al., "Splitwise," ISCA 2024, arXiv:2311.18677; Y. Zhong et al., "DistServe," OSDI 2024,
arXiv:2401.09670: pools.
L. Kleinrock, Queueing Systems, vol. 1, 1975, section 5.6: Pollaczek and Khinchine's mean wait.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.collectives import collective_time, group
from scoring.decode import sequence_bytes, token_time, tokens_per_s
from scoring.fields import FieldError
from scoring.hardware import Cluster
from scoring.layout import Layout
from scoring.prefill import prefill_time
from scoring.refusals import refused
from scoring.replicas import fitting_layouts
from scoring.units import Value, maximum, minimum
from scoring.workload import Job

BUSIEST = 0.95  # of a replica's time spent on prompts; a queue for more has no mean length


@dataclass(frozen=True, slots=True)
class Served:
    """What one layout at one batch gives. Seconds, tokens a second; broadcast over layouts."""

    layout: Layout
    token_s: Value
    first_token_s: Value
    tokens_per_s_per_gpu: Value

    @property
    def tokens_per_s_per_user(self) -> Value:
        """Speed for one reader. [1/s]"""
        return 1.0 / self.token_s

    def row(self, index: int) -> "Served":
        """One point of a curve."""
        one = (self.token_s, self.first_token_s, self.tokens_per_s_per_gpu)
        times = (float(np.asarray(value)[index]) for value in one)
        return Served(self.layout.row(index), *times)

    def as_json(self) -> dict[str, Any]:
        """A point under its public names."""
        return {
            "tpot_ms": float(self.token_s) * 1e3,
            "ttft_ms": float(self.first_token_s) * 1e3,
            "tokens_per_s_per_gpu": float(self.tokens_per_s_per_gpu),
            "tokens_per_s_per_user": float(self.tokens_per_s_per_user),
            "layout": self.layout.as_json(),
        }


def serve(cluster: Cluster, job: Job, layout: Layout) -> Served:
    """A layout, or a column of them, under the load that keeps its batch full.

    The first token waits for prompts that came before (the mean wait of a queue with one server,
    of which prompts take a share ρ: ρ / 2(1 − ρ) of one), for its own, and for one step.
    """
    token = token_time(cluster, job, layout)
    total = token.total
    first = prefill_time(cluster, job, layout)
    busy = minimum(token.prefill / total, BUSIEST)
    wait = busy / (2.0 * (1.0 - busy)) * first
    rate = tokens_per_s(job, layout, total) / layout.gpus
    return Served(layout, total, first + wait + total, rate)


def pareto(cluster: Cluster, job: Job, gpus: int) -> list[Served]:
    """The points of a cluster that no other beats in both speed and throughput, fastest first.

    None where nothing fits, or where `refusals.refused` has a reason.

    Parameters
    ----------
    job
        A decode job; its batch is free unless global_batch or micro_batch fixes it. With
        max_tpot_ms only points within it.
    gpus
        Shared out among all layouts and their replicas, as `decode_candidates` does.

    Raises
    ------
    FieldError
        For `job` that is no decode job, and for `gpus` as `refused`.
    """
    if job.kind != "decode":
        raise FieldError("job", f"{job.name} is a {job.kind} job: only serving has such a curve.")
    if refused(cluster, job, gpus):
        return []
    rows = fitting_layouts(cluster, job, gpus)
    if not len(rows):
        return []
    points = serve(cluster, job, rows)
    # Idle GPUs are paid for as well.
    points = replace(points, tokens_per_s_per_gpu=points.tokens_per_s_per_gpu * rows.gpus / gpus)
    token = np.asarray(points.token_s)
    order = _unbeaten(token, np.asarray(points.tokens_per_s_per_gpu))
    limit = np.inf if job.max_tpot_ms is None else job.max_tpot_ms * 1e-3
    return [points.row(int(index)) for index in order if token[index] <= limit]


def _unbeaten(time: NDArray[Any], rate: NDArray[Any]) -> NDArray[np.intp]:
    """Indices of the points with no other that is as fast and yields more, by ascending time."""
    order: NDArray[np.intp] = np.lexsort((-rate, time))
    best = np.maximum.accumulate(rate[order])
    rising: NDArray[np.intp] = np.flatnonzero(np.diff(best, prepend=-1.0) > 0)
    return np.take(order, rising)


# ------------------------------------------------------------------ two pools


@dataclass(frozen=True, slots=True)
class Pools:
    """Workers that read prompts and workers that decode, each kind with its layout."""

    prompt: Layout
    prompt_workers: int
    decode: Layout  # micro_batch sequences on each tp group
    decode_workers: int

    @property
    def gpus(self) -> Value:
        """GPUs of both pools."""
        return self.prompt_workers * self.prompt.gpus + self.decode_workers * self.decode.gpus


def serve_pools(cluster: Cluster, job: Job, pools: Pools) -> Served:
    """Two pools in balance or not: the slower one sets the rate. [s], [1/s]

    Decoding is not disturbed by prompts, and the first token waits for the copy of its cache over
    the fabric, or inside a domain that holds both pools. Where decoding could do more than the
    prompts that are read, its batch is never full: time per token is still that of a full one.

    Raises
    ------
    FieldError
        For a job without prompt_len or output_len: pools trade one against the other.
    """
    if not job.prompt_len or not job.output_len:
        raise FieldError("prompt_len", "and output_len must be given to balance two pools.")
    apart = replace(job, output_len=0)
    token = token_time(cluster, apart, pools.decode).total
    decoded = pools.decode_workers * tokens_per_s(apart, pools.decode, token)
    prompt = prefill_time(cluster, job, pools.prompt)
    groups = pools.prompt.dp * pools.prompt.pp  # each reads a prompt of its own
    read = pools.prompt_workers * groups / prompt * job.output_len
    first = prompt + cache_copy_time(cluster, job, pools) + token
    return Served(pools.decode, token, first, minimum(read, decoded) / pools.gpus)


def cache_copy_time(cluster: Cluster, job: Job, pools: Pools) -> Value:
    """A prompt's cache from one pool to the other, each GPU of its tp group sending a part. [s]"""
    one = replace(job, seq_len=job.prompt_len)
    size = sequence_bytes(cluster.gpu, one, pools.prompt)
    # Two GPUs as far apart as the pools: inside one domain if that holds them all.
    pair = group(cluster, 2.0, maximum(pools.gpus - 1.0, 1.0))
    return collective_time(cluster, "send_recv", size, pair)


def balanced_pools(cluster: Cluster, job: Job, gpus: int) -> tuple[Pools, Served] | None:
    """The two pools over the GPUs with the highest rate within max_tpot_ms; None where none fits.

    One layout of each pool: prompts on the smallest that holds the model with one prompt, for
    nothing is won by splitting what is bound by arithmetic; decoding on each that fits, at the
    batch that its cache holds or the limit allows; workers shared out so that both pools keep up.
    """
    prompt = None if refused(cluster, job, gpus) else _smallest_holder(cluster, job, gpus)
    if prompt is None:
        return None
    best: tuple[Pools, Served] | None = None
    for size in sorted({int(2**k) for k in range(1, 11)} & set(range(1, gpus))):
        decode = _fastest_worker(cluster, job, size)
        if decode is None:
            continue
        for readers in range(1, (gpus - size) // int(prompt.gpus) + 1):
            workers = (gpus - readers * int(prompt.gpus)) // size
            pools = Pools(prompt, readers, decode, workers)
            served = serve_pools(cluster, job, pools)
            rate = served.tokens_per_s_per_gpu * pools.gpus
            if best is None or rate > best[1].tokens_per_s_per_gpu * best[0].gpus:
                best = pools, served
    return best


def _smallest_holder(cluster: Cluster, job: Job, gpus: int) -> Layout | None:
    """One replica of the fewest GPUs that holds the model and a prompt."""
    one = replace(job, seq_len=job.prompt_len, micro_batch=1, output_len=0)
    sizes = [int(2**k) for k in range(11) if 2**k <= gpus]
    for size in sizes:
        rows = fitting_layouts(cluster, one, size)
        if len(rows):
            times = np.asarray(prefill_time(cluster, one, rows)) / np.asarray(rows.dp * rows.pp)
            return rows.row(int(np.argmin(times)))
    return None


def _fastest_worker(cluster: Cluster, job: Job, gpus: int) -> Layout | None:
    """One decoding worker of so many GPUs: the most tokens within max_tpot_ms."""
    apart = replace(job, output_len=0)
    rows = fitting_layouts(cluster, apart, gpus)
    if not len(rows):
        return None
    token = np.asarray(token_time(cluster, apart, rows).total)
    limit = np.inf if job.max_tpot_ms is None else job.max_tpot_ms * 1e-3
    rate = np.where(token <= limit, np.asarray(tokens_per_s(apart, rows, token)), 0.0)
    return rows.row(int(np.argmax(rate))) if rate.max() > 0 else None

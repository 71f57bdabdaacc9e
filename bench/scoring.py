"""Speed of the cost model, and the fit of its constants.

    python bench/scoring.py              time of a configuration, a search, a ranking
    python bench/scoring.py fit DIR      constants from the measured tables in DIR, as printed lines

The named baselines are Calculon (2,000 to 2,450 µs a configuration, about 3,400 core-seconds a
search of 175B) and llm-analysis (2,300 µs), measured on another machine: ratios are indicative.
"""

import argparse
import csv
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scoring.estimate import best_rate, rank, smallest_rate
from scoring.hardware import Cluster, cluster, clusters
from scoring.layout import candidates
from scoring.memory import training_memory
from scoring.search import (
    by_lower_bound,
    fastest,
    fastest_layouts,
    first_fit,
    fitting,
    least_memory,
)
from scoring.training import training_step
from scoring.workload import job

CALCULON_US = 2_000.0
CALCULON_SEARCH_S = 3_400.0


def main() -> None:
    """Print the figures, or the fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="speed", choices=("speed", "fit"))
    parser.add_argument("directory", nargs="?", type=Path)
    options = parser.parse_args()
    if options.what == "fit":
        fit(options.directory)
    else:
        speed()


# ------------------------------------------------------------------ speed


def speed() -> None:
    """Median of several runs of each; caches emptied where a first visit is meant."""
    selene, gpt3 = cluster("selene-a100"), job("gpt3-175b-pretrain")
    rows = fitting(gpt3, 3072, selene.gpu.memory_bytes)
    one = rows.row(0)

    def configuration() -> None:
        training_memory(gpt3, one)
        training_step(selene, gpt3, one)

    scalar = 1e6 * seconds(configuration, 200)
    print(
        f"one configuration, scalar      {scalar:9.1f} µs   {CALCULON_US / scalar:8.0f}× Calculon"
    )
    column = 1e6 * seconds(lambda: training_step(selene, gpt3, rows), 20) / len(rows)
    print(
        f"one configuration, vectorised  {column:9.3f} µs   {CALCULON_US / column:8.0f}× Calculon"
    )
    for gpus in (512, 3072):
        took = seconds(lambda gpus=gpus: first_search(selene, gpus), 5)
        count = len(candidates(gpt3, gpus))
        ratio = CALCULON_SEARCH_S / took
        print(f"search of 175B on {gpus:5d} GPUs  {took:11.4f} s    {count} layouts  {ratio:8.0f}×")
    many = variants(150)
    for gpus in (64, 256, 1024):
        for slug in ("gpt3-175b-pretrain", "llama3-70b-pretrain", "mixtral-8x7b-pretrain"):
            took = seconds(lambda g=gpus, s=slug: first_ranking(many, s, g), 3)
            print(f"rank {len(many)} clusters, {gpus:5d} GPUs, {slug:24s} {took:7.3f} s")


def seconds(work: Callable[[], object], runs: int) -> float:
    """Median CPU time of a call, which a busy machine does not stretch. [s]"""
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def forget() -> None:
    """Empty every cache, so that the next question is the first."""
    for cached in (
        candidates,
        fitting,
        least_memory,
        first_fit,
        by_lower_bound,
        fastest,
        best_rate,
        smallest_rate,
    ):
        cached.cache_clear()


def first_search(where: Cluster, gpus: int) -> None:
    """A whole search, candidates included."""
    forget()
    fastest_layouts(where, job("gpt3-175b-pretrain"), gpus)


def first_ranking(many: list[Cluster], slug: str, gpus: int) -> None:
    """A whole ranking with efficiencies and intervals."""
    forget()
    rank(many, job(slug), gpus)


def variants(count: int) -> list[Cluster]:
    """Distinct clusters: every reference with several fabric rates."""
    bases = [cluster(slug) for slug in clusters()]
    return [
        replace(base, name=f"{base.name}-{k}", nic_bytes_per_s=base.nic_bytes_per_s * 0.9**k)
        for k in range(-(-count // len(bases)))
        for base in bases
    ][:count]


# ------------------------------------------------------------------ fit


def fit(directory: Path) -> None:
    """Kernel plateaus and link curves from microbenchmarks; multipliers from end-to-end rows."""
    fit_gemm(directory / "kernels" / "gemm_efficiency.csv")
    fit_links(directory / "nccl.csv")
    fit_multipliers()


def fit_gemm(path: Path) -> None:
    """Plateau e: median of eff · (1 + 90/N)(1 + 90/K) over large products, M of 2k to 8k."""
    middle = {"<=4096": 3072.0, "<=8192": 6144.0, ">8192": 12288.0}
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in csv.DictReader(path.open(encoding="utf-8")):
        n, k = middle.get(row["n_bin"]), middle.get(row["k_bin"])
        if n and k and 2048 <= float(row["m"]) <= 8192:
            edges = (1 + 90 / n) * (1 + 90 / k)
            found[row["system"], row["dtype"]].append(float(row["eff_median"]) * edges)
    for (system, dtype), values in sorted(found.items()):
        print(
            f"gemm {system:22s} {dtype:9s} e = {statistics.median(values):.3f} ({len(values)} bins)"
        )


def fit_links(path: Path) -> None:
    """t = t0 + x + √(τ x) of each single-node curve: floor, rate and ramp, by Gauss-Newton."""
    curves: dict[tuple[str, str, int], list[tuple[float, float]]] = defaultdict(list)
    for row in csv.DictReader(path.open(encoding="utf-8")):
        size = row["extra"].partition("bytes=")[2].partition(";")[0]
        if row["inter_link"] == "single node" and size.isdigit() and "busbw" in row["metric_name"]:
            ranks = int(float(row["num_gpus"]))
            factor = (2 if row["model_name"] == "all_reduce" else 1) * (ranks - 1) / ranks
            moved = factor * float(size)
            key = row["gpu_model"], row["model_name"], ranks
            curves[key].append((moved, moved / (float(row["metric_value"]) * 1e9)))
    for (gpu, kind, ranks), points in sorted(curves.items()):
        if len(points) >= 7:
            floor, rate, ramp, error = fit_curve(np.array(sorted(points)))
            print(
                f"link {gpu:30s} {kind:15s} {ranks} ranks: floor {floor * 1e6:5.1f} µs, "
                f"{rate / 1e9:6.1f} GB/s, ramp {ramp * 1e6:6.1f} µs, median error {error:.1%}"
            )


def fit_curve(points: np.ndarray) -> tuple[float, float, float, float]:
    """Floor [s], rate [B/s] and ramp [s] of bytes moved against time, least squares of ln t."""
    moved, took = points.T

    def residual(p: np.ndarray) -> np.ndarray:
        floor, rate, ramp = np.exp(p)
        x = moved / rate
        return np.log(floor + x + np.sqrt(ramp * x)) - np.log(took)

    p = np.log([took[0], (moved / took).max(), 1e-5])
    damping = 1e-2
    for _ in range(200):
        r = residual(p)
        jacobian = np.stack([(residual(p + 1e-5 * e) - r) / 1e-5 for e in np.eye(3)], axis=1)
        step = -np.linalg.solve(jacobian.T @ jacobian + damping * np.eye(3), jacobian.T @ r)
        better = p + np.clip(step, -0.5, 0.5)
        if (residual(better) ** 2).sum() < (r**2).sum():
            p, damping = better, max(damping / 3, 1e-9)
        else:
            damping *= 4
    floor, rate, ramp = (float(v) for v in np.exp(p))
    return floor, rate, ramp, float(np.median(np.abs(residual(p))))


def fit_multipliers() -> None:
    """What each profile's multiplier would have to be for no bias on its rows."""
    from bench.accuracy import refitted_multiplier, training_rows
    from scoring.constants import SOFTWARE
    from scoring.machines import software_of_row

    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in training_rows():
        rows[software_of_row(row)].append(row)
    for name, mine in sorted(rows.items()):
        now, wanted = SOFTWARE[name].multiplier, refitted_multiplier(name, mine)
        print(f"multiplier {name:20s} {now:.2f} → {wanted:.2f} ({len(mine)} rows)")


if __name__ == "__main__":
    main()

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
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.accuracy import errors, refitted_multiplier, training_rows
from bench.fabrics import constants_of, fitted, rows_by_span
from scoring import curves
from scoring.collectives import forget_times
from scoring.constants import FABRICS, LINKS, SOFTWARE, FabricConstants, LinkConstants
from scoring.estimate import fastest_way, rank, smallest_way
from scoring.fields import FieldError
from scoring.hardware import Cluster, cluster, clusters
from scoring.layout import candidates
from scoring.machines import CannotPredict, machine
from scoring.measured import predict
from scoring.measured_software import software_of_row
from scoring.memory import training_memory
from scoring.search import (
    by_compute,
    fastest,
    fastest_layouts,
    first_fit,
    fitting,
    least_memory,
    memory_totals,
)
from scoring.training import training_step
from scoring.validation import read_rows
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
    each = [rows.row(index) for index in range(len(rows))]

    def one_by_one() -> None:
        forget_times()
        for one in each:
            training_memory(gpt3, one)
            training_step(selene, gpt3, one)

    scalar = 1e6 * seconds(one_by_one, 5) / len(each)
    print(
        f"one configuration, scalar      {scalar:9.1f} µs   {CALCULON_US / scalar:8.0f}× Calculon"
    )
    every = candidates(gpt3, 3072)
    column = 1e6 * seconds(lambda: training_step(selene, gpt3, every), 20) / len(every)
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
        memory_totals,
        least_memory,
        first_fit,
        by_compute,
        fastest,
        fastest_way,
        smallest_way,
    ):
        cached.cache_clear()
    forget_times()


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
    """Kernel plateaus and links from microbenchmarks; multipliers from end-to-end rows."""
    fit_gemm(directory / "kernels" / "gemm_efficiency.csv")
    fit_links(directory / "nccl.csv")
    fit_fabrics()
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
    """The constants of each link inside a node, from every curve that was measured on it.

    Rates of long messages that stand in a named source are kept where the curves end early (PCIe,
    NVL pairs).
    """
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for _, row in read_rows(path):
        if row["metric_name"] == "busbw_GB/s" and "send" not in row["model_name"]:
            try:
                where = machine(row)
                predict(row)
            except (CannotPredict, FieldError):
                continue
            if float(row["num_gpus"]) <= where.near_gpus and "vidur" not in row["framework"]:
                rows[_link_of(where)].append(row)
    with patch.object(curves, "_grids", dict):  # what a curve draws says nothing of its formula
        for name, mine in sorted(rows.items()):
            fit_table(f"link {name}", LINKS[name], mine)
    forget_times()


def fit_fabrics() -> None:
    """The constants of each fabric, from every row whose ranks it joins."""
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in rows_by_span()[True]:
        rows[machine(row).fabric].append(row)
    for name, mine in sorted(rows.items()):
        fit_table(f"fabric {name}", FABRICS[name], mine)


def _link_of(where: Cluster) -> str:
    if where.domain_gpus > 1:
        return where.link_name
    return next(name for name, link in LINKS.items() if link is where.pcie)


def fit_table(
    name: str, table: LinkConstants | FabricConstants, rows: list[Mapping[str, str]]
) -> None:
    """Print the constants of a link or a fabric that its rows ask for."""
    before = np.median(np.abs(errors(rows)))
    values = fitted(table, rows)
    with constants_of(table, values):
        after = np.median(np.abs(errors(rows)))
    found = ", ".join(f"{constant} {value:.3g}" for constant, value in values.items())
    print(f"{name:22s} {len(rows):5d} rows: {before:.3f} → {after:.3f} with {found}")


def fit_multipliers() -> None:
    """What each profile's multiplier would have to be for no bias on its rows."""
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in training_rows():
        rows[software_of_row(row).profile].append(row)
    for name, mine in sorted(rows.items()):
        now, wanted = SOFTWARE[name].multiplier, refitted_multiplier(name, mine)
        print(f"multiplier {name:20s} {now:.2f} → {wanted:.2f} ({len(mine)} rows)")


if __name__ == "__main__":
    main()

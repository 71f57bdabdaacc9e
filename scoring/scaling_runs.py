"""How much of its throughput a GPU kept, where somebody ran one job on several counts of GPUs.

Published runs, carried with their source in scaling_runs.csv. A series is one submitter's, of
one round, on one kind of machine; 1 is what a GPU of it did on the fewest GPUs that it was run on.
The batch of a run is its own, and stands beside it: a larger one makes a larger count look better.
"""

import csv
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from scoring.transformers import Transformer, shape
from scoring.workload import Job

COLUMNS = [
    "series", "model", "kind", "gpu", "fabric", "gbits_per_s_per_gpu", "gpus", "global_batch",
    "amount", "unit", "source", "checked",
]  # fmt: skip
UNITS = ("tokens/s/GPU", "sequences/s", "s/step")  # as they are printed; a series has but one


def scaling_runs(
    job: Job, gpu: str | None, fabric: str | None, gbits_per_s_per_gpu: float | None
) -> list[dict[str, Any]]:
    """Runs of such a job on such GPUs and such a fabric, each with the share that a GPU kept.

    A job is such a one if it is of that kind and its model has the same layers; a fabric, if it is
    of that technology and rate. What is unknown is like nothing.
    """
    if job.model is None:
        return []
    machine = job.kind, gpu, fabric, gbits_per_s_per_gpu
    return [
        run
        for (model, *measured), runs in _series()
        if tuple(measured) == machine and alike(shape(model), job.model)
        for run in runs
    ]


def alike(one: Transformer, other: Transformer) -> bool:
    """Whether two models have the same layers; their vocabularies may differ."""
    return all(
        getattr(one, name) == getattr(other, name)
        for name in ("layers", "hidden", "ffn_hidden", "heads", "kv_heads", "experts", "topk")
    )


Key = tuple[str, str, str, str, float]


@cache
def _series() -> list[tuple[Key, list[dict[str, Any]]]]:
    """Every series, by what was run and on what.

    Raises
    ------
    ValueError
        For a line that is not of the form, by its number.
    """
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        if rows.fieldnames != COLUMNS:
            raise ValueError(f"scaling_runs.csv line 1: the columns are {','.join(COLUMNS)}")
        read = [_read(row, rows.line_num) for row in rows]
    grouped = groupby(read, key=itemgetter("key", "series"))
    return [(key, list(_shares(list(runs)))) for (key, _name), runs in grouped]


def _read(row: Mapping[str, str], line: int) -> dict[str, Any]:
    if row["unit"] not in UNITS or not row["source"]:
        raise ValueError(f"scaling_runs.csv line {line}: is not of the form")
    gpus, batch, amount = int(row["gpus"]), int(row["global_batch"]), float(row["amount"])
    key = (*(row[name] for name in COLUMNS[1:5]), float(row["gbits_per_s_per_gpu"]))
    return {
        "key": key,
        "series": row["series"],
        "gpus": gpus,
        "global_batch": batch,
        "amount": amount,
        "unit": row["unit"],
        "per_gpu": _per_gpu(amount, row["unit"], gpus, batch),
        "source": row["source"],
    }


def _per_gpu(amount: float, unit: str, gpus: int, batch: int) -> float:
    """Work a second of one GPU, in tokens or in sequences."""
    if unit == "s/step":
        return batch / amount / gpus
    return amount / gpus if unit == "sequences/s" else amount


def _shares(runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each run against the one on the fewest GPUs."""
    first = min(runs, key=itemgetter("gpus"))
    for run in runs:
        said = {name: value for name, value in run.items() if name not in {"key", "per_gpu"}}
        yield said | {"against_gpus": first["gpus"], "share": run["per_gpu"] / first["per_gpu"]}

"""How far the model was from published measurements: shown beside every answer.

The figures are those of the last `python -m bench accuracy`, kept in measured_error.toml with the
day and the number of rows.
"""

import math
from collections.abc import Mapping
from typing import Any

from scoring.constants import INTERVAL, data_file

# The kind of a job → the kind of measurement that comes nearest to it.
NEAREST = {"train": "train", "finetune_lora": "train", "decode": "decode"}


def measured_error(job_kind: str) -> Mapping[str, Any] | None:
    """`rows`, `median_abs_error`, `p90_abs_error`, `bias` of ln(predicted / measured) of the time.

    None for kinds of job that were never measured, a custom job's.
    """
    kind = NEAREST.get(job_kind)
    return None if kind is None else data_file("measured_error.toml")[kind]


def measured_errors() -> Mapping[str, Mapping[str, Any]]:
    """Those figures for every kind of measurement, with `what` it is, and on rows never fitted."""
    return data_file("measured_error.toml")


def measured_groups() -> Mapping[str, Any]:
    """The errors behind those figures, by kind of job: groups, the worst, what a drawing shows.

    `version` and `measured_on` say by which model; what the fields mean is in
    bench/accuracy_groups.py, which writes them.
    """
    return data_file("measured_groups.toml")


def error_ranges() -> list[tuple[str, str, float, float]]:
    """Kind of job, stratum, and p10 and p90 of measured over predicted time that answers show."""
    by_kind = {"train": INTERVAL.train, "decode": INTERVAL.decode, "custom": INTERVAL.custom}
    return [
        (kind, stratum, math.exp(ends["low"]), math.exp(ends["high"]))
        for kind, strata in by_kind.items()
        for stratum, ends in strata.items()
    ]

"""Measured rows against the model: each error, their summary by group, and what was not predicted.

Error is ln(predicted / measured) of the time, for a rate of its inverse: positive means predicted
too slow. A configuration that was published several times counts once, at its mean error; beside
the plain summary stands one in which every source weighs the same. `worst` is the worst of what is
no outlier, and every outlier is listed. Coverage is of the rows that state enough.
"""

import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from scoring.fields import FieldError
from scoring.machines import CannotPredict, Prediction, gpu_slug, number
from scoring.measured import measured_value, predict

Row = Mapping[str, Any]
MAX_ROWS = 1_000_000
SAME = ("predicted", "gpu", "num_gpus", "precision")
STRATA = (
    "kind",
    "framework",
    "gpu",
    "source",
    "metric_name",
    "assumed",
    "curve",
    "span",
    "precision",
    "recompute",
    "scale",
)
# Why a row need not be predicted: it does not say enough, or nothing that a step has.
MAY_SKIP = re.compile(
    r"not stated|no measured value|time to train|not known to the model|without its (pools|unit)"
)
FAR_OUT = 3.0  # times the distance of the quartiles, beyond them: J. W. Tukey, 1977, section 2


def validate(path: Path) -> dict[str, Any]:
    """Every row of a CSV with the columns of measured data: predictions, errors and a summary.

    Returns
    -------
    dict
        summary, source_weighted, outliers, groups, rows, skipped, as the command prints them.

    Raises
    ------
    FieldError
        When the file is no readable CSV with an id, a metric_name and a metric_value.
    """
    rows: list[dict[str, Any]] = []
    skipped: list[dict[str, Any]] = []
    for line, row in read_rows(path):
        name = row.get("id") or f"line {line}"
        try:
            measured = measured_value(row)
            found = predict(row)
        except (CannotPredict, FieldError) as error:
            known = isinstance(error, CannotPredict)
            reason = str(error) if known else f"unreadable: {error}"
            must = not (known and MAY_SKIP.search(reason))
            skipped.append({"id": name, "reason": reason, "line": line, "must": must})
            continue
        log_ratio = math.log(found.value / measured)
        count = int(number(row, "num_gpus") or 0)
        rows.append(
            {
                "id": name,
                "metric_name": row["metric_name"],
                "measured": measured,
                "predicted": found.value,
                "error": -log_ratio if found.is_rate else log_ratio,
                "assumed": found.assumed,
                "curve": found.curve,
                "span": _span(found),
                "warnings": list(found.warnings),
                "kind": found.kind,
                "framework": row.get("framework") or "",
                "gpu": gpu_slug(row) or row.get("gpu_model") or "",
                "source": row.get("source_repo_or_doc") or "",
                "model": row.get("model_name") or "",
                "precision": row.get("precision") or "not stated",
                "recompute": row.get("activation_recompute") or "not stated",
                "num_gpus": count,
                "scale": _scale(count),
            }
        )
    counted = distinct(rows)
    outliers = far_out(counted)
    missed = sum(each["must"] for each in skipped)
    coverage = len(rows) / (len(rows) + missed) if rows else None
    return {
        "summary": {**summary(counted, outliers), "rows": len(rows), "coverage": coverage},
        "source_weighted": source_weighted(rows),
        "outliers": [{"id": each["id"], "error": each["error"]} for each in outliers],
        "groups": groups(rows, outliers),
        "rows": rows,
        "skipped": skipped,
    }


def _span(found: Prediction) -> str:
    """Of a collective, whether it crosses the fabric, and whether a measured curve drew it."""
    if not found.kind.startswith("nccl"):
        return "no collective"
    drawn = "on a curve" if found.curve else "by formula"
    return f"{'across the fabric' if found.across else 'inside a domain or node'}, {drawn}"


def _scale(gpus: int) -> str:
    """The size of a run, in words that sort."""
    return next((f"to {top:5d} GPUs" for top in (8, 64, 512, 4096) if gpus <= top), "beyond")


def read_rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Line number and row of a CSV. Columns that nobody asks for are ignored."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:  # Excel writes a byte-order mark
            reader = csv.DictReader(file)
            for column in ("metric_name", "metric_value"):
                if column not in (reader.fieldnames or []):
                    raise FieldError(path.name, f"has no column {column}.")
            for count, row in enumerate(reader):
                if count >= MAX_ROWS:
                    raise FieldError(path.name, f"has more than {MAX_ROWS} rows.")
                yield reader.line_num, {k: v or "" for k, v in row.items() if isinstance(k, str)}
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FieldError(path.name, f"cannot be read as CSV ({type(error).__name__}).") from None


# ------------------------------------------------------------------ statistics


def distinct(rows: Sequence[Row]) -> list[Row]:
    """One row for each question to the model, at the mean error and measured value of its rows.

    Rows that the model gives the same value in the same metric for so many GPUs of a kind ask the
    same; their source does not matter.
    """
    table: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        table[tuple(row[name] for name in ("kind", "metric_name", *SAME))].append(row)
    return [
        {**same[0], **{name: fmean(row[name] for row in same) for name in ("error", "measured")}}
        for same in table.values()
    ]


def far_out(rows: Sequence[Row]) -> list[Row]:
    """Rows beyond the outer fences of the errors of their kind: three quartile distances out."""
    found = []
    for part in _by(rows, "kind").values():
        low, high = np.quantile([row["error"] for row in part], [0.25, 0.75])
        reach = FAR_OUT * (high - low)
        found += [row for row in part if not low - reach <= row["error"] <= high + reach]
    return found


def summary(rows: Sequence[Row], outliers: Sequence[Row] = ()) -> dict[str, Any]:
    """n, median and 90th percentile of |error|, bias, Kendall's τ, and the worst but `outliers`.

    Of outliers alone the worst is one of them.
    """
    if not rows:
        return dict.fromkeys(
            ("median_abs_error", "p90_abs_error", "worst", "bias", "kendall_tau")
        ) | {"n": 0}
    errors = np.array([row["error"] for row in rows])
    size = np.abs(errors)
    listed = {row["id"] for row in outliers}
    kept = [row["error"] for row in rows if row["id"] not in listed] or [*errors]
    return {
        "n": len(rows),
        "median_abs_error": float(np.median(size)),
        "p90_abs_error": float(np.quantile(size, 0.9)),
        "worst": float(max(kept, key=abs)),
        "bias": float(np.median(errors)),
        "kendall_tau": kendall_tau(
            np.array([row["measured"] for row in rows]),
            np.array([row["predicted"] for row in rows]),
        ),
    }


def source_weighted(rows: Sequence[Row]) -> dict[str, Any]:
    """Median and 90th percentile of |error|, and bias, where each source weighs the same."""
    sources = _by(rows, "source")
    errors = np.array([row["error"] for row in rows])
    weights = np.array([1.0 / len(sources[row["source"]]) for row in rows])
    return {
        "sources": len(sources),
        "median_abs_error": _quantile(np.abs(errors), weights, 0.5),
        "p90_abs_error": _quantile(np.abs(errors), weights, 0.9),
        "bias": _quantile(errors, weights, 0.5),
    }


def _quantile(
    values: np.ndarray[Any, Any], weights: np.ndarray[Any, Any], at: float
) -> float | None:
    """The value below which lies the share `at` of the weight; between two, by their middles."""
    if not len(values):
        return None
    order = np.argsort(values)
    below = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(at * weights.sum(), below, values[order]))


def groups(rows: Sequence[Row], outliers: Sequence[Row] = ()) -> list[dict[str, Any]]:
    """The summary of every kind, framework, GPU, source and so on, and of assumed rows apart.

    In each a configuration counts once.
    """
    return [
        {"by": by, "group": name, **summary(distinct(part), outliers)}
        for by in STRATA
        for name, part in sorted(_by(rows, by).items())
    ]


def _by(rows: Sequence[Row], name: str) -> Mapping[str, list[Row]]:
    table: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        table[str(row[name])].append(row)
    return table


def kendall_tau(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float | None:
    """τ-b of two rankings, at most 2,000 points of it, evenly taken; None under two points."""
    if len(a) > 2000:
        taken = np.linspace(0, len(a) - 1, 2000).astype(int)
        a, b = a[taken], b[taken]
    x, y = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    scale = math.sqrt(float(np.sum(x * x)) * float(np.sum(y * y)))
    return float(np.sum(x * y)) / scale if scale else None

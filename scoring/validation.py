"""Measured rows against the model: each error, their summary by group, and what was not predicted.

Error is ln(predicted / measured) of the time, for a rate of its inverse: positive means predicted
too slow.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scoring.fields import FieldError
from scoring.machines import CannotPredict, gpu_slug, number
from scoring.measured import measured_value, predict

MAX_ROWS = 1_000_000
STRATA = (
    "kind",
    "framework",
    "gpu",
    "source",
    "metric_name",
    "assumed",
    "curve",
    "precision",
    "recompute",
    "scale",
)


def validate(path: Path) -> dict[str, Any]:
    """Every row of a CSV with the columns of measured data: predictions, errors and a summary.

    Returns
    -------
    dict
        summary, groups, rows, skipped, as the command prints them.

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
        except CannotPredict as reason:
            skipped.append({"id": name, "reason": str(reason), "line": line})
            continue
        except FieldError as error:
            skipped.append({"id": name, "reason": f"unreadable: {error}", "line": line})
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
    return {
        "summary": summary(rows),
        "groups": groups(rows),
        "rows": rows,
        "skipped": skipped,
    }


def _scale(gpus: int) -> str:
    """The size of a run, in words that sort."""
    return next((f"to {top:5d} GPUs" for top in (8, 64, 512, 4096) if gpus <= top), "beyond")


def read_rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Line number and row of a CSV. Columns that nobody asks for are ignored."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
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


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """n, median and 90th percentile of |error|, the worst, bias, and Kendall's τ of the order."""
    if not rows:
        return dict.fromkeys(
            ("median_abs_error", "p90_abs_error", "worst", "bias", "kendall_tau")
        ) | {"n": 0}
    errors = np.array([row["error"] for row in rows])
    size = np.abs(errors)
    return {
        "n": len(rows),
        "median_abs_error": float(np.median(size)),
        "p90_abs_error": float(np.quantile(size, 0.9)),
        "worst": float(errors[np.argmax(size)]),
        "bias": float(np.median(errors)),
        "kendall_tau": kendall_tau(
            np.array([row["measured"] for row in rows]),
            np.array([row["predicted"] for row in rows]),
        ),
    }


def groups(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The summary of every kind, framework, GPU, source and so on, and of assumed rows apart."""
    found = []
    for by in STRATA:
        table: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            table[str(row[by])].append(row)
        found += [
            {"by": by, "group": name, **summary(part)} for name, part in sorted(table.items())
        ]
    return found


def kendall_tau(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float | None:
    """τ-b of two rankings, at most 2,000 points of it, evenly taken; None under two points."""
    if len(a) > 2000:
        taken = np.linspace(0, len(a) - 1, 2000).astype(int)
        a, b = a[taken], b[taken]
    x, y = np.sign(a[:, None] - a), np.sign(b[:, None] - b)
    scale = math.sqrt(float(np.sum(x * x)) * float(np.sum(y * y)))
    return float(np.sum(x * y)) / scale if scale else None

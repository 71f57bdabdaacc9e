"""Serving against rows that its constants did not see: `python -m bench serving`.

The few constants that end-to-end rows have a say in ([E] in serving.toml) are fitted anew without
an engine or a GPU, and the errors are of the rows left out. In turn each
constant is searched on a grid of factors, twice around; the loss is the mean of the capped absolute
error, each model on each GPU by each engine counting as the root of its rows.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from scoring.engines import ENGINES, SERVING, engine_of
from scoring.machines import CannotPredict, gpu_slug
from scoring.measured import measured_value
from scoring.measured_serving import predict_serving
from scoring.measured_shapes import shape_of_row
from scoring.validation import read_rows

ROWS = Path(__file__).parents[2] / "shared" / "data" / "measured" / "infer.csv"
KERNEL_KNOBS = ("layer_us", "router_us", "state_us", "index_us")
FACTORS = (0.7, 1.0, 1.4)
CAP = 0.6  # of |ln|: a run that is nothing like its description has one vote
EVERY = 12  # rows of a fit: one of so many

Row = Mapping[str, str]


def main() -> None:
    """Print the errors with the constants as they stand, and of each group when left out."""
    if not ROWS.exists():
        print("no measured rows beside the checkout")
        return
    rows = [row for _, row in read_rows(ROWS) if row["metric_name"] == "tpot_ms"]
    rows = [row for row in rows if _error(row) is not None]
    print(f"all {len(rows)} rows, constants as they stand: {_words(rows)}")
    by: dict[str, Callable[[Row], str]] = {
        "engine": lambda row: engine_of(row["framework"]),
        "GPU": lambda row: gpu_slug(row) or "",
    }
    for what, key in by.items():
        for group in sorted({key(row) for row in rows}):
            out = [row for row in rows if key(row) == group]
            rest = [row for row in rows if key(row) != group][::EVERY]
            if len(out) < 20:
                continue
            with fitted(rest):
                print(f"without {what} {group}: {_words(out)}", flush=True)


def _error(row: Row) -> float | None:
    try:
        return math.log(predict_serving(row).value / measured_value(row))
    except CannotPredict:
        return None


def _words(rows: Sequence[Row]) -> str:
    """The figures of all rows, and the medians of dense models and mixtures apart."""
    errors = np.array([_error(row) for row in rows], dtype=float)
    mixture = np.array([shape_of_row(row).experts > 0 for row in rows])
    size = np.abs(errors)
    apart = [
        f"{kind} {np.median(size[chosen]):.1%} of {chosen.sum()}"
        for kind, chosen in (("dense", ~mixture), ("mixtures", mixture))
        if chosen.any()
    ]
    return (
        f"{', '.join(apart)}; n {len(errors)}, median |error| {np.median(size):.1%}, p90 "
        f"{np.quantile(size, 0.9):.1%}, bias {np.median(errors):+.1%}"
    )


def _loss(rows: Sequence[Row]) -> float:
    cells: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for row in rows:
        cell = (row["model_name"], row["gpu_model"], row["framework"].split()[0])
        cells[cell].append(min(abs(_error(row) or 0.0), CAP))
    weights = {cell: math.sqrt(len(errors)) for cell, errors in cells.items()}
    total = sum(weights[cell] * sum(errors) / len(errors) for cell, errors in cells.items())
    return total / sum(weights.values())


@contextmanager
def fitted(rows: Sequence[Row]) -> Iterator[None]:
    """The knobs at their best for these rows; as they stood, afterwards.

    An engine that is left out keeps no figure of its own: it has the one of an unstated engine.
    """
    kernels = {f.name: getattr(SERVING, f.name) for f in fields(SERVING)}
    hosts = {name: engine.step_ms for name, engine in ENGINES.items()}
    seen = {engine_of(row["framework"]) for row in rows}
    knobs: list[tuple[Any, str]] = [(SERVING, name) for name in KERNEL_KNOBS]
    for name, engine in ENGINES.items():
        if name in seen:
            knobs.append((engine, "step_ms"))
        else:
            object.__setattr__(engine, "step_ms", hosts["any"])
    try:
        for _ in range(2):
            for owner, name in knobs:
                _turn(rows, owner, name)
        yield
    finally:
        for name, value in kernels.items():
            object.__setattr__(SERVING, name, value)
        for name, value in hosts.items():
            object.__setattr__(ENGINES[name], "step_ms", value)


def _turn(rows: Sequence[Row], owner: Any, name: str) -> None:
    """One knob to the factor of least loss. The tables are frozen for everyone but this bench."""
    start = getattr(owner, name)

    def loss(factor: float) -> float:
        object.__setattr__(owner, name, start * factor)
        return _loss(rows)

    object.__setattr__(owner, name, start * min(FACTORS, key=loss))

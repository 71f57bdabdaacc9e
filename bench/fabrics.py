"""Errors of collectives inside a domain and across the fabric, apart, and on what was never fitted.

    python -m bench fabrics              prints them

Inside: with the measured curves, and with the formulas alone. Across: with the constants of the
file, and with those that all other sources of the same fabric ask for.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.accuracy import MEASURED, Row, errors
from scoring import curves
from scoring.collectives import forget_times
from scoring.constants import FABRICS, FabricConstants, LinkConstants
from scoring.fields import FieldError
from scoring.held import BETWEEN_NODES
from scoring.machines import CannotPredict, machine
from scoring.measured import predict
from scoring.validation import read_rows

BOUNDS = ("nvls_min_ranks", "first_node_gbits")  # no constants of a formula
FEWEST = 5  # rows of other sources, for constants of their own


def main() -> None:
    """Print the figures."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to measure against")
    for name, table in spans().items():
        print(name, ", ".join(f"{key} {value}" for key, value in table.items()))


def spans() -> dict[str, dict[str, Any]]:
    """What measured_error.toml says of each span; errors are ln(predicted / measured) of times."""
    inside, across = rows_by_span()
    with patch.object(curves, "_grids", dict):
        forget_times()
        plain = errors(inside)
    forget_times()
    return {
        "collective_inside": {
            "what": "collectives inside a domain or a node",
            **_summary(errors(inside)),
            **_apart("without_curves", plain),
        },
        "collective_across": {
            "what": "collectives across the fabric",
            **_summary(errors(across)),
            **_apart("unseen_source", unseen_sources(across)),
        },
    }


def rows_by_span() -> tuple[list[Row], list[Row]]:
    """The rows of collectives that can be predicted: inside a domain or node, and across."""
    found: tuple[list[Row], list[Row]] = ([], [])
    for path in (MEASURED / "nccl.csv", BETWEEN_NODES):
        for _, row in read_rows(path):
            try:
                found[predict(row).across].append(row)
            except (CannotPredict, FieldError):
                continue
    return found


def unseen_sources(rows: list[Row]) -> list[float]:
    """Errors of each source's rows, its fabric fitted to the other sources of that fabric."""
    by_fabric: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        by_fabric[machine(row).fabric][row["source_repo_or_doc"]].append(row)
    found: list[float] = []
    for name, sources in by_fabric.items():
        for source, mine in sources.items():
            others = [row for other in sources if other != source for row in sources[other]]
            if len(others) >= FEWEST:
                with constants_of(FABRICS[name], fitted(FABRICS[name], others)):
                    found += errors(mine)
    return found


def fitted(table: LinkConstants | FabricConstants, rows: list[Row]) -> dict[str, float]:
    """The constants that rows ask for; what stands in the table is kept.

    Coordinates in turn, in smaller and smaller steps, while the error of the predicted times falls:
    its mean, cut at a half, and half its median.
    """
    names = [f.name for f in fields(table) if getattr(table, f.name) > 0 and f.name not in BOUNDS]
    best = {name: getattr(table, name) for name in names}

    def miss(values: dict[str, float]) -> float:
        with constants_of(table, values):
            sizes = np.abs(errors(rows))
        return float(np.minimum(sizes, 0.5).mean() + 0.5 * np.median(sizes))

    least = miss(best)
    for step, name in itertools.product((0.3, 0.12, 0.05), names * 2):
        for factor in (1.0 - step, 1.0 + step):
            tried = {**best, name: best[name] * factor}
            now = miss(tried)
            if now < least:
                least, best = now, tried
    return best


@contextmanager
def constants_of(
    table: LinkConstants | FabricConstants, values: dict[str, float]
) -> Iterator[None]:
    """A table of constants with other values, for a while."""
    kept = {name: getattr(table, name) for name in values}
    try:
        _set(table, values)
        yield
    finally:
        _set(table, kept)


def _set(table: LinkConstants | FabricConstants, values: dict[str, float]) -> None:
    for name, value in values.items():
        object.__setattr__(table, name, value)
    forget_times()


def _summary(found: list[float]) -> dict[str, Any]:
    return {
        "rows": len(found),
        "median_abs_error": round(float(np.median(np.abs(found))), 5),
        "p90_abs_error": round(float(np.quantile(np.abs(found), 0.9)), 5),
        "bias": round(float(np.median(found)), 5) + 0.0,  # no -0.0
    }


def _apart(name: str, found: list[float]) -> dict[str, float]:
    said = _summary(found)
    return {f"{name}_median": said["median_abs_error"], f"{name}_p90": said["p90_abs_error"]}


if __name__ == "__main__":
    main()

"""The errors behind the validation page, by group: writes scoring/measured_groups.toml.

    python -m bench accuracy_groups

Of each kind of measurement: its errors by operation, software, GPU and source, on the rows as they
are and, where that can be had, on rows that no fitted constant has seen; the configurations that
are furthest off, with what their rows leave open; and measured beside predicted values for a
drawing. A configuration that was published several times counts once (`scoring.validation`).

What "never seen" means differs by kind, and the page says it: training without its source
(`bench.accuracy.left_out`), serving without its engine or its GPU (`bench.serving`), collectives by
the formulas alone where a measured curve draws them.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from bench.accuracy import FILES, MEASURED, errors, left_out, training_rows
from bench.curves import FROM_THE_HOST, LONG_BYTES, drawn
from bench.serving import EVERY, fitted
from scoring import curves
from scoring.collectives import forget_times
from scoring.constants import MODEL_VERSION
from scoring.engines import engine_of
from scoring.fields import FieldError
from scoring.machines import CannotPredict, gpu_slug, number
from scoring.measured_collectives import question
from scoring.measured_software import software_of_row
from scoring.validation import distinct, far_out, read_rows, summary, validate

OUT = Path(__file__).resolve().parents[1] / "scoring" / "measured_groups.toml"
BY = ("kind", "software", "gpu", "source")
WORST = 10  # configurations of a kind that are shown one by one
DOTS = 400  # of a drawing, evenly taken from the rows in order of their measured value
BINS_PER_DECADE = 2
ENOUGH = 20  # rows of an engine or a GPU, for an error without it
METRICS = {"train": "tokens/s/GPU", "decode": "tpot_ms", "collective": "busbw_GB/s"}  # drawn
HEAD = """\
# Errors of the cost model by group: ln(predicted / measured) of the time, each configuration once.
# Written by `python -m bench accuracy_groups`; `unseen` is on rows that no fitted constant has seen
# (what that means differs by kind, see bench/accuracy_groups.py). `dot`: measured, predicted.
"""
Row = Mapping[str, Any]


def main() -> None:
    """Write the file."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to measure against")
    text = f'{HEAD}version = "{MODEL_VERSION}"\nmeasured_on = {datetime.now(UTC).date()}\n'
    for kind, (name, _what) in FILES.items():
        path = MEASURED / name
        given = {row["id"]: row for _, row in read_rows(path)}
        found = validate(path)["rows"]
        rows = [{**row, "software": software(kind, given[row["id"]])} for row in found]
        unseen = UNSEEN[kind]()
        text += "".join(_lines(kind, rows, given, unseen))
        print(f"{kind}: {len(rows)} rows in groups")
    OUT.write_text(text)


def software(kind: str, row: Row) -> str:
    """The level at which constants of software are kept: a profile, an engine, a library."""
    if kind == "train":
        return software_of_row(row).profile
    if kind == "decode":
        return engine_of(row["framework"])
    first = row["framework"].split()[0] if row["framework"] else ""
    return {"TRTLLM": "TensorRT-LLM", "all_reduce_bench.py": "PyTorch"}.get(first, first)


# --- Errors on what no constant has seen --------------------------------------------------------


def unseen_training() -> dict[str, dict[str, float]]:
    """Without the source of a row, for every way of grouping."""
    rows = training_rows()
    found = left_out(rows, lambda row: row["source_repo_or_doc"])
    return {by: {row["id"]: found[id(row)] for row in rows} for by in BY}


def unseen_serving() -> dict[str, dict[str, float]]:
    """Without its engine by software, without its GPU by GPU. Of times per token alone."""
    rows = [row for _, row in read_rows(MEASURED / FILES["decode"][0])]
    rows = [row for row in rows if row["metric_name"] == METRICS["decode"] and _predicts(row)]
    keys: dict[str, Callable[[Row], str]] = {
        "software": lambda row: engine_of(row["framework"]),
        "gpu": lambda row: gpu_slug(row) or "",
    }
    found: dict[str, dict[str, float]] = {}
    for by, key in keys.items():
        found[by] = {}
        for group in sorted({key(row) for row in rows}):
            mine = [row for row in rows if key(row) == group]
            if len(mine) < ENOUGH:
                continue
            with fitted([row for row in rows if key(row) != group][::EVERY]):
                found[by] |= _by_id(mine)
    return found


def unseen_collectives() -> dict[str, dict[str, float]]:
    """By the formulas alone, for the rows that a curve draws: kernels' constants, no curve."""
    rows = drawn(row for _, row in read_rows(MEASURED / FILES["collective"][0]))
    with patch.object(curves, "_grids", dict):
        forget_times()
        found = _by_id(rows)
    forget_times()
    return dict.fromkeys(BY, found)


UNSEEN = {"train": unseen_training, "decode": unseen_serving, "collective": unseen_collectives}


def _by_id(rows: Sequence[Row]) -> dict[str, float]:
    return dict(zip((row["id"] for row in rows), errors(rows), strict=True))


def _predicts(row: Row) -> bool:
    try:
        return bool(errors([row]))
    except (CannotPredict, FieldError):
        return False


# --- The file -----------------------------------------------------------------------------------


def _lines(
    kind: str, rows: list[dict[str, Any]], given: Mapping[str, Row], unseen: Mapping[str, Any]
) -> Iterator[str]:
    yield f"\n[{kind}]\n"
    yield _table("group", groups(rows, unseen))
    yield _table("worst", worst(kind, rows, given))
    drawn_rows = [row for row in rows if row["metric_name"] == METRICS[kind]]
    yield f'metric = "{METRICS[kind]}"\ndrawn_rows = {len(drawn_rows)}\n'
    yield _table("bin", bins(drawn_rows))
    dots = sorted((row["measured"], row["predicted"]) for row in drawn_rows)
    taken = np.linspace(0, len(dots) - 1, min(DOTS, len(dots))).round().astype(int)
    pairs = ", ".join(f"[{dots[i][0]:.4g}, {dots[i][1]:.4g}]" for i in taken)
    yield f"dot = [{pairs}]\n"


def groups(rows: list[dict[str, Any]], unseen: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Errors of every group, and of the same configurations where they were not seen."""
    for by in BY:
        parts: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            parts[row[by]].append(row)
        for name, part in sorted(parts.items()):
            said = summary(distinct(part))
            fresh = [
                {**row, "error": unseen[by][row["id"]]}
                for row in part
                if row["id"] in unseen.get(by, {})
            ]
            yield {
                "by": by,
                "name": name,
                "rows": len(part),
                "n": said["n"],
                "median": said["median_abs_error"],
                "p90": said["p90_abs_error"],
                "bias": said["bias"],
            } | _without(distinct(fresh))


def _without(fresh: Sequence[Row]) -> dict[str, Any]:
    if not fresh:
        return {}
    said = summary(fresh)
    return {"unseen_n": said["n"], "unseen": said["median_abs_error"]}


def worst(
    kind: str, rows: list[dict[str, Any]], given: Mapping[str, Row]
) -> Iterator[dict[str, Any]]:
    """The configurations furthest off, one for each model on each GPU, with what is known why."""
    seen = set[tuple[str, str]]()
    counted = distinct(rows)
    outliers = {row["id"] for row in far_out(counted)}
    for row in sorted(counted, key=lambda row: -abs(row["error"])):
        key = (row["model"], row["gpu"])
        if key in seen or len(seen) == WORST:
            continue
        seen.add(key)
        yield {
            name: row[name]
            for name in ("model", "gpu", "num_gpus", "framework", "source", "metric_name")
        } | {
            "measured": row["measured"],
            "predicted": row["predicted"],
            "error": row["error"],
            "outlier": row["id"] in outliers,
            "open": list(left_open(kind, row, given[row["id"]])),
        }


def left_open(kind: str, row: Row, given: Row) -> Iterator[str]:
    """What a row does not say and the model took for granted: words that the page explains."""
    if any("stands in" in each for each in row["warnings"]):
        yield "software"
    if kind != "collective" and row["precision"].startswith(("see", "not", "fp8 (see")):
        yield "precision"
    if kind == "train":
        if not given.get("activation_recompute"):
            yield "recompute"
        if not given.get("micro_batch"):
            yield "micro_batch"
        if not given.get("tp"):
            yield "layout"
    nodes = (number(given, "num_gpus") or 0) > (number(given, "gpus_per_node") or 8)
    if nodes and not given.get("inter_gbps_per_gpu"):
        yield "fabric"
    if kind == "decode" and row["metric_name"] != METRICS["decode"]:
        yield "host"
    from_the_host = any(tool in row["framework"] for tool in FROM_THE_HOST)
    if kind == "collective" and from_the_host and question(given).size < LONG_BYTES:
        yield "launch"


def bins(rows: Sequence[Row]) -> Iterator[dict[str, Any]]:
    """The drawing's numbers: over ranges of the measured value, predicted over measured."""
    parts: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        place = math.floor(BINS_PER_DECADE * math.log10(row["measured"]))
        parts[place].append(row["predicted"] / row["measured"])
    for place, ratios in sorted(parts.items()):
        low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
        edges = (10 ** (at / BINS_PER_DECADE) for at in (place, place + 1))
        yield dict(zip(("from", "to"), edges, strict=True)) | {
            "n": len(ratios), "low": low, "median": middle, "high": high,
        }  # fmt: skip


def _table(name: str, lines: Iterable[Mapping[str, Any]]) -> str:
    said = "".join(
        f"  {{ {', '.join(f'{key} = {_value(value)}' for key, value in line.items())} }},\n"
        for line in lines
    )
    return f"{name} = [\n{said}]\n"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}" if value % 1 or abs(value) > 1e6 else f"{value:.1f}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return str(value) if isinstance(value, int) else '"' + str(value).replace('"', "'") + '"'


if __name__ == "__main__":
    main()

"""Distils measured collectives into scoring/curves.toml: a curve a link, collective and rank count.

    python -m bench curves               writes the file from ../shared/data/measured/nccl.csv

A curve is the median time at each message size over all machines whose GPUs are joined alike:
H100 and H200 share one, and so do all Blackwell boxes and racks. Taken are runs inside one node or
one domain, whose algorithm was left to NCCL. Tools that time from the host (Vidur, nccl-tests
without a graph, all_reduce_bench.py) add its launch to every call, so only their long messages are
taken, where it no longer counts.
"""

import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np

from bench.accuracy import MEASURED, Row, errors
from scoring import curves
from scoring.collectives import forget_times
from scoring.fields import FieldError
from scoring.machines import CannotPredict, machine
from scoring.measured_collectives import measured_seconds, predict_collective, question
from scoring.validation import read_rows

OUT = Path(__file__).resolve().parents[1] / "scoring" / "curves.toml"
FROM_THE_HOST = ("Vidur", "all_reduce_bench", "nccl-tests", "eager")
LONG_BYTES = 32e6  # a launch of 20 µs is then some per cent of the shortest call
FEWEST_SIZES = 2  # of a curve; less is a point
HEAD = """\
# Measured times of collectives, [us] by bytes: medians over machines whose GPUs are joined alike.
# Written by `python -m bench curves`. `cluster` is a machine of the kind, the formula's side of the
# comparison; the curves hold for every machine with such links.
"""
# A machine of each kind of link: form and link → its fields.
SAMPLES = {
    ("nvswitch", "nvlink3"): {"gpu": "a100-sxm4-80gb", "gpu_count": 8},
    ("nvswitch", "nvlink4"): {"gpu": "h100-sxm5-80gb", "gpu_count": 8},
    ("nvswitch", "nvlink5"): {"gpu": "gb200-superchip-186gb", "gpu_count": 4},
    ("nvlink_bridge", "pcie_p2p"): {"gpu": "a100-pcie-80gb", "gpu_count": 4, "pcie_p2p": True},
    ("pcie", "pcie_host"): {"gpu": "l40s-pcie-48gb", "gpu_count": 8, "pcie_p2p": False},
    ("pcie", "pcie_p2p"): {"gpu": "rtxpro6000-pcie-96gb", "gpu_count": 8, "pcie_p2p": True},
}
Points = dict[float, list[tuple[float, str]]]  # bytes → seconds, and whose
Curves = dict[tuple[str, float], Points]  # by collective and ranks


def main() -> None:
    """Write the file, and say how far curves are off on what they have not seen."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to distil")
    rows = [row for _, row in read_rows(MEASURED / "nccl.csv")]
    found = distilled(rows)
    OUT.write_text(as_toml(found))
    print(f"{sum(map(len, found.values()))} curves of {len(found)} kinds of link")
    report(drawn(rows))


def report(rows: list[Row]) -> float:
    """Errors on what the curves have not seen; returns the median with a row's GPU left out."""
    found = {what: errors_left_out(rows, key) for what, key in LEFT_OUT.items()}
    for what, each in found.items():
        print(f"  {what:58s} {_words(each)}")
    return float(np.median(np.abs(found[UNSEEN_GPU])))


def drawn(rows: Iterable[Row]) -> list[Row]:
    """The rows whose prediction rests on a curve."""
    found = []
    for row in rows:
        try:
            if predict_collective(row).curve:
                found.append(row)
        except (CannotPredict, FieldError):
            continue
    return found


UNSEEN_GPU = "its GPU left out (H200 by H100's curves, L40S by formula)"
# What is left out of the curves to predict a row: every row that has this in common with it.
LEFT_OUT: dict[str, Callable[[Row], object]] = {
    "in sample": lambda _: None,
    "its message size left out, of its link and collective": lambda row: (
        row["model_name"],
        question(row).size,
    ),
    UNSEEN_GPU: lambda row: row["gpu_model"],
    "its GPU, collective and rank count left out": lambda row: (
        row["gpu_model"],
        row["model_name"],
        row["num_gpus"],
    ),
    "its collective and rank count left out, of every GPU": lambda row: (
        row["model_name"],
        row["num_gpus"],
    ),
    "no curve at all: the formulas": lambda _: True,
}


def errors_left_out(rows: list[Row], key: Callable[[Row], object]) -> list[float]:
    """ln(predicted / measured) of each row's time by the curves of rows that differ in `key`."""
    groups: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    found = []
    for left_out, part in groups.items():
        rest = rows if left_out is None else [r for r in rows if key(r) != left_out]
        grids = curves.grids_of(tomllib.loads(as_toml(distilled(rest))).get("machine", ()))
        with patch.object(curves, "_grids", lambda grids=grids: grids):
            forget_times()
            found += errors(part)
    forget_times()
    return found


def _words(found: list[float]) -> str:
    sizes = np.abs(found)
    return (
        f"n {len(found)}  median {np.median(sizes):6.1%}  p90 {np.quantile(sizes, 0.9):6.1%}  "
        f"worst {max(found, key=abs):+.2f}"
    )


def distilled(rows: Iterable[Row]) -> dict[tuple[str, str], Curves]:
    """The points of each curve, by form and link."""
    found: dict[tuple[str, str], Curves] = defaultdict(dict)
    for row in rows:
        try:
            asked, where = question(row), machine(row)
        except (CannotPredict, FieldError):
            continue
        short = asked.size < LONG_BYTES
        if asked.algorithm or asked.ranks > where.near_gpus:
            continue
        if short and any(tool in row["framework"] for tool in FROM_THE_HOST):
            continue
        inside, across = curves.links_of(where)
        link = inside if asked.ranks <= where.domain_gpus else across
        if link in SAMPLES:
            points = found[link].setdefault((asked.kind, asked.ranks), defaultdict(list))
            points[asked.size].append((measured_seconds(row, asked), row["source_repo_or_doc"]))
    enough = {
        link: {key: points for key, points in mine.items() if len(points) >= FEWEST_SIZES}
        for link, mine in sorted(found.items())
    }
    return {link: mine for link, mine in enough.items() if mine}


def as_toml(found: dict[tuple[str, str], Curves]) -> str:
    """The file."""
    return HEAD + "".join(line for link, mine in found.items() for line in _machine(link, mine))


def _machine(link: tuple[str, str], mine: Curves) -> Iterator[str]:
    fields = {**SAMPLES[link], "scale_up": link[0], "fabric": "none"}
    said = ", ".join(f"{name} = {_value(value)}" for name, value in fields.items())
    yield f'\n[[machine]]\nlink = "{link[1]}"\ncluster = {{ {said} }}\n'
    for (kind, ranks), points in sorted(mine.items()):
        sizes = sorted(points)
        times = [1e6 * median(seconds for seconds, _ in points[size]) for size in sizes]
        whose = sorted({source for size in sizes for _, source in points[size]})
        yield (
            f'[[machine.curve]]\nkind = "{kind}"\nranks = {ranks:.0f}\n'
            f"bytes = [{', '.join(f'{size:.0f}' for size in sizes)}]\n"
            f"us = [{', '.join(f'{time:.4g}' for time in times)}]\n"
            f'source = "{", ".join(whose)}"\n'
        )


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, (bool, int)) else f'"{value}"'


if __name__ == "__main__":
    main()

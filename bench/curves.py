"""Distils measured collectives into scoring/curves.toml: a curve a link, collective and rank count.

    python -m bench curves               writes the file from ../shared/data/measured/nccl.csv

A curve is the median time at each message size over all machines whose GPUs are joined alike:
H100 and H200 share one, and so do all Blackwell boxes and racks. Taken are runs inside one node or
one domain, whose algorithm was left to NCCL. Tools that time from the host (Vidur, nccl-tests
without a graph, all_reduce_bench.py) add its launch to every call, so only their long messages are
taken, where it no longer counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

from bench.accuracy import MEASURED, Row
from scoring.curves import links_of
from scoring.fields import FieldError
from scoring.machines import CannotPredict, machine
from scoring.measured_collectives import measured_seconds, question
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
    """Write the file, and say what is in it."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to distil")
    curves = distilled(row for _, row in read_rows(MEASURED / "nccl.csv"))
    OUT.write_text(as_toml(curves))
    print(f"{sum(map(len, curves.values()))} curves of {len(curves)} kinds of link")


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
        inside, across = links_of(where)
        link = inside if asked.ranks <= where.domain_gpus else across
        if link in SAMPLES:
            points = found[link].setdefault((asked.kind, asked.ranks), defaultdict(list))
            points[asked.size].append((measured_seconds(row, asked), row["source_repo_or_doc"]))
    return {
        link: {key: points for key, points in curves.items() if len(points) >= FEWEST_SIZES}
        for link, curves in sorted(found.items())
    }


def as_toml(found: dict[tuple[str, str], Curves]) -> str:
    """The file."""
    return HEAD + "".join(line for link, curves in found.items() for line in _machine(link, curves))


def _machine(link: tuple[str, str], curves: Curves) -> Iterator[str]:
    fields = {**SAMPLES[link], "scale_up": link[0], "fabric": "none"}
    said = ", ".join(f"{name} = {_value(value)}" for name, value in fields.items())
    yield f'\n[[machine]]\nlink = "{link[1]}"\ncluster = {{ {said} }}\n'
    for (kind, ranks), points in sorted(curves.items()):
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

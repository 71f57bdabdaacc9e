"""The model against published step times of Megatron-LM on Selene, line by line."""

import csv
import math
from pathlib import Path

import pytest

from scoring import Job, Layout
from scoring.hardware import cluster
from scoring.layout import RECOMPUTE
from scoring.training import training_step

TEXT = (Path(__file__).parent / "published.csv").read_text(encoding="utf-8")
LINES = list(csv.DictReader(TEXT.splitlines()))


def step_time(line: dict[str, str], micro: float) -> float:
    """Seconds of one step with a micro-batch."""
    shape = ("layers", "hidden", "heads", "seq_len", "global_batch", "software")
    task = Job.from_fields({name: line[name] for name in shape} | {"vocab": 51200})
    splits = {k: float(line[k]) for k in ("tp", "pp", "dp", "virtual_stages")}
    layout = Layout(
        **splits, micro_batch=micro, recompute=float(RECOMPUTE.index(line["recompute"]))
    )
    return float(training_step(cluster("selene-a100"), task, layout).total)


def measured_time(line: dict[str, str]) -> float:
    """Seconds as measured; hardware flop of 96 B s L h² (1 + s/6h + V/16Lh), equation 3."""
    value = float(line["measured"])
    if line["unit"] == "s":
        return value
    layers, h, s = int(line["layers"]), int(line["hidden"]), int(line["seq_len"])
    inner = 1 + s / (6 * h) + 51200 / (16 * layers * h)
    gpus = math.prod(int(line[k]) for k in ("tp", "pp", "dp"))
    return 96 * int(line["global_batch"]) * s * layers * h**2 * inner / (value * 1e12 * gpus)


@pytest.mark.parametrize("line", LINES, ids=[line["name"] for line in LINES])
def test_the_published_step_time_is_met(line):
    share = int(line["global_batch"]) // int(line["dp"])
    micros = [float(line["micro_batch"])] if line["micro_batch"] else [1.0, 2.0, 4.0, 8.0]
    best = min(step_time(line, m) for m in micros if share % m == 0)
    error = math.log(best / measured_time(line))
    assert abs(error) <= float(line["accepted_error"]), f"{error:+.3f}"

"""The cost model against every published measurement at hand; writes scoring/measured_error.toml.

    python -m bench accuracy             the figures, and the file that the service shows them from

Beside the figures over all rows stand those of sources never seen: each source in turn is predicted
with the multipliers that the other sources alone would give, or with the usual ones where its
framework was never measured (`left_out`), and the intervals of constants.toml are the
10th and 90th percentile of those residuals. Kernels and links come from microbenchmarks alone; the
few constants marked [E] in constants.toml, and each profile's overlaps, saw every row. What decides
for a user is printed too: the layout that the model chooses, how throughput scales, and memory.

The rows lie outside the project (../shared/data/measured): where they are absent it says so.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np

from scoring.answers import interval_stratum
from scoring.collectives import forget_times
from scoring.constants import SOFTWARE
from scoring.fields import FieldError
from scoring.machines import CannotPredict, gpu_slug, number
from scoring.measured import measured_value, predict, training_question
from scoring.measured_software import software_of_row
from scoring.memory import training_memory
from scoring.search import by_compute, fastest
from scoring.units import GIGA
from scoring.validation import read_rows, validate

MEASURED = Path(__file__).resolve().parents[2] / "shared" / "data" / "measured"
OUT = Path(__file__).resolve().parents[1] / "scoring" / "measured_error.toml"
# Kind of job → its file, and what is held against what there.
FILES = {
    "train": ("train.csv", "step time of published training runs"),
    "decode": ("infer.csv", "time per token, throughput and first token of published serving runs"),
    "collective": ("nccl.csv", "bus bandwidth and time of published collectives"),
}
HEAD = """\
# How far the cost model was from published measurements: ln(predicted / measured) of the time.
# Written by `python -m bench accuracy` over the rows that it names; the same rows fitted some of
# the constants (constants.toml says which), so an unseen cluster may be further off: for training
# `unseen_source` is the error on a source whose rows took no part in any multiplier, and for
# collectives `unseen_gpu` that on a GPU none of whose rows is in the curves. Collectives inside a
# domain and across the fabric (these with scoring/between_nodes.csv) stand apart below: inside also
# without the curves, across also on sources whose rows took no part in the fit of their fabric.
"""
ENOUGH_ROWS = 5  # of other sources, for a multiplier of their own
Row = Mapping[str, str]


def main() -> None:
    """Print the figures, and write the file."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to measure against")
    text = HEAD
    for kind, (name, what) in FILES.items():
        found = validate(MEASURED / name)
        said, skipped = found["summary"], len(found["skipped"])
        print(
            f"{kind}: {said['rows']} rows, {said['n']} configurations, median "
            f"{said['median_abs_error']:.1%}, p90 {said['p90_abs_error']:.1%}, "
            f"bias {said['bias']:+.1%}; {skipped} not predicted"
        )
        by_source = [g for g in found["groups"] if g["by"] in ("source", "assumed")]
        for group in by_source:
            print(f"    {group['by']} {group['group'][:44]:44s} {_words(group)}")
        text += f"""
[{kind}]
what = "{what}"
rows = {said["rows"]}
configurations = {said["n"]}
median_abs_error = {said["median_abs_error"]:.5f}
p90_abs_error = {said["p90_abs_error"]:.5f}
bias = {said["bias"]:.5f}
not_predicted = {skipped}
measured_on = {datetime.now(UTC).date()}
"""
        if kind == "train":
            unseen = report_training()
            text += f"unseen_source_median = {unseen:.5f}\n"
        if kind == "collective":
            text += f"unseen_gpu_median = {report_curves():.5f}\n"
    OUT.write_text(text + spans_text())


def spans_text() -> str:
    """The tables of collectives inside a domain and across the fabric."""
    from bench.fabrics import spans

    text = ""
    for name, table in spans().items():
        print(f"{name}: {', '.join(f'{key} {value}' for key, value in table.items())}")
        said = {**table, "not_predicted": 0, "measured_on": datetime.now(UTC).date()}
        lines = (f'{k} = "{v}"' if isinstance(v, str) else f"{k} = {v}" for k, v in said.items())
        text += f"\n[{name}]\n" + "\n".join(lines) + "\n"
    return text


def report_curves() -> float:
    """What curves say of machines that none of their points came from: median error."""
    from bench.curves import drawn, report

    print("  rows that a measured curve draws, and what is left out of the curves:")
    return report(drawn(row for _, row in read_rows(MEASURED / FILES["collective"][0])))


def _words(group: Mapping[str, Any]) -> str:
    return (
        f"n {group['n']:4d}  median {group['median_abs_error']:6.1%}  p90 "
        f"{group['p90_abs_error']:6.1%}  bias {group['bias']:+6.1%}  worst {group['worst']:+.2f}"
    )


def report_training() -> float:
    """What a median over all rows does not say; returns the median over unseen sources."""
    rows = training_rows()
    seen = dict(zip([id(r) for r in rows], errors(rows), strict=True))
    unseen = left_out(rows, lambda r: r["source_repo_or_doc"])
    print("  every row took part in the multiplier of its profile; a source left out:")
    for source, part in sorted(_by(rows, lambda r: r["source_repo_or_doc"]).items()):
        with_it = [abs(seen[id(r)]) for r in part]
        without = [abs(unseen[id(r)]) for r in part]
        print(
            f"    {source[:44]:44s} n {len(part):4d}  in sample {median(with_it):6.1%}  "
            f"left out {median(without):6.1%}  p90 {np.quantile(without, 0.9):6.1%}"
        )
    sizes = [abs(e) for e in unseen.values()]
    medians = [
        median(abs(unseen[id(r)]) for r in part)
        for part in _by(rows, lambda r: r["source_repo_or_doc"]).values()
    ]
    print(
        f"  left out, all rows: median {median(sizes):.1%}, p90 {np.quantile(sizes, 0.9):.1%}; "
        f"median over sources {median(medians):.1%}"
    )
    cards = [abs(e) for e in left_out(rows, gpu_slug).values()]
    print(
        f"  a GPU left out, all rows: median {median(cards):.1%}, p90 {np.quantile(cards, 0.9):.1%}"
    )
    report_distinct(rows, seen)
    print("  p10 and p90 of ln(measured / predicted) of sources left out, for [interval.train]:")
    for stratum, part in sorted(_by(rows, _stratum).items()):
        low, high = np.quantile([-unseen[id(r)] for r in part], [0.1, 0.9])
        print(f"    {stratum:8s} n {len(part):4d}  low {low:+.2f}  high {high:+.2f}")
    report_layouts(rows)
    report_scaling(rows)
    report_memory(rows)
    return float(median(sizes))


def report_distinct(rows: list[Row], seen: Mapping[int, float]) -> None:
    """The error in which a configuration that was published several times counts once."""
    columns = ("model_name", "layers", "hidden", "seq_len", "global_batch", "num_gpus", "gpu_model")
    columns += ("micro_batch", "tp", "pp", "dp", "cp", "ep", "vp", "fsdp_zero_stage", "precision")
    columns += ("activation_recompute", "heads", "metric_name")
    parts = _by(rows, lambda r: tuple(r[c] for c in columns)).values()
    sizes = [abs(fmean(seen[id(r)] for r in part)) for part in parts]
    print(
        f"  in sample, {len(sizes)} distinct configurations: median {median(sizes):.1%}, "
        f"p90 {np.quantile(sizes, 0.9):.1%}"
    )


def training_rows() -> list[Row]:
    """The rows of the training file that the model predicts."""
    found = []
    for _, row in read_rows(MEASURED / "train.csv"):
        try:
            measured_value(row)
            predict(row)
        except (CannotPredict, FieldError):
            continue
        found.append(row)
    return found


def errors(rows: Iterable[Row]) -> list[float]:
    """ln(predicted / measured) of the time of each row, with the constants as they stand now."""
    found = []
    for row in rows:
        answer = predict(row)
        ratio = math.log(answer.value / measured_value(row))
        found.append(-ratio if answer.is_rate else ratio)
    return found


def _by(rows: Iterable[Row], key: Callable[[Row], Any]) -> dict[Any, list[Row]]:
    groups: dict[Any, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def _stratum(row: Row) -> str:
    cluster, job, _ = training_question(row)
    return interval_stratum(cluster, job)


# ------------------------------------------------------------------ sources never seen


def left_out(rows: list[Row], group: Callable[[Row], Any]) -> dict[int, float]:
    """The error of each row, by its `id()`, predicted without any row of its group."""
    found: dict[int, float] = {}
    for name, part in _by(rows, group).items():
        for profile, mine in _by(part, _profile).items():
            others = [r for r in rows if _profile(r) == profile and group(r) != name]
            if len(others) >= ENOUGH_ROWS:
                known: dict[str, float] = {"multiplier": refitted_multiplier(profile, others)}
            else:
                known = _usual(profile)
            with profile_with(profile, **known):
                found |= dict(zip([id(r) for r in mine], errors(mine), strict=True))
    return found


def _profile(row: Row) -> str:
    return software_of_row(row).profile


def refitted_multiplier(profile: str, rows: list[Row]) -> float:
    """The multiplier that leaves no bias on some rows of a profile."""
    now = SOFTWARE[profile].multiplier
    for _ in range(2):
        with profile_with(profile, multiplier=now):
            now *= math.exp(-median(errors(rows)))
    return now


def _usual(profile: str) -> dict[str, float]:
    """What one would take for a framework never measured: the medians of all the others."""
    others = [software for name, software in SOFTWARE.items() if name != profile]
    names = ("multiplier", "tp_overlap", "dp_overlap")
    return {name: median(getattr(software, name) for software in others) for name in names}


@contextmanager
def profile_with(profile: str, **values: Any) -> Iterator[None]:
    """A software profile with other constants, for as long as the block runs."""
    kept = SOFTWARE[profile]
    SOFTWARE[profile] = replace(kept, **values)
    forget_layouts()
    try:
        yield
    finally:
        SOFTWARE[profile] = kept
        forget_layouts()


def forget_layouts() -> None:
    """Empty the caches of searches, whose answers hang on the constants."""
    fastest.cache_clear()
    by_compute.cache_clear()
    forget_times()


# ------------------------------------------------------------------ what decides for a user


@dataclass(frozen=True, slots=True)
class Timed:
    """Measured and predicted seconds of one step of one configuration, repeats averaged."""

    row: Row
    measured: float
    predicted: float


def _timed(rows: Iterable[Row]) -> list[Timed]:
    """One entry a configuration. Rates of one batch on the same GPUs become times, up to a unit."""
    columns = ("micro_batch", "tp", "pp", "dp", "cp", "ep", "vp", "fsdp_zero_stage")
    columns += ("activation_recompute", "heads")
    found = []
    for part in _by(rows, lambda r: tuple(r[c] for c in columns)).values():
        answers = [predict(row) for row in part]
        measured = fmean(measured_value(row) for row in part)
        times = (measured, answers[0].value)
        if answers[0].is_rate:
            times = (1.0 / times[0], 1.0 / times[1])
        found.append(Timed(part[0], *times))
    return found


def report_layouts(rows: list[Row]) -> None:
    """Regret of taking the layout that the model ranks first, and Spearman's ρ of its ranking."""
    columns = ("model_name", "layers", "hidden", "seq_len", "global_batch", "num_gpus", "gpu_model")
    columns += ("framework", "metric_name", "precision")
    regrets, ranks = [], []
    for part in _by(rows, lambda r: tuple(r[c] for c in columns)).values():
        timed = _timed(part)
        if len({(t.row["tp"], t.row["pp"], t.row["micro_batch"]) for t in timed}) < 4:
            continue
        chosen = min(timed, key=lambda t: t.predicted)
        regrets.append(chosen.measured / min(t.measured for t in timed))
        ranks.append(_spearman([t.measured for t in timed], [t.predicted for t in timed]))
    print(
        f"  choice of layout in {len(regrets)} groups of 4 and more: regret median "
        f"{median(regrets):.3f}, worst {max(regrets):.3f}; Spearman median {median(ranks):.2f}, "
        f"worst {min(ranks):.2f}"
    )


def _spearman(a: list[float], b: list[float]) -> float:
    first, second = (np.argsort(np.argsort(x)) for x in (a, b))
    return float(np.corrcoef(first, second)[0, 1])


def report_scaling(rows: list[Row]) -> None:
    """Error of the scaling efficiency, in points, between runs that differ in GPUs alone."""
    columns = ("model_name", "seq_len", "gpu_model", "framework", "metric_name", "precision")
    columns += ("micro_batch", "tp", "pp", "cp", "vp", "fsdp_zero_stage", "activation_recompute")
    columns += ("source_repo_or_doc",)
    points = []

    def alike(row: Row) -> tuple[Any, ...]:
        share = (number(row, "global_batch") or 0) / (number(row, "num_gpus") or 1)
        return (*(row[c] for c in columns), share)

    for part in _by((r for r in rows if r["metric_name"] == "tokens/s/GPU"), alike).values():
        ordered = sorted(part, key=lambda r: number(r, "num_gpus") or 0)
        first = ordered[0]
        for row in ordered[1:]:
            if row["num_gpus"] != first["num_gpus"]:
                true = measured_value(row) / measured_value(first)
                points.append(100 * (predict(row).value / predict(first).value - true))
    sizes = [abs(p) for p in points]
    print(
        f"  scaling efficiency of {len(points)} pairs: median {median(sizes):.1f} points, p90 "
        f"{np.quantile(sizes, 0.9):.1f}, bias {median(points):+.1f}"
    )


def report_memory(rows: list[Row]) -> None:
    """Predicted over measured memory, where a row says it; and whether what ran would fit."""
    ratios, fits = [], []
    for row in rows:
        cluster, job, layout = training_question(row)
        fits.append(float(training_memory(job, layout).total) <= cluster.gpu.memory_bytes)
        stated = re.search(r"mem=([0-9.]+)GB", row["extra"])
        if stated:
            held = float(training_memory(job, layout).total) / GIGA
            ratios.append(math.log(held / float(stated[1])))
    print(
        f"  memory of {len(ratios)} rows that state it: median error "
        f"{median(map(abs, ratios)):.1%}, bias {median(ratios):+.1%}; of {len(fits)} runs "
        f"{fmean(fits):.1%} are said to fit"
    )


if __name__ == "__main__":
    main()

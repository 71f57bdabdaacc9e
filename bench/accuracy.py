"""The cost model against every published measurement at hand; writes scoring/measured_error.toml.

    python -m bench accuracy             the figures, and the file that the service shows them from

The rows lie outside the project (../shared/data/measured): where they are absent it says so.
"""

from datetime import UTC, datetime
from pathlib import Path

from scoring.validation import validate

MEASURED = Path(__file__).resolve().parents[2] / "shared" / "data" / "measured"
OUT = Path(__file__).resolve().parents[1] / "scoring" / "measured_error.toml"
# Kind of job → its file, and what is held against what there.
FILES = {
    "train": ("train.csv", "step time of published training runs"),
    "decode": ("infer.csv", "time per output token of published serving runs"),
    "collective": ("nccl.csv", "bus bandwidth and time of published collectives"),
}
HEAD = """\
# How far the cost model was from published measurements: ln(predicted / measured) of the time.
# Written by `python -m bench accuracy` over the rows that it names; the same rows fitted some of
# the constants (constants.toml says which), so an unseen cluster may be further off.
"""


def main() -> None:
    """Print a line a kind, and write the file."""
    if not MEASURED.exists():
        raise SystemExit(f"{MEASURED.name} is not beside this checkout: nothing to measure against")
    text = HEAD
    for kind, (name, what) in FILES.items():
        found = validate(MEASURED / name)
        said, skipped = found["summary"], len(found["skipped"])
        print(
            f"{kind}: {said['n']} rows, median {said['median_abs_error']:.1%}, p90 "
            f"{said['p90_abs_error']:.1%}, bias {said['bias']:+.1%}; {skipped} not predicted"
        )
        text += f"""
[{kind}]
what = "{what}"
rows = {said["n"]}
median_abs_error = {said["median_abs_error"]:.4f}
p90_abs_error = {said["p90_abs_error"]:.4f}
bias = {said["bias"]:.4f}
not_predicted = {skipped}
measured_on = {datetime.now(UTC).date()}
"""
    OUT.write_text(text)

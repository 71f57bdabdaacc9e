"""How an answer is written: a table for a person, CSV for a sheet, JSON for a program.

Table and CSV show the same rows. A table has the columns that fit one, and says *unknown*; CSV has
every plain key, nested ones with a dot, and leaves an unknown empty.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Absent = str | Callable[[Row], str]  # what None means, or what it does by what stands beside it
NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?%?", re.ASCII)
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)T\S+", re.ASCII)
UNKNOWN = "unknown"
ABSENT = {
    "usd_per_gpu_hour": "not published",
    "usd_per_hour": "not published",
    "usd_per_mtoken": "not published",
    "region": "not stated",
    "tier": "-",
}
HEADINGS = {
    "nvlink_domain_gpus": "nvlink domain",
    "fabric_gbits_per_s_per_gpu": "Gb/s/gpu",
    "gbits_per_s_per_gpu": "Gb/s/gpu",
    "gpu_count": "gpus",
    "usd_per_gpu_hour": "usd/gpu/h",
    "was_usd_per_gpu_hour": "was usd/gpu/h",
    "now_usd_per_gpu_hour": "now usd/gpu/h",
    "usd_per_hour": "usd/h",
    "usd_per_mtoken": "usd/Mtoken",
    "usd_lost_to_waiting_per_hour": "lost usd/h",
    "step_time_s": "step s",
    "exposed_share": "waiting + bubble",
    "collected_at": "as of",
    "source_url": "source",
    "says": "what it does",
}
SHARES = {"rise", "mfu", "exposed_share"}
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how text begins that a spreadsheet would run


def as_json(value: object) -> str:
    """Indented, with the letters of every language as they are."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


# --- CSV --------------------------------------------------------------------------------------


def as_csv(rows: Iterable[Row]) -> str:
    """A header, then the rows; text that a spreadsheet would run gets a leading apostrophe."""
    flat = [dict(_flat(row)) for row in rows]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    written = io.StringIO()
    writer = csv.DictWriter(written, columns, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _csv_cell(value) for name, value in row.items()} for row in flat)
    return written.getvalue()


def _flat(row: Row, under: str = "") -> Iterable[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{under}{name}.")
        else:
            yield f"{under}{name}", value


def _csv_cell(value: Any) -> object:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        plain = all(isinstance(each, str) for each in value)
        value = ";".join(value) if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value


# --- A table ----------------------------------------------------------------------------------


def as_table(
    rows: Iterable[Row],
    columns: Sequence[str],
    headings: Mapping[str, str],
    absent: Mapping[str, Absent],
) -> str:
    """Columns under their headings, numbers to the right. A moment is shown as its day.

    Parameters
    ----------
    columns
        Where each stands in a row: `offer.provider`.
    headings
        Of columns; of the others the last name, or what HEADINGS has for it.
    absent
        What None means in a column, by its last name, where that is not "unknown".
    """
    names = [column.rpartition(".")[2] for column in columns]
    absent = {**ABSENT, **absent}
    body = [
        [
            _cell(at(row, column), _nothing(row, column, absent), share=name in SHARES)
            for column, name in zip(columns, names, strict=True)
        ]
        for row in rows
    ]
    heads = [
        headings.get(column, HEADINGS.get(name, name.replace("_", " ")))
        for column, name in zip(columns, names, strict=True)
    ]
    widths = [max(map(len, cells)) for cells in zip(heads, *body, strict=True)]
    words = {UNKNOWN, *(word for word in absent.values() if isinstance(word, str))}
    right = [
        all(NUMBER.fullmatch(cell) or cell in words for cell in cells)
        for cells in zip(*body, strict=True)
    ]
    return "".join(_line(line, widths, right) for line in (heads, *body))


def _nothing(row: Row, column: str, absent: Mapping[str, Absent]) -> str:
    """What None means there: of `offer.provider`, by what else `offer` says."""
    within, _dot, name = column.rpartition(".")
    said = absent.get(name, UNKNOWN)
    return said if isinstance(said, str) else said(at(row, within) if within else row)


def in_some_cases(claims: int) -> str:
    """What stands for a value that nobody says of the whole type, and claims say of parts."""
    return f"in some cases ({claims} claim{'s' * (claims != 1)})"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    placed = (
        cell.rjust(width) if to_the_right else cell.ljust(width)
        for cell, width, to_the_right in zip(cells, widths, right, strict=True)
    )
    return "  ".join(placed).rstrip() + "\n"


def at(row: Row, path: str) -> Any:
    """What stands at `offer.provider` of a row; None where something on the way is missing."""
    value: Any = row
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _cell(value: Any, absent: str, *, share: bool) -> str:
    if value is None or value == "":
        return absent
    if share:
        return f"{value:.1%}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, float):
        return str(int(value))
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if moment := MOMENT.fullmatch(str(value)):
        return moment[1]
    # What a provider writes is shown, never obeyed by the terminal.
    return "".join(sign if sign.isprintable() else "?" for sign in str(value))

"""A snapshot as a table to read across: offers as columns, the first of them the baseline.

Each value is held against the baseline's, with the word better or worse; what is unknown on either
side cannot be compared, and what is not offered has no delta. Rows that say the same of all are
soft; `differences` leaves them out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog.evidence import in_some_cases
from catalog.templatetags.quantities import NOT_APPLICABLE, mark, number, safe, unknown
from comparisons.asked import SHOWN
from comparisons.changes import SAME, percent, signed
from comparisons.claims import Claim, of_facts, of_price
from comparisons.columns import ABSENT, Column, result_of
from comparisons.form import Snapshot
from comparisons.measures import FACTS, Measure, groups

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, what it is against the baseline, and whether it is the best of its row."""

    html: SafeString
    delta: str = ""
    look: str = ""  # dn: better; up: worse
    best: bool = False
    claims: tuple[Claim, ...] = ()  # that it rests on


@dataclass(frozen=True, slots=True)
class Line:
    """One row."""

    title: str
    unit: str
    cells: list[Cell]
    same: bool

    @property
    def says(self) -> bool:
        """Whether it tells anything of any offer."""
        return any(cell.html != NOT_APPLICABLE for cell in self.cells)


@dataclass(frozen=True, slots=True)
class Source:
    """What one source says of an offer: for the print, where a link must show where it leads."""

    text: str
    basis: str | None
    day: Any
    facts: str


@dataclass(frozen=True, slots=True)
class Table:
    """Columns, rows by group, and how many rows there are and how many tell a difference."""

    columns: list[Column]
    groups: list[tuple[str, list[Line]]]
    rows: int
    differences: int
    sources: list[tuple[Column, list[Source]]] = field(default_factory=list)


def table(snapshot: Snapshot, baseline: str = "", *, differences: bool = False) -> Table:
    """The first columns of a snapshot, as a table."""
    columns = chosen(snapshot, baseline)
    found = [
        (str(group.title), [line for m in group.measures if (line := _line(m, columns)).says])
        for group in groups(snapshot, columns)
    ]
    lines = [line for _title, lines in found for line in lines]
    kept = [
        (title, [line for line in lines if not (differences and line.same)])
        for title, lines in found
    ]
    return Table(
        columns,
        [(title, lines) for title, lines in kept if lines],
        rows=len(lines),
        differences=sum(not line.same for line in lines),
        sources=[(column, _sources(column)) for column in columns],
    )


# --- Columns ----------------------------------------------------------------------------------


def chosen(snapshot: Snapshot, baseline: str = "") -> list[Column]:
    """The picks as they were given, or the best of all that passed; the baseline first."""
    entries = {each["key"]: each for each in snapshot["offers"]}
    keys = list(entries)
    if not snapshot["asked"]["picks"]:
        ranked = [r["key"] for w in snapshot["workloads"][:1] for r in w["results"]]
        keys = [*ranked, *(key for key in keys if key not in set(ranked))]
    first = baseline or snapshot["asked"]["baseline"]
    keys.sort(key=lambda key: key != first)
    return [_column(snapshot, entries[key]) for key in keys[:SHOWN]]


def _column(snapshot: Snapshot, entry: Row) -> Column:
    subject = f"{entry['offer']['provider']}/{entry['offer']['instance_type']}"
    kind = snapshot["types"].get(subject, {})
    offer = {**entry["offer"], "evidence": kind.get("facts", {})}
    results, reasons = {}, {}
    for place, answer in enumerate(snapshot["workloads"]):
        for result in answer["results"]:
            if result["key"] == entry["key"]:
                results[place] = result_of(result, offer)
        for without in answer["left_out"]:
            if without["key"] == entry["key"]:
                reasons[place] = without["reason"]
    return Column(
        entry["key"], entry["status"], offer, kind.get("prices", {}), results, reasons
    )  # fmt: skip


# --- Cells ------------------------------------------------------------------------------------


def _line(measure: Measure, columns: Sequence[Column]) -> Line:
    disputed = [measure.disputed(column) for column in columns]
    said = [measure.value(column) for column in columns]
    known_of_parts = {_in_some_cases(measure, column) for column in columns}
    same = (
        len(set(disputed)) == len(known_of_parts) == 1
        and all(_equal(value, said[0]) for value in said)
    )  # fmt: skip
    # What sources disagree on is held against nothing, as what nobody says.
    values = [None if contested else value for contested, value in zip(disputed, said, strict=True)]
    best = _best(measure, values) if not same else None
    cells = [
        Cell(
            _shown(measure, column, disputed=contested),
            *(_delta(measure, value, values[0]) if place else ("", "")),
            best=best is not None and value == best,
            claims=tuple(measure.resting_on(column)),
        )
        for place, (column, value, contested) in enumerate(
            zip(columns, values, disputed, strict=True)
        )
    ]
    return Line(str(measure.title), str(measure.unit), cells, same and len(columns) > 1)


def _shown(measure: Measure, column: Column, *, disputed: bool) -> SafeString:
    """A value, or that it is known of parts; with the mark of a dispute, where it has none."""
    html = measure.html(column)
    if html == unknown():
        html = _in_some_cases(measure, column) or html
    if disputed and 'href="#disputed"' not in html:
        html = f'<span class="dis">{html}{mark("disputed", gettext("disputed"))}</span>'
    return safe(html)


def _in_some_cases(measure: Measure, column: Column) -> str:
    said = column.offer["evidence"].get(measure.facts[0]) if measure.facts else None
    return in_some_cases(said or {})


def _equal(value: Any, other: Any) -> bool:
    if _is_number(value) and _is_number(other):
        return abs(float(value) - float(other)) <= SAME * abs(float(other))
    return bool(value == other)


def _is_number(value: Any) -> bool:
    """Money is text in a snapshot."""
    if isinstance(value, str):
        return value.replace(".", "", 1).isdigit()
    return isinstance(value, int | float) and not isinstance(value, bool)


def _best(measure: Measure, values: Iterable[Any]) -> Any:
    known = [value for value in values if _is_number(value)]
    if not measure.better or len(known) < 2:
        return None
    return (min if measure.better == "low" else max)(known, key=float)


def _delta(measure: Measure, value: Any, base: Any) -> tuple[str, str]:
    """Against the baseline, in words, and its look."""
    if ABSENT in {value, base} or (value is None and base is None):
        return "", ""
    if value is None or base is None:
        return gettext("cannot compare"), ""
    if not (measure.delta and _is_number(value) and _is_number(base)):
        return "", ""
    if _equal(value, base):
        return gettext("same"), ""
    better = (float(value) < float(base)) == (measure.better == "low")
    look = ("dn" if better else "up") if measure.better else ""
    word = {"dn": gettext("better"), "up": gettext("worse")}.get(look, "")
    apart = float(value) - float(base)
    if measure.delta == "points":
        said = gettext("%(n)s points") % {"n": signed(apart)}
    elif measure.delta == "count":
        said = f"{'+' if apart > 0 else '−'}{number(abs(apart))}"
    else:
        said = f"{signed(percent(base, value) or 0)} %"
    return f"{said} {word}".strip(), look


# --- Sources ----------------------------------------------------------------------------------


def _sources(column: Column) -> list[Source]:
    """Each source of a column once, with all that it says."""
    by_source: dict[tuple[Any, ...], list[str]] = {}
    prices = of_price(column.offer) if column.offered else ()
    for claim in (*prices, *of_facts(column.offer, FACTS)):
        if claim.value:
            about = (claim.source, claim.basis, claim.day)
            by_source.setdefault(about, []).append(claim.title)
    return [
        Source(text, basis, day, gettext(", ").join(dict.fromkeys(facts)))
        for (text, basis, day), facts in by_source.items()
    ]

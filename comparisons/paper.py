"""A comparison on paper, to be understood without asking: each cell with the numbers of what it
rests on, and what those say; the question; what was assumed; what nobody knows.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog import phrases, presets, wording
from catalog.currency import Money
from catalog.ranking import OBJECTIVES
from comparisons.claims import Claim
from comparisons.columns import Column, title_of
from comparisons.form import Snapshot
from comparisons.rfq import unknown
from comparisons.table import Line, Table
from comparisons.workloads import asked_on

Row = Mapping[str, Any]


@dataclass(slots=True)
class Cited:
    """An entry of the list at the end: one source, one day, one note, and all that it says here."""

    number: int
    claim: Claim
    says: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Numbered:
    """A cell, and the numbers of what it rests on."""

    html: SafeString
    delta: str
    numbers: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The rows of a table with their numbers, and the list of these."""

    groups: list[tuple[str, list[tuple[Line, list[Numbered]]]]]
    cited: list[Cited]


def paper(table: Table) -> Paper:
    """The table as it is printed."""
    found: dict[tuple[Any, ...], Cited] = {}
    groups = [
        (title, [(line, [_numbered(cell, found) for cell in line.cells]) for line in lines])
        for title, lines in table.groups
    ]
    return Paper(groups, list(found.values()))


def _numbered(cell: Any, found: dict[tuple[Any, ...], Cited]) -> Numbered:
    numbers = []
    for claim in cell.claims:
        about = (claim.source, claim.basis, claim.day, claim.note)
        entry = found.setdefault(about, Cited(len(found) + 1, claim))
        if claim.words not in entry.says:
            entry.says.append(claim.words)
        numbers.append(entry.number)
    return Numbered(cell.html, cell.delta, ", ".join(map(str, dict.fromkeys(numbers))))


# --- What was asked, assumed, and is not known ------------------------------------------------


def question(answer: Snapshot, money: Money) -> Iterator[tuple[str, str]]:
    """What was asked then, a heading and a text each."""
    asked = answer["asked"]
    for each in answer["workloads"]:
        yield gettext("Workload"), asked_on(each)
    if answer["workloads"]:
        objective = asked["objective"]
        yield gettext("Ranked by"), money.heading(OBJECTIVES.get(objective, objective))
    for entry in answer["offers"] if asked["picks"] else ():
        yield gettext("Offers"), title_of(entry["offer"])
    for name, value in asked["filter"].items():
        yield wording.filter_title(name), _filtered(name, value)
    if not asked["picks"] and not asked["filter"]:
        yield gettext("Offers"), gettext("all of them")


def _filtered(name: str, value: Any) -> str:
    if isinstance(value, bool) or name.endswith(("_min", "_max")):
        return presets.value_text(name, value, {})
    values = value if isinstance(value, list) else str(value).split(",")
    return gettext(", ").join(presets.option_text(name, str(each), {}) for each in values)


def assumptions(answer: Snapshot, columns: list[Column]) -> list[tuple[str, str]]:
    """Each that the estimates rest on, and of which offers it is said; of all, none is named."""
    found: dict[str, list[str]] = {}
    ran = [column for column in columns if column.results]
    for place, each in enumerate(answer["workloads"]):
        for said in each["assumptions"] or ():
            found.setdefault(said, [])
        for column in ran:
            estimate = column.results.get(place, {}).get("estimate", {})
            for said in (*(estimate.get("assumptions") or ()), *(estimate.get("warnings") or ())):
                names = found.setdefault(said, [])
                if column.title not in names:
                    names.append(column.title)
    return [
        (phrases.said(said), gettext(", ").join(names) if len(names) < len(ran) else "")
        for said, names in found.items()
    ]


def not_known(answer: Snapshot, columns: list[Column]) -> list[tuple[str, str]]:
    """Of each offer, the facts that nobody states: what its provider is asked for."""
    return [
        (column.title, gettext("; ").join(wording.title(name) for name in names))
        for column in columns
        if (names := unknown(column, answer))
    ]

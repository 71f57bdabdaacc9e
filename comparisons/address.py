"""What the address of a comparison asks: offers picked, a workload, a filter; read with care.

What cannot be read is told and left away, and the rest is answered. One authority checks it all,
the one that checks a body (`comparisons.asked`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from catalog import presets
from catalog.currency import DOLLAR
from catalog.presets import BREAK
from catalog.query import BadQuery, past
from catalog.questions import as_query
from comparisons.asked import EMPTY, FILTER_KEYS, SHOWN, Question, question
from comparisons.picks import Pick

GPUS = 256  # where a workload is named and no count
OWN = ("pick", "workload", "gpus", "nodes", "objective", "currency", "baseline")
VIEW = ("as_of", "diff", "format")  # of the page alone: no part of what is asked
State = dict[str, str]


@dataclass(slots=True)
class Address:
    """An address as it was understood; `state` is what is left of it."""

    path: str
    state: State
    question: Question | None = None  # None where nothing is picked
    as_of: datetime | None = None
    too_many: bool = False
    problems: list[dict[str, str]] = field(default_factory=list)

    def link(self, **changes: str | None) -> str:
        """The address with some of it changed."""
        return self.elsewhere(self.path, **changes)

    def elsewhere(self, path: str, **changes: str | None) -> str:
        """The same of another page."""
        return presets.link(path, self.state, **changes)

    def refuse(self, name: str, must_be: str, text: str = "") -> None:
        """Tell of a parameter, or of one pick, and go on without."""
        text = text or self.state.get(name, "")
        rest = [each for each in self.picks if each != text]
        without = BREAK.join(rest) if name == "pick" else None
        self.problems.append(
            {
                "parameter": name[:80],
                "text": text[:80],
                "must_be": must_be,
                "href": self.link(**{name: without}),
            }
        )
        self.state = {k: v for k, v in {**self.state, name: without}.items() if v}

    def contradicting(self, titles: State) -> list[list[presets.Chip]]:
        """The pairs of its filters that no offer can pass both."""
        query = self.question and self.question.query
        return presets.contradicting(self.path, self.state, query, titles) if query else []

    @property
    def picks(self) -> list[str]:
        """The picks as texts."""
        return [text for text in self.state.get("pick", "").split(BREAK) if text]


def readable(given: QueryDict, path: str, *, may_filter: bool = False) -> Address:
    """The address of the page at `path`; with `may_filter` a filter alone is a question too."""
    found = Address(path, presets.state(given))
    if len(found.picks) > SHOWN:
        found.too_many = True
        found.state["pick"] = BREAK.join(found.picks[:SHOWN])
    for each in found.picks:
        _pick(found, each)
    if text := found.state.get("as_of"):
        try:
            found.as_of = past(text)
        except ValueError as problem:
            found.refuse("as_of", str(problem))
    for name in [each for each in found.state if each not in {*OWN, *VIEW, *FILTER_KEYS}]:
        found.refuse(name, gettext("is not a parameter of this page."))
    _count(found)
    while found.picks or may_filter:
        try:
            found.question = question(said(found.state))
            break
        except BadQuery as bad:
            if not _refused(found, bad.fields):
                break
    return found


def of(kept: Mapping[str, Any], path: str) -> Address:
    """The address at `path` that asks what was kept without picks: of its workloads the first."""
    first: Mapping[str, Any] = next(
        (each for each in kept["workloads"] if isinstance(each["workload"], str)), {}
    )
    named = {name: kept[name] for name in ("objective", "currency")}
    return readable(as_query({**kept["filter"], **named, **first}), path, may_filter=True)


def _pick(found: Address, text: str) -> None:
    """One pick in its one form, or refused."""
    try:
        picks = [str(Pick.read(each)) if each == text else each for each in found.picks]
        found.state["pick"] = BREAK.join(dict.fromkeys(picks))
    except ValueError as problem:
        found.refuse("pick", str(problem), text)


def _count(found: Address) -> None:
    """A count is of a workload; a workload has one, the usual if none is given."""
    for name in ("gpus", "nodes"):
        text = found.state.get(name, "")
        if text and not (text.isdecimal() and len(text) <= 7):
            found.refuse(name, gettext("must be a whole number."))
    if "workload" not in found.state:
        for name in ("gpus", "nodes"):
            found.state.pop(name, None)
    elif not found.state.keys() & {"gpus", "nodes"}:
        found.state["gpus"] = str(GPUS)


def said(state: Mapping[str, str]) -> dict[str, Any]:
    """The fields of a question that a state stands for."""
    workloads = []
    if slug := state.get("workload"):
        counts = {name: int(state[name]) for name in ("gpus", "nodes") if name in state}
        workloads = [{"workload": slug, **counts}]
    return {
        **EMPTY,
        "picks": [text for text in state.get("pick", "").split(BREAK) if text],
        "workloads": workloads,
        "objective": state.get("objective") or EMPTY["objective"],
        "currency": state.get("currency") or DOLLAR,
        "baseline": state.get("baseline", ""),
        "filter": {name: text for name, text in state.items() if name in FILTER_KEYS},
    }


def _refused(found: Address, fields: Mapping[str, list[str]]) -> bool:
    """Tell of each field under its parameter's name; False where none of them is one."""
    before = dict(found.state)
    for name, texts in fields.items():
        parameter = name.removeprefix("filter.").removeprefix("workloads.0.").partition(".")[0]
        must_be = " ".join(texts)
        if parameter in found.state:
            found.refuse(parameter, must_be)
            if parameter == "workload":
                found.state = {k: v for k, v in found.state.items() if k not in {"gpus", "nodes"}}
    return found.state != before

"""What a comparison asks, checked: which workloads on how much, over which offers, ranked how.

One form for a JSON body, for the tables, and for an address (`comparisons.address`). What is asked
of the cost model is checked where `POST estimates/` checks it (`catalog.questions`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.currency import DOLLAR
from catalog.filters import FILTERS, OfferQuery
from catalog.filters import read as read_filters
from catalog.query import BadQuery, Contradicts, no_keys, strangers
from catalog.questions import OBJECTIVES, Asked, as_query, asked
from comparisons.models import Comparison
from comparisons.picks import Pick

ASKED = ("workloads", "filter", "picks", "objective", "currency", "baseline")
ONE_WORKLOAD = ("workload", "gpus", "nodes")  # in place of `workloads`, as estimates/ has them
KEYS = ("name", "notes", *ASKED, *ONE_WORKLOAD)
FILTER_KEYS = (*FILTERS, "include_unknown", "include_stale", "rows")
LONGEST_NAME, LONGEST_NOTES, MOST_WORKLOADS, MOST_PICKS = 200, 10_000, 5, 100
# Controls, and what turns the direction of a line or takes no room: a name is what one sees of it.
UNSEEN = r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
SHOWN = 6  # columns of a table
EMPTY: Mapping[str, Any] = {
    "notes": "", "workloads": [], "filter": {}, "picks": [], "objective": OBJECTIVES[0],
    "currency": DOLLAR, "baseline": "",
}  # fmt: skip
NO_PICK = "must be one of picks."
NOTHING = "are needed: one at least, or offers in picks."
BIND = {NO_PICK: ("baseline", "picks"), NOTHING: ("workloads", "picks")}  # what is wrong together
Wrong = dict[str, list[str]]


@dataclass(frozen=True, slots=True)
class Question:
    """A checked question: `asked` has one entry a workload, `query` what lets an offer through."""

    asked: tuple[Asked, ...]
    query: OfferQuery
    picks: tuple[Pick, ...]
    said: Mapping[str, Any]  # the same as it is kept: the fields of ASKED

    @property
    def baseline(self) -> str:
        """The pick that the others are held against; empty: the first."""
        return str(self.said["baseline"])


def question(said: Mapping[str, Any]) -> Question:
    """The fields of ASKED, checked.

    Raises
    ------
    BadQuery
        Naming every field that is wrong.
    """
    wrong: Wrong = {}
    picks = _picks(said["picks"], wrong)
    query = _query(said["filter"], said["currency"], wrong)
    if said["objective"] not in OBJECTIVES:
        wrong["objective"] = [f"must be one of: {', '.join(OBJECTIVES)}."]
    workloads = said["workloads"]
    if not isinstance(workloads, list) or len(workloads) > MOST_WORKLOADS:
        wrong["workloads"] = [f"must be a list of at most {MOST_WORKLOADS} workloads."]
        workloads = []
    found = [_asked(n, each, said, wrong) for n, each in enumerate(workloads)]
    if not (workloads or picks or wrong):
        wrong["workloads"] = [NOTHING]
    _check_baseline(said["baseline"], picks, wrong)
    if wrong:
        raise BadQuery(wrong)
    return Question(
        tuple(each for each in found if each), query, picks, {k: said[k] for k in ASKED}
    )


def _picks(given: object, wrong: Wrong) -> tuple[Pick, ...]:
    if not isinstance(given, list) or len(given) > MOST_PICKS:
        wrong["picks"] = [f"must be a list of at most {MOST_PICKS} texts."]
        return ()
    found = []
    for n, text in enumerate(given):
        try:
            found.append(Pick.read(text if isinstance(text, str) else ""))
        except ValueError as problem:
            wrong[f"picks.{n}"] = [str(problem)]
    if len(set(found)) < len(found):
        wrong["picks"] = ["name one offer twice."]
    return tuple(found)


def _query(given: object, currency: object, wrong: Wrong) -> OfferQuery:
    if not isinstance(given, dict):
        wrong["filter"] = ["must be an object of the query parameters of offers/."]
        return OfferQuery()
    if others := strangers(given, FILTER_KEYS):
        said = [f"is not a filter. There are: {', '.join(FILTER_KEYS)}."]
        wrong.update({f"filter.{name}": said for name in others})
        return OfferQuery()
    if not isinstance(currency, str) or not currency:
        wrong["currency"] = ["must be the three letters of a currency."]
        currency = DOLLAR
    try:
        return read_filters(as_query({**given, "currency": currency}))
    except BadQuery as bad:
        wrong.update(
            {name if name == "currency" else f"filter.{name}": s for name, s in bad.fields.items()}
        )
        return OfferQuery()


def _asked(n: int, given: object, said: Mapping[str, Any], wrong: Wrong) -> Asked | None:
    """One workload, as a body of estimates/ would be checked; the filter has been already."""
    place = f"workloads.{n}"
    if not isinstance(given, dict) or set(given) - set(ONE_WORKLOAD):
        wrong[place] = ["must be an object of workload, and of gpus or nodes."]
        return None
    objective = {} if "objective" in wrong else {"objective": said["objective"]}
    try:
        return asked({**given, **objective})
    except BadQuery as bad:
        wrong.update({f"{place}.{name}": text for name, text in bad.fields.items()})
        return None


def _check_baseline(given: object, picks: Sequence[Pick], wrong: Wrong) -> None:
    if given == "":
        return
    try:
        Pick.read(given if isinstance(given, str) else "")
    except ValueError as problem:
        wrong["baseline"] = [str(problem)]
        return
    if picks and given not in {str(pick) for pick in picks}:
        wrong["baseline"] = [NO_PICK]


# --- A body, and the tables -------------------------------------------------------------------


def read(body: object, standing: Comparison | None = None) -> tuple[dict[str, Any], Question]:
    """The columns of a comparison from a JSON body; what it leaves out stays as it stands.

    Raises
    ------
    BadQuery
        Naming every field that is wrong, and every one that is none.
    Contradicts
        Where all that is wrong is of what stood before, or of what is given together with it.
    """
    if not isinstance(body, dict):
        raise BadQuery({"body": ["must be a JSON object."]})
    wrong: Wrong = no_keys(body, KEYS)
    given = dict(body)
    one = {name: given.pop(name) for name in ONE_WORKLOAD if name in given}
    if one and "workloads" in given:
        wrong["workloads"] = ["contradicts workload: give either."]
    elif one:
        given["workloads"] = [one]
    before = {name: getattr(standing, name) for name in ("name", *EMPTY)} if standing else EMPTY
    said = {"name": None, **before, **given}
    said["name"], said["notes"] = _name(said["name"], wrong), _notes(said["notes"], wrong)
    checked = None
    try:
        checked = question(said)
    except BadQuery as bad:
        wrong |= bad.fields
    if wrong and standing and not any(_of_body(*each, given) for each in wrong.items()):
        raise Contradicts(wrong)
    if wrong or checked is None:
        raise BadQuery(wrong)
    return {"name": said["name"], "notes": said["notes"], **checked.said}, checked


def _of_body(name: str, said: list[str], given: Mapping[str, Any]) -> bool:
    """Whether it is wrong of what is given alone, whatever else stands."""
    return all(each in given for each in BIND.get(said[0], (name.partition(".")[0],)))


def _name(given: object, wrong: Wrong) -> str:
    name = " ".join(given.split()) if isinstance(given, str) else ""
    if not 0 < len(name) <= LONGEST_NAME or re.search(UNSEEN, name):
        wrong["name"] = [f"must be 1 to {LONGEST_NAME} characters of text."]
    return name


def _notes(given: object, wrong: Wrong) -> str:
    if not isinstance(given, str) or len(given) > LONGEST_NOTES or "\x00" in given:
        wrong["notes"] = [f"must be at most {LONGEST_NOTES} characters of text."]
        return ""
    return given.replace("\r\n", "\n")


def of(comparison: Comparison) -> Question:
    """What a comparison of the tables asks.

    Raises
    ------
    Contradicts
        Where the catalog no longer has what it names: a provider, a workload.
    """
    try:
        return question({name: getattr(comparison, name) for name in ASKED})
    except BadQuery as bad:
        raise Contradicts(bad.fields) from None

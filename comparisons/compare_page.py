"""`/compare/`: offers side by side, for anyone. The address is the whole state."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import estimates
from catalog.currency import Money
from catalog.page_money import DOLLARS, header
from catalog.pages import provider_titles
from catalog.presets import BREAK
from catalog.ranking import OBJECTIVES, errors
from comparisons import address, snapshot
from comparisons.address import Address, said
from comparisons.asked import question
from comparisons.columns import Column
from comparisons.finding import finding
from comparisons.form import Snapshot
from comparisons.snapshot import UNHEARD_OF
from comparisons.table import table

PATH, NEW, OFFERS = "/compare/", "/comparisons/new/", "/"


@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """The picks as columns, the first of them the baseline."""
    asked = address.readable(request.GET, PATH)
    opposed = asked.contradicting(provider_titles())
    taken, too_much = (None, "") if opposed else answered(asked)
    context: dict[str, Any] = {
        "room": "comparisons",
        "now": asked.state,
        "kept": kept(asked),
        "problems": asked.problems,
        "opposed": opposed,
        "too_many": asked.too_many,
        "too_much": too_much,
        "workloads": estimates.workloads(),
        "objectives": OBJECTIVES.items(),
        "asked_from": f"{settings.PUBLIC_URL}{request.get_full_path()}",
    }
    if taken:
        context |= shown(taken, asked.state.get("baseline", ""), differences=differences(asked))
        context |= {"columns": columns_of(asked, context["table"].columns), "links": links(asked)}
    context |= header(PATH, asked.state, context.get("money", DOLLARS))
    status = 422 if too_much else 400 if asked.problems or asked.too_many else 200
    return render(request, "comparisons/compare.html", context, status=status)


def answered(asked: Address) -> tuple[Snapshot | None, str]:
    """The answer to an address, and why there is none; a type that never was is refused."""
    try:
        while asked.question:
            taken = snapshot.take(asked.question, asked.as_of)
            strange = [e["key"] for e in taken["offers"] if e["status"] == UNHEARD_OF]
            if not strange:
                return taken, ""
            for text in strange:
                asked.refuse("pick", gettext("is not in the catalog."), text)
            asked.question = question(said(asked.state)) if asked.picks else None
    except estimates.TooMuch as cap:
        return None, str(cap)
    return None, ""


def shown(taken: Snapshot, baseline: str = "", *, differences: bool = False) -> dict[str, Any]:
    """What every page of an answer shows: the finding, the table, of what it is made."""
    made = table(taken, baseline, differences=differences)
    answers = taken["workloads"]
    return {
        "table": made,
        "finding": finding(taken, made.columns),
        "money": Money.of(taken.get("currency")),
        "made_of": {
            "catalog_changed_at": (taken["catalog_changed_at"] or "")[:16].replace("T", " "),
            "model_version": taken["model_version"],
            "as_of": taken["as_of"],
        },
        "validation": errors(answers[0]["validation"]) if answers else None,
    }


def differences(asked: Address) -> bool:
    """Whether only rows are wanted that tell a difference."""
    return asked.state.get("diff") == "1"


def kept(asked: Address) -> list[tuple[str, str]]:
    """What the form must carry besides its own fields."""
    own = {"workload", "gpus", "objective", "region", "as_of"}
    return [
        (name, each)
        for name, text in asked.state.items()
        if name not in own
        for each in (text.split(BREAK) if name == "pick" else (text,))
    ]


def columns_of(asked: Address, columns: list[Column]) -> list[dict[str, Any]]:
    """The head of each column: what it is, and what can be done with it."""
    return [
        {
            "column": column,
            "baseline": "" if not place else asked.link(baseline=column.key),
            "remove": asked.link(
                pick=BREAK.join(text for text in asked.picks if text != column.key),
                baseline=None if not place else asked.state.get("baseline"),
            ),
        }
        for place, column in enumerate(columns)
    ]


def links(asked: Address) -> Mapping[str, str]:
    """Where one goes on from here."""
    return {
        "all": asked.link(diff=None),
        "differences": asked.link(diff="1"),
        "add": asked.elsewhere(OFFERS, **dict.fromkeys(set(asked.state) - {"pick", "currency"})),
        "save": asked.elsewhere(NEW, diff=None, as_of=None),
    }

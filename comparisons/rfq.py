"""The questions to each provider, made from what is unknown and matters to the comparison.

What matters: each fact that could be asked of the type; of a job on one instance, nothing about the
network between several. Then what sources disagree on, and a price that is not published or old.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from catalog import phrases, wording
from catalog.evidence import unknowns
from catalog.facts import ATTRIBUTES
from catalog.instances import CHECKLIST
from catalog.offers import begins
from catalog.templatetags.quantities import day_of, dollars
from comparisons.changes import claimed, fact_text
from comparisons.columns import Column, beside
from comparisons.form import Snapshot
from comparisons.snapshot import UNHEARD_OF
from comparisons.table import chosen
from comparisons.workloads import size

Row = Mapping[str, Any]


def questions(snapshot: Snapshot) -> list[tuple[str, list[str]]]:
    """For each provider, what to ask it: those of the columns that a table shows."""
    by_provider: dict[str, list[str]] = defaultdict(list)
    told = set()
    for column in chosen(snapshot):
        name = column.offer["instance_type"]
        for asked in _of(column, snapshot):
            line = f"{name}: {asked}"
            if line not in told:
                told.add(line)
                by_provider[column.offer["provider_title"]].append(line)
    return list(by_provider.items())


def text(snapshot: Snapshot, name: str) -> str:
    """The same as a text to send."""
    parts = [_about(snapshot, name)]
    for provider, asked in questions(snapshot):
        lines = [f"{place}. {line}" for place, line in enumerate(asked, start=1)]
        parts.append("\n".join([provider, "-" * len(provider), *lines]))
    if not snapshot["offers"]:
        parts.append(before_all(snapshot) or gettext("No offer passes all of these filters."))
    elif len(parts) == 1:
        parts.append(gettext("Nothing that matters to this comparison is unknown."))
    return "\n\n".join(parts) + "\n"


def before_all(snapshot: Snapshot) -> str:
    """That the catalog begins later than the time asked for, so that no filter is to blame."""
    day = begins(snapshot["as_of"] and datetime.fromisoformat(snapshot["as_of"]))
    if day is None:
        return ""
    said = gettext("The catalog begins on %(day)s: of a time before it nothing is known.")
    return said % {"day": day}


def _about(snapshot: Snapshot, name: str) -> str:
    """What the cluster is for, so that the provider can answer for that."""
    lines = [name]
    lines += (
        gettext(", ").join((phrases.said(each["workload"]["title"]), size(each)))
        for each in snapshot["workloads"]
    )
    return "\n".join([*lines, gettext("Before we order, please confirm:")])


def unknown(column: Column, snapshot: Snapshot) -> list[str]:
    """The facts of an offer that nobody states, and that matter to the comparison."""
    if column.status == UNHEARD_OF:  # nothing is known, not even that there is such a type
        return []
    several = not snapshot["workloads"] or any(
        place not in column.results or column.results[place]["nodes"] != 1
        for place in range(len(snapshot["workloads"]))
    )
    return [
        name for name in unknowns(column.offer) if several or ATTRIBUTES[name].group != "between"
    ]


def _of(column: Column, snapshot: Snapshot) -> Iterator[str]:
    offer = column.offer
    if column.status == UNHEARD_OF:
        yield gettext("Do you offer it, and where?")
        return
    open_facts = set(unknown(column, snapshot))
    if offer["gpu"] is None:
        among = " / ".join(wording.gpu(slug, memory=True) for slug in offer["gpu_candidates"])
        asked = gettext("Which GPU is it, exactly?")
        yield beside(asked, among) if among else asked
        open_facts.discard("gpu")
    for question in CHECKLIST:
        yield from question.left(offer, open_facts)
    for attribute in offer["disputed"]:
        said = offer["evidence"].get(attribute) or {}
        if len(claimed(said)) > 1:
            what = {
                "fact": wording.title(attribute),
                "values": fact_text(attribute, said["value"], said),
            }
            yield gettext("Sources disagree on “%(fact)s”: %(values)s. Which is it?") % what
    yield from _of_price(column)


def _of_price(column: Column) -> Iterator[str]:
    offer = column.offer
    if not column.offered:
        yield gettext("Do you offer it, and where?")
    elif offer["usd_per_hour"] is None:
        yield gettext("What does it cost, for how long, and from when can we have it?")
    elif offer["stale"] or offer["outdated"]:
        seen = {"usd": dollars(offer["usd_per_gpu_hour"]), "day": day_of(offer["collected_at"])}
        yield gettext("Is $%(usd)s per GPU-hour, seen on %(day)s, still your price?") % seen

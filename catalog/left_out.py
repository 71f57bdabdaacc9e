"""The offers that are not ranked, by the kind of reason: each type once, with its own words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

MOST_TYPES = 100  # that are listed of one kind
# By what the first sentence says (scoring.refusals, scoring.estimate, catalog.wishes).
KINDS: tuple[tuple[str, str], ...] = (
    (r"takes .* h on|.*never finished", _("Takes too long")),
    (r"costs \$", _("Over the budget")),
    (r"its price is not published", _("Its price is not published")),
    (r"its price is for|more than", _("Not sold in this size")),
    (r".* exceeds the", _("Too little memory")),
    (r"no split", _("The job does not divide over so many GPUs")),
    (r".*on one fabric|.*no fabric joins", _("No fabric joins so many")),
    (r"nobody says|the cost model has no|.*is not known|.*contradict", _("Too little is known")),
)


def by_kind(left_out: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each kind with its count of offers and its types, the commonest first."""
    kinds: dict[str, list[Mapping[str, Any]]] = {}
    for each in left_out:
        kinds.setdefault(kind_of(each["reason"]), []).append(each)
    ordered = sorted(kinds.items(), key=lambda pair: -len(pair[1]))
    return [
        {"title": gettext(kind), "offers": len(each), "types": list(_types(each))[:MOST_TYPES]}
        for kind, each in ordered
    ]


def kind_of(reason: str) -> str:
    """The kind of a reason."""
    return next((kind for start, kind in KINDS if re.match(start, reason)), _("For another reason"))


def _types(left_out: Sequence[Mapping[str, Any]]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each type once, with why: its offers differ in price and place."""
    seen = set[tuple[str, str]]()
    for each in left_out:
        offer = each["offer"]
        name = offer["provider"], offer["instance_type"]
        if name not in seen:
            seen.add(name)
            yield offer, each["reason"]

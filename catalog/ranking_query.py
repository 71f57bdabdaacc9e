"""What the address of a ranking asks: counts, amounts, limits and supposings, read with care.

The same fields as a body of `POST estimates/`; amounts may be written as people do: 1T, 500B, 2M.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext

from catalog import presets, wording
from catalog.currency import Money
from catalog.estimates import MOST, MOST_GPUS, OBJECTIVES, SCENARIOS, contradictions
from catalog.filters import OfferQuery, read
from catalog.query import BadQuery
from catalog.templatetags.quantities import number

GPUS = 256
AMOUNTS = ("hours", "tokens", "steps", "deadline_hours", "budget_usd")
OWN = ("gpus", "nodes", "objective", "what_if", *AMOUNTS, "workload", "page")  # no filters
SUFFIX = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "g": 1e9, "t": 1e12}
AMOUNT = re.compile(
    r"\$?(\d{1,20}(?:,\d{3})*(?:\.\d{1,6})?(?:e\d{1,2})?) ?([kmbgt]?)", re.IGNORECASE | re.ASCII
)
Problem = dict[str, str]


@dataclass(frozen=True, slots=True)
class Asking:
    """The address of a ranking, read: its state, the filters, and the form's own fields.

    `problems` are the parameters that cannot be read; the rest stands without them.
    """

    path: str
    now: dict[str, str]
    query: OfferQuery
    own: dict[str, Any]
    problems: list[Problem]
    page: int = 1
    form: str = ""  # of a file; empty for the page

    @property
    def money(self) -> Money:
        """What amounts are shown in."""
        return Money(self.query.currency)

    @property
    def offers(self) -> OfferQuery:
        """What is ranked: whoever reads another page of it, or in another money, asks the same."""
        plain = OfferQuery()
        return replace(
            self.query,
            **{name: getattr(plain, name) for name in ("currency", "page_size", "whole", "format")},
        )


def readable(given: QueryDict, path: str, *, has_tokens: bool) -> Asking:
    """What an address asks."""
    now, problems = presets.state(given), list[Problem]()
    own: dict[str, Any] = {"gpus": None, "nodes": None, "objective": OBJECTIVES[0], "what_if": None}
    own |= dict.fromkeys(AMOUNTS)

    def refuse(name: str, must_be: str) -> None:
        problems.append(_problem(now, path, name, must_be))

    for name in ("gpus", "nodes"):
        if text := now.get(name):
            if re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII) and int(text) <= MOST_GPUS:
                own[name] = int(text)
            else:
                limit = gettext("must be a whole number from 1 to %(most)s.") % {"most": MOST_GPUS}
                refuse(name, limit)
    for name in AMOUNTS:
        if text := now.get(name):
            own[name] = _amount(text, MOST[name])
            if own[name] is None:
                most = {"most": number(MOST[name])}
                refuse(name, gettext("must be a number above 0 and up to %(most)s.") % most)
    for name, words in (("objective", OBJECTIVES), ("what_if", SCENARIOS)):
        if text := now.get(name):
            if text in words:
                own[name] = text
            else:
                refuse(name, gettext("is none of: %(all)s.") % {"all": ", ".join(words)})
    page = 1
    if text := now.get("page"):
        if re.fullmatch(r"[1-9]\d{0,4}", text, re.ASCII):
            page = int(text)
        else:
            refuse("page", gettext("must be a whole number from 1 on."))
            del now["page"]
    _finds_its_count(own)
    wrong = "steps" if has_tokens else "tokens"
    if own[wrong] is not None:
        refuse(wrong, gettext("is not what this workload is measured in."))
        own[wrong] = None
    for name, said in contradictions(own).items():
        refuse(name, " ".join(said))
        own[name] = (own["gpus"] or GPUS) if name == "gpus" else None
        own["nodes"] = None if name == "gpus" else own["nodes"]
    while True:
        try:
            query = read(presets.reading(now), also=OWN)
        except BadQuery as bad:
            for name in [name for name in now if name[:80] in bad.fields]:
                refuse(name, " ".join(bad.fields[name[:80]]))
                del now[name]
        else:
            form = now.pop("format", "")
            return Asking(path, now, query, own, problems, page, form)


def _finds_its_count(own: dict[str, Any]) -> None:
    """Without a count a wish finds one; without a wish it is the usual one."""
    wished = own["deadline_hours"] or own["budget_usd"]
    amount = own["tokens"] or own["steps"]
    if own["gpus"] is None and own["nodes"] is None and not (wished and amount):
        own["gpus"] = GPUS


def _amount(text: str, most: float) -> float | None:
    """1T, 1e12, 1,000,000, $2M; None where it is no such number, or out of range."""
    found = AMOUNT.fullmatch(text.strip())
    if not found:
        return None
    value = float(found[1].replace(",", "")) * SUFFIX[found[2].lower()]
    return value if 0 < value <= most else None


def _problem(now: Mapping[str, str], path: str, name: str, must_be: str) -> Problem:
    return {
        "parameter": name[:80],
        "text": now.get(name, "")[:80],
        "must_be": must_be,
        "href": presets.link(path, now, **{name: None}),
    }


def nearest(
    found: Mapping[str, Any] | None, path: str, now: presets.State, titles: presets.State
) -> dict[str, Any] | None:
    """Where nothing can be ranked, what could be: each with the address that asks for it."""
    if not found:
        return None
    dropped = [
        {
            "titles": ", ".join(
                dict.fromkeys(wording.filter_title(name) for name in each["filters"])
            ),
            "offers": each["offers"],
            "href": presets.link(path, now, **dict.fromkeys(each["filters"])),
        }
        for each in found["without_filters"]
        if each["filters"]
    ]
    count = found["count"]
    href = count and presets.link(path, now, gpus=str(count["gpus"]), nodes=None)
    if count:
        provider = titles.get(count["provider"], count["provider"])
        count = {**count, "provider": provider, "href": href}
    return {"dropped": dropped[:5], "count": count}

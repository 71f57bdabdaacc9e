"""What a value rests on, source by source: for paper, where no link leads on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

from catalog import phrases, wording
from catalog.evidence import value_text
from catalog.facts import ATTRIBUTES
from catalog.templatetags.quantities import day_of

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Claim:
    """What one source says of one thing, how that is known, and of which day it is."""

    title: str
    value: str  # empty: it was looked for there, and not found
    source: str
    basis: str | None  # None: a price list
    day: str | None
    note: str = ""

    @property
    def words(self) -> str:
        """The thing and its value."""
        return f"{self.title}{gettext(': ')}{self.value or gettext('looked for, not found')}"


def of_facts(offer: Row, names: Iterable[str]) -> Iterator[Claim]:
    """What speaks for each fact of an offer; of a dispute, and where none speaks, every claim."""
    for name in names:
        said = offer["evidence"].get(name) or {}
        claims = said.get("claims") or ()
        # Of what is said of parts alone the newest lends a null its source: no look in vain.
        lent = said.get("value") is None and said.get("source") in {c.get("source") for c in claims}
        for claim in claims if lent else (said, *claims):
            if claim.get("source"):
                notes = (claim.get("scope"), claim.get("note"))
                yield Claim(
                    wording.title(name),
                    _value(name, claim.get("value")),
                    claim["source"],
                    claim["basis"],
                    str(claim["checked"])[:10],
                    gettext("; ").join(phrases.said(note) for note in notes if note),
                )


def _value(name: str, value: Any) -> str:
    return "" if value is None else value_text(name, value, ATTRIBUTES[name].unit)


def of_price(offer: Row) -> Iterator[Claim]:
    """Where a price was read, in the provider's own money, and the rate that made it dollars."""
    amount, code = offer["native_amount"], offer["native_currency"]
    if amount is None or not offer["source_url"]:
        return
    note = phrases.said(offer["price_note"] or "")
    if offer["usd_rate"] and code != "USD":
        rate = {"code": code, "rate": offer["usd_rate"], "day": offer["usd_rate_date"]}
        said = gettext("1 %(code)s = $%(rate)s, rate of %(day)s") % rate
        note = gettext("; ").join(filter(None, (said, note)))
    yield Claim(
        gettext("price"),
        f"{amount} {code}",
        offer["source_url"],
        None,
        str(day_of(offer["collected_at"])),
        note,
    )

"""One change between two answers, and its words: what it is of, what it was and is, what it did.

The change of a price is that of the amount which its provider asks, in the provider's own money: no
rate of exchange is in it. Both amounts are shown in the comparison's currency, each as its own run
showed it. What lies between the two percentages is the rate's move, which is told apart
(`Change.rate_percent`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext

from catalog import wording
from catalog.currency import DOLLAR, sign_of
from catalog.evidence import in_some_cases, value_text
from catalog.facts import ATTRIBUTES
from catalog.templatetags.quantities import day_of, dollars, is_number, number

Row = Mapping[str, Any]
SAME = 0.005  # of a value: less is not told
PLACES = 4  # of a percentage
SAME_RATE = 0.05  # [%] of a rate of exchange
NOT_ASKED = "not_asked"  # the question did not name it, besides the states of `snapshot`
PASSED_OVER = "passed_over"  # another filter: it was not asked about, or not offered
REPLACED = "replaced"  # another offer speaks for the row: of another price model, tier or seller
NO_PRICE = "no_price"  # the type is known, and nobody's price for it is
CURRENT, OUTDATED = "current", "outdated"  # a price, by its age


class Kind(StrEnum):
    """What sort of change it is."""

    PRICE = "price"
    MOVED = "moved"  # the lowest price is one of another region: no provider changed it
    PUBLISHED = "published"  # a price where there was none
    UNPUBLISHED = "unpublished"
    FRESHNESS = "freshness"  # the price grew too old to rank, or is current again
    STOCK = "stock"  # to be had now, or sold out, where its provider says so
    FACT = "fact"
    NEW = "new"
    GONE = "gone"
    INCOMPARABLE = "incomparable"  # of one side nobody knows, or it was not asked about
    RANK = "rank"
    MODEL = "model"  # another version of the cost model
    QUESTION = "question"  # the comparison itself was edited in between


HELD_TOGETHER = {Kind.PRICE, Kind.MOVED}  # two prices, of which one is so much more
PRICES = HELD_TOGETHER | {Kind.PUBLISHED, Kind.UNPUBLISHED}
PRICED = PRICES | {Kind.NEW, Kind.GONE, Kind.INCOMPARABLE}


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one offer for one workload. Ranks from 1; USD per million tokens, or step."""

    key: str
    workload: str
    rank_was: int | None
    rank_now: int | None
    usd_was: float | None
    usd_now: float | None
    cost_percent: float | None  # in the comparison's currency
    spread_was: float | None  # half the interval over the expected
    spread_now: float | None
    rank_alone: int | None = None  # now, had none but this offer changed; None: nobody can say

    @property
    def usd_percent(self) -> float | None:
        """By how much the cost of work changed; None where there is none to hold it against."""
        return None if self.cost_percent is None else percent(self.usd_was, self.usd_now)

    @property
    def moved(self) -> bool:
        """Whether it ranks elsewhere."""
        return self.rank_was != self.rank_now

    @property
    def pushed(self) -> bool:
        """Whether it ranks elsewhere by what became of the others alone."""
        return self.moved and self.rank_alone is not None and self.rank_alone == self.rank_was

    def words(self) -> Iterator[str]:
        """Rank, cost of work, width of the range: only what changed, and by its own changes."""
        if self.moved and not self.pushed:
            yield self._rank()
        if self.cost_percent is not None and abs(self.cost_percent) >= 100 * SAME:
            yield gettext("cost of work %(delta)s %%") % {"delta": signed(self.cost_percent)}
        if self.spread_was and self.spread_now and abs(self.spread_was - self.spread_now) > SAME:
            wide = {"was": f"{100 * self.spread_was:.0f}", "now": f"{100 * self.spread_now:.0f}"}
            if self.spread_now < self.spread_was:
                yield gettext("range narrowed from ±%(was)s %% to ±%(now)s %%") % wide
            else:
                yield gettext("range widened from ±%(was)s %% to ±%(now)s %%") % wide

    def of_then(self) -> "Effect":
        """Of an offer that another took the place of: it has no more than its first side."""
        return replace(self, rank_now=None, usd_now=None, spread_now=None, rank_alone=None)

    def of_now(self) -> "Effect":
        """Of the other: it has no more than its second side."""
        return replace(self, rank_was=None, usd_was=None, spread_was=None, rank_alone=None)

    def by_others(self) -> Iterator[str]:
        """Its rank, where that is no doing of its own."""
        if self.pushed:
            yield gettext("%(rank)s because of other offers") % {"rank": self._rank()}

    def _rank(self) -> str:
        ranks = {"was": self.rank_was or "–", "now": self.rank_now or "–"}
        if self.rank_alone in {None, self.rank_was, self.rank_now}:
            return gettext("rank %(was)s → %(now)s") % ranks
        return gettext("rank %(was)s → %(now)s (by itself %(was)s → %(alone)s)") % {
            **ranks, "alone": self.rank_alone,
        }  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """Its numbers."""
        names = (
            "key", "workload", "rank_was", "rank_now", "rank_alone", "usd_was", "usd_now",
            "usd_percent",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `was` and `now` are values: None is unknown, not published or not offered.

    Of a price they are in `currency`, per GPU and hour.
    """

    kind: Kind
    key: str = ""
    offer: Row = field(default_factory=dict)
    attribute: str = ""
    was: Any = None
    now: Any = None
    was_said: Row = field(default_factory=dict)  # source, basis, checked
    now_said: Row = field(default_factory=dict)
    was_status: str = ""  # of a side without an offer: why (`snapshot.NOT_OFFERED`, ...)
    now_status: str = ""
    was_region: str = ""  # of either side, where the two are not of one
    now_region: str = ""
    currency: str = DOLLAR
    native_percent: float | None = None  # of what the provider asks in its own money
    workload: str = ""  # of a rank, where there are several
    seen: date | None = None
    effects: tuple[Effect, ...] = ()
    others: int = 0  # more changes of the same offer, to which its effects are as much owed

    @property
    def delta_percent(self) -> float | None:
        """Of a price or a number; None where either side is unknown or not offered."""
        if self.kind in HELD_TOGETHER:
            shown = percent(self.was, self.now)
            return shown if self.native_percent is None else self.native_percent
        if self.kind is not Kind.FACT or self.was_said.get("claims") or self.now_said.get("claims"):
            return None
        return percent(self.was, self.now)

    @property
    def rate_percent(self) -> float | None:
        """What a move of the exchange rate adds to `delta_percent`; None where it adds nothing."""
        shown = percent(self.was, self.now) if self.kind in HELD_TOGETHER else None
        if shown is None or self.native_percent is None or self.native_percent <= -100:
            return None
        found = round(100 * ((100 + shown) / (100 + self.native_percent) - 1), PLACES)
        return found if abs(found) >= SAME_RATE else None

    @property
    def what(self) -> str:
        """What it is a change of, in words."""
        if self.kind is Kind.MOVED:
            money = {"money": sign_of(self.currency)}
            return gettext("Lowest price of any region, %(money)s per GPU-hour") % money
        if self.kind in PRICES:
            return gettext("Price, %(money)s per GPU-hour") % {"money": sign_of(self.currency)}
        if self.kind is Kind.FACT:
            return wording.title(self.attribute)
        if self.kind is Kind.STOCK:
            return wording.filter_title("available")
        if self.kind is Kind.FRESHNESS:
            return gettext("Age of the price")
        if self.kind is Kind.RANK:
            return gettext(", ").join(filter(None, (gettext("Rank"), self.workload)))
        if self.kind in PRICED:
            replaced = REPLACED in {self.was_status, self.now_status}
            return gettext(", ").join((gettext("Offer"), *(_how(self.offer) if replaced else ())))
        return gettext("Cost model") if self.kind is Kind.MODEL else gettext("The question")

    @property
    def was_text(self) -> str:
        """What it was, in words."""
        text = self._text(self.was, self.now, self.was_said, self.was_status)
        return _in(text, self.was_region)

    @property
    def now_text(self) -> str:
        """What it is, in words."""
        text = self._text(self.now, self.was, self.now_said, self.now_status)
        return _in(text, self.now_region)

    def _text(self, value: Any, beside: Any, said: Row, status: str) -> str:
        if status:
            return gone(status)
        if self.kind is Kind.FACT:
            return fact_text(self.attribute, value, said)
        if self.kind is Kind.STOCK:
            return wording.word("available", "yes" if value else "no")
        if self.kind is Kind.FRESHNESS:
            return age_text(value, said)
        if self.kind in PRICED:
            if value is None:
                return gettext("not published")
            return money_text(value, self.currency, beside)
        return "–" if value is None else str(value)

    @property
    def effect(self) -> str:
        """What it did to the comparison, in words; a dash where nobody can say."""
        found = [] if self.rate_percent is None else [rate_text(self.rate_percent)]
        if self.kind is Kind.MODEL:
            n = len(self.effects)
            found += [ngettext("%(n)s rank", "%(n)s ranks", n) % {"n": number(n)}] if n else []
        else:
            if done := self._done(Effect.words):
                found.append(self._together(done) if self.others else done)
            if pushed := self._done(Effect.by_others):
                found.append(pushed)
        return gettext("; ").join(found) or (pgettext("effect", "none") if self.effects else "–")

    def _done(self, words: Callable[[Effect], Iterator[str]]) -> str:
        """What became of the offer, for each workload where that is anything."""
        said = [(each.workload, gettext(", ").join(words(each))) for each in self.effects]
        several = len(said) > 1
        return gettext("; ").join(
            title + gettext(": ") + text if several else text for title, text in said if text
        )

    def _together(self, done: str) -> str:
        """Nobody can tell which of an offer's changes did it: it is said of none alone."""
        return ngettext(
            "together with %(n)s other change: %(done)s",
            "together with %(n)s other changes: %(done)s",
            self.others,
        ) % {"n": number(self.others), "done": done}

    def as_json(self) -> dict[str, Any]:
        """For the API and for watches: values, words, sources."""
        return {
            "kind": str(self.kind),
            "key": self.key or None,
            "offer": self.offer or None,
            "attribute": self.attribute or None,
            "unit": ATTRIBUTES[self.attribute].unit if self.attribute else None,
            "currency": self.currency if self.kind in PRICED else None,
            "workload": self.workload or None,
            "what": self.what,
            "was": self.was,
            "now": self.now,
            "delta_percent": self.delta_percent,
            "rate_percent": self.rate_percent,
            "was_text": self.was_text,
            "now_text": self.now_text,
            "was_source": _source(self.was_said),
            "now_source": _source(self.now_said),
            "was_region": self.was_region or None,
            "now_region": self.now_region or None,
            "status": self.was_status or self.now_status or None,
            "seen": self.seen,
            "effect": self.effect,
            "effects": [each.as_json() for each in self.effects],
            "effects_shared_with": self.others,
        }


def _source(said: Row) -> dict[str, Any] | None:
    return {name: said.get(name) for name in ("source", "basis", "checked")} if said else None


def another(old: Row, new: Row) -> bool:
    """Whether two rows of one key are two offers: sold otherwise, or by someone else."""
    return _identity(old) != _identity(new) and not _one_row(old, new)


def moved(old: Row, new: Row) -> bool:
    """Whether they are of two regions."""
    return old.get("region") != new.get("region") and not _one_row(old, new)


def _identity(offer: Row) -> tuple[Any, ...]:
    return tuple(offer.get(name) for name in ("price_model", "tier", "via"))


def _how(offer: Row) -> Iterator[str]:
    """What tells it from the other offers of its row, in words."""
    if model := offer["price_model"]:
        yield wording.word("price_model", model)
    if offer["tier"]:
        yield offer["tier"]
    if offer["via"]:
        yield gettext("via %(via)s") % {"via": offer["via"]}


def _one_row(old: Row, new: Row) -> bool:
    """Whether the catalog has them as one offer; an older version may not have kept its words."""
    return old.get("offer_id") is not None and old.get("offer_id") == new.get("offer_id")


# --- In words ---------------------------------------------------------------------------------


def percent(was: Any, now: Any) -> float | None:
    """From one number to another, in hundredths of the first; None where either is not known.

    Of decimals, so that what rose by ten percent has not risen by 9.999999999999986.
    """
    try:
        before, after = Decimal(str(was)), Decimal(str(now))
    except InvalidOperation:
        return None
    return round(float(100 * (after - before) / before), PLACES) if before else None


def signed(value: float) -> str:
    """−4.2, +43: with a true minus."""
    return (
        f"{value:+.1f}".replace("-", "−") if abs(value) < 10 else f"{value:+.0f}".replace("-", "−")
    )


def rate_text(value: float) -> str:
    """A move of the exchange rate, in words. [%]"""
    return gettext("exchange rate %(delta)s %%") % {"delta": signed(value)}


def age_text(age: str, said: Row) -> str:
    """Whether a price is ranked beside fresh ones, and the day when it was seen."""
    day = day_of(said.get("checked"))
    text = (
        gettext("fresh enough to rank")
        if age == CURRENT
        else gettext("too old to rank beside fresh ones")
    )
    return gettext("%(name)s, seen on %(day)s") % {"name": text, "day": day} if day else text


def _in(text: str, region: str) -> str:
    return gettext("%(what)s in %(region)s") % {"what": text, "region": region} if region else text


def money_text(value: Any, currency: str, beside: Any = None) -> str:
    """An amount as tables write it; with four decimals where the one beside it would look alike."""
    text = dollars(value, currency)
    if beside is not None and float(beside) != float(value) and dollars(beside, currency) == text:
        text = f"{float(value):,.4f}"
    return f"${text}" if currency == DOLLAR else f"{text} {currency}"


def gone(status: str) -> str:
    """Why there is no offer, in words; a price it never is."""
    return {
        "not_offered": gettext("not offered"),
        "gone": gettext("no longer listed"),
        "unrecorded": gettext("no price of then is known"),
        "unheard_of": gettext("not in the catalog"),
        NO_PRICE: gettext("not offered: the type is known, nobody's price for it is listed"),
        REPLACED: gettext("another offer has this place"),
        NOT_ASKED: gettext("was not asked about"),
        PASSED_OVER: gettext("was not asked about, or not offered"),
    }.get(status, gettext("not offered, or the filter keeps it out"))


def claimed(said: Row) -> list[str]:
    """The values of a dispute, in one order: the one that speaks, and those beside it."""
    peers = (c for c in said.get("claims") or () if c["basis"] == said["basis"] and not c["scope"])
    values = {said.get("value"), *(c["value"] for c in peers)} - {None}
    return sorted({str(float(each)) if is_number(each) else str(each) for each in values})


def fact_text(attribute: str, value: Any, said: Row) -> str:
    """A fact with its unit; both values of a dispute; unknown where nobody says."""
    if value is None:
        return in_some_cases(said) or gettext("unknown")
    unit = ATTRIBUTES[attribute].unit
    if said.get("disputed") and len(values := claimed(said)) > 1:
        return " ≠ ".join(value_text(attribute, each, unit) for each in values)
    return value_text(attribute, value, unit)

"""What changed between two answers: a price, a fact, what came, what went, who ranks where.

Rows are matched by their keys. What is not offered has no price, so nothing is saved by it: such a
change has no delta. A new exchange rate alone is no change of a price (`catalog.exchange`).
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext

from catalog import wording
from catalog.evidence import value_text
from catalog.facts import ATTRIBUTES
from catalog.templatetags.quantities import day_of, dollars, number
from comparisons.snapshot import FACTS, OFFERED, Snapshot

Row = Mapping[str, Any]
SAME = 0.005  # of a value: less is not told


class Kind(StrEnum):
    """What sort of change it is."""

    PRICE = "price"
    PUBLISHED = "published"  # a price where there was none
    UNPUBLISHED = "unpublished"
    STOCK = "stock"  # to be had now, or sold out, where its provider says so
    FACT = "fact"
    NEW = "new"
    GONE = "gone"
    RANK = "rank"
    MODEL = "model"  # another version of the cost model
    QUESTION = "question"  # the comparison itself was edited in between


PRICES = {Kind.PRICE, Kind.PUBLISHED, Kind.UNPUBLISHED}


@dataclass(frozen=True, slots=True)
class Effect:
    """What became of one offer for one workload. Ranks from 1; USD per million tokens, or step."""

    workload: str
    rank_was: int | None
    rank_now: int | None
    usd_was: float | None
    usd_now: float | None
    spread_was: float | None  # half the interval over the expected
    spread_now: float | None

    @property
    def usd_percent(self) -> float | None:
        """By how much the cost of work changed; None where there is none to hold it against."""
        return percent(self.usd_was, self.usd_now)

    def words(self) -> Iterator[str]:
        """Rank, cost of work, width of the range: only what changed."""
        if self.rank_was != self.rank_now:
            ranks = {"was": self.rank_was or "–", "now": self.rank_now or "–"}
            yield gettext("rank %(was)s → %(now)s") % ranks
        if self.usd_percent is not None and abs(self.usd_percent) >= 100 * SAME:
            yield gettext("cost of work %(delta)s %%") % {"delta": signed(self.usd_percent)}
        if self.spread_was and self.spread_now and abs(self.spread_was - self.spread_now) > SAME:
            wide = {"was": f"{100 * self.spread_was:.0f}", "now": f"{100 * self.spread_now:.0f}"}
            if self.spread_now < self.spread_was:
                yield gettext("range narrowed from ±%(was)s %% to ±%(now)s %%") % wide
            else:
                yield gettext("range widened from ±%(was)s %% to ±%(now)s %%") % wide


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `was` and `now` are values: None is unknown, not published or not offered."""

    kind: Kind
    key: str = ""
    offer: Row = field(default_factory=dict)
    attribute: str = ""
    was: Any = None
    now: Any = None
    was_said: Row = field(default_factory=dict)  # source, basis, checked
    now_said: Row = field(default_factory=dict)
    status: str = ""  # of an offer that is gone: why (`snapshot.NOT_OFFERED`, ...)
    seen: date | None = None
    effects: tuple[Effect, ...] = ()

    @property
    def delta_percent(self) -> float | None:
        """Of a price or a number; None where either side is unknown or not offered."""
        if self.kind is Kind.FACT and (self.was_said.get("claims") or self.now_said.get("claims")):
            return None
        return percent(self.was, self.now) if self.kind in {Kind.PRICE, Kind.FACT} else None

    @property
    def what(self) -> str:
        """What it is a change of, in words."""
        if self.kind in PRICES:
            return gettext("Price, $ per GPU-hour")
        if self.kind is Kind.FACT:
            return wording.title(self.attribute)
        if self.kind is Kind.STOCK:
            return wording.filter_title("available")
        return {
            Kind.NEW: gettext("Offer"),
            Kind.GONE: gettext("Offer"),
            Kind.RANK: gettext("Rank"),
            Kind.MODEL: gettext("Cost model"),
        }.get(self.kind, gettext("The question"))

    @property
    def was_text(self) -> str:
        """What it was, in words."""
        if self.kind is Kind.NEW:
            return gettext("not offered")
        return self._text(self.was, self.was_said)

    @property
    def now_text(self) -> str:
        """What it is, in words."""
        if self.kind is Kind.GONE:
            return gone(self.status)
        return self._text(self.now, self.now_said)

    def _text(self, value: Any, said: Row) -> str:
        if self.kind is Kind.FACT:
            return fact_text(self.attribute, value, said)
        if self.kind is Kind.STOCK:
            return wording.word("available", "yes" if value else "no")
        if self.kind in PRICES | {Kind.NEW, Kind.GONE}:
            return gettext("not published") if value is None else f"${dollars(value)}"
        return "–" if value is None else str(value)

    @property
    def effect(self) -> str:
        """What it did to the comparison, in words."""
        found = []
        for each in self.effects:
            words = ", ".join(each.words())
            if words:
                found.append(f"{each.workload}: {words}" if len(self.effects) > 1 else words)
        return "; ".join(found) or pgettext("effect", "none")

    def as_json(self) -> dict[str, Any]:
        """For the API and for watches: values, words, sources."""
        return {
            "kind": str(self.kind),
            "key": self.key or None,
            "offer": self.offer or None,
            "attribute": self.attribute or None,
            "unit": ATTRIBUTES[self.attribute].unit if self.attribute else None,
            "what": self.what,
            "was": self.was,
            "now": self.now,
            "delta_percent": self.delta_percent,
            "was_text": self.was_text,
            "now_text": self.now_text,
            "was_source": _source(self.was_said),
            "now_source": _source(self.now_said),
            "status": self.status or None,
            "seen": self.seen,
            "effect": self.effect,
            "effects": [
                {
                    "workload": each.workload,
                    "rank_was": each.rank_was,
                    "rank_now": each.rank_now,
                    "usd_was": each.usd_was,
                    "usd_now": each.usd_now,
                    "usd_percent": each.usd_percent,
                }
                for each in self.effects
            ],
        }


def _source(said: Row) -> dict[str, Any] | None:
    return {name: said.get(name) for name in ("source", "basis", "checked")} if said else None


# --- Finding them -----------------------------------------------------------------------------


def changes(was: Snapshot, now: Snapshot) -> list[Change]:
    """Every change from one answer to another: causes first, then the ranks that they moved."""
    before, after = ({each["key"]: each for each in one["offers"]} for one in (was, now))
    effects = _Effects(was, now)
    found = [*_of_the_whole(was, now)]
    keys = [*after, *(key for key in before if key not in after)]
    for key in keys:
        found += _of_offer(key, before.get(key), after.get(key), effects)
    found += _of_facts(before, after, was, now, effects)
    found += (change for key in keys for change in _of_rank(key, before, after, effects))
    return found


def _of_the_whole(was: Snapshot, now: Snapshot) -> Iterator[Change]:
    if was["asked"] != now["asked"]:
        yield Change(Kind.QUESTION, was=gettext("as it was"), now=gettext("edited"))
    if was["model_version"] != now["model_version"]:
        yield Change(Kind.MODEL, was=was["model_version"], now=now["model_version"])


def _of_offer(key: str, was: Row | None, now: Row | None, effects: "_Effects") -> Iterator[Change]:
    """An offer that came, went, or is priced otherwise."""
    old = was["offer"] if was and was["status"] == OFFERED else None
    new = now["offer"] if now and now["status"] == OFFERED else None
    if old is None and new is None:
        return
    shown = new or old or {}
    about: dict[str, Any] = {
        "key": key,
        "offer": named(shown),
        "was": old and old["usd_per_gpu_hour"],
        "now": new and new["usd_per_gpu_hour"],
        "was_said": _price_said(old),
        "now_said": _price_said(new),
        "effects": effects.of(key),
        "seen": day_of(shown["collected_at"]),
    }
    if old is None:
        yield Change(Kind.NEW, **about)
    elif new is None:
        status = now["status"] if now else ""
        yield Change(Kind.GONE, **{**about, "seen": effects.today, "status": status})
    elif _amount(old) != _amount(new):
        kind = Kind.PRICE
        if about["was"] is None or about["now"] is None:
            kind = Kind.PUBLISHED if about["was"] is None else Kind.UNPUBLISHED
        yield Change(kind, **about)
    if old and new and {old["available"], new["available"]} == {True, False}:
        yield Change(Kind.STOCK, **{**about, "was": old["available"], "now": new["available"]})


def _amount(offer: Row) -> tuple[Any, ...]:
    return offer["native_amount"], offer["native_currency"], offer["usd_per_gpu_hour"] is None


def _price_said(offer: Row | None) -> dict[str, Any]:
    if offer is None:
        return {}
    return {"source": offer["source_url"], "basis": None, "checked": offer["collected_at"]}


def _of_facts(
    before: Mapping[str, Row], after: Mapping[str, Row], was: Row, now: Row, effects: "_Effects"
) -> Iterator[Change]:
    """What is known otherwise of the hardware: told once a type, with the source of each side."""
    told = set()
    for key in effects.best_first(key for key in after if key in before):
        old, new = before[key]["offer"], after[key]["offer"]
        subject = f"{new['provider']}/{new['instance_type']}"
        facts = [one["types"].get(subject, {}).get("facts", {}) for one in (was, now)]
        for name in FACTS:
            then, this = (_speaking(fact.get(name) or {}) for fact in facts)
            line = (subject, name, old.get(name), new.get(name))
            same = line[2] == line[3] and _claimed(then) == _claimed(this)
            if same or line in told:
                continue
            told.add(line)
            yield Change(
                Kind.FACT, key, named(new, hardware=True), name, line[2], line[3], then, this,
                seen=day_of(this.get("checked")) or effects.today, effects=effects.of(key),
            )  # fmt: skip


def _speaking(said: Row) -> Row:
    return said if said.get("value") is not None else {}


def _claimed(said: Row) -> list[str]:
    """The values that sources disagree on; none where they agree."""
    return claimed(said) if said.get("disputed") else []


def claimed(said: Row) -> list[str]:
    """The values of a dispute, in one order."""
    peers = (c for c in said.get("claims") or () if c["basis"] == said["basis"] and not c["scope"])
    return sorted({str(c["value"]) for c in peers})


def _of_rank(
    key: str, before: Mapping[str, Row], after: Mapping[str, Row], effects: "_Effects"
) -> Iterator[Change]:
    found = effects.of(key)
    moved = [each for each in found if each.rank_was != each.rank_now]
    if moved and key in before and key in after:
        yield Change(
            Kind.RANK, key, named(after[key]["offer"]), "", moved[0].rank_was, moved[0].rank_now,
            seen=effects.today, effects=found,
        )  # fmt: skip


class _Effects:
    """What became of each offer, for each workload that both answers have."""

    def __init__(self, was: Snapshot, now: Snapshot) -> None:
        self.today = day_of(now.get("catalog_changed_at"))
        befores = {_named(each): each for each in was["workloads"]}
        self.found: dict[str, list[Effect]] = {}
        for each in now["workloads"]:
            other = befores.get(_named(each))
            if other is None:
                continue
            old, new = ({r["key"]: r for r in one["results"]} for one in (other, each))
            for key in dict.fromkeys((*new, *old)):
                effect = _effect(each["workload"]["title"], old.get(key), new.get(key))
                self.found.setdefault(key, []).append(effect)

    def of(self, key: str) -> tuple[Effect, ...]:
        return tuple(self.found.get(key, ()))

    def best_first(self, keys: Iterable[str]) -> list[str]:
        def rank(key: str) -> int:
            return min((each.rank_now or 10**6 for each in self.of(key)), default=10**6)

        return sorted(keys, key=rank)


def _named(workload: Row) -> str:
    about = [workload[name] for name in ("workload", "gpus", "nodes")]
    return json.dumps(about, sort_keys=True)  # a table gives keys back in an order of its own


def _effect(title: str, was: Row | None, now: Row | None) -> Effect:
    (rank_was, usd_was, spread_was), (rank_now, usd_now, spread_now) = map(_place, (was, now))
    return Effect(title, rank_was, rank_now, usd_was, usd_now, spread_was, spread_now)


def _place(result: Row | None) -> tuple[int | None, float | None, float | None]:
    if result is None:
        return None, None, None
    usd = result["usd_per_mtoken"] or result["usd_per_step"]
    estimate = result["estimate"]
    own = estimate["interval"]
    spread = (own["high"] - own["low"]) / 2 / estimate["step_time_s"]
    return result["rank"], usd, spread


# --- In words ---------------------------------------------------------------------------------


def percent(was: Any, now: Any) -> float | None:
    """From one number to another, in hundredths of the first; None where either is not known."""
    try:
        before, after = float(was), float(now)
    except (TypeError, ValueError):
        return None
    return 100 * (after / before - 1) if before else None


def signed(value: float) -> str:
    """−4.2, +43: with a true minus."""
    return (
        f"{value:+.1f}".replace("-", "−") if abs(value) < 10 else f"{value:+.0f}".replace("-", "−")
    )


def gone(status: str) -> str:
    """Why there is no offer, in words; a price it never is."""
    return {
        "not_offered": gettext("not offered"),
        "gone": gettext("no longer listed"),
        "unrecorded": gettext("no price of then is known"),
        "unheard_of": gettext("not in the catalog"),
    }.get(status, gettext("not offered, or the filter keeps it out"))


def fact_text(attribute: str, value: Any, said: Row) -> str:
    """A fact with its unit; both values of a dispute; unknown where nobody says."""
    if value is None:
        return gettext("unknown")
    unit = ATTRIBUTES[attribute].unit
    if said.get("disputed") and len(values := claimed(said)) > 1:
        return " ≠ ".join(value_text(attribute, each, unit) for each in values)
    return value_text(attribute, value, unit)


def named(offer: Row, *, hardware: bool = False) -> dict[str, Any]:
    """What tells an offer from the others; of hardware, the type alone."""
    keys = ("provider", "provider_title", "instance_type")
    return {key: offer[key] for key in keys} | (
        {} if hardware else {key: offer[key] for key in ("region", "tier", "price_model", "via")}
    )


def summary(found: Iterable[Change]) -> str:
    """How much changed, in one sentence without its full stop."""
    kinds = [change.kind for change in found]
    count = {kind: kinds.count(kind) for kind in Kind}
    prices = sum(count[kind] for kind in PRICES)
    said = [
        ngettext("%(n)s price", "%(n)s prices", prices) % {"n": number(prices)} if prices else "",
        ngettext("%(n)s fact", "%(n)s facts", count[Kind.FACT]) % {"n": number(count[Kind.FACT])}
        if count[Kind.FACT]
        else "",
        wording.unknown_of("available") if count[Kind.STOCK] else "",
        gettext("%(n)s new") % {"n": count[Kind.NEW]} if count[Kind.NEW] else "",
        gettext("%(n)s gone") % {"n": count[Kind.GONE]} if count[Kind.GONE] else "",
        ngettext("%(n)s rank", "%(n)s ranks", count[Kind.RANK]) % {"n": number(count[Kind.RANK])}
        if count[Kind.RANK]
        else "",
        gettext("the cost model") if count[Kind.MODEL] else "",
        gettext("the question") if count[Kind.QUESTION] else "",
    ]
    return ", ".join(filter(None, said))

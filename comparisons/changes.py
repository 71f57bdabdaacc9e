"""What changed between two answers: a price, a fact, what came, what went, who ranks where.

Rows are matched by their keys. Where another offer speaks for a row (`change.another`), one is gone
and one is new; where the cheapest of a row is now of another region, its lowest price MOVED. A type
of which no price was found is not offered. What is not offered has no price, so nothing is saved by
it: such a change has no delta. A new exchange rate alone is no change of a price
(`catalog.exchange`).

Only what both sides know is told as the market's doing. Where one side was not asked about an
offer, or nothing is known of it then, the change is INCOMPARABLE. A fact that an answer did not
keep is no change of that fact. Ranks are told of one question and of one version of the cost
model; another version is told as that, with how many ranks it moved.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

from django.utils.translation import gettext, ngettext

from catalog import wording
from catalog.currency import Money
from catalog.records import NO_PRICE_FOUND
from catalog.templatetags.quantities import day_of, number
from comparisons.change import (
    CURRENT,
    NO_PRICE,
    NOT_ASKED,
    OUTDATED,
    PASSED_OVER,
    PRICES,
    REPLACED,
    SAME,
    Change,
    Effect,
    Kind,
    another,
    claimed,
    fact_text,
    gone,
    moved,
    percent,
    signed,
)
from comparisons.effects import Effects
from comparisons.form import FACTS, Snapshot
from comparisons.snapshot import OFFERED, UNRECORDED
from comparisons.workloads import asked_on, size

__all__ = [
    "SAME", "Change", "Effect", "Kind", "asked_on", "asks_alike", "changes", "claimed", "fact_text",
    "gone", "percent", "signed", "size", "summary",
]  # fmt: skip
Row = Mapping[str, Any]
KEPT_OUT = "kept_out"  # one filter, one time: not offered, or it does not pass
NOBODY_KNOWS = {UNRECORDED, NOT_ASKED, PASSED_OVER}
HOW_SHOWN = {"currency", "baseline"}  # of a question: they alter no answer
WHICH_OFFERS = ("picks", "filter")


def changes(was: Snapshot, now: Snapshot) -> list[Change]:
    """Every change from one answer to another: causes first, then the ranks that they moved."""
    before, after = ({each["key"]: each for each in one["offers"]} for one in (was, now))
    keys = [*after, *(key for key in before if key not in after)]
    offers = _Offers(was, now)
    told = {key: offers.of(key, before.get(key), after.get(key)) for key in keys}
    apart = any(each.kind is Kind.INCOMPARABLE for found in told.values() for each in found)
    effects = Effects(was, now, with_ranks=asks_alike(was, now) and not apart)
    found = [*_of_the_whole(was, now, effects)]
    found += (effects.on(change) for key in keys for change in told[key])
    found += _of_facts(before, after, was, now, effects)
    found = _shared(found)
    found += (change for key in keys for change in _of_rank(key, before, after, effects))
    return found


def _shared(causes: list[Change]) -> list[Change]:
    """Each with how many more changes there are of its offer; a fact is of each offer of a type."""

    def kind(change: Change) -> tuple[Any, ...]:
        return change.offer["provider"], change.offer["instance_type"]

    of_type = Counter(kind(each) for each in causes if each.kind is Kind.FACT)
    own = Counter(  # of a row that another offer took the two are one cause
        each.key for each in causes if each.kind is not Kind.FACT and each.was_status != REPLACED
    )
    return [
        replace(each, others=own[each.key] + of_type[kind(each)] - 1) if each.offer else each
        for each in causes
    ]


def asks_alike(was: Snapshot, now: Snapshot) -> bool:
    """Whether both answer one question, however they show it."""
    said = ({k: v for k, v in one["asked"].items() if k not in HOW_SHOWN} for one in (was, now))
    return next(said) == next(said)


def _of_the_whole(was: Snapshot, now: Snapshot, effects: "Effects") -> Iterator[Change]:
    if was["asked"] != now["asked"]:
        yield Change(Kind.QUESTION, was=gettext("as it was"), now=gettext("edited"))
    models = [one["model_version"] for one in (was, now)]
    if all(models) and models[0] != models[1]:
        yield Change(Kind.MODEL, was=models[0], now=models[1], effects=effects.moved())


# --- Offers -----------------------------------------------------------------------------------


class _Offers:
    """What came, went, or is priced otherwise."""

    def __init__(self, was: Snapshot, now: Snapshot) -> None:
        self.sides = (was, now)
        self.today = day_of(now.get("catalog_changed_at"))
        wishes = [[one["asked"].get(name) for name in WHICH_OFFERS] for one in self.sides]
        self.alike = wishes[0] == wishes[1]
        self.filters_alike = wishes[0][1] == wishes[1][1]
        current = Money.of(now.get("currency"))
        earlier = Money.of(was.get("currency"))
        self.by_age = now["asked"]["filter"].get("include_stale") not in (True, "true")
        self.money = (earlier if earlier.code == current.code else current, current)
        self.listed = [
            {e["offer"]["provider"] for e in one["offers"] if e["status"] == OFFERED}
            for one in self.sides
        ]

    def of(self, key: str, *entries: Row | None) -> list[Change]:
        """The changes of one offer, without their effects."""
        old, new = (_offered(entry) for entry in entries)
        shown = new or old
        if shown is None:
            return []
        statuses = [self._status(side, entry, shown) for side, entry in enumerate(entries)]
        apart = moved(old, new) if old and new else False
        was, now = (_amount(*pair) for pair in zip((old, new), self.money, strict=True))
        about: dict[str, Any] = {
            "key": key,
            "offer": named(shown),
            "was": was,
            "now": now,
            "was_said": _price_said(old),
            "now_said": _price_said(new),
            "was_status": statuses[0],
            "now_status": statuses[1],
            "was_region": old["region"] or "" if old and apart else "",
            "now_region": new["region"] or "" if new and apart else "",
            "currency": self.money[1].code,
            "seen": day_of(shown["collected_at"]) if new else self.today,
        }
        if old is None or new is None:
            kind = Kind.NEW if old is None else Kind.GONE
            if NOBODY_KNOWS.intersection(statuses):
                kind = Kind.INCOMPARABLE
            return [Change(kind, **about)]
        if not self.filters_alike and old.get("offer_id") != new.get("offer_id"):
            return [Change(Kind.INCOMPARABLE, **about)]  # another filter found another offer
        if another(old, new):
            return [
                Change(Kind.GONE, **_side(about, "now", REPLACED, self.today, old)),
                Change(Kind.NEW, **_side(about, "was", REPLACED, about["seen"], new)),
            ]
        found = [*_of_price(old, new, about, apart=apart), *_of_stock(old, new, about)]
        if self.by_age and all(_keeps(each, "outdated") for each in entries if each):
            found += _of_age(old, new, about, self.today)
        return found

    def _status(self, side: int, entry: Row | None, shown: Row) -> str:
        """Why a side has no offer; empty where it has one."""
        if entry is not None and entry["status"] == OFFERED:
            return "" if _offered(entry) else NO_PRICE
        if entry is not None:
            return str(entry["status"])
        answer = self.sides[side]
        if not self.alike:
            return NOT_ASKED if answer["asked"].get("picks") else PASSED_OVER
        if answer.get("as_of") and shown["provider"] not in self.listed[side]:
            return UNRECORDED  # of its provider no list of that time is at hand
        return KEPT_OUT


def _offered(entry: Row | None) -> Row | None:
    """Its offer; None where nobody sells it, or of the type alone is known, and no price."""
    if entry is None or entry["status"] != OFFERED:
        return None
    offer: Row = entry["offer"]
    return None if offer.get("price_note") == NO_PRICE_FOUND else offer


def _side(about: Row, empty: str, status: str, seen: date | None, offer: Row) -> dict[str, Any]:
    """Of two offers of one row the one: on the other side it is not."""
    none: dict[str, Any] = {empty: None, f"{empty}_said": {}, f"{empty}_status": status}
    return {**about, **none, "was_region": "", "now_region": "", "seen": seen,
            "offer": named(offer)}  # fmt: skip


def _of_price(old: Row, new: Row, about: Row, *, apart: bool) -> Iterator[Change]:
    if _asked_amount(old) == _asked_amount(new):
        return
    kind, native = Kind.MOVED if apart else Kind.PRICE, None
    if about["was"] is None or about["now"] is None:
        kind = Kind.PUBLISHED if about["was"] is None else Kind.UNPUBLISHED
    elif old["native_currency"] == new["native_currency"]:
        native = percent(*(_native_per_gpu(each) for each in (old, new)))
    yield Change(kind, **{**about, "native_percent": native})


def _of_age(old: Row, new: Row, about: Row, today: date | None) -> Iterator[Change]:
    """The price grew too old to rank, or is current again: a rank moves by that alone."""
    if about["was"] is None or about["now"] is None or old["outdated"] == new["outdated"]:
        return
    said = {"was": CURRENT, "now": OUTDATED, "seen": today}
    if old["outdated"]:
        said = {"was": OUTDATED, "now": CURRENT, "seen": about["seen"]}
    yield Change(Kind.FRESHNESS, **{**about, **said})


def _of_stock(old: Row, new: Row, about: Row) -> Iterator[Change]:
    if {old["available"], new["available"]} == {True, False}:
        yield Change(Kind.STOCK, **{**about, "was": old["available"], "now": new["available"]})


def _asked_amount(offer: Row) -> tuple[Any, ...]:
    return _native_per_gpu(offer), offer["native_currency"], offer["usd_per_gpu_hour"] is None


def _native_per_gpu(offer: Row) -> Decimal | None:
    """What is asked for one GPU: of fewer GPUs at one price each costs more."""
    amount = offer["native_amount"]
    return amount and Decimal(str(amount)) / Decimal(str(offer["gpu_count"] or 1))


def _amount(offer: Row | None, money: Money) -> Any:
    """Per GPU and hour in the comparison's currency; None where it is not published."""
    usd = offer and offer["usd_per_gpu_hour"]
    return usd and money.exactly(usd, offer or {})


def _price_said(offer: Row | None) -> dict[str, Any]:
    if offer is None or offer["native_amount"] is None:
        return {}
    return {"source": offer["source_url"], "basis": None, "checked": offer["collected_at"]}


# --- Facts ------------------------------------------------------------------------------------


def _of_facts(
    before: Mapping[str, Row], after: Mapping[str, Row], was: Row, now: Row, effects: "Effects"
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
            kept = all(_keeps(each[key], name) for each in (before, after))
            elsewhere = another(old, new) or moved(old, new)
            if elsewhere and then.get("value") == this.get("value"):
                continue  # of the type nothing else is known: one offer of it has more
            if same or not kept or line in told:
                continue
            told.add(line)
            yield Change(
                Kind.FACT, key, named(new, hardware=True), name, line[2], line[3], then, this,
                seen=day_of(this.get("checked")) or effects.today, effects=effects.of(key),
            )  # fmt: skip


def _keeps(entry: Row, name: str) -> bool:
    """Whether an answer has a column for it: one of an older version may have none."""
    return name in entry["offer"] and name not in entry.get("not_kept", ())


def _speaking(said: Row) -> Row:
    return said if said.get("value") is not None else {}


def _claimed(said: Row) -> list[str]:
    """The values that sources disagree on; none where they agree."""
    return claimed(said) if said.get("disputed") else []


# --- Ranks and costs --------------------------------------------------------------------------


def _of_rank(
    key: str, before: Mapping[str, Row], after: Mapping[str, Row], effects: "Effects"
) -> Iterator[Change]:
    """Of each workload one, as each has ranks of its own."""
    if key not in before or key not in after:
        return
    for each in effects.of(key):
        if each.moved:
            yield Change(
                Kind.RANK, key, named(after[key]["offer"]), "", each.rank_was, each.rank_now,
                workload=each.workload if effects.several else "",
                seen=effects.today, effects=(each,),
            )  # fmt: skip


# --- In words ---------------------------------------------------------------------------------


def named(offer: Row, *, hardware: bool = False) -> dict[str, Any]:
    """What tells an offer from the others; of hardware, the type alone."""
    keys = ("provider", "provider_title", "instance_type")
    return {key: offer[key] for key in keys} | (
        {} if hardware else {key: offer[key] for key in ("region", "tier", "price_model", "via")}
    )


def summary(found: Iterable[Change]) -> str:
    """How much changed, in one sentence without its full stop."""
    return counted(Counter(str(change.kind) for change in found))


def counted(kinds: Mapping[str, int]) -> str:
    """The same of how many changes there are of each kind."""
    count = {kind: kinds.get(kind, 0) for kind in Kind}
    prices = sum(count[kind] for kind in PRICES)
    apart = count[Kind.INCOMPARABLE]
    said = [
        ngettext("%(n)s price", "%(n)s prices", prices) % {"n": number(prices)} if prices else "",
        ngettext("%(n)s fact", "%(n)s facts", count[Kind.FACT]) % {"n": number(count[Kind.FACT])}
        if count[Kind.FACT]
        else "",
        ngettext("%(n)s age of a price", "%(n)s ages of prices", count[Kind.FRESHNESS])
        % {"n": number(count[Kind.FRESHNESS])}
        if count[Kind.FRESHNESS]
        else "",
        wording.unknown_of("available") if count[Kind.STOCK] else "",
        gettext("%(n)s new") % {"n": count[Kind.NEW]} if count[Kind.NEW] else "",
        gettext("%(n)s gone") % {"n": count[Kind.GONE]} if count[Kind.GONE] else "",
        gettext("%(n)s with nothing to compare it to") % {"n": number(apart)} if apart else "",
        ngettext("%(n)s rank", "%(n)s ranks", count[Kind.RANK]) % {"n": number(count[Kind.RANK])}
        if count[Kind.RANK]
        else "",
        gettext("the cost model") if count[Kind.MODEL] else "",
        gettext("the question") if count[Kind.QUESTION] else "",
    ]
    return gettext(", ").join(filter(None, said))

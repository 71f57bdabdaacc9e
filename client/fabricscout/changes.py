"""What changed between two moments: the offers of each (`as_of`), held side by side."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, TypedDict

from fabricscout.answers import Offer
from fabricscout.connection import Value
from fabricscout.errors import asked_as

Moment = str | date  # a datetime, too; a day is its last moment
IDENTITY = ("provider", "via", "instance_type", "region", "tier", "price_model")
SHOWN = (*IDENTITY, "usd_per_gpu_hour", "collected_at", "source_url")


class Change(TypedDict):
    """One offer that is new, gone, or priced otherwise.

    A price is None where the offer was not listed or its price not published: never zero. `rise`
    is now ÷ was − 1, None where either is. Source and time are of the latter price, of the former
    where it is gone.
    """

    what: Literal["price", "new", "gone"]
    provider: str
    via: str | None
    instance_type: str
    region: str | None
    tier: str | None
    price_model: str
    was_usd_per_gpu_hour: str | None
    now_usd_per_gpu_hour: str | None
    rise: float | None
    collected_at: str
    source_url: str


@dataclass(frozen=True, slots=True)
class Held:
    """What came of holding two moments side by side."""

    changes: list[Change]  # the steepest rise first
    compared: int  # offers that had a price at both

    @property
    def largest_rise(self) -> Decimal | None:
        """Of the prices compared, 0 where none rose; None where none was compared."""
        rises = [rise for each in self.changes if (rise := risen(each)) is not None]
        return max([*rises, Decimal(0)]) if self.compared else None


def changes(
    offers: Callable[..., Iterable[Offer]],
    since: Moment,
    until: Moment | None = None,
    **filters: Value | None,
) -> list[Change]:
    """What changed from `since` to `until` (None: now), the steepest rise first; as `held`."""
    return held(offers, since, until, **filters).changes


def held(
    offers: Callable[..., Iterable[Offer]],
    since: Moment,
    until: Moment | None = None,
    **filters: Value | None,
) -> Held:
    """The offers of `since` against those of `until` (None: now).

    Parameters
    ----------
    offers
        A client's method of that name.
    filters
        Parameters of `offers`; an offer that no longer passes them is gone. `rows="type"` holds
        the lowest price of each type against the lowest there was, wherever it is.

    Raises
    ------
    FabricScoutError
        As `offers` does.
    """
    asked = {"rows": "region", **filters, "fields": SHOWN}
    keys = tuple(key for key in IDENTITY if key != "region" or asked["rows"] == "region")

    def of(name: str, moment: Moment | None) -> dict[tuple[object, ...], Offer]:
        with asked_as(as_of=name):
            found = offers(**{**asked, "as_of": moment})
        return {tuple(offer[key] for key in keys): offer for offer in found}  # type: ignore[literal-required]

    before, after = of("since", since), of("until", until)
    both = ((before[key], after[key]) for key in before.keys() & after.keys())
    rises = (_rise(was["usd_per_gpu_hour"], now["usd_per_gpu_hour"]) for was, now in both)
    compared = sum(rise is not None for rise in rises)
    return Held(sorted(_differences(before, after), key=_steepest_first), compared)


def _differences(
    before: Mapping[tuple[object, ...], Offer], after: Mapping[tuple[object, ...], Offer]
) -> Iterator[Change]:
    for key in before.keys() | after.keys():
        was, now = before.get(key), after.get(key)
        if was is None and now is not None:
            yield _change("new", now, None, now["usd_per_gpu_hour"])
        elif was is not None and now is None:
            yield _change("gone", was, was["usd_per_gpu_hour"], None)
        elif was and now and was["usd_per_gpu_hour"] != now["usd_per_gpu_hour"]:
            yield _change("price", now, was["usd_per_gpu_hour"], now["usd_per_gpu_hour"])


def _change(
    what: Literal["price", "new", "gone"], offer: Offer, was: str | None, now: str | None
) -> Change:
    rise = _rise(was, now)
    return {
        "what": what,
        "provider": offer["provider"],
        "via": offer["via"],
        "instance_type": offer["instance_type"],
        "region": offer["region"],
        "tier": offer["tier"],
        "price_model": offer["price_model"],
        "was_usd_per_gpu_hour": was,
        "now_usd_per_gpu_hour": now,
        "rise": None if rise is None else float(rise),
        "collected_at": offer["collected_at"],
        "source_url": offer["source_url"],
    }


def risen(change: Change) -> Decimal | None:
    """The `rise` of a change as a decimal, which a limit can be held against."""
    return _rise(change["was_usd_per_gpu_hour"], change["now_usd_per_gpu_hour"])


def _rise(was: str | None, now: str | None) -> Decimal | None:
    if was is None or now is None or not Decimal(was):
        return None
    return (Decimal(now) - Decimal(was)) / Decimal(was)


def _steepest_first(change: Change) -> tuple[object, ...]:
    rise = change["rise"]
    return (rise is None, -(rise or 0), change["what"], *(str(change[key]) for key in IDENTITY))  # type: ignore[literal-required]

"""What foreign money is worth: reference rates taken in, each dated, one far from the last refused.

Rates are kept by currency and day and never rewritten. A price is told in dollars at the newest
rate of the time when it is read, and names that rate's day: a list that is read again moves its
dollars, and begins no price period, since what the provider asks has not changed. A dated price
of the bundled catalog has the rate of its day.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from django.db import connection
from django.db.models import Max
from django.db.models.functions import Now

from catalog.models import CatalogVersion, Rate, RateReading, ReadingState

FAR_PERCENT = 20  # from a currency's last rate: a wrong column or a wrong unit, not a market
AGAIN = timedelta(hours=6)  # after a good reading; a day's rates come once, about 16:00 CET
SOON = timedelta(hours=1)  # after any other
KEPT = timedelta(days=30)
GOOD = (ReadingState.ACCEPTED, ReadingState.UNCHANGED)


@dataclass(frozen=True, slots=True)
class Sheet:
    """The reference rates of one day: US dollars for one unit, by currency."""

    day: date
    usd_per_unit: Mapping[str, Decimal]
    source: str


@dataclass(frozen=True, slots=True)
class Standing:
    """The day of the newest rates, and why the last reading brought none, if so."""

    day: date | None
    why: str


def standing() -> Standing:
    """What the providers page says of the rates."""
    last = RateReading.objects.order_by("-begun_at", "-id").first()
    why = last.reason if last and last.state not in GOOD else ""
    return Standing(Rate.objects.aggregate(day=Max("day"))["day"], why)


def is_due() -> bool:
    """Whether the rates should be read now, by the database's clock."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select not exists (select from catalog_ratereading where "
            "begun_at > clock_timestamp() "
            "- case when state = any(%s) then %s::interval else %s::interval end)",
            [[state.value for state in GOOD], str(AGAIN), str(SOON)],
        )
        return bool(cursor.fetchone()[0])


def begin() -> RateReading:
    """A new reading; what is older than KEPT is let go."""
    RateReading.objects.filter(begun_at__lt=Now() - KEPT).delete()
    reading = RateReading(begun_at=Now())
    reading.save()
    reading.refresh_from_db()
    return reading


def end(reading: RateReading, state: ReadingState, reason: str) -> RateReading:
    """Write what became of a reading."""
    reading.state, reading.reason = state.value, reason[:1000]
    reading.save()
    return reading


def accept(reading: RateReading, sheet: Sheet, *, believe: bool = False) -> RateReading:
    """Take the rates that can be believed; the reading says what became of the others.

    A currency whose rate is more than FAR_PERCENT from its last one keeps that, with its date,
    unless a person says that it is true (`believe`): `manage.py rates --believe`.
    """
    last = newest()
    later = {
        currency: usd
        for currency, usd in sheet.usd_per_unit.items()
        if currency not in last or last[currency].day < sheet.day
    }
    far = {
        currency: usd
        for currency, usd in later.items()
        if currency in last and not believe and _far(usd, last[currency])
    }
    taken = sorted(later.keys() - far.keys())
    Rate.objects.bulk_create(
        [Rate(currency=name, usd_per_unit=later[name], day=sheet.day, source=sheet.source)
         for name in taken],
        ignore_conflicts=True,  # another worker has just read the same file
    )  # fmt: skip
    if taken:
        CatalogVersion.advance()  # what is told in another currency is told anew
    reading.day = sheet.day
    reason = "; ".join(_refusal(usd, last[name]) for name, usd in sorted(far.items()))
    if not later:
        newest_day = max(last[currency].day for currency in sheet.usd_per_unit)
        read = "" if newest_day == sheet.day else f" What was read is of {sheet.day}: no newer."
        return end(reading, ReadingState.UNCHANGED, f"The newest rates are of {newest_day}.{read}")
    return end(reading, ReadingState.ACCEPTED if taken else ReadingState.REFUSED, reason)


def newest() -> dict[str, Rate]:
    """The last rate of each currency."""
    days = dict(Rate.objects.values_list("currency").annotate(Max("day")))
    return {rate.currency: rate for rate in Rate.objects.all() if days[rate.currency] == rate.day}


def _far(usd: Decimal, last: Rate) -> bool:
    return abs(usd - last.usd_per_unit) * 100 > FAR_PERCENT * last.usd_per_unit


def _refusal(usd: Decimal, last: Rate) -> str:
    return (
        f"{last.currency} at US$ {usd:.6f} is more than {FAR_PERCENT} % from "
        f"{last.usd_per_unit:.6f} of {last.day}: not taken"
    )

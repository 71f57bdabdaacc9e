"""The euro's reference rates, from the European Central Bank's daily file, as US dollars a unit.

File: https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml
      https://www.ecb.europa.eu/stats/policy_and_exchange_rates/euro_reference_exchange_rates/
      (read 2026-11-29)

- A `Cube` with a `time` is a day, the ones inside it a `currency` and its `rate`: units for one
  euro. So one unit is worth the dollar's rate over its own, and one euro the dollar's rate itself.
- Published on working days, about 16:00 CET: on others the file names an earlier day.
"""

import os
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from xml.etree import ElementTree as ET

from catalog import exchange
from catalog.connections import stand_ins_from
from catalog.exchange import Sheet
from catalog.models import RateReading, ReadingState
from scrapers.fields import Unreadable
from scrapers.http import FetchFailed, Http

ADDRESS = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"
CUBE = "{http://www.ecb.int/vocabulary/2002-08-01/eurofxref}Cube"
LARGEST = 2**18  # [B]; the file has two thousand
SECONDS = 30.0
LEAST, MOST = Decimal("1e-6"), Decimal("1e4")  # US dollars for a unit of any money
PLACES = Decimal("1e-10")


def refresh(*, believe: bool = False) -> RateReading:
    """Fetch the day's rates and take them in; the reading says what became of it."""
    reading = exchange.begin()
    try:
        with Http(
            stand_ins=stand_ins_from(os.environ), size=LARGEST, deadline=SECONDS, budget=SECONDS
        ) as http:
            body = http.get(ADDRESS).body
    except FetchFailed as problem:
        return exchange.end(reading, ReadingState.FAILED, str(problem))
    return take(body, reading, believe=believe)


def take(body: bytes, reading: RateReading, *, believe: bool = False) -> RateReading:
    """Take in what a file says; one that cannot be read is kept, with the reason."""
    reading.body = body
    try:
        sheet = parse(body, datetime.now(UTC).date())
    except Unreadable as problem:
        return exchange.end(reading, ReadingState.REFUSED, str(problem))
    return exchange.accept(reading, sheet, believe=believe)


def parse(body: bytes, today: date) -> Sheet:
    """The rates of the newest day of a file.

    Raises
    ------
    Unreadable
        It is no such file, or names a day to come; or one of its rates is no rate: a file that is
        wrong in one place is not believed in another.
    """
    days = [(_day(cube), cube) for cube in _root(body).iter(CUBE) if cube.get("time")]
    if not days:
        raise Unreadable("The file names no day.")
    day, cube = max(days, key=lambda dated: dated[0])
    if day > today + timedelta(days=1):
        raise Unreadable(f"The file is of {day}, a day to come.")
    per_euro: dict[str, Decimal] = {}
    for line in cube.iter(CUBE):
        if (currency := line.get("currency")) is None:
            continue
        if currency in per_euro:
            raise Unreadable(f"The file has two rates of {currency[:10]}.")
        per_euro[currency] = _rate(currency, line.get("rate", ""))
    if "USD" not in per_euro:
        raise Unreadable("The file has no rate of the US dollar.")
    dollars = per_euro.pop("USD")
    usd = {name: (dollars / rate).quantize(PLACES) for name, rate in per_euro.items()}
    usd["EUR"] = dollars
    if wrong := next((name for name, worth in usd.items() if not LEAST < worth < MOST), None):
        raise Unreadable(f"One {wrong} cannot be worth US$ {usd[wrong]}.")
    return Sheet(day, usd, f"{ADDRESS} (EUR 1 = USD {dollars})")


def _root(body: bytes) -> ET.Element:
    if b"<!" in body.replace(b"<!--", b""):
        raise Unreadable("The file declares a document type or entities: it is not read.")
    try:
        return ET.fromstring(body)  # noqa: S314 -- no entity, and LARGEST bytes at most
    except (ET.ParseError, ValueError, LookupError) as problem:
        raise Unreadable(f"The file is not XML: {str(problem)[:120]}.") from None


def _day(cube: ET.Element) -> date:
    text = cube.get("time", "")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Unreadable(f"{text[:20]!r} is not a day.") from None


def _rate(currency: str, text: str) -> Decimal:
    try:
        rate = Decimal(text) if len(text) <= 20 else Decimal("NaN")
    except InvalidOperation:
        rate = Decimal("NaN")
    if len(currency) != 3 or not (currency.isascii() and currency.isupper()):
        raise Unreadable(f"{currency[:10]!r} is not a currency.")
    if not rate.is_finite() or not LEAST < rate < 1 / LEAST:
        raise Unreadable(f"{currency}: {text[:20]!r} is not a rate.")
    return rate

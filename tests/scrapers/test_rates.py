"""The euro's reference rates: a day's file taken in, and every way in which one may be wrong."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from catalog import exchange
from catalog.models import Offer, Price, Rate, RateReading
from catalog.records import OfferRecord
from scrapers import rates, runs
from scrapers.fields import Unreadable
from scrapers.http import Http
from tests.catalog.conftest import offer, scrape
from tests.scrapers.loopback import Answer, serve

FILE = Path(__file__).parent.parent / "payloads" / "ecb.xml"
DAY, BEFORE = date(2026, 11, 27), date(2026, 10, 9)
Take = Callable[..., RateReading]


def file(*edits: tuple[str, str]) -> bytes:
    """The recorded file with some of its words changed."""
    text = FILE.read_text()
    for old, new in edits:
        assert old in text
        text = text.replace(old, new)
    return text.encode()


# --- Reading ----------------------------------------------------------------------------------


def test_units_for_a_euro_become_dollars_for_a_unit() -> None:
    sheet = rates.parse(file(), DAY)
    assert sheet.day == DAY
    assert sheet.usd_per_unit["EUR"] == Decimal("1.2")  # EUR 1 = USD 1.2
    assert sheet.usd_per_unit["GBP"] == Decimal("1.5")  # 1.2 / 0.8
    assert round(sheet.usd_per_unit["JPY"], 6) == Decimal("0.006667")  # 1.2 / 180
    assert "USD" not in sheet.usd_per_unit


def test_of_several_days_the_newest_counts() -> None:
    older = "<Cube time='2026-11-26'><Cube currency='USD' rate='1.1'/></Cube>"
    both = file(("\t</Cube>\n</gesmes:Envelope>", f"{older}\t</Cube>\n</gesmes:Envelope>"))
    assert rates.parse(both, DAY).usd_per_unit["EUR"] == Decimal("1.2")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "not XML"),
        (b"<html>maintenance", "not XML"),
        (file()[:400], "not XML"),
        (b"<?xml version='1.0'?><Envelope/>", "names no day"),
        (file(("2026-11-27", "27 November")), "not a day"),
        (file(("2026-11-27", "2027-11-27")), "a day to come"),
        (file(("1.2000", "0")), "USD: '0' is not a rate"),
        (file(("180.00", "NaN")), "JPY: 'NaN' is not a rate"),
        (file(("0.80000", "")), "GBP: '' is not a rate"),
        (file(("108.0000", "-108")), "INR: '-108' is not a rate"),
        (file(("108.0000", "1e999999")), "INR: '1e999999' is not a rate"),
        (file(("'USD'", "'XAU'")), "no rate of the US dollar"),
        (file(("'SEK'", "'JPY'")), "two rates of JPY"),
        (file(("'SEK'", "'sek'")), "'sek' is not a currency"),
        (file(("<gesmes:Envelope", "<!DOCTYPE a [<!ENTITY b 'c'>]><gesmes:Envelope")), "entities"),
    ],
)
def test_a_file_that_is_wrong_anywhere_is_not_read(body: bytes, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        rates.parse(body, DAY)


# --- Taking in --------------------------------------------------------------------------------


@pytest.fixture
def take(db: None) -> Take:
    """Take in a file; the rates of October are there."""
    last = {"EUR": "1.12", "GBP": "1.4", "INR": "0.0110", "JPY": "0.0066"}
    for currency, usd in last.items():
        Rate.objects.create(currency=currency, usd_per_unit=usd, day=BEFORE, source="bundled")
    return lambda *edits, **how: rates.take(file(*edits), exchange.begin(), **how)


def newest(currency: str) -> tuple[date, Decimal]:
    rate = exchange.newest()[currency]
    return rate.day, rate.usd_per_unit


def test_a_days_rates_are_kept_beside_the_older_ones(take: Take) -> None:
    reading = take()
    assert (reading.state, reading.day, reading.reason) == ("accepted", DAY, "")
    assert newest("EUR") == (DAY, Decimal("1.2"))
    assert newest("SEK") == (DAY, Decimal("0.1111111111"))  # a currency that was not there
    assert Rate.objects.filter(currency="EUR").count() == 2
    assert "EUR 1 = USD 1.2" in exchange.newest()["GBP"].source


def test_the_same_day_again_changes_nothing(take: Take) -> None:
    take()
    again = take(("0.80000", "0.81000"))
    assert again.state == "unchanged"
    assert newest("GBP") == (DAY, Decimal("1.5"))


def test_an_older_file_is_told_beside_the_day_of_our_own(take: Take) -> None:
    take()
    reading = take(("2026-11-27", "2026-10-08"))
    assert reading.state == "unchanged"
    assert reading.reason == (
        "The newest rates are of 2026-11-27. What was read is of 2026-10-08: no newer."
    )


def test_an_earlier_day_changes_nothing(take: Take) -> None:
    assert take(("2026-11-27", "2026-10-08")).state == "accepted"  # of the krona it is the first
    assert newest("EUR") == (BEFORE, Decimal("1.12"))


def test_a_rate_that_jumps_is_refused_alone_until_a_person_believes_it(take: Take) -> None:
    reading = take(("180.00", "1.80"))
    assert (reading.state, newest("GBP")[0]) == ("accepted", DAY)
    assert "JPY at US$ 0.666667 is more than 20 % from 0.006600 of 2026-10-09" in reading.reason
    assert newest("JPY") == (BEFORE, Decimal("0.0066"))
    take(("180.00", "1.80"), believe=True)
    assert newest("JPY")[0] == DAY


def test_a_wrong_dollar_moves_them_all_and_none_is_taken(take: Take) -> None:
    take()
    reading = take(("1.2000", "120"), ("2026-11-27", "2026-11-28"))
    assert reading.state == "refused"
    assert set(Rate.objects.filter(day=date(2026, 11, 28))) == set()


def test_what_cannot_be_read_is_kept_with_the_reason(take: Take) -> None:
    reading = take(("1.2000", "0"))
    reading.refresh_from_db()
    assert reading.state == "refused"
    assert "USD" in reading.reason
    assert bytes(reading.body) == file(("1.2000", "0"))
    assert newest("EUR") == (BEFORE, Decimal("1.12"))


def test_the_command_says_what_became_of_a_file(take: Take, tmp_path: Path) -> None:
    said = StringIO()
    call_command("rates", "--from", str(FILE), stdout=said)
    assert said.getvalue() == "rates: accepted.\n"
    (tmp_path / "cut.xml").write_bytes(file()[:300])
    with pytest.raises(SystemExit):
        call_command("rates", "--from", str(tmp_path / "cut.xml"), stdout=said)
    assert "rates: refused. The file is not XML" in said.getvalue()


# --- When -------------------------------------------------------------------------------------


@pytest.fixture
def bank(db: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], RateReading]:
    """Read the rates from a bank that gives this answer."""

    def ask(answer: Answer) -> RateReading:
        with serve([answer]) as served:
            monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"https://www.ecb.europa.eu={served.url}")
            monkeypatch.setattr(
                rates, "Http", lambda **given: Http(**given, pace=0, sleep=lambda _s: None)
            )
            return rates.refresh()

    return ask


def test_the_bank_is_asked_again_when_its_rates_are_due(
    bank: Callable[[Answer], RateReading],
) -> None:
    assert exchange.is_due()
    assert bank(Answer(file())).state == "accepted"
    assert not exchange.is_due()
    RateReading.objects.update(begun_at="2026-01-01T00:00Z")
    assert exchange.is_due()


def test_a_bank_that_does_not_answer_leaves_the_last_rates(
    bank: Callable[[Answer], RateReading],
) -> None:
    bank(Answer(file()))
    reading = bank(Answer(b"gone", status=404))
    assert (reading.state, reading.reason) == ("failed", "www.ecb.europa.eu answers 404")
    assert newest("EUR") == (DAY, Decimal("1.2"))


# --- What follows -----------------------------------------------------------------------------


def in_euros(amount: str) -> OfferRecord:
    """An offer of this many euros, converted as a scrape of now converts it."""
    euros, rate = Decimal(amount), runs.rates()["EUR"]
    return offer(
        native_amount=euros,
        native_currency="EUR",
        usd_per_hour=euros * rate.usd,
        usd_rate=rate.usd,
        usd_rate_date=rate.day,
    )


def test_the_next_reading_of_a_list_moves_its_dollars_and_begins_no_price_period(
    take: Take,
) -> None:
    scrape([in_euros("10")])
    take()
    assert Offer.objects.get().usd_per_hour == Decimal("11.2")  # as it was read
    run = scrape([in_euros("10")], days=1)
    listed = Offer.objects.get()
    assert (listed.usd_per_hour, listed.usd_per_gpu_hour) == (12, Decimal("1.5"))
    assert (listed.usd_rate, listed.usd_rate_date) == (Decimal("1.2"), DAY)
    period = Price.objects.get()
    assert (period.valid_to, period.usd_per_hour) == (None, Decimal("11.2"))
    assert (period.usd_rate_date, run.offers_changed) == (BEFORE, 0)


def test_a_new_native_price_begins_a_period_at_the_new_rate(take: Take) -> None:
    scrape([in_euros("10")])
    take()
    scrape([in_euros("11")], days=1)
    old, new = Price.objects.order_by("valid_from")
    assert (old.native_amount, old.usd_rate_date) == (10, BEFORE)
    assert (new.native_amount, new.usd_rate_date) == (11, DAY)

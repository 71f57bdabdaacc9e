"""A price that jumps waits, the last good one stands; a list that shrinks or swells waits whole."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from catalog import rulings
from catalog.ingest import publish
from catalog.invariants import broken
from catalog.judgement import price_key
from catalog.models import Offer, Price, QuarantinedRow, Ruling, RunState, ScrapeRun, Verdict
from catalog.records import Gate, Normalised, OfferRecord, PriceModel, Rejected
from tests.catalog.conftest import DAY, MONDAY, begin, offer, scrape

pytestmark = pytest.mark.django_db
Offers = Callable[[], list[OfferRecord]]
FIRST = "h100x8-0"


@pytest.fixture(autouse=True)
def all_hold(db: None) -> Iterator[None]:
    """After every test of this file the invariants hold."""
    yield
    assert broken() == {}


def asks(usd: str, **fields: Any) -> list[OfferRecord]:
    """Ten offers, of which the first asks this much; on Monday it asked 20."""
    ten = [offer(f"h100x8-{n}", str(20 + n), **fields) for n in range(10)]
    return [replace(ten[0], native_amount=Decimal(usd), usd_per_hour=Decimal(usd)), *ten[1:]]


def price() -> Decimal:
    """What the catalog says that the first offer costs."""
    return Offer.objects.get(instance_type__name=FIRST).usd_per_hour


def jumped() -> QuarantinedRow:
    return QuarantinedRow.objects.filter(gate="price_jump").latest("collected_at")


# --- One price --------------------------------------------------------------------------------


@pytest.mark.parametrize(("usd", "times"), [("160", "8.0 times the"), ("2.5", "8.0 times below")])
def test_a_price_that_jumps_waits_and_the_last_good_one_stands(
    eight: Offers, usd: str, times: str
) -> None:
    scrape(eight())
    run = scrape(asks(usd), days=1)
    assert (run.state, run.accepted, run.quarantined, run.offers_ended) == ("unchanged", 9, 1, 0)
    assert (price(), Price.objects.count()) == (20, 10)
    row = jumped()
    assert row.reason.startswith(f"held: USD {usd} an hour is {times}")
    assert "USD 20 of 2026-11-23 12:00 UTC" in row.reason
    assert Offer.objects.get(instance_type__name=FIRST).collected_at == MONDAY, "with its age"


@pytest.mark.parametrize("again", ["160", "150"])
def test_the_next_list_confirms_it_even_at_nearly_the_same_price(eight: Offers, again: str) -> None:
    scrape(eight())
    scrape(asks("160"), days=1)
    run = scrape(asks(again), days=2)
    assert (run.state, run.quarantined, price()) == ("published", 0, Decimal(again))
    old, new = Price.objects.filter(offer__instance_type__name=FIRST).order_by("valid_from")
    assert (old.valid_to, new.valid_from) == (MONDAY + 2 * DAY, MONDAY + 2 * DAY)


def test_a_price_that_came_back_is_no_confirmation_of_the_next_jump(eight: Offers) -> None:
    scrape(eight())
    for day, usd in enumerate(["160", "20", "160"], 1):
        scrape(asks(usd), days=day)
    assert price() == 20


def test_another_jump_is_no_confirmation_of_the_first(eight: Offers) -> None:
    scrape(eight())
    scrape(asks("160"), days=1)
    assert scrape(asks("2000"), days=2).quarantined == 1
    assert price() == 20


def test_the_same_list_read_twice_does_not_confirm_itself(eight: Offers) -> None:
    scrape(eight())
    scrape(asks("160"), days=1)
    assert scrape(asks("160"), days=1).quarantined == 1
    assert price() == 20


@pytest.mark.parametrize(("usd", "waits"), [("40", False), ("40.01", True), ("10", False)])
def test_twice_as_much_is_no_jump_and_a_cent_more_is(eight: Offers, usd: str, waits: bool) -> None:
    scrape(eight())
    assert scrape(asks(usd), days=1).quarantined == int(waits)


@pytest.mark.parametrize(("usd", "waits"), [("80", False), ("80.01", True)])
def test_spot_prices_may_move_by_more(usd: str, waits: bool) -> None:
    scrape(asks("20", price_model=PriceModel.SPOT))
    run = scrape(asks(usd, price_model=PriceModel.SPOT), days=1)
    assert run.quarantined == int(waits)


def test_the_same_figure_in_another_currency_is_a_jump(eight: Offers) -> None:
    scrape(eight())
    yen = replace(eight()[0], native_currency="JPY", usd_per_hour=Decimal("0.13"))
    scrape([yen, *eight()[1:]], days=1)
    assert jumped().reason.startswith("held: JPY 20 an hour is in another currency than the USD 20")


def test_an_accepted_price_passes_and_a_refused_one_is_never_confirmed(eight: Offers) -> None:
    scrape(eight())
    scrape(asks("160"), days=1)
    ruling = {"provider_id": "acme", "key": jumped().key, "gate": "price_jump", "reason": "x"}
    said = Ruling.objects.create(**ruling, verdict=Verdict.REJECTED, decided_by="ada")
    assert scrape(asks("160"), days=2).quarantined == 1
    assert (price(), QuarantinedRow.objects.open().count()) == (20, 0)
    Ruling.objects.filter(pk=said.pk).update(verdict=Verdict.ACCEPTED)
    assert scrape(asks("160"), days=3).quarantined == 0
    assert price() == 160


def test_a_replay_mends_a_price_of_its_own_list_at_once(eight: Offers) -> None:
    first = scrape(asks("160"))
    run = scrape(asks("20"), replay_of=first)
    assert (run.state, price(), run.quarantined) == ("published", 20, 0)


def test_only_open_questions_of_the_newest_list_are_open(eight: Offers) -> None:
    scrape(eight())
    scrape(asks("160"), days=1)
    assert QuarantinedRow.objects.open().get() == jumped()
    scrape(eight(), days=2)
    assert not QuarantinedRow.objects.open().exists()


def test_each_part_of_a_list_has_its_own_newest_run(eight: Offers) -> None:
    """Where a provider is read region by region, one region's list says nothing of another's."""
    runs = [scrape(eight(), days=day) for day in range(3)]
    for run, part in zip(runs, ["oslo", "oslo", "rome"], strict=True):
        ScrapeRun.objects.filter(pk=run.pk).update(part=part)
        QuarantinedRow.objects.create(run=run, reason="no price", where=part, key=part)
    assert {row.run for row in QuarantinedRow.objects.open()} == set(runs[1:])
    assert {run.part for run in rulings.newest_lists(["acme"])} == {"oslo", "rome"}


def test_two_lists_that_differ_in_one_row_differ_in_one_offer(eight: Offers) -> None:
    scrape(eight())
    run = scrape(asks("21"), days=1)
    assert (run.offers_changed, run.offers_unchanged, run.offers_new, run.offers_ended) == (
        1, 9, 0, 0,
    )  # fmt: skip


# --- A whole list -----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 5, 20, 300])
def test_an_empty_list_then_a_tenth_then_ten_times_are_held_each_in_words(size: int) -> None:
    full = [offer(f"h100x8-{n}", "20") for n in range(size)]
    scrape(full)
    before = list(Offer.objects.values())
    many = [offer(f"h100x8-{n}", "20") for n in range(10 * size)]
    runs = [scrape([], days=1), scrape(full[: size // 10], days=2), scrape(many, days=3)]
    assert {run.state for run in runs} == {RunState.HELD}
    assert runs[0].reason == "The list is empty."
    assert runs[2].reason == f"{10 * size} offers came where {size} are listed, more than 5 times."
    if size >= 10:
        gone = size - size // 10
        assert runs[1].reason == f"{gone} of {size} listed offers are gone, more than 30 %."
    assert list(Offer.objects.values()) == before


@pytest.mark.parametrize(("times", "state"), [(2, "unchanged"), (10, "held")])
def test_ten_times_the_rows_are_held_even_where_they_only_repeat_each_other(
    eight: Offers, times: int, state: str
) -> None:
    scrape(eight())
    run = begin(collected_at=MONDAY)
    rows = Normalised(eight())
    rows.ignored["the same offer at the same price again"] = 10 * (times - 1)
    publish(run, rows, run.epoch)
    assert run.state == state
    assert ("100 rows came where 10 were read before" in run.reason) == (state == "held")


def test_a_provider_of_two_offers_can_change_one_of_them() -> None:
    two = [offer("a", "20"), offer("b", "20")]
    scrape(two)
    for day, state in ((1, "unchanged"), (2, "published")):
        cheaper = replace(two[0], native_amount=Decimal(8), usd_per_hour=Decimal(8))
        assert scrape([cheaper, two[1]], days=day).state == state
    assert Offer.objects.get(instance_type__name="a").usd_per_hour == 8


def test_two_offers_that_become_six_are_no_flood() -> None:
    scrape([offer("a"), offer("b")])
    assert scrape([offer(name) for name in "abcdef"], days=1).state == "published"


def doubted(record: OfferRecord) -> Rejected:
    place = record.instance_type
    key = price_key(record)
    return Rejected("held", place, "{}", Gate.PRICE_BAND, key, "1", (record.identity,))


@pytest.mark.parametrize(("rows", "state"), [(3, "unchanged"), (4, "held")])
def test_doubted_rows_keep_their_offers_and_too_many_hold_the_list(
    eight: Offers, rows: int, state: str
) -> None:
    scrape(eight())
    run = begin(collected_at=MONDAY + DAY)
    later = [replace(o, collected_at=MONDAY + DAY) for o in eight()[rows:]]
    publish(run, Normalised(later, [doubted(o) for o in eight()[:rows]]), run.epoch)
    assert (run.state, run.offers_ended, run.quarantined) == (state, 0, rows)
    assert Offer.objects.listed().count() == 10

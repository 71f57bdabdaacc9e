"""What is no change of one offer's price: another offer, another region, an age, others' doings."""

import csv
import io
from datetime import UTC, datetime

import pytest

from catalog.records import NO_PRICE_FOUND, PriceModel
from comparisons import exports, runs
from comparisons.changes import Change, Kind, changes, summary
from comparisons.models import Run
from tests.catalog.conftest import scrape
from tests.comparisons.conftest import DAY, IB, MONDAY, PICKS, facts, offer


def causes(run: Run, key: str) -> list[Change]:
    return [each for each in runs.since(run) if each.key == key and each.kind is not Kind.RANK]


def rank_of(run: Run, key: str) -> Change:
    return next(each for each in runs.since(run) if each.key == key and each.kind is Kind.RANK)


def roce(usd: str, region: str):
    known = facts("acme/roce", fabric="roce", fabric_gbits_per_s=1600)
    return offer("roce", usd, region=region, facts=known)


def test_another_price_model_is_another_offer(saved, market):
    """On demand ends, spot remains: nobody lowered a price, and nothing is saved."""
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, ib=None)
    run = runs.refresh(comparison)
    gone, new = causes(run, "acme/ib")
    assert (gone.kind, gone.offer["price_model"], gone.was, gone.now) == (
        Kind.GONE, "on_demand", "3", None,
    )  # fmt: skip
    assert (new.kind, new.offer["price_model"], new.was, new.now) == (Kind.NEW, "spot", None, "1.5")
    assert (gone.was_text, gone.now_text) == ("$3.00", "another offer has this place")
    assert (new.was_text, new.now_text) == ("another offer has this place", "$1.50")
    assert (gone.what, new.what) == ("Offer, on demand", "Offer, spot")
    assert (gone.delta_percent, new.delta_percent) == (None, None)
    assert (gone.others, new.others) == (0, 0)
    assert gone.effect == "rank 3 → –"
    assert new.effect == "rank – → 3"
    assert [each.usd_percent for each in (*gone.effects, *new.effects)] == [None, None]
    assert {each.as_json()["status"] for each in (gone, new)} == {"replaced"}
    assert summary(runs.since(run)).startswith("1 new, 1 gone")


def test_another_tier_is_another_offer(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    shared = offer("dark", "6", facts=facts("acme/dark"), tier="shared")
    market(days=1, dark=None, more=(shared,))
    found = causes(runs.refresh(comparison), "acme/dark")
    assert [(each.kind, each.offer["tier"]) for each in found] == [
        (Kind.GONE, None), (Kind.NEW, "shared"),
    ]  # fmt: skip


@pytest.mark.parametrize("how", [{}, {"picks": [], "filter": {"price_model": "on_demand"}}])
def test_the_lowest_price_of_another_region_is_told_as_that(saved, market, how):
    market(days=1, roce=None, more=(roce("16", "oslo"), roce("20", "tokyo")))
    comparison = saved(**how)
    runs.refresh(comparison)
    market(days=2, roce=None, more=(roce("20", "tokyo"),))
    run = runs.refresh(comparison)
    (change,) = (each for each in runs.since(run) if each.kind is not Kind.RANK)
    assert (change.kind, change.was, change.now) == (Kind.MOVED, "2", "2.5")
    assert (change.was_text, change.now_text) == ("$2.00 in oslo", "$2.50 in tokyo")
    assert change.what == "Lowest price of any region, $ per GPU-hour"
    assert change.delta_percent == 25
    assert "cost of work +25 %" in change.effect
    said = change.as_json()
    assert (said["kind"], said["was_region"], said["now_region"]) == ("moved", "oslo", "tokyo")
    (line,) = exports.of_changes([change])
    assert (line["was"], line["now"]) == ("$2.00 in oslo", "$2.50 in tokyo")
    assert (line["was_region"], line["now_region"]) == ("oslo", "tokyo")
    assert summary([change]) == "1 price"


def test_page_print_and_file_name_both_regions(saved, market, as_ada):
    market(days=1, roce=None, more=(roce("16", "oslo"), roce("20", "tokyo")))
    comparison = saved()
    runs.refresh(comparison)
    market(days=2, roce=None, more=(roce("20", "tokyo"),))
    runs.refresh(comparison)
    page = f"/comparisons/{comparison.pk}/"
    for address in (page, f"{page}print/"):
        html = as_ada.get(address).content.decode()
        assert "$2.00 in oslo" in html
        assert "$2.50 in tokyo" in html
    text = as_ada.get(f"/api/v1{page}diff/?format=csv").content.decode()
    (line, *_ranks) = csv.DictReader(io.StringIO(text))
    assert (line["kind"], line["was_region"], line["now_region"]) == ("moved", "oslo", "tokyo")


def test_the_same_offer_that_is_dearer_is_a_price(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, roce="20")
    (change,) = causes(runs.refresh(comparison), "acme/roce")
    assert change.kind is Kind.PRICE
    assert (change.as_json()["was_region"], change.now_text) == (None, "$2.50")


def test_a_fact_of_one_region_is_no_change_of_the_type(saved, market):
    """What is said of tokyo alone was as true before the lowest price was there."""
    market(days=1, roce=None, more=(roce("16", "oslo"), roce("20", "tokyo")))
    comparison = saved()
    first = runs.refresh(comparison).results
    market(days=2, roce=None, more=(roce("20", "tokyo"),))
    second = runs.refresh(comparison).results
    second["offers"][1]["offer"]["fabric_gbits_per_s"] = 800
    assert [c.kind for c in changes(first, second) if c.kind is not Kind.RANK] == [Kind.MOVED]


def test_a_type_of_which_no_price_is_found_any_more_is_gone(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    known = offer("dark", None, facts=facts("acme/dark"), price_note=NO_PRICE_FOUND,
                  price_model=PriceModel.QUOTE)  # fmt: skip
    market(days=1, dark=None, more=(known,))
    run = runs.refresh(comparison)
    (change,) = causes(run, "acme/dark")
    assert (change.kind, change.was, change.now) == (Kind.GONE, "1", None)
    words = "not offered: the type is known, nobody's price for it is listed"
    assert change.now_text == words
    assert change.as_json()["status"] == "no_price"
    market(days=2)
    (change,) = causes(runs.refresh(comparison), "acme/dark")
    assert (change.kind, change.was_text, change.now_text) == (Kind.NEW, words, "$1.00")


@pytest.fixture
def aged(saved, market):
    """Two runs: the cheapest offer's price was too old to rank, and is current again."""
    today = (datetime.now(UTC) - MONDAY) / DAY - 0.01
    cheap = offer("cheap", "4", provider="bolt", facts=facts("bolt/cheap", **IB))
    market(days=today - 0.1)
    scrape([cheap], lister="bolt", days=today - 60)
    comparison = saved(picks=[*PICKS, "bolt/cheap"])
    runs.make(comparison)
    scrape([cheap], lister="bolt", days=today)
    return runs.make(comparison)


def test_a_price_that_is_current_again_is_a_cause(aged):
    (change,) = (each for each in runs.since(aged) if each.kind is not Kind.RANK)
    assert (change.kind, change.key, change.was, change.now) == (
        Kind.FRESHNESS, "bolt/cheap", "outdated", "current",
    )  # fmt: skip
    assert change.was_text.startswith("too old to rank beside fresh ones, seen on 20")
    assert change.now_text.startswith("fresh enough to rank, seen on 20")
    assert (change.effect, change.others) == ("rank 4 → 1", 0)
    assert rank_of(aged, "acme/dark").effect == "rank 1 → 2 because of other offers"
    assert summary(runs.since(aged)) == "1 age of a price, 4 ranks"


def test_a_price_that_grew_too_old_is_a_cause(aged):
    found = changes(aged.results, runs.before(aged).results)
    (change,) = (each for each in found if each.kind is not Kind.RANK)
    assert (change.kind, change.was, change.now) == (Kind.FRESHNESS, "current", "outdated")
    assert change.effect == "rank 1 → 4"


def test_where_old_prices_rank_beside_fresh_ones_their_age_is_no_cause(aged):
    was, now = runs.before(aged).results, aged.results
    for each in (was, now):
        each["asked"]["filter"] = {"include_stale": True}
    assert Kind.FRESHNESS not in {each.kind for each in changes(was, now)}


def test_an_answer_that_kept_no_age_tells_no_change_of_it(aged):
    was = runs.before(aged).results
    for each in was["offers"]:
        each["not_kept"] = ["outdated"]
    assert Kind.FRESHNESS not in {each.kind for each in changes(was, aged.results)}


def test_a_rank_that_others_moved_is_credited_to_no_change_of_the_offer(saved, market):
    """A fact of the first is found out, and another gets cheaper: it is second by the other's."""
    market(days=1, dark="10")
    comparison = saved()
    runs.refresh(comparison)
    known = offer("dark", "10", facts=facts("acme/dark", vcpus=96))
    market(days=2, roce="9", dark=None, more=(known,))
    run = runs.refresh(comparison)
    (fact,) = causes(run, "acme/dark")
    assert (fact.kind, fact.effect) == (Kind.FACT, "rank 1 → 2 because of other offers")
    (cheaper,) = causes(run, "acme/roce")
    assert cheaper.effect == "rank 2 → 1, cost of work −44 %"
    assert [each.rank_alone for each in (*fact.effects, *cheaper.effects)] == [1, 1]
    assert fact.as_json()["effects"][0]["rank_alone"] == 1


def test_a_rank_that_an_offer_and_others_moved_says_how_far_it_went_by_itself(saved, market):
    market(days=1, dark="10")
    comparison = saved()
    runs.refresh(comparison)
    market(days=2, dark="18", ib="13")
    (dearer,) = causes(runs.refresh(comparison), "acme/dark")
    assert dearer.effect == "rank 1 → 3 (by itself 1 → 2), cost of work +80 %"

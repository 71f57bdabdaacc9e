"""An aggregator fills in sellers that are not read directly, and checks those that are."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from catalog.ingest import publish
from catalog.models import Offer
from catalog.quality import quality
from catalog.records import Normalised, OfferRecord, PriceModel
from tests.catalog.conftest import MONDAY, begin, facts, offer, scrape

pytestmark = pytest.mark.django_db


def through(usd: str, name: str = "h100x8", **fields: Any) -> OfferRecord:
    """Acme's offer, as a broker lists it."""
    return offer(name, usd, via="broker", **fields)


def listed(as_of: datetime | None = None) -> list[tuple[str, str | None, str]]:
    """Type, through whom, price of all that is in the list."""
    source, values = ("offer_listing_at(%s)", [as_of]) if as_of else ("offer_listing", [])
    with connection.cursor() as cursor:
        cursor.execute(
            "select instance_type, via, trim_scale(usd_per_hour)::text "  # noqa: S608 -- our own names
            f"from {source} order by 1, 2 nulls first, 3",
            values,
        )
        return [tuple(row) for row in cursor.fetchall()]


def test_a_seller_that_nobody_reads_is_listed_through_the_aggregator() -> None:
    scrape([through("20")], lister="broker")
    assert listed() == [("h100x8", "broker", "20")]


@pytest.mark.parametrize("first", ["acme", "broker"])
def test_where_the_seller_is_read_its_own_price_stands_alone(first: str) -> None:
    lists = {"acme": [offer(usd="22")], "broker": [through("20")]}
    for lister in sorted(lists, key=lambda name: name != first):
        scrape(lists[lister], lister=lister)
    assert listed() == [("h100x8", None, "22")]
    assert Offer.objects.cross_checks().count() == 1


def test_other_sellers_of_the_same_aggregator_stay() -> None:
    scrape([offer(usd="22")])
    other = through("5", provider="other", facts=facts("other/h100x8"))
    scrape([through("20"), other], lister="broker")
    assert listed() == [("h100x8", None, "22"), ("h100x8", "broker", "5")]


def test_a_way_of_selling_that_the_direct_list_lacks_is_filled_in() -> None:
    scrape([offer(usd="22")])
    scrape([through("20"), through("9", price_model=PriceModel.SPOT)], lister="broker")
    assert listed() == [("h100x8", None, "22"), ("h100x8", "broker", "9")]


def test_a_type_that_the_direct_list_lacks_is_filled_in() -> None:
    pair = facts("acme/h100x2", gpu_count=2)
    scrape([offer(usd="22")])
    scrape([through("20"), through("5", "h100x2", facts=pair)], lister="broker")
    assert listed() == [("h100x2", "broker", "5"), ("h100x8", None, "22")]
    scrape([offer(usd="22"), offer("h100x2", "6", facts=pair)], days=1)
    assert listed() == [("h100x2", None, "6"), ("h100x8", None, "22")]


def test_the_same_gpus_under_another_name_are_not_listed_twice() -> None:
    scrape([offer(usd="22")])
    scrape([through("20", "their-name")], lister="broker")
    assert listed() == [("h100x8", None, "22")]


def test_what_a_direct_list_has_let_go_of_is_not_brought_back() -> None:
    pair = facts("acme/h100x2", gpu_count=2)
    own = [offer(f"own-{n}", "22") for n in range(4)]
    scrape([*own, offer("h100x2", "6", facts=pair)])
    scrape(own, days=1)
    scrape([through("5", "h100x2", facts=pair)], lister="broker", days=1)
    assert {name for name, _, _ in listed()} == {f"own-{n}" for n in range(4)}


def test_a_seller_that_ends_its_own_list_is_listed_through_the_aggregator_again() -> None:
    own = [offer(f"own-{n}", "22") for n in range(4)]
    scrape([*own, offer("spot", "9", price_model=PriceModel.SPOT)])
    scrape([through("20")], lister="broker")
    assert len(listed()) == 5
    Offer.objects.filter(price_model="on_demand", via=None).update(ended_at=MONDAY)
    scrape([through("20")], lister="broker", days=1)
    assert listed() == [("h100x8", "broker", "20"), ("spot", None, "9")]


def test_a_direct_list_that_fell_three_days_behind_hides_nothing() -> None:
    scrape([offer(usd="22")])
    scrape([through("20")], lister="broker", days=2.9)
    assert listed() == [("h100x8", None, "22")]
    scrape([through("20")], lister="broker", days=3.1)
    assert listed() == [("h100x8", None, "22"), ("h100x8", "broker", "20")]


def test_a_bundled_price_hides_nothing_that_is_read_today() -> None:
    scrape([offer(usd="22")])
    Offer.objects.update(run=None)
    scrape([through("20")], lister="broker")
    assert ("h100x8", "broker", "20") in listed()


def test_before_the_seller_was_read_the_aggregators_price_was_the_list() -> None:
    scrape([through("20")], lister="broker")
    scrape([offer(usd="22")], days=2)
    at = MONDAY.replace(day=24)
    assert listed(at) == [("h100x8", "broker", "20")]
    assert listed(MONDAY.replace(day=26)) == [("h100x8", None, "22")]


# --- Apart ------------------------------------------------------------------------------------


def apart() -> list[tuple[str, str, float]]:
    found = quality()["price_discrepancies"]
    return [(row["instance_type"], row["direct_usd_per_gpu_hour"], row["percent"]) for row in found]


@pytest.mark.parametrize(("usd", "flagged"), [("16.3", False), ("16.4", True), ("15.6", True)])
def test_more_than_two_percent_apart_is_flagged(usd: str, flagged: bool) -> None:
    scrape([offer(usd="16")])
    scrape([through(usd)], lister="broker")
    assert [row[0] for row in apart()] == ["h100x8"] * flagged
    assert quality()["cross_checks"] == 1


def test_a_price_is_held_against_that_of_its_own_region_and_name() -> None:
    scrape([offer(usd="16"), offer(usd="24", region="tokyo", country="JP")])
    scrape([through("24", region="oslo"), through("24", region="tokyo")], lister="broker")
    assert apart() == [("h100x8", "2", 50.0)]


def test_another_region_is_no_measure() -> None:
    scrape([offer(usd="8.24", region="norway-1")])
    scrape([through("8", region="canada-1")], lister="broker")
    assert apart() == []
    assert quality()["cross_checks"] == 0


def test_where_one_list_names_no_region_the_lowest_of_both_are_compared() -> None:
    scrape([offer(usd="16", region="oslo"), offer(usd="24", region="tokyo", country="JP")])
    scrape([through("20", region=None, country=None)], lister="broker")
    assert apart() == [("h100x8", "2", 25.0)]
    assert quality()["price_discrepancies"][0]["compared"] == "lowest of both"


def test_a_direct_list_without_regions_is_held_against_the_lowest_of_them() -> None:
    scrape([offer(usd="16", region=None, country=None)])
    theirs = [through("16", region="oslo"), through("24", region="tokyo", country="JP")]
    scrape(theirs, lister="broker")
    assert apart() == []
    assert quality()["cross_checks"] == 1


def test_one_type_is_told_once_with_its_regions_and_the_widest_gap_first() -> None:
    cities = ["oslo", "bergen", "molde"]
    own = [offer(usd="16", region=city) for city in cities]
    scrape([*own, offer("a100x8", "10")])
    theirs = [
        through(usd, region=city) for usd, city in zip(("17", "20", "16"), cities, strict=True)
    ]
    scrape([*theirs, through("30", "a100x8")], lister="broker")
    found = quality()["price_discrepancies"]
    assert [(f["instance_type"], f["regions"], f["region"], f["percent"]) for f in found] == [
        ("a100x8", 1, "oslo", 200.0),
        ("h100x8", 2, "bergen", 25.0),
    ]
    assert quality()["cross_checks"] == 4


def test_under_another_name_the_same_gpus_are_compared_with_the_nearest() -> None:
    scrape(
        [
            offer("own", "16"),
            offer("own-large", "24"),
            offer("one", "3", facts=facts("acme/one", gpu_count=1)),
        ]
    )
    scrape([through("24.1", "theirs")], lister="broker")
    assert apart() == []


def test_an_aggregators_offer_counts_in_no_total_of_the_list() -> None:
    scrape([offer(usd="16")])
    scrape([through("24")], lister="broker")
    assert quality()["offers"] == 1


def test_one_file_of_an_aggregator_is_no_measure_of_the_next() -> None:
    def part(seller: str, types: int) -> str:
        names = [f"h100x8-{n}" for n in range(types)]
        offers = [through("20", n, provider=seller, facts=facts(f"{seller}/{n}")) for n in names]
        run = begin("broker", collected_at=MONDAY)
        return str(publish(run, Normalised(offers, partial="one file"), run.epoch).state)

    assert part("small", 4) == "published"
    assert part("large", 60) == "published"
    assert part("small", 60) == "held"  # of its own four

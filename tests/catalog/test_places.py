"""Where an offer is: its country and continent, and one of no region beside those of regions."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from catalog.models import Offer
from catalog.quality import quality
from catalog.records import OfferRecord, PriceModel
from tests.catalog.conftest import MONDAY, offer, scrape

pytestmark = pytest.mark.django_db
NOWHERE = {"region": None, "country": None}


def listed(as_of: datetime | None = None) -> list[tuple[Any, ...]]:
    """Region, continent, price of all that is in the list."""
    source, values = ("offer_listing_at(%s)", [as_of]) if as_of else ("offer_listing", [])
    with connection.cursor() as cursor:
        cursor.execute(
            "select region, continent, trim_scale(usd_per_hour)::text "  # noqa: S608 -- our own names
            f"from {source} order by 1 nulls first, 3",
            values,
        )
        return cursor.fetchall()


@pytest.mark.parametrize(
    ("region", "continent"),
    [
        ("Europe", "europe"),
        ("eu-north1", "europe"),
        ("North America", "north-america"),
        ("northamerica-9", "north-america"),
        ("asia-southeast9", "asia"),
        ("eureka-2", None),  # only a whole word
        ("moon-1", None),
    ],
)
def test_a_region_without_a_country_has_the_continent_that_its_name_begins_with(
    region: str, continent: str | None
) -> None:
    scrape([offer(region=region, country=None)])
    assert listed() == [(region, continent, "20")]


def test_a_country_says_more_than_the_name() -> None:
    scrape([offer(region="europe-9", country="JP")])
    connection.cursor().execute("update catalog_country set continent = 'asia' where code = 'JP'")
    assert listed() == [("europe-9", "asia", "20")]


def test_an_offer_of_no_region_gives_way_to_one_of_a_region() -> None:
    scrape([offer(usd="18", **NOWHERE), offer(usd="20")])
    assert [row[2] for row in listed()] == ["20"]
    assert listed(MONDAY.replace(day=24)) == listed()
    assert quality()["offers"] == 1


@pytest.mark.parametrize(
    "other",
    [
        offer(usd="20", tier="secure"),
        offer(usd="20", price_model=PriceModel.SPOT),
        offer("another", "20"),
    ],
)
def test_only_of_the_same_thing(other: OfferRecord) -> None:
    scrape([offer(usd="18", **NOWHERE), other])
    assert len(listed()) == 2


def test_a_region_without_a_price_hides_none() -> None:
    scrape([offer(usd="18", **NOWHERE), offer(usd=None, price_note="by quote")])
    assert len(listed()) == 2


def test_what_is_read_hides_what_is_dated_and_never_the_other_way() -> None:
    scrape([offer(usd="18", **NOWHERE)])
    scrape([offer(usd="18", **NOWHERE), offer(usd="20")], days=1)
    Offer.objects.filter(region="oslo").update(run=None)  # as if only the bundled list had it
    assert [row[2] for row in listed()] == ["18", "20"]
    Offer.objects.update(run=None)
    assert [row[2] for row in listed()] == ["20"]


def test_when_the_region_ends_the_other_stands_again() -> None:
    others = [offer(f"other-{n}") for n in range(4)]
    scrape([*others, offer(usd="18", **NOWHERE), offer(usd="20")])
    assert len(listed()) == 5
    scrape([*others, offer(usd="18", **NOWHERE)], days=1)
    assert ("18" in [row[2] for row in listed()], len(listed())) == (True, 5)

"""The rules that the database holds by itself, and the view that everything is read from."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest
from django.apps import apps
from django.contrib import admin
from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from catalog import listing_sql
from catalog.facts import ATTRIBUTES
from catalog.freshness import LIMITS
from catalog.invariants import broken
from catalog.models import (
    CatalogVersion,
    Fact,
    InstanceType,
    Offer,
    Price,
    RawPayload,
    ScrapeRun,
)
from catalog.records import OFFER_KEYS, PriceModel
from tests.catalog.conftest import DAY, MONDAY, offer, scrape

pytestmark = pytest.mark.django_db
CATALOG = set(apps.get_app_config("catalog").get_models())


def listing(columns: str = "*", source: str = "offer_listing", order: str = "offer_id") -> list:
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} from {source} order by {order}")  # noqa: S608
        names = [column.name for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_every_attribute_with_a_column_has_a_field() -> None:
    fields = {field.column for field in InstanceType._meta.concrete_fields}
    assert {name for name, a in ATTRIBUTES.items() if a.column} <= fields


def test_the_listing_has_every_key_of_an_offer_in_its_order() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select * from offer_listing limit 0")
        names = [column.name for column in cursor.description]
    assert names[:2] == ["offer_id", "instance_type_id"]
    assert tuple(names[2 : 2 + len(OFFER_KEYS)]) == OFFER_KEYS
    assert tuple(names) == listing_sql.COLUMNS


def test_the_migrated_listing_is_made_of_the_present_text() -> None:
    def defined() -> tuple[str, str, str]:
        with connection.cursor() as cursor:
            cursor.execute(
                "select pg_get_viewdef('offer_listing'), "
                "pg_get_functiondef('offer_listing_at'::regproc), "
                "pg_get_functiondef('offer_listing_of'::regproc)"
            )
            return cursor.fetchone()

    migrated = defined()
    with connection.cursor() as cursor:
        cursor.execute(listing_sql.create())
    assert defined() == migrated, "listing_sql or LIMITS changed: write a migration that runs it"


@pytest.mark.parametrize(
    "second",
    [
        {"valid_from": MONDAY + DAY},  # a second open one
        {"valid_from": MONDAY - DAY, "valid_to": MONDAY + DAY},  # one that reaches into it
        {"valid_from": MONDAY - DAY, "valid_to": MONDAY - 2 * DAY},  # one that runs backwards
        {"valid_from": MONDAY - DAY, "valid_to": MONDAY, "native_amount": Decimal(0)},
    ],
    ids=["two open", "overlap", "backwards", "zero"],
)
def test_the_database_refuses_a_wrong_period(second: dict[str, object]) -> None:
    scrape([offer()])
    only = Offer.objects.get()
    with pytest.raises(IntegrityError), transaction.atomic():
        Price.objects.create(offer=only, source_url="x", **second)
    # A right one is taken, so it is the rule that refused.
    Price.objects.create(offer=only, source_url="x", valid_from=MONDAY - DAY, valid_to=MONDAY)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1"])
def test_the_database_refuses_what_is_no_price(number: str) -> None:
    scrape([offer()])
    with connection.cursor() as cursor, pytest.raises((IntegrityError, DataError)):
        cursor.execute("update catalog_price set usd_per_hour = %s", [number])


def test_the_same_offer_cannot_stand_twice_though_parts_of_its_name_are_null() -> None:
    scrape([offer(region=None, country=None)])
    twin = Offer.objects.get()
    twin.pk = None
    with pytest.raises(IntegrityError, match="offer_once"):
        twin.save()


def test_a_word_that_is_not_in_the_design_is_refused() -> None:
    scrape([offer()])
    with pytest.raises(IntegrityError, match="fabric_is_known"):
        InstanceType.objects.update(fabric="myrinet")


def test_the_listing_tells_an_offer_in_full() -> None:
    scrape([offer(tier="secure", via="market")], lister="market")
    (row,) = listing()
    assert (row["provider"], row["via"]) == ("acme", "market")
    assert (row["gpu"], row["gpu_count"], row["scale_up"]) == ("h100-sxm5-80gb", 8, "nvswitch")
    assert row["usd_per_gpu_hour"] == Decimal("2.5")
    assert (row["nvlink_domain_gpus"], row["domain_gpu_memory_gb"]) == (8, 640)
    assert row["total_gpu_memory_gb"] == 640
    assert json.loads(row["evidence"])["gpu_count"]["source"] == "https://acme.example/prices"


def test_as_of_answers_with_the_price_of_that_time() -> None:
    scrape([offer(usd="20")])
    scrape([offer(usd="24")], days=2)
    then = {
        days: [row["usd_per_hour"] for row in listing(source=f"offer_listing_at('{at}')")]
        for days in (-1, 0, 1.9, 2, 9)
        if (at := MONDAY + days * DAY)
    }
    assert then == {
        -1: [],
        0: [Decimal(20)],
        1.9: [Decimal(20)],
        2: [Decimal(24)],
        9: [Decimal(24)],
    }


def test_as_of_an_ended_offer_is_there_until_it_ended() -> None:
    scrape([offer("a"), offer("b"), offer("c"), offer("d")])
    scrape([offer("a"), offer("b"), offer("c")], days=2)
    names = "instance_type"
    before = listing(names, f"offer_listing_at('{MONDAY + DAY}')", names)
    after = listing(names, f"offer_listing_at('{MONDAY + 3 * DAY}')", names)
    assert [row[names] for row in before] == ["a", "b", "c", "d"]
    assert [row[names] for row in after] == [row[names] for row in listing(names, order=names)]


@pytest.mark.parametrize("model", list(PriceModel))
def test_an_offer_is_stale_and_outdated_when_the_table_says(model: PriceModel) -> None:
    now, limit = timezone.now(), LIMITS[model]
    minute = timedelta(minutes=1)

    def marks(age: timedelta) -> tuple[bool, bool]:
        Offer.objects.update(collected_at=now - age)
        (row,) = listing("stale, outdated", order="1")
        return row["stale"], row["outdated"]

    scrape([offer(price_model=model)], live=False)
    assert marks(limit.stale - minute) == (False, False)
    assert marks(limit.stale + minute) == (True, False)
    assert marks(limit.outdated - minute) == (True, False)
    assert marks(limit.outdated + minute) == (True, True)


def test_three_missed_intervals_make_a_live_list_stale_sooner() -> None:
    run = scrape([offer(), offer("bundled")])
    Offer.objects.filter(instance_type__name="bundled").update(run=None)
    run.provider.interval = timedelta(hours=1)
    run.provider.fetched_live_at = MONDAY
    run.provider.published_run = run
    run.provider.save()
    Offer.objects.update(collected_at=timezone.now() - timedelta(hours=3, minutes=1))
    stale = {row["instance_type"]: row["stale"] for row in listing()}
    assert stale == {"h100x8": True, "bundled": False}


def test_the_invariants_find_what_is_broken() -> None:
    scrape([offer()])
    assert broken() == {}
    Price.objects.all().delete()
    assert list(broken()) == ["I1 a listed offer has its price as an open period"]


def test_the_stamp_changes_with_the_catalog() -> None:
    before = CatalogVersion.stamp()
    scrape([offer()])
    assert CatalogVersion.stamp() != before


@pytest.mark.parametrize("model", [m for m in admin.site._registry if m in CATALOG])
def test_the_admin_shows_every_table_and_lets_nobody_write_what_ingest_writes(
    admin_client: Client, model: type[Model]
) -> None:
    scrape([offer()])
    name = f"admin:catalog_{model._meta.model_name}"
    assert admin_client.get(reverse(f"{name}_changelist")).status_code == 200
    if model in (Offer, Price, Fact, RawPayload, ScrapeRun):
        assert admin_client.get(reverse(f"{name}_add")).status_code == 403
        pk = model.objects.first().pk
        assert admin_client.post(reverse(f"{name}_delete", args=[pk])).status_code == 403
        assert admin_client.get(reverse(f"{name}_change", args=[pk])).status_code == 200

"""The narrow table that lists are made by follows whatever is written to the tables behind it."""

from decimal import Decimal
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from catalog.invariants import broken
from catalog.models import Country, InstanceType, Offer, Region
from catalog.records import NO_PRICE_FOUND
from tests.catalog.conftest import DAY, offer, scrape
from tests.catalog.market import open_market
from tests.meanwhile import meanwhile

pytestmark = pytest.mark.django_db
OSLO = {"region": "oslo", "price_model": "on_demand"}
IN_OSLO = OSLO | {"instance_type__name": "ib"}
SAME = "I4 what lists are made by is what the tables say"


def rows(columns: str) -> list[tuple[object, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f"select {columns} from catalog_listing order by offer_id")  # noqa: S608
        return cursor.fetchall()


def of_the_table() -> list[tuple[object, ...]]:
    return rows("*")


WRITES = {
    "a price": lambda: Offer.objects.filter(**OSLO).update(usd_per_gpu_hour=1),
    "no price": lambda: Offer.objects.filter(**OSLO).update(
        native_amount=None, usd_per_hour=None, usd_per_gpu_hour=None
    ),
    "that it was read again": lambda: Offer.objects.update(collected_at=F("collected_at") - DAY),
    "that it has ended": lambda: Offer.objects.filter(**OSLO).update(ended_at=timezone.now()),
    "that it only checks": lambda: Offer.objects.filter(**OSLO).update(cross_check=True),
    "where it is": lambda: Offer.objects.filter(**OSLO).update(region="bergen"),
    "how it is sold": lambda: Offer.objects.filter(**OSLO).update(price_model="reserved_1y"),
    "a fabric": lambda: InstanceType.objects.filter(name="ib").update(fabric="roce"),
    "a fabric elsewhere": lambda: InstanceType.objects.filter(name="ib").update(
        by_region={"oslo": {"fabric": "ethernet", "fabric_gbits_per_s": 100}}
    ),
    "a name": lambda: InstanceType.objects.filter(name="ib").update(name="renamed"),
    "a region's continent": lambda: Region.objects.update(continent="oceania"),
    "a country's continent": lambda: Country.objects.filter(code="NO").update(continent="africa"),
    "that an offer is gone": lambda: Offer.objects.filter(**OSLO).delete(),
    "that a type is gone": lambda: InstanceType.objects.filter(name="ib").delete(),
}

# What another may write, of the same type or of another, while a price is written.
SECOND = {
    name: WRITES[name]
    for name in (
        "a fabric",
        "a region's continent",
        "a country's continent",
        "a name",
    )
} | {
    "an offer beside it": lambda: Offer.objects.exclude(region="oslo").update(available=False),
    "another of it": lambda: Offer.objects.filter(**OSLO).update(available=False),
}


@pytest.mark.parametrize("said", WRITES)
def test_it_follows(said: str) -> None:
    open_market()
    before = of_the_table()
    WRITES[said]()
    assert of_the_table() != before, "the write says something of the listing"
    assert SAME not in broken()


def test_what_it_does_not_hold_leaves_it_as_it_is() -> None:
    open_market()
    before = rows("xmin::text, *")
    InstanceType.objects.update(vcpus=7, checked=None)
    Offer.objects.update(source_url="https://example.com", usd_rate=2)
    assert rows("xmin::text, *") == before


def test_an_offer_of_no_region_comes_and_goes_with_its_like_in_a_region() -> None:
    scrape([offer("a", region=None), offer("b")])
    assert len(rows("offer_id")) == 2
    scrape([offer("a", region=None), offer("a", region="oslo"), offer("b")], days=1)
    assert rows("instance_type, region") == [("b", "oslo"), ("a", "oslo")]
    Offer.objects.filter(instance_type__name="a", region="oslo").delete()
    assert ("a", None) in rows("instance_type, region")
    assert SAME not in broken()


def test_an_operator_is_told_where_it_was_written_to_by_hand() -> None:
    open_market()
    said = StringIO()
    call_command("invariants", stdout=said)
    assert said.getvalue() == "All that must hold holds.\n"
    with connection.cursor() as cursor:
        cursor.execute("update catalog_listing set gpu_count = 7 where region = 'oslo'")
        changed = cursor.rowcount
    with pytest.raises(CommandError, match=f"{SAME}: {changed} rows"):
        call_command("invariants")


@pytest.mark.django_db(transaction=True)
def test_it_is_empty_when_the_offers_are() -> None:
    open_market()
    call_command("flush", interactive=False, verbosity=0)
    assert of_the_table() == []


@pytest.mark.parametrize("table", ["region", "country"])
def test_what_is_emptied_places_no_offer(table: str) -> None:
    open_market()
    Offer.objects.update(country=None)
    Region.objects.update(country="NO", continent="asia")
    assert ("asia",) in rows("continent")
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")  # what still waits forbids it
        cursor.execute(f"truncate catalog_{table} cascade")
    assert SAME not in broken()


def test_where_it_was_follows_as_where_it_is() -> None:
    """A region goes to another provider, and an offer to another type."""
    open_market()
    Offer.objects.update(country=None)
    Region.objects.filter(provider="=other").delete()
    Region.objects.update(continent="asia", country=None)
    Region.objects.filter(region="oslo").update(provider_id="=other")
    assert SAME not in broken()
    ib, dark = (InstanceType.objects.get(name=name) for name in ("ib", "dark"))
    Offer.objects.filter(instance_type=dark).update(price_note=NO_PRICE_FOUND)
    Offer.objects.filter(**IN_OSLO).update(instance_type=dark, region="bergen")
    assert ("dark", "oslo") not in rows("instance_type, region"), "it gives way to one with a price"
    Offer.objects.filter(region="bergen").update(instance_type=ib)
    assert ("dark", "oslo") in rows("instance_type, region")
    assert SAME not in broken()


def test_a_session_without_a_search_path_writes_as_any_other() -> None:
    open_market()
    with connection.cursor() as cursor:
        cursor.execute("set local search_path = ''")
        cursor.execute("update public.catalog_offer set available = true")
        cursor.execute("set local search_path = public")
    assert ("oslo", True) in rows("region, available")
    assert SAME not in broken()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("said", SECOND)
def test_two_who_write_at_once_leave_out_nothing_of_each_other(said: str) -> None:
    """The second waits until the first has committed; with neither, its own would be missing."""
    open_market()
    dearer = partial(Offer.objects.filter(**IN_OSLO).update, usd_per_hour=48, usd_per_gpu_hour=6)
    meanwhile(dearer, SECOND[said])
    assert SAME not in broken()
    assert (Decimal(6),) in rows("usd_per_gpu_hour")

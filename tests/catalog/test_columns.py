"""Lists are made by columns in memory: they are what the tables say, whoever wrote to these."""

import json
import random
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import partial
from itertools import count as count_from
from itertools import product

import numpy as np
import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.db.models import F
from django.http import QueryDict
from django.utils import timezone

from bench import by_sql
from bench.api import queries
from bench.service import POPULATE
from catalog import columnar, offers
from catalog.columnar import NUMERIC, OFTEN, TIMES, Moved, Words, in_one_piece
from catalog.columnar import columns as columns_of
from catalog.counts import count
from catalog.filters import FACETS, SORTABLE, read
from catalog.models import Country, InstanceType, Offer, Price, Provider, Region
from catalog.records import NO_PRICE_FOUND
from catalog.sql import rows_of, rows_read
from scoring import job_fields
from tests.catalog.conftest import DAY, offer, scrape
from tests.catalog.market import open_market
from tests.meanwhile import meanwhile, somebody_waits

pytestmark = pytest.mark.django_db
OSLO = {"region": "oslo", "price_model": "on_demand"}
IN_OSLO = OSLO | {"instance_type__name": "ib"}
NAMES = OFTEN


def kept() -> dict[int, list[object]]:
    """What lists are made by, by the number of the offer: unknown is None."""
    of = columns_of()
    read = [_values(of[name]) for name in NAMES]
    return dict(zip(of.offers.tolist(), map(list, zip(*read, strict=True)), strict=True))


def _values(column: Words | columnar.Floats) -> list[object]:
    if isinstance(column, Words):
        return [column.words[place] if place >= 0 else None for place in column.places]
    return [None if value != value else value for value in column.tolist()]


def in_the_tables() -> dict[int, list[object]]:
    seconds = {name: f"extract(epoch from {name})::float8" for name in TIMES.values()}
    read = [seconds.get(n, f"{n}::text::float8" if n in NUMERIC else n) for n in NAMES]
    read[NAMES.index("available")] = "available::integer::float8"
    sql = f"select offer_id, {', '.join(read)} from offer_listing"  # noqa: S608
    return {row[0]: list(row[1:]) for row in rows_of(sql, [])}


def _replace_acme() -> None:
    """Deleted and put back under another title, which is right when all of it is written."""
    with connection.cursor() as cursor:
        cursor.execute(
            "create temporary table acme on commit drop as "
            "select * from catalog_provider where slug = 'acme'; "
            "delete from catalog_provider where slug = 'acme'; "
            "update acme set title = 'Zebra'; insert into catalog_provider select * from acme"
        )


WRITES: dict[str, Callable[[], object]] = {
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
    "a provider's title": lambda: Provider.objects.filter(slug="acme").update(title="Apex"),
    "that it is read more often": lambda: Provider.objects.update(
        interval=timedelta(minutes=1), fetched_live_at=timezone.now()
    ),
    "that a provider is another": _replace_acme,
    "that an offer is gone": lambda: Offer.objects.filter(**OSLO).delete(),
    "that a type is gone": lambda: InstanceType.objects.filter(name="ib").delete(),
}


@pytest.mark.parametrize("said", WRITES)
def test_they_follow(said: str) -> None:
    open_market()
    before = kept()
    WRITES[said]()
    assert kept() != before, "the write says something of the listing"
    assert kept() == in_the_tables()


@pytest.mark.django_db(transaction=True)
def test_they_are_empty_when_the_offers_are(client) -> None:
    open_market()
    assert kept()
    call_command("flush", interactive=False, verbosity=0)
    assert kept() == {}
    answer = client.get("/api/v1/offers/?nvlink=true&count=true&facets=gpu,gpu_count_min").json()
    assert (answer["count"], answer["results"], answer["facets"]["gpu"]) == (0, [], [])


@pytest.mark.parametrize("table", ["region", "country"])
def test_what_is_emptied_places_no_offer(table: str) -> None:
    open_market()
    Offer.objects.update(country=None)
    Region.objects.update(country="NO", continent="asia")
    assert "asia" in columns_of().words("continent").words
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")  # what still waits forbids it
        cursor.execute(f"truncate catalog_{table} cascade")
    assert kept() == in_the_tables()


def test_what_was_not_committed_is_forgotten() -> None:
    open_market()
    before = kept()
    with transaction.atomic():
        Offer.objects.update(usd_per_gpu_hour=1)
        assert kept() != before
        transaction.set_rollback(True)
    assert kept() == before


def test_they_are_read_once_while_nothing_is_written(django_assert_num_queries) -> None:
    open_market()
    columns_of()
    Offer.objects.filter(pk=0).update(source_url="https://example.com")
    Provider.objects.update(homepage="https://example.com", title=F("title"))
    with django_assert_num_queries(1):
        columns_of()


def test_what_is_kept_of_them_and_its_tag_follow_an_edit_by_hand(client) -> None:
    """That raises no version: neither a 304 nor a kept answer is of the list before it."""
    open_market()
    asked, job = "/api/v1/offers/?region=oslo", dict(job_fields("llama3-8b-pretrain"))

    def cheapest() -> str:
        body = {"workload": job, "gpus": 64}
        answer = client.post("/api/v1/estimates/", body, content_type="application/json").json()
        return next(
            each["offer"]["usd_per_gpu_hour"]
            for each in (*answer["results"], *answer["left_out"])
            if (each["offer"]["instance_type"], each["offer"]["price_model"]) == ("ib", "on_demand")
        )

    before, tag = cheapest(), client.get(asked)["ETag"]
    assert client.get(asked, headers={"if-none-match": tag}).status_code == 304
    Offer.objects.filter(**IN_OSLO).update(usd_per_hour=8, usd_per_gpu_hour=1)
    assert client.get(asked, headers={"if-none-match": tag}).status_code == 200
    assert (before, cheapest()) == ("3", "1")


def test_reading_them_leaves_a_transaction_its_timeout() -> None:
    open_market()
    timeout = "select current_setting('statement_timeout')"
    with transaction.atomic():
        before = rows_of(timeout, [])
        columns_of()
        assert rows_of(timeout, []) == before


def test_a_session_without_a_search_path_writes_as_any_other() -> None:
    open_market()
    columns_of()
    with connection.cursor() as cursor:
        cursor.execute("set local search_path = ''")
        cursor.execute("update public.catalog_offer set available = true")
        cursor.execute("set local search_path = public")
    assert set(columns_of().floats("available")) == {1}


SECOND = ("a fabric", "a region's continent", "a country's continent", "a name")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("said", SECOND)
def test_two_who_write_at_once_leave_out_nothing_of_each_other(said: str) -> None:
    """The second waits until the first has committed."""
    open_market()
    dearer = partial(Offer.objects.filter(**IN_OSLO).update, usd_per_hour=48, usd_per_gpu_hour=6)
    meanwhile(dearer, WRITES[said])
    assert kept() == in_the_tables()
    assert 6 in columns_of().floats("usd_per_gpu_hour")


# --- Columns and rows of one listing -------------------------------------------------------------


def test_a_list_is_of_one_listing_though_it_is_written_to_while_it_is_read(monkeypatch) -> None:
    """A price rises between the reading of the columns and of the rows: it is sorted as it is."""
    open_market()
    columns_of()
    written = []

    def then_write(sql: str, values: list[object]) -> list[tuple[object, ...]]:
        if not written:
            written.append(Offer.objects.filter(**IN_OSLO).update(usd_per_gpu_hour=99))
        return rows_of(sql, values)

    monkeypatch.setattr(offers, "rows_of", then_write)
    listed = offers.page(read(QueryDict("rows=region&infiniband=true&sort=usd_per_gpu_hour"))).rows
    assert written == [1]
    priced = [Decimal(row["usd_per_gpu_hour"]) for row in listed if row["usd_per_gpu_hour"]]
    assert priced == sorted(priced)
    assert priced[-1] == 99


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("asked", ["page_size=200", "page_size=all&format=ndjson"])
def test_a_list_that_is_written_to_without_end_is_answered_as_it_once_stood(
    asked: str, monkeypatch, client
) -> None:
    """Whenever its rows are read, another has written since its columns were."""
    open_market()
    monkeypatch.setattr(offers, "FEW", 3)  # so that the whole list is read by a cursor
    prices = count_from(10)

    def write() -> None:
        Offer.objects.filter(**IN_OSLO).update(usd_per_gpu_hour=next(prices))
        connection.close()

    def after(read: Callable[..., object]) -> Callable[..., object]:
        def written_to(*asked: object) -> object:
            other = threading.Thread(target=write)
            other.start()
            other.join()
            return read(*asked)

        return written_to

    monkeypatch.setattr(offers, "rows_of", after(rows_of))
    monkeypatch.setattr(offers, "rows_read", after(rows_read))
    answer = client.get(f"/api/v1/offers/?rows=region&sort=-usd_per_gpu_hour&{asked}")
    text = b"".join(answer) if answer.streaming else answer.content
    whole = "ndjson" in asked
    rows = [*map(json.loads, text.splitlines())] if whole else json.loads(text)["results"]
    assert len(rows) == 9
    assert next(prices) == 12, "asked once, and once more"
    assert float(rows[0]["usd_per_gpu_hour"]) == 10, "as it stood when it was asked once more"


@pytest.mark.django_db(transaction=True)
def test_within_a_transaction_who_writes_waits_for_its_end() -> None:
    """Asked for once more, a list stands still, though each statement may see what is new."""
    open_market()
    tried = []

    def dearest() -> float:
        return float(np.nanmax(columns_of().floats("usd_per_gpu_hour")))

    def dearer() -> None:
        Offer.objects.filter(**IN_OSLO).update(usd_per_gpu_hour=52)

    def ask() -> float:
        tried.append(dearest())
        if not tried[1:]:
            raise Moved
        other.start()
        while not somebody_waits() and other.is_alive():
            other.join(0.01)
        return dearest()

    other = threading.Thread(target=lambda: (dearer(), connection.close()))
    with transaction.atomic():
        assert in_one_piece(ask) == tried[1] == tried[0]
    other.join()
    assert dearest() == 52


@pytest.mark.django_db(transaction=True)
def test_a_whole_list_is_read_as_it_is_taken_in_its_order(monkeypatch, client) -> None:
    open_market()
    page = client.get("/api/v1/offers/?sort=-usd_per_gpu_hour&fields=instance_type,tier").json()
    monkeypatch.setattr(offers, "FEW", 3)
    monkeypatch.setattr(offers, "rows_of", None)
    whole = client.get(
        "/api/v1/offers/?sort=-usd_per_gpu_hour&fields=instance_type,tier&page_size=all&format=ndjson"
    )
    assert [json.loads(line) for line in b"".join(whole).splitlines()] == page["results"]
    assert len(page["results"]) == 8


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_another_to_read_it_is_told_in_time(monkeypatch, client) -> None:
    """Not each in turn for as long as a statement may take."""
    open_market()
    monkeypatch.setattr(columnar, "PATIENCE_S", 0.01)
    with columnar._Kept.reading:
        assert client.get("/api/v1/offers/").status_code == 503
    assert client.get("/api/v1/offers/").status_code == 200


def test_a_price_of_the_past_is_as_it_stands(client) -> None:
    """What was listed then is read anew: prices of the past have no revision."""
    open_market(days=-2)
    at = f"as_of={timezone.now() - DAY:%Y-%m-%d}&count=true&price_model=on_demand"
    dear = f"/api/v1/offers/?{at}&usd_per_gpu_hour_max=0.02"
    assert client.get(dear).json()["count"] == 0
    ib = Price.objects.filter(offer__instance_type__name="ib", offer__region="oslo")
    ib.update(usd_per_hour=Decimal("0.08"))
    assert client.get(f"{dear}&page_size=9").json()["count"] == 1
    ib.delete()
    assert client.get(f"{dear}&page_size=8").json()["count"] == 0


def test_an_offer_of_no_region_comes_and_goes_with_its_like_in_a_region() -> None:
    def listed() -> list[tuple[str, str | None]]:
        rows = offers.page(read(QueryDict("rows=region&sort=instance_type"))).rows
        return [(row["instance_type"], row["region"]) for row in rows]

    nowhere, there, b = offer("a", region=None), offer("a", region="oslo"), offer("b")
    scrape([nowhere, b])
    assert listed() == [("a", None), ("b", b.region)]
    scrape([nowhere, there, b], days=1)
    assert listed() == [("a", "oslo"), ("b", b.region)]
    Offer.objects.filter(instance_type__name="a", region="oslo").delete()
    assert ("a", None) in listed()
    Offer.objects.filter(instance_type__name="b").update(price_note=NO_PRICE_FOUND)
    assert ("b", b.region) in listed(), "there is no offer of it beside"


# --- They say what SQL says -----------------------------------------------------------------------


# Unknowns and what has no place everywhere, prices too old to rank, none, and of one offer alone.
DARKEN = """
update catalog_instancetype set
  fabric = case when id % 7 = 0 then 'none' when id % 11 <> 0 then fabric end,
  scale_up = case when id % 5 = 0 then 'pcie' when id % 13 <> 0 then scale_up end,
  nvlink_domain_gpus = case when id % 3 <> 0 then nvlink_domain_gpus end,
  gpu = case when id % 17 <> 0 then gpu end,
  by_region = case when id % 4 = 0 then '{"region-1": {"fabric": "efa", "gpudirect_rdma": "yes"}}'
    else '{}'::jsonb end;
update catalog_offer set
  collected_at = now() - (id % 9) * interval '15 days 1 hour',
  available = case id % 3 when 0 then true when 1 then false end,
  usd_per_hour = case when id % 19 <> 0 then usd_per_hour end,
  usd_per_gpu_hour = case when id % 19 <> 0 then usd_per_gpu_hour end,
  tier = case id % 6 when 0 then 'Secure' when 1 then 'community' end,
  region = case when id % 23 <> 0 then region end,
  country = case when id % 10 <> 0 then country end;
"""
SORTED = ("usd_per_gpu_hour", "-usd_per_gpu_hour", "fabric,-usd_per_hour", "-gpu,instance_type")
MORE = ("", "&include_unknown=fabric", "&include_unknown=nvlink,gpudirect_rdma", "&q=type-1 H100")


def test_they_say_what_sql_says() -> None:
    with connection.cursor() as cursor:
        cursor.execute(POPULATE.format(types=60, periods=1))
        cursor.execute(DARKEN)
    dice = random.Random(3)
    found = 0
    for asked in queries():
        text = f"{asked}&sort={dice.choice(SORTED)}&page_size=200{dice.choice(MORE)}"
        query = read(QueryDict(text))
        page = offers.page(query)
        rows = rows_of(*by_sql.page(query))
        assert [(row["offer_id"], row["regions"]) for row in page.rows] == [r[:2] for r in rows], (
            text
        )
        assert rows_of(*by_sql.counts(query)) == [(page.count, page.left_out_total)], text
        found += len(rows)
        name = dice.choice([name for name, limits in FACETS.items() if not limits])
        said = count(query, [name]).facets[name]
        assert sorted(said, key=repr) == sorted(rows_of(*by_sql.facet(query, name)), key=repr), text
    assert found > 2000


def test_a_list_sorted_by_anything_is_walked_to_its_end_and_back() -> None:
    with connection.cursor() as cursor:
        cursor.execute(POPULATE.format(types=9, periods=1))
        cursor.execute(DARKEN)
    for sort, at in product(
        SORTABLE, ("", f"&as_of={timezone.now() - DAY / 2:%Y-%m-%dT%H:%M:%SZ}")
    ):
        query = read(QueryDict(f"rows=region&sort=-{sort}&page_size=20{at}"))
        whole = [row["offer_id"] for row in offers.page(replace(query, page_size=200)).rows]
        assert len(whole) > 60
        there = [offers.page(query)]
        while there[-1].next:
            there.append(offers.page(replace(query, cursor=there[-1].next)))
        assert [row["offer_id"] for page in there for row in page.rows] == whole, sort
        back = there[-1:]
        while back[-1].previous:
            back.append(offers.page(replace(query, cursor=back[-1].previous)))
        assert [page.rows for page in reversed(back)] == [page.rows for page in there], sort

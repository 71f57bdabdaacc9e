"""One list at a time, whole or not at all, and nothing written that has not changed."""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial

import pytest
from django.db import connection

from catalog.ingest import Fenced, publish
from catalog.invariants import broken
from catalog.models import (
    CatalogVersion,
    Estimate,
    Fabric,
    Fact,
    InstanceType,
    Lease,
    Offer,
    Price,
    QuarantinedRow,
    Region,
    RunState,
    ScrapeRun,
)
from catalog.records import Normalised, OfferRecord, PriceModel, Rejected
from catalog.retention import forget
from tests.catalog.conftest import DAY, MONDAY, begin, facts, offer, scrape

pytestmark = pytest.mark.django_db
WRITTEN = ("offer", "price", "fact", "instancetype", "region", "catalogversion", "fabric", "gpu")
Offers = Callable[[], list[OfferRecord]]


def versions() -> dict[str, list[tuple[int, int]]]:
    """Which transaction wrote each row last: the same before and after is nothing written."""
    with connection.cursor() as cursor:
        seen = {}
        for table in WRITTEN:
            cursor.execute(f"select xmin::text, ctid::text from catalog_{table} order by 2")  # noqa: S608
            seen[table] = cursor.fetchall()
    return seen


@pytest.fixture(autouse=True)
def all_hold(db: None):
    """After every test of this file the invariants hold."""
    yield
    assert broken() == {}


# --- What is written --------------------------------------------------------------------------


def test_the_same_list_twice_writes_nothing_the_second_time(eight: Offers) -> None:
    first = scrape(eight())
    before = versions()
    second = scrape(eight())
    assert (first.state, first.offers_new) == (RunState.PUBLISHED, 10)
    assert (second.state, second.offers_unchanged) == (RunState.UNCHANGED, 10)
    assert (second.offers_new, second.offers_changed, second.offers_ended) == (0, 0, 0)
    assert versions() == before


def test_the_same_prices_a_day_later_are_confirmed_without_a_new_period(eight: Offers) -> None:
    scrape(eight())
    run = scrape(eight(), days=1)
    assert (run.state, run.offers_unchanged, Price.objects.count()) == ("unchanged", 10, 10)
    assert set(Offer.objects.values_list("collected_at", flat=True)) == {MONDAY + DAY}


def test_a_changed_price_closes_one_period_and_opens_one(eight: Offers) -> None:
    scrape(eight())
    dearer = [replace(o, native_amount=Decimal(21), usd_per_hour=Decimal(21)) for o in eight()[:1]]
    run = scrape([*dearer, *eight()[1:]], days=1)
    assert (run.offers_changed, run.offers_unchanged, Price.objects.count()) == (1, 9, 11)
    old, new = Price.objects.filter(offer__instance_type__name="h100x8-0").order_by("valid_from")
    assert (old.usd_per_hour, old.valid_to) == (20, MONDAY + DAY)
    assert (new.usd_per_hour, new.valid_from, new.valid_to) == (21, MONDAY + DAY, None)
    assert Offer.objects.get(pk=new.offer_id).usd_per_gpu_hour == Decimal("2.625")


def test_a_new_rate_alone_opens_no_period() -> None:
    euros = replace(offer(), native_currency="EUR", usd_rate=Decimal("1.1"))
    scrape([replace(euros, usd_per_hour=Decimal(22), usd_rate_date=date(2026, 11, 23))])
    later = replace(euros, usd_per_hour=Decimal(23), usd_rate=Decimal("1.15"))
    run = scrape([replace(later, usd_rate_date=date(2026, 11, 24))], days=1)
    assert (Price.objects.count(), run.offers_changed) == (1, 0)
    assert Offer.objects.get().usd_per_hour == 23


def test_a_replay_with_a_mended_parser_corrects_the_period_it_opened() -> None:
    scrape([offer(usd="2000")])
    Offer.objects.update(run=None)  # so that the gate on moved prices does not judge it
    scrape([offer(usd="20")])
    assert [p.usd_per_hour for p in Price.objects.all()] == [20]


def test_an_offer_without_a_price_is_listed_with_an_open_period() -> None:
    scrape([offer(usd=None, price_note="by quote", price_model=PriceModel.QUOTE)])
    assert Price.objects.get().native_amount is None
    assert Offer.objects.get().price_note == "by quote"


def test_what_is_listed_no_more_has_ended_and_may_come_back(eight: Offers) -> None:
    scrape(eight())
    run = scrape(eight()[1:], days=1)
    gone = Offer.objects.get(instance_type__name="h100x8-0")
    assert (run.offers_ended, gone.ended_at) == (1, MONDAY + DAY)
    assert gone.prices.get().valid_to == MONDAY + DAY
    back = scrape(eight(), days=2)
    gone.refresh_from_db()
    assert (back.offers_new, back.offers_changed, gone.ended_at) == (0, 1, None)
    assert [p.valid_from for p in gone.prices.order_by("valid_from")] == [MONDAY, MONDAY + 2 * DAY]
    assert gone.first_seen == MONDAY


def test_only_scraped_offers_end_with_a_scrape(eight: Offers) -> None:
    scrape(eight())
    Offer.objects.filter(instance_type__name="h100x8-9").update(run=None)  # only bundled, dated
    run = scrape(eight()[:9], days=1)
    assert (run.state, run.offers_ended) == ("unchanged", 0)


def test_a_market_and_a_provider_list_the_same_type_apart() -> None:
    scrape([offer()])
    scrape([offer(via="market")], lister="market")
    assert InstanceType.objects.count() == 1
    run = scrape([offer()], days=1)
    assert (run.offers_ended, Offer.objects.filter(ended_at=None).count()) == (0, 2)


def test_a_region_learns_its_country_from_the_listing() -> None:
    scrape([offer()])
    assert Region.objects.get().country_id == "NO"


# --- What is said -----------------------------------------------------------------------------


def test_a_corrected_statement_leaves_the_old_one_readable() -> None:
    scrape([offer(facts=facts("acme/h100x8", fabric_nics=4))])
    scrape([offer(facts=facts("acme/h100x8", fabric_nics=8))], days=1)
    said = Fact.objects.filter(attribute="fabric_nics").order_by("id")
    assert [(f.value, f.superseded_at is None) for f in said] == [("4", False), ("8", True)]
    assert InstanceType.objects.get().fabric_nics == 8


def test_a_weaker_claim_stands_beside_and_a_dispute_takes_the_lower() -> None:
    strong = facts("acme/h100x8", fabric_gbits_per_s=Decimal(3200))
    other = facts("acme/h100x8", fabric_gbits_per_s=Decimal(1600))
    scrape([offer(facts=strong), offer(region="rome", country="IT", facts=other)])
    kind = InstanceType.objects.get()
    assert (kind.fabric_gbits_per_s, kind.disputed) == (1600, ["fabric_gbits_per_s"])
    (claim,) = kind.evidence["fabric_gbits_per_s"]["claims"]
    assert claim["value"] == 3200


def test_a_replay_that_only_learns_more_of_a_type_is_a_list_of_its_own_run() -> None:
    scrape([offer(), offer("other")])
    run = scrape([offer(facts=facts("acme/h100x8", fabric_nics=8)), offer("other")])
    assert (run.state, run.offers_changed) == (RunState.PUBLISHED, 0)
    assert set(Offer.objects.values_list("run", flat=True)) == {run.pk}


def test_what_was_looked_for_and_not_found_says_when() -> None:
    scrape([offer(facts=facts("acme/h100x8", sharp=None))])
    kind = InstanceType.objects.get()
    assert kind.sharp is None
    assert kind.evidence["sharp"]["value"] is None
    assert kind.evidence["sharp"]["checked"] == "2026-11-23"


def test_types_of_which_the_same_is_said_stand_on_one_fabric() -> None:
    said = {"fabric": "infiniband", "fabric_gbits_per_s": 3200, "multi_node": "self_serve"}
    joined = [offer(name, facts=facts(f"acme/{name}", **said)) for name in ("a", "b")]
    scrape([*joined, offer("alone", facts=facts("acme/alone", fabric="infiniband"))])
    fabric = Fabric.objects.get()
    assert [t.name for t in fabric.instance_types.order_by("name")] == ["a", "b"]
    assert (fabric.technology, fabric.gbits_per_s_per_gpu) == ("infiniband", 400)


# --- What is refused --------------------------------------------------------------------------


def test_every_row_is_accounted_for() -> None:
    run = begin(collected_at=MONDAY)
    bad = [
        offer("nul", price_note="a\x00b"),
        offer("zero", usd="0"),
        offer("nan", usd="NaN"),
        offer("gpu", facts=facts("acme/gpu", gpu="h900-sxm9-1gb")),
        offer("many", facts=facts("acme/many", gpu_count=4096)),
        offer("land", country="Norway"),
        offer("good"),  # the second of its name
    ]
    rows = Normalised([offer("good"), *bad], [Rejected("no price", "offers[3]", "{}")])
    rows.ignored["Windows"] = 5
    publish(run, rows, run.epoch)
    assert (run.rows_in, run.accepted, run.quarantined, run.ignored) == (14, 1, 8, 5)
    reasons = set(QuarantinedRow.objects.values_list("reason", flat=True))
    assert len(reasons) == 8
    assert QuarantinedRow.objects.filter(payload=run.payloads.get()).count() == 8


@pytest.mark.parametrize(("kept", "state"), [(7, "published"), (6, "held")])
def test_thirty_percent_of_the_rows_may_go_and_no_more(
    eight: Offers, kept: int, state: str
) -> None:
    scrape(eight())
    run = scrape(eight()[:kept], days=1)
    assert run.state == state
    assert Offer.objects.listed().count() == (7 if state == "published" else 10)


@pytest.mark.parametrize(("moved", "state"), [(2, "published"), (3, "held")])
def test_a_fifth_of_the_prices_may_move_by_half_and_no_more(
    eight: Offers, moved: int, state: str
) -> None:
    scrape(eight())
    twice = [
        replace(o, native_amount=o.native_amount * 2, usd_per_hour=o.usd_per_hour * 2)
        for o in eight()[:moved]
    ]
    run = scrape([*twice, *eight()[moved:]], days=1)
    assert run.state == state
    assert Price.objects.count() == (12 if state == "published" else 10)


def test_an_empty_list_and_a_flood_are_held(eight: Offers) -> None:
    scrape(eight())
    before = versions()
    flood = [offer(f"h100x8-{n}") for n in range(51)]
    assert [scrape([], days=1).state, scrape(flood, days=2).state] == ["held", "held"]
    assert versions() == before


def test_a_list_that_is_older_than_the_published_one_changes_nothing(eight: Offers) -> None:
    scrape(eight(), days=1)
    before = versions()
    run = scrape(eight()[:8])
    assert (run.state, versions()) == (RunState.SUPERSEDED, before)
    assert "2026-11-24" in run.reason


def test_a_held_list_is_published_once_when_a_person_approves(eight: Offers) -> None:
    scrape(eight())
    run = scrape(eight()[:2], days=1)
    lease = Lease.objects.get()
    rows = Normalised([replace(o, collected_at=MONDAY + DAY) for o in eight()[:2]])
    publish(run, rows, lease.epoch, approved=True)
    assert (run.state, Offer.objects.listed().count()) == ("published", 2)
    before = versions()
    with pytest.raises(Fenced):
        publish(run, rows, lease.epoch, approved=True)
    assert versions() == before


def test_an_old_fencing_number_writes_nothing(eight: Offers) -> None:
    frozen = begin(collected_at=MONDAY)
    Lease.objects.update(epoch=frozen.epoch + 1)  # another has taken over
    before = versions()
    with pytest.raises(Fenced, match="acme"):
        publish(frozen, Normalised(eight()), frozen.epoch)
    assert versions() == before
    assert not QuarantinedRow.objects.exists()


def test_payloads_go_after_a_month_but_those_in_use_stay(eight: Offers) -> None:
    scrape(eight())
    old = scrape([], days=1)
    ScrapeRun.objects.update(started_at=MONDAY - 60 * DAY)
    ScrapeRun.objects.filter(pk=old.pk).update(state=RunState.FAILED)
    assert forget() == (0, 0)  # both runs name the same bytes, and one is published
    assert (old.documents.count(), old.payloads.count()) == (0, 0)
    published = ScrapeRun.objects.get(state=RunState.PUBLISHED)
    assert published.payloads.count() == 1


# --- Several at once --------------------------------------------------------------------------


def at_once(*lists: tuple[ScrapeRun, list[OfferRecord]]) -> list[Exception]:
    """Publish these lists, each from a thread and a connection of its own; what went wrong."""
    problems: list[Exception] = []
    barrier = threading.Barrier(len(lists))

    def bring(run: ScrapeRun, offers: list[OfferRecord]) -> None:
        barrier.wait()
        try:
            publish(run, Normalised(offers), run.epoch, approved=run.state == RunState.HELD)
        except Exception as problem:  # noqa: BLE001
            problems.append(problem)
        finally:
            connection.close()

    threads = [threading.Thread(target=bring, args=given) for given in lists]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return problems


@pytest.mark.django_db(transaction=True)
def test_two_ingests_of_one_provider_at_once_leave_one_truth() -> None:
    """Both hold the same lease (a lock that is bypassed), and bring other prices."""
    many = [offer(f"h100x8-{n}") for n in range(300)]
    scrape(many)
    held = {"state": "held", "finished_at": MONDAY, "collected_at": MONDAY + DAY, "epoch": 1}
    dearer = [
        [replace(o, native_amount=p, usd_per_hour=p, collected_at=MONDAY + DAY) for o in many]
        for p in (Decimal(21), Decimal(22))
    ]
    assert at_once((begin(**held), dearer[0]), (begin(**held), dearer[1][::-1])) == []
    assert len(set(Offer.objects.values_list("native_amount", flat=True))) == 1
    assert Price.objects.filter(valid_to=None).count() == 300


@pytest.mark.django_db(transaction=True)
def test_two_that_list_the_same_types_at_once_both_have_their_say() -> None:
    names = [f"h100x8-{n}" for n in range(300)]
    anywhere = partial(offer, region=None, country=None)  # no place that both would write
    scrape([anywhere(n) for n in names])
    scrape([anywhere(n, via="market") for n in names], lister="market")
    own = [anywhere(n, facts=facts(f"acme/{n}", fabric_nics=8)) for n in names]
    markets = [anywhere(n, via="market", facts=facts(f"acme/{n}", vcpus=224)) for n in names[::-1]]
    runs = begin(collected_at=MONDAY + DAY), begin("market", collected_at=MONDAY + DAY)
    assert at_once((runs[0], own), (runs[1], markets)) == []
    assert InstanceType.objects.filter(fabric_nics=8, vcpus=224).count() == 300
    assert Offer.objects.filter(ended_at=None).count() == 600


@pytest.mark.django_db(transaction=True)
def test_a_reader_sees_the_old_list_or_the_new_and_never_a_mix() -> None:
    many = [offer(f"h100x8-{n}") for n in range(200)]
    scrape(many)
    seen: set[frozenset[Decimal]] = set()
    done = threading.Event()

    def look() -> None:
        try:
            while not done.is_set():
                with connection.cursor() as cursor:
                    cursor.execute("select array_agg(distinct usd_per_hour) from offer_listing")
                    seen.add(frozenset(cursor.fetchone()[0]))
        finally:
            connection.close()

    reader = threading.Thread(target=look)
    reader.start()
    for n in range(1, 6):
        price = Decimal(20 + n)
        scrape([replace(o, native_amount=price, usd_per_hour=price) for o in many], days=n)
    done.set()
    reader.join(10)
    assert {len(prices) for prices in seen} == {1}
    assert len(seen) > 1
    assert CatalogVersion.objects.get().version == 6


def test_a_list_that_is_not_whole_ends_nothing(eight: Callable[[], list[OfferRecord]]) -> None:
    scrape(eight())
    run = begin(collected_at=MONDAY + DAY)
    publish(run, Normalised([offer("h100x8-0", "21")], partial="its last page names a next one"), 2)
    assert (run.state, run.offers_changed, run.offers_ended) == ("published", 1, 0)
    assert run.reason == "Nothing was ended: its last page names a next one."
    assert Offer.objects.listed().count() == 10


def test_an_offer_whose_row_could_not_be_read_has_not_ended(
    eight: Callable[[], list[OfferRecord]],
) -> None:
    scrape(eight())
    rest = [o for o in eight() if o.instance_type not in {"h100x8-3", "h100x8-4"}]
    run = begin(collected_at=MONDAY + DAY)
    unread = Rejected("price: 'oops' is no number", "Items[3]", '{"name": "h100x8-3"}')
    publish(run, Normalised(rest, [unread]), run.epoch)
    assert Offer.objects.exclude(ended_at=None).get().instance_type.name == "h100x8-4"


def test_a_new_row_that_names_nothing_may_be_any_offer_so_none_ends_until_the_next_list(
    eight: Callable[[], list[OfferRecord]],
) -> None:
    """A size whose name became null is still for sale."""
    scrape(eight())
    rest = [o for o in eight() if o.instance_type != "h100x8-3"]
    unnamed = Rejected("is not text", "sizes[3].slug", '{"slug": null, "price": 21}')
    run = begin(collected_at=MONDAY + DAY)
    publish(run, Normalised(rest, [unnamed]), run.epoch)
    assert (run.quarantined, run.offers_ended) == (1, 0)
    again = begin(collected_at=MONDAY + 2 * DAY)
    publish(again, Normalised(rest, [unnamed]), again.epoch)  # it was there before
    assert Offer.objects.exclude(ended_at=None).get().instance_type.name == "h100x8-3"


def test_old_estimates_are_let_go_and_young_ones_kept() -> None:
    now = datetime.now(UTC)
    for name, days in (("old", 31), ("young", 29)):
        Estimate.objects.create(
            digest=name, gpus=8, model_version="1", result={}, computed_at=now - days * DAY
        )
    forget()
    assert Estimate.objects.get().digest == "young"

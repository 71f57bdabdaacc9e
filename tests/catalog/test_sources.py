"""Each provider's state on its page: how it is read, when it was, and what is wrong."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from catalog.models import Lease, Offer, Provider, RunState, ScrapeRun
from catalog.records import PriceModel
from catalog.sources import Origin, Source, not_live, sources
from scrapers import leases
from scrapers.registry import PROVIDERS
from tests.catalog.conftest import MONDAY, begin, facts, offer, scrape

pytestmark = pytest.mark.django_db


def source(slug: str) -> Source:
    return next(each for each in sources() if each.provider.slug == slug)


def told(slug: str) -> tuple[str, bool]:
    state = source(slug).state
    return state.words, state.good


def known(slug: str, **fields: object) -> None:
    Provider.objects.update_or_create(slug=slug, defaults={"title": slug.title(), **fields})


def test_a_list_that_was_just_fetched_is_fresh() -> None:
    scrape([offer()])
    assert told("acme") == ("fresh", True)


def test_a_list_that_missed_three_intervals_is_stale() -> None:
    scrape([offer()])
    Provider.objects.update(
        interval=timedelta(hours=1), fetched_live_at=timezone.now() - timedelta(hours=4)
    )
    assert told("acme") == ("stale", False)


def test_a_failing_one_says_when_and_why() -> None:
    scrape([offer()])
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(
        state=RunState.FAILED,
        reason="acme.example answers 503, 5 times",
        finished_at=run.started_at,
    )
    Lease.objects.update(failures=1)
    assert told("acme")[0] == f"failing, last try {run.started_at:%Y-%m-%d}"
    assert source("acme").state.why == "acme.example answers 503, 5 times"


@pytest.mark.parametrize("state", [RunState.PUBLISHED, RunState.UNCHANGED, RunState.SUPERSEDED])
def test_a_file_read_since_takes_neither_the_day_nor_the_reason_of_a_failed_fetch(
    state: RunState,
) -> None:
    scrape([offer()])
    fetch = begin()
    ScrapeRun.objects.filter(pk=fetch.pk).update(
        state=RunState.FAILED,
        reason="it answers 503",
        started_at=fetch.started_at - timedelta(days=2),
        finished_at=fetch.started_at,
    )
    file = begin(live=False)
    ScrapeRun.objects.filter(pk=file.pk).update(state=state, finished_at=file.started_at)
    Lease.objects.update(failures=1)
    day = fetch.started_at - timedelta(days=2)
    assert told("acme")[0] == f"failing, last try {day:%Y-%m-%d}"
    assert source("acme").state.why == "it answers 503"


def test_a_held_list_waits_though_a_file_came_too_late() -> None:
    scrape([offer()])
    held = begin()
    ScrapeRun.objects.filter(pk=held.pk).update(
        state=RunState.HELD, reason="half of it is gone", finished_at=held.started_at
    )
    late = begin(live=False)
    ScrapeRun.objects.filter(pk=late.pk).update(
        state=RunState.SUPERSEDED, finished_at=late.started_at
    )
    assert source("acme").state.why == "half of it is gone"


def test_one_without_its_key_names_the_variable() -> None:
    known("acme", has_scraper=True, credentials=["ACME_KEY", "ACME_SECRET"])
    assert told("acme") == (
        "never fetched live, nothing of it is listed: needs ACME_KEY, ACME_SECRET",
        False,
    )
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(state=RunState.SKIPPED, finished_at=run.started_at)
    assert told("acme") == ("skipped: ACME_KEY, ACME_SECRET is not set", False)


def test_what_a_file_said_is_no_live_list() -> None:
    scrape([offer()], live=False)
    assert told("acme") == ("read from a file of 2026-11-23", False)


def test_one_that_is_known_otherwise_names_its_missing_key_too() -> None:
    known("acme", has_scraper=True, credentials=["ACME_KEY"])
    scrape([offer(via="broker")], lister="broker")
    assert told("acme") == ("through Broker: needs ACME_KEY", False)


def test_a_run_that_goes_on_hides_no_reason() -> None:
    scrape([offer()])
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(
        state=RunState.FAILED, reason="it answers 503", finished_at=run.started_at
    )
    begin()
    Lease.objects.update(failures=1)
    assert source("acme").state.why == "it answers 503"


def test_a_seller_that_only_an_aggregator_knows_says_through_whom() -> None:
    known("acme")
    scrape([offer(via="broker")], lister="broker")
    assert told("acme") == ("through Broker", False)
    assert (source("broker").via, source("broker").offers, source("acme").offers) == (1, 0, 1)


def test_what_only_checks_a_direct_price_is_counted_apart() -> None:
    scrape([offer()])
    other = offer(via="broker", provider="other", facts=facts("other/h100x8"))
    scrape([offer(via="broker"), other], lister="broker")
    assert told("acme") == ("fresh", True)
    assert (source("broker").via, source("broker").cross_checks) == (2, 1)
    assert (source("acme").offers, source("acme").types) == (1, 1)


def test_one_of_which_there_is_nothing_says_so() -> None:
    known("acme")
    assert told("acme") == ("nothing of it was read yet", False)


def test_one_that_nobody_reads_is_bundled_data() -> None:
    scrape([offer()], live=False)
    Offer.objects.update(run=None)
    Provider.objects.update(published_run=None)
    assert told("acme") == ("bundled data, never fetched live", False)


def bundled(slug: str, **fields: object) -> None:
    """A provider that only the bundled catalog knows, with one offer."""
    scrape([offer(provider=slug, facts=facts(f"{slug}/h100x8"), **fields)], lister=slug, live=False)
    Offer.objects.filter(listed_by=slug).update(run=None)
    Provider.objects.filter(slug=slug).update(published_run=None)


def test_one_that_only_quotes_sells_by_desk() -> None:
    quote = {"usd": None, "price_model": PriceModel.QUOTE}
    bundled("acme", **quote)
    assert told("acme") == ("by desk: it publishes no list, each offer is a quote", False)
    Provider.objects.update(has_scraper=True)
    assert told("acme") == ("bundled data, never fetched live", False)


def test_each_that_was_never_fetched_live_is_counted_by_what_it_is_known_by() -> None:
    scrape([offer()])
    bundled("dated")
    bundled("desk", usd=None, price_model=PriceModel.QUOTE)
    known("empty", has_scraper=True)
    own = offer(provider="filed", facts=facts("filed/h100x8"))
    scrape([own], lister="filed", live=False)
    theirs = offer(via="broker", provider="resold", facts=facts("resold/h100x8"))
    scrape([theirs], lister="broker")
    assert not_live(sources()) == [
        ("read from a file", ["Filed"]),
        ("through an aggregator's list", ["resold"]),
        ("bundled catalog, with the date when it was read", ["Dated"]),
        ("by desk, no list is published", ["Desk"]),
        ("nothing listed now", ["Empty"]),
    ]
    assert [s.provider.slug for s in sources() if s.origin == Origin.LIVE] == ["acme", "broker"]


def test_a_file_stands_where_the_key_for_a_fetch_is_missing() -> None:
    scrape([offer()], live=False)
    Provider.objects.update(has_scraper=True, credentials=["ACME_KEY"])
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(state=RunState.SKIPPED, finished_at=run.started_at)
    assert told("acme")[0] == "read from a file of 2026-11-23; skipped: ACME_KEY is not set"


def test_a_list_that_is_not_read_by_an_api_says_how(client: Client) -> None:
    leases.register(PROVIDERS.values())
    assert "its API takes its SDK and an account" in client.get("/providers/").content.decode()


# --- The same in the API ----------------------------------------------------------------------


def api(client: Client, slug: str) -> dict[str, Any]:
    rows = client.get("/api/v1/providers/").json()["results"]
    return next(row for row in rows if row["slug"] == slug)


def test_the_api_says_what_the_page_says_in_the_same_words(client: Client) -> None:
    scrape([offer(), offer("spare", None)])
    known("desk")
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(
        state=RunState.FAILED, reason="it answers 503", finished_at=run.started_at
    )
    Lease.objects.update(failures=1)
    hours = timedelta(hours=12)
    Provider.objects.filter(slug="acme").update(has_scraper=True, interval=hours)
    page, said = client.get("/providers/").content.decode(), api(client, "acme")
    assert said["state"] in page
    assert said["state"].startswith("failing, last try ")
    assert (said["reason"], said["good"], said["missing_keys"]) == ("it answers 503", False, [])
    assert (said["offers"], said["types"], said["interval_hours"]) == (2, 2, 12.0)
    assert (said["data_from"], said["data_collected_at"][:10]) == ("live", "2026-11-23")
    since = (timezone.now() - MONDAY) / timedelta(hours=1)
    assert said["data_age_hours"] == pytest.approx(since, abs=0.1)
    assert api(client, "desk")["interval_hours"] is None
    assert api(client, "desk")["data_age_hours"] is None


def test_the_api_names_missing_keys_and_is_never_older_than_the_last_run(client: Client) -> None:
    known("acme", has_scraper=True, credentials=["ACME_KEY"])
    assert api(client, "acme")["missing_keys"] == ["ACME_KEY"]
    scrape([offer()])
    assert api(client, "acme")["missing_keys"] == []
    Lease.objects.update(failures=1)
    run = begin()
    ScrapeRun.objects.filter(pk=run.pk).update(state=RunState.FAILED, finished_at=run.started_at)
    japanese = client.get("/api/v1/providers/", headers={"Accept-Language": "ja"}).json()["results"]
    assert japanese[0]["state"].startswith("failing")


def test_prices_are_written_without_trailing_zeros(client: Client) -> None:
    scrape([offer(usd="1.990")])
    (price,) = client.get("/api/v1/prices/").json()["results"]
    assert (price["native_amount"], price["usd_per_hour"]) == ("1.99", "1.99")

"""Amazon's list is read in parts: a task, a lease, a payload and a failure of its own a region."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone
from kombu import Connection

from catalog.invariants import broken
from catalog.models import Lease, Offer, Provider, RunState, ScrapeRun
from catalog.payloads import documents
from catalog.retention import forget
from catalog.sources import State, sources
from config.celery import app, broker
from scrapers import leases, reading, runs, tasks
from scrapers.http import Http
from scrapers.providers import aws
from scrapers.registry import PROVIDERS
from tests.scrapers.loopback import Answer, serve
from tests.scrapers.recorded import PAYLOADS
from tests.scrapers.test_tasks_worker import broker_of_its_own, until
from tests.scrapers.workers import celery

pytestmark = pytest.mark.django_db
HEAD, *_ROWS = (PAYLOADS / "aws_region.csv").read_text().partition('"SKU00001"')
ROW = "".join(_ROWS).splitlines()[0]
REGIONS = ("eu-west-1", "us-east-1", "us-west-2")
Answers = dict[str, Answer]


def listed(region: str, *types: str) -> Answer:
    """A region's list with these types, on demand."""
    rows = [
        ROW.replace("SKU00001", f"SKU{n}").replace("p5.48xlarge", t).replace("us-east-1", region)
        for n, t in enumerate(types)
    ]
    return Answer((HEAD + "\n".join(rows) + "\n").encode())


def path(region: str, kind: str = "csv") -> str:
    return f"/offers/v1.0/aws/AmazonEC2/current/{region}/index.{kind}"


def index(*regions: str) -> Answer:
    return Answer.json({"regions": {r: {"currentVersionUrl": path(r, "json")} for r in regions}})


def answers(**lists: Answer) -> Answers:
    """The index, and a list a region; us_east_1 names us-east-1."""
    given = {path(name.replace("_", "-")): answer for name, answer in lists.items()}
    usual = {path(region): listed(region, "p5.48xlarge", "p4d.24xlarge") for region in REGIONS}
    return {aws.INDEX.removeprefix(aws.ORIGIN): index(*REGIONS)} | usual | given


@pytest.fixture(autouse=True)
def registered(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setattr(reading, "ask_child", reading.answer)
    monkeypatch.setattr(
        runs, "Http", lambda **given: Http(**given, pace=0, sleep=lambda _seconds: None)
    )
    leases.register(PROVIDERS.values())
    yield
    assert broken() == {}


Scrape = Callable[[Mapping[str, Answer]], dict[str, str]]


@pytest.fixture
def scrape(monkeypatch: pytest.MonkeyPatch) -> Scrape:
    """Read the index and every part that is due, as the worker does; the state of each part."""

    def read(script: Mapping[str, Answer]) -> dict[str, str]:
        with serve(script) as provider:
            monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{aws.ORIGIN}={provider.url}")
            make_due()
            runs.scrape_due("aws")
            make_due()
            parts = Lease.objects.filter(provider="aws").exclude(part="").order_by("part")
            done = {lease.part: runs.scrape_due("aws", lease.part) for lease in parts}
        return {part: summary.state for part, summary in done.items()}

    return read


def make_due() -> None:
    past = timezone.now() - timedelta(seconds=1)
    Lease.objects.filter(provider="aws").update(due_at=past, attempts=0, breaker_until=None)


def offers(region: str) -> set[str]:
    there = Offer.objects.listed().filter(region=region)
    return set(there.values_list("instance_type__name", flat=True))


def test_the_index_gives_every_region_a_lease_of_its_own(scrape: Scrape) -> None:
    assert scrape(answers()) == dict.fromkeys(REGIONS, "published")
    whole = ScrapeRun.objects.get(part="")
    assert (whole.state, whole.reason) == (
        "unchanged",
        "3 regions, each read by a task of its own.",
    )
    for region in REGIONS:
        assert offers(region) == {"p5.48xlarge", "p4d.24xlarge"}
        (kept,) = documents(ScrapeRun.objects.get(part=region))
        assert b'"Whole SHA-256"' in kept.body


def test_new_regions_are_due_one_after_the_other() -> None:
    leases.register_parts("aws", REGIONS)
    due = Lease.objects.filter(provider="aws").exclude(part="").order_by("due_at")
    assert [lease.part for lease in due] == list(REGIONS)
    assert due[2].due_at - due[0].due_at == 2 * leases.APART
    later = timezone.now() + timedelta(hours=5)
    due.update(due_at=later)
    leases.register_parts("aws", [*REGIONS, "eu-north-1"])
    assert due.filter(due_at=later).count() == 3


@pytest.mark.parametrize(
    "bad",
    [
        Answer(status=503),
        Answer(b"<html>maintenance</html>"),
        Answer(b"x", length=1000),
        Answer(HEAD.encode()),
    ],
    ids=["503", "html", "short", "empty"],
)
def test_one_region_that_fails_loses_nothing_of_its_own_nor_of_others(
    scrape: Scrape, bad: Answer
) -> None:
    scrape(answers())
    states = scrape(
        answers(us_east_1=bad, us_west_2=listed("us-west-2", "p5.48xlarge", "p5e.48xlarge"))
    )
    assert states.pop("us-east-1") in ("failed", "held")
    assert states["eu-west-1"] == "unchanged"
    assert offers("us-east-1") == offers("eu-west-1") == {"p5.48xlarge", "p4d.24xlarge"}


def test_what_a_region_lists_no_more_has_ended_there_alone(scrape: Scrape) -> None:
    four = ("p5.48xlarge", "p4d.24xlarge", "p5e.48xlarge", "p5en.48xlarge")
    scrape(answers(us_east_1=listed("us-east-1", *four)))
    states = scrape(answers(us_east_1=listed("us-east-1", *four[:3])))
    assert states["us-east-1"] == "published"
    gone = Offer.objects.exclude(ended_at=None).get()
    assert (gone.region, gone.instance_type.name) == ("us-east-1", "p5en.48xlarge")
    assert sum(len(offers(region)) for region in REGIONS) == 7


def test_a_region_without_gpus_is_no_fault_and_one_that_had_them_is_held(scrape: Scrape) -> None:
    empty = Answer(HEAD.encode())
    assert scrape(answers(eu_west_1=empty))["eu-west-1"] == "unchanged"
    assert scrape(answers(us_east_1=empty))["us-east-1"] == "held"
    assert ScrapeRun.objects.get(state="held").reason == "The list is empty."


def test_a_region_that_is_no_longer_named_is_held_and_ends_when_a_person_approves(
    scrape: Scrape,
) -> None:
    scrape(answers())
    script = answers() | {aws.INDEX.removeprefix(aws.ORIGIN): index(*REGIONS[:2])}
    assert scrape(script)["us-west-2"] == "held"
    assert len(offers("us-west-2")) == 2
    run = ScrapeRun.objects.get(state="held")
    assert runs.approve("aws", run.pk, "ann").ended == 2
    assert (offers("us-west-2"), len(offers("us-east-1"))) == (set(), 2)


def test_a_zone_stands_in_the_list_of_its_region_and_a_row_of_another_region_is_refused(
    scrape: Scrape,
) -> None:
    zone, other = "us-west-2-lax-1", "eu-west-1"
    both = listed(zone, "p4de.24xlarge").body + listed(other, "p5.48xlarge").body[len(HEAD) :]
    scrape(answers(us_west_2=Answer(both)))
    assert (offers(zone), offers("us-west-2")) == ({"p4de.24xlarge"}, set())
    run = ScrapeRun.objects.get(part="us-west-2")
    assert "not of the list of us-west-2" in run.quarantine.get().reason


def test_a_file_of_one_region_ends_nothing_of_another(scrape: Scrape) -> None:
    scrape(answers())
    body = listed("us-east-1", "p5.48xlarge", "p4d.24xlarge", "p5e.48xlarge").body
    summary = runs.scrape_file("aws", body)
    assert (summary.state, summary.new, summary.ended) == ("published", 1, 0)


def test_by_hand_all_parts_are_read_and_the_worst_is_told(
    scrape: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serve(answers(us_east_1=Answer(status=404))) as provider:
        monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{aws.ORIGIN}={provider.url}")
        summary = runs.scrape_now("aws")
    assert (summary.state, summary.new) == ("failed", 4)
    assert "us-east-1: pricing.us-east-1.amazonaws.com answers 404" in summary.reason


def test_the_page_says_how_many_regions_are_read_and_which_fail(scrape: Scrape) -> None:
    def state() -> State:
        (source,) = (s for s in sources() if s.provider.slug == "aws")
        return source.state

    scrape(answers())
    assert (state().words, state().good) == ("3 of 3 regions fresh", True)
    scrape(answers(us_east_1=Answer(status=404), us_west_2=Answer(HEAD.encode())))
    assert state().words == (
        "1 of 3 regions fresh; failing: us-east-1; held, a person must look: us-west-2"
    )
    assert "us-east-1: pricing.us-east-1.amazonaws.com answers 404" in state().why
    assert not state().good


def test_at_any_time_an_offer_is_as_old_as_the_reading_of_its_own_region(scrape: Scrape) -> None:
    scrape(answers())
    first = ScrapeRun.objects.get(part="us-east-1").collected_at
    scrape(answers(us_east_1=Answer(status=404)))
    with connection.cursor() as cursor:
        cursor.execute(
            "select region, max(collected_at) from offer_listing_at(clock_timestamp()) group by 1"
        )
        seen = dict(cursor.fetchall())
    assert seen["us-east-1"] == first
    assert seen["eu-west-1"] > first


def test_what_offers_stand_on_is_kept_however_old(scrape: Scrape) -> None:
    scrape(answers())
    ScrapeRun.objects.update(started_at=timezone.now() - timedelta(days=40))
    forget()
    assert all(ScrapeRun.objects.get(part=part).documents.exists() for part in REGIONS)


def test_a_tick_starts_parts_like_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    Lease.objects.update(due_at=None)
    leases.register_parts("aws", REGIONS[:1])
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr(tasks.scrape, "apply_async", lambda due, **_: sent.append(due))
    monkeypatch.setattr(leases, "register", lambda _known: None)
    tasks.tick()
    assert sent == [("aws", "eu-west-1")]


@pytest.mark.django_db(transaction=True)
def test_celery_reads_the_index_and_then_every_region() -> None:
    Lease.objects.exclude(provider="aws").update(due_at=timezone.now() + timedelta(days=1))
    make_due()
    url = broker_of_its_own()
    with (
        serve(answers(us_east_1=Answer(status=404))) as provider,
        Connection(broker(url)) as queue,
        celery(url, FABRICSCOUT_STAND_INS=f"{aws.ORIGIN}={provider.url}"),
    ):
        app.send_task("scrapers.tick", connection=queue)
        assert until(lambda: Lease.objects.filter(provider="aws").count() == 4)
        Lease.objects.exclude(part="").update(due_at=timezone.now() - timedelta(seconds=1))
        app.send_task("scrapers.tick", connection=queue)
        ended = ScrapeRun.objects.exclude(part="").exclude(state=RunState.RUNNING)
        assert until(lambda: ended.count() == 3), list(ended.values("part", "state", "reason"))
    assert dict(ended.values_list("part", "state")) == {
        "eu-west-1": "published",
        "us-east-1": "failed",
        "us-west-2": "published",
    }
    assert Provider.objects.get(pk="aws").fetched_live_at is not None

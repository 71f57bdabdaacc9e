"""The whole first arrow, against a provider on loopback and from files."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from catalog import payloads
from catalog.invariants import broken
from catalog.models import Lease, Offer, Price, Provider, RawPayload, RunState, ScrapeRun
from scrapers import leases, reading, runs
from scrapers.http import Http
from scrapers.listing import Document, key_of
from scrapers.registry import PROVIDERS
from tests.scrapers.loopback import Answer, serve
from tests.scrapers.vast_page import ORIGIN, bundle, page

pytestmark = pytest.mark.django_db
in_a_child = pytest.mark.usefixtures("real_child")
MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
Scrape = Callable[..., dict[str, Any]]


@pytest.fixture(autouse=True)
def all_hold(db: None) -> Iterator[None]:
    leases.register(PROVIDERS.values())
    yield
    assert broken() == {}


@pytest.fixture
def real_child() -> None:
    """Asks for the child process."""


@pytest.fixture(autouse=True)
def no_child(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse in this process, but for the tests that are about the child: it starts slowly."""
    if "real_child" not in request.fixturenames:
        monkeypatch.setattr(reading, "ask_child", reading.answer)


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Callable[..., runs.Summary]:
    """Scrape vast, as due, from these answers."""

    def scrape(*script: Answer) -> runs.Summary:
        with serve(script) as provider:
            monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{ORIGIN}={provider.url}")
            monkeypatch.setattr(
                runs, "Http", lambda **given: Http(**given, pace=0, sleep=lambda _s: None)
            )
            Lease.objects.filter(provider="vast").update(
                due_at=timezone.now() - timedelta(seconds=1), breaker_until=None
            )
            return runs.scrape_due("vast")

    return scrape


@pytest.fixture
def command(tmp_path: Path) -> Scrape:
    """`manage.py scrape vast --json`, from these bytes."""

    def scrape(body: bytes | None = None, *options: str) -> dict[str, Any]:
        said = StringIO()
        if body is not None:
            (tmp_path / "page.json").write_bytes(body)
            options = ("--from", str(tmp_path / "page.json"), *options)
        code = 0
        try:
            call_command("scrape", "vast", "--json", *options, stdout=said)
        except SystemExit as stop:
            code = int(stop.code or 0)
        return json.loads(said.getvalue()) | {"code": code}

    return scrape


# --- Live -------------------------------------------------------------------------------------


@in_a_child
def test_a_live_list_is_published_with_its_payloads(live: Callable[..., runs.Summary]) -> None:
    summary = live(Answer.json(page(20)))
    assert (summary.state, summary.new, summary.rows_in) == (
        "published",
        20,
        summary.accepted + summary.ignored,
    )
    run = ScrapeRun.objects.get()
    assert [d.url for d in payloads.documents(run)] == [
        "https://console.vast.ai/api/v0/bundles/"
    ] * 2
    assert json.loads(payloads.documents(run)[0].body) == page(20)
    provider = Provider.objects.get(slug="vast")
    assert provider.published_run == run
    assert timezone.now() - provider.fetched_live_at < timedelta(seconds=20)
    assert Lease.objects.get(provider="vast").due_at > timezone.now() + timedelta(minutes=59)


def test_the_same_answer_later_is_unchanged_and_stored_once(
    live: Callable[..., runs.Summary],
) -> None:
    live(Answer.json(page(20)))
    again = live(Answer.json(page(20)))
    assert (again.state, again.unchanged, again.new, again.changed) == ("unchanged", 20, 0, 0)
    assert (RawPayload.objects.count(), Price.objects.count()) == (1, 20)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b"null", b'{"offers": []}'])
def test_a_list_of_nothing_is_held_and_the_old_one_kept(
    live: Callable[..., runs.Summary], body: bytes
) -> None:
    live(Answer.json(page(5)))
    held = live(Answer(body))
    assert (held.state, held.reason) == ("held", "The list is empty.")
    assert ScrapeRun.objects.get(state="held").documents.exists()
    assert Offer.objects.listed().count() == 5


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"<html>captcha</html>", headers={"Content-Type": "application/json"}),
        Answer(json.dumps(page(5)).encode()[:-40]),
        Answer(b"down", status=503),
        Answer.json(page(5), status=403),
        Answer(b"x" * 10, length=10_000),
    ],
    ids=["html", "cut", "503", "403", "short"],
)
def test_a_bad_answer_fails_the_run_and_the_old_list_stays(
    live: Callable[..., runs.Summary], answer: Answer
) -> None:
    live(Answer.json(page(5)))
    before = list(Offer.objects.values())
    failed = live(answer)
    assert (failed.state, list(Offer.objects.values())) == ("failed", before)
    assert failed.reason
    kept = ScrapeRun.objects.get(state="failed").documents.count()
    assert kept == (1 if answer.status == 200 and not answer.length else 0)
    assert Lease.objects.get(provider="vast").failures == 1


def test_a_server_that_says_later_is_asked_again_then(live: Callable[..., runs.Summary]) -> None:
    failed = live(Answer(b"", status=429, headers={"Retry-After": "1800"}))
    lease = Lease.objects.get(provider="vast")
    assert failed.state == "failed"
    assert 1700 < (lease.due_at - timezone.now()).total_seconds() <= 1800
    assert lease.attempts == 0


@in_a_child
def test_a_payload_that_kills_its_parser_is_tried_three_times(
    live: Callable[..., runs.Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CHILD", "import os; os.kill(os.getpid(), 9)")
    for attempt in (1, 2, 3):
        failed = live(Answer.json(page(5)))
        assert (failed.state, "SIGKILL" in failed.reason) == ("failed", True)
        assert ScrapeRun.objects.order_by("started_at").last().attempt == attempt
    assert Lease.objects.get(provider="vast").breaker_until > timezone.now()
    assert RawPayload.objects.count() == 1  # it is kept, to be looked at


@in_a_child
def test_a_parser_that_wants_all_the_memory_dies_alone(
    live: Callable[..., runs.Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    greedy = "from scrapers.reading import cap; cap(); bytearray(3 * 2**30)"
    monkeypatch.setattr(reading, "CHILD", greedy)
    failed = live(Answer.json(page(5)))
    assert (failed.state, "memory" in failed.reason) == ("failed", True)


def test_who_was_frozen_and_wakes_up_writes_nothing(live: Callable[..., runs.Summary]) -> None:
    Lease.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    frozen = leases.take("vast")
    late = runs._begin(frozen, live=True)
    Lease.objects.update(expires_at=timezone.now() - timedelta(seconds=10))
    live(Answer.json(page(5)))
    before, lease = (
        list(Offer.objects.values()),
        Lease.objects.filter(provider="vast").values().get(),
    )
    answer = Document("https://late.example", json.dumps(page(3)).encode(), timezone.now())
    with runs._accounted(late, frozen):
        runs._carry(late, frozen, [answer], None, lambda _step: None)
    assert (late.state, late.reason) == ("failed", leases.LOST)
    assert list(Offer.objects.values()) == before
    assert Lease.objects.filter(provider="vast").values().get() == lease


def test_a_clock_that_is_two_hours_ahead_dates_nothing_into_the_future(
    live: Callable[..., runs.Summary], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ahead(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return datetime.now(tz) + timedelta(hours=2)

    monkeypatch.setattr("scrapers.http.datetime", Ahead)
    monkeypatch.setattr("scrapers.runs.datetime", Ahead)
    live(Answer.json(page(5)))
    newest = Offer.objects.order_by("collected_at").last().collected_at
    assert abs(newest - timezone.now()) < timedelta(seconds=20)


# --- By hand ----------------------------------------------------------------------------------


def test_a_file_is_published_and_read_again_changes_nothing(command: Scrape) -> None:
    first = command(bundle(MONDAY))
    assert (first["code"], first["state"], first["new"]) == (0, "published", 20)
    assert list(first) == [
        "provider", "run", "state", "rows_in", "accepted", "quarantined", "ignored", "new",
        "changed", "ended", "unchanged", "reason", "seconds", "code",
    ]  # fmt: skip
    assert set(Offer.objects.values_list("collected_at", flat=True)) == {MONDAY}
    before = list(Offer.objects.values())
    again = command(bundle(MONDAY))
    assert (again["code"], again["state"], again["unchanged"]) == (0, "unchanged", 20)
    assert list(Offer.objects.values()) == before
    assert Provider.objects.get(slug="vast").fetched_live_at is None  # never fetched live


def test_a_file_that_says_no_time_is_as_old_as_its_first_reading(command: Scrape) -> None:
    body = json.dumps(page(5)).encode()
    command(body)
    before = list(Offer.objects.values())
    assert command(body)["state"] == "unchanged"
    assert list(Offer.objects.values()) == before


def test_the_time_can_be_given(command: Scrape) -> None:
    command(json.dumps(page(5)).encode(), "--collected-at", "2026-11-20T10:00:00Z")
    assert Offer.objects.first().collected_at == datetime(2026, 11, 20, 10, tzinfo=UTC)


def test_a_held_file_is_published_once_when_it_is_approved(command: Scrape) -> None:
    command(bundle(MONDAY, 20))
    held = command(bundle(MONDAY + timedelta(days=1), 10))
    assert (held["code"], held["state"], Offer.objects.listed().count()) == (1, "held", 20)
    approved = command(None, "--approve", held["run"])
    assert (approved["code"], approved["state"], approved["ended"]) == (0, "published", 10)
    assert approved["run"] == held["run"]
    with pytest.raises(CommandError, match="nothing to approve"):
        command(None, "--approve", held["run"])
    assert ScrapeRun.objects.filter(state=RunState.PUBLISHED).count() == 2


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["nope"], 2, "there are"),
        (["vast", "--from", "/nowhere.json"], 2, "/nowhere.json cannot be read"),
        (["vast", "--from", __file__], 2, "cannot be read"),
        (["vast", "--collected-at", "soon", "--from", __file__], 2, "'soon' is not a time"),
        (["vast", "--collected-at", "2099-01-01", "--from", __file__], 2, "future"),
        (["vast", "--collected-at", "2026-01-01"], 2, "goes with --from"),
        (["vast", "--approve", "x"], 2, "is no run"),
        (["vast", "--approve", "6d1f0c3e-0000-4000-8000-000000000000"], 1, "has no run"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(arguments: list[str], code: int, told: str) -> None:
    with pytest.raises(CommandError) as problem:
        call_command("scrape", *arguments, stdout=StringIO())
    assert problem.value.returncode == code
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


def test_an_unknown_slug_names_the_known_ones() -> None:
    with pytest.raises(CommandError) as problem:
        call_command("scrape", "nope")
    assert all(slug in str(problem.value) for slug in PROVIDERS)


@in_a_child
def test_an_unreadable_file_leaves_a_failed_run_with_its_payload(tmp_path: Path) -> None:
    (tmp_path / "page.json").write_bytes(b"<html>maintenance</html>")
    with pytest.raises(CommandError):
        call_command("scrape", "vast", "--from", str(tmp_path / "page.json"))
    run = ScrapeRun.objects.get()
    assert run.state == RunState.FAILED
    assert [d.body for d in payloads.documents(run)] == [b"<html>maintenance</html>"]


def test_without_a_network_the_run_fails_with_the_reason(
    command: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(bundle(MONDAY))
    monkeypatch.setattr(runs, "Http", lambda **given: Http(**given, pace=0, sleep=lambda _s: None))
    monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{ORIGIN}=http://127.0.0.1:9")
    failed = command()
    assert (failed["code"], failed["state"]) == (1, "failed")
    assert "console.vast.ai" in failed["reason"]
    assert Offer.objects.listed().count() == 20


def test_a_provider_without_its_key_is_skipped_and_says_so(
    command: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "provider_module", lambda _slug: Keyless)
    skipped = command()
    assert (skipped["code"], skipped["state"]) == (0, "skipped")
    assert skipped["reason"] == "Vast.ai is skipped: it needs a key, and VAST_KEY is not set."
    lease = Lease.objects.get(provider="vast")
    assert (lease.failures, lease.due_at) == (0, None)  # not each tick: when the key is there


class Keyless:
    """A provider that asks for a key."""

    PROVIDER = replace(PROVIDERS["vast"], credentials=("VAST_KEY",))

    @classmethod
    def fetch(cls, _http: Http) -> Iterator[Document]:
        """Looks for its key first."""
        key_of(cls.PROVIDER, {})
        yield from ()

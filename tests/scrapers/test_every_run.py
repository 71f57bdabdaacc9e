"""Every provider's recorded payload goes the whole arrow, and no fetch is without bounds."""

import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from catalog.invariants import broken
from catalog.models import Offer, RunState, ScrapeRun
from config.celery import app
from scrapers import leases, reading, runs
from scrapers.http import FetchFailed, Http
from scrapers.registry import PROVIDERS, provider_module
from tests.scrapers.loopback import Answer, serve
from tests.scrapers.recorded import recording

pytestmark = pytest.mark.django_db
OF_PARTS = {"skypilot"}  # the recorded payload is one of the files of its list
AT = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize("slug", sorted(PROVIDERS))
def test_a_recorded_payload_is_published(slug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "ask_child", reading.answer)
    leases.register(PROVIDERS.values())
    summary = runs.scrape_file(slug, recording(slug).read_bytes(), AT)
    run = ScrapeRun.objects.get(pk=summary.run)
    assert summary.state == RunState.PUBLISHED
    assert run.reason.startswith("Nothing was ended: ") if slug in OF_PARTS else not run.reason
    assert summary.new == summary.accepted == Offer.objects.filter(listed_by=slug).count()
    assert broken() == {}


# --- What each provider may take of time and memory --------------------------------------------


class Anywhere(Http):
    """A client that asks the one server for whatever it is asked."""

    server = ""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given | {"pace": 0.0, "stand_ins": {self.server: self.server}})

    def _address(self, url: httpx.URL) -> httpx.URL:
        return httpx.URL(self.server).copy_with(raw_path=url.raw_path)


@pytest.mark.parametrize("slug", sorted(PROVIDERS))
@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(pieces=[b" "] * 200, pause=0.05), "takes longer than"),
        (Answer(b" " * 5 * 2**20), "larger than 1 MB"),
        (Answer.zipped(b" " * 5 * 2**20), "larger than 1 MB"),
    ],
    ids=["drip", "flood", "bomb"],
)
def test_a_fetch_ends_at_the_deadline_and_the_size_that_its_provider_declares(
    slug: str, answer: Answer, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = PROVIDERS[slug]
    deadline = 0.5 if answer.pause else 30
    monkeypatch.setattr(
        provider_module(slug), "PROVIDER", replace(own, max_bytes=2**20, deadline=deadline)
    )
    for name in own.credentials:
        monkeypatch.setenv(name, "x")
    began = time.monotonic()
    with serve([answer]) as provider:
        monkeypatch.setattr(Anywhere, "server", provider.url)
        monkeypatch.setattr(runs, "Http", Anywhere)
        with pytest.raises(FetchFailed, match=problem):
            list(runs._fetch(slug, "", lambda _step: None))
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("slug", sorted(PROVIDERS))
def test_a_provider_declares_no_more_than_a_task_has(slug: str) -> None:
    own = PROVIDERS[slug]
    assert 2**20 <= own.max_bytes <= 2 * 2**30
    assert 10 <= own.deadline <= own.budget < app.conf.task_soft_time_limit

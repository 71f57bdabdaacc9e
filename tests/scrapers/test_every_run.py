"""Every provider's recorded payload goes the whole arrow: read, through the gates, published."""

from datetime import UTC, datetime

import pytest

from catalog.invariants import broken
from catalog.models import Offer, RunState, ScrapeRun
from scrapers import leases, reading, runs
from scrapers.registry import PROVIDERS
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

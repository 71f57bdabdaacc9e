"""A small catalog: offers as cleaning makes them, and one step that publishes a list of them."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest
from django.db.models.functions import Now

from catalog import payloads
from catalog.api import _estimated
from catalog.ingest import publish
from catalog.models import Lease, Provider, ScrapeRun
from catalog.records import Basis, Fact, Normalised, OfferRecord, PriceModel

MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def offer(name: str = "h100x8", usd: str | None = "20", **fields: Any) -> OfferRecord:
    """8 H100 in Oslo, on demand, for `usd` an hour."""
    provider = fields.get("provider", "acme")
    amount = None if usd is None else Decimal(usd)
    made = OfferRecord(
        provider=provider,
        instance_type=name,
        price_model=PriceModel.ON_DEMAND,
        region="oslo",
        country="NO",
        native_amount=amount,
        native_currency=None if amount is None else "USD",
        usd_per_hour=amount,
        collected_at=MONDAY,
        source_url="https://acme.example/prices",
        facts=facts(f"{provider}/{name}"),
    )
    return replace(made, **fields)


def facts(subject: str, **values: object) -> tuple[Fact, ...]:
    """What a listing says of its type."""
    said = {"gpu": "h100-sxm5-80gb", "gpu_count": 8} | values
    return tuple(
        Fact(
            subject=subject,
            attribute=name,
            value=value,
            basis=Basis.DOCUMENTED,
            source="https://acme.example/prices",
            checked=MONDAY.date(),
        )
        for name, value in said.items()
    )


def begin(lister: str = "acme", epoch: int | None = None, **fields: Any) -> ScrapeRun:
    """A run of `lister` that holds its lease, with the payload of an empty page."""
    Provider.objects.get_or_create(slug=lister, defaults={"title": lister.title()})
    lease, _ = Lease.objects.get_or_create(provider_id=lister)
    if epoch is None:
        lease.epoch += 1
        lease.save()
    run = ScrapeRun(provider_id=lister, epoch=epoch or lease.epoch, started_at=Now(), **fields)
    run.save()
    run.refresh_from_db()
    page = SimpleNamespace(url="https://acme.example/prices", body=b"{}", fetched_at=MONDAY)
    payloads.keep(run, [page])
    return run


def scrape(
    offers: Iterable[OfferRecord], *, days: float = 0, lister: str = "acme", **fields: Any
) -> ScrapeRun:
    """Publish a list that was collected `days` after Monday; the run says what came of it."""
    at = MONDAY + days * DAY
    run = begin(lister, collected_at=at, **fields)
    moved = [replace(o, collected_at=at) for o in offers]
    return publish(run, Normalised(moved), run.epoch)


@pytest.fixture
def eight() -> Callable[[], list[OfferRecord]]:
    """Ten offers of ten types."""
    return lambda: [offer(f"h100x8-{n}", str(20 + n)) for n in range(10)]


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ranking is shown when it is done, however busy the machine is."""
    monkeypatch.setattr("catalog.ranking.PATIENCE_S", 600.0)


@pytest.fixture(autouse=True)
def _no_answer_of_another_test() -> None:
    """Versions of the catalog repeat in tests, whose transactions are rolled back."""
    _estimated.cache_clear()

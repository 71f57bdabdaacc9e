"""A market whose prices and facts move, published by the real ingest, and people who watch it."""

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import Client

from catalog.models import Workload
from catalog.records import OfferRecord, PriceModel
from comparisons import asked
from comparisons.models import Comparison
from scoring.workload import job_fields
from tests.catalog.conftest import DAY, MONDAY, facts, offer, scrape
from tests.catalog.market import INFINIBAND

JOB = "llama3-70b-pretrain"
SMALL = "llama3-8b-pretrain"
IB = dict(INFINIBAND, gpudirect_rdma="yes")
PICKS = ["acme/ib", "acme/roce", "acme/dark"]
__all__ = ["DAY", "IB", "JOB", "MONDAY", "PICKS", "SMALL", "facts", "listed", "offer", "publish"]


def listed(**usd: str | None) -> list[OfferRecord]:
    """A list of acme's: three ways to join 8 H100, and one by spot; None leaves a type out."""
    prices: dict[str, str | None] = {"ib": "24", "roce": "16", "dark": "8", "spot": "12"} | usd
    made = {
        "ib": {"facts": facts("acme/ib", **IB)},
        "roce": {"facts": facts("acme/roce", fabric="roce", fabric_gbits_per_s=1600)},
        "dark": {"facts": facts("acme/dark")},  # a fabric that nobody names
        "spot": {"facts": facts("acme/ib", **IB), "price_model": PriceModel.SPOT},
    }
    return [
        offer("ib" if name == "spot" else name, price, **made[name])
        for name, price in prices.items()
        if price is not None
    ]


def publish(*, days: float, more: tuple[OfferRecord, ...] = (), **usd: str | None) -> None:
    """Publish the list, collected so many days after Monday."""
    run = scrape([*listed(**usd), *more], days=days)
    assert run.state in {"published", "unchanged"}, run.reason
    assert run.quarantined == 0


@pytest.fixture
def market(db: None) -> Callable[..., None]:
    """The list of Monday; call it to publish another one."""
    for slug in (JOB, SMALL):
        Workload.objects.create(slug=slug, title=slug, kind="train", job=dict(job_fields(slug)))
    publish(days=0)
    return publish


@pytest.fixture
def ada(db: None) -> Any:
    return get_user_model().objects.create_user("ada", "ada@example.org")


@pytest.fixture
def eve(db: None) -> Any:
    return get_user_model().objects.create_user("eve", "eve@example.org")


@pytest.fixture
def saved(market: object, ada: Any) -> Callable[..., Comparison]:
    """A comparison of ada's: three picks, one workload."""

    def save(**fields: Any) -> Comparison:
        body = {"name": "Q1", "workload": JOB, "gpus": 64, "picks": PICKS, **fields}
        columns, _question = asked.read(body)
        return Comparison.objects.create(owner=ada, **columns)

    return save


@pytest.fixture
def as_ada(client: Client, ada: Any) -> Client:
    client.force_login(ada)
    return client

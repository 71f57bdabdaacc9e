"""Someone who watches a comparison, and a receiver on loopback that is taken for a public one."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User

from accounts.models import ConfirmedAddress
from accounts.owned import held
from catalog.invariants import broken
from comparisons import asked as asked_of_comparisons
from comparisons.models import Comparison, Run
from tests.accounts.people import person
from tests.scrapers.loopback import Answer, Served, serve
from watches import asked, looking
from watches.models import Watch

HOOK = "https://hooks.example"
EMPTY = {name: said for name, said in asked_of_comparisons.EMPTY.items() if name != "notes"}


@pytest.fixture(autouse=True)
def _invariants_hold(request: pytest.FixtureRequest) -> Iterator[None]:
    """After every test that has tables."""
    yield
    if {"db", "transactional_db"} & set(request.fixturenames):
        assert broken() == {}


@pytest.fixture
def buyer(db: None) -> User:
    user = person("buyer@example.com")
    ConfirmedAddress.objects.create(user=user)
    return user


@pytest.fixture
def comparison(buyer: User) -> Comparison:
    return Comparison.objects.create(
        owner=buyer, name="Two clusters", workloads=[], objective="usd_per_mtoken", currency="USD"
    )


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Served]]:
    """`receiver(answers…)` answers in the place of HOOK."""
    opened: list[Any] = []

    def begin(*script: Answer) -> Served:
        context = serve(list(script) or [Answer(b"thanks")])
        served = context.__enter__()
        opened.append(context)
        monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{HOOK}={served.url}")
        return served

    yield begin
    for context in opened:
        context.__exit__(None, None, None)


def watch_of(comparison: Comparison, **said: Any) -> Watch:
    """A watch as the doors make it, but for the check of its address."""
    wish = {"what": "price", "threshold": 5.0, "channel": "webhook", "url": f"{HOOK}/in"} | said
    if wish["channel"] == "mail":
        wish["url"] = ""
    owner = comparison.owner_id
    lane = asked.lane(wish["channel"], wish["url"], owner)
    watch = Watch(owner_id=owner, comparison=comparison, lane=lane, **wish)
    looking.begin(watch)
    watch.refresh_from_db()
    return watch


def offer(key: str, usd: str | None, **more: Any) -> dict[str, Any]:
    """An offer of an answer, as far as changes look at it."""
    provider, _, rest = key.partition("/")
    instance_type, _, price_model = rest.partition(";")
    row = {
        "provider": provider, "provider_title": provider.title(), "instance_type": instance_type,
        "price_model": price_model or "on_demand", "tier": None, "region": None, "via": None,
        "gpu": "h100-sxm5-80gb", "gpu_count": 8, "usd_per_gpu_hour": usd, "native_amount": usd,
        "native_currency": "USD", "available": None, "source_url": "https://acme.example/prices",
        "collected_at": "2026-11-29T12:00:00Z",
    }  # fmt: skip
    return {"key": key, "status": "offered", "offer": row | more}


def run(comparison: Comparison, offers: list[dict[str, Any]], **more: Any) -> Run:
    """A run with that answer, written as `comparisons.runs` writes it."""
    from django.db import transaction

    number = comparison.runs.count() + 1
    answer = {
        "asked": {}, "as_of": None, "currency": None, "model_version": "1", "offers": offers,
        "types": {}, "workloads": [], "catalog_version": number,
        "catalog_changed_at": "2026-11-29T12:00:00Z",
    } | more  # fmt: skip
    answer["asked"] = {**EMPTY, **answer["asked"]}
    with transaction.atomic():
        held(Comparison.objects.filter(pk=comparison.pk))
        return Run.objects.create(
            comparison=comparison, catalog_version=answer["catalog_version"],
            model_version=answer["model_version"], results=answer,
        )  # fmt: skip

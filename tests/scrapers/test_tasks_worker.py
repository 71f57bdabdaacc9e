"""Real processes: a Celery worker that scrapes, and one that is killed again and again."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from kombu import Connection

from catalog.invariants import broken
from catalog.models import Lease, Offer, Price, RunState, ScrapeRun
from config.celery import app, broker
from scrapers import leases
from scrapers.registry import PROVIDERS
from tests.scrapers.loopback import Answer, serve
from tests.scrapers.vast_page import ORIGIN, page
from tests.scrapers.workers import celery, pool

pytestmark = pytest.mark.django_db(transaction=True)
KILLS = 20
OFFERS = 150


@pytest.fixture(autouse=True)
def only_vast_is_due(transactional_db: None) -> None:
    leases.register(PROVIDERS.values())
    Lease.objects.update(due_at=timezone.now() + timedelta(days=1))
    make_due()


def make_due() -> None:
    """As if the wait were over: due, and whoever held the lease is past his time."""
    past = timezone.now() - timedelta(seconds=5)
    Lease.objects.filter(provider="vast").update(
        due_at=past, expires_at=None, attempts=0, breaker_until=None
    )


def until(true: Callable[[], object], seconds: float = 25) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def prices() -> set[Decimal]:
    """The whole catalog in one look."""
    with connection.cursor() as cursor:
        cursor.execute("select usd_per_hour from offer_listing where provider = 'vast'")
        return {amount for (amount,) in cursor.fetchall()}


def broker_of_its_own() -> str:
    """This test's own database of the broker, whoever runs beside it."""
    number = 1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 14
    url = settings.REDIS_URL
    return f"{url}?db={number}" if url.startswith("unix:") else f"{url.rstrip('/0')}/{number}"


def test_a_celery_worker_that_is_woken_by_a_tick_publishes_what_is_due() -> None:
    url = broker_of_its_own()
    with serve([Answer.json(page(20))]) as provider, Connection(broker(url)) as queue:
        stand_ins = f"{ORIGIN}={provider.url}"
        with celery(url, FABRICSCOUT_STAND_INS=stand_ins) as worker:
            for _ in range(10):  # the same message ten times over: one scrape
                app.send_task("scrapers.tick", connection=queue)
            published = until(lambda: ScrapeRun.objects.filter(state="published").exists())
            assert published, list(ScrapeRun.objects.values("state", "reason"))
            app.send_task("no.such.task", connection=queue)
            time.sleep(0.3)
            assert worker.poll() is None
        assert worker.returncode == 0
    run = ScrapeRun.objects.get()
    assert (run.attempt, run.offers_new, len(prices())) == (1, 20, 20)
    assert broken() == {}


def test_a_worker_killed_at_any_moment_leaves_one_whole_list_and_resumes() -> None:
    """Each try brings other prices, so that a mix of two lists would show."""
    random.seed(20)
    with pool() as workers:
        took = _scrape(workers, 0)
        lists = [prices()]
        killed_in_time = 0
        for n in range(1, KILLS + 1):
            make_due()
            # Half of them anywhere, half about the time when it publishes.
            share = random.random() if n % 2 else random.uniform(0.6, 1.0)
            lasted = _scrape(workers, n, kill_after=took * share)
            seen = prices()
            killed_in_time += seen == lists[-1]
            took = took if seen == lists[-1] else min(took, lasted)
            assert seen == lists[-1] or not any(seen & known for known in lists)
            lists += [seen] if seen != lists[-1] else []
            make_due()
            leases.bury()
            assert not ScrapeRun.objects.filter(state=RunState.RUNNING).exists()
            assert broken() == {}
        _scrape(workers, KILLS + 1)
    assert killed_in_time >= KILLS // 4, "hardly any was killed before it had published"
    assert prices() not in lists
    assert {len(known) for known in lists} == {OFFERS}
    assert Price.objects.count() == (len(lists) + 1) * Offer.objects.count()
    assert ScrapeRun.objects.filter(state="published").count() == len(lists) + 1
    assert broken() == {}


def _scrape(
    workers: "subprocess.Popen[str]", number: int, kill_after: float | None = None
) -> float:
    """One scrape by a child of the pool, and how long it took; killed with its group, if asked."""
    with serve([Answer.json(page(OFFERS, dearer=1 + number / 50))]) as provider:
        began = time.monotonic()
        workers.stdin.write(f"vast {ORIGIN}={provider.url}\n")
        workers.stdin.flush()
        group = int(workers.stdout.readline())
        if kill_after is not None:
            time.sleep(kill_after)
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        workers.stdout.readline()
        return time.monotonic() - began

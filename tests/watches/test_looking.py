"""From the catalog's change to the outbox: the real catalog, the real comparison, a real worker."""

import json
import os
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.db.models.functions import Now
from kombu import Connection

from comparisons import runs
from comparisons.models import Comparison
from config.celery import app, broker
from tests.catalog.conftest import offer as listed
from tests.catalog.conftest import scrape
from tests.scrapers.loopback import Served
from tests.scrapers.workers import celery
from tests.watches.conftest import HOOK, watch_of
from watches import looking, tasks
from watches.models import Delivery, Event, State, Watch


@pytest.fixture
def market(buyer: User) -> Comparison:
    """Two types of one provider are picked, of ten: a list that loses one is believed."""
    publish("20", "30")
    return Comparison.objects.create(
        owner=buyer, name="Two", objective="usd_per_mtoken", currency="USD",
        picks=["acme/small;on_demand", "acme/large;on_demand"],
    )  # fmt: skip


def publish(small: str | None, large: str | None, days: float = 0) -> None:
    rows = [("small", small), ("large", large), *((f"other-{n}", "40") for n in range(8))]
    scrape([listed(name, usd) for name, usd in rows if usd], days=days)


def make_time_pass() -> None:
    Watch.objects.update(looked_at=Now() - timedelta(minutes=6))


@pytest.mark.django_db
def test_a_price_that_moves_in_the_catalog_becomes_an_event(market: Comparison) -> None:
    watch = watch_of(market)
    assert Watch.objects.to_look_at() == [market.pk]
    looking.look(market.pk)
    assert (market.runs.count(), Event.objects.count()) == (1, 0)
    assert Watch.objects.to_look_at() == [], "nothing changed since"
    publish("21", "30.3", days=1)
    assert Watch.objects.to_look_at() == [], "it was looked at just now"
    make_time_pass()
    assert Watch.objects.to_look_at() == [market.pk]
    looking.look(market.pk)
    looking.look(market.pk)
    event = Event.objects.get()
    assert (event.watch, event.run) == (watch, runs.current(market))
    [change] = event.payload["changes"]
    assert change["key"] == "acme/small;on_demand"
    assert float(change["now"]) == pytest.approx(21 / 8)
    assert change["now_source"]["source"] == "https://acme.example/prices"


@pytest.mark.django_db
def test_what_is_gone_is_not_offered(market: Comparison) -> None:
    watch_of(market, what="availability", threshold=None)
    looking.look(market.pk)
    publish("20", None, days=1)
    publish("20", None, days=2)
    make_time_pass()
    looking.look(market.pk)
    [change] = Event.objects.get().payload["changes"]
    assert (change["kind"], change["key"], change["now"]) == ("gone", "acme/large;on_demand", None)
    assert "$0" not in json.dumps(change)


@pytest.mark.django_db
def test_run_again_by_hand_tells_as_well(market: Comparison) -> None:
    watch_of(market)
    runs.make(market)
    publish("25", "30", days=1)
    runs.make(market)
    assert Event.objects.count() == 1


@pytest.mark.django_db
def test_a_look_that_fails_is_not_repeated_at_once_and_holds_up_no_other(
    market: Comparison, buyer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Comparison.objects.create(
        owner=buyer, name="B", objective="usd_per_mtoken", currency="USD", picks=market.picks
    )
    watch_of(market)
    watch_of(other)
    with monkeypatch.context() as patch:
        patch.setattr(runs, "refresh", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            looking.look(market.pk)
    assert Watch.objects.to_look_at() == [other.pk]
    make_time_pass()
    assert set(Watch.objects.to_look_at()) == {market.pk, other.pk}


@pytest.mark.django_db
def test_paused_watches_are_not_looked_after(market: Comparison) -> None:
    from watches import outbox
    from watches.models import Stop

    outbox.stop(watch_of(market), Stop.OWNER)
    assert Watch.objects.to_look_at() == []


@pytest.mark.django_db
def test_a_tick_wakes_for_what_is_due_and_for_nothing_else(
    market: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(tasks.deliver, "apply_async", lambda **_: woken.append("deliver"))
    monkeypatch.setattr(tasks.look, "apply_async", lambda args, **_: woken.append(args[0]))
    tasks.tick()
    assert woken == []
    watch = watch_of(market)
    tasks.tick()
    assert woken == [str(market.pk)]
    looking.look(market.pk)
    from watches import outbox

    outbox.test(watch)
    tasks.tick()
    assert woken == [str(market.pk), "deliver"]


@pytest.mark.django_db(transaction=True)
def test_a_worker_of_an_empty_queue_looks_and_delivers_what_postgres_says_is_due(
    market: Comparison, receiver: Callable[..., Served]
) -> None:
    """Only ticks are sent, ten times over, as if Redis had lost all else."""
    served = receiver()
    watch_of(market)
    looking.look(market.pk)
    publish("25", "30", days=1)
    make_time_pass()
    number = 1 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:]) % 14
    url = settings.REDIS_URL
    url = f"{url}?db={number}" if url.startswith("unix:") else f"{url.rstrip('/0')}/{number}"
    with (
        Connection(broker(url)) as queue,
        celery(url, FABRICSCOUT_STAND_INS=f"{HOOK}={served.url}") as worker,
    ):
        until = time.monotonic() + 60
        while not Delivery.objects.filter(state=State.DELIVERED).exists():
            assert time.monotonic() < until, list(Delivery.objects.values())
            assert worker.poll() is None
            for _ in range(10):
                app.send_task("watches.tick", connection=queue)
            time.sleep(1)
    assert [json.loads(r.body)["number"] for r in served.requests] == [1]
    assert Delivery.objects.get().attempts == 1


@pytest.mark.django_db
def test_what_a_pause_missed_is_told_when_it_goes_on(market: Comparison) -> None:
    from watches import outbox
    from watches.models import Stop

    watch = watch_of(market)
    looking.look(market.pk)
    outbox.stop(watch, Stop.OWNER)
    publish("25", "30", days=1)
    runs.make(market)
    outbox.resume(watch)
    looking.look(market.pk)
    [change] = Event.objects.get().payload["changes"]
    assert change["delta_percent"] == pytest.approx(25)


@pytest.mark.django_db
def test_a_watch_says_why_its_comparison_cannot_be_run_until_it_can(market: Comparison) -> None:
    watch = watch_of(market)
    Comparison.objects.filter(pk=market.pk).update(filter={"gpu": "no-such-gpu"})
    looking.look(market.pk)
    watch.refresh_from_db()
    assert "filter.gpu" in watch.trouble
    assert watch.active
    Comparison.objects.filter(pk=market.pk).update(filter={})
    make_time_pass()
    looking.look(market.pk)
    watch.refresh_from_db()
    assert watch.trouble == ""


@pytest.mark.django_db
def test_runs_that_nobody_asked_for_make_room(
    market: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runs, "MOST_BY_ITSELF", 2)
    monkeypatch.setattr(runs, "MOST_RUNS", 1)
    mine = runs.make(market)
    made = []
    for day in range(1, 5):
        publish(str(20 + day), "30", days=day)
        made.append(runs.refresh(market))
    kept = set(market.runs.values_list("pk", flat=True))
    assert kept == {mine.pk, *(each.pk for each in made[-2:] if each)}

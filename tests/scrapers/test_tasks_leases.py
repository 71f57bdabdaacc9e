"""Who may scrape, and when: one holder a provider, by the database's clock."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from catalog.models import Lease, ScrapeRun
from scrapers import leases, tasks
from scrapers.registry import PROVIDERS

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def registered(db: None) -> None:
    leases.register(PROVIDERS.values())


def set_lease(**fields: object) -> None:
    Lease.objects.filter(provider="vast").update(**fields)


def lease() -> Lease:
    return Lease.objects.get(provider="vast")


def ago(**time: float):
    return timezone.now() - timedelta(**time)


def test_a_provider_without_its_credentials_is_never_due(monkeypatch: pytest.MonkeyPatch) -> None:
    needy = [p for p in PROVIDERS.values() if p.credentials]
    for provider in needy:
        monkeypatch.delenv(provider.credentials[0], raising=False)
    Lease.objects.update(due_at=None)
    leases.register(PROVIDERS.values())
    assert lease().due_at is not None
    unready = {p.slug for p in needy}
    assert set(Lease.objects.filter(due_at=None).values_list("provider_id", flat=True)) == unready


def test_a_lease_is_taken_when_it_is_due_and_free_and_once() -> None:
    set_lease(due_at=ago(minutes=-5))
    assert leases.take("vast") is None
    set_lease(due_at=ago(minutes=5))
    held = leases.take("vast")
    assert (held.epoch, held.attempt) == (1, 1)
    assert leases.take("vast") is None
    set_lease(expires_at=ago(seconds=1))
    assert leases.take("vast").epoch == 2
    assert not leases.renew(held)


@pytest.mark.django_db(transaction=True)
def test_of_ten_who_come_at_once_one_gets_it() -> None:
    got: list[object] = []
    barrier = threading.Barrier(10)

    def come() -> None:
        barrier.wait()
        try:
            got.append(leases.take("vast"))
        finally:
            connection.close()

    threads = [threading.Thread(target=come) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (len(got), len([held for held in got if held])) == (10, 1)


def test_what_is_read_is_due_again_after_its_interval_and_not_once_for_each_missed_one() -> None:
    set_lease(due_at=ago(hours=30), failures=2)  # asleep for thirty intervals
    leases.done(leases.take("vast"))
    wait = lease().due_at - timezone.now()
    assert timedelta(minutes=59) < wait <= timedelta(hours=1)
    assert (lease().attempts, lease().failures, lease().expires_at) == (0, 0, None)


def test_failures_wait_longer_each_time_and_the_third_opens_the_breaker() -> None:
    waits = []
    for _ in range(3):
        set_lease(due_at=ago(seconds=1))
        leases.failed(leases.take("vast"))
        waits.append((lease().due_at - timezone.now()).total_seconds())
    assert 20 < waits[0] < 40 < 90 < waits[1] < 150
    assert 850 < waits[2] <= 900
    assert lease().breaker_until is not None
    set_lease(due_at=ago(seconds=1))
    assert leases.take("vast") is None  # open, though it is due


def test_a_half_open_breaker_lets_one_through_and_opens_for_twice_as_long() -> None:
    set_lease(due_at=ago(minutes=1), breaker_until=ago(minutes=1), attempts=2, failures=3)
    leases.failed(leases.take("vast"))
    assert 1700 < (lease().breaker_until - timezone.now()).total_seconds() <= 1800
    set_lease(due_at=ago(minutes=1), breaker_until=ago(minutes=1))
    leases.done(leases.take("vast"))
    assert (lease().breaker_until, lease().failures) == (None, 0)


def test_a_server_that_says_later_is_left_alone_in_postgres_and_not_for_ever() -> None:
    for said in range(1, 6):
        set_lease(due_at=ago(seconds=1))
        leases.later(leases.take("vast"), 600)
        assert 590 < (lease().due_at - timezone.now()).total_seconds() <= 600
        assert (lease().attempts, lease().failures) == (0, said)
    assert lease().breaker_until is not None


def test_a_person_goes_before_a_worker_but_not_before_another_person() -> None:
    worker = leases.take("vast")
    person = leases.take_by_hand("vast")
    assert person.epoch == worker.epoch + 1
    assert leases.take_by_hand("vast", patience=0.1) is None
    due = lease().due_at
    leases.give_back(person)
    assert (lease().due_at, lease().attempts) == (due, 0)


def test_an_old_holder_changes_nothing_when_it_gives_back() -> None:
    old = leases.take("vast")
    set_lease(expires_at=ago(seconds=1))
    leases.take("vast")
    before = Lease.objects.filter(provider="vast").values().get()
    leases.done(old)
    leases.failed(old)
    assert Lease.objects.filter(provider="vast").values().get() == before


def test_a_lost_run_is_buried_and_after_three_the_breaker_opens() -> None:
    for attempt in range(1, 4):
        held = leases.take("vast")
        assert held.attempt == attempt
        ScrapeRun.objects.create(
            provider_id="vast", epoch=held.epoch, attempt=attempt, started_at=timezone.now()
        )
        leases.bury()
        assert ScrapeRun.objects.filter(state="running").count() == 1  # it may be at work yet
        set_lease(expires_at=ago(seconds=1))
        leases.bury()
        assert not ScrapeRun.objects.filter(state="running").exists()
    assert leases.take("vast") is None
    assert lease().breaker_until > timezone.now()
    assert ScrapeRun.objects.filter(state="failed", reason=leases.LOST).count() == 3


def test_a_tick_wakes_a_few_the_longest_due_first(monkeypatch: pytest.MonkeyPatch) -> None:
    woken: list[str] = []
    monkeypatch.setattr(
        tasks.scrape, "apply_async", lambda args, expires: woken.append((args[0], expires))
    )
    Lease.objects.update(due_at=ago(minutes=1))
    set_lease(due_at=ago(hours=3))
    monkeypatch.setattr(leases.due, "__defaults__", (1,))
    tasks.tick()
    assert woken == [("vast", 30.0)]


def test_a_message_for_no_provider_or_for_one_that_is_not_due_does_nothing() -> None:
    set_lease(due_at=None)
    tasks.scrape("vast")
    tasks.scrape("../../etc/passwd")
    assert not ScrapeRun.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_lease_is_kept_while_the_work_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "RENEW", 0.05)
    held = leases.take("vast")
    with leases.Keeper(held):
        for _ in range(2):
            set_lease(expires_at=ago(seconds=1))
            deadline = time.monotonic() + 10
            while lease().expires_at < timezone.now():
                assert time.monotonic() < deadline, "nobody renewed it"
                time.sleep(0.02)
        set_lease(epoch=held.epoch + 1, expires_at=ago(seconds=1))  # another's now
        time.sleep(0.3)
        assert lease().expires_at < timezone.now()

"""The outbox: what is due, in which order, again when, and what becomes of it in the end."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db.models import F
from django.db.models.functions import Now

from comparisons.models import Comparison
from tests.scrapers.loopback import Answer, Served
from tests.watches.conftest import HOOK, watch_of
from watches import outbox, signing
from watches.models import Attempt, Delivery, Event, Kind, State, Stop, Watch

pytestmark = pytest.mark.django_db
Receiver = Callable[..., Served]
CHANGES: dict[str, Any] = {"changes": []}


def put(watch: Watch, kind: Kind = Kind.CHANGED) -> Event:
    from django.db import transaction

    with transaction.atomic():
        return outbox.put(watch, kind, CHANGES)


def send_all() -> int:
    """Until nothing is due; how many requests that took."""
    n = 0
    while outbox.deliver_next():
        n += 1
    return n


def let_time_pass() -> None:
    """As if every wait were over."""
    Delivery.objects.filter(state=State.SCHEDULED).update(next_attempt_at=Now())


def state(event: Event) -> str:
    return Delivery.objects.get(pk=event.pk).state


def test_an_event_goes_out_signed_under_its_id(comparison: Comparison, receiver: Receiver) -> None:
    served = receiver()
    watch = watch_of(comparison)
    event = put(watch)
    assert send_all() == 1
    asked = served.requests[0]
    now = datetime.now(UTC).timestamp()
    assert signing.verified(signing.secret(watch.seed), asked.headers, asked.body, now)
    said = json.loads(asked.body)
    assert (said["id"], asked.headers["FabricScout-Id"]) == (str(event.pk), str(event.pk))
    assert (said["type"], said["number"]) == ("comparison.changed", 1)
    assert said["comparison"] == {"id": str(comparison.pk), "name": "Two clusters"}
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.status, delivery.attempts) == (State.DELIVERED, 200, 1)
    assert Attempt.objects.get().elapsed_ms < 10_000


def test_it_is_tried_again_after_waits_that_grow_then_given_up(
    comparison: Comparison, receiver: Receiver
) -> None:
    """10 s, 1 min, 5 min, 30 min, 2 h, then every 6 h for 3 days, each ± 20 %."""
    planned = [10, 60, 300, 1800, 7200] + [21600] * 12
    served = receiver(Answer(b"no", status=500))
    event = put(watch_of(comparison))
    waits = []
    while True:
        assert send_all() == 1
        delivery = Delivery.objects.get()
        if delivery.state != State.SCHEDULED:
            break
        waits.append((delivery.next_attempt_at - outbox.clock()).total_seconds())
        let_time_pass()
    assert len(waits) == len(planned)
    for wait, plan in zip(waits, planned, strict=True):
        assert 0.8 * plan - 1 <= wait <= 1.2 * plan
    assert len({round(wait / 21600, 4) for wait in waits[5:]}) > 3, "they return in step"
    assert (delivery.state, delivery.failure, delivery.status) == (State.DEAD, "status", 500)
    assert {r.headers["FabricScout-Id"] for r in served.requests} == {str(event.pk)}
    assert Attempt.objects.count() == 18
    outbox.send_again(delivery)
    receiver()
    assert (send_all(), state(event)) == (1, State.DELIVERED)


def test_retry_after_lengthens_a_wait_and_never_shortens_it(
    comparison: Comparison, receiver: Receiver
) -> None:
    receiver(
        Answer(status=429, headers={"Retry-After": "3600"}),
        Answer(status=503, headers={"Retry-After": "1"}),
    )
    put(watch_of(comparison))
    for low, high in ((3590, 3601), (47, 73)):
        send_all()
        wait = Delivery.objects.get().next_attempt_at - outbox.clock()
        assert low <= wait.total_seconds() <= high
        let_time_pass()


def test_a_watch_is_told_in_order_and_others_do_not_wait(
    comparison: Comparison, receiver: Receiver
) -> None:
    served = receiver(Answer(status=500), Answer(b"ok"))
    watch, other = watch_of(comparison), watch_of(comparison)
    first, second = put(watch), put(watch)
    assert send_all() == 1, "the second waits for the first"
    third = put(other)
    assert send_all() == 1
    assert (state(first), state(second), state(third)) == ("scheduled", "scheduled", "delivered")
    let_time_pass()
    assert send_all() == 2
    ids = [r.headers["FabricScout-Id"] for r in served.requests]
    assert ids == [str(e.pk) for e in (first, third, first, second)]


def test_after_one_is_given_up_the_next_has_its_turn(
    comparison: Comparison, receiver: Receiver
) -> None:
    receiver(Answer(status=500), Answer(b"ok"))
    watch = watch_of(comparison)
    first, second = put(watch), put(watch)
    Delivery.objects.filter(pk=first.pk).update(attempts=len(outbox.WAITS_S))
    assert send_all() == 2
    assert (state(first), state(second)) == ("dead", "delivered")


def test_410_puts_the_watch_on_hold_and_nothing_is_lost(
    comparison: Comparison, receiver: Receiver
) -> None:
    receiver(Answer(status=410))
    watch = watch_of(comparison)
    events = [put(watch) for _ in range(3)]
    assert send_all() == 1
    watch.refresh_from_db()
    assert (watch.active, watch.stopped) == (False, Stop.GONE)
    assert {state(e) for e in events} == {"disabled"}
    served = receiver()
    outbox.resume(watch)
    assert send_all() == 3
    assert [r.headers["FabricScout-Id"] for r in served.requests] == [str(e.pk) for e in events]


def test_a_pause_keeps_what_waits(comparison: Comparison, receiver: Receiver) -> None:
    served = receiver()
    watch = watch_of(comparison)
    event = put(watch)
    outbox.stop(watch, Stop.OWNER)
    assert (send_all(), state(event), served.requests) == (0, "disabled", [])
    outbox.resume(watch)
    assert (send_all(), state(event)) == (1, "delivered")


def test_a_test_is_tried_once_and_stands_outside_the_order(
    comparison: Comparison, receiver: Receiver
) -> None:
    receiver(Answer(status=500))
    watch = watch_of(comparison)
    waiting = put(watch)
    send_all()
    event = outbox.test(watch)
    assert event is not None
    assert outbox.test(watch) is None, "one at a time"
    assert send_all() == 1
    assert (state(event), state(waiting)) == ("dead", "scheduled")
    after = outbox.test(watch)
    receiver()
    send_all()
    assert after is not None
    assert state(after) == "delivered"


def test_a_target_that_became_private_is_not_called_and_is_tried_again_later(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    watch = watch_of(comparison)
    monkeypatch.delenv("FABRICSCOUT_STAND_INS", raising=False)
    inside = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("10.0.0.1", 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: inside)
    put(watch)
    send_all()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.failure) == ("scheduled", "refused")


def test_each_secret_signs_for_a_day_after_it_was_changed(
    comparison: Comparison, receiver: Receiver
) -> None:
    from watches import orders

    served = receiver()
    watch = watch_of(comparison)
    first = signing.secret(watch.seed)
    second = signing.secret(orders.rotate(watch).seed)
    watch = orders.rotate(watch)
    third = signing.secret(watch.seed)
    (second_seed, _), (first_seed, _) = watch.earlier
    now = datetime.now(UTC)
    for hours, valid in ((23, {first, second, third}), (25, {second, third})):
        ended = [[second_seed, now], [first_seed, now - timedelta(hours=hours)]]
        Watch.objects.update(earlier=[[seed, at.isoformat()] for seed, at in ended])
        put(watch)
        send_all()
        asked = served.requests[-1]
        known = {first, second, third}
        assert len(known) == 3
        at = now.timestamp()
        assert {s for s in known if signing.verified(s, asked.headers, asked.body, at)} == valid


def test_a_secret_that_is_changed_all_day_keeps_the_last_five(comparison: Comparison) -> None:
    from watches import orders

    watch = watch_of(comparison)
    for _ in range(9):
        watch = orders.rotate(watch)
    assert len(outbox.seeds(watch, datetime.now(UTC))) == 1 + orders.MOST_EARLIER


def test_a_fault_of_ours_counts_as_a_try(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(outbox.sender, "post", lambda *_: 1 / 0)
    put(watch_of(comparison))
    send_all()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.failure, delivery.attempts) == ("scheduled", "fault", 1)
    assert "a fault of ours" in caplog.text


def test_the_database_keeps_the_times_of_the_states(comparison: Comparison) -> None:
    from django.db import IntegrityError, transaction

    put(watch_of(comparison))
    for wrong in (
        {"state": "dead"}, {"state": "delivered"}, {"next_attempt_at": None}, {"state": "lost"},
        {"state": "dead", "next_attempt_at": None, "failure": ""},
    ):  # fmt: skip
        with pytest.raises(IntegrityError), transaction.atomic():
            Delivery.objects.update(**wrong)
    with pytest.raises(IntegrityError), transaction.atomic():
        Event.objects.create(watch=Watch.objects.get(), number=1, kind=Kind.TEST, payload={})


def test_a_lane_is_the_host_and_its_port(comparison: Comparison) -> None:
    assert watch_of(comparison, url=f"{HOOK}/a?b").lane == "hooks.example:443"
    assert watch_of(comparison, channel="mail").lane == f"@{comparison.owner_id}"
    assert Watch.objects.filter(lane=F("url")).count() == 0

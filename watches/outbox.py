"""The outbox: an event goes in with the change that it tells of, and comes out once at least.

Whoever sends holds two locks for as long as the request lasts, both gone with him: the delivery's
row, and the lane, so that no host is called twice at once. Killed between request and mark, he
leaves the delivery as it was: due, under the same id. Nothing else says what is due: Redis may
forget everything.
"""

import json
import logging
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.db.models.functions import Now

from accounts.owned import held
from comparisons.models import Run
from watches import mail, sender, signing
from watches.models import Attempt, Channel, Delivery, Event, Kind, Pace, State, Stop, Watch
from watches.sender import Failure, Outcome

# After the first try, the second…: then every six hours for three days.
WAITS_S = (10, 60, 300, 1800, 7200, *[6 * 3600] * 12)
SPREAD = 0.2  # of each, either way: those that failed together do not return together
DIGEST_HOUR = 7  # UTC
THREADS = 4  # of one worker: a slow host holds up one of them
BUDGET_S = 45.0  # of one task; the next tick goes on
log = logging.getLogger(__name__)


# --- In ---------------------------------------------------------------------------------------


def put(watch: Watch, kind: Kind, said: dict[str, Any], run: Run | None = None) -> Event:
    """An event and its delivery. In the caller's transaction, which has locked the watch."""
    watch.last_number = F("last_number") + 1
    watch.save(update_fields=["last_number"])
    watch.refresh_from_db(fields=["last_number"])
    comparison = {"id": str(watch.comparison_id), "name": watch.comparison.name}
    wish = {"id": str(watch.pk), "what": watch.what, "threshold": watch.threshold}
    whole = {"watch": wish, "comparison": comparison, **said}
    event = Event(watch=watch, number=watch.last_number, kind=kind, run=run, payload=whole)
    event.save()
    event.refresh_from_db(fields=["created_at"])
    later = watch.channel == Channel.MAIL and watch.pace == Pace.DAILY and kind == Kind.CHANGED
    at = next_digest(event.created_at) if later else event.created_at
    Delivery.objects.create(event=event, next_attempt_at=at)
    return event


def next_digest(now: datetime) -> datetime:
    """When the day's mail goes out."""
    today = now.replace(hour=DIGEST_HOUR, minute=0, second=0, microsecond=0)
    return today if now < today else today + timedelta(days=1)


@transaction.atomic
def test(watch: Watch) -> Event | None:
    """A test message; None while one is waiting."""
    held(Watch.objects.filter(pk=watch.pk))
    waiting = Delivery.objects.filter(
        event__watch=watch, event__kind=Kind.TEST, state=State.SCHEDULED
    )
    return None if waiting.exists() else put(watch, Kind.TEST, {"changes": []})


@transaction.atomic
def send_again(delivery: Delivery) -> None:
    """Once more from the first try, under the same id."""
    Delivery.objects.exclude(state=State.SCHEDULED).filter(pk=delivery.pk).update(**_ANEW)


_ANEW: dict[str, Any] = {
    "state": State.SCHEDULED,
    "next_attempt_at": Now(),
    "delivered_at": None,
    "attempts": 0,
    "failure": "",
}


@transaction.atomic
def stop(watch: Watch, why: Stop) -> None:
    """Nothing goes out any more; what waits is kept. One that is under way ends by itself."""
    held(Watch.objects.filter(pk=watch.pk))
    Watch.objects.filter(pk=watch.pk).update(active=False, stopped=why)
    waiting = Delivery.objects.filter(event__watch=watch, state=State.SCHEDULED)
    free = [d.pk for d in waiting.select_for_update(skip_locked=True, of=("self",))]
    Delivery.objects.filter(pk__in=free).update(
        state=State.DISABLED, next_attempt_at=None, failure=why
    )


@transaction.atomic
def resume(watch: Watch) -> None:
    """All that was kept back goes out, in its order; what it missed is told at the next look."""
    held(Watch.objects.filter(pk=watch.pk))
    Watch.objects.filter(pk=watch.pk).update(
        active=True, stopped="", seen_version=None, looked_at=None
    )
    Delivery.objects.filter(event__watch=watch, state=State.DISABLED).update(**_ANEW)


def hurry(watch: Watch) -> None:
    """What waits for the day's mail goes out now."""
    untried = Delivery.objects.filter(event__watch=watch, state=State.SCHEDULED, attempts=0)
    untried.update(next_attempt_at=Now())


def forget() -> int:
    """Let go of what is past, with its log; how many went."""
    past = list(Delivery.objects.past().values_list("pk", flat=True))
    return Event.objects.filter(pk__in=past).delete()[1].get("watches.Event", 0)


# --- Out --------------------------------------------------------------------------------------


def is_due() -> bool:
    """True when a sender has something to do."""
    return Delivery.objects.due().exists()


def deliver(budget_s: float = BUDGET_S) -> None:
    """Send what is due, several lanes at a time, until nothing is or the time is over."""
    ends = time.monotonic() + budget_s
    with ThreadPoolExecutor(THREADS, "deliver") as pool:
        for done in [pool.submit(_drain, ends) for _ in range(THREADS)]:
            done.result()


def _drain(ends: float) -> None:
    try:
        while time.monotonic() < ends and deliver_next():
            pass
    finally:
        connection.close()


def deliver_next() -> bool:
    """Send one request or one mail; False when nothing is due that nobody else is at."""
    lanes = list(Delivery.objects.due().values_list("event__watch__lane", flat=True).distinct())
    random.shuffle(lanes)  # so that a long queue to one host holds up no other
    return any(_deliver_in(lane) for lane in lanes)


@transaction.atomic
def _deliver_in(lane: str) -> bool:
    if not _alone_in(lane):
        return False
    found = (
        Delivery.objects.due()
        .filter(event__watch__lane=lane)
        .select_related("event__watch__owner", "event__watch__comparison")
        .select_for_update(skip_locked=True, of=("self",))
        .order_by("event__watch__comparison", "event__watch", "event__number")
    )
    if lane.startswith(mail.LANE):
        taken, send = list(found), mail.send
    else:
        taken, send = list(found[:1]), _call
    if taken:
        outcome = _tried(send, taken)
        for delivery in taken:
            _mark(delivery, outcome)
    return bool(taken)


def _alone_in(lane: str) -> bool:
    """True when nobody else sends there until this transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(hashtextextended(%s, 8))", [lane])
        return bool(cursor.fetchone()[0])


def _tried(send: Callable[[list[Delivery]], Outcome], taken: list[Delivery]) -> Outcome:
    """What came of it. A fault of ours counts as a try, or it would be tried for ever."""
    try:
        return send(taken)
    except Exception:
        log.exception("a delivery failed by a fault of ours: %s", taken[0].pk)
        return Outcome(Failure.FAULT)


def _call(taken: list[Delivery]) -> Outcome:
    event = taken[0].event
    watch = event.watch
    body = json.dumps(message(event), ensure_ascii=False, separators=(",", ":")).encode()
    now = clock()
    signed = signing.headers(seeds(watch, now), str(event.pk), int(now.timestamp()), body)
    return sender.post(watch.url, signed, body)


def message(event: Event) -> dict[str, Any]:
    """What a receiver gets: the same in every repeat."""
    return {
        "id": str(event.pk),
        "type": event.kind,
        "number": event.number,
        "created_at": event.created_at.isoformat(),
        **event.payload,
    }


def seeds(watch: Watch, now: datetime) -> list[str]:
    """Of the secrets that are valid: each that it had for a day after it was changed."""
    return [watch.seed, *(seed for seed, _ in still_valid(watch, now))]


def still_valid(watch: Watch, now: datetime) -> list[list[str]]:
    """Of its earlier seeds, each with the time when it was changed."""
    day = timedelta(hours=signing.BOTH_VALID_HOURS)
    return [each for each in watch.earlier if now < datetime.fromisoformat(each[1]) + day]


def clock() -> datetime:
    """The database's time, which all machines share."""
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


# --- What came of it --------------------------------------------------------------------------


def _mark(delivery: Delivery, outcome: Outcome) -> None:
    """Delivered, due again, or given up; the sender still holds the row."""
    watch = delivery.event.watch
    Attempt.objects.create(
        delivery=delivery,
        failure=outcome.failure or "",
        status=outcome.status,
        elapsed_ms=round(1000 * outcome.elapsed_s),
    )
    now = clock()
    delivery.attempts += 1
    delivery.status, delivery.failure = outcome.status, outcome.failure or ""
    delivery.next_attempt_at = None
    if outcome.failure is None:
        delivery.state, delivery.delivered_at = State.DELIVERED, now
    elif delivery.event.kind == Kind.TEST or delivery.attempts > len(WAITS_S):
        delivery.state = State.DEAD
    elif outcome.failure == Failure.GONE:
        delivery.state = State.DISABLED
    elif not held(Watch.objects.filter(pk=watch.pk)).active:
        delivery.state, delivery.failure = State.DISABLED, watch.stopped or Stop.OWNER
    else:
        delivery.next_attempt_at = now + wait(delivery.attempts, outcome.wait_s)
    delivery.save()
    if outcome.failure == Failure.GONE:
        stop(watch, Stop.GONE)


def wait(attempts: int, asked_s: float | None) -> timedelta:
    """How long until the next try: as planned, or longer where the receiver asks for it."""
    spread = random.uniform(1 - SPREAD, 1 + SPREAD)  # noqa: S311
    return timedelta(seconds=max(WAITS_S[attempts - 1] * spread, asked_s or 0.0))

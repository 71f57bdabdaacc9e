"""F31: real senders, a real receiver, and `kill -9` between request and mark."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from django.db import connection, transaction

from catalog.invariants import broken
from comparisons.models import Comparison
from tests.scrapers.loopback import Answer, Served
from tests.watches.conftest import HOOK, watch_of
from tests.watches.senders import senders
from watches import outbox
from watches.models import Delivery, Event, Kind, State

pytestmark = pytest.mark.django_db(transaction=True)
KILLS = 40
EVENTS = 10


def put(comparison: Comparison, events: int) -> list[str]:
    watch = watch_of(comparison)
    with transaction.atomic():
        return [str(outbox.put(watch, Kind.CHANGED, {"changes": []}).pk) for _ in range(events)]


@contextmanager
def deadly(kill: Callable[[], bool]) -> Iterator[tuple[str, list[str]]]:
    """A receiver that takes each message in, and then calls `kill`; only if it says no it answers.

    What it took in is what the receiver has: the sender is dead between request and mark.
    """
    got: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            got.append(self.headers["FabricScout-Id"])
            if not kill():
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_said: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", got
    finally:
        server.shutdown()
        server.server_close()


def test_a_sender_killed_between_request_and_mark_loses_nothing_and_repeats_under_the_same_id(
    comparison: Comparison,
) -> None:
    sent = put(comparison, EVENTS)
    child = [0]
    killed = [0]

    def kill() -> bool:
        """Four times out of five."""
        if killed[0] < KILLS and (killed[0] + len(done())) % 5 != 4:
            killed[0] += 1
            os.kill(child[0], signal.SIGKILL)
            return True
        return False

    def done() -> list[str]:
        connection.close()  # a handler's thread has a connection of its own
        delivered = Delivery.objects.filter(state=State.DELIVERED)
        found = [str(pk) for pk in delivered.values_list("pk", flat=True)]
        connection.close()
        return found

    ends: Counter[int] = Counter()
    with deadly(kill) as (url, got), senders(f"{HOOK}={url}") as pool:
        until = time.monotonic() + 120
        while Delivery.objects.exclude(state=State.DELIVERED).exists():
            assert time.monotonic() < until, (ends, got)
            child[0] = pool.start()
            ends[pool.ended()] += 1
    assert ends[signal.SIGKILL] == killed[0] == KILLS
    assert set(got) == set(sent), "none is lost, none is made up"
    assert len(got) == EVENTS + KILLS, "each repeat carries the id of the first"
    assert list(dict.fromkeys(got)) == sent, "in their order"
    assert broken() == {}


def test_a_sender_that_is_frozen_gives_way_and_writes_nothing_when_it_wakes(
    comparison: Comparison,
) -> None:
    """Its session ends after a minute idle in a transaction: here an administrator ends it."""
    [event] = put(comparison, 1)
    child = [0]
    frozen = threading.Event()

    def freeze() -> bool:
        if not frozen.is_set():
            os.kill(child[0], signal.SIGSTOP)
            frozen.set()
        return False

    with deadly(freeze) as (url, got), senders(f"{HOOK}={url}") as pool:
        child[0] = pool.start()
        assert frozen.wait(20)
        assert not outbox.deliver_next(), "the row and the lane are his"
        with connection.cursor() as cursor:
            cursor.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where "
                "datname = current_database() and state = 'idle in transaction' "
                "and pid <> pg_backend_pid()"
            )
            assert cursor.fetchall() == [(True,)]
        os.environ["FABRICSCOUT_STAND_INS"] = f"{HOOK}={url}"
        try:
            until = time.monotonic() + 10
            while not outbox.deliver_next():
                assert time.monotonic() < until
                time.sleep(0.05)
        finally:
            del os.environ["FABRICSCOUT_STAND_INS"]
        marked = Delivery.objects.get()
        os.kill(child[0], signal.SIGCONT)
        pool.ended()
    assert got == [event, event]
    after = Delivery.objects.get()
    assert (marked.state, after.state, after.attempts) == ("delivered", "delivered", 1)


def test_two_senders_never_call_one_host_at_once(comparison: Comparison) -> None:
    """Two watches of one host, eight senders."""
    for _ in range(2):
        put(comparison, 3)
    now, most = [0], [0]
    lock = threading.Lock()

    def linger() -> bool:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.1)
        with lock:
            now[0] -= 1
        return False

    with deadly(linger) as (url, got):
        os.environ["FABRICSCOUT_STAND_INS"] = f"{HOOK}={url}"
        try:
            threads = [threading.Thread(target=outbox.deliver, args=(5,)) for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            del os.environ["FABRICSCOUT_STAND_INS"]
        assert most[0] == 1
    while_waiting = Delivery.objects.filter(state=State.DELIVERED).count()
    assert (len(got), while_waiting) == (6, 6)


def test_a_slow_host_does_not_hold_up_another(
    comparison: Comparison, receiver: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = receiver()
    slow = threading.Event()
    with deadly(lambda: slow.wait(3) and False) as (url, got):
        monkeypatch.setenv(
            "FABRICSCOUT_STAND_INS", f"https://slow.example={url},{HOOK}={quick.url}"
        )
        for url_of, n in (("https://slow.example/in", 2), (f"{HOOK}/in", 5)):
            watch = watch_of(comparison, url=url_of)
            with transaction.atomic():
                for _ in range(n):
                    outbox.put(watch, Kind.CHANGED, {"changes": []})
        began = time.monotonic()
        sender = threading.Thread(target=outbox.deliver, args=(5,))
        sender.start()
        while len(quick.requests) < 5 and time.monotonic() < began + 5:
            time.sleep(0.02)
        took = time.monotonic() - began
        assert len(quick.requests) == 5
        assert took < 2.5
        slow.set()
        sender.join()
        assert len(got) == 2
    assert Event.objects.count() == 7


def test_a_receiver_that_fails_in_every_way_gets_each_event_in_the_end(
    comparison: Comparison, receiver: Callable[..., Served]
) -> None:
    served = receiver(
        Answer(status=500), Answer(b"cut", length=-1), Answer(status=429), Answer(b"ok")
    )
    [event] = put(comparison, 1)
    for _ in range(6):
        outbox.deliver_next()
        Delivery.objects.filter(state=State.SCHEDULED).update(next_attempt_at=outbox.clock())
    assert Delivery.objects.get().state == State.DELIVERED
    assert {r.headers["FabricScout-Id"] for r in served.requests} == {event}

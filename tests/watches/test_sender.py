"""One request: what is said, what is read of the answer, and how long it may take."""

import gzip
import threading
import time
from collections.abc import Callable

import pytest

from tests.scrapers.loopback import Answer, Served, serve
from tests.watches.conftest import HOOK
from watches import sender
from watches.sender import Failure

Receiver = Callable[..., Served]


def test_a_delivery_is_a_post_of_json_with_what_it_was_given(receiver: Receiver) -> None:
    served = receiver(Answer(b"thanks", status=202))
    outcome = sender.post(f"{HOOK}/in?key=1", {"FabricScout-Id": "e1"}, b'{"a":1}')
    assert (outcome.failure, outcome.status) == (None, 202)
    asked = served.requests[0]
    assert (asked.method, asked.path, asked.body) == ("POST", "/in?key=1", b'{"a":1}')
    assert asked.headers["FabricScout-Id"] == "e1"
    assert asked.headers["Content-Type"] == "application/json"
    assert asked.headers["Accept-Encoding"] == "identity"
    assert asked.headers["Host"] == "hooks.example"
    assert asked.headers["User-Agent"].startswith("FabricScout-Webhook/")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_and_is_no_delivery(receiver: Receiver, status: int) -> None:
    with serve([Answer(b"inside")]) as inside:
        for target in (inside.url, "http://169.254.169.254/", "/other", "file:///etc/passwd"):
            served = receiver(Answer(status=status, headers={"Location": target}))
            outcome = sender.post(f"{HOOK}/in", {}, b"{}")
            assert (outcome.failure, outcome.status) == (Failure.STATUS, status)
            assert len(served.requests) == 1
        assert inside.requests == []


@pytest.mark.parametrize("status", [400, 401, 404, 418, 500, 503])
def test_anything_but_2xx_is_no_delivery(receiver: Receiver, status: int) -> None:
    receiver(Answer(b"<script>secret</script>", status=status))
    outcome = sender.post(f"{HOOK}/in", {}, b"{}")
    assert (outcome.failure, outcome.status, outcome.wait_s) == (Failure.STATUS, status, None)
    assert "secret" not in repr(outcome)


def test_410_is_gone(receiver: Receiver) -> None:
    receiver(Answer(status=410))
    assert sender.post(f"{HOOK}/in", {}, b"{}").failure == Failure.GONE


@pytest.mark.parametrize(
    ("asked", "wait"),
    [("120", 120), ("0", 1), ("999999999", 6 * 3600), ("soon", None), ("-1", None)],
)
def test_retry_after_is_read_up_to_six_hours(
    receiver: Receiver, asked: str, wait: float | None
) -> None:
    receiver(Answer(status=429, headers={"Retry-After": asked}))
    assert sender.post(f"{HOOK}/in", {}, b"{}").wait_s == wait


@pytest.mark.parametrize(
    "answer",
    [
        Answer(pieces=[b"x" * 2**16] * 200, pause=0.05),
        Answer(gzip.compress(b"0" * 50_000_000), headers={"Content-Encoding": "gzip"}),
        Answer(b"half", length=500),
    ],
    ids=["endless", "gzip bomb", "cut short"],
)
def test_the_body_of_an_answer_is_left_where_it_is(receiver: Receiver, answer: Answer) -> None:
    receiver(answer)
    outcome = sender.post(f"{HOOK}/in", {}, b"{}")
    assert (outcome.failure, outcome.status) == (None, 200)
    assert outcome.elapsed_s < 1


def test_a_head_without_end_is_cut_off_at_64_kb(receiver: Receiver) -> None:
    receiver(Answer(headers={f"X-{n}": "y" * 1000 for n in range(90)}))
    assert sender.post(f"{HOOK}/in", {}, b"{}").failure == Failure.TOO_LONG


def test_silence_ends_after_ten_seconds_in_all(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sender.SECONDS == 10
    monkeypatch.setattr(sender, "SECONDS", 0.4)
    enough = threading.Event()

    class Silent(Answer):
        @property
        def status(self) -> int:  # type: ignore[override]
            enough.wait(5)
            return 200

        @status.setter
        def status(self, _value: int) -> None:
            """Of no use."""

    receiver(Silent())
    began = time.monotonic()
    assert sender.post(f"{HOOK}/in", {}, b"{}").failure == Failure.SLOW
    assert time.monotonic() - began < 2
    enough.set()


def test_a_receiver_that_is_not_there_and_one_that_speaks_no_http(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import socket

    monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{HOOK}=http://127.0.0.1:1")
    assert sender.post(f"{HOOK}/in", {}, b"{}").failure == Failure.NO_CONNECTION
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def nonsense() -> None:
            peer, _ = listening.accept()
            with peer:
                peer.recv(65536)
                peer.sendall(b"+PONG\r\n\r\n")

        thread = threading.Thread(target=nonsense, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        monkeypatch.setenv("FABRICSCOUT_STAND_INS", f"{HOOK}=http://127.0.0.1:{port}")
        assert sender.post(f"{HOOK}/in", {}, b"{}").failure == Failure.BROKEN
        thread.join(2)


def test_only_the_stand_in_is_reached_on_loopback(receiver: Receiver) -> None:
    with serve([Answer(b"inside")]) as inside:
        receiver()
        for address in (inside.url, inside.url.replace("http", "https")):
            assert sender.post(address, {}, b"{}").failure == Failure.REFUSED
        assert inside.requests == []

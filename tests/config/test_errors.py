"""What is answered where no view could: one shape below /api/, a page elsewhere, never a hang."""

import json
import select
import socket
import threading
import time
from contextlib import ExitStack

import pytest
from django import db
from pytest_django.live_server_helper import LiveServer

from config import hang_up, middleware
from tests.catalog.market import open_market


@pytest.fixture
def _no_database(monkeypatch):
    """Every query fails, as it does when Postgres is gone."""

    def gone(*_args, **_kwargs):
        raise db.OperationalError("connection refused")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", gone)


@pytest.mark.django_db
@pytest.mark.usefixtures("_no_database")
@pytest.mark.parametrize("address", ["/", "/providers/", "/workloads/", "/instances/a/b/"])
def test_a_page_without_a_database_says_when_to_come_again(client, address):
    answer = client.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert "Back in a moment" in answer.content.decode()
    assert answer["Content-Security-Policy"] == middleware.POLICY


@pytest.mark.django_db
@pytest.mark.usefixtures("_no_database")
@pytest.mark.parametrize("address", ["offers/", "instance-types/", "quality/", "workloads/"])
def test_the_api_without_a_database_says_so_in_its_one_shape(client, address):
    answer = client.get(f"/api/v1/{address}")
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer.json()["error"]["code"] == "database_unavailable"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "kind"), [("/", "text/html"), ("/api/v1/offers/", "application/json")]
)
def test_a_statement_that_takes_too_long_is_a_503(client, address, kind):
    open_market()
    client.get(address)  # what is made once is made
    with db.connection.cursor() as cursor:
        cursor.execute("set local statement_timeout = '1ms'")
    answer = client.get(address)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")
    assert answer["Content-Type"].partition(";")[0] == kind


def test_another_host_is_refused_in_the_form_that_is_read_there(client):
    api = client.get("/api/v1/offers/", headers={"host": "evil.example"})
    assert (api.status_code, api.json()["error"]["code"]) == (400, "bad_request")
    page = client.get("/", headers={"host": "evil.example"})
    assert (page.status_code, page["Content-Type"].split(";")[0]) == (400, "text/html")


@pytest.mark.django_db(transaction=True)
def says(connection: socket.socket, words: bytes) -> bool:
    """Whether these words come before the other side ends: head and body may be sent apart."""
    connection.settimeout(5)
    text = b""
    while words not in text and (more := connection.recv(4096)):
        text += more
    return words in text


def test_bodies_that_never_come_leave_places_for_others_and_are_hung_up_on(
    live_server: LiveServer,
):
    host, port = live_server.thread.host, live_server.thread.port
    slow = [socket.create_connection((host, port)) for _ in range(3)]
    head = b"POST /api/v1/estimates/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    began = time.monotonic()
    for connection in slow:
        connection.sendall(head)
    try:
        answered = answers(slow, 2, patience=0.8)
        assert [first_line(c) for c in answered] == [b"HTTP/1.1 503 Service Unavailable"] * 2
        assert says(answered[0], b'"busy"')
        with middleware.BODIES.one("somebody else") as let_in:
            assert let_in
        (last,) = set(slow) - set(answered)
        while not answers([last], 1, patience=0.2) and time.monotonic() < began + 10:
            last.sendall(b" ")  # one byte in a while does not help
        assert first_line(last) == b"HTTP/1.1 408 Request Timeout"
        assert middleware.GRACE_S <= time.monotonic() - began < 10
    finally:
        for connection in slow:
            connection.close()
    deadline = time.monotonic() + 10
    while middleware.BODIES.taken and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    assert not middleware.BODIES.taken


def test_only_connections_that_were_sent_nothing_are_hung_up_on():
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as open_ones:
        ends = [socket.create_connection(server.getsockname()) for _ in range(2)]
        (waits, _), (answered, _) = (server.accept() for _ in ends)
        for each in (*ends, waits, answered):
            open_ones.enter_context(each)
        time.sleep(0.3)
        answered.sendall(b"!")
        hang_up.on_unanswered(server.getsockname()[1], 0.2)
        waits.settimeout(0.1)
        answered.settimeout(0.1)
        assert waits.recv(1) == b""
        waits.sendall(b"too late")  # what is to be said still can be
        assert ends[0].recv(8) == b"too late"
        with pytest.raises(TimeoutError):
            answered.recv(1)


def answers(
    connections: list[socket.socket], wanted: int, patience: float = 10
) -> list[socket.socket]:
    """Those that got an answer, once so many have, or when patience ends."""
    deadline = time.monotonic() + patience
    ready: list[socket.socket] = []
    while len(ready) < wanted and time.monotonic() < deadline:
        ready, _, _ = select.select(connections, [], [], 0.1)
    return ready


def first_line(connection: socket.socket) -> bytes:
    return connection.recv(4096, socket.MSG_PEEK).split(b"\r\n")[0]


def test_a_body_that_is_too_large_is_a_413_that_says_how_much_is_read(client):
    body = b'"' + b"x" * 3_000_000 + b'"'
    answer = client.post("/api/v1/estimates/", body, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")


def test_a_body_that_is_read_first_is_still_there_for_the_view(client, db):
    body = json.dumps({"workload": "nothing", "gpus": 8})
    answer = client.post("/api/v1/estimates/", body, content_type="application/json")
    assert list(answer.json()["error"]["fields"]) == ["workload"]

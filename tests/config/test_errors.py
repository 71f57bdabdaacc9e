"""What is answered where no view could: one shape below /api/, a page elsewhere, never a hang."""

import json
import select
import socket
import threading
import time

import pytest
from django import db
from pytest_django.live_server_helper import LiveServer

from config import middleware
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
def test_bodies_that_never_come_leave_threads_for_reads(live_server: LiveServer):
    host, port = live_server.thread.host, live_server.thread.port
    slow = [socket.create_connection((host, port)) for _ in range(6)]
    head = b"POST /api/v1/estimates/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"
    for connection in slow:
        connection.sendall(head)
    try:
        answered = answers(slow, 4)
        assert [first_line(c) for c in answered] == [b"HTTP/1.1 503 Service Unavailable"] * 4
        assert len(answers(slow, 5, patience=0.5)) == 4  # two places are taken
    finally:
        for connection in slow:
            connection.close()
    deadline = time.monotonic() + 10
    while middleware.BODIES._value < 2 and time.monotonic() < deadline:
        threading.Event().wait(0.05)
    assert middleware.BODIES._value == 2  # who hangs up gives the place back


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

"""`page_size=all`: a whole list, sent while it is read; and pages of lines, linked."""

import csv
import io
import json

import pytest
from django.db import OperationalError, connection

from catalog import replies
from tests.catalog.conftest import offer, scrape

pytestmark = pytest.mark.django_db
COUNT = 1203


@pytest.fixture(autouse=True)
def _market():
    scrape([offer(f"type-{n:04}", str(1 + n)) for n in range(COUNT)])


def close(answer):
    """What a server does last, but for the signal that closes the connection of the test."""
    for closer in answer._resource_closers:
        closer()


def body(answer):
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


@pytest.mark.parametrize("door", ["offers", "instance-types", "prices"])
@pytest.mark.parametrize("form", ["csv", "ndjson", "json"])
def test_every_row_once_in_every_form(client, door, form):
    answer = client.get(f"/api/v1/{door}/?page_size=all&format={form}&fields=instance_type")
    assert answer.streaming
    text = body(answer).decode()
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(text)))
    elif form == "ndjson":
        rows = [json.loads(line) for line in text.splitlines()]
    else:
        said = json.loads(text)
        rows = said["results"]
        assert (said["next"], said["previous"]) == (None, None)
    assert sorted(row["instance_type"] for row in rows) == [f"type-{n:04}" for n in range(COUNT)]
    close(answer)


def test_the_whole_is_in_the_order_of_the_pages(client):
    query = "/api/v1/offers/?sort=-usd_per_hour&fields=instance_type&format=ndjson"
    whole = body(client.get(f"{query}&page_size=all"))
    paged, at = b"", f"{query}&page_size=500"
    while at:
        answer = client.get(at)
        paged += answer.content
        links = dict(
            reversed(link.split("; rel=")) for link in answer.get("Link", "").split(", ") if link
        )
        at = links.get('"next"', "").strip("<>")
    assert whole == paged
    assert whole.count(b"\n") == COUNT


def test_what_remains_after_a_cursor(client):
    first = client.get("/api/v1/offers/?page_size=500&fields=instance_type").json()
    rest = client.get(f"{first['next'].replace('page_size=500', 'page_size=all')}&format=csv")
    assert body(rest).count(b"\n") == 1 + COUNT - 500


def test_a_reader_who_goes_away_leaves_nothing(client):
    """Neither its place nor its cursor: a pooled connection would carry it to the next reader."""
    for _ in range(4):  # more than there are places
        answer = client.get("/api/v1/offers/?page_size=all&format=ndjson")
        assert next(iter(answer.streaming_content))
        close(answer)
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_cursors")
        assert cursor.fetchone() == (0,)


def test_only_a_few_are_written_at_once(client):
    address = "/api/v1/offers/?page_size=all&format=csv"
    writing = [client.get(address) for _ in range(2)]
    refused = client.get(address)
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "busy")
    assert (refused["Retry-After"], "ETag" in refused) == ("2", False)
    assert client.get("/api/v1/offers/").status_code == 200
    for answer in writing:
        close(answer)
    last = client.get(address)
    assert last.status_code == 200
    close(last)


def test_a_list_that_cannot_be_read_is_a_503_and_not_half_a_file(client, monkeypatch):
    def gone(*_):
        raise OperationalError("connection refused")
        yield

    monkeypatch.setattr("catalog.offers.rows_of", gone)  # in a test's transaction, `rows_read`
    for _ in range(3):
        assert client.get("/api/v1/offers/?page_size=all&format=csv").status_code == 503
    assert replies.STREAMS._value == 2


def test_a_whole_list_that_has_not_changed_is_a_304(client):
    address = "/api/v1/offers/?page_size=all&format=ndjson"
    first = client.get(address)
    close(first)
    again = client.get(address, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.streaming) == (304, False)

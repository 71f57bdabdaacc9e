"""The page of one provider: its state, what is known of its types, what was refused and where."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from catalog import provider_page
from catalog.ingest import publish
from catalog.models import Lease, RunState
from catalog.records import Gate, Normalised, Rejected
from catalog.templatetags.cells import CELLS
from catalog.templatetags.quantities import NOT_APPLICABLE, ages
from tests.catalog.conftest import MONDAY, begin, facts, offer, scrape

pytestmark = pytest.mark.django_db
ROW = '{"sku": "<b>h100x8</b>", "price": "free"}'


def text_of(client: Client, address: str, **headers: Any) -> str:
    answer = client.get(address, **headers)
    assert answer.status_code == 200, address
    html = re.sub(r"<(style|script).*?</\1>", " ", answer.content.decode(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", html)))


def refuse(gate: Gate = Gate.UNREADABLE, times: int = 1) -> None:
    """A list of one good row and some that cannot be read."""
    run = begin("acme", collected_at=MONDAY)
    bad = [Rejected("price is no number", f"offers[{n}]", ROW, gate=gate) for n in range(times)]
    publish(run, Normalised([offer()], bad), run.epoch)


def test_a_refused_row_says_why_where_and_what_came(client: Client) -> None:
    refuse()
    said = text_of(client, "/providers/acme/")
    assert "1 row of its newest list waits for a person" in said
    assert "row that cannot be read price is no number" in said
    assert "offers[0]" in said
    assert ROW in said
    [told] = client.get("/api/v1/providers/").json()["results"]
    assert told["quarantined"] == 1
    listed = client.get("/providers/").content.decode()
    assert '<a href="/providers/acme/#h-refused">1</a>' in listed


def test_many_refused_rows_are_counted_though_not_all_are_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_page, "ROWS", 2)
    refuse(times=3)
    said = text_of(client, "/providers/acme/")
    assert "3 rows of its newest list wait" in said
    assert "2 of 3 are shown" in said


def test_a_failing_source_says_why_and_of_when_its_list_is(client: Client) -> None:
    scrape([offer()])
    failed = begin("acme")
    failed.state, failed.finished_at = RunState.FAILED, failed.started_at
    failed.reason = "acme.example: the host's name could not be looked up, 5 times"
    failed.save()
    Lease.objects.filter(provider="acme").update(failures=1)
    said = text_of(client, "/providers/acme/")
    assert "failing, last try" in said
    assert "could not be looked up, 5 times" in said
    assert f"What is listed is of {MONDAY:%Y-%m-%d}." in said
    assert "published" in said
    assert "failed" in said


def test_what_has_no_place_is_asked_of_nobody(client: Client) -> None:
    scrape([
        offer("cards", facts=facts("acme/cards", scale_up="pcie", fabric="none")),
        offer("told", facts=facts("acme/told", fabric="roce", fabric_nics=8)),
    ])  # fmt: skip
    said = text_of(client, "/providers/acme/")
    assert re.search(r"Fabric NICs \S* ?100 1 / 1", said), said
    assert re.search(r"Fabric \S* ?100 2 / 2", said)
    [told] = client.get("/api/v1/providers/").json()["results"]
    assert f"{100 * told['coverage']:.0f} % of its interconnect is known" in said or (
        f"of its interconnect is known {100 * told['coverage']:.0f} %" in said
    )


def test_every_gate_and_state_has_words() -> None:
    assert all(map(provider_page.gate_title, Gate))
    run = begin("acme")
    for state in RunState:
        run.state = state
        assert provider_page.run_title(run)


def test_a_provider_that_nobody_knows_is_not_found(client: Client) -> None:
    assert client.get("/providers/nobody/").status_code == 404


def test_each_row_of_the_list_leads_to_its_page(client: Client) -> None:
    scrape([offer()])
    listed = client.get("/providers/").content.decode()
    assert '<a class="nm" href="/providers/acme/">' in listed
    assert '<a href="/?provider=acme">1</a>' in listed


def test_it_speaks_japanese(client: Client) -> None:
    refuse()
    with translation.override("ja"):  # which ends with the test
        said = text_of(client, "/providers/acme/", headers={"accept-language": "ja"})
    assert "受け入れなかった行" in said
    assert "読み取れない行" in said


def test_the_age_of_a_list_reaches_from_its_newest_price_to_its_oldest() -> None:
    now = datetime.now(UTC)
    new, old = now - timedelta(days=1), now - timedelta(days=194)
    assert re.sub("<[^>]*>", "", ages(new, old)) == "1 d – 194 d"
    assert re.sub("<[^>]*>", "", ages(new, new)) == "1 d"
    assert ages(None, None) == ""


@pytest.mark.parametrize("cell", ["collected_at", "source_url"])
def test_a_price_that_is_not_published_was_seen_nowhere_and_has_no_source(cell: str) -> None:
    row = {"native_amount": None, "collected_at": datetime.now(UTC), "stale": False,
           "outdated": False, "source_url": "https://example.com/types"}  # fmt: skip
    assert CELLS[cell](row) == NOT_APPLICABLE
    assert CELLS[cell](row | {"native_amount": 2}) != NOT_APPLICABLE

"""What a second list does to the first, over every provider: from files, as `scrape --from` does.

A list that is cut, empty or in another coding ends nothing and changes nothing; a row that can no
longer be read takes no offer with it; an unchanged list writes no period.
"""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from catalog.invariants import broken
from catalog.models import Offer, Price, RunState, ScrapeRun
from scrapers import leases, reading
from scrapers.registry import PROVIDERS
from tests.scrapers.recorded import recording

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
TUESDAY = MONDAY + timedelta(days=1)
SLUGS = sorted(PROVIDERS)
IN_JSON = [slug for slug in SLUGS if recording(slug).suffix == ".json"]
Scrape = Callable[..., str]


@pytest.fixture(autouse=True)
def all_hold(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "ask_child", reading.answer)
    leases.register(PROVIDERS.values())
    yield
    assert broken() == {}


@pytest.fixture
def command(tmp_path: Path) -> Scrape:
    """The state of a run of `scrape SLUG --from FILE`, or "unreadable" where it exits with 2."""

    def scrape(slug: str, body: bytes, at: datetime) -> str:
        place = tmp_path / recording(slug).name
        place.write_bytes(body)
        options = ("--from", str(place), "--collected-at", at.isoformat(), "--json")
        code, said = 0, ""
        try:
            call_command("scrape", slug, *options, stdout=StringIO())
        except CommandError as problem:
            code, said = problem.returncode, str(problem)
        except SystemExit as stop:
            code = int(stop.code or 0)
        if code == 2:
            assert "cannot be read: " in said
            assert "\n" not in said
            return "unreadable"
        return str(ScrapeRun.objects.latest("started_at").state)

    return scrape


def listed() -> list[tuple[Any, ...]]:
    return list(
        Offer.objects.order_by("id").values_list("id", "native_amount", "ended_at", "collected_at")
    )


@pytest.mark.parametrize("slug", SLUGS)
def test_a_list_that_is_cut_or_no_list_changes_nothing(slug: str, command: Scrape) -> None:
    body = recording(slug).read_bytes()
    command(slug, body, MONDAY)
    before = listed()
    for hurt in (body.decode().encode("utf-16"), b"<html>", b"[" * 10**5):
        assert command(slug, hurt, TUESDAY) in ("unreadable", RunState.HELD)
        assert listed() == before
    command(slug, body[: len(body) // 2], TUESDAY)  # of a table, the half that came is read
    assert [row[:3] for row in listed()] == [row[:3] for row in before]


@pytest.mark.parametrize("slug", IN_JSON)
def test_a_list_whose_rows_are_all_gone_is_held(slug: str, command: Scrape) -> None:
    value = json.loads(recording(slug).read_bytes())
    command(slug, json.dumps(value).encode(), MONDAY)
    before = listed()
    state = command(slug, json.dumps(emptied(value)).encode(), TUESDAY)
    assert state in ("unreadable", RunState.HELD)
    assert listed() == before


def emptied(value: Any) -> Any:
    """The same without any row: no object in a list, no object under a key of many alike."""
    if isinstance(value, list):
        return [] if any(isinstance(item, dict) for item in value) else value
    if not isinstance(value, dict):
        return value
    alike = [item for item in value.values() if isinstance(item, dict)]
    if len(alike) > 2 and len(alike) == len(value):
        return {}
    return {name: emptied(item) for name, item in value.items()}


@pytest.mark.parametrize("slug", SLUGS)
def test_the_same_list_later_confirms_and_writes_no_period(slug: str, command: Scrape) -> None:
    body = recording(slug).read_bytes()
    assert command(slug, body, MONDAY) == RunState.PUBLISHED
    periods = list(Price.objects.order_by("id").values_list("id", "valid_from", "valid_to"))
    command(slug, body + b"\n", TUESDAY)
    run = ScrapeRun.objects.latest("started_at")
    assert (run.offers_new, run.offers_changed, run.offers_ended) == (0, 0, 0)
    assert list(Price.objects.order_by("id").values_list("id", "valid_from", "valid_to")) == periods
    assert {o.collected_at for o in Offer.objects.all()} == {TUESDAY}


@pytest.mark.parametrize("slug", IN_JSON)
def test_rows_given_twice_change_nothing(slug: str, command: Scrape) -> None:
    value = json.loads(recording(slug).read_bytes())
    command(slug, json.dumps(value).encode(), MONDAY)
    prices = list(Offer.objects.order_by("id").values_list("id", "native_amount", "ended_at"))
    for rows in _tables(value):
        rows.extend(json.loads(json.dumps(rows)))
    command(slug, json.dumps(value).encode(), TUESDAY)
    assert (
        list(Offer.objects.order_by("id").values_list("id", "native_amount", "ended_at")) == prices
    )


def _tables(value: Any) -> Iterator[list[Any]]:
    """The outermost lists of objects."""
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        yield value
        return
    for item in value.values() if isinstance(value, dict) else ():
        yield from _tables(item)


@pytest.mark.parametrize("slug", IN_JSON)
def test_a_row_that_cannot_be_read_ends_no_offer(slug: str, command: Scrape) -> None:
    """A key given twice makes a row unfit: its offers stand, with their age."""
    value = json.loads(recording(slug).read_bytes())
    command(slug, json.dumps(value).encode(), MONDAY)
    mark = "a key that no provider has"
    rows = max(_tables(value), key=len, default=None)
    if rows is None:
        pytest.skip("its rows are no list")
    rows[0] = {mark: 1, mark + " ": 1} | rows[0]
    body = json.dumps(value).replace(f'"{mark} "', f'"{mark}"').encode()
    command(slug, body, TUESDAY)
    assert not Offer.objects.exclude(ended_at=None).exists()

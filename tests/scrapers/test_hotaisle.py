"""What is odd about Hot Aisle: cents, bytes, a month at least, and null for nothing."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import document, fact, one, reasons, recorded

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.listing import MissingKey, Unreadable
from scrapers.normalise import offers
from scrapers.providers import hotaisle
from scrapers.registry import PROVIDERS


@pytest.fixture(scope="module")
def machines() -> Normalised:
    return offers(PROVIDERS["hotaisle"], [recorded("hotaisle")], {})


def test_prices_are_cents_of_the_whole_machine(machines):
    four = one(machines, "MI300X x4")
    assert four.usd_per_hour == Decimal("11.4")
    assert offer_line(four)["usd_per_gpu_hour"] == "2.85"


def test_ram_is_in_bytes(machines):
    assert fact(one(machines, "MI300X x1"), "ram_gb").value == Decimal("240.52")


def test_bare_metal_is_by_the_month_at_a_price_of_its_own(machines):
    metal = one(machines, "MI300X x8", "reserved_1m")
    assert (metal.tier, metal.usd_per_hour, metal.minimum_hours) == ("bare metal", 26, 720)
    assert "123.1 TB" in metal.price_includes
    assert one(machines, "MI300X x8").tier == "VM"


def test_a_minimum_of_minutes_is_said_in_hours(machines):
    assert one(machines, "MI300X x4").minimum_hours == 1.5
    assert one(machines, "MI300X x1").minimum_hours is None


def test_none_left_is_sold_out_and_0_is_no_price(machines):
    stock = {(o.instance_type, o.tier): o.available for o in machines.offers}
    assert stock["MI300X x4", "VM"] is False
    assert stock["MI300X x1", "VM"] is True
    assert one(machines, "MI300X x8").price_note == hotaisle.UNPRICED


def test_null_is_an_empty_list_and_an_error_is_none():
    for nothing in (None, []):
        assert offers(PROVIDERS["hotaisle"], [document(nothing)], {}).rows == 0
    with pytest.raises(Unreadable):
        offers(PROVIDERS["hotaisle"], [document({"error": "no such team"})], {})


def test_one_list_may_be_null_beside_the_other():
    both = offers(PROVIDERS["hotaisle"], [document(None), recorded("hotaisle")], {})
    assert len(both.offers) == 4


def test_mixed_machines_are_rejected_and_others_counted(machines):
    assert reasons(machines) == {"[4].Specs.gpus": "are of several models"}
    assert machines.ignored == {"no GPU": 1}


def test_neither_the_key_nor_the_team_is_kept(monkeypatch):
    monkeypatch.setenv("HOTAISLE_API_KEY", "hush")
    monkeypatch.setenv("HOTAISLE_TEAM", "usteam")
    with serve([Answer.json([]), Answer.json(None)]) as api:
        documents = list(hotaisle.fetch(api.http("https://admin.hotaisle.app")))
    assert [request.path for request in api.requests] == [
        "/api/teams/usteam/virtual_machines/available/",
        "/api/teams/usteam/bare_metal/available/",
    ]
    assert api.requests[0].headers["Authorization"] == "Token hush"
    assert not [d for d in documents if "usteam" in d.url or "hush" in d.url]


def test_without_its_keys_it_is_skipped(monkeypatch):
    monkeypatch.setenv("HOTAISLE_API_KEY", "k")
    monkeypatch.delenv("HOTAISLE_TEAM", raising=False)
    with serve([Answer.json([])]) as api, pytest.raises(MissingKey, match="HOTAISLE_TEAM"):
        list(hotaisle.fetch(api.http()))

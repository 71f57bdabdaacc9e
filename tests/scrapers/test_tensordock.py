"""What is odd about TensorDock: GPUs priced without their host, sizes as one likes."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import PAYLOADS, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import tensordock
from scrapers.registry import PROVIDERS

ORIGIN = "https://dashboard.tensordock.com"


@pytest.fixture(scope="module")
def market() -> Normalised:
    return offers(PROVIDERS["tensordock"], [recorded("tensordock")], {})


def test_the_hosts_parts_are_added_and_said(market):
    pair = one(market, "2x h100-sxm5-80gb")
    parts = 16 * Decimal("0.004") + 64 * Decimal("0.002") + 100 * Decimal("0.00005")
    assert pair.usd_per_hour == 2 * Decimal("2.3") + parts
    assert pair.price_includes == "2 GPUs with 16 vCPUs, 64 GB of RAM and 100 GB of disk"


def test_without_their_prices_the_gpus_are_alone_and_said_to_be(market):
    card = one(market, "2x geforcertx4090-pcie-24gb")
    assert card.usd_per_hour == Decimal("0.82")
    assert card.price_includes.startswith("the GPUs alone")


def test_sizes_end_with_the_most_that_can_be_had(market):
    sizes = [offer_line(o)["gpu_count"] for o in market.offers if "h100" in o.instance_type]
    assert sorted(sizes) == [1, 2, 4, 6]
    assert offer_line(one(market, "6x h100-sxm5-80gb"))["gpu"] == "h100-sxm5-80gb"


def test_none_free_is_sold_out_with_its_price(market):
    cards = {o.region: o for o in market.offers if o.instance_type == "1x a100-pcie-80gb"}
    assert {region: (o.available, o.usd_per_hour) for region, o in cards.items()} == {
        "Delhi Delhi bbbb2222": (False, Decimal("0.95")),
        "Delhi Delhi cccc3333": (True, Decimal("1.05")),
    }
    assert {o.country for o in cards.values()} == {"IN"}


def test_a_place_with_one_host_is_named_without_its_id(market):
    assert {o.region for o in market.offers if "4090" in o.instance_type} == {"Orlando Florida"}
    assert {o.tier for o in market.offers} == {"tier 1", "tier 2"}


def test_a_price_of_0_is_no_price(market):
    assert one(market, "1x l40-pcie-48gb").usd_per_hour is None


def test_locations_may_be_a_list():
    whole = json.loads((PAYLOADS / "tensordock.json").read_bytes())
    ways = [parsed("tensordock", w) for w in (whole, {"data": whole["data"]["locations"]})]
    assert ways[0].offers == ways[1].offers


def test_a_count_that_cannot_be_is_rejected():
    gpu = {"v0Name": "l4-pcie-24gb", "displayName": "NVIDIA L4", "price_per_hr": 1}
    place = {"id": "x", "city": "Oslo", "gpus": [gpu | {"max_count": 1000}]}
    result = parsed("tensordock", {"data": {"locations": [place]}})
    assert "not a number of GPUs" in next(iter(reasons(result).values()))


def test_a_bad_gpu_does_not_take_its_host_along():
    gpu = {"v0Name": "l4-pcie-24gb", "displayName": "NVIDIA L4", "price_per_hr": 1, "max_count": 1}
    place = {"id": "x", "city": "Oslo", "gpus": [gpu | {"price_per_hr": "1"}, gpu]}
    result = parsed("tensordock", {"data": {"locations": [place]}})
    assert (len(result.offers), len(result.rejected)) == (1, 1)


def test_the_key_is_sent_and_not_kept(monkeypatch):
    monkeypatch.setenv("TENSORDOCK_API_KEY", "hush")
    with serve([Answer.json({"data": {"locations": []}})]) as api:
        (document,) = tensordock.fetch(api.http(ORIGIN))
    assert api.requests[0].headers["Authorization"] == "Bearer hush"
    assert "hush" not in document.url


def test_without_a_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("TENSORDOCK_API_KEY", raising=False)
    with serve([Answer.json({})]) as api, pytest.raises(MissingKey):
        list(tensordock.fetch(api.http(ORIGIN)))


def test_the_sample_at_hand():
    path = shared("data/payloads/tensordock/v2_locations_sample.json")
    result = parsed("tensordock", path.read_bytes())
    assert [o.usd_per_hour for o in result.offers] == [
        Decimal("0.3966") * count for count in (1, 2, 4)
    ]

"""What is odd about Hyperstack: GPUs priced apart from flavors, and forms in the GPU's name."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised, OfferRecord
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import hyperstack
from scrapers.registry import PROVIDERS

NAMES = ("hyperstack", "hyperstack_pricebook", "hyperstack_stocks")


@pytest.fixture(scope="module")
def flavors() -> Normalised:
    return offers(PROVIDERS["hyperstack"], [recorded(name) for name in NAMES], {})


def at(result: Normalised, instance: str, region: str, model: str = "on_demand") -> OfferRecord:
    wanted = (instance, region, model)
    return next(o for o in result.offers if (o.instance_type, o.region, o.price_model) == wanted)


def test_the_price_is_of_one_gpu_as_text_or_number(flavors):
    assert one(flavors, "n3-H100-SXM5x8").usd_per_hour == Decimal("20.4")
    assert at(flavors, "n3-H100x4", "CANADA-1").usd_per_hour == Decimal("8.2")


def test_a_flavor_stands_in_each_of_its_regions(flavors):
    countries = {o.region: o.country for o in flavors.offers if o.instance_type == "n3-H100x1"}
    assert countries == {"CANADA-1": "CA", "NORWAY-1": "NO"}


def test_the_callers_own_discount_is_not_the_list_price(flavors):
    assert one(flavors, "n3-A100x8-NVLink").usd_per_hour == 8 * Decimal("1.44")


def test_nvlink_on_pcie_cards_is_a_bridge(flavors):
    bridged = one(flavors, "n3-A100x8-NVLink")
    line = offer_line(bridged)
    assert (line["gpu"], line["scale_up"]) == ("a100-pcie-80gb", "nvlink_bridge")
    assert fact(bridged, "scale_up").basis is Basis.DERIVED
    assert offer_line(one(flavors, "n3-H100x8-NVLink-K"))["gpu"] == "h100-pcie-80gb"


def test_k_at_the_end_of_a_name_is_the_faster_network(flavors):
    said = {o.instance_type for o in flavors.offers if hyperstack.FASTER in o.warnings}
    assert said == {"n3-H100x8-NVLink-K"}


def test_spot_is_the_same_type_sold_otherwise(flavors):
    spot = at(flavors, "n3-H100x1", "CANADA-1", "spot")
    assert spot.usd_per_hour == Decimal("1.64")
    assert offer_line(spot)["gpu"] == "h100-pcie-80gb"


def test_a_spot_flavor_has_the_spot_price_of_its_gpu():
    prices = [{"name": "L40", "value": "1"}, {"name": "L40-spot", "value": "0.8"}]
    flavor = {"name": "n3-L40x2-spot", "gpu": "L40", "gpu_count": 2}
    result = parsed("hyperstack", prices, {"data": [{"gpu": "L40", "flavors": [flavor]}]})
    assert one(result, "n3-L40x2", "spot").usd_per_hour == Decimal("1.6")


def test_a_price_of_0_is_no_price(flavors):
    card = one(flavors, "n3-RTX-A6000x2")
    assert (card.usd_per_hour, card.price_note) == (None, "the pricebook has no price for it")


def test_stock_of_the_flavor_and_of_the_list_are_compared(flavors):
    assert one(flavors, "n3-H100-SXM5x8").available is False
    assert one(flavors, "n3-A100x8-NVLink").available is True  # by the list of stock alone
    differs = at(flavors, "n3-H100x4", "CANADA-1")
    assert differs.available is True
    assert differs.warnings == ("the flavor says some in stock, the list of stock none",)


def test_a_line_of_the_pricebook_is_no_offer_without_its_flavor():
    alone = offers(PROVIDERS["hyperstack"], [recorded("hyperstack_pricebook")], {})
    assert (alone.offers, len(alone.rejected), alone.ignored.total()) == ([], 7, 2)
    assert set(reasons(alone).values()) == {"a price without a flavor that has it"}


def test_flavors_alone_are_listed_without_prices():
    alone = offers(PROVIDERS["hyperstack"], [recorded("hyperstack")], {})
    assert {(o.native_amount, o.price_note) for o in alone.offers} == {
        (None, "no price in this document")
    }


def test_host_parts_are_added_where_they_cost():
    prices = [{"name": "L40", "value": "1"}, {"name": "CPU", "value": "0.01"}]
    flavor = {"name": "n3-L40x1", "gpu": "L40", "gpu_count": 1, "cpu": 28, "ram": 58}
    result = parsed("hyperstack", prices, {"data": [{"gpu": "L40", "flavors": [flavor]}]})
    assert result.offers[0].usd_per_hour == Decimal("1.28")


def test_the_key_goes_to_each_of_the_three(monkeypatch):
    monkeypatch.setenv("HYPERSTACK_API_KEY", "k")
    script = [Answer.json({"data": []}), Answer.json([]), Answer.json({"stocks": []})]
    with serve(script) as api:
        list(hyperstack.fetch(api.http("https://infrahub-api.nexgencloud.com")))
    assert [request.path for request in api.requests] == [
        "/v1/core/flavors",
        "/v1/pricebook",
        "/v1/core/stocks",
    ]
    assert {r.headers.get("Api_key") or r.headers.get("api_key") for r in api.requests} == {"k"}


def test_without_a_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("HYPERSTACK_API_KEY", raising=False)
    with serve([Answer.json([])]) as api, pytest.raises(MissingKey, match="HYPERSTACK_API_KEY"):
        list(hyperstack.fetch(api.http()))


def test_a_sample_of_all_three_in_one():
    path = shared("data/payloads/hyperstack/stocks_and_pricebook_sample.json")
    whole = json.loads(path.read_bytes())
    pair = one(parsed("hyperstack", whole), "n3-L40x2")
    assert (pair.usd_per_hour, pair.available) == (Decimal(2), False)
    split = parsed("hyperstack", whole["flavors"], whole["pricebook"], whole["stocks"])
    assert one(split, "n3-L40x2").usd_per_hour == Decimal(2)

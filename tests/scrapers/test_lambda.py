"""What is odd about Lambda: cents, prices without a region, regions only while they have it."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import parsed, reasons, recorded, shared

from catalog.records import Normalised, OfferRecord
from scrapers.lines import offer_line
from scrapers.listing import MissingKey, Unreadable
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS, provider_module

ORIGIN = "https://cloud.lambda.ai"


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["lambda"], [recorded("lambda")], {})


def of(result: Normalised, instance: str) -> dict[str | None, OfferRecord]:
    """The offers of one type by region."""
    return {o.region: o for o in result.offers if o.instance_type == instance}


def test_cents_an_hour_of_the_instance(types):
    sold = of(types, "gpu_8x_h100_sxm5")
    assert {region: o.usd_per_hour for region, o in sold.items()} == {None: Decimal("25.73")}
    assert sold[None].available is False


def test_the_price_stands_without_a_region_and_once_for_each_that_has_it(types):
    sold = of(types, "gpu_1x_gh200")
    assert {(region, o.country, o.available) for region, o in sold.items()} == {
        (None, None, True),
        ("us-east-3", "US", True),
        ("europe-central-1", "DE", True),
    }
    assert {o.usd_per_hour for o in sold.values()} == {Decimal("1.71")}


def test_two_digit_counts_and_gibibytes(types):
    line = offer_line(of(types, "gpu_16x_h100")[None])
    assert (line["gpu"], line["gpu_count"], line["ram_gb"]) == ("h100-sxm5-80gb", 16, 3865.47)


def test_two_counts_that_differ_and_a_price_of_0_are_rejected(types):
    why = reasons(types)
    assert "says 2 GPUs and specs.gpus 4" in why["data.gpu_4x_a6000.instance_type.description"]
    assert "price 0" in why["data.gpu_1x_a10"]


def test_a_type_of_cpus_is_counted(types):
    assert types.ignored == {"no GPU type": 1}


@pytest.mark.parametrize("value", [{"data": None}, {"data": []}, {"error": {"code": "x"}}])
def test_an_error_is_no_list(value):
    with pytest.raises(Unreadable):
        parsed("lambda", value)


def test_the_key_is_a_bearers(monkeypatch):
    monkeypatch.setenv("LAMBDA_API_KEY", "k-1")
    with serve([Answer.json({"data": {}})]) as api:
        list(provider_module("lambda").fetch(api.http(ORIGIN)))
    assert api.requests[0].headers["Authorization"] == "Bearer k-1"


def test_without_the_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("LAMBDA_API_KEY", raising=False)
    with serve([Answer.json({})]) as api, pytest.raises(MissingKey):
        list(provider_module("lambda").fetch(api.http(ORIGIN)))


def test_the_sample_at_hand():
    real = parsed("lambda", shared("data/payloads/lambda/instance_types_sample.json").read_bytes())
    assert of(real, "gpu_8x_b200_sxm6")["us-west-1"].usd_per_hour == Decimal("39.92")
    assert (len(real.offers), real.rejected) == (5, [])

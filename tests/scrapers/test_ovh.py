"""What is odd about OVHcloud: 1e-8 of a euro, plans by the hour and the month, no regions."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import ovh
from scrapers.registry import PROVIDERS


@pytest.fixture(scope="module")
def plans() -> Normalised:
    return offers(PROVIDERS["ovh"], [recorded("ovh")], {})


def test_prices_are_hundred_millionths_of_a_euro(plans):
    node = next(o for o in plans.offers if (o.price_model, o.tier) == ("on_demand", None))
    assert (node.instance_type, node.native_amount) == ("h100-760", Decimal("5.75"))
    assert (node.native_currency, node.usd_per_hour) == ("EUR", None)
    assert "excl. VAT" in node.price_includes


def test_a_month_is_730_hours_and_the_least_that_can_be_had(plans):
    month = one(plans, "h100-760", "reserved_1m")
    assert month.native_amount == Decimal("5.3")  # 3,869.00 for 730 hours
    assert (month.minimum_hours, month.warnings) == (730, ())


def test_three_zones_are_a_tier_of_their_own(plans):
    tiers = {
        o.tier: o.native_amount
        for o in plans.offers
        if (o.instance_type, o.price_model) == ("h100-760", "on_demand")
    }
    assert tiers == {None: Decimal("5.75"), "3AZ": Decimal("6.04")}


def test_memory_is_of_one_gpu(plans):
    month = one(plans, "h100-760", "reserved_1m")
    assert (fact(month, "gpu_memory_gb").value, fact(month, "gpu_count").value) == (80, 2)


def test_the_words_for_gpus(plans):
    gpus = {o.instance_type: offer_line(o)["gpu"] for o in plans.offers}
    assert gpus["rtx5000-28"] == "quadrortx5000-pcie-16gb"
    assert gpus["t2-45"] == "v100s-pcie-32gb"


def test_only_a_guaranteed_bandwidth_is_a_figure(plans):
    assert offer_line(one(plans, "rtx5000-28"))["frontend_gbits_per_s"] == 8
    assert offer_line(one(plans, "t2-45"))["frontend_gbits_per_s"] is None


def test_a_price_of_0_an_unknown_time_and_an_unknown_plan_are_rejected(plans):
    why = reasons(plans)
    assert why["addons[6]"].startswith("price 0")
    assert "'week' is not a time" in why["addons[7].pricings[0].intervalUnit"]
    assert "is not a plan we know" in why["addons[10].planCode"]
    assert len(why) == 3


def test_what_is_none_of_our_business_is_counted(plans):
    assert plans.ignored == {
        "a Windows price": 1,
        "a price that is paid once": 1,
        "a price with a commitment": 1,
        "a type that is not sold yet": 1,
        "another product than an instance": 1,
        "no GPU": 2,
    }


def test_a_bad_price_does_not_take_the_others_of_its_plan_along():
    technical = {"gpu": {"model": "L4", "number": 1, "memory": {"size": 24}}}
    prices = [{"intervalUnit": "hour", "price": price} for price in ("0.7", 70000000)]
    plan = {"planCode": "l4-90.consumption", "pricings": prices}
    rows = [plan | {"blobs": {"technical": technical}}]
    result = parsed("ovh", {"locale": {"currencyCode": "EUR"}, "addons": rows})
    assert [o.native_amount for o in result.offers] == [Decimal("0.7")]
    assert list(reasons(result)) == ["addons[0].pricings[0].price"]


def test_flavors_say_where_a_type_is_to_be_had():
    both = offers(PROVIDERS["ovh"], [recorded("ovh"), recorded("ovh_flavors")], {})
    months = [o for o in both.offers if o.price_model == "reserved_1m"]
    assert {(o.region, o.country, o.available) for o in months} == {
        ("GRA11", "FR", True),
        ("BHS5", "CA", False),
    }
    assert one(both, "t2-45").region is None
    assert both.ignored["the region of a type"] == 2


@pytest.mark.parametrize(
    ("region", "country"),
    [("EU-WEST-PAR", "FR"), ("US-EAST-VA-1", "US"), ("DE1", "DE"), ("XYZ1", None), (None, None)],
)
def test_regions_lie_in_countries(region, country):
    assert ovh._country(region) == country


def test_the_catalogue_is_one_answer():
    with serve([Answer.json({"addons": []})]) as api:
        assert len(list(ovh.fetch(api.http("https://eu.api.ovh.com")))) == 1
    assert api.requests[0].path.endswith("ovhSubsidiary=FR")


@pytest.mark.parametrize(
    ("path", "prices"),
    [
        (
            "order_catalog_cloud_sample",
            {"on_demand": Decimal("2.8"), "reserved_1m": Decimal("1.4")},
        ),
        ("sc_crawler_get_order_catalog_public_cloud", {"on_demand": Decimal("5.6")}),
    ],
)
def test_catalogues_at_hand(path, prices):
    real = parsed("ovh", shared(f"data/payloads/ovh/{path}.json").read_bytes())
    assert {o.price_model: o.native_amount for o in real.offers} == prices
    assert real.rejected == []

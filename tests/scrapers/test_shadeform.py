"""What is odd about Shadeform: cents, other clouds' instances, and NVLink told beside the form."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import shadeform
from scrapers.registry import PROVIDERS


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["shadeform"], [recorded("shadeform")], {})


def test_prices_are_cents_of_the_whole_instance(types):
    node = one(types, "gpu_8x_h100_sxm5")
    assert node.usd_per_hour == Decimal("23.92")
    assert offer_line(node)["usd_per_gpu_hour"] == "2.99"


def test_an_instance_is_its_clouds_under_our_name_for_it(types):
    owners = {o.instance_type: (o.provider, o.via) for o in types.offers}
    assert owners == {
        "gpu_4x_a6000": ("massedcompute", "shadeform"),
        "gpu_8x_h100_sxm5": ("lambda", "shadeform"),
        "4A100.88V": ("verda", "shadeform"),
        "n3-A100x8-NVLink": ("hyperstack", "shadeform"),
        "bm-h200": ("boostrun", "shadeform"),
    }


def test_what_an_aggregator_says_is_stated(types):
    assert {f.basis for o in types.offers for f in o.facts} == {Basis.STATED}


def test_memory_is_of_one_gpu_in_gb(types):
    card = next(o for o in types.offers if o.instance_type == "gpu_4x_a6000")
    line = offer_line(card)
    assert (line["gpu"], line["gpu_memory_gb"]) == ("rtxa6000-pcie-48gb", 48)
    assert line["scale_up"] == "pcie"


def test_the_form_is_told_beside_the_name(types):
    gpus = {o.instance_type: offer_line(o)["gpu"] for o in types.offers}
    assert gpus["4A100.88V"] == "a100-sxm4-80gb"
    assert gpus["n3-A100x8-NVLink"] == "a100-pcie-80gb"
    assert gpus["bm-h200"] == "h200-sxm5-141gb"


def test_nvlink_of_pcie_cards_is_a_bridge_and_false_on_a_board_is_unknown(types):
    assert offer_line(one(types, "n3-A100x8-NVLink"))["scale_up"] == "nvlink_bridge"
    odd = one(types, "4A100.88V")
    assert offer_line(odd)["scale_up"] is None
    assert fact(odd, "scale_up").note.startswith("withheld")
    assert "ask the cloud" in odd.warnings[0]


def test_regions_and_their_stock(types):
    stock = {(o.instance_type, o.region): (o.country, o.available) for o in types.offers}
    assert stock["gpu_4x_a6000", "kansascity-usa-1"] == ("US", True)
    assert stock["gpu_4x_a6000", "wilmington-usa-1"] == ("US", False)
    assert stock["4A100.88V", "helsinki-finland-1"] == ("FI", True)
    assert stock["n3-A100x8-NVLink", None] == (None, False)


def test_a_price_of_0_is_no_price_and_metal_is_a_tier(types):
    metal = one(types, "bm-h200")
    assert (metal.usd_per_hour, metal.tier) == (None, "baremetal")


def test_a_bad_region_spoils_itself_and_a_bad_type_is_rejected_once():
    has = {"gpu_type": "L4", "num_gpus": 1}
    places = [{"region": "a", "available": True}, {"region": 7}, {"region": "b"}]
    good = {"cloud": "x", "cloud_instance_type": "l4", "hourly_price": 50, "configuration": has}
    rows = [good | {"availability": places}, good | {"cloud": 7, "availability": places}]
    result = parsed("shadeform", {"instance_types": rows})
    assert [(o.region, o.available) for o in result.offers] == [("a", True), ("b", None)]
    assert sorted(reasons(result)) == [
        "instance_types[0].availability[1].region",
        "instance_types[1].cloud",
    ]


def test_an_unknown_gpu_is_rejected(types):
    assert "X900" in reasons(types)["instance_types[5]"]


def test_the_key_is_sent(monkeypatch):
    monkeypatch.setenv("SHADEFORM_API_KEY", "k")
    with serve([Answer.json({"instance_types": []})]) as api:
        assert len(list(shadeform.fetch(api.http("https://api.shadeform.ai")))) == 1
    sent = {name.lower(): value for name, value in api.requests[0].headers.items()}
    assert sent["x-api-key"] == "k"


def test_without_a_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("SHADEFORM_API_KEY", raising=False)
    with serve([Answer.json({})]) as api, pytest.raises(MissingKey):
        list(shadeform.fetch(api.http()))


def test_the_official_example_contradicts_itself_and_is_held():
    path = shared("data/payloads/shadeform/instances_types_example.json")
    result = parsed("shadeform", path.read_bytes())
    assert not result.offers
    wrong = "count × memory = total: 1 × 48 GB is not 1 × 40 or 80 GB of A100 pcie"
    assert {row.reason for row in result.rejected} == {wrong}

"""What is odd about RunPod: prices of one GPU, two clouds, zeros and placeholders, clusters."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised, OfferRecord
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import runpod
from scrapers.registry import PROVIDERS

H100 = "NVIDIA H100 80GB HBM3"


@pytest.fixture(scope="module")
def pods() -> Normalised:
    return offers(PROVIDERS["runpod"], [recorded("runpod")], {})


def tier(result: Normalised, instance: str, name: str, model: str = "on_demand") -> OfferRecord:
    (found,) = [
        o
        for o in result.offers
        if (o.instance_type, o.tier, o.price_model) == (instance, name, model)
    ]
    return found


def test_secure_and_community_are_two_tiers(pods):
    assert tier(pods, H100, "secure").usd_per_hour == Decimal("3.11")
    assert tier(pods, H100, "community").usd_per_hour == Decimal("2.77")


def test_spot_at_the_price_of_on_demand_is_no_saving(pods):
    spot = tier(pods, H100, "community", "spot")
    assert "spot is the same as on demand" in spot.warnings
    assert tier(pods, H100, "secure", "spot").warnings == ()


def test_0_is_not_sold_there(pods):
    sold = [o for o in pods.offers if o.instance_type == "NVIDIA A100-SXM4-40GB"]
    assert [(o.tier, o.price_model, o.usd_per_hour) for o in sold] == [
        ("community", "on_demand", Decimal("1.07"))
    ]


def test_a_placeholder_far_below_the_secure_price_is_held(pods):
    assert "a placeholder" in reasons(pods)["data.gpuTypes[2].communityPrice"]
    assert {o.tier for o in pods.offers if "MI300X" in o.instance_type} == {"secure"}


def test_a_type_sold_in_neither_cloud_is_listed_without_a_price(pods):
    card = one(pods, "NVIDIA GeForce RTX 5090")
    assert (card.usd_per_hour, card.available) == (None, False)
    assert card.price_note == "listed, and sold in neither cloud now"


def test_host_memory_is_not_gpu_memory_and_stock_is_of_its_cloud(pods):
    secure, community = tier(pods, H100, "secure"), tier(pods, H100, "community")
    assert (fact(secure, "gpu_memory_gb").value, fact(secure, "ram_gb").value) == (80, 125)
    assert (secure.available, community.available) == (True, False)


def test_a_node_of_a_cluster_is_8_gpus_of_the_cluster_price(pods):
    node = one(pods, "Instant Cluster: H100")
    assert node.usd_per_hour == Decimal("3.43") * 8
    assert (node.tier, node.available) == (None, True)
    assert offer_line(node)["gpu_count"] == 8


def test_an_unknown_name_is_rejected(pods):
    assert "unknown GPU name" in reasons(pods)["data.gpuTypes[4]"]


def test_lowest_price_of_a_pod_is_times_its_gpus():
    low = {"minimumBidPrice": 0.19, "uninterruptablePrice": 0.41, "stockStatus": "Low"}
    row = {"id": "NVIDIA L4", "displayName": "L4", "memoryInGb": 24, "lowestPrice": low}
    result = parsed("runpod", {"gpu_count": 4, "data": {"gpuTypes": [row]}})
    assert one(result, "4x NVIDIA L4").usd_per_hour == Decimal("1.64")
    assert one(result, "4x NVIDIA L4", "spot").usd_per_hour == Decimal("0.76")


def test_the_newer_api_says_the_same():
    row = {
        "id": "NVIDIA L40S",
        "name": "L40S",
        "memory": 48,
        "secure": True,
        "community": False,
        "price": {"secure": 0.93, "community": 0.71},
        "availability": "NONE",
    }
    (offer,) = parsed("runpod", {"gpus": [row]}).offers
    assert (offer.tier, offer.usd_per_hour, offer.available) == ("secure", Decimal("0.93"), False)


@pytest.mark.parametrize("value", [{"errors": [{"message": "no"}]}, {"data": None}, {"data": {}}])
def test_an_error_of_graphql_is_no_empty_list(value):
    with pytest.raises(Unreadable):
        parsed("runpod", value)


def test_one_question_without_a_key():
    with serve([Answer.json({"data": {"gpuTypes": []}})]) as api:
        assert len(list(runpod.fetch(api.http("https://api.runpod.io")))) == 1
    (asked,) = api.requests
    assert "gpuTypes" in json.loads(asked.body)["query"]
    assert "Authorization" not in asked.headers


def test_the_real_answer():
    real = parsed(
        "runpod", shared("data/payloads/runpod/graphql_gputypes_2026-08.json").read_bytes()
    )
    assert {o.instance_type for o in real.offers} >= {"NVIDIA B300 SXM6 AC", "NVIDIA H200"}
    assert tier(real, H100, "secure").usd_per_hour == Decimal("3.29")
    assert len(real.rejected) == 1

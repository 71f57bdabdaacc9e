"""What is odd about Oracle: a price of one GPU, licences beside it, parts named by generation."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.http import FetchFailed
from scrapers.known_types import facts_of
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import oci
from scrapers.registry import PROVIDERS


@pytest.fixture(scope="module")
def parts() -> Normalised:
    return offers(PROVIDERS["oci"], [recorded("oci")], {})


@pytest.fixture(scope="module")
def joined() -> Normalised:
    return offers(PROVIDERS["oci"], [recorded("oci"), recorded("oci_shapes")], {})


def listed(**said: object) -> dict[str, object]:
    """One shape as ListShapes has it, beside a price."""
    part = {
        "partNumber": "B1",
        "displayName": "OCI - Compute - GPU - H100",
        "metricName": "GPU Per Hour",
        "currencyCodeLocalizations": [
            {"currencyCode": "USD", "prices": [{"model": "PAY_AS_YOU_GO", "value": 9}]}
        ],
    }
    return {"items": [part], "shape": {"shape": "BM.GPU.H100.8", "gpus": 8} | said}


def test_a_gpu_hour_is_times_the_gpus_of_the_shape(parts):
    node = one(parts, "BM.GPU.H100.8")
    assert (node.usd_per_hour, node.region) == (Decimal(78), None)
    assert node.price_note == "one price in all commercial regions"


def test_a_part_buys_every_shape_of_its_generation(parts):
    names = {o.instance_type: o.usd_per_hour for o in parts.offers}
    assert names["VM.GPU.A10.2"] == Decimal("3.9")
    assert names["BM.GPU.A10.4"] == Decimal("7.8")
    assert {name for name in names if "GPU3" in name} == {
        "BM.GPU3.8",
        "VM.GPU3.1",
        "VM.GPU3.2",
        "VM.GPU3.4",
    }


def test_a_generations_name_is_a_gpu_of_known_form(parts):
    assert fact(one(parts, "BM.GPU.A100-v2.8"), "gpu").value == "a100-sxm4-80gb"
    assert one(parts, "BM.GPU3.8").gpu_candidates  # V100 16 GB, its form not said


def test_licences_and_hardware_elsewhere_are_no_prices_of_gpus(parts):
    assert parts.ignored == {
        "a software licence": 1,
        "hardware at the customer's site": 1,
        "no price of a GPU hour": 1,
    }


def test_an_unknown_part_and_a_price_of_0_are_rejected(parts):
    why = reasons(parts)
    assert "of no shape that we know" in why["items[7].displayName"]
    assert "price 0" in why["items[8].prices"]


def test_preemptible_is_half_where_the_shape_allows_it(joined):
    assert one(joined, "VM.GPU3.2").usd_per_hour == Decimal("5.8")
    assert one(joined, "VM.GPU3.2", "spot").usd_per_hour == Decimal("2.9")
    assert {o.instance_type for o in joined.offers if o.price_model == "spot"} == {"VM.GPU3.2"}


def test_the_front_end_is_not_the_fabric(joined):
    line = offer_line(one(joined, "BM.GPU.A100-v2.8"))
    assert (line["fabric"], line["fabric_nics"], line["fabric_gbits_per_s"]) == ("roce", 16, 1600)
    assert line["frontend_gbits_per_s"] == 100


def test_a_shape_without_a_price_is_listed_and_a_hidden_one_is_not(joined):
    assert "unknown GPU name" not in str(reasons(joined).get("items[2]"))
    assert joined.ignored["a shape that is no longer sold"] == 1
    assert joined.ignored["a shape without a GPU"] == 1
    assert one(joined, "BM.GPU.Z1.8").price_note == "no price in this document"


@pytest.mark.parametrize(("ports", "bandwidth"), [(16, 3200), (8, 3200), (8, 400), (16, 200)])
def test_rdma_bandwidth_is_of_all_ports_or_of_one(ports, bandwidth):
    result = parsed("oci", listed(rdmaPorts=ports, rdmaBandwidthInGbps=bandwidth))
    line = offer_line(one(result, "BM.GPU.H100.8"))
    assert (line["fabric_nics"], line["fabric_gbits_per_s"]) == (ports, 3200)


def test_a_shape_without_rdma_ports_meets_over_ethernet():
    result = parsed("oci", listed(rdmaPorts=0, networkingBandwidthInGbps=50, memoryInGBs=2048))
    line = offer_line(one(result, "BM.GPU.H100.8"))
    assert (line["fabric"], line["frontend_gbits_per_s"]) == ("ethernet", 50)
    assert line["ram_gb"] == 2199.02


@pytest.mark.parametrize("value", [{}, {"items": 1}, [1], {"error": "x"}])
def test_what_is_no_list_is_unreadable(value):
    with pytest.raises(Unreadable):
        parsed("oci", value)


def test_a_list_in_pages_is_not_taken_for_the_whole():
    script = [Answer.json({"items": [], "hasMore": True})]
    with serve(script) as api, pytest.raises(FetchFailed, match="in pages"):
        list(oci.fetch(api.http("https://apexapps.oracle.com", "https://www.oracle.com")))


def test_both_lists_are_fetched():
    with serve([Answer.json({"items": []})]) as api:
        documents = list(
            oci.fetch(api.http("https://apexapps.oracle.com", "https://www.oracle.com"))
        )
    assert [d.url for d in documents] == [oci.PRODUCTS, oci.ESTIMATOR]


def test_the_real_price_list():
    path = shared("data/payloads/oci/public_price_list_gpu_2026-08-14.json")
    real = parsed("oci", path.read_bytes())
    assert one(real, "BM.GPU.GB300.4").usd_per_hour == 4 * 18
    assert {row.where for row in real.rejected} == {"items[5].displayName", "items[31].displayName"}


def test_a_printed_product_that_is_not_the_documented_one_is_a_dispute_and_no_mix():
    shapes = json.loads(recorded("oci_shapes").body)
    (row,) = [r for r in shapes["items"] if "RDMA" in r.get("maxNetworkBandwidth", "")]
    row |= {"name": "BM.GPU.H200.8", "gpuQty": 8, "products": []}
    row["maxNetworkBandwidth"] = "8 x 200 Gbps RDMA"
    (offer,) = parsed("oci", {"items": [row]}).offers
    line = offer_line(offer, facts_of(offer.provider, offer.instance_type))
    product = ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
    assert [line[name] for name in product] == [8, 200, 1600]
    assert set(product[1:]) <= set(line["disputed"])

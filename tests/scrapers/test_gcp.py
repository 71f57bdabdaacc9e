"""What is odd about Google: parts added up inside one region, slices, spot by description only."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised, OfferRecord
from scrapers.gcp_machines import Meter, meter
from scrapers.lines import offer_line
from scrapers.listing import MissingKey, Unreadable
from scrapers.normalise import offers
from scrapers.providers import gcp
from scrapers.registry import PROVIDERS

ORIGIN = "https://cloudbilling.googleapis.com"


@pytest.fixture(scope="module")
def meters() -> Normalised:
    return offers(PROVIDERS["gcp"], [recorded("gcp")], {})


def there(result: Normalised, instance: str, region: str, model: str = "on_demand") -> OfferRecord:
    (found,) = [
        o
        for o in result.offers
        if (o.instance_type, o.region, o.price_model) == (instance, region, model)
    ]
    return found


def test_a_machine_is_its_host_and_gpus_of_one_region(meters):
    pair = there(meters, "a2-highgpu-2g", "us-east1")
    wanted = 24 * Decimal("0.03") + 170 * Decimal("0.004") + 2 * Decimal("2.9")
    assert (pair.usd_per_hour, pair.country) == (wanted, "US")
    assert fact(pair, "gpu").value == "a100-sxm4-40gb"
    assert fact(pair, "gpu_count").basis is Basis.DERIVED


def test_spot_and_commitments_are_added_up_from_their_own_meters(meters):
    spot = there(meters, "a2-highgpu-1g", "us-central1", "spot")
    assert spot.usd_per_hour == 12 * Decimal("0.009") + 85 * Decimal("0.0012") + Decimal("1.5")
    year = there(meters, "a2-highgpu-1g", "us-central1", "reserved_1y")
    assert year.usd_per_hour == 12 * Decimal("0.019") + 85 * Decimal("0.0025") + Decimal("1.8")
    assert year.minimum_hours == 8760


def test_ram_by_the_gb_and_local_ssd_by_the_month(meters):
    one_gpu = there(meters, "a2-ultragpu-1g", "europe-west1")
    ram = 170 * Decimal("0.0045") * Decimal(2**30) / 10**9
    ssd = 375 * Decimal("0.073") / 730
    assert one_gpu.usd_per_hour == round(12 * Decimal("0.035") + ram + Decimal("4.1") + ssd, 6)


def test_a_slice_holds_its_host_and_spot_may_be_described_only(meters):
    assert one(meters, "a4-highgpu-8g").usd_per_hour == 8 * Decimal("15.5")
    assert one(meters, "a4-highgpu-8g", "spot").usd_per_hour == 8 * Decimal("5.25")


def test_a_gpu_without_its_host_in_the_region_is_no_offer(meters):
    why = [reason for reason in reasons(meters).values() if "g2-standard" in reason]
    assert why == [
        "g2-standard-96 in asia-northeast1: the GPU's price without the cpu and ram of its host"
    ]
    assert not [o for o in meters.offers if o.region == "asia-northeast1"]


def test_an_unknown_gpu_and_a_price_of_0_are_rejected_and_attached_gpus_counted(meters):
    why = reasons(meters)
    assert "no machine type that we know" in why["skus[17].description"]
    assert any("price 0" in reason for where, reason in why.items() if where.startswith("skus[18]"))
    assert meters.ignored["a GPU that is attached to hosts of any size"] == 1
    assert meters.ignored["a meter of no GPU machine"] == 1


def test_two_prices_for_one_meter_are_said_and_the_lower_stands():
    payload = recorded("gcp").json()
    dear = payload["skus"][13] | {
        "skuId": "again",
        "pricingInfo": payload["skus"][0]["pricingInfo"],
    }
    result = parsed("gcp", {"skus": [payload["skus"][13], dear]})
    assert one(result, "a4-highgpu-8g").usd_per_hour == 8 * Decimal("2.9")
    assert any("two prices" in reason for reason in reasons(result).values())


def test_machine_types_say_where_a_machine_is_and_what_has_no_price():
    result = offers(PROVIDERS["gcp"], [recorded("gcp"), recorded("gcp_types")], {})
    regions = {o.region for o in result.offers if o.instance_type == "a2-highgpu-1g"}
    assert regions == {"us-central1"}
    ultra = one(result, "a3-ultragpu-8g")
    assert (ultra.usd_per_hour, ultra.price_note) == (None, "no price in this document")
    assert offer_line(ultra)["gpu"] == "h200-sxm5-141gb"
    assert result.ignored["the same machine type in another zone"] == 2


def test_a_part_of_an_a3_board_is_spot_only():
    template = json.loads(recorded("gcp").body)["skus"][0]
    rows = [
        template | {"description": f"{spot}{what}", "pricingInfo": [_hour(unit)]}
        for spot in ("", "Spot Preemptible ")
        for what, unit in (
            ("Nvidia H100 80GB GPU running in Americas", "h"),
            ("A3 Instance Core running in Americas", "h"),
            ("A3 Instance Ram running in Americas", "GiBy.h"),
        )
    ]
    result = parsed("gcp", {"skus": rows})
    sold = {(o.instance_type, str(o.price_model)) for o in result.offers}
    assert {model for name, model in sold if name == "a3-highgpu-8g"} == {"on_demand", "spot"}
    assert {model for name, model in sold if name == "a3-highgpu-4g"} == {"spot"}
    assert all("local SSDs" in o.warnings[0] for o in result.offers)


def _hour(unit: str) -> dict[str, object]:
    price = {"currencyCode": "USD", "units": "0", "nanos": 100000000}
    tier = {"startUsageAmount": 0, "unitPrice": price}
    return {"pricingExpression": {"usageUnit": unit, "tieredRates": [tier]}}


@pytest.mark.parametrize(
    ("description", "part", "of"),
    [
        ("Commitment v1: A2 Cpu in Americas for 1 Year", "cpu", "a2"),
        ("Spot Preemptible A3Plus Instance Ram running in Iowa", "ram", "a3plus"),
        ("Nvidia Tesla A100 80GB GPU attached to Spot Preemptible VMs in Iowa", "gpu", "a100-80"),
        ("Nvidia H100 80GB Mega GPU running in Americas", "gpu", "h100-plus"),
        ("Commitment v1: Nvidia L4 GPU running in Tokyo for 3 Years", "gpu", "l4"),
        ("RTX 6000 96GB attached to Spot Preemptible VMs running in Iowa", "gpu", "rtxpro6000"),
        ("H200 141GB GPU running in Belgium", "gpu", "h200"),
        ("Commitment v1: A4 Nvidia B200 (1 gpu slice) in Iowa for 1 Year", "gpu", "b200"),
        ("SSD backed Local Storage attached to Spot Preemptible VMs in Iowa", "ssd", ""),
        ("Commitment v1: Local SSD In Iowa for 3 Years", "ssd", ""),
    ],
)
def test_a_meter_is_read_by_its_description(description, part, of):
    assert meter(description) == Meter(part, of)


@pytest.mark.parametrize(
    "description",
    [
        "A2 Custom Extended Instance Ram running in Iowa",
        "Reserved A3 Instance Core running in Iowa",
        "A2 Sole Tenancy Instance Core running in Iowa",
        "Nvidia H100 80GB GPU DWS Calendar Mode running in Iowa",
        "N2 Instance Core running in Iowa",
    ],
)
def test_other_ways_of_selling_are_no_part(description):
    assert meter(description) is None


@pytest.mark.parametrize("value", [{}, [], {"error": {"code": 403}}, {"skus": 1}])
def test_what_is_neither_list_is_unreadable(value):
    with pytest.raises(Unreadable):
        parsed("gcp", value)


def test_pages_to_the_end_with_the_key_in_a_header_only(monkeypatch):
    monkeypatch.setenv("GCP_API_KEY", "k-123")
    script = [Answer.json({"skus": [], "nextPageToken": "a="}), Answer.json({"skus": []})]
    with serve(script) as api:
        pages = list(gcp.fetch(api.http(ORIGIN)))
    assert [request.path.partition("pageToken=")[2] for request in api.requests] == ["", "a%3D"]
    assert {request.headers["X-Goog-Api-Key"] for request in api.requests} == {"k-123"}
    assert not any("k-123" in page.url for page in pages)


def test_without_the_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("GCP_API_KEY", raising=False)
    with serve([Answer.json({})]) as api, pytest.raises(MissingKey, match="GCP_API_KEY"):
        list(gcp.fetch(api.http(ORIGIN)))


def test_the_real_meters():
    real = parsed("gcp", shared("data/payloads/gcp/billing_skus_sample.json").read_bytes())
    small = there(real, "a2-highgpu-1g", "us-central1")
    assert small.usd_per_hour == Decimal("3.673385")

"""What is odd about JarvisLabs: all is per GPU, numbers as text, one offer listed twice."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import jarvislabs
from scrapers.registry import PROVIDERS

ORIGIN = "https://backendn.jarvislabs.net"


@pytest.fixture(scope="module")
def meta() -> Normalised:
    return offers(PROVIDERS["jarvislabs"], [recorded("jarvislabs")], {})


def test_price_vcpus_and_ram_are_of_one_gpu(meta):
    four = one(meta, "4x_H100_96V_800G")
    assert four.usd_per_hour == 11
    assert fact(four, "vcpus").value == 96
    assert one(meta, "4x_H100_96V_800G", "spot").usd_per_hour == Decimal("7.4")


def test_a_container_and_a_machine_are_one_offer(meta):
    assert meta.ignored["the same offer at the same price again"] == 8
    assert one(meta, "8x_H100_192V_1600G").usd_per_hour == 22


def test_what_is_free_decides_which_sizes_can_be_had(meta):
    stock = {
        offer_line(o)["gpu_count"]: o.available
        for o in meta.offers
        if "H100" in o.instance_type and o.price_model == "on_demand"
    }
    assert stock == {1: True, 2: True, 4: False, 8: False}


def test_two_spellings_are_one_gpu_and_one_type(meta):
    pair = [o for o in meta.offers if o.instance_type == "2x_RTXPRO6000_56V_320G"]
    assert {o.region: o.available for o in pair} == {
        "india-chennai-01": False,
        "india-noida-01": True,
    }
    assert {offer_line(o)["gpu"] for o in pair} == {"rtxpro6000-pcie-96gb"}


def test_null_and_0_as_spot_are_not_sold_so(meta):
    spot = {o.instance_type.split("_")[1] for o in meta.offers if o.price_model == "spot"}
    assert spot == {"H100"}


def test_without_a_most_it_is_one(meta):
    (a100,) = [o for o in meta.offers if "A100" in o.instance_type]
    assert (a100.instance_type, a100.available, a100.country) == (
        "1x_A100-80GB_16V_112G",
        True,
        None,
    )
    assert set(a100.gpu_candidates) == {"a100-pcie-80gb", "a100-sxm4-80gb"}


def test_no_price_at_all_is_listed_without_one(meta):
    assert one(meta, "1x_L4_28V_124G").price_note == jarvislabs.UNPRICED


def test_a_count_that_is_no_number_is_rejected_and_cpus_are_counted(meta):
    assert reasons(meta) == {"server_meta[6].num_gpus": "'many' is not a number"}
    assert meta.ignored["no GPU"] == 1


def test_the_key_is_sent(monkeypatch):
    monkeypatch.setenv("JARVISLABS_API_KEY", "k")
    with serve([Answer.json({"server_meta": []})]) as api:
        assert len(list(jarvislabs.fetch(api.http(ORIGIN)))) == 1
    assert api.requests[0].path == "/misc/server_meta"
    assert api.requests[0].headers["Authorization"] == "Bearer k"


def test_without_a_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("JARVISLABS_API_KEY", raising=False)
    with serve([Answer.json({})]) as api, pytest.raises(MissingKey):
        list(jarvislabs.fetch(api.http(ORIGIN)))


def test_a_real_answer():
    path = shared("data/payloads/jarvislabs/server_meta.json")
    real = parsed("jarvislabs", path.read_bytes())
    assert real.rejected == []
    l4 = one(real, "8x_L4_224V_992G")
    assert (l4.usd_per_hour, l4.available) == (Decimal("3.52"), False)

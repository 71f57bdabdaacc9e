"""What is odd about CUDO: a price is a sum of parts, and sizes are free."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import cudo
from scrapers.registry import PROVIDERS


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["cudo"], [recorded("cudo")], {})


def test_a_price_is_the_sum_of_its_parts_and_says_which(types):
    pair = one(types, "sapphire-rapids-h100_2x16v64gb")
    parts = 16 * Decimal("0.002") + 64 * Decimal("0.003") + 2 * Decimal("2.3")
    assert pair.usd_per_hour == parts + 100 * Decimal("0.0001")
    assert pair.price_includes == ("2 GPUs with 16 vCPUs and 64 GiB of memory, and 100 GiB of disk")
    assert offer_line(pair)["gpu"] == "h100-sxm5-80gb"


def test_one_row_a_count_and_what_is_free_decides_which_can_be_had(types):
    stock = {
        offer_line(o)["gpu_count"]: o.available
        for o in types.offers
        if o.instance_type.startswith("sapphire-rapids-h100")
    }
    assert stock == {1: True, 2: True, 4: True, 8: False}


def test_a_machine_with_several_gpus_to_choose_is_named_with_its_gpu_and_its_least_count(types):
    pairs = {o.instance_type: o.usd_per_hour for o in types.offers if "-l4" in o.instance_type}
    host = 16 * Decimal("0.002") + 64 * Decimal("0.003")
    assert pairs == {
        "sapphire-rapids-l4_2x16v64gb": host + 1,
        "sapphire-rapids-l40s_2x16v64gb": host + Decimal("1.8"),
    }


def test_a_size_is_moved_into_what_the_type_allows(types):
    card = one(types, "epyc-a5000_1x4v40gb")  # at most 4 vCPUs a GPU, at least 10 GiB a vCPU
    assert card.usd_per_hour == Decimal("0.33") + 4 * Decimal("0.002") + 40 * Decimal("0.003")
    assert card.country == "GB"


def test_none_free_is_sold_out_at_its_price(types):
    card = one(types, "ice-lake-a40_1x8v32gb")
    assert (card.available, card.country) == (False, "SE")
    assert offer_line(card)["gpu"] == "a40-pcie-48gb"
    assert "disk is extra" in card.price_includes


def test_a_gpu_at_0_has_no_price_and_a_missing_part_is_rejected(types):
    assert one(types, "epyc-a6000_1x8v32gb").price_note == cudo.NO_PRICE
    assert reasons(types) == {"machineTypes[4].vcpuPriceHr": "is missing"}
    assert types.ignored == {"no GPU": 1}


def test_sizes_beside_the_list_are_the_ones_that_are_priced():
    kind = {
        "machine_type": "genoa-l4",
        "data_center_id": "fr-paris-1",
        "gpu_model": "L4",
        "vcpu_price_hr": {"value": "0.002"},
        "memory_gib_price_hr": {"value": "0.003"},
        "gpu_price_hr": {"value": "0.4"},
        "max_gpu_free": 8,
    }
    sizes = [{"vcpu": 12, "mem": 24, "gpu": 2}]
    result = parsed("cudo", {"machine_types": [kind], "spec": sizes})
    (offer,) = result.offers
    assert offer.usd_per_hour == Decimal("0.896")  # 12 × 0.002 + 24 × 0.003 + 2 × 0.4
    assert fact(offer, "vcpus").value == 12


def test_machine_types_are_one_answer():
    with serve([Answer.json({"machineTypes": []})]) as api:
        assert len(list(cudo.fetch(api.http("https://rest.compute.cudo.org")))) == 1
    assert api.requests[0].path == "/v1/vms/machine-types"


@pytest.mark.parametrize(
    ("region", "country"),
    [("se-stockholm-1", "SE"), ("uk-london-1", "GB"), ("eu-x-1", None), (None, None)],
)
def test_regions_lie_in_countries(region, country):
    assert cudo._country(region) == country

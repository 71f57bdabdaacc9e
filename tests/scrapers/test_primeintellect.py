"""What is odd about Prime Intellect: totals, other clouds' GPUs, clusters of several machines."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import primeintellect
from scrapers.registry import PROVIDERS

ORIGIN = "https://api.primeintellect.ai"
RUNPOD, CLUSTER, B200 = "4x NVIDIA H100 80GB HBM3", "32x 8x_H200_141GB", "8x gpu_8x_b200"


@pytest.fixture(scope="module")
def items() -> Normalised:
    return offers(PROVIDERS["primeintellect"], [recorded("primeintellect")], {})


def test_the_price_is_of_all_gpus_together(items):
    line = offer_line(one(items, RUNPOD))
    assert (line["usd_per_hour"], line["usd_per_gpu_hour"]) == ("11.6", "2.9")


def test_each_is_its_own_clouds(items):
    assert {(o.provider, o.via) for o in items.offers} == {
        ("runpod", "primeintellect"),
        ("nebius", "primeintellect"),
        ("lambda", "primeintellect"),
        ("hyperstack", "primeintellect"),
        ("crusoe", "primeintellect"),
    }
    assert {f.basis for o in items.offers for f in o.facts} == {Basis.STATED}


def test_spot_and_the_clouds_of_runpod_are_told_apart(items):
    spot = one(items, RUNPOD, "spot")
    assert (spot.tier, spot.region, spot.country) == ("community", "CA-MTL-1", "CA")
    assert spot.price_note == "the price moves with the market"
    assert spot.usd_per_hour == Decimal("9.2")  # the community's, beside 11.6
    assert one(items, RUNPOD).tier == "secure"
    assert one(items, CLUSTER).tier is None


def test_the_socket_is_the_form(items):
    assert offer_line(one(items, RUNPOD))["gpu"] == "h100-sxm5-80gb"
    assert offer_line(one(items, B200))["gpu"] == "b200-sxm6-180gb"


def test_more_gpus_than_a_machine_has_are_a_cluster_on_its_fabric(items):
    cluster = one(items, CLUSTER)
    line = offer_line(cluster)
    assert (line["gpu_count"], line["fabric"], line["multi_node"]) == (
        32,
        "infiniband",
        "self_serve",
    )
    assert line["fabric_gbits_per_s"] is None
    assert "is not said" in cluster.warnings[0]


def test_of_one_machine_the_rate_is_its_own(items):
    line = offer_line(one(items, B200))
    assert (line["fabric"], line["fabric_gbits_per_s"], line["gpudirect_rdma"]) == (
        "roce",
        3200,
        None,
    )


def test_words_for_stock(items):
    stock = {o.instance_type: o.available for o in items.offers}
    assert (stock[CLUSTER], stock[B200]) == (True, False)


def test_a_price_of_0_is_no_price_and_an_unknown_chip_is_rejected(items):
    assert one(items, "a40").price_note == primeintellect.UNPRICED
    assert "X900" in reasons(items)["items[6]"]
    assert items.ignored == {"no GPU": 1}


def test_a_socket_that_a_gpu_cannot_have_is_not_its_form(items):
    line = offer_line(one(items, "8x mi300x"))
    assert (line["gpu"], line["gpu_memory_gb"]) == ("mi300x-oam-192gb", 192)


# --- Fetch ------------------------------------------------------------------------------------


def _page(rows: int, total: int) -> Answer:
    return Answer.json({"items": [{}] * rows, "totalCount": total})


def test_pages_are_read_until_the_total(monkeypatch):
    monkeypatch.setenv("PRIME_API_KEY", "k")
    with serve([_page(2, 3), _page(1, 3)]) as api:
        assert len(list(primeintellect.fetch(api.http(ORIGIN)))) == 2
    assert api.requests[1].path.endswith("page=2&page_size=500")
    assert api.requests[1].headers["Authorization"] == "Bearer k"


def test_a_total_that_is_not_reached_fails_the_fetch(monkeypatch):
    monkeypatch.setenv("PRIME_API_KEY", "k")
    with serve([_page(2, 3), _page(0, 3)]) as api, pytest.raises(FetchFailed, match="has 3 rows"):
        list(primeintellect.fetch(api.http(ORIGIN)))


def test_without_a_key_it_is_skipped(monkeypatch):
    monkeypatch.delenv("PRIME_API_KEY", raising=False)
    with serve([_page(0, 0)]) as api, pytest.raises(MissingKey):
        list(primeintellect.fetch(api.http()))


def test_the_sample_at_hand():
    path = shared("data/payloads/primeintellect/availability_sample.json")
    result = parsed("primeintellect", path.read_bytes())
    prices = {o.provider: offer_line(o)["usd_per_gpu_hour"] for o in result.offers}
    assert prices == {"runpod": "2.99", "nebius": "2.95"}
    assert result.rejected == []

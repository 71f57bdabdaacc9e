"""What is odd about DigitalOcean: memory of all GPUs together, regions as stock, contract sizes."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised, OfferRecord
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.listing import MissingKey
from scrapers.normalise import offers
from scrapers.providers import digitalocean
from scrapers.registry import PROVIDERS

ORIGIN = "https://api.digitalocean.com"


@pytest.fixture(scope="module")
def sizes() -> Normalised:
    return offers(PROVIDERS["digitalocean"], [recorded("digitalocean")], {})


def first(result: Normalised, instance: str) -> OfferRecord:
    return next(o for o in result.offers if o.instance_type == instance)


def test_a_size_stands_in_each_region_that_has_it(sizes):
    nodes = [o for o in sizes.offers if o.instance_type == "gpu-h100x8-640gb"]
    assert {(o.region, o.country, o.available, o.usd_per_hour) for o in nodes} == {
        ("nyc2", "US", True, Decimal(34)),
        ("tor1", "CA", True, Decimal(34)),
    }


def test_no_region_is_sold_out_with_its_price(sizes):
    card = one(sizes, "gpu-h100x1-80gb")
    assert (card.region, card.available, card.usd_per_hour) == (None, False, Decimal("4.25"))


def test_memory_is_of_all_gpus_together(sizes):
    assert fact(first(sizes, "gpu-h100x8-640gb"), "gpu_memory_gb").value == 80
    assert offer_line(first(sizes, "gpu-mi300x8-1536gb-contracted"))["gpu_memory_gb"] == 192


def test_eight_h100_are_a_board_by_rule_and_one_is_not_told(sizes):
    board = fact(first(sizes, "gpu-h100x8-640gb"), "gpu")
    assert (board.value, board.basis) == ("h100-sxm5-80gb", Basis.DERIVED)
    assert set(one(sizes, "gpu-h100x1-80gb").gpu_candidates) == {"h100-pcie-80gb", "h100-sxm5-80gb"}


def test_contract_sizes_say_so(sizes):
    year = one(sizes, "gpu-mi300x8-1536gb-contracted", "reserved_1y")
    assert "12 months" in year.price_note
    small = one(sizes, "gpu-h100x8-640gb-200")
    assert (small.available, small.country) == (False, "NL")
    assert "contract" in small.price_note


def test_a_price_of_0_is_no_price(sizes):
    node = one(sizes, "gpu-h200x8-1128gb")
    assert (node.usd_per_hour, node.price_note) == (None, digitalocean.UNPRICED)


def test_an_unknown_unit_is_rejected_and_other_droplets_are_counted(sizes):
    assert "'pages' is not a unit of memory" in reasons(sizes)["sizes[6]"]
    assert sizes.ignored == {"no GPU": 1}


def test_a_card_with_an_underscored_name(sizes):
    assert offer_line(one(sizes, "gpu-6000adax1-48gb"))["gpu"] == "rtx6000ada-pcie-48gb"


# --- Fetch ------------------------------------------------------------------------------------


def _page(rows: int, total: int) -> Answer:
    return Answer.json({"sizes": [{"slug": "s"}] * rows, "meta": {"total": total}})


def test_pages_are_read_until_the_total_with_the_token(monkeypatch):
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", "t")
    with serve([_page(2, 3), _page(1, 3)]) as api:
        assert len(list(digitalocean.fetch(api.http(ORIGIN)))) == 2
    assert {request.headers["Authorization"] for request in api.requests} == {"Bearer t"}


def test_a_total_that_is_not_reached_fails_the_fetch(monkeypatch):
    monkeypatch.setenv("DIGITALOCEAN_TOKEN", "t")
    with serve([_page(2, 3), _page(0, 3)]) as api, pytest.raises(FetchFailed, match="has 3 rows"):
        list(digitalocean.fetch(api.http(ORIGIN)))


def test_without_a_token_it_is_skipped(monkeypatch):
    monkeypatch.delenv("DIGITALOCEAN_TOKEN", raising=False)
    with serve([_page(0, 0)]) as api, pytest.raises(MissingKey):
        list(digitalocean.fetch(api.http(ORIGIN)))


def test_sizes_of_the_official_client():
    path = shared("data/payloads/digitalocean/godo_sizes.json")
    result = parsed("digitalocean", path.read_bytes())
    assert (len(result.offers), len(result.rejected), result.ignored.total()) == (2, 0, 2)
    assert one(result, "gpu-h100x8-640gb-200").usd_per_hour == Decimal("52.7")

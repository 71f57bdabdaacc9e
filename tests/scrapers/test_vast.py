"""What is odd about Vast.ai: disk is extra, machines overlap, links are measured, pages are cut."""

import json
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import vast
from scrapers.registry import PROVIDERS

ORIGIN = "https://console.vast.ai"


@pytest.fixture(scope="module")
def market() -> Normalised:
    return offers(PROVIDERS["vast"], [recorded("vast")], {})


def test_the_price_is_the_gpus_with_100_gb_of_disk_for_a_month_of_720_hours(market):
    node = one(market, "8x H100 SXM m51001")
    assert node.usd_per_hour == round(Decimal("17.6") + 100 * Decimal("0.24") / 720, 6)
    assert "100 GB of disk" in node.price_includes


def test_a_bid_is_spot_and_pays_for_disk_too(market):
    bid = one(market, "8x H100 SXM m51001", "spot")
    assert bid.usd_per_hour == round(Decimal(12) + 100 * Decimal("0.24") / 720, 6)


def test_no_bids_taken_is_no_spot_offer(market):
    sold = {o.price_model for o in market.offers if o.instance_type == "1x A100 PCIE m51006"}
    assert sold == {"on_demand"}


def test_a_bid_as_high_as_on_demand_is_no_saving(market):
    assert "spot is the same as on demand" in one(market, "8x H100 SXM m51002", "spot").warnings


def test_usable_mebibytes_become_nominal_gigabytes_with_the_printed_figure_beside(market):
    memory = fact(one(market, "8x H100 SXM m51001"), "gpu_memory_gb")
    assert (memory.value, memory.note) == (80, "printed as 81559 MiB")


def test_the_hosts_ram_is_already_the_offers_share(market):
    assert fact(one(market, "4x H100 SXM m51001"), "ram_gb").value == Decimal("1031.94")


def test_measured_nvlink_is_measured_and_a_part_of_a_board_has_its_switch(market):
    half = one(market, "4x H100 SXM m51001")
    pair = fact(half, "measured_pair_gbytes_per_s")
    assert (pair.value, pair.basis) == (Decimal("396.5"), Basis.MEASURED)
    assert fact(half, "scale_up").value == "nvswitch"
    assert any("other sizes" in warning for warning in half.warnings)


def test_nvlink_measured_between_pcie_cards_is_a_bridge(market):
    line = offer_line(one(market, "2x RTX 3090 m51003"))
    assert (line["scale_up"], line["scale_up_domain_gpus"]) == ("nvlink_bridge", 2)


def test_a_measured_0_is_unknown_and_not_what_the_board_would_have(market):
    offer = one(market, "8x H100 SXM m51002")
    line = offer_line(offer)
    assert line["gpu"] == "h100-sxm5-80gb"
    assert (line["scale_up"], line["scale_up_gbytes_per_s"]) == (None, None)
    assert any("not measured, or no NVLink" in warning for warning in offer.warnings)


def test_a_host_that_rents_virtual_machines_is_warned_of(market):
    assert any("virtual machines" in w for w in one(market, "8x H100 SXM m51002").warnings)


def test_places_without_a_city_or_with_a_continent(market):
    places = {o.instance_type: (o.region, o.country) for o in market.offers}
    assert places["8x H100 SXM m51002"] == ("CA", "CA")
    assert places["2x RTX 3090 m51003"] == ("Utah US", "US")


def test_tier_is_host_and_state(market):
    tiers = {o.instance_type: o.tier for o in market.offers}
    assert tiers["8x H100 SXM m51001"] == "datacenter-verified"
    assert tiers["8x H100 SXM m51002"] == "datacenter-unverified"
    assert tiers["1x A100 PCIE m51006"] == "verified"


def test_rented_is_not_available_and_unsaid_is_unknown(market):
    assert one(market, "8x H100 SXM m51001").available is True
    assert one(market, "8x H100 SXM m51002").available is False
    silent = parsed(
        "vast", {"offers": [{"id": 1, "gpu_name": "L4", "num_gpus": 1, "dph_base": 0.4}]}
    )
    assert silent.offers[0].available is None


def test_a_mixed_machine_is_rejected_by_its_total_memory(market):
    assert "a mixed machine" in reasons(market)["offers[4]"]


def test_a_laptop_card_is_not_the_card_of_that_number(market):
    assert "'laptop' is not understood" in reasons(market)["offers[5]"]


def test_the_same_offer_twice_is_counted_and_nothing_is_lost(market):
    assert market.ignored == {"an offer that stood on the page before": 1}


def test_a_row_with_a_bad_number_spoils_only_itself():
    body = b'{"offers": [{"id": 1, "gpu_name": "L4", "num_gpus": 1, "dph_base": 1e1000000},'
    body += b'{"id": 2, "gpu_name": "L4", "num_gpus": 1, "dph_base": 0.5}]}'
    result = parsed("vast", body)
    assert reasons(result) == {"offers[0].dph_base": "a number out of bounds"}
    assert [o.usd_per_hour for o in result.offers] == [Decimal("0.5")]


@pytest.mark.parametrize("price", [0, -1, 300, "0.5", True])
def test_prices_that_cannot_be_are_rejected(price):
    row = {"id": 1, "gpu_name": "H100 SXM", "num_gpus": 1, "dph_base": price}
    result = parsed("vast", {"offers": [row]})
    assert (len(result.offers), len(result.rejected)) == (0, 1)


def test_a_row_without_a_price_or_a_name_is_listed_without_them():
    rows = [{"id": n, "machine_id": 7, "num_gpus": n} for n in (2, 4)]
    result = parsed("vast", {"offers": rows})
    assert [o.instance_type for o in result.offers] == ["2x GPU m7", "4x GPU m7"]
    assert {(o.usd_per_hour, o.price_note) for o in result.offers} == {
        (None, "no price in this document")
    }
    assert result.offers[0].warnings == ("the listing does not name the GPU",)


@pytest.mark.parametrize("value", [[], {}, None, 7, {"offers": {}}, {"offers": "x"}])
def test_an_answer_without_a_list_of_offers_is_unreadable(value):
    with pytest.raises(Unreadable):
        parsed("vast", value)


# --- The walk by price ------------------------------------------------------------------------


def _rows(first: int, *prices: float) -> dict[str, object]:
    rows = [{"id": first + n, "dph_total": price} for n, price in enumerate(prices)]
    return {"offers": rows}


def test_the_walk_goes_on_from_the_last_price_until_nothing_is_new():
    script = [
        Answer.json(_rows(1, 0.1, 0.2)),
        Answer.json(_rows(2, 0.2, 0.3)),
        Answer.json(_rows(3, 0.3)),
    ]
    with serve(script) as market:
        pages = list(vast.fetch(market.http(ORIGIN)))
    asked = [json.loads(request.body) for request in market.requests]
    assert [query["dph_total"] for query in asked] == [{"gte": 0.0}, {"gte": 0.2}, {"gte": 0.3}]
    assert len(pages) == 3
    assert all(page.url == vast.BUNDLES for page in pages)


def test_no_default_filter_hides_the_market():
    with serve([Answer.json({"offers": []})]) as market:
        list(vast.fetch(market.http(ORIGIN)))
    query = json.loads(market.requests[0].body)
    assert query["verified"] == query["rentable"] == {"in": [True, False]}
    assert query["cpu_arch"] == {"in": ["amd64", "arm64"]}
    assert "external" not in query


def test_a_page_that_never_changes_ends_the_walk():
    with serve([Answer.json(_rows(1, 0.1, 0.2))]) as market:
        assert len(list(vast.fetch(market.http(ORIGIN)))) == 2


def test_a_full_page_at_one_price_cannot_be_walked_past(monkeypatch):
    monkeypatch.setattr(vast, "LIMIT", 2)
    script = [Answer.json(_rows(1, 0.1, 0.1)), Answer.json(_rows(3, 0.1, 0.1))]
    with serve(script) as market, pytest.raises(FetchFailed, match="cannot go on"):
        list(vast.fetch(market.http(ORIGIN)))


def test_pages_without_end_stop_at_the_cap(monkeypatch):
    monkeypatch.setattr(vast, "MOST_PAGES", 5)
    script = [Answer.json(_rows(n, n / 10)) for n in range(1, 9)]
    with serve(script) as market, pytest.raises(FetchFailed, match="5 pages"):
        list(vast.fetch(market.http(ORIGIN)))
    assert len(market.requests) == 5


def test_two_offers_of_one_real_machine_are_two_sizes():
    real = parsed("vast", shared("data/payloads/vast/bundles_b300_2026-08.json").read_bytes())
    assert len(real.offers) == 4
    pair = one(real, "2x B300 m144888")
    assert offer_line(pair)["gpu"] == "b300-sxm6-288gb"
    assert pair.usd_per_hour == Decimal("15.026042")


def test_an_offer_is_one_machine_of_which_there_is_no_second(market):
    for offer in market.offers:
        said = fact(offer, "multi_node")
        assert (said.value, said.basis) == ("no", Basis.DERIVED)

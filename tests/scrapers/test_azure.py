"""What is odd about Azure: many meters for one size, prices of a term, GPUs by the size's name."""

import json
from datetime import date
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import PAYLOADS, fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.azure_sizes import FAMILIES, is_rdma_capable, size
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import Rate, offers
from scrapers.providers import azure
from scrapers.regions import azure_country
from scrapers.registry import PROVIDERS

ORIGIN = "https://prices.azure.com"
H100 = "Standard_ND96isr_H100_v5"


@pytest.fixture(scope="module")
def prices() -> Normalised:
    return offers(PROVIDERS["azure"], [recorded("azure")], {})


def test_one_size_is_sold_four_ways_and_no_more(prices):
    sold = {o.price_model: o.usd_per_hour for o in prices.offers if o.instance_type == H100}
    assert sold == {
        "on_demand": Decimal("101.5"),
        "spot": Decimal("41.2"),
        "reserved_1y": Decimal(65),  # 569,400 for 8,760 hours, though the unit says 1 Hour
        "reserved_3y": Decimal(50),
    }


def test_rows_of_others_are_counted_not_quarantined(prices):
    assert prices.ignored == {
        "a Dev/Test price": 1,
        "a Low Priority price (retired)": 1,
        "a Windows price": 1,
        "a second meter of the same size": 1,
        "an accelerator that is no GPU": 1,
        "another service than Virtual Machines": 1,
        "no GPU size": 1,
        "the same offer at the same price again": 1,
    }
    assert prices.rows == 22


def test_a_hundred_hours_are_divided_and_said(prices):
    offer = one(prices, "Standard_NC24ads_A100_v4")
    assert offer.usd_per_hour == Decimal("3.9")
    assert offer.warnings == ("the price is for 100 hours and was divided",)


def test_a_meter_at_0_a_unit_of_no_hours_and_a_second_price_are_rejected(prices):
    why = reasons(prices)
    assert why["Items[11]"].startswith("price 0")
    assert why["Items[19].unitOfMeasure"] == "'1 Month' is not a number of hours"
    assert why["Items[21]"].startswith("two prices for one offer: 3.3")


def test_spot_is_a_list_price(prices):
    assert "the portal may show another" in one(prices, H100, "spot").price_note


def test_a_reservation_is_for_at_least_its_term(prices):
    assert one(prices, H100, "reserved_3y").minimum_hours == 26280


def test_a_fraction_of_a_gpu_has_its_own_memory(prices):
    line = offer_line(one(prices, "Standard_NV6ads_A10_v5"))
    assert (line["gpu"], line["gpu_count"], line["gpu_memory_gb"]) == ("a10-pcie-24gb", 0.1667, 4)
    assert line["usd_per_gpu_hour"] == "2.819436"


def test_the_gpu_comes_from_the_table_and_says_so(prices):
    gpu = fact(one(prices, H100), "gpu")
    assert (gpu.value, gpu.basis) == ("h100-sxm5-80gb", Basis.DERIVED)
    assert gpu.source.startswith("rule:")
    assert "ndh100v5-series" in gpu.source


def test_an_unknown_family_is_listed_without_a_guess(prices):
    offer = one(prices, "Standard_NX64is_Q900_v9")
    assert not [f for f in offer.facts if f.attribute in ("gpu", "gpu_count")]
    assert any("not in our table" in warning for warning in offer.warnings)


def test_another_currency_is_kept_and_converted_only_with_a_rate(prices):
    offer = one(prices, "Standard_NC96ads_A100_v4")
    assert (offer.native_amount, offer.native_currency) == (Decimal("15.2"), "EUR")
    assert offer.usd_per_hour is None
    rate = Rate(Decimal("1.1"), date(2026, 11, 28))
    changed = offers(PROVIDERS["azure"], [recorded("azure")], {"EUR": rate})
    offer = one(changed, "Standard_NC96ads_A100_v4")
    assert (offer.usd_per_hour, offer.usd_rate_date) == (Decimal("16.72"), date(2026, 11, 28))


def test_an_r_in_the_name_is_infiniband_and_never_gpudirect(prices):
    line = offer_line(one(prices, H100))
    assert (line["fabric"], line["gpudirect_rdma"]) == ("infiniband", None)


@pytest.mark.parametrize(
    ("name", "capable"),
    [
        (H100, True),
        ("Standard_ND96is_H100_v5", False),
        ("Standard_NC24rs_v3", True),
        ("Standard_NC24s_v3", False),
        ("Standard_NC128ds_xl_RTXPRO6000BSE_v6", False),
        ("Standard_ND128isr_NDR_GB200_v6", True),
    ],
)
def test_rdma_by_the_letters_after_the_vcpus(name, capable):
    assert is_rdma_capable(name) is capable


@pytest.mark.parametrize(
    ("name", "gpu", "gpus"),
    [
        ("Standard_ND96asr_v4", "A100 SXM4 40GB", 8),
        ("Standard_ND96asr_A100_v4", "A100 SXM4 40GB", 8),
        ("Standard_ND96amsr_A100_v4", "A100 SXM4 80GB", 8),
        ("Standard_ND96is_flex_H100_v5", "H100 SXM5", 8),  # a renamed size of a known family
        ("Standard_NCC40ads_H100_v5", "H100 NVL", 1),
        ("Standard_NC80adis_H100_v5", "H100 NVL", 2),
        ("Standard_ND128isr_NDR_GB200_v6", "GB200", 4),
        ("Standard_ND128isrG5_GB300_v6", "GB300", 4),
        ("Standard_NV12ads_A10_v5", "A10", Decimal("0.3333")),
        ("Standard_NC64as_T4_v3", "T4", 4),
        ("Standard_ND48isr_H100_v5", "H100 SXM5", None),  # vCPUs that the page does not have
    ],
)
def test_families(name, gpu, gpus):
    found = size(name)
    assert found is not None
    assert (found.gpu, found.gpu_count) == (gpu, gpus)


def test_every_family_has_its_source_and_its_own_sizes():
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    assert all(family.page.endswith("-series.md") for family in FAMILIES)


def test_a_price_of_next_month_is_not_todays():
    row = json.loads((PAYLOADS / "azure.json").read_bytes())["Items"][0]
    later = row | {"effectiveStartDate": "2026-12-01T00:00:00Z", "retailPrice": 90.0}
    result = parsed("azure", {"Items": [later, row]})
    assert [o.usd_per_hour for o in result.offers] == [Decimal("101.5")]
    assert result.ignored == {"a price that does not hold yet": 1}


# --- The list of sizes ------------------------------------------------------------------------


def test_sizes_and_prices_together_say_more_than_either():
    result = offers(PROVIDERS["azure"], [recorded("azure"), recorded("azure_skus")], {})
    node = one(result, H100)
    assert (fact(node, "rdma").value, fact(node, "rdma").basis) == ("yes", Basis.DOCUMENTED)
    assert fact(node, "ram_gb").value == 1900
    assert result.ignored["a size whose price is listed"] == 1


def test_a_size_without_a_price_is_listed_without_one():
    result = offers(PROVIDERS["azure"], [recorded("azure_skus")], {})
    card = one(result, "Standard_NC40ads_H100_v5")
    assert (card.usd_per_hour, card.price_note) == (None, "no price in this document")
    line = offer_line(card)
    assert (line["gpu"], line["fabric"], line["gpudirect_rdma"]) == (
        "h100-nvl-94gb",
        "ethernet",
        "no",
    )


def test_gpus_1_of_the_list_is_said_of_fractions_too():
    result = offers(PROVIDERS["azure"], [recorded("azure_skus")], {})
    assert fact(one(result, "Standard_NV6ads_A10_v5"), "gpu_count").value == Decimal("0.1667")


def test_an_unknown_word_for_rdma_is_rejected_in_its_place():
    result = offers(PROVIDERS["azure"], [recorded("azure_skus")], {})
    assert "neither True nor False" in reasons(result)["value[3].capabilities[3].value"]


@pytest.mark.parametrize("value", [{}, [1], 7, None, {"Items": {}}, {"value": 3}, {"error": {}}])
def test_another_answer_is_unreadable_or_rejected_by_row(value):
    try:
        result = parsed("azure", value)
    except Unreadable:
        return
    assert (result.offers, len(result.rejected)) == ([], 1)


@pytest.mark.parametrize(
    ("region", "country"),
    [
        ("eastus2", "US"), ("usgovvirginia", "US"), ("westus3", "US"), ("southcentralus", "US"),
        ("northeurope", "IE"), ("westeurope", "NL"), ("germanywestcentral", "DE"),
        ("southeastasia", "SG"), ("eastasia", "HK"), ("centralindia", "IN"), ("uksouth", "GB"),
        ("southafricanorth", "ZA"), ("swedencentral", "SE"), ("jioindiawest", "IN"),
        ("koreacentral", "KR"), ("atlantis", None), (None, None),
    ],
)  # fmt: skip
def test_regions_lie_in_countries(region, country):
    assert azure_country(region) == country


# --- Pages ------------------------------------------------------------------------------------


def _page(next_page: str | None, rows: int = 1, count: int | None = None) -> Answer:
    items = [{"armSkuName": H100}] * rows
    return Answer.json(
        {"Items": items, "NextPageLink": next_page, "Count": rows if count is None else count}
    )


def test_pages_are_read_to_the_last():
    second = "https://prices.azure.com:443/api/retail/prices?$skip=1000"
    with serve([_page(second), _page(None)]) as prices:
        assert len(list(azure.fetch(prices.http(ORIGIN)))) == 2
    assert "contains(armSkuName,%20'Standard_N')" in prices.requests[0].path
    assert prices.requests[1].path == "/api/retail/prices?$skip=1000"


def test_a_page_that_names_itself_ends_the_fetch():
    again = f"{azure.PRICES}?$skip=1"
    with serve([_page(again)]) as prices, pytest.raises(FetchFailed, match="do not end"):
        list(azure.fetch(prices.http(ORIGIN)))
    assert len(prices.requests) == 2


def test_a_next_page_elsewhere_is_not_followed():
    with serve([_page("https://evil.example/api/retail/prices")]) as prices:
        with pytest.raises(FetchFailed, match="not its own"):
            list(azure.fetch(prices.http(ORIGIN)))
        assert len(prices.requests) == 1


def test_a_count_that_is_not_the_rows_fails_the_fetch():
    with serve([_page(None, rows=2, count=5)]) as prices, pytest.raises(FetchFailed, match="has 2"):
        list(azure.fetch(prices.http(ORIGIN)))


def test_a_page_of_html_is_kept_and_then_unreadable():
    with serve([Answer(b"<html>maintenance</html>")]) as prices:
        pages = azure.fetch(prices.http(ORIGIN))
        assert next(iter(pages)).body.startswith(b"<html>")
        with pytest.raises(Unreadable, match="HTML"):
            next(pages)


def test_real_prices_of_2021():
    path = shared("data/payloads/azure/retail_prices_N_series_2021.json")
    result = parsed("azure", path.read_bytes())
    assert (len(result.offers), len(result.rejected)) == (28, 0)
    assert one(result, "Standard_NC24rs_v3", "reserved_1y").usd_per_hour == Decimal("10.034589")

"""What is odd about Linode: prices by region, GPUs by the id alone, two kinds of being there."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded

from catalog.records import Basis, Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import linode
from scrapers.registry import PROVIDERS

ORIGIN = "https://api.linode.com"
QUADRO, ADA, PRO = "g1-gpu-rtx6000-2", "g2-gpu-rtx4000a4-m", "g3-gpu-rtxpro6000-blackwell-1"


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["linode"], [recorded("linode")], {})


@pytest.fixture(scope="module")
def placed() -> Normalised:
    names = ("linode", "linode_regions", "linode_availability")
    return offers(PROVIDERS["linode"], [recorded(name) for name in names], {})


def prices(result: Normalised, instance: str) -> dict[str | None, Decimal | None]:
    return {o.region: o.usd_per_hour for o in result.offers if o.instance_type == instance}


def test_a_region_may_have_its_own_price(types, placed):
    assert prices(types, QUADRO) == {None: Decimal("2.9"), "br-gru": Decimal("4.06")}
    assert prices(placed, QUADRO) == {"us-ord": Decimal("2.9"), "br-gru": Decimal("4.06")}


def test_0_as_the_general_price_is_not_sold_there(placed):
    assert prices(placed, PRO) == {"us-ord": Decimal("2.4"), "br-gru": None}
    unpriced = next(o for o in placed.offers if o.usd_per_hour is None)
    assert unpriced.price_note == linode.UNPRICED


def test_the_stock_says_which_region_has_the_plan(placed):
    stock = {o.region: o.available for o in placed.offers if o.instance_type == ADA}
    assert stock == {"us-ord": False, "de-fra-2": True}
    assert {o.available for o in placed.offers if o.instance_type == QUADRO} == {None}


def test_countries_are_of_the_list_or_of_the_name(placed, types):
    assert {o.region: o.country for o in placed.offers} == {
        "us-ord": "US",
        "br-gru": "BR",
        "de-fra-2": "DE",
    }
    assert {o.country for o in types.offers if o.region == "br-gru"} == {"BR"}


def test_the_id_names_the_gpu_by_rule(types):
    gpus = {o.instance_type: offer_line(o)["gpu"] for o in types.offers}
    assert gpus == {
        QUADRO: "quadrortx6000-pcie-24gb",
        ADA: "rtx4000ada-pcie-20gb",
        PRO: "rtxpro6000-pcie-96gb",
    }
    assert fact(one(types, ADA), "gpu").basis is Basis.DERIVED


def test_an_unknown_gpu_is_rejected_and_a_video_card_is_none(types):
    assert "not in our table" in reasons(types)["data[3].id"]
    assert types.ignored == {"no GPU": 2}


def test_the_price_of_a_month_stands_beside(types):
    assert "by the month it is 2300.0" in one(types, ADA).price_includes
    assert fact(one(types, ADA), "ram_gb").note == "196608 MiB"


def test_an_error_is_not_a_list():
    assert parsed("linode", {"data": []}).rows == 0


# --- Fetch ------------------------------------------------------------------------------------


def _page(number: int, pages: int, results: int) -> Answer:
    rows = [{"id": f"x{number}"}]
    return Answer.json({"data": rows, "page": number, "pages": pages, "results": results})


def test_three_lists_are_read_to_their_last_pages():
    with serve([_page(1, 2, 2), _page(2, 2, 2), _page(1, 1, 1)]) as api:
        assert len(list(linode.fetch(api.http(ORIGIN)))) == 4
    paths = [request.path.split("?")[0] for request in api.requests]
    assert paths == [
        "/v4/linode/types",
        "/v4/linode/types",
        "/v4/regions",
        "/v4/regions/availability",
    ]


def test_results_that_are_not_there_fail_the_fetch():
    with serve([_page(1, 1, 9)]) as api, pytest.raises(FetchFailed, match="has 9 rows"):
        list(linode.fetch(api.http(ORIGIN)))

"""What is odd about Voltage Park: two networks at two prices a GPU; none free keeps its price."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import one, parsed, recorded, shared

from catalog.records import Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import voltagepark
from scrapers.registry import PROVIDERS

ORIGIN = "https://cloud-api.voltagepark.com"
ETHERNET = "bare metal 8x H100 SXM5 (Ethernet)"
INFINIBAND = "bare metal 8x H100 SXM5 (InfiniBand)"


@pytest.fixture(scope="module")
def nodes() -> Normalised:
    return offers(PROVIDERS["voltagepark"], [recorded("voltagepark")], {})


def test_a_node_is_8_gpus_at_the_price_of_its_network(nodes):
    prices = {name: one(nodes, name).usd_per_hour for name in (ETHERNET, INFINIBAND)}
    assert prices == {ETHERNET: 8 * Decimal("2.05"), INFINIBAND: 8 * Decimal("2.61")}


def test_the_network_is_the_fabric(nodes):
    assert offer_line(one(nodes, ETHERNET))["fabric"] == "ethernet"
    assert offer_line(one(nodes, INFINIBAND))["fabric"] == "infiniband"


def test_none_free_keeps_its_price(nodes):
    assert (one(nodes, ETHERNET).available, one(nodes, INFINIBAND).available) == (False, True)


def test_a_network_without_a_price_is_not_sold(nodes):
    names = {o.instance_type for o in nodes.offers}
    assert "bare metal 8x B200 SXM6 (InfiniBand)" in names
    assert "bare metal 8x B200 SXM6 (Ethernet)" not in names
    assert nodes.ignored == {"a network that is not sold there": 1}


@pytest.mark.parametrize("value", [{}, [], {"results": {}}, {"detail": "no"}])
def test_what_has_no_results_is_unreadable(value):
    with pytest.raises(Unreadable):
        parsed("voltagepark", value)


def page(first: int, rows: int, total: int, *, more: bool) -> Answer:
    results = [{"id": str(first + n)} for n in range(rows)]
    return Answer.json({"results": results, "total_result_count": total, "has_next": more})


def test_pages_to_the_end_and_the_count_is_checked():
    script = [page(0, 2, 3, more=True), page(2, 1, 3, more=False)]
    with serve(script) as api:
        assert len(list(voltagepark.fetch(api.http(ORIGIN)))) == 2
    assert api.requests[1].path.endswith("?limit=100&offset=2")


def test_fewer_than_it_says_is_a_failure():
    with serve([page(0, 2, 3, more=False)]) as api, pytest.raises(FetchFailed, match="gave 2"):
        list(voltagepark.fetch(api.http(ORIGIN)))


def test_the_real_answer():
    real = parsed("voltagepark", shared("data/payloads/voltagepark/locations.json").read_bytes())
    assert one(real, ETHERNET).usd_per_hour == Decimal("15.92")
    assert one(real, INFINIBAND).usd_per_hour == Decimal("19.92")

"""What is odd about Vultr: slices of GPUs, memory of the whole plan, 0 for "not sold so"."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import vultr
from scrapers.registry import PROVIDERS

ORIGIN = "https://api.vultr.com"
H100, B200 = "vbm-112c-2048gb-8-h100-gpu", "vbm-256c-3072gb-8-b200-gpu"


@pytest.fixture(scope="module")
def cloud() -> Normalised:
    return offers(PROVIDERS["vultr"], [recorded("vultr")], {})


@pytest.fixture(scope="module")
def metal() -> Normalised:
    return offers(PROVIDERS["vultr"], [recorded("vultr_metal"), recorded("vultr_regions")], {})


def test_a_slice_is_a_share_of_a_gpu_with_its_own_memory(cloud):
    half = one(cloud, "vcg-a100-6c-60g-40vram")
    line = offer_line(half)
    assert (line["gpu_count"], line["gpu_memory_gb"]) == (0.5, 40)
    assert line["usd_per_gpu_hour"] == "2.5"
    assert set(half.gpu_candidates) == {"a100-pcie-80gb", "a100-sxm4-80gb"}


def test_a_slice_is_one_even_where_the_count_says_1(cloud):
    small = [o for o in cloud.offers if o.instance_type == "vcg-a16-2c-8g-2vram"]
    assert {offer_line(o)["gpu_count"] for o in small} == {0.125}
    assert {(o.region, o.country) for o in small} == {("ewr", "US"), ("nrt", "JP")}
    assert fact(small[0], "gpu").basis is Basis.DERIVED


def test_memory_of_the_plan_counts_the_gpus(cloud):
    pair = offer_line(one(cloud, "vcg-l40s-32c-375g-96vram"))
    assert (pair["gpu"], pair["gpu_count"], pair["gpu_memory_gb"]) == ("l40s-pcie-48gb", 2, 48)
    chip = offer_line(one(cloud, "vcg-gh200-72c-480g-96vram"))
    assert (chip["gpu"], chip["gpu_count"]) == ("gh200-superchip-96gb", 1)


def test_no_location_is_not_in_stock(cloud):
    pair = one(cloud, "vcg-l40s-32c-375g-96vram")
    assert (pair.region, pair.available) == (None, False)


def test_a_count_that_the_memory_denies_is_rejected(cloud):
    assert reasons(cloud) == {"plans[4].gpu_count": "3 GPUs of 80 GB are not 160 GB"}
    assert cloud.ignored == {"no GPU": 1}


def test_memory_of_the_host_is_in_mebibytes(cloud):
    assert fact(one(cloud, "vcg-a100-6c-60g-40vram"), "ram_gb").note == "61440 MiB"


def test_the_gpus_of_bare_metal_may_be_named_in_the_id_alone(metal):
    node = next(o for o in metal.offers if o.instance_type == H100)
    assert fact(node, "gpu_count").value == 8
    assert "h100-sxm5-80gb" in node.gpu_candidates


def test_a_price_that_cannot_be_ordered_is_said_so(metal):
    sold = {(o.price_model, o.region): o for o in metal.offers if o.instance_type == H100}
    listed = sold["on_demand", "sea"]
    assert (listed.usd_per_hour, listed.available) == (Decimal("22.8"), False)
    assert "not for order" in listed.price_note
    assert sold["spot", "sea"].available is True
    assert "11961.6 at most" in sold["spot", "sea"].price_includes


def test_0_an_hour_is_not_sold_so_and_never_free(metal):
    ways = [o for o in metal.offers if o.instance_type == B200]
    assert [(o.price_model, o.usd_per_hour) for o in ways] == [("spot", Decimal("24.8"))]
    assert fact(ways[0], "gpu_memory_gb").value == 180
    unpriced = one(metal, "vbm-256c-2048gb-8-mi325x-gpu")
    assert (unpriced.usd_per_hour, unpriced.price_note) == (None, vultr.UNPRICED)


def test_countries_are_of_the_list_of_regions(metal):
    places = {o.region: o.country for o in metal.offers}
    assert places == {"sea": "US", "zzz": "HR", "ord": "US"}


# --- Fetch ------------------------------------------------------------------------------------


def _page(name: str, total: int, following: str = "", rows: int = 1) -> Answer:
    meta = {"total": total, "links": {"next": following, "prev": ""}}
    return Answer.json({name: [{"id": "x"}] * rows, "meta": meta})


def test_each_list_is_read_to_its_last_page():
    script = [
        _page("plans", 2, "bmV4dA"),
        _page("plans", 2),
        _page("plans_metal", 1),
        _page("regions", 1),
    ]
    with serve(script) as api:
        assert len(list(vultr.fetch(api.http(ORIGIN)))) == 4
    assert api.requests[1].path.endswith("&cursor=bmV4dA")


def test_rows_that_are_not_the_total_fail_the_fetch():
    with serve([_page("plans", 3)]) as api, pytest.raises(FetchFailed, match="has 3 plans"):
        list(vultr.fetch(api.http(ORIGIN)))


def test_a_cursor_that_stays_fails_the_fetch():
    with serve([_page("plans", 3, "again")]) as api, pytest.raises(FetchFailed, match="do not end"):
        list(vultr.fetch(api.http(ORIGIN)))


# --- Real answers -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "offered"),
    [("gpuhunt_plans_metal", 4), ("gpuhunt_plans_vcg", 3), ("plans_2026_sample", 2)],
)
def test_real_plans(path, offered):
    real = parsed("vultr", shared(f"data/payloads/vultr/{path}.json").read_bytes())
    assert (len(real.offers), len(real.rejected)) == (offered, 0)

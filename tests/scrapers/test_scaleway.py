"""What is odd about Scaleway: euro by the minute or the hour, three lists, forms left unsaid."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import PAYLOADS, fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import scaleway
from scrapers.registry import PROVIDERS

ZONE = "https://api.scaleway.com/instance/v1/zones/fr-par-2/products/servers"


@pytest.fixture(scope="module")
def products() -> Normalised:
    return offers(PROVIDERS["scaleway"], [recorded("scaleway")], {})


@pytest.fixture(scope="module")
def joined() -> Normalised:
    others = [recorded("scaleway_servers"), recorded("scaleway_availability")]
    placed = [replace(document, url=ZONE) for document in others]
    return offers(PROVIDERS["scaleway"], [recorded("scaleway"), *placed], {})


def test_a_price_by_the_minute_is_sixty_times_as_much_an_hour(products):
    node = one(products, "H100-SXM-8-80G")
    assert (node.native_amount, node.native_currency) == (Decimal("24.75"), "EUR")
    assert node.price_note == "printed as 0.4125 EUR for 1 minute"
    assert node.usd_per_hour is None


def test_units_and_nanos_add_up_by_the_hour(products):
    render = one(products, "RENDER-S")
    assert (render.native_amount, render.price_note) == (Decimal("1.19"), None)


def test_a_price_for_two_hours_is_halved(products):
    assert one(products, "L40S-4-48G").native_amount == Decimal("2.7")


def test_each_zone_has_its_price_and_country(products):
    l4 = {o.region: o for o in products.offers if o.instance_type == "L4-2-24G"}
    assert {zone: o.native_amount for zone, o in l4.items()} == {
        "fr-par-2": Decimal("1.5"),
        "pl-waw-2": Decimal("1.47"),
    }
    assert l4["pl-waw-2"].country == "PL"


def test_sxm_is_of_the_name_and_a_bare_h100_is_pcie_by_its_documentation(products):
    assert offer_line(one(products, "H100-SXM-8-80G"))["gpu"] == "h100-sxm5-80gb"
    card = fact(one(products, "H100-1-80G"), "gpu")
    assert (card.value, card.basis) == ("h100-pcie-80gb", Basis.DERIVED)
    assert card.source.startswith("rule:")


def test_the_network_is_front_end_and_no_fabric(products):
    line = offer_line(one(products, "L40S-4-48G"))
    assert (line["frontend_gbits_per_s"], line["fabric_gbits_per_s"]) == (10, None)


def test_a_price_of_0_and_an_unknown_unit_are_rejected(products):
    why = reasons(products)
    assert why["products[8]"].startswith("price 0")
    assert "'second' is not a time that we know" in why["products[7].unit_of_measure.unit"]


def test_what_is_no_gpu_or_no_longer_sold_is_counted(products):
    assert products.ignored == {"no GPU": 1, "a product that can no longer be ordered": 1}


def test_stock_has_its_words(joined):
    stock = {
        o.instance_type: (o.available, o.warnings) for o in joined.offers if o.region == "fr-par-2"
    }
    assert stock["H100-SXM-8-80G"] == (True, ("stock is scarce",))
    assert stock["H100-1-80G"] == (False, ())
    assert stock["L4-2-24G"] == (True, ())
    assert stock["L40S-4-48G"][0] is None
    assert "'soon'" in stock["L40S-4-48G"][1][0]
    waw = [o for o in joined.offers if o.region == "pl-waw-2"]
    assert [o.available for o in waw] == [None]


def test_stock_of_zones_that_are_not_named_is_unknown_where_they_differ():
    lists = [{"servers": {"L4-2-24G": {"availability": w}}} for w in ("available", "shortage")]
    product = json.loads((PAYLOADS / "scaleway.json").read_bytes())["products"][2]
    for stock, available in ((lists[:1], True), (lists[1:], False), (lists, None)):
        (offer,) = parsed("scaleway", {"products": [product]}, *stock).offers
        assert (offer.available, offer.warnings) == (available, ())


def test_a_type_of_both_lists_stands_once(joined):
    node = one(joined, "H100-SXM-8-80G")
    assert node.native_amount == Decimal("24.75")
    assert fact(node, "gpu_memory_gb").note == f"printed as {80 * 2**30} B"
    assert joined.ignored["a type whose price is in the catalog"] == 1


def test_a_server_without_a_product_has_its_own_price(joined):
    node = one(joined, "B300-SXM-8-288G")
    assert (node.native_amount, node.region) == (Decimal("58.5"), "fr-par-2")
    assert offer_line(node)["gpu"] == "b300-sxm6-288gb"
    assert one(joined, "L4-1-24G").price_note == "no price in the list"


def test_a_slice_of_a_gpu_is_a_share_with_its_own_memory():
    info = {"gpu_name": "H100-PCIe", "gpu_memory": 80 * 2**30}
    kind = {"gpu": 1, "gpu_info": info, "mig_profile": "3g.40gb", "hourly_price": 1.2}
    (offer,) = parsed("scaleway", {"servers": {"H100-MIG-40G": kind}}).offers
    line = offer_line(offer)
    assert (line["gpu_count"], line["gpu_memory_gb"]) == (0.4286, 40)


def test_servers_alone_say_no_zone():
    alone = offers(PROVIDERS["scaleway"], [recorded("scaleway_servers")], {})
    node = one(alone, "H100-SXM-8-80G")
    assert (node.region, node.native_amount) == (None, Decimal("24.75"))


# --- Fetch ------------------------------------------------------------------------------------


def _page(name: str) -> Answer:
    return Answer((PAYLOADS / f"{name}.json").read_bytes())


def test_zones_with_gpus_are_asked_for_types_and_stock():
    with serve([_page("scaleway"), _page("scaleway_servers")]) as api:
        documents = list(scaleway.fetch(api.http(scaleway.API)))
    asked = [request.path for request in api.requests]
    assert len(documents) == 7
    assert "product_types=instance" in asked[0]
    assert [path.split("/")[4] for path in asked[1:]] == [
        zone for zone in ("fr-par-1", "fr-par-2", "pl-waw-2") for _ in range(4)
    ]


def test_a_page_shorter_than_asked_is_not_the_last():
    pages = [{"servers": {"a": {}}}, {"servers": {"b": {}}}, {"servers": {}}]
    with serve([Answer.json(page) for page in pages]) as api:
        assert len(list(scaleway._pages(api.http(scaleway.API), ZONE))) == 2
    assert len(api.requests) == 3


def test_pages_are_read_until_the_count_is_reached():
    products = json.loads((PAYLOADS / "scaleway.json").read_bytes())["products"]
    script = [
        Answer.json({"products": [products[9]], "total_count": 2}),
        Answer.json({"products": [products[9]], "total_count": 2}),
    ]
    with serve(script) as api:
        assert len(list(scaleway.fetch(api.http(scaleway.API)))) == 2


def test_a_count_that_is_not_reached_fails_the_fetch():
    script = [Answer.json({"products": [], "total_count": 2})]
    with serve(script) as api, pytest.raises(FetchFailed, match="has 2 products"):
        list(scaleway.fetch(api.http(scaleway.API)))


# --- Real answers -----------------------------------------------------------------------------


def test_real_products_of_paris():
    path = shared("data/payloads/scaleway/product_catalog_fr-par1_1.json")
    real = parsed("scaleway", path.read_bytes())
    assert (len(real.offers), len(real.rejected), real.rows) == (5, 0, 96)
    assert one(real, "L4-8-24G").native_amount == Decimal("6.3")
    assert one(real, "RENDER-S").native_amount == Decimal("1.221")


def test_real_servers_agree_with_the_products():
    paths = ("product_catalog", "servers")
    both = [
        parsed("scaleway", shared(f"data/payloads/scaleway/{p}_fr-par1_1.json").read_bytes())
        for p in paths
    ]
    prices = [{o.instance_type: o.native_amount for o in way.offers} for way in both]
    assert set(prices[1]) <= set(prices[0])
    assert {name: prices[0][name] for name in prices[1]} == prices[1]

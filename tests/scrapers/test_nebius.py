"""What is odd about Nebius: a GPU price for several presets, platforms that nobody knows yet."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import document, one, parsed, reasons, recorded, recording

from catalog.records import Normalised
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import nebius
from scrapers.registry import PROVIDERS

PAGE = recording("nebius").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> Normalised:
    return offers(PROVIDERS["nebius"], [recorded("nebius")], {})


@pytest.fixture(scope="module")
def platforms() -> Normalised:
    return offers(PROVIDERS["nebius"], [recorded("nebius_platforms")], {})


def test_a_price_of_one_gpu_is_each_presets(page):
    assert one(page, "gpu-h200-sxm 1gpu-16vcpu-200gb").usd_per_hour == Decimal("5.25")
    assert one(page, "gpu-h200-sxm 8gpu-128vcpu-1600gb").usd_per_hour == Decimal(42)
    assert one(page, "gpu-h200-sxm 8gpu-128vcpu-1600gb", "spot").usd_per_hour == Decimal("18.8")


def test_a_dash_is_not_sold_so_and_contact_is_a_quote(page):
    sold = {(o.instance_type, o.price_model) for o in page.offers}
    assert ("gpu-b300-sxm 8gpu", "spot") not in sold
    quote = one(page, "gpu-b200-sxm 8gpu-160vcpu-1792gb", "quote")
    assert (quote.usd_per_hour, quote.price_note) == (None, "contact sales")


def test_from_is_said(page):
    assert one(page, "gpu-l40s-a 1gpu-8vcpu-32gb").price_note == "from"


def test_an_unknown_product_and_another_currency_are_rejected(page):
    why = reasons(page)
    assert "of no preset that we know" in why["table[1].row[5]"]
    assert why["table[1].row[6]"] == "'2.95 EUR' is not a price in US$"


def test_a_platform_is_its_presets(platforms):
    line = offer_line(one(platforms, "gpu-h200-sxm 8gpu-128vcpu-1600gb"))
    assert (line["gpu"], line["gpu_count"], line["vcpus"]) == ("h200-sxm5-141gb", 8, 128)
    assert (line["ram_gb"], line["price_note"]) == (1717.99, "no price in this document")


def test_an_unknown_platform_is_listed_and_says_so(platforms):
    new = one(platforms, "gpu-gb300 4gpu-120vcpu-900gb")
    assert offer_line(new)["gpu"] == "gb300-superchip-288gb"
    assert new.warnings == ("unknown platform gpu-gb300",)
    newer = one(platforms, "gpu-x900-sxm 8gpu-1vcpu-1gb")
    assert offer_line(newer)["gpu"] is None
    assert any("unknown GPU name" in warning for warning in newer.warnings)


def test_a_preset_of_cpus_is_counted(platforms):
    assert platforms.ignored == {"a preset without a GPU": 1}


@pytest.mark.parametrize(
    "body", [PAGE.replace("GPU-hour", "month"), "<html>moved</html>", '{"x": 1}', "", "[]"]
)
def test_another_layout_is_unreadable(body):
    with pytest.raises(Unreadable):
        parsed("nebius", body.encode())


def test_the_page_and_the_platforms_together_price_the_presets():
    both = [document(PAGE.encode()), recorded("nebius_platforms")]
    result = offers(PROVIDERS["nebius"], both, {})
    assert one(result, "gpu-h200-sxm 1gpu-16vcpu-200gb").usd_per_hour == Decimal("5.25")
    assert result.ignored["a preset whose price is listed"] == 2
    assert not [row for row in result.rejected if "two prices" in row.reason]


def test_the_page_is_fetched_once():
    with serve([Answer(PAGE.encode())]) as site:
        assert [d.url for d in nebius.fetch(site.http("https://nebius.com"))] == [nebius.PAGE]

"""What is odd about CoreWeave: a page, footnotes, quotes, regions that agree or do not."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import one, parsed, reasons, recorded, recording, shared

from catalog.records import Normalised, OfferRecord
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import coreweave
from scrapers.registry import PROVIDERS

PAGE = recording("coreweave").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> Normalised:
    return offers(PROVIDERS["coreweave"], [recorded("coreweave")], {})


def test_a_price_is_of_the_instance(page):
    spot = sold(page, "gd-8xh100ib-i128", "spot")["Europe"]
    assert spot.usd_per_hour == Decimal("18.9")
    assert offer_line(spot)["gpu"] == "h100-sxm5-80gb"


def sold(
    page: Normalised, instance: str, model: str = "on_demand"
) -> dict[str | None, OfferRecord]:
    """The offers of a type under a price model, by region."""
    named = [o for o in page.offers if (o.instance_type, o.price_model) == (instance, model)]
    return {offer.region: offer for offer in named}


@pytest.mark.parametrize(
    ("model", "prices"),
    [
        ("on_demand", {"North America": Decimal("47.2"), "Europe": Decimal("48.4")}),
        ("spot", {"North America": Decimal("18.9"), "Europe": Decimal("18.9")}),
    ],
)
def test_each_region_is_an_offer_where_they_agree_too(page, model, prices):
    offered = sold(page, "gd-8xh100ib-i128", model)
    assert {region: offer.usd_per_hour for region, offer in offered.items()} == prices


def test_a_footnote_is_no_figure_of_the_count(page):
    line = offer_line(sold(page, "gb200-4x")["Europe"])
    assert (line["gpu_count"], line["usd_per_hour"]) == (4, "41")


def test_contact_sales_is_a_quote_and_never_0(page):
    quote, spot = one(page, "b300-8x", "quote"), one(page, "b300-8x", "spot")
    assert (quote.usd_per_hour, quote.price_note) == (None, "contact sales")
    assert spot.usd_per_hour == Decimal("35.1")
    sold = {o.price_model for o in page.offers if o.instance_type == "b300-8x"}
    assert sold == {"quote", "spot"}


def test_thousands_have_a_comma_and_memory_is_nominal(page):
    line = offer_line(one(page, "b300-8x", "spot"))
    assert (line["ram_gb"], line["gpu_memory_gb"]) == (4096, 288)


def test_an_unknown_gpu_and_an_unknown_price_are_rejected_alone(page):
    why = list(reasons(page).values())
    assert any("unknown GPU name 'HGX X900'" in reason for reason in why)
    assert "'from $10' is not a price in US$" in why
    assert len(why) == 2


@pytest.mark.parametrize(
    "body",
    [
        PAGE.replace("gpu-pricing", "new-pricing"),
        PAGE.replace("<div>vCPUs</div>", "<div>Cores</div>"),
        PAGE.replace("<div>GPU Count</div>", ""),
        "<html><body>We have moved</body></html>",
    ],
)
def test_another_layout_is_unreadable(body):
    with pytest.raises(Unreadable):
        parsed("coreweave", body.encode())


def test_a_row_of_another_shape_is_rejected():
    cell = '<div class="table-v2-cell"><div>128</div></div>'
    result = parsed("coreweave", PAGE.replace(cell, "", 1).encode())
    assert any("7 cells" in reason for reason in reasons(result).values())


def test_the_page_is_fetched_once():
    with serve([Answer(PAGE.encode())]) as site:
        (document,) = coreweave.fetch(site.http("https://www.coreweave.com"))
    assert document.url == coreweave.PAGE


def test_the_real_page():
    real = parsed("coreweave", shared("data/payloads/coreweave/pricing_excerpt.html").read_bytes())
    assert one(real, "gd-8xa100-i128").usd_per_hour == Decimal("21.6")
    assert (len(real.offers), real.rejected) == (11, [])

"""What is odd about Crusoe: a page, prices of one GPU, quotes, the form in a tag."""

from decimal import Decimal

import pytest
from recorded import one, parsed, reasons, recorded, recording, shared

from catalog.records import Normalised
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS

PAGE = recording("crusoe").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page() -> Normalised:
    return offers(PROVIDERS["crusoe"], [recorded("crusoe")], {})


def test_a_price_is_of_one_gpu_of_the_largest_type(page):
    assert one(page, "h200-141gb-sxm-ib.8x").usd_per_hour == 8 * Decimal("4.15")
    assert one(page, "h200-141gb-sxm-ib.8x", "spot").usd_per_hour == 8 * Decimal("1.95")


def test_the_form_of_an_a100_decides_its_type(page):
    assert one(page, "a100-80gb-sxm-ib.8x").usd_per_hour == 8 * Decimal("2.05")
    assert one(page, "a100-80gb.8x").usd_per_hour == 8 * Decimal("1.85")


def test_contact_sales_is_a_quote_and_never_0(page):
    quote = one(page, "b200-180gb-sxm-ib.8x", "quote")
    assert (quote.usd_per_hour, quote.price_note) == (None, "contact sales")
    assert {o.price_model for o in page.offers if "a100-80gb-sxm" in o.instance_type} == {
        "on_demand"
    }


def test_an_unknown_gpu_and_a_price_of_another_unit_are_rejected(page):
    assert "of no type that we know" in reasons(page)["item[4]"]
    assert "'$900/month' is not a price" in reasons(page)["item[5]"]


@pytest.mark.parametrize(
    "body", [PAGE.replace("pricing_gpu-item", "card"), "<html>moved</html>", "{}", ""]
)
def test_another_layout_is_unreadable(body):
    with pytest.raises(Unreadable):
        parsed("crusoe", body.encode())


def test_a_card_with_a_third_price_is_rejected():
    third = '<div class="pricing-rich"><p>$1/GPU-hr</p></div>'
    result = parsed("crusoe", PAGE.replace("</a>", f"</a>{third}", 1).encode())
    assert reasons(result)["item[0]"] == "3 prices, where on demand and spot were"


def test_the_real_page():
    real = parsed("crusoe", shared("data/payloads/crusoe/pricing_excerpt.html").read_bytes())
    assert one(real, "mi300x-192gb-ib.8x").usd_per_hour == Decimal("27.6")
    assert one(real, "mi355x-288gb-roce.8x", "quote").usd_per_hour is None

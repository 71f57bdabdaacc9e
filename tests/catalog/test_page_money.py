"""Prices of a page in another currency: the address says which; all follow, and the file."""

import csv
import io
import re
from decimal import Decimal
from html import unescape

import pytest
from django.test import Client

from catalog.models import Rate
from catalog.templatetags.quantities import dollars
from tests.catalog.conftest import MONDAY, offer, scrape

RATE = 1.25


@pytest.fixture
def web(db: None, client: Client) -> Client:
    Rate.objects.create(currency="EUR", day=MONDAY.date(), usd_per_unit=RATE, source="a test")
    scrape([offer("one", "20"), offer("two", "30")])
    return client


def get(web: Client, address: str, status: int = 200) -> str:
    answer = web.get(address)
    assert answer.status_code == status, address
    return answer.content.decode()


def prices(html: str) -> list[float]:
    body = html.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    return [float(each) for each in re.findall(r'<b class="\w+" data-u="[^"]*">([\d.]+)</b>', body)]


def test_every_price_and_heading_is_in_the_currency_asked_for(web: Client) -> None:
    html = get(web, "/?currency=EUR&cols=usd_per_gpu_hour,usd_per_hour")
    assert prices(html) == [20 / 8 / RATE, 30 / 8 / RATE]
    assert ">16.00<" in html, "of the whole instance as well"
    table = html.split("<table", 1)[1].split("</table>", 1)[0]
    assert "€ per GPU-hour" in table
    assert "€ per instance-hour" in table
    assert "$" not in table


def test_one_reader_s_currency_is_not_another_s(web: Client) -> None:
    """Rows are kept as they look: in each money by itself."""
    in_euros, in_dollars = (get(web, there) for there in ("/?currency=EUR", "/"))
    assert prices(in_euros) != prices(in_dollars) == [2.5, 3.75]


def test_the_file_has_both_and_every_link_keeps_it(web: Client) -> None:
    html = get(web, "/?currency=EUR&nvlink=true&include_unknown=nvlink")
    href = unescape(re.search(r'id="csv" href="([^"]*)"', html)[1])  # type: ignore[index]
    rows = list(csv.DictReader(io.StringIO(get(web, href))))
    assert [float(row["eur_per_gpu_hour"]) for row in rows] == prices(html)
    assert [float(row["usd_per_gpu_hour"]) for row in rows] == [2.5, 3.75]
    for mark in ('id="preset-2" href="', 'id="s-gpu" href="', 'id="by-region" href="'):
        assert "currency=EUR" in html.split(mark, 1)[1].split('"', 1)[0], mark
    assert 'name="currency" value="EUR"' in html


def test_the_header_offers_every_currency_that_has_a_rate(web: Client) -> None:
    header = get(web, "/?nvlink=false&currency=EUR").split("<header", 1)[1].split("</header>")[0]
    assert 'aria-label="Currency: EUR">EUR</summary>' in header
    assert '<a class="opt" href="/?nvlink=false" rel="nofollow">USD</a>' in header


def test_an_unknown_currency_is_said_and_the_page_is_in_dollars(web: Client) -> None:
    html = get(web, "/?currency=XXX", 400)
    assert "<code>currency=XXX</code>" in html
    assert prices(html) == [2.5, 3.75]


def test_the_footer_says_of_which_catalog_a_page_is(web: Client) -> None:
    for address in ("/", "/workloads/", "/learn/values/"):
        footer = get(web, address).split("<footer", 1)[1]
        assert "2 instance types, 1 provider · estimates carry their own error" in footer, address
        assert re.search(r'Catalog of <time datetime="\d{4}-', footer), address


# --- Every page that has prices ---------------------------------------------------------------

KIND, IN_EUROS = "/instances/acme/one/", "?currency=EUR"


@pytest.mark.parametrize(
    ("address", "amount"),
    [
        (KIND, "2.00"),
        ("/compare/?pick=acme/one", "2.00"),
        ("/?rows=region", "2.00"),
    ],
)
def test_every_page_that_has_prices_follows(web: Client, address: str, amount: str) -> None:
    there = f"{address}{'&' if '?' in address else '?'}currency=EUR"
    html = get(web, there)
    assert amount in html
    assert "1 EUR = $1.25, rate of 2026-11-" in html.split("<footer", 1)[1], "and names the rate"
    assert 'aria-label="Currency: EUR"' in html
    assert "$ per GPU-hour" not in html.split("<main", 1)[1].replace("≤ $", "")


@pytest.mark.parametrize(
    "address", ["/", KIND, "/workloads/", "/fabrics/", "/compare/?pick=acme/one"]
)
def test_an_unknown_currency_is_the_same_note_on_every_page(web: Client, address: str) -> None:
    html = get(web, f"{address}{'&' if '?' in address else '?'}currency=XXX", 400)
    assert "has no rate. There are: USD, EUR." in html


def test_links_to_other_pages_keep_it(web: Client) -> None:
    for address in (f"/{IN_EUROS}", KIND + IN_EUROS, f"/fabrics/{IN_EUROS}"):
        html = get(web, address)
        for room in ("/", "/workloads/", "/fabrics/"):
            assert f'<a href="{room}{IN_EUROS}"' in html, (address, room)
    assert f'href="{KIND}{IN_EUROS}"' in get(web, f"/{IN_EUROS}")
    assert "currency" not in get(web, KIND).split("</header>", 1)[1], "dollars need no word"


def test_a_price_asked_in_the_currency_is_shown_as_it_is_asked(web: Client) -> None:
    """At the rate that made dollars of it, whatever the rate is today."""
    euro = offer("euro", "24", native_currency="EUR", native_amount=Decimal(16),
                 usd_rate=Decimal("1.5"), usd_rate_date=MONDAY.date())  # fmt: skip
    scrape([offer("one", "20"), offer("two", "30"), euro])
    html = get(web, f"/instances/acme/euro/{IN_EUROS}")
    assert ">16.00<" in html
    assert "16.00 EUR at the rate of" not in html, "it was not converted"


def test_the_api_says_it_beside_the_dollars(web: Client) -> None:
    said = web.get(f"/api/v1/instance-types/acme/one/{IN_EUROS}").json()
    assert [each["eur_per_gpu_hour"] for each in said["prices"]] == ["2"]
    assert said["history"][0]["eur_per_hour"] == "16"
    assert said["currency"]["code"] == "EUR"


def test_a_limit_is_in_dollars_and_says_what_that_is(web: Client) -> None:
    html = get(web, f"/{IN_EUROS}&usd_per_gpu_hour_max=2.5")
    assert "≤ $2.5 per GPU-hour (€2.00)" in html
    assert prices(html) == [2.0], "the same offers as without"


def test_yen_have_no_decimals_wherever_an_amount_stands(web: Client) -> None:
    """Whatever a currency has of them: CLDR knows; a file keeps every digit."""
    Rate.objects.create(currency="JPY", day=MONDAY.date(), usd_per_unit="0.0064", source="a test")
    for address in ("/?currency=JPY", "/instances/acme/one/?currency=JPY"):
        main = re.sub(r"<[^>]+>", " ", get(web, address).split("<main", 1)[1].split("<footer")[0])
        assert "391" in main, "2.50 USD are 390.625 JPY"
        assert "390.6" not in main
    rows = list(csv.DictReader(io.StringIO(get(web, "/api/v1/offers/?format=csv&currency=JPY"))))
    assert rows[0]["jpy_per_gpu_hour"] == "390.625"


@pytest.mark.parametrize(
    ("amount", "code", "said"),
    [
        (335.3, "JPY", "335"),
        (3.353, "JPY", "3.35"),
        (335.3, "USD", "335.30"),
        (0.05, "EUR", "0.0500"),
    ],
)
def test_decimals_go_by_the_currency(amount: float, code: str, said: str) -> None:
    assert dollars(amount, code) == said

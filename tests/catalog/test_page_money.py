"""Prices of a page in another currency: the address says which; all follow, and the file."""

import csv
import io
import re
from html import unescape

import pytest
from django.test import Client

from catalog.models import Rate
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

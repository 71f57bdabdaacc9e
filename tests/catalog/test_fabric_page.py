"""The page of fabrics over a small market: a form, a sentence, a table; complete as HTML."""

import csv
import re
from collections.abc import Callable
from datetime import UTC, datetime
from html import unescape

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from config.middleware import POLICY
from tests.catalog.conftest import DAY, MONDAY, facts, offer, scrape
from tests.catalog.test_fabrics import RACK, market

Show = Callable[..., str]
pytestmark = pytest.mark.django_db


@pytest.fixture
def show(client: Client) -> Show:
    """A query to what is read on the page."""
    market()

    def get(query: str = "", status: int = 200, language: str = "en") -> str:
        response = client.get(f"/fabrics/?{query}", headers={"Accept-Language": language})
        assert response.status_code == status
        assert response["Content-Security-Policy"] == POLICY
        html: str = response.content.decode()
        assert html.count("<h1") == 1
        assert not re.search(r"\sstyle=|<style|<script(?![^>]* src=)|\son\w+=", html)
        ids = re.findall(r'\sid="([^"]*)"', html)
        assert len(ids) == len(set(ids))
        return html

    return get


def text_of(html: str) -> str:
    main = html[html.index("<main") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def types(html: str) -> list[str]:
    return re.findall(r'class="nm" href="[^"]*">([^<]+)<', html)


def test_it_is_in_the_navigation_and_says_what_a_region_is_not(show: Show) -> None:
    html = show()
    assert '<a href="/fabrics/" aria-current="page">Fabrics</a>' in html
    assert "Same region is not same fabric" in text_of(html)
    assert types(html)[-1] == "unsped", "an unknown speed comes last"
    assert len(types(html)) == 5


def test_rows_are_those_of_the_api_in_its_order(show: Show, client: Client) -> None:
    query = "gpus_min=64&infiniband=true&include_unknown=max_gpus"
    for sort in ("", "&sort=usd_per_gpu_hour", "&sort=-max_gpus", "&sort=provider"):
        html = show(query + sort)
        told = client.get(href(html, "JSON")).json()["results"]
        assert types(html) == [row["instance_types"][0]["instance_type"] for row in told]
        lines = client.get(href(html, "CSV")).content.decode().strip().splitlines()
        assert [row["slug"] for row in told] == [row["slug"] for row in csv.DictReader(lines)], sort


def test_the_fastest_come_first_of_equal_ones_the_cheapest_and_a_heading_turns(
    show: Show, client: Client
) -> None:
    html = show()
    rows = client.get(href(html, "JSON")).json()["results"]
    speeds = [row["gbits_per_s_per_gpu"] for row in rows if row["gbits_per_s_per_gpu"] is not None]
    assert speeds == sorted(speeds, reverse=True)
    assert 'aria-sort="descending"' in html
    turned = show(href(html, "Gb/s per GPU ▼").partition("?")[2])
    assert 'aria-sort="ascending"' in turned
    assert "The fastest come first" not in text_of(turned)
    assert 'name="sort"' in turned, "the form keeps the order"


def href(html: str, text: str) -> str:
    """Where the link of that text leads."""
    return unescape(re.findall(rf'<a href="([^"]*)">{re.escape(text)}\s*</a>', html)[0])


def test_what_an_unknown_left_out_is_counted_and_can_be_let_in(show: Show) -> None:
    html = show("gpus_min=128&gpu=h100-sxm5-80gb&technology=infiniband")
    assert types(html) == ["large"]
    said = text_of(html)
    assert "1 fabric matches. 1 more is left out: its largest cluster is unknown." in said
    (link,) = re.findall(r'<a href="\?*([^"]*include_unknown[^"]*)">', html)
    let_in = show(unescape(link).partition("?")[2])
    assert set(types(let_in)) == {"large", "unsized"}
    assert types(let_in)[0] == "large", "what an unknown let in comes last"
    assert "Fabrics are included although their largest cluster is unknown." in text_of(let_in)
    assert 'name="include_unknown" value="gpus_min"' in let_in  # the form keeps it


def test_a_row_says_price_place_speed_size_way_and_instances(show: Show) -> None:
    said = text_of(show("gpus_min=128&gpu=h100-sxm5-80gb&technology=infiniband"))
    row = said[said.index("for 128 GPUs") :]
    for words in ("InfiniBand", "3.00", "tokyo", "8 × H100 SXM5 80 GB", "400", "1,024", "16",
                  "one scale set", "self-serve", "oslo, tokyo"):  # fmt: skip
        assert words in row, words


def test_racks_are_filled_evenly(show: Show) -> None:
    assert "24 racks: 12 + 12" in text_of(show("gpus_min=96&gpu=gb200-superchip-186gb"))


def test_what_nobody_guarantees_of_a_rack_is_unknown(show: Show) -> None:
    rack = {name: value for name, value in RACK.items() if "guaranteed" not in name}
    scrape([offer("free", None, provider="other", facts=facts("other/free", **rack))],
           lister="other", days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    assert "24 racks: unknown" in text_of(show("gpus_min=96&provider=other"))


def test_an_empty_list_says_why_and_what_to_do(show: Show) -> None:
    html = show("gpus_min=5000&gpu=h100-sxm5-80gb")
    said = text_of(html)
    assert "No fabric matches" in said
    assert "No fabric is known to match. 1 may: its largest cluster is unknown." in said
    assert "Include the 1 unknown" in said
    assert "<table" not in html


def test_a_bad_parameter_is_a_400_that_says_what_it_must_be(show: Show) -> None:
    html = show("gpus_min=many&technology=infiniband&colour=red", status=400)
    said = text_of(html)
    assert 'role="alert"' in html
    assert "gpus_min=many must be a whole number" in said
    assert "colour=red is not a parameter" in said
    assert set(types(html)) == {"unsized", "large", "small", "rack"}  # by the rest it is filtered


def test_what_comes_from_outside_is_text(show: Show) -> None:
    said = facts("acme/<b>bold</b>", fabric="roce", same_fabric="<script>alert(1)</script>",
                 multi_node="self_serve")  # fmt: skip
    scrape([offer("<b>bold</b>", provider="acme", facts=said)],
           days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    html = show("technology=roce&region=%22%3E%3Cscript%3E", status=400)
    assert "<script>alert" not in html
    assert "<b>bold" not in html


def test_it_speaks_japanese(show: Show) -> None:
    html = show("gpus_min=128", language="ja")
    assert '<html lang="ja">' in html
    assert ">any<" not in html
    said = text_of(html)
    for words in ("同一ファブリック上の GPU 数 ≥", "件のファブリックが該当", "最大クラスタ",
                  "同じリージョンでも同じファブリックとは限りません"):  # fmt: skip
        assert words in said.replace("件のファブリック が", "件のファブリックが"), words


def test_it_costs_few_queries(
    show: Show, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_max_num_queries(12):  # seven of its own, and five of the frame
        show()

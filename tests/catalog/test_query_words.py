"""A query in words: the heading, the title, the name of its file; every filter is said."""

import re
from html import unescape

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils import translation

from catalog import presets
from catalog.filters import FILTERS, parse
from catalog.query_words import file_name, said
from tests.catalog.test_pages import HTMX, bundled, page, web

__all__ = ["bundled", "web"]
EXAMPLE = {
    "provider": "azure", "gpu": "h100-sxm5-80gb", "gpu_vendor": "nvidia", "form_factor": "sxm5",
    "scale_up": "nvswitch", "fabric": "roce", "gpudirect": "yes", "gpudirect_rdma": "conditional",
    "sharp": "no", "multi_node": "self_serve", "region": "eastus", "country": "JP",
    "continent": "asia", "price_model": "spot", "tier": "community", "q": "big one",
}  # fmt: skip


def words(query: str, language: str = "en") -> str:
    given = QueryDict(query)
    with translation.override(language):
        return said(parse(given), presets.state(given), {"azure": "Azure", "aws": "AWS"})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "english", "japanese"),
    [
        (
            "nvlink=true&infiniband=true&continent=europe&price_model=on_demand",
            "Offers with NVLink and InfiniBand in Europe, on demand, cheapest first",
            "オファー：NVLink と InfiniBand あり、ヨーロッパ、オンデマンド、安い順",
        ),
        (
            "nvlink=false&gpu_count_min=1&gpu_count_max=1&sort=-cliff&rows=region",
            "Offers without NVLink, 1 GPU, one row per region, by cliff, the highest first",
            None,
        ),
        (
            "gpu=h100-sxm5-80gb&fabric_gbits_per_s_per_gpu_min=400",
            "Offers of H100 SXM5 80 GB with at least 400 Gb/s of fabric per GPU, cheapest first",
            None,
        ),
        ("sort=-usd_per_gpu_hour", "Offers, dearest first", "オファー、高い順"),
        ("as_of=2026-11-01&q=h100", "Offers, “h100”, as of 2026-11-01, cheapest first", None),
        (
            "fabric=roce&include_unknown=fabric",
            "Offers with RoCE, also where unknown: fabric, cheapest first",
            None,
        ),
    ],
)
def test_a_question_reads_as_a_person_would_say_it(
    query: str, english: str, japanese: str | None
) -> None:
    assert words(query) == english
    if japanese:
        assert words(query, "ja") == japanese


@pytest.mark.parametrize("name", sorted(FILTERS))
@pytest.mark.parametrize("language", ["en", "ja"])
def test_no_filter_stays_unsaid(web: Client, name: str, language: str) -> None:
    """Whatever is asked for, the sentence is another one than without it."""
    value = EXAMPLE.get(name) or ("true" if FILTERS[name].read.__name__ == "truth" else "4")
    assert words(f"{name}={value}", language) != words("", language)


@pytest.mark.parametrize("query", ["nvlink=true&infiniband=true", "nvlink=true&fabric=infiniband"])
def test_the_same_question_has_one_title_and_one_tab_however_it_is_written(
    web: Client, query: str
) -> None:
    html = page(web, f"/?{query}")
    asked = "Offers with NVLink and InfiniBand, cheapest first"
    assert f"<title>{asked} · FabricScout</title>" in html
    assert f'<h1 id="asked">{asked}</h1>' in html
    current = re.findall(r'id="preset-(\d)" href="[^"]*" aria-current="true"', html)
    assert current == ["2"]


def test_a_list_in_another_order_is_the_same_preset(web: Client) -> None:
    turned = ",".join(reversed(presets.ANY_RDMA.split(",")))
    assert 'id="preset-3" href="' in page(web, f"/?nvlink=true&fabric={turned}")
    assert re.search(
        r'id="preset-3" href="[^"]*" aria-current="true"',
        page(web, f"/?nvlink=true&fabric={turned}"),
    )


def test_htmx_gets_the_heading_too(web: Client) -> None:
    html = web.get("/?nvlink=true", headers=HTMX).content.decode()
    assert '<h1 id="asked" hx-swap-oob="innerHTML">Offers with NVLink, cheapest first</h1>' in html


def test_the_file_is_called_as_the_question_in_any_language(web: Client) -> None:
    html = page(web, "/?nvlink=true&continent=europe", **{"Accept-Language": "ja"})
    href = unescape(re.search(r'id="csv" href="([^"]*)"', html)[1])  # type: ignore[index]
    named = web.get(href, headers={"Accept-Language": "ja"})["Content-Disposition"]
    assert named == 'attachment; filename="offers-with-nvlink-in-europe-cheapest-first.csv"'
    assert file_name(parse(QueryDict(""))) == "offers"


def test_text_from_outside_is_text_in_the_heading(web: Client) -> None:
    html = page(web, "/?q=%3Cscript%3Ealert(1)%3C/script%3E")
    assert "<script>alert" not in html
    assert "“&lt;script&gt;" in html

"""The page of a type in each state: gone, with a history, unchanged, said of one region alone."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from django.test import Client

from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.drawn import circles

pytestmark = pytest.mark.django_db
STAY = [offer(f"stays-{n}") for n in range(9)]  # a list that loses one of ten is not held


def page(client: Client, name: str) -> str:
    answer = client.get(f"/instances/acme/{name}/")
    assert answer.status_code == 200
    return answer.content.decode()


def text_of(html: str) -> str:
    main = html[html.index("<main") :]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", main)).split())


def test_a_type_that_is_gone_keeps_its_facts_and_its_last_price(client: Client) -> None:
    scrape([*STAY, offer("gone", "20")])
    scrape([*STAY, offer("gone", "24")], days=1)
    scrape(STAY, days=2)
    html = page(client, "gone")
    said = text_of(html)
    assert "No longer listed since" in said
    assert "per GPU-hour not on offer" in said
    assert "The last one was $24.00 per instance-hour, until" in said
    assert "2 changes of price" in said
    assert "Estimate a workload" not in said
    assert "H100 SXM5 80 GB" in said


def test_a_price_that_was_seen_again_is_unchanged_and_not_unobserved(client: Client) -> None:
    scrape([offer()])
    assert "Price history needs two observations." in text_of(page(client, "h100x8"))
    scrape([offer()], days=2)
    said = text_of(page(client, "h100x8"))
    assert "needs two observations" not in said
    assert "Unchanged since it was first seen on 20" in said


def test_a_gap_in_the_list_is_a_gap_in_the_line(client: Client) -> None:
    for day, usd in enumerate(("20", None, "25")):
        scrape([*STAY, *([offer("history", usd)] if usd else [])], days=day)
    html = page(client, "history")
    assert "A gap: no price was listed." in text_of(html)
    lines = re.findall(r'<path d="(M[^"]*)" class="ln s1"', html)
    assert len(lines) == 2
    assert lines[0].split("L")[-1].split()[0] < lines[1][1:].split()[0], "the line is not joined"


def test_what_is_said_of_one_region_stands_apart_and_names_it(client: Client) -> None:
    told = facts("acme/scoped", fabric="infiniband")
    apart = [replace(f, scope="region oslo only", value="roce") for f in told if f.value ==
             "infiniband"]  # fmt: skip
    scrape([offer("scoped", facts=(*told, *apart))])
    said = text_of(page(client, "scoped"))
    assert "RoCE in one case: region oslo only" in said


def test_every_region_is_a_circle_and_the_ends_have_their_price(client: Client) -> None:
    name = "a-region-with-a-name-that-is-longer-than-the-paper-is-wide-" * 2
    scrape([offer(region=f"{name[:110]}-{n}", usd=str(20 + n)) for n in range(26)])
    html = page(client, "h100x8")
    prices = client.get("/api/v1/offers/?q=h100x8&rows=region&page_size=50").json()["results"]
    strip = re.search(r'<svg class="plot strip prices".*?</svg>', html, re.DOTALL)
    assert strip
    assert len(circles(strip[0])) == len(prices) == 26
    for end in (min, max):
        usd = end(float(row["usd_per_gpu_hour"]) for row in prices)
        assert f" ${usd:,.2f}" in strip[0]
    assert "All 26 places" in text_of(html)


def test_bars_of_the_cliff_are_the_numbers_of_the_api(client: Client) -> None:
    rates = {"slow": 100, "fast": 3200, "huge": 28800}
    scrape([offer(name, facts=facts(f"acme/{name}", fabric="roce", fabric_gbits_per_s=rate))
            for name, rate in rates.items()])  # fmt: skip
    rows = json.loads(client.get("/api/v1/instance-types/?provider=acme").content)["results"]
    assert len(rows) == len(rates)
    for row in rows:
        html = page(client, row["instance_type"])
        inside, between = (
            float(width)
            for width in re.findall(r'<rect width="([\d.]+)" height="22" class="f[io]"/>', html)
        )
        drawn, told = between / inside, row["fabric_gbits_per_s_per_gpu"] / 8
        assert drawn == pytest.approx(told / row["scale_up_gbytes_per_s"], abs=2e-3)
        strip = re.search(r'<svg class="plot strip".*?</svg>', html, re.DOTALL)
        assert strip
        assert len([dot for dot in circles(strip[0]) if dot.look == "fw"]) == len(rows)

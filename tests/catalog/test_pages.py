"""The pages over the bundled catalog: what a reader sees, with the address as the whole state."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoDbBlocker, Settings

from catalog.models import InstanceType, Offer
from config.middleware import POLICY

PRESET = "/?nvlink=true&infiniband=true"
PAGES = (
    "/", PRESET, "/?rows=region&sort=-cliff", "/?usd_per_gpu_hour_max=cheap", "/providers/",
    "/workloads/", "/fabrics/", "/learn/values/", "/api/v1/docs/", "/nowhere/",
    "/instances/azure/Standard_ND96isr_H100_v5/",
)  # fmt: skip
HTMX = {"HX-Request": "true", "HX-Target": "results"}


@pytest.fixture(scope="module")
def bundled(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The bundled catalog, loaded once for this file and gone after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("load_catalog", verbosity=0)
        yield
        transaction.set_rollback(True)


@pytest.fixture
def web(bundled: None, db: None, settings: Settings) -> Client:
    """A browser without JavaScript; style sheets under their plain names."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.WHITENOISE_AUTOREFRESH = True  # it looks for no folder of collected files
    return Client()


def text_of(html: str) -> str:
    """What is read of a page: no tags, one blank between words."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def page(web: Client, address: str, **headers: str) -> str:
    response = web.get(address, headers=headers)
    assert response.status_code == 200, address
    return response.content.decode()


def names(html: str) -> list[str]:
    """The instance types of the table, in its order."""
    body = html.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    return [unescape(name) for name in re.findall(r'class="nm" href="[^"]*">([^<]*)<', body)]


# --- Offers -----------------------------------------------------------------------------------


def test_the_preset_is_a_link_and_its_count_is_what_it_gives(web: Client) -> None:
    every = page(web, "/")
    found = re.search(r'href="(/\?nvlink=true&amp;infiniband=true)">[^<]*<span>([\d,]+)<', every)
    assert found
    chosen = page(web, unescape(found[1]))
    assert f"{found[2]} offers match." in text_of(chosen)
    assert 'aria-current="true">NVLink + InfiniBand' in chosen


def test_a_preset_stays_current_only_while_its_filters_are_there(web: Client) -> None:
    assert 'aria-current="true">NVLink + InfiniBand' in page(web, PRESET + "&gpu_count_min=8")
    assert 'aria-current="true">' not in page(web, "/?nvlink=true")


def test_rows_on_screen_are_those_of_json_and_csv(web: Client) -> None:
    for query in (PRESET, "/?rows=region&gpu=h100-sxm5-80gb&sort=-cliff", "/?q=azure&page_size=20"):
        screen = names(page(web, query))
        as_json = json.loads(web.get("/api/v1/offers" + query).content)["results"]
        lines = web.get("/api/v1/offers" + query + "&format=csv").content.decode()
        as_csv = list(csv.DictReader(io.StringIO(lines)))
        assert screen == [row["instance_type"] for row in as_json]
        assert screen == [row["instance_type"] for row in as_csv]


def test_the_csv_link_leads_to_exactly_this_table(web: Client) -> None:
    html = page(web, PRESET + "&sort=-cliff&page_size=10")
    href = re.search(r'id="csv" href="([^"]*)"', html)
    assert href
    lines = web.get(unescape(href[1])).content.decode()
    assert names(html) == [row["instance_type"] for row in csv.DictReader(io.StringIO(lines))]


def test_what_an_unknown_keeps_out_is_counted_and_can_be_let_in(web: Client) -> None:
    html = page(web, PRESET)
    matching = int(re.search(r"<b>([\d,]+) offers</b> match", html)[1])  # type: ignore[index]
    more = int(re.search(r"<b>([\d,]+) more</b>", html)[1])  # type: ignore[index]
    include = re.search(r'href="([^"]*)">Include them, marked', html)
    assert include
    wider = page(web, unescape(include[1]))
    assert f"<b>{matching + more} offers</b> match" in wider
    assert '<span class="unk"><b>unknown</b></span>' in wider.split("<tbody", 1)[1]


def test_the_unknown_is_the_last_option_of_a_facet_and_counted(web: Client) -> None:
    facet = re.search(
        r'<fieldset id="facet-gpudirect_rdma".*?</fieldset>', page(web, "/"), re.DOTALL
    )
    assert facet
    last = facet[0].rsplit("<label", 1)[1]
    assert 'name="include_unknown"' in last
    assert int(re.search(r"<span>([\d,]+)</span></label>", last)[1].replace(",", ""))  # type: ignore[index]


def test_dated_prices_are_ranked_and_the_first_sentence_says_so(web: Client) -> None:
    """The bundled prices are all older than 45 days."""
    note = page(web, "/").split('<div id="results">', 1)[1]
    assert text_of(note).startswith(
        "Every price here is past its limit of age: ranked on dated prices."
    )
    assert '<small class="old"><svg class="m" role="img" aria-label="price seen ' in note
    assert 'class="best"' not in note


def test_dated_prices_younger_than_45_days_are_not_said_to_be_older(web: Client) -> None:
    """A spot price is outdated after a day."""
    spot = Offer.objects.filter(price_model="spot")
    spot.update(collected_at=timezone.now() - timedelta(days=10))
    note = page(web, "/?price_model=spot").split('<div id="results">', 1)[1]
    assert text_of(note).startswith(
        "Every price here is past its limit of age: ranked on dated prices."
    )


def test_a_fresh_price_comes_first_and_carries_no_clock(web: Client) -> None:
    dear = Offer.objects.filter(price_model="on_demand").order_by("-usd_per_gpu_hour")
    fresh = dear.exclude(usd_per_gpu_hour=None).first()
    assert fresh
    Offer.objects.filter(pk=fresh.pk).update(collected_at=timezone.now())
    html = page(web, "/")
    first = html.split("<tbody", 1)[1].split("</tr>", 1)[0]
    assert fresh.instance_type.name in first
    assert 'class="best"' in first
    assert "#stale" not in first.split('data-l="NVLink domain"')[0]
    assert "ranked on dated prices" not in html


def test_a_chip_removes_its_filter_and_nothing_else(web: Client) -> None:
    html = page(web, PRESET + "&sort=-cliff")
    chip = re.search(r'<a class="chip on" href="([^"]*)" aria-label="Remove filter: NVLink', html)
    assert chip
    assert unescape(chip[1]) == "/?infiniband=true&sort=-cliff"


def test_a_heading_sorts_and_turns_around(web: Client) -> None:
    html = page(web, PRESET + "&sort=cliff")
    assert html.count("aria-sort=") == 1
    assert 'aria-sort="ascending"><a id="s-cliff" href="/?nvlink=true&amp;infiniband=true' in html
    assert re.search(r'id="s-cliff" href="[^"]*sort=-cliff"', html)


def test_pages_follow_each_other_without_a_row_twice(web: Client) -> None:
    first = page(web, "/?page_size=30")
    link = re.search(r'id="next" rel="next" href="([^"]*)"', first)
    assert link
    second = page(web, unescape(link[1]))
    assert 'rel="prev"' in second
    both = [re.findall(r'href="(/instances/[^"]*)"', html) for html in (first, second)]
    assert both[0] != both[1]


def test_rows_by_region_are_single_offers(web: Client) -> None:
    html = page(web, "/?rows=region&provider=azure&q=ND96isr_H100_v5&price_model=on_demand")
    assert len(names(html)) > 10
    assert "regions" not in text_of(html.split("<tbody", 1)[1].split("</tbody>")[0])


def test_no_offer_is_said_in_words_with_a_way_out(web: Client) -> None:
    html = page(web, "/?nvlink=true&fabric_gbits_per_s_per_gpu_min=3000")
    assert "No offer matches" in html
    assert "<tbody" not in html
    assert "Drop the filter: Fabric Gb/s per GPU" in text_of(html)


def test_a_bad_parameter_is_named_and_nothing_is_filtered_by_it(web: Client) -> None:
    response = web.get("/?nvlink=true&usd_per_gpu_hour_max=cheap&colour=red")
    html = response.content.decode()
    assert response.status_code == 400
    notes = re.findall(r'role="alert"><b>.*?</p>', html, re.DOTALL)
    assert [re.search(r"<code>([^<]*)", note)[1] for note in notes] == [  # type: ignore[index]
        "colour=red", "usd_per_gpu_hour_max=cheap",
    ]  # fmt: skip
    assert "must be a number" in notes[1]
    assert 'href="/?nvlink=true"' in notes[1] or "nvlink=true" in notes[1]
    assert names(html) == names(page(web, "/?nvlink=true"))


@pytest.mark.parametrize(
    "bad",
    ["?cursor=x", "?cursor=!!", "?gpu=%00", "?" + "a" * 300 + "=1", "?sort=checked", "?q=%ff"],
)
def test_no_query_breaks_the_page(web: Client, bad: str) -> None:
    assert web.get("/" + bad).status_code in {200, 400}


def test_text_from_outside_is_never_markup(web: Client) -> None:
    InstanceType.objects.filter(name="Standard_ND96isr_H100_v5").update(
        name='<script>"x', fabric_generation="<i>NDR", same_fabric="<b>set</b>"
    )
    for address in (PRESET + "&q=script", "/instances/azure/%3Cscript%3E%22x/"):
        html = page(web, address)
        assert "<script>" not in html
        assert "<i>NDR" not in html
        assert "<b>set" not in html
    assert "<script>" not in page(web, "/?q=%3Cscript%3Ealert(1)%3C/script%3E")


def test_more_rows_ask_the_database_no_more_often(
    web: Client, django_assert_max_num_queries: Any
) -> None:
    page(web, "/")  # the presets' counts are asked once a catalog version
    with django_assert_max_num_queries(8) as few:
        page(web, "/?page_size=5")
    with django_assert_max_num_queries(8) as many:
        page(web, "/?page_size=200")
    assert len(few) == len(many)


# --- Parts for htmx ---------------------------------------------------------------------------


def test_htmx_gets_the_part_that_changed_and_a_clean_address(web: Client) -> None:
    response = web.get("/?nvlink=true&usd_per_gpu_hour_max=&q=", headers=HTMX)
    html = response.content.decode()
    assert "<html" not in html
    assert response["HX-Push-Url"] == "/?nvlink=true"
    assert {"HX-Request", "HX-Target"} <= {name.strip() for name in response["Vary"].split(",")}
    for part in ("presets", "chips", "csv", "facet-gpu"):
        assert re.search(rf'id="{part}"[^>]* hx-swap-oob="true"', html), part
    assert "results, lowest price first" in html


def test_typing_replaces_the_address_and_history_gets_the_whole_page(web: Client) -> None:
    typed = web.get("/?q=azure", headers={**HTMX, "HX-Trigger-Name": "q"})
    assert typed["HX-Replace-Url"] == "/?q=azure"
    assert "HX-Push-Url" not in typed
    restored = web.get("/?q=azure", headers={**HTMX, "HX-History-Restore-Request": "true"})
    assert b"<html" in restored.content


# --- Other pages ------------------------------------------------------------------------------


def test_every_page_keeps_the_policy_and_one_heading(web: Client) -> None:
    for address in PAGES:
        response = web.get(address)
        html = response.content.decode()
        assert response["Content-Security-Policy"] == POLICY, address
        assert html.count("<h1") == 1, address
        assert not re.search(r"\sstyle=|<style|<script(?![^>]* src=)|\son\w+=", html), address
        assert not re.search(r'(?:src|href)="(?:https?:)?//[^"]*\.(?:js|css|svg)"', html), address
        assert re.search(r'<html lang="en">', html), address
        ids = re.findall(r'\sid="([^"]*)"', html)
        assert len(ids) == len(set(ids)), address


def test_a_page_that_fails_says_so_plainly(web: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_query: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("catalog.pages.listing.page", broken)
    web.raise_request_exception = False
    response = web.get("/")
    assert response.status_code == 500
    assert "This page failed" in response.content.decode()
    assert response["Content-Security-Policy"].startswith("default-src 'none'")


def test_a_stranger_s_host_name_is_refused(web: Client) -> None:
    response = web.get("/", headers={"Host": "evil.example"})
    assert response.status_code == 400
    assert "could not be understood" in response.content.decode()


def test_every_link_of_the_navigation_works(web: Client) -> None:
    header = page(web, "/").split("<header", 1)[1].split("</header>", 1)[0]
    for href in re.findall(r'href="([^"]*)"', header):
        assert web.get(unescape(href)).status_code in {200, 302}, href


def test_an_instance_type_shows_facts_with_their_evidence(web: Client) -> None:
    html = page(web, "/instances/azure/Standard_ND96isr_H100_v5/")
    text = text_of(html)
    assert "450 GB/s" in text
    assert "NVSwitch · NVLink 4 · domain of 8 GPUs" in text
    assert "https://learn.microsoft.com/" in html
    assert "Here one way stands against one way." in text
    assert "via NET/IB/0/GDRDMA" in text


def test_a_dispute_shows_every_claim_and_the_lower_is_used(web: Client) -> None:
    text = text_of(page(web, "/instances/azure/Standard_ND128isr_GB300_v6/"))
    assert "50 ≠ 100" in text
    assert "9–18×" in text
    assert "claim 1 of 2" in text
    assert "claim 2 of 2" in text
    assert "estimates use 400 Gb/s" in text


def test_weaker_claims_and_what_is_said_of_a_part_are_listed(web: Client) -> None:
    rack = text_of(page(web, "/instances/aws/p6e-gb200.36xlarge/"))
    assert re.search(r"Fabric generation EFAv4 a weaker claim; not used", rack)
    joined = text_of(page(web, "/instances/ibm/gx3d-160x1792x8h100/"))
    assert "in one case: eu-gb" in joined
    assert "in one case: us-east (wdc06, wdc07)" in joined


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("Standard_ND96isr_H100_v5", "InfiniBand NDR · 8 × 400 Gb/s"),
        ("Standard_NC96ads_A100_v4", "Ethernet · 80 Gb/s"),  # one rate, and nobody counts NICs
    ],
)
def test_the_drawing_says_what_is_known_of_the_fabric(web: Client, name: str, drawn: str) -> None:
    assert drawn in text_of(page(web, f"/instances/azure/{name}/"))


def test_a_provider_that_names_the_regions_of_its_fabric_has_it_nowhere_else(web: Client) -> None:
    """IBM's table of regions has a column for its cluster network: two say yes, seven no."""
    asked = "/api/v1/offers/?provider=ibm&q=h100&rows=region&price_model=on_demand"
    there = {row["region"]: row for row in web.get(asked).json()["results"]}
    joined = {region for region, row in there.items() if row["fabric"] == "roce"}
    assert joined == {"us-east", "eu-de"}
    assert {row["multi_node"] for region, row in there.items() if region not in joined} == {"no"}
    assert len(there) == 9
    fabrics = web.get("/api/v1/fabrics/?provider=ibm&gpu=h100-sxm5-80gb").json()["results"]
    assert {row["region"] for row in fabrics} == joined
    assert web.get("/api/v1/fabrics/?provider=ibm&country=GB").json()["results"] == []


def test_every_instance_type_of_the_catalog_has_its_page(web: Client) -> None:
    for provider, name in InstanceType.objects.values_list("provider", "name"):
        address = f"/instances/{provider}/{name}/"
        assert web.get(address).status_code == 200, address


def test_a_type_that_never_was_is_not_found(web: Client) -> None:
    response = web.get("/instances/azure/no-such-type/")
    assert response.status_code == 404
    assert 'type="search"' in response.content.decode()


def test_sources_that_were_never_fetched_live_are_said(web: Client) -> None:
    text = text_of(page(web, "/providers/"))
    assert re.search(r"0 of \d+ sources were fetched live", text)
    assert re.search(r"bundled catalog, with the date when it was read \(\d+\): \w", text)
    assert re.search(r"by desk, no list is published \(\d+\): \w", text)
    assert "bundled data, never fetched live" in text
    assert "on demand 3 d 45 d" in text


def test_what_is_in_doubt_is_said(web: Client) -> None:
    text = text_of(page(web, "/providers/"))
    assert "No measurement contradicts what the ledger says." in text
    assert re.search(r"The oldest check of an interconnect fact is of 20\d\d-\d\d-\d\d", text)
    assert re.search(r"Disputes by field .* fabric_gbits_per_s \d", text)
    kind = InstanceType.objects.get(provider="gcp", name="a3-megagpu-8g")
    kind.measured_pair_gbytes_per_s = 54
    kind.save()
    text = text_of(page(web, "/providers/"))
    assert "1 measurement contradicts what the ledger says." in text
    assert "gcp/a3-megagpu-8g scale_up slower than NVLink of 450 GB/s a pair" in text


def test_workloads_lead_to_their_ranking(web: Client) -> None:
    html = page(web, "/workloads/?provider=azure")
    assert re.search(r'href="/workloads/[\w-]+/\?gpus=256&amp;provider=azure"', html)


def test_a_ranking_names_the_best_and_what_was_left_out(web: Client) -> None:
    html = page(web, "/workloads/llama3-70b-pretrain/?gpus=256&nvlink=true&infiniband=true")
    text = text_of(html)
    assert "comes first" in text
    assert "Left out" in text
    assert "How far off?" in text
    bad = web.get("/workloads/llama3-70b-pretrain/?gpus=0&objective=luck")
    assert bad.status_code == 400
    assert "must be a whole number from 1" in bad.content.decode()
    assert web.get("/workloads/no-such-job/").status_code == 404


def test_the_language_stays_and_leads_back_only_to_this_service(web: Client) -> None:
    back = web.get("/language/ja/?next=/providers/")
    assert back["Location"] == "/providers/"
    assert '<html lang="ja">' in page(web, "/")
    for there in ("https://evil.example/", "//evil.example/", "/\\evil.example", "x"):
        assert web.get("/language/en/", {"next": there})["Location"] == "/"


def test_browsers_and_machines_find_what_they_ask_for_by_themselves(web: Client) -> None:
    assert web.get("/robots.txt").content.startswith(b"User-agent")
    assert web.get("/favicon.ico")["Location"].endswith("mark.svg")

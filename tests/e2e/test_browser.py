"""The pages in a browser: with JavaScript and without, by keyboard, on a phone, in the dark."""

import csv
import io
import json
import re

import pytest
from playwright.sync_api import Page, Response, expect

from tests.e2e.conftest import each_phone

pytestmark = pytest.mark.privileged("chromium")

PRESET = "/?nvlink=true&infiniband=true"
INSTANCE = "/instances/azure/Standard_ND96isr_H100_v5/"
EVERY = (
    "/", PRESET, "/?nvlink=true&rows=region", "/?nvlink=true&fabric_gbits_per_s_per_gpu_min=3000",
    "/?nvlink=true&cols=gpu,sharp,source_url,collected_at&pick=aws/p5.48xlarge%3Bon_demand",
    "/workloads/llama3-70b-decode/?gpus=16&nvlink=true&infiniband=true",
    INSTANCE, "/instances/azure/Standard_ND128isr_GB300_v6/", "/instances/aws/g4dn.metal/",
    "/instances/hyperstack/n3-A100x8-NVLink/", "/instances/aws/g6f.large/", "/providers/",
    "/workloads/", "/workloads/llama3-70b-pretrain/?gpus=64&nvlink=true&infiniband=true",
    "/workloads/llama3-70b-pretrain/?tokens=1T&deadline_hours=720&budget_usd=2M&nvlink=true",
    "/learn/accuracy/", "/learn/values/", "/api/v1/docs/", "/fabrics/",
    "/fabrics/?gpus_min=32&include_unknown=max_gpus",
)  # fmt: skip
PICKS = (
    "pick=aws/p5.48xlarge%3Bon_demand&pick=azure/Standard_ND96isr_H100_v5%3Bon_demand"
    "&pick=azure/Standard_ND96asr_v4%3Bon_demand&pick=aws/g4dn.metal%3Bon_demand"
    "&pick=aws/p4d.24xlarge%3Bon_demand&pick=azure/Standard_ND40rs_v2%3Bon_demand"
)
LONG = (  # words that do not break by themselves: labels of providers, addresses, names of types
    "/instances/coreweave/b300-8x/", "/instances/azure/Standard_ND40rs_v2/",
    "/workloads/llama3-70b-pretrain/network/", f"/comparisons/new/?{PICKS}", f"/compare/?{PICKS}",
    "/api/v1/docs/", "/fabrics/", INSTANCE,
)  # fmt: skip
WIDTH = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def rows(page: Page) -> list[str]:
    """The instance types of the table."""
    return page.locator("#results tbody a.nm").all_inner_texts()


def settled(page: Page, address: str) -> None:
    """Until htmx has swapped, and the address says so."""
    expect(page).to_have_url(re.compile(re.escape(address) + "$"))
    expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")


def test_the_preset_gives_the_same_rows_with_and_without_javascript(
    page: Page, plain: Page
) -> None:
    for browser in (page, plain):
        browser.goto("/")
        browser.get_by_role("link", name=re.compile(r"^NVLink \+ InfiniBand \d")).click()
        settled(browser, PRESET)
        assert browser.get_by_role("link", name="Remove filter: NVLink yes").is_visible()
    assert rows(page) == rows(plain)
    assert len(rows(page)) > 10
    title = "Offers with NVLink and InfiniBand, cheapest first · FabricScout"
    assert page.title() == plain.title() == title


def test_a_facet_filters_at_once_with_javascript_and_by_a_button_without(
    page: Page, plain: Page
) -> None:
    for browser in (page, plain):
        browser.goto(PRESET)
        browser.get_by_text("GPUDirect RDMA", exact=True).first.click()
        browser.locator("#gpudirect_rdma-yes").check()
    plain.locator("details[open] button").click()
    settled(page, PRESET + "&gpudirect_rdma=yes")
    assert page.locator("details[open]").count() == 1, "the list stays open"
    assert page.evaluate("document.activeElement.id") == "gpudirect_rdma-yes", "focus stays"
    expect(page.locator("#said")).to_contain_text("results, lowest price first")
    assert rows(page) == rows(plain)


def test_the_unknown_is_shown_counted_and_let_in_marked(page: Page) -> None:
    page.goto(PRESET)
    note = page.locator("#results .note")
    matching, more = (int(n) for n in re.findall(r"(\d+) (?:offers match|more)", note.inner_text()))
    page.get_by_role("link", name="Include them, marked").click()
    expect(page.locator("#results .note")).to_contain_text(f"{matching + more} offers match")
    expect(page.locator("#results tbody .unk").first).to_be_visible()
    page.get_by_role("link", name="Leave them out").click()
    expect(page.locator("#results .note")).to_contain_text(f"{matching} offers match")


def test_sorting_and_back_and_forward(page: Page) -> None:
    page.goto(PRESET)
    first = rows(page)
    page.locator("#s-cliff").click()
    settled(page, PRESET + "&sort=cliff")
    heading = page.get_by_role("columnheader", name=re.compile("^Cliff"))
    expect(heading).to_have_attribute("aria-sort", "ascending")
    by_cliff = rows(page)
    assert by_cliff != first
    page.get_by_role("link", name="One row per region").click()
    settled(page, PRESET + "&sort=cliff&rows=region")
    page.go_back()
    settled(page, PRESET + "&sort=cliff")
    assert rows(page) == by_cliff
    page.go_back()
    settled(page, PRESET)
    assert rows(page) == first
    page.go_forward()
    settled(page, PRESET + "&sort=cliff")
    assert rows(page) == by_cliff


def test_what_the_header_leads_to_is_what_is_asked_now(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name=re.compile(r"^NVLink \+ InfiniBand \d")).click()
    settled(page, PRESET)
    page.locator("#currency").click()
    page.locator("#util").get_by_role("link", name="EUR").click()
    settled(page, f"{PRESET}&currency=EUR")
    page.get_by_role("link", name="One GPU").click()
    page.wait_for_url("**gpu_count_max=1**")
    here = page.url
    page.get_by_role("link", name="日本語").click()
    expect(page).to_have_url(here)
    page.go_back()
    page.go_back()
    settled(page, f"{PRESET}&currency=EUR")
    expect(page.locator("#currency")).to_have_text("EUR")


def test_typing_searches_and_leaves_one_entry_of_history(page: Page) -> None:
    page.goto("/")
    page.goto(PRESET)
    page.get_by_label("Search").press_sequentially("azure", delay=20)
    settled(page, PRESET + "&q=azure")
    assert set(page.locator("#results tbody small:first-child").all_inner_texts())
    assert page.get_by_label("Search").input_value() == "azure"
    page.go_back()
    settled(page, "/")


def test_pages_turn(page: Page) -> None:
    page.goto("/?page_size=20")
    first = rows(page)
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("link", name="Previous")).to_be_visible()
    assert rows(page) != first
    page.get_by_role("link", name="Previous").click()
    expect(page.locator("#results")).to_contain_text("1–20 of")
    page.reload()
    assert rows(page) == first


def test_rows_on_screen_in_csv_and_in_json_are_the_same(page: Page) -> None:
    for query in ("?nvlink=true&infiniband=true&sort=-cliff", "?rows=region&q=h100&page_size=70"):
        page.goto("/" + query)
        href = page.locator("#csv").get_attribute("href") or ""
        lines = page.request.get(href).text()
        as_json = json.loads(page.request.get("/api/v1/offers/" + query).text())["results"]
        screen = rows(page)
        assert screen == [row["instance_type"] for row in csv.DictReader(io.StringIO(lines))]
        assert screen == [row["instance_type"] for row in as_json]


def test_preset_and_facet_are_reached_by_keyboard_alone(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    tab_to(page, "document.activeElement.textContent.startsWith('NVLink + InfiniBand')")
    page.keyboard.press("Enter")
    settled(page, PRESET)
    tab_to(page, "document.activeElement.textContent === 'GPUDirect RDMA'")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page).to_have_url(re.compile("gpudirect_rdma="))
    page.keyboard.press("Escape")
    assert page.locator("details[open]").count() == 0
    assert page.evaluate("document.activeElement.textContent") == "GPUDirect RDMA"


def tab_to(page: Page, wanted: str) -> None:
    """Press Tab until there; each stop on the way is seen and large enough to hit."""
    for _ in range(60):
        if page.evaluate(wanted):
            return
        page.keyboard.press("Tab")
        box = page.evaluate(
            "(() => { const b = document.activeElement.getBoundingClientRect();"
            "return [b.width, b.height] })()"
        )
        assert min(box) >= 20, page.evaluate("document.activeElement.outerHTML")
    pytest.fail(f"never reached: {wanted}")


def test_no_page_scrolls_sideways_on_a_phone(phone: Page) -> None:
    for address in EVERY:
        phone.goto(address)
        for width in each_phone(phone):
            assert phone.evaluate(WIDTH) <= 0, (address, width)
    assert phone.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 23)"


def test_long_words_break_rather_than_push_the_page_in_both_languages(phone: Page) -> None:
    for language in ("en", "ja"):
        phone.set_extra_http_headers({"Accept-Language": language})
        for address in LONG:
            phone.goto(address)
            for width in each_phone(phone):
                assert phone.evaluate(WIDTH) <= 0, (address, language, width)


def test_a_chip_is_one_line_on_a_phone(phone: Page) -> None:
    phone.goto(PRESET)
    for _width in each_phone(phone):
        for chip in phone.locator("#chips .chip").all():
            assert (chip.bounding_box() or {})["height"] < 40


def test_paper_gets_whole_tables_with_their_headings(page: Page) -> None:
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 within its margins
    ranked = "/workloads/llama3-70b-pretrain/?gpus=64&nvlink=true&infiniband=true"
    for address in (PRESET, f"/compare/?{PICKS}", INSTANCE, ranked):
        page.goto(address)
        page.emulate_media(media="print")
        farthest = "Math.max(...[...document.querySelectorAll('main th, main td')].map("
        assert page.evaluate(farthest + "e => e.getBoundingClientRect().right))") <= 718, address
        for part, display in (("thead", "table-header-group"), ("tbody tr", "table-row")):
            shown = page.locator(f"table {part}").first.evaluate("e => getComputedStyle(e).display")
            assert shown == display, address
        page.emulate_media(media="screen")


def test_no_page_scrolls_sideways_between_a_phone_and_a_wide_screen(page: Page) -> None:
    for address in ("/", "/workloads/llama3-70b-pretrain/?gpus=256", "/providers/"):
        page.goto(address)
        for width in (320, 768, 1024, 1100, 1280, 1366, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate(WIDTH) <= 0, (address, width)


def test_cards_and_sheets_on_a_phone(phone: Page) -> None:
    phone.goto(PRESET)
    phone.locator("summary", has_text="Provider").click()
    for _width in each_phone(phone):
        card = phone.locator("tbody tr").first
        assert card.evaluate("e => getComputedStyle(e).display") == "grid"
        sheet = phone.locator("details[open] > div")
        box = sheet.bounding_box()
        assert box
        assert abs(box["y"] + box["height"] - 800) < 2, "at the bottom"
        assert (sheet.locator("label").first.bounding_box() or {})["height"] >= 40


def test_every_page_is_silent_small_and_whole_without_javascript(page: Page, plain: Page) -> None:
    for address in EVERY:
        weight: list[int] = []

        def weigh(answer: Response, weight: list[int] = weight) -> None:
            weight.append(answer.request.sizes()["responseBodySize"])

        page.on("response", weigh)
        page.goto(address, wait_until="networkidle")
        page.remove_listener("response", weigh)
        assert sum(weight) <= 150_000, (address, sum(weight))
        plain.goto(address)
        assert plain.locator("h1").inner_text() == page.locator("h1").inner_text()
        assert plain.locator("main").inner_text() == page.locator("main").inner_text(), address


def test_light_and_dark_follow_the_system(page: Page) -> None:
    page.goto("/")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light


def test_a_bad_filter_is_said_in_place(page: Page, complaints: list[str]) -> None:
    page.goto("/?usd_per_gpu_hour_max=cheap")
    alert = page.get_by_role("alert").filter(has_text="could not be read")
    expect(alert).to_contain_text("usd_per_gpu_hour_max=cheap")
    alert.get_by_role("link", name="Remove it").click()
    settled(page, "/")
    assert page.get_by_role("alert").filter(has_text="could not be read").count() == 0
    assert [text for text in complaints if "400" not in text] == []
    complaints.clear()


def test_a_failed_request_is_said_and_the_rows_stay(page: Page, complaints: list[str]) -> None:
    page.goto(PRESET)
    before = rows(page)
    page.route("**/?*sort=cliff*", lambda route: route.abort())
    page.locator("#s-cliff").click()
    expect(page.locator("#failed")).to_be_visible()
    assert rows(page) == before
    complaints.clear()


def test_japanese_stays_chosen(page: Page) -> None:
    page.goto("/providers/")
    page.get_by_role("link", name="日本語").click()
    expect(page).to_have_url(re.compile("/providers/$"))
    assert page.locator("html").get_attribute("lang") == "ja"
    assert page.get_by_role("navigation").first.inner_text().startswith("オファー")

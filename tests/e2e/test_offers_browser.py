"""Offers in a browser: columns, what is picked for a comparison, three clicks to a cluster."""

import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_browser import PRESET, WIDTH, rows, settled

pytestmark = pytest.mark.privileged("chromium")


def headings(page: Page) -> list[str]:
    """What stands over the columns."""
    texts = page.locator("#results thead th").all_inner_texts()
    return [text.split("\n")[0].strip(" ▲▼") for text in texts]


def boxes(page: Page, *numbers: int, script: bool = True) -> None:
    """Tick the boxes of these rows; with a script the address says each at once."""
    for number in numbers:
        page.locator("#results tbody [name=pick]").nth(number).check()
        if script:
            ticked = page.locator("[name=pick]:checked").count()
            expect(page).to_have_url(re.compile("&".join(["pick=[^&]+"] * ticked) + "$"))
            expect(page.locator("#results")).not_to_have_attribute("aria-busy", "true")


def test_columns_are_chosen_with_javascript_and_without(page: Page, plain: Page) -> None:
    for browser in (page, plain):
        browser.goto(PRESET)
        browser.get_by_text("Columns", exact=True).click()
        browser.locator("#col-sharp").check()
        if browser is page:
            expect(page.locator("#results thead")).to_contain_text("SHARP")
        browser.locator("#col-cliff").uncheck()
        if browser is plain:
            plain.locator("details[open] button").click()
        expect(browser.locator("#results thead")).not_to_contain_text("Cliff")
        assert "SHARP" in headings(browser)
    assert headings(page) == headings(plain)
    assert "cols=" in page.url
    href = page.locator("#csv").get_attribute("href") or ""
    first = page.request.get(href).text().split("\n")[0].split(",")
    assert "sharp" in first
    assert "cliff" not in first
    page.go_back()
    expect(page.locator("#results thead")).to_contain_text("Cliff")


def test_what_is_picked_is_counted_kept_and_compared(page: Page) -> None:
    page.goto(PRESET)
    tray = page.locator(".tray")
    expect(tray).to_be_hidden()
    boxes(page, 0, 2)
    expect(tray).to_be_visible()
    page.get_by_role("link", name=re.compile("^72-GPU domain")).click()
    expect(page).to_have_url(re.compile("nvlink_domain_gpus_min=72"))
    expect(page.locator(".tray :checked")).to_have_count(2)
    page.locator(".tray").get_by_role("checkbox").first.uncheck()
    expect(page).to_have_url(re.compile(r"min=72&pick=[^&]+$"))
    page.get_by_role("link", name="Clear").click()
    settled(page, "/?nvlink_domain_gpus_min=72")
    expect(tray).to_be_hidden()


def test_picks_lead_to_the_comparison_with_and_without_javascript(page: Page, plain: Page) -> None:
    for browser in (page, plain):
        browser.goto(PRESET)
        boxes(browser, 1, 3, script=browser is page)
        browser.get_by_role("button", name="Compare").click()
        browser.wait_for_url(re.compile("/compare/"))
        assert re.search(r"/compare/\?pick=[^&]+&pick=[^&]+$", browser.url)


def test_the_seventh_is_not_taken(page: Page) -> None:
    page.goto("/")
    boxes(page, *range(6))
    six = page.url
    page.locator("#results tbody [name=pick]").nth(6).click()
    expect(page.get_by_text("Six at most; remove one.")).to_be_visible()
    assert page.locator("[name=pick]:checked").count() == 6
    assert page.url == six


def test_focus_never_lies_under_the_tray(page: Page) -> None:
    page.goto(PRESET)
    boxes(page, 0)
    expect(page.locator(".tray")).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Tab")
        below = page.evaluate(
            "(() => { const a = document.activeElement, t = document.querySelector('.tray');"
            "if (!a || t.contains(a) || !a.closest('table')) return true;"
            "return a.getBoundingClientRect().bottom <= t.getBoundingClientRect().top + 1 })()"
        )
        assert below, page.evaluate("document.activeElement.outerHTML")


def test_a_first_time_user_reaches_the_right_cluster_in_three_clicks(
    page: Page, plain: Page
) -> None:
    """64 H100s, NVLink and InfiniBand, in Europe, cheapest on demand."""
    for browser in (page, plain):
        browser.goto("/")
        browser.get_by_label("I need").fill("64")
        browser.locator("#f-gpu").select_option(label="H100")
        browser.locator("#f-continent").select_option(label="Europe")
        browser.get_by_role("button", name="Find").click()
        settled(browser, "price_model=on_demand")
        first = browser.locator("#results tbody tr").first
        expect(first).to_contain_text("H100")
        expect(first).to_contain_text("InfiniBand")
        said = " ".join(browser.locator("#chips").inner_text().split())
        for wanted in ("NVLink: yes", "InfiniBand", "≥ 64", "Europe", "on demand", "H100"):
            assert wanted in said, said
        assert first.locator("a.nm").inner_text() == "Standard_ND96isr_H100_v5"
        browser.get_by_role("link", name="Standard_ND96isr_H100_v5").first.click()
        expect(browser.get_by_role("heading", level=1)).to_have_text("Standard_ND96isr_H100_v5")


def test_a_name_that_anyone_may_write_does_no_harm(page: Page) -> None:
    """As long as any, of signs that HTML, styles and addresses know."""
    hostile = "azure/<b onclick=x>\"'&};" + "W" * 180
    page.goto(f"{PRESET}&pick={quote(hostile)}")
    name = page.locator(".tray label").inner_text().strip()
    assert name == "Microsoft Azure <b onclick=x>\"'&}"
    for width in (320, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate(WIDTH) <= 0
    page.goto(f"/?q={'W' * 190}")
    assert page.evaluate(WIDTH) <= 0
    assert rows(page) == []

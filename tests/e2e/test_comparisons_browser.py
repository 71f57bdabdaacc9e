"""Comparisons in a real browser, over a market whose prices are moved by the real ingest."""

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.e2e.conftest import ROOT, Copies, opened, serving
from tests.e2e.test_axe import LOOKS, seen, wrong

pytestmark = pytest.mark.privileged("chromium")

WORD = "correct horse battery"
PUBLISH = """
from datetime import UTC, datetime
from django.contrib.auth import get_user_model
from tests.catalog.conftest import DAY, MONDAY
from tests.comparisons.conftest import listed, publish
publish(days=(datetime.now(UTC) - MONDAY) / DAY, {prices})
get_user_model().objects.filter(username="ada@example.org").exists() or (
    get_user_model().objects.create_user("ada@example.org", "ada@example.org", "{word}"))
"""


class Market:
    """A service of its own, and the means to move its prices."""

    def __init__(self, address: str, environment: dict[str, str]) -> None:
        self.address, self.environment = address, environment

    def publish(self, **prices: str) -> None:
        said = ", ".join(f"{name}={price!r}" for name, price in prices.items())
        subprocess.run(
            [sys.executable, "manage.py", "shell", "-c", PUBLISH.format(prices=said, word=WORD)],
            cwd=ROOT, env=self.environment, check=True, capture_output=True,
        )  # fmt: skip


@pytest.fixture(scope="module")
def market(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Market]:
    home = tmp_path_factory.mktemp("comparisons")
    with copies.one(home) as given, serving(given) as address:
        found = Market(address, given)
        found.publish()
        yield found


@pytest.fixture
def context(browser: Browser, market: Market) -> Iterator[BrowserContext]:
    made = browser.new_context(base_url=market.address, viewport={"width": 1440, "height": 900})
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext, complaints: list[str]) -> Iterator[Page]:
    """At its end nothing may have gone wrong."""
    yield opened(context, complaints)
    assert complaints == []


def heads(page: Page) -> list[str]:
    return page.locator(".pin thead .nm").all_inner_texts()


def cells(page: Page, title: str) -> list[str]:
    row = page.locator(".pin tbody tr", has=page.get_by_role("rowheader", name=title)).first
    return row.locator("td").all_inner_texts()


def compared(page: Page) -> None:
    """Three offers, compared for a workload."""
    page.goto("/compare/?pick=acme/ib&pick=acme/roce&pick=acme/dark")
    page.get_by_label("Workload").select_option("llama3-70b-pretrain")
    page.get_by_label("GPUs", exact=True).fill("64")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("gpus=64"))


def signed_in(page: Page) -> None:
    page.get_by_label("E-mail address").fill("ada@example.org")
    page.get_by_label("Password").fill(WORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_three_are_picked_compared_and_held_against_another(page: Page) -> None:
    compared(page)
    assert len(heads(page)) == 3
    last = heads(page)[2]
    page.locator(".pin a", has_text="make baseline").last.click()
    page.wait_for_url(re.compile("baseline="))
    assert heads(page)[0] == last
    assert any("worse" in text or "better" in text for text in cells(page, "This offer")[1:])
    whole = page.locator(".pin tbody tr").count()
    page.get_by_role("link", name="Differences only").click()
    page.wait_for_url(re.compile("diff=1"))
    assert page.locator(".pin tbody tr").count() < whole
    assert page.locator(".pin tr.same").count() == 0
    page.go_back()
    assert page.locator(".pin tbody tr").count() == whole


def test_a_print_has_the_table_and_the_addresses_and_no_controls(page: Page) -> None:
    compared(page)
    page.emulate_media(media="print")
    expect(page.locator("header nav")).to_be_hidden()
    expect(page.locator("form").first).to_be_hidden()
    expect(page.locator(".pin")).to_be_visible()
    listed = page.locator("a.src:not(.pin *)").first  # a cell names its source, the list at the end
    shown = listed.evaluate("e => getComputedStyle(e, '::after').content")  # has its address
    assert "https://acme.example/prices" in shown
    expect(page.get_by_text("Printed from http://127.0.0.1")).to_be_visible()
    assert page.pdf().startswith(b"%PDF")


def test_it_is_kept_run_again_and_says_what_changed(page: Page, market: Market) -> None:
    compared(page)
    page.get_by_role("link", name="Save this comparison").click()
    signed_in(page)
    page.get_by_label("Name").fill("Q1")
    page.get_by_role("button", name="Save and run").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Q1")
    assert page.get_by_role("heading", name=re.compile("What changed")).count() == 0
    market.publish(dark="10")
    page.get_by_role("button", name="Run again").click()
    expect(page.get_by_role("heading", name=re.compile("What changed"))).to_be_visible()
    change = page.get_by_role("region", name="Changes").locator("tbody tr").first.inner_text()
    assert "$1.00" in change
    assert "$1.25" in change
    page.get_by_role("button", name="Make a link").click()
    link = page.locator("#link").inner_text()
    page.context.clear_cookies()
    page.goto(link)
    expect(page.get_by_role("heading", level=1)).to_have_text("Q1")
    assert page.locator("main form").count() == 0


def test_all_of_it_works_without_javascript(browser: Browser, market: Market) -> None:
    context = browser.new_context(base_url=market.address, java_script_enabled=False)
    page = context.new_page()
    page.goto("/compare/?pick=acme/ib&pick=acme/dark&workload=llama3-70b-pretrain&gpus=64")
    page.locator(".pin a", has_text="make baseline").last.click()
    page.get_by_role("link", name="Save this comparison").click()
    signed_in(page)
    page.get_by_label("Name").fill("plain")
    page.get_by_role("button", name="Save and run").click()
    page.get_by_role("button", name="Duplicate").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("plain, copy")
    page.get_by_role("button", name="Run", exact=True).first.click()
    assert heads(page)[0] == "dark"
    context.close()


def addresses(page: Page) -> list[str]:
    """Every page of the room, one's own with two runs."""
    page.goto("/comparisons/")
    one = page.locator("main a.nm").first.get_attribute("href") or ""
    pick = "pick=acme/ib&pick=acme/dark"
    return [
        "/compare/", f"/compare/?{pick}", f"/compare/?{pick}&workload=llama3-70b-pretrain&gpus=64",
        f"/compare/?{pick}&region=nowhere&gpus=x&workload=llama3-70b-pretrain", "/comparisons/",
        f"/comparisons/new/?{pick}", one, f"{one}?diff=1", f"{one}questions/",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def at_home(browser: Browser, market: Market) -> dict[str, object]:
    """What a browser keeps of ada, who has a comparison with two runs."""
    context = browser.new_context(base_url=market.address)
    page = context.new_page()
    page.goto("/comparisons/new/?pick=acme/ib&pick=acme/dark&workload=llama3-70b-pretrain&gpus=64")
    signed_in(page)
    page.get_by_label("Name").fill("for axe")
    page.get_by_role("button", name="Save and run").click()
    market.publish(ib="26")
    page.get_by_role("button", name="Run again").click()
    kept = context.storage_state()
    context.close()
    return dict(kept)


@pytest.mark.parametrize(("width", "language"), LOOKS)
def test_axe_is_silent_and_no_page_scrolls_sideways(
    browser: Browser, market: Market, at_home: dict[str, object], width: int, language: str
) -> None:
    context = seen(browser, market.address, width, language, storage_state=at_home)
    page = opened(context, [])
    found = wrong(page, addresses(page))
    context.close()
    assert found == []


def test_the_first_column_stays_at_320_pixels(browser: Browser, market: Market) -> None:
    context = browser.new_context(base_url=market.address, viewport={"width": 320, "height": 700})
    page = context.new_page()
    page.goto("/compare/?pick=acme/ib&pick=acme/roce&pick=acme/dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    head = page.get_by_role("rowheader", name="This offer")
    before = head.bounding_box()
    page.locator(".sheet.scroll").first.evaluate("e => e.scrollLeft = 200")
    assert head.bounding_box() == before
    context.close()

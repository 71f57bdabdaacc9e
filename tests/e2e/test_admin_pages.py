"""An administrator in a browser: one row accepted, one rejected, one word taught, one list held."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import ROOT, Copies, manage, serving
from tests.scrapers.vast_page import bundle

pytestmark = pytest.mark.privileged("chromium")
ROWS = "/admin/catalog/quarantinedrow/"
WORDS = 'HGX "Hopper" <b>8</b>'
PASSWORD = "only for the length of a test"


def scrape(environment: dict[str, str], file: Path, age: timedelta, machines: int = 20) -> str:
    """A market of so many machines: one cheaper than any, one that no one knows, one unreadable."""
    market = json.loads(bundle(datetime.now(UTC) - age, machines))
    offers = market["documents"][0]["offers"]
    offers[0] |= {"dph_base": 0.5, "dph_total": 0.5}
    offers[1] |= {"gpu_name": WORDS}
    offers[2] |= {"num_gpus": "<script>alert(1)</script>"}
    file.write_text(json.dumps(market))
    return manage(environment, "scrape", "vast", "--from", str(file))


@pytest.fixture(scope="module")
def environment(
    copies: Copies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Of a service apart from that of the other tests: what is published here is not theirs."""
    with copies.one(tmp_path_factory.mktemp("admin")) as given:
        yield given


@pytest.fixture(scope="module")
def service(environment: dict[str, str]) -> Iterator[str]:
    """Where it answers."""
    with serving(environment) as address:
        yield address


@pytest.fixture
def ada(page: Page, environment: dict[str, str], tmp_path: Path) -> Page:
    """Logged in as the superuser that README tells how to make."""
    asked = environment | {"DJANGO_SUPERUSER_PASSWORD": PASSWORD}
    user = ("--username", "ada", "--email", "ada@example.com")
    manage(asked, "createsuperuser", "--no-input", *user)
    assert "17 accepted, 3 quarantined" in scrape(
        environment, tmp_path / "market.json", timedelta(hours=2)
    )
    page.goto(ROWS)
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    return page


def act(page: Page, sentence: str, action: str) -> None:
    """Tick the row of the list that says this, and have it done."""
    page.get_by_role("row").filter(has_text=sentence).get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option(label=action)
    page.get_by_role("button", name=re.compile("Run|Go")).click()


def test_rows_words_and_lists_that_wait_are_decided(
    ada: Page, environment: dict[str, str], tmp_path: Path
) -> None:
    expect(ada.locator("#result_list tbody tr")).to_have_count(3)
    row = ada.get_by_role("row").filter(has_text="below all prices seen, US$ 0.4 to 40")
    row.locator("summary").click()
    expect(row.get_by_text('"dph_base": 0.5')).to_be_visible()  # the raw row beside it
    assert ada.locator("#result_list script").count() == 0

    act(ada, "below all prices seen", "Accept: publish as it is")
    expect(ada.locator(".messagelist")).to_contain_text("1 accepted. A worker reads vast again")
    act(ada, "is not a number", "Reject: keep it out")
    expect(ada.locator(".messagelist")).to_contain_text("1 rejected.")

    act(ada, "unknown GPU name", "Teach an alias for its words")
    expect(ada.get_by_label("Words")).to_have_value(WORDS)
    ada.get_by_label("Target").fill("h900")
    ada.get_by_role("button", name="Save", exact=True).click()
    expect(ada.locator(".errorlist").last).to_contain_text("h100-sxm5-80gb")
    ada.get_by_label("Target").fill("h100-sxm5-80gb")
    ada.get_by_role("button", name="Save", exact=True).click()
    expect(ada.locator(".messagelist")).to_contain_text("A worker reads the newest lists again")
    assert ada.locator("#result_list b").count() == 0

    # What the worker's tick does. Both decisions are in the one list that is read again.
    assert "19 accepted, 1 quarantined" in manage(environment, "replay", "--asked")
    ada.goto(ROWS)
    expect(ada.locator("#result_list tbody tr")).to_have_count(0)
    ada.get_by_role("link", name="Rejected").click()
    expect(ada.locator("#result_list tbody tr")).to_have_count(1)

    # The next list brings the same rows: nothing is asked again.
    again = scrape(environment, tmp_path / "again.json", timedelta(hours=1))
    assert "19 accepted, 1 quarantined" in again
    ada.goto(ROWS)
    expect(ada.locator("#result_list tbody tr")).to_have_count(0)

    # A market of a tenth waits whole, until it is let through.
    small = json.loads(bundle(datetime.now(UTC), 2))
    (tmp_path / "small.json").write_text(json.dumps(small))
    held = subprocess.run(
        [sys.executable, "manage.py", "scrape", "vast", "--from", tmp_path / "small.json"],
        cwd=ROOT, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert "listed offers are gone" in held.stdout, held.stdout + held.stderr
    ada.goto("/admin/catalog/scraperun/")
    act(ada, "listed offers are gone", "Accept the held list: publish it")
    expect(ada.locator(".messagelist")).to_contain_text("A worker will approve the list of vast")
    assert "vast: published." in manage(environment, "replay", "--asked")

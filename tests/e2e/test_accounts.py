"""An account in a browser: made, given a token that a script uses, and ended, in both languages."""

import secrets
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
pytestmark = pytest.mark.privileged("chromium")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
PASSWORD = "correct horse battery"
LOOKS = {"wide": (1440, "light", "en"), "phone": (390, "dark", "ja")}
WORDS = {
    "en": ("Make a token", "Revoke nightly", "Sign out", "Delete all of it"),
    "ja": ("トークンを作る", "nightly を失効させる", "ログアウト", "すべて削除する"),
}


def complaints(page: Page) -> list[str]:
    """What axe says of the page, and whether it scrolls sideways."""
    page.evaluate((Path(axe.__file__).parent / "axe.min.js").read_text())
    result = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    found = [
        f"{page.url} {rule['id']} {node['html'][:120]}"
        for rule in result["violations"]
        for node in rule["nodes"]
    ]
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    return found + ([f"{page.url} scrolls sideways"] if page.evaluate(wide) else [])


def status(service: str, secret: str) -> int:
    """What a script is answered."""
    bearer = {"Authorization": f"Bearer {secret}"}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(f"{service}/api/v1/me/", headers=bearer), timeout=10
        ) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code


def reader(browser: Browser, service: str, look: str, *, scripts: bool = True) -> BrowserContext:
    width, scheme, language = LOOKS[look]
    return browser.new_context(
        base_url=service,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        locale=language,
        java_script_enabled=scripts,
    )


def sign_up(page: Page, email: str) -> None:
    """By the header's link, as anyone would."""
    page.goto("/providers/")
    page.locator("header a[href='/account/sign-in/']").click()
    page.locator("a[href^='/account/sign-up/']").click()
    page.locator("#id_email").fill(email)
    page.locator("#id_password1").fill(PASSWORD)
    page.locator("#id_password2").fill(PASSWORD)
    page.locator("main button.main").click()
    expect(page).to_have_url(f"{page.url.split('/account')[0]}/account/")


@pytest.mark.parametrize("look", LOOKS)
def test_a_token_made_in_the_browser_works_in_a_script_until_it_is_revoked(
    browser: Browser, service: str, look: str
) -> None:
    make, revoke, sign_out, delete_all = WORDS[LOOKS[look][2]]
    context = reader(browser, service, look)
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda line: said.append(line.text))  # the policy's refusals, above all
    sign_up(page, f"{secrets.token_hex(8)}@example.org")
    found = complaints(page)

    page.locator("#id_name").fill("nightly")
    page.locator("#id_scope").select_option("write")
    page.get_by_role("button", name=make).click()
    secret = page.locator("#secret").inner_text()
    assert status(service, secret) == 200
    found += complaints(page)
    page.get_by_role("button", name=revoke).click()
    expect(page.get_by_role("button", name=revoke)).to_have_count(0)
    assert status(service, secret) == 401

    for address in ("/account/password/", "/account/delete/"):
        page.goto(address)
        found += complaints(page)
    page.locator("#id_password").fill("not the one")
    page.get_by_role("button", name=delete_all).click()
    found += complaints(page)
    page.goto("/account/")
    page.get_by_role("button", name=sign_out).click()
    for address in ("/account/sign-in/", "/account/sign-up/", "/account/password/reset/"):
        page.goto(address)
        page.locator("main button.main").click()  # the browser itself says what is missing
        found += complaints(page)
    context.close()
    assert (found, said) == ([], [])


def test_all_of_it_works_without_javascript_and_the_data_goes_with_the_account(
    browser: Browser, service: str
) -> None:
    context = reader(browser, service, "wide", scripts=False)
    page = context.new_page()
    email = f"{secrets.token_hex(8)}@example.org"
    sign_up(page, email)
    page.locator("#id_name").fill("nightly")
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("#secret").inner_text()
    page.goto("/account/delete/")
    page.locator("#id_password").fill(PASSWORD)
    page.get_by_role("button", name="Delete all of it").click()
    assert status(service, secret) == 401
    page.locator("#id_username").fill(email)
    page.locator("#id_password").fill(PASSWORD)
    page.locator("main button.main").click()
    expect(page.get_by_role("alert")).to_be_visible()
    context.close()


def test_the_theme_chosen_is_the_theme_of_every_page(browser: Browser, service: str) -> None:
    context = reader(browser, service, "wide")
    page = context.new_page()

    def background() -> str:
        page.goto("/")
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = background()
    page.goto("/account/sign-in/")
    page.get_by_role("link", name="dark", exact=True).click()
    assert background() != light
    page.goto("/theme/system/")
    assert background() == light
    context.close()

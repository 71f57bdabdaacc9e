"""Every page, as the URLconf knows them: axe-core is silent, nothing pushes it sideways.

A page that has no place in `PAGES`, `KEPT` or `NO_PAGE` fails the first test.
"""

import re
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver
from playwright.sync_api import Browser, BrowserContext, Page, Response

from config.middleware import POLICY
from tests.e2e.conftest import opened
from tests.scoring.test_nccl_tests import header, row

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")

PICKED = "pick=azure/Standard_ND96isr_H100_v5%3Bon_demand&pick=aws/p5.48xlarge%3Bon_demand"
# What anyone sees, by the name of its address: as it is, empty, refused, unknown, disputed.
PAGES = {
    "offers": (
        "/", "/?nvlink=true&infiniband=true", "/?nvlink=true&fabric_gbits_per_s_per_gpu_min=3000",
        f"/?page_size=12&cols=gpu,sharp,source_url,collected_at,multi_node&{PICKED}",
        "/?usd_per_gpu_hour_max=cheap", "/?nvlink_domain_gpus_min=999",
    ),
    "instance": (
        "/instances/azure/Standard_ND128isr_GB300_v6/", "/instances/aws/g4dn.metal/",
        "/instances/hyperstack/n3-A100x8-NVLink/",
    ),
    "providers": ("/providers/",),
    "provider": ("/providers/azure/",),
    "workloads": ("/workloads/",),
    "ranking": (
        "/workloads/llama3-70b-pretrain/?gpus=64&nvlink=true&infiniband=true",
        "/workloads/llama3-70b-decode/?gpus=16&nvlink=true&infiniband=true",
        "/workloads/llama3-70b-pretrain/?tokens=1T&deadline_hours=720&budget_usd=2M&nvlink=true",
    ),
    "network": ("/workloads/llama3-70b-pretrain/network/",),
    "compare": ("/compare/", f"/compare/?{PICKED}"),
    "fabrics": ("/fabrics/?gpus_min=32&technology=infiniband", "/fabrics/?gpus_min=many"),
    "learn": ("/learn/",),
    "word": ("/learn/nvlink/", "/learn/ring-and-tree/", "/learn/infiniband-or-ethernet/"),
    "values": ("/learn/values/",),
    "accuracy": ("/learn/accuracy/",),
    "measurements": ("/measurements/",),
    "comparisons": ("/comparisons/",),
    "sign-in": ("/account/sign-in/",),
    "sign-up": ("/account/sign-up/",),
    "password-reset": ("/account/password/reset/",),
    "password-set": ("/account/password/Mg/worn-out/",),
    "docs": ("/api/v1/docs/",),
    "no such page": ("/nowhere/", "/shared/never/"),
}  # fmt: skip
# What `kept` makes, each page with content: by name, from the address of the one that it keeps.
KEPT = {
    "account": "/account/",
    "account-watches": "/account/watches/",
    "comparison": "{comparison}",
    "comparison-questions": "{comparison}questions/",
    "comparisons": "/comparisons/",
    "delete-account": "/account/delete/",
    "measurement": "{measurement}",
    "new-comparison": f"/comparisons/new/?{PICKED}",
    "password-change": "/account/password/",
    "print-comparison": "{comparison}print/",
    "print-shared": "{shared}print/",
    "shared": "{shared}",
    "watch": "{watch}",
    "watch-comparison": "{comparison}watch/",
}
# They answer with a file, or do something and lead to a page.
NO_PAGE = {
    "client", "confirm", "delete-comparison", "delivery-again", "duplicate-comparison",
    "edit-comparison", "favicon.ico", "healthz", "keep-measurement", "language", "llms", "metrics",
    "new-token", "readyz", "revoke-share", "revoke-token", "robots.txt", "run-comparison",
    "send-confirmation", "share-comparison", "sign-out", "theme", "watch-change", "watch-delete",
    "watch-pause", "watch-resume", "watch-secret", "watch-test",
}  # fmt: skip
LOOKS = [(1440, "en"), (390, "ja")]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCRIPT = (Path(axe.__file__).parent / "axe.min.js").read_text()
SIDEWAYS = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
# A table of fifty offers says few things fifty times, and axe looks at each cell for as long as at
# the first: of rows, items, cells and strokes that differ in words and numbers alone, two stay.
TWO_OF_A_KIND = r"""() => {
  const values = /\b(?!class|role|type|scope|lang)([\w-]+)="[^"]+"/g, seen = {}
  const parts = 'main tbody tr, main tbody td, main li, main svg *'
  for (const each of document.querySelectorAll(parts)) {
    if (!each.isConnected) continue
    const markup = each.outerHTML.replace(values, '$1').replace(/>[^<]*[^<\s][^<]*/g, '>words')
    const kind = each.parentNode.tagName + markup
    seen[kind] = (seen[kind] || 0) + 1
    if (seen[kind] > 2) each.tagName === 'TD' ? each.replaceChildren() : each.remove()
  }
}"""
PASTE = f"all_reduce_perf\n{header(16, 2)}\n{row('all_reduce', 16, 1 << 30, 5000.0)}"
in_a_browser = pytest.mark.privileged("chromium")


def names(patterns: Iterable[URLPattern | URLResolver]) -> Iterator[str]:
    """Of all addresses but the API's and the admin's."""
    for each in patterns:
        if isinstance(each, URLPattern):
            yield each.name or str(each.pattern)
        elif not str(each.pattern).startswith(("admin/", "api/")):
            yield from names(each.url_patterns)


def test_every_page_has_its_place_here() -> None:
    assert set(names(get_resolver().url_patterns)) - {*PAGES, *KEPT, *NO_PAGE} == set()


def complaints(page: Page, of: dict[str, Any]) -> list[tuple[str, str]]:
    """What axe has to say: the rule, and where."""
    result = page.evaluate(
        "only => axe.run(document, {runOnly: only, resultTypes: ['violations']})", of
    )
    return [
        (rule["id"], node["html"][:120]) for rule in result["violations"] for node in rule["nodes"]
    ]


def wrong(page: Page, addresses: Iterable[str]) -> list[tuple[str, ...]]:
    """Every rule in the light; of another light only what depends on it: the contrast."""
    found: list[tuple[str, ...]] = []

    def strict(answer: Response) -> None:
        if answer.headers.get("content-security-policy") != POLICY:
            found.append((answer.url, "has no policy"))

    page.on("response", strict)
    for address in addresses:
        page.emulate_media(color_scheme="light")
        page.goto(address)
        found += [(address, "scrolls sideways")] if page.evaluate(SIDEWAYS) else []
        for summary in page.query_selector_all("main details > summary")[:3]:
            if summary.is_visible():
                summary.click()  # open lists are looked at too
        page.evaluate(TWO_OF_A_KIND)
        page.evaluate(SCRIPT)
        every = complaints(page, {"type": "tag", "values": RULES})
        page.emulate_media(color_scheme="dark")
        every += complaints(page, {"type": "rule", "values": ["color-contrast"]})
        found += [(address, *each) for each in every]
    return found


def seen(browser: Browser, service: str, width: int, language: str, **more: Any) -> BrowserContext:
    return browser.new_context(
        base_url=service, viewport={"width": width, "height": 900}, locale=language, **more
    )


@in_a_browser
@pytest.mark.parametrize(("width", "language"), LOOKS)
def test_axe_is_silent_and_no_page_scrolls_sideways(
    browser: Browser, service: str, width: int, language: str
) -> None:
    context = seen(browser, service, width, language)
    addresses = [address for group in PAGES.values() for address in group]
    found = wrong(opened(context, []), addresses)
    context.close()
    assert found == []


@pytest.fixture(scope="module")
def kept(browser: Browser, service: str) -> tuple[Any, dict[str, str]]:
    """What a browser keeps of someone who has one of each, and where each of them is."""
    context = seen(browser, service, 1440, "en")
    page, where = opened(context, []), {}

    def here() -> str:
        return page.url.removeprefix(service)

    page.goto("/account/sign-up/")
    page.locator("#id_email").fill(f"{secrets.token_hex(8)}@example.org")
    for field in ("#id_password1", "#id_password2"):
        page.locator(field).fill("correct horse battery")
    page.locator("main button.main").click()
    page.locator("#id_name").fill("nightly")
    page.get_by_role("button", name="Make a token").click()
    page.goto(f"/comparisons/new/?{PICKED}")
    page.get_by_label("Name").fill("Two of 8 H100")
    page.get_by_role("button", name="Save and run").click()
    where["comparison"] = here()
    page.get_by_role("button", name="Run again").click()
    page.get_by_role("button", name="Make a link").click()
    where["shared"] = re.sub(r"^https?://[^/]+", "", page.locator("#link").inner_text())
    page.locator("#id_channel").select_option("mail")
    page.get_by_role("button", name="Watch this").click()
    where["watch"] = here()
    page.get_by_role("button", name="Send a test").click()
    page.goto("/measurements/?provider=azure&instance_type=Standard_ND96isr_H100_v5")
    page.locator("#paste").fill(PASTE)
    page.get_by_role("button", name="Check it").click()
    page.get_by_role("button", name="Keep it as a measured fact").click()
    where["measurement"] = here()
    state = context.storage_state()
    context.close()
    return state, where


@in_a_browser
@pytest.mark.parametrize(("width", "language"), LOOKS)
def test_so_is_what_somebody_keeps(
    browser: Browser, service: str, kept: tuple[Any, dict[str, str]], width: int, language: str
) -> None:
    state, where = kept
    context = seen(browser, service, width, language, storage_state=state)
    found = wrong(opened(context, []), [each.format(**where) for each in KEPT.values()])
    context.close()
    assert found == []

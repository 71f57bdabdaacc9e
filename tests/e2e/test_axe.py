"""axe-core has nothing to say of any page, wide or on a phone, in both languages and lights."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.conftest import opened

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
pytestmark = pytest.mark.privileged("chromium")

PICKED = "pick=azure/Standard_ND96isr_H100_v5%3Bon_demand&pick=aws/p5.48xlarge%3Bon_demand"
PAGES = (
    "/", "/?nvlink=true&infiniband=true", "/?nvlink=true&fabric_gbits_per_s_per_gpu_min=3000",
    f"/?page_size=12&cols=gpu,sharp,source_url,collected_at,multi_node&{PICKED}",
    "/?usd_per_gpu_hour_max=cheap", "/instances/azure/Standard_ND128isr_GB300_v6/",
    "/instances/aws/g4dn.metal/", "/instances/hyperstack/n3-A100x8-NVLink/", "/providers/",
    "/workloads/", "/workloads/llama3-70b-pretrain/?gpus=64&nvlink=true&infiniband=true",
    "/workloads/llama3-70b-decode/?gpus=16&nvlink=true&infiniband=true",
    "/workloads/llama3-70b-pretrain/?tokens=1T&deadline_hours=720&budget_usd=2M&nvlink=true",
    f"/compare/?{PICKED}", "/learn/values/", "/api/v1/docs/", "/learn/accuracy/",
    "/learn/", "/learn/nvlink/", "/learn/ring-and-tree/", "/learn/infiniband-or-ethernet/",
    "/nowhere/", "/fabrics/?gpus_min=32&technology=infiniband", "/fabrics/?gpus_min=many",
)  # fmt: skip
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
SCRIPT = (Path(axe.__file__).parent / "axe.min.js").read_text()


def complaints(page: Page, of: dict[str, Any]) -> list[tuple[str, str]]:
    """What axe has to say: the rule, and where."""
    result = page.evaluate(
        "only => axe.run(document, {runOnly: only, resultTypes: ['violations']})", of
    )
    return [
        (rule["id"], node["html"][:120]) for rule in result["violations"] for node in rule["nodes"]
    ]


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_is_silent(browser: Browser, service: str, width: int, language: str) -> None:
    """Every rule in the light; of another light only what depends on it: the contrast."""
    context = browser.new_context(
        base_url=service, viewport={"width": width, "height": 900}, locale=language
    )
    page = opened(context, [])
    found = []
    for address in PAGES:
        page.emulate_media(color_scheme="light")
        page.goto(address)
        for summary in page.query_selector_all("details > summary")[:3]:
            if summary.is_visible():
                summary.click()  # open lists are looked at too
        page.evaluate(SCRIPT)
        every = complaints(page, {"type": "tag", "values": RULES})
        page.emulate_media(color_scheme="dark")
        every += complaints(page, {"type": "rule", "values": ["color-contrast"]})
        found += [(address, *each) for each in every]
    context.close()
    assert found == []

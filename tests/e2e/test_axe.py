"""axe-core finds nothing to say against any page, wide and light or on a phone in the dark."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser

axe = pytest.importorskip("axe_playwright_python", reason="needs axe-playwright-python")
pytestmark = pytest.mark.privileged("chromium")

PAGES = (
    "/?nvlink=true&infiniband=true", "/?nvlink=true&fabric_gbits_per_s_per_gpu_min=3000",
    "/?usd_per_gpu_hour_max=cheap", "/instances/azure/Standard_ND128isr_GB300_v6/",
    "/instances/aws/g4dn.metal/", "/providers/", "/workloads/",
    "/workloads/llama3-70b-pretrain/?gpus=64&nvlink=true&infiniband=true", "/learn/values/",
    "/workloads/llama3-70b-pretrain/?tokens=1T&deadline_hours=720&budget_usd=2M&nvlink=true",
    "/api/v1/docs/", "/learn/accuracy/",
    "/nowhere/", "/fabrics/?gpus_min=32&technology=infiniband", "/fabrics/?gpus_min=many",
)  # fmt: skip
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
LOOKS = {"wide": (1440, "light", "en"), "phone": (390, "dark", "ja")}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_is_silent(browser: Browser, service: str, look: str) -> None:
    width, scheme, language = LOOKS[look]
    context = browser.new_context(
        base_url=service,
        viewport={"width": width, "height": 900},
        color_scheme=scheme,  # type: ignore[arg-type]
        locale=language,
    )
    page = context.new_page()
    script = (Path(axe.__file__).parent / "axe.min.js").read_text()
    found = []
    for address in PAGES:
        page.goto(address)
        if summary := page.query_selector("details.pop summary"):
            summary.click()  # an open list is looked at too
        page.evaluate(script)
        result = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
        found += [
            (address, rule["id"], node["html"][:120])
            for rule in result["violations"]
            for node in rule["nodes"]
        ]
    context.close()
    assert found == []

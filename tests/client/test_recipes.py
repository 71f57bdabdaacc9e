"""What README tells a procurement script to do, done: every block, against the running service."""

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.client.conftest import CLIENT
from tests.e2e.conftest import ROOT

SECTION = re.compile(r"^## From a procurement script\n(.*?)^## ", re.MULTILINE | re.DOTALL)
(TEXT,) = SECTION.findall((ROOT / "README.md").read_text(encoding="utf-8"))
BLOCKS: dict[str, list[str]] = {
    language: re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    for language in ("sh", "python")
}


@pytest.fixture
def recipe(service: str, tmp_path: Path):
    """Run the one block that holds a word: in an empty folder, and stopped by what fails."""

    def run(word: str) -> "subprocess.CompletedProcess[str]":
        (block,) = (each for each in BLOCKS["sh"] if word in each)
        path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
        return subprocess.run(
            ["sh", "-euc", block.replace("http://127.0.0.1:8000", service)],
            cwd=tmp_path, env={"PATH": path, "FABRICSCOUT_URL": service, "PYTHONPATH": str(CLIENT)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run


def test_every_recipe_has_five_lines_at_most():
    assert len(BLOCKS["sh"]) == 6
    assert all(len(block.splitlines()) <= 5 for block in BLOCKS["sh"] + BLOCKS["python"])


def test_the_cheapest_with_nvlink_and_infiniband_in_europe_as_csv(recipe, tmp_path):
    assert recipe("offers.csv").returncode == 0
    with (tmp_path / "offers.csv").open(encoding="utf-8") as sheet:
        rows = [*csv.DictReader(sheet)]
    assert len(rows) > 3
    assert {row["fabric"] for row in rows} == {"infiniband"}
    assert {row["price_model"] for row in rows} == {"on_demand"}
    assert all(row["region"] and int(row["nvlink_domain_gpus"]) > 1 for row in rows)
    fresh = [float(row["usd_per_gpu_hour"]) for row in rows if row["stale"] == "false"]
    stale = [float(row["usd_per_gpu_hour"]) for row in rows if row["stale"] == "true"]
    assert fresh == sorted(fresh)
    assert stale == sorted(stale)


def test_a_pipeline_fails_when_a_price_has_risen(recipe):
    found = recipe("--fail-if-price-rises")
    assert found.returncode == 4
    (line,) = found.stdout.splitlines()[1:]
    assert line.startswith("price  lambda    gpu_8x_h100_sxm5")
    assert "15.0%" in line


def test_the_ranking_of_a_workload_as_json(recipe, tmp_path):
    assert recipe("ranking.json").returncode == 0
    found = json.loads((tmp_path / "ranking.json").read_text(encoding="utf-8"))
    assert [each["rank"] for each in found["results"]] == [*range(1, len(found["results"]) + 1)]
    assert found["workload"]["slug"] == "llama3-70b-pretrain"
    assert found["results"][0]["usd_per_mtoken"] > 0


def test_the_facts_of_one_instance_with_their_evidence(recipe):
    found = recipe("facts azure")
    assert found.returncode == 0
    (line,) = (each for each in found.stdout.splitlines() if each.startswith("fabric_nics"))
    assert re.search(r"\b8\b.*\bdocumented\b.*\d{4}-\d\d-\d\d.*https://", line)


def test_what_changed_since_last_month(recipe):
    found = recipe("What is new, gone")
    assert found.returncode == 0
    kinds = {line.split()[0] for line in found.stdout.splitlines()[1:]}
    assert "price" in kinds
    assert kinds <= {"price", "new", "gone"}


@pytest.mark.skipif(shutil.which("curl") is None, reason="there is no curl here")
def test_the_question_to_one_fabric(recipe):
    found = json.loads(recipe("curl").stdout)
    assert found["results"]
    assert {fabric["technology"] for fabric in found["results"]} == {"infiniband"}


def test_the_lists_that_it_names_are_those_that_have_pages(service):
    paths = httpx.get(f"{service}/api/v1/schema/").json()["paths"]
    paged = {
        path.removeprefix("/api/v1/")
        for path, methods in paths.items()
        if any(each["name"] == "page_size" for each in methods.get("get", {}).get("parameters", ()))
    }
    (named,) = re.findall(r"\*\*Lists\*\* \((.*?);", TEXT, re.DOTALL)
    doors = re.findall(r"`([a-z-]+/)`", named)
    assert doors.pop() == "runs/"
    assert paged == {*doors, "comparisons/{id}/runs/"}


def test_the_python_of_the_readme(service, tmp_path):
    (program,) = BLOCKS["python"]
    found = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path, env={"FABRICSCOUT_URL": service, "PYTHONPATH": str(CLIENT)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert len(found.stdout.splitlines()) > 5  # page after page

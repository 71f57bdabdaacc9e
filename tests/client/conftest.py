"""The client against the service as it is served: the bundled catalog, and prices that move."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from fabricscout import FabricScout
from tests.e2e.conftest import ROOT, filled, manage, serving

CLIENT = ROOT / "client"  # of this checkout, whichever the virtualenv was made for


def listed(name: str, usd_per_hour: float, *regions: str) -> dict[str, Any]:
    """A type as Lambda's API lists it."""
    gpus, gpu = name.split("_")[1:3]
    words = {"h100": "H100 (80 GB SXM5)", "gh200": "GH200 (96 GB)"}[gpu]
    kind = {
        "name": name,
        "description": f"{gpus} {words}",
        "gpu_description": words,
        "price_cents_per_hour": round(100 * usd_per_hour),
        "specs": {"vcpus": 64, "memory_gib": 432, "storage_gib": 4096, "gpus": int(gpus[:-1])},
    }
    places = [{"name": region, "description": region} for region in regions]
    return {name: {"instance_type": kind, "regions_with_capacity_available": places}}


# In the bundled catalog eight H100 cost 3.99 $/GPU/h, and a GH200 is listed without a region.
TODAY = listed("gpu_8x_h100_sxm5", 8 * 3.99 * 1.15) | listed("gpu_1x_gh200", 2.29, "us-east-3")


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of the processes of a service whose catalog has had one price change since it was bundled."""
    home = tmp_path_factory.mktemp("home")
    with filled("client", home) as given:
        publish(given, home, TODAY)
        yield given


def publish(environment: dict[str, str], room: Path, listing: dict[str, Any]) -> None:
    """Scrape a list of Lambda's, as of now: the same list may have been read before."""
    (room / "lambda.json").write_text(json.dumps({"data": listing}), encoding="utf-8")
    read = ("--from", str(room / "lambda.json"), "--collected-at", datetime.now(UTC).isoformat())
    manage(environment, "scrape", "lambda", *read)


@pytest.fixture(scope="session")
def service(environment: dict[str, str]) -> Iterator[str]:
    """Where it answers."""
    with serving(environment) as address:
        yield address


@pytest.fixture
def scout(service: str) -> Iterator[FabricScout]:
    with FabricScout(service) as found:
        yield found


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def fabricscout(service: str, tmp_path: Path) -> Run:
    """The command of the service's own virtualenv, in an empty folder."""

    def run(
        *arguments: str, url: str = service, token: str = ""
    ) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [Path(sys.executable).parent / "fabricscout", *arguments],
            cwd=tmp_path,
            env={"FABRICSCOUT_URL": url, "FABRICSCOUT_TOKEN": token, "PYTHONPATH": str(CLIENT)},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    return run

"""`pip wheel ./client`: the client, the command and its types, with httpx and nothing else."""

import json
import shutil
import subprocess
import sys
import venv
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest

from tests.client.conftest import CLIENT


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of an environment with the wheel, what httpx needs, and nothing else."""
    room = tmp_path_factory.mktemp("client")
    source = room / "source"  # a build leaves files behind: not in the checkout
    shutil.copytree(CLIENT, source, ignore=shutil.ignore_patterns("__pycache__"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    here = ["--no-deps", "--no-index"]
    subprocess.run(
        [*pip, "wheel", "-q", *here, "--no-build-isolation", "-w", str(room), str(source)],
        check=True, timeout=120,
    )  # fmt: skip
    (wheel,) = room.glob("fabricscout-*.whl")
    venv.create(room / "bare")
    (packages,) = (room / "bare").glob("lib/python*/site-packages")
    python = room / "bare" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "-q", *here, str(wheel)], check=True)
    for name in ("httpx", "httpcore", "h11", "anyio", "idna", "certifi", "typing_extensions"):
        for path in {file.parts[0] for file in distribution(name).files or ()} - {".."}:
            (packages / path).symlink_to(Path(str(distribution(name).locate_file(path))))
    return python.parent


def run(program: Path, *arguments: str, url: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [program, *arguments],
        cwd=program.parent, env={"FABRICSCOUT_URL": url}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


def test_the_command_answers_from_a_bare_environment(bare, service):
    asked = ("offers", "--nvlink", "--infiniband", "--limit", "2", "--json")
    found = run(bare / "fabricscout", *asked, url=service)
    assert (found.returncode, len(json.loads(found.stdout)["results"])) == (0, 2)


def test_the_client_answers_from_a_bare_environment(bare, service):
    asked = (
        "from fabricscout import FabricScout; import fabricscout;"
        "print(fabricscout.__file__); print(len(list(FabricScout().offers(provider='azure'))))"
    )
    where, count = run(bare / "python", "-c", asked, url=service).stdout.split()
    assert str(bare.parent) in where
    assert int(count) > 10


def test_without_the_extra_the_mcp_server_says_how_to_get_it(bare, service):
    found = run(bare / "fabricscout", "mcp", url=service)
    assert found.returncode == 1
    assert "pip install './client[mcp]'" in found.stderr
    assert "./client[mcp]" in (CLIENT / "README.md").read_text(encoding="utf-8")


def test_it_holds_every_module_says_that_it_is_typed_and_needs_httpx_alone(bare):
    (packages,) = bare.parent.glob("lib/python*/site-packages")
    ours = {path.name for path in (CLIENT / "fabricscout").iterdir() if path.is_file()}
    assert {p.name for p in (packages / "fabricscout").iterdir() if p.is_file()} == ours
    assert "py.typed" in ours
    (metadata,) = packages.glob("fabricscout-*.dist-info")
    wheel = PathDistribution(metadata)
    assert [need for need in wheel.requires or () if "extra" not in need] == ["httpx>=0.28"]
    assert "# fabricscout" in str(wheel.metadata.get_payload())

"""`pip wheel .`: a typed library that brings numpy only, and answers outside the checkout."""

import json
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import numpy as np
import pytest

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The Python of an environment that holds the wheel and numpy, and nothing else."""
    room = tmp_path_factory.mktemp("wheel")
    source = room / "source"  # a build leaves files behind: not in the checkout
    shutil.copytree(
        CHECKOUT / "scoring", source / "scoring", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(CHECKOUT / name, source)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*pip, "--no-index", "--wheel-dir", str(room), str(source)], check=True, timeout=120
    )
    (wheel,) = room.glob("*.whl")
    venv.create(room / "empty")
    (packages,) = (room / "empty").glob("lib/python*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    for found in Path(np.__file__).parents[1].glob("numpy*"):
        (packages / found.name).symlink_to(found)
    return room / "empty" / "bin" / "python"


def run(python, *arguments):
    """A command in an empty folder; what it prints."""
    done = subprocess.run(
        [python, "-I", *arguments],
        capture_output=True,
        text=True,
        cwd=python.parent,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_answers_from_an_empty_environment(installed):
    asked = ("--cluster", "dgx-h100-ndr", "--gpus", "64", "--job", "llama3-70b-pretrain", "--json")
    found = json.loads(run(installed, "-m", "scoring", "estimate", *asked))
    assert found["fits"]
    where = run(installed, "-c", "import scoring; print(scoring.__file__)")
    assert str(installed.parents[1]) in where


def test_it_brings_numpy_only(installed):
    (metadata,) = installed.parents[1].glob("lib/python*/site-packages/fabricscout_scoring-*")
    wheel: Distribution = PathDistribution(metadata)
    assert [need.partition(">")[0] for need in wheel.requires or []] == ["numpy"]
    top = {path.parts[0] for path in wheel.files or [] if ".dist-info" not in path.parts[0]}
    assert top == {"scoring"}


def test_it_holds_every_module_and_data_file_and_says_that_it_is_typed(installed):
    (packages,) = installed.parents[1].glob("lib/python*/site-packages")
    ours = {p.name for p in (CHECKOUT / "scoring").iterdir() if p.is_file()}
    assert {p.name for p in (packages / "scoring").iterdir() if p.is_file()} == ours
    assert "py.typed" in ours


def test_it_tells_a_reader_what_it_is(installed):
    (metadata,) = installed.parents[1].glob("lib/python*/site-packages/fabricscout_scoring-*")
    text = (metadata / "METADATA").read_text(encoding="utf-8")
    assert "Summary: " in text
    assert "# FabricScout" in text
    assert "Typing :: Typed" in text


def test_the_example_of_the_readme_runs_on_the_wheel_alone(installed):
    readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
    (example,) = (
        b for b in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "from scoring" in b
    )
    fast, slow, collective = run(installed, "-c", example).splitlines()
    assert float(fast.split()[0]) < float(slow.split()[0])
    assert collective.endswith("ms for 1 GB over 64")


def test_the_questions_are_functions_of_the_package(installed):
    asked = (
        "import scoring; c, j = scoring.cluster('dgx-h100-ndr'), scoring.job('llama3-8b-pretrain');"
        "print(scoring.estimate(c, j, 8).fits, len(scoring.search(c, j, 8, 3)));"
        "print(callable(scoring.validate))"
    )
    assert run(installed, "-c", asked).split() == ["True", "3", "True"]

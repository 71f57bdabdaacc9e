"""Scoring imports and answers without Django, and its modules use only those before them."""

import ast
import subprocess
import sys
from pathlib import Path

import scoring

ROOM = Path(scoring.__file__).parent
ORDER = [
    line.split()[0]
    for line in (scoring.__doc__ or "").splitlines()
    if line.startswith("    ") and line.split()
]
ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"django", "rest_framework", "celery", "redis", "psycopg"}:
            raise ImportError("blocked: " + name)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
import scoring
from scoring.cli import main

assert scoring.best(scoring.cluster("aws-p5"), scoring.job("llama3-8b-pretrain"), 64).fits
sys.exit(main(["estimate", "--cluster", "aws-p5", "--gpus", "64", "--job", "llama3-70b-pretrain"]))
"""


def test_it_answers_without_django():
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(ROOM.parent)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "limited by" in done.stdout


def test_every_module_has_its_place_in_the_reading_order():
    found = {path.stem for path in ROOM.glob("*.py")} - {"__init__", "__main__"}
    assert found == set(ORDER)


def test_modules_use_only_those_before_them_numpy_and_the_standard_library():
    for place, name in enumerate(ORDER):
        tree = ast.parse((ROOM / f"{name}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            for used in names:
                if used.startswith("scoring."):
                    assert used.removeprefix("scoring.") in ORDER[:place], f"{name} uses {used}"
                else:
                    top = used.partition(".")[0]
                    assert top == "numpy" or top in sys.stdlib_module_names, f"{name} uses {used}"

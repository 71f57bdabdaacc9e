"""`make bench`: every bench in turn, or those that are named (`make bench ARGS="api"`)."""

import importlib
import subprocess
import sys

BENCHES = (
    "api",
    "answers",
    "gpuhunt",
    "ingest",
    "stream",
    "scoring",
    "accuracy",
    "fabrics",
    "serving",
    "ablation",
)
# Only when named: those that rewrite a file of the package, and one that takes long.
NAMED = ("curves", "accuracy_groups", "growth")

names = tuple(sys.argv[1:]) or BENCHES
if unknown := set(names) - {*BENCHES, *NAMED}:
    sys.exit(f"{min(unknown)!r} is no bench: there are {', '.join(BENCHES + NAMED)}.")
if len(names) == 1:
    print(f"== {names[0]}", flush=True)
    sys.argv = [*names]
    importlib.import_module(f"bench.{names[0]}").main()
else:  # each in a process of its own: Django reads the address of its database once
    asked = {name: [sys.executable, "-m", "bench", name] for name in names}
    failed = [name for name, each in asked.items() if subprocess.run(each, check=False).returncode]
    if failed:
        sys.exit(f"did not pass: {', '.join(failed)}")

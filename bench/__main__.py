"""`make bench`: every bench in turn, or those that are named (`make bench ARGS="api"`)."""

import importlib
import sys

BENCHES = (
    "api",
    "answers",
    "ingest",
    "stream",
    "scoring",
    "accuracy",
    "fabrics",
    "serving",
    "ablation",
)
WRITERS = ("curves", "accuracy_groups")  # that rewrite a file of the package: only when named

for name in tuple(sys.argv[1:]) or BENCHES:
    if name not in BENCHES + WRITERS:
        sys.exit(f"{name!r} is no bench: there are {', '.join(BENCHES + WRITERS)}.")
    print(f"== {name}", flush=True)
    sys.argv = [name]
    importlib.import_module(f"bench.{name}").main()

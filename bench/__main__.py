"""`make bench`: every bench in turn, or those that are named (`make bench ARGS="api"`)."""

import importlib
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

failed = []
for name in tuple(sys.argv[1:]) or BENCHES:
    if name not in BENCHES + NAMED:
        sys.exit(f"{name!r} is no bench: there are {', '.join(BENCHES + NAMED)}.")
    print(f"== {name}", flush=True)
    sys.argv = [name]
    try:
        importlib.import_module(f"bench.{name}").main()
    except SystemExit as said:
        print(said, flush=True)
        failed.append(name)
if failed:
    sys.exit(f"did not pass: {', '.join(failed)}")

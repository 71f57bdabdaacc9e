"""The commands onto what an account keeps: save, saved, run, diff, watch. They need a token."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from fabricscout.answers import Diff, Run
from fabricscout.client import FabricScout
from fabricscout.command import Answer, Asked, bad

SAVED_COLUMNS = ("name", "id", "objective", "last_run.made_at", "last_run.model_version")
RUN_COLUMNS = (
    "workload", "rank", "key", "status", "usd_per_gpu_hour", "collected_at", "usd_per_mtoken",
    "interval.low", "interval.high", "estimate.step_time_s", "estimate.exposed_share",
)  # fmt: skip
DIFF_COLUMNS = ("kind", "key", "what", "was_text", "now_text", "delta_percent", "effect")
WATCH_COLUMNS = (
    "id", "comparison.name", "what", "threshold", "channel", "url", "active", "created_at",
    "last_delivery.state",
)  # fmt: skip
NO_SUCH = {"threshold": "-", "state": "-", "url": "-"}  # of a watch of another kind


def save(scout: FabricScout, asked: Asked) -> Answer:
    """Keep a question, and answer it for the first time."""
    names = ("picks", "workload", "gpus", "nodes", "objective", "baseline")
    question = {name: asked.own(name) for name in names}
    kept = scout.comparisons.save(asked.own("name"), where=asked.parameters, **question)
    answer = scout.comparisons.run(kept["id"])
    return _answered(answer, f"kept as {kept['id']}; `fabricscout diff {kept['id']}` compares.")


def saved(scout: FabricScout, asked: Asked) -> Answer:
    """Every comparison of the account."""
    return Answer(
        list(scout.comparisons)[: asked.limit], SAVED_COLUMNS, absent={"made_at": "never"}
    )


def run(scout: FabricScout, asked: Asked) -> Answer:
    """Answer a kept question again."""
    kept = scout.comparisons.find(asked.own("name"))
    return _answered(scout.comparisons.run(kept["id"], asked.own("as_of")))


def _answered(answer: Run, *notes: str) -> Answer:
    rows = list(_rows(answer["results"]))
    absent = {"workload": "-", "rank": "-"}
    return Answer(rows, RUN_COLUMNS, absent=absent, whole=answer, notes=notes)


def _rows(results: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """A row an offer for each workload, ranked ones first; an offer alone where there is none."""
    offers = {each["key"]: {**each, **each["offer"]} for each in results["offers"]}
    for workload in results["workloads"] or [None]:
        title = workload and workload["workload"]["title"]
        ranked = {each["key"]: each for each in workload["results"]} if workload else {}
        for key in [*ranked, *(key for key in offers if key not in ranked)]:
            yield {**offers[key], "workload": title, **ranked.get(key, {"rank": None})}


def diff(scout: FabricScout, asked: Asked) -> Answer:
    """What changed between two runs."""
    kept = scout.comparisons.find(asked.own("name"))
    found = scout.comparisons.diff(kept["id"], asked.own("from"), asked.own("to"))
    absent = {"key": "-", "delta_percent": "-", "effect": "-"}
    notes = [] if found["changes"] else [_why_no_change(found, asked)]
    return Answer(
        found["changes"], DIFF_COLUMNS, absent=absent, whole=found, within="changes", notes=notes
    )


def _why_no_change(found: Diff, asked: Asked) -> str:
    """Nothing changed, or there were no two runs to compare."""
    again = f"`fabricscout run {shlex.quote(asked.own('name'))}`"
    if found["to"] is None:
        return f"it has no run yet, so there is nothing to compare: {again} makes one."
    if found["from"] is not None:
        return "nothing changed between these two runs."
    if asked.own("to"):
        return "no run was made before that one, so there is nothing to compare."
    return f"there is one run only, so there is nothing to compare: {again} makes the next."


def watch(scout: FabricScout, asked: Asked) -> Answer:
    """Make a watch, end one, or list them all or those of one comparison."""
    name, what = asked.own("name"), asked.own("what")
    if ended := asked.own("remove"):
        scout.watches.delete(ended)
        return Answer((), (), notes=["removed."], code=0)
    if what and not name:
        raise bad("NAME", "is needed with --what: the comparison to watch.")
    kept = scout.comparisons.find(name) if name else None
    if kept and what:
        options = {key: asked.own(key) for key in ("threshold", "webhook", "pace")}
        made = scout.watches.create(kept["id"], what, **options)
        notes = [f"its secret, shown this once: {made['secret']}"] if "secret" in made else []
        return Answer([made], WATCH_COLUMNS, absent=NO_SUCH, notes=notes)
    found = [w for w in scout.watches if kept is None or w["comparison"]["id"] == kept["id"]]
    return Answer(found, WATCH_COLUMNS, absent=NO_SUCH)

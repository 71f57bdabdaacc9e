"""The commands that judge: clusters ranked for a workload, types side by side."""

from collections.abc import Iterator, Mapping
from typing import Any

from fabricscout.answers import Ranking
from fabricscout.client import FabricScout
from fabricscout.command import Answer, Asked, bad
from fabricscout.reasons import reasons
from fabricscout.writing import UNKNOWN, in_some_cases

RANK_COLUMNS = (
    "rank", "offer.provider", "offer.instance_type", "offer.tier", "offer.price_model", "nodes",
    "usd_per_mtoken", "interval.low", "interval.high", "estimate.step_time_s", "estimate.mfu",
    "estimate.exposed_share", "usd_per_hour", "usd_lost_to_waiting_per_hour",
    "offer.collected_at", "offer.stale",
)  # fmt: skip
AMOUNTS = ("hours", "tokens", "steps", "deadline_hours", "budget_usd")
REASONS = 3  # why offers are left out, that a note names
QUESTION = ("nodes", "objective", "what_if", *AMOUNTS)


def rank(scout: FabricScout, asked: Asked) -> Answer:
    """Clusters, the best first."""
    more = {name: asked.own(name) for name in QUESTION}
    found = scout.rank(asked.own("workload"), asked.own("gpus"), where=asked.parameters, **more)
    results = found["results"][: asked.limit]
    whole = {**found, "results": results}
    return Answer(results, RANK_COLUMNS, whole=whole, notes=list(_notes(found)))


def _notes(found: Ranking) -> Iterator[str]:
    if wish := found["wish"]:
        yield _came_of(wish)
    yield f"model {found['model_version']}, catalog of {found['catalog_as_of']}."
    if validation := found["validation"]:
        error, rows = validation["median_abs_error"], validation["rows"]
        yield f"the model's median error is {error:.1%} over {rows} measured rows."
    priced = [each["offer"] for each in found["results"] if each["usd_per_hour"] is not None]
    if stale := [offer["collected_at"] for offer in priced if offer["stale"]]:
        oldest = min(stale)[:10]
        yield f"{len(stale)} of the {len(priced)} prices it ranks by are stale, from {oldest} on."
    if left_out := found["left_out"]:
        yield f"{len(left_out)} left out; --json says why of each."
        for why in reasons(left_out)[:REASONS]:
            yield f"  {why['count']} as {why['for_example']}: {why['reason']}"


def _came_of(wish: Mapping[str, Any]) -> str:
    """The smallest cluster that keeps a deadline and a budget; the service's reason if none."""
    least = wish["smallest"]
    if least is None:
        return f"{wish['reason']}."
    size = f"{least['gpus']} GPUs on {least['nodes']} instances"
    said = [f"{least['provider']} {least['instance_type']}", least["region"], size]
    if least["hours"]:
        said.append(f"{least['hours']['expected']:,.0f} h")
    if least["usd"]:
        said.append(f"${least['usd']['expected']:,.0f}")
    return f"the smallest cluster that does: {', '.join(filter(None, said))}."


def compare(scout: FabricScout, asked: Asked) -> Answer:
    """A line an attribute, a column a pick."""
    picks: list[str] = asked.own("picks")
    for pick in picks:
        if "/" not in pick:
            raise bad("PROVIDER/TYPE", f"has a slash, and {pick!r} has none.")
    workload, gpus = asked.own("workload"), asked.own("gpus")
    found = scout.compare(picks, workload, gpus, price_model=asked.own("price_model"))
    names = [f"pick{place}" for place, _pick in enumerate(picks, start=1)]
    rows = [
        {"attribute": line["attribute"], "unit": line["unit"]}
        | dict(zip(names, line["cells"], strict=True))
        for line in found["lines"]
    ]
    columns = [f"{name}.value" for name in names]
    return Answer(
        rows,
        ("attribute", "unit", *columns),
        headings=dict(zip(columns, picks, strict=True)),
        absent={"unit": "-", "value": _not_said},
        whole=found,
        within="lines",
    )


def _not_said(cell: Mapping[str, Any]) -> str:
    return in_some_cases(cell["claims"]) if cell["claims"] else UNKNOWN

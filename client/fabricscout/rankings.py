"""The commands that judge: clusters ranked for a workload, types side by side."""

from fabricscout.answers import Ranking
from fabricscout.client import FabricScout
from fabricscout.command import Answer, Asked, bad

RANK_COLUMNS = (
    "rank", "offer.provider", "offer.instance_type", "offer.tier", "offer.price_model", "nodes",
    "usd_per_mtoken", "interval.low", "interval.high", "estimate.step_time_s", "estimate.mfu",
    "estimate.exposed_share", "usd_per_hour", "usd_lost_to_waiting_per_hour",
    "offer.collected_at", "offer.stale",
)  # fmt: skip
AMOUNTS = ("hours", "tokens", "steps", "deadline_hours", "budget_usd")
QUESTION = ("nodes", "objective", "what_if", *AMOUNTS)


def rank(scout: FabricScout, asked: Asked) -> Answer:
    """Clusters, the best first."""
    more = {name: asked.own(name) for name in QUESTION}
    found = scout.rank(asked.own("workload"), asked.own("gpus"), where=asked.parameters, **more)
    results = found["results"][: asked.limit]
    whole = {**found, "results": results}
    return Answer(results, RANK_COLUMNS, whole=whole, notes=list(_notes(found)))


def _notes(found: Ranking) -> list[str]:
    said = [f"model {found['model_version']}, catalog of {found['catalog_as_of']}."]
    if validation := found["validation"]:
        error, rows = validation["median_abs_error"], validation["rows"]
        said.append(f"the model's median error is {error:.1%} over {rows} measured rows.")
    if left_out := found["left_out"]:
        said.append(f"{len(left_out)} left out; --json says why of each.")
    return said


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
        absent={"unit": "-"},
        whole=found,
    )

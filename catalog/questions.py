"""What is asked of the cost model, checked: which job, on what, how much of it, within what limits.

Either a count of GPUs or nodes is given, or a deadline or a budget that finds the count.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict

import scoring
from catalog.currency import Currency, in_currency
from catalog.filters import FILTERS, OfferQuery, read
from catalog.query import BadQuery, no_keys, number, truth
from scoring.goodput import LIMITS

OBJECTIVES = ("usd_per_mtoken", "time", "efficiency", "gpus")
# What decides the time on a cluster, under the names that catalog and cost model share.
PHYSICS = (
    "gpu", "gpu_count", "scale_up", "scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s",
    "scale_up_domain_gpus", "scale_up_domain_guaranteed_gpus", "nvlink_generation", "fabric",
    "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s", "gpudirect",
    "gpudirect_rdma", "sharp", "oversubscription", "max_gpus_on_one_fabric",
)  # fmt: skip
RELIABILITY = LIMITS  # what may be assumed of it, and the most of each
# What may be supposed: any of them but the GPU, and a second data centre.
SUPPOSABLE = (*PHYSICS[2:], "site_gpus", "site_link_gbits_per_s", "site_round_trip_ms")
KEYS = (
    "workload", "gpus", "nodes", "filter", "objective", "what_if", "hours", "tokens", "steps",
    "deadline_hours", "budget_usd", "reliability", "scenarios", "currency",
)  # fmt: skip
MOST_GPUS = 131_072
MOST = {"hours": 100_000.0, "deadline_hours": 100_000.0, "budget_usd": 1e12, "tokens": 1e18,
        "steps": 1e15}  # fmt: skip
MOST_MESSAGES = 20  # of a custom job: each is costed on each cluster, and stands in the answer
LEAST = 1e-6  # of each: less is no amount, and its quotients are no numbers
KINDS = {slug: str(scoring.job_fields(slug)["kind"]) for slug in scoring.jobs()}  # of presets


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked question: which job, on how many GPUs or nodes, over which offers, how much of it.

    Without a count the deadline or the budget finds one.
    """

    job: scoring.Job
    workload: str | Mapping[str, Any]
    query: OfferQuery
    gpus: int | None = None
    nodes: int | None = None
    objective: str = OBJECTIVES[0]
    what_if: Mapping[str, Any] | str | None = None  # facts supposed to be so, or a scenario's name
    scenarios: bool = False  # whether every scenario of the first clusters is wanted
    hours: float | None = None  # that the job is rented for
    tokens: float | None = None  # to be trained on or written
    steps: float | None = None  # to be done
    deadline_hours: float | None = None
    budget_usd: float | None = None
    until: float | None = None  # by `time.monotonic()`: a page is shown before; an answer waits [s]
    reliability: scoring.Reliability = scoring.GOODPUT
    currency: Currency | None = None  # besides the dollar

    @property
    def counts(self) -> bool:
        """Whether the count of GPUs is what is looked for."""
        return self.gpus is None and self.nodes is None

    @property
    def work(self) -> float | None:
        """How much is to be done, as the model counts: served tokens, or else steps."""
        if self.tokens is None or self.job.kind == "decode":
            return self.steps if self.tokens is None else self.tokens
        return self.tokens / self.job.tokens

    @property
    def wishes(self) -> bool:
        """Whether there is a limit of time or money."""
        return self.deadline_hours is not None or self.budget_usd is not None


def asked(body: object) -> Asked:
    """A body of `POST estimates/`, checked.

    Raises
    ------
    BadQuery
        Naming every field that is wrong.
    """
    if not isinstance(body, dict):
        raise BadQuery({"body": ["must be a JSON object."]})
    wrong = no_keys(body, KEYS)
    if body.get("objective", OBJECTIVES[0]) not in OBJECTIVES:
        wrong["objective"] = [f"must be one of: {', '.join(OBJECTIVES)}."]
    what_if = body.get("what_if", {})
    if isinstance(what_if, str):
        if what_if not in scoring.SCENARIOS:
            wrong["what_if"] = [f"must be one of: {', '.join(scoring.SCENARIOS)}."]
    elif not isinstance(what_if, dict) or set(what_if) - set(SUPPOSABLE):
        names = ", ".join(scoring.SCENARIOS)
        wrong["what_if"] = [f"must be an object of: {', '.join(SUPPOSABLE)}; or one of: {names}."]
    elif problem := _impossible(what_if):
        wrong[f"what_if.{problem.field}"] = [without_field(problem)]
    if not isinstance(body.get("scenarios", False), bool):
        wrong["scenarios"] = ["must be true or false."]
    workload, given = _amount_apart(body.get("workload"), body, wrong)
    limits = {name: _above_zero(given, name, most, wrong) for name, most in MOST.items()}
    gpus, nodes = (_whole(body, name, wrong) for name in ("gpus", "nodes"))
    wrong = contradictions(given) | wrong
    if wrong:
        raise BadQuery(wrong)
    found = Asked(
        job=job_of(workload),
        workload=workload,
        query=read(as_query(body.get("filter", {}))),
        gpus=gpus,
        nodes=nodes,
        objective=body.get("objective", OBJECTIVES[0]),
        what_if=what_if,
        scenarios=body.get("scenarios") is True,
        reliability=_reliability(body.get("reliability", {})),
        currency=_currency(body.get("currency")),
        **limits,
    )
    return sensible(found)


def _currency(named: object) -> Currency | None:
    try:
        return None if named is None else in_currency()(str(named))
    except ValueError as problem:
        raise BadQuery({"currency": [str(problem)]}) from None


def sensible(found: Asked) -> Asked:
    """The question, where its job can be measured as it asks.

    Raises
    ------
    BadQuery
        Where tokens are asked of a job that has none, or steps of one that serves.
    """
    if found.tokens is not None and found.job.kind == "custom":
        raise BadQuery({"tokens": ["are what this job has none of: give steps."]})
    if found.steps is not None and found.job.kind == "decode":
        raise BadQuery({"steps": ["are not what serving is measured in: give tokens."]})
    return found


def contradictions(given: Mapping[str, Any]) -> dict[str, list[str]]:
    """What cannot be wanted together, or not without more."""
    wrong: dict[str, list[str]] = {}
    amounts = [name for name in ("hours", "tokens", "steps") if given.get(name) is not None]
    wishes = [name for name in ("deadline_hours", "budget_usd") if given.get(name) is not None]
    if len(amounts) > 1:
        wrong[amounts[0]] = [f"contradicts {amounts[1]}: give one, and the other follows from it."]
    if "deadline_hours" in wishes:
        if "hours" in amounts:
            wrong["deadline_hours"] = [
                "is of a job of so many tokens or steps; hours are the time."
            ]
        elif not amounts:
            wrong["deadline_hours"] = ["needs to know what must be done by then: tokens or steps."]
    if "budget_usd" in wishes and not amounts:
        wrong["budget_usd"] = ["needs to know what it is for: tokens, steps or hours."]
    counts = [name for name in ("gpus", "nodes") if given.get(name) is not None]
    finds = wishes and "hours" not in amounts
    if len(counts) == 2 or not (counts or finds):
        wrong["gpus"] = ["give either gpus or nodes, or a deadline or budget that finds the count."]
    return wrong


def _amount_apart(
    workload: Any, body: Mapping[str, Any], wrong: dict[str, list[str]]
) -> tuple[Any, dict[str, Any]]:
    """The job, and the body with the amount that the workload says; a slug within it is a base."""
    given = dict(body)
    if not isinstance(workload, Mapping):
        return workload, given
    fields = dict(workload)
    for name in ("tokens", "steps"):
        if name in fields:
            amount = fields.pop(name)
            if given.get(name, amount) != amount:
                wrong[name] = ["contradicts the workload's own."]
            given[name] = amount
    slug = fields.get("slug")
    if isinstance(slug, str) and slug in scoring.jobs():
        changed = {name: value for name, value in fields.items() if name != "slug"}
        return (dict(scoring.job_fields(slug)) | changed if changed else slug), given
    return fields, given


def job_of(workload: object) -> scoring.Job:
    """A preset by its slug, or a job given in full."""
    try:
        if isinstance(workload, str):
            return scoring.job(workload)
        if isinstance(workload, Mapping):
            return _sent_seldom(scoring.Job.from_fields(workload, typed=True))
    except scoring.FieldError as problem:
        where = "workload" if isinstance(workload, str) else f"workload.{problem.field}"
        raise BadQuery({where: [without_field(problem)]}) from None
    raise BadQuery(
        {"workload": ["must be a slug of workloads/, or an object that describes a job."]}
    )


def _sent_seldom(job: scoring.Job) -> scoring.Job:
    if len(job.messages) > MOST_MESSAGES:
        raise scoring.FieldError("messages", f"must be a list of at most {MOST_MESSAGES} tables.")
    return job


def _reliability(given: object) -> scoring.Reliability:
    try:
        said = given if isinstance(given, Mapping) else {"reliability": given}
        return scoring.reliability(said, typed=True)
    except scoring.FieldError as problem:
        raise BadQuery({f"reliability.{problem.field}": [without_field(problem)]}) from None


def _impossible(what_if: Mapping[str, Any]) -> scoring.FieldError | None:
    """What no cluster can be, whatever else is known of it."""
    try:
        any_ = {"gpu": "h100-sxm5-80gb", "gpu_count": 8}
        scoring.Cluster.from_fields(any_ | dict(what_if), typed=True)
    except scoring.FieldError as problem:
        return problem
    return None


def without_field(problem: scoring.FieldError) -> str:
    """Its sentence, for a place that names the field already."""
    return str(problem).removeprefix(f"{problem.field}: ")


def _whole(body: Mapping[str, Any], name: str, wrong: dict[str, list[str]]) -> int | None:
    value = body.get(name)
    if value is None and name not in body:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # to JSON 8.0 is a whole number
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MOST_GPUS:
        wrong[name] = [f"must be a whole number from 1 to {MOST_GPUS}."]
        return None
    return value


def _above_zero(
    given: Mapping[str, Any], name: str, most: float, wrong: dict[str, list[str]]
) -> float | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not LEAST <= value <= most:
        wrong[name] = [f"must be a number above 0, {LEAST:g} at least, and up to {most:g}."]
        return None
    return float(value)


def as_query(given: object) -> QueryDict:
    """The filter of the body, as the query string it stands for.

    Raises
    ------
    BadQuery
        Where a value is none that a query string could hold there.
    """
    if not isinstance(given, dict):
        raise BadQuery({"filter": ["must be an object of the query parameters of offers/."]})
    query = QueryDict(mutable=True)
    wrong = {}
    for name, value in given.items():
        try:
            query.setlist(str(name), _texts(name, value))
        except ValueError as problem:
            wrong[str(name)[:80]] = [str(problem)]
    if wrong:
        raise BadQuery(wrong)
    return query


def _texts(name: str, value: object) -> list[str]:
    """What the field says, as texts; null says nothing, and in a list there is no nothing."""
    if not isinstance(value, list):
        return [] if value is None else [_text(name, value)]
    if name in ("as_of", "rows", "include_stale") or (name in FILTERS and not FILTERS[name].many):
        raise ValueError("must be one value, not a list.")
    if "" in value:
        raise ValueError("must be text, or a list of texts.")
    return [_text(name, each) for each in value]


def _text(name: str, value: object) -> str:
    """A number where one is asked for, true or false where that is, and else text alone."""
    takes = FILTERS[name].read if name in FILTERS else None
    if isinstance(value, str):
        return value
    if isinstance(value, bool) and (takes is truth or takes is None):
        return str(value).lower()
    if isinstance(value, int | float) and not isinstance(value, bool) and takes is number:
        return f"{value + 0.0:f}" if isinstance(value, float) else str(value)
    if isinstance(value, int) and not isinstance(value, bool) and takes is None:
        return str(value)
    raise ValueError("must be text, or a list of texts.")

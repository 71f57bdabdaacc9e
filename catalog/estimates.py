"""The one bridge from tables to physics: offers become clusters, clusters become ranked estimates.

Time depends on hardware alone, so clusters of equal hardware are computed once, kept in the table
`Estimate` under a digest of the facts they rest on and the model's version, and priced afterwards
with what each offer costs now.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils import timezone

import scoring
from catalog import offers
from catalog.filters import OfferQuery, parse
from catalog.models import CatalogVersion, Estimate, Workload
from catalog.query import BadQuery
from scoring.estimate import layouts_considered
from scoring.gpus import gpus as modelled_gpus

OBJECTIVES = ("usd_per_mtoken", "time", "efficiency")
# What decides the time on a cluster, under the names that catalog and cost model share.
PHYSICS = (
    "gpu", "gpu_count", "scale_up", "scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s",
    "scale_up_domain_gpus", "scale_up_domain_guaranteed_gpus", "nvlink_generation", "fabric",
    "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s", "gpudirect",
    "gpudirect_rdma", "sharp", "oversubscription", "rail_optimised", "adaptive_routing",
    "max_gpus_on_one_fabric",
)  # fmt: skip
MOST_GPUS = 131_072
MOST_HOURS = 100_000.0
MOST_WORK = 40_000_000  # candidate layouts × kinds of cluster of one request: about 10 s of a core


class TooMuch(Exception):
    """An estimate that would cost more than is allowed; the message names the cap."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A checked question: which job, on how many GPUs or nodes, over which offers."""

    job: scoring.Job
    workload: str | Mapping[str, Any]
    gpus: int | None
    nodes: int | None
    query: OfferQuery
    objective: str
    what_if: Mapping[str, Any]
    hours: float | None = None  # that the job runs; None: as long as any minimum term


def workloads() -> list[dict[str, Any]]:
    """The presets: slug, title, kind, the fields of the job, and the source of its shape."""
    known = Workload.objects.order_by("slug")
    return [dict(each) for each in known.values("slug", "title", "kind", "job", "source")]


def rank(
    workload: str | Mapping[str, Any],
    gpus: int,
    query: OfferQuery,
    objective: str = "usd_per_mtoken",
    hours: float | None = None,
) -> dict[str, Any]:
    """The clusters that the query lets through, ranked for one workload (DESIGN 7, `estimates/`).

    Of a job of so many `hours` the money is what is billed for them: no less than the minimum term.

    Raises
    ------
    BadQuery
        Where the workload is unknown or not of its form.
    TooMuch
        Over the cap of one request.
    """
    job = _job(workload)
    return _answer(Asked(job, workload, gpus, None, query, objective, {}, hours))


def answer(body: object) -> dict[str, Any]:
    """What `POST estimates/` answers for its body."""
    return _answer(_asked(body))


# --- The question -----------------------------------------------------------------------------

KEYS = ("workload", "gpus", "nodes", "filter", "objective", "what_if", "hours")


def _asked(body: object) -> Asked:
    if not isinstance(body, dict):
        raise BadQuery({"body": ["must be a JSON object."]})
    wrong: dict[str, list[str]] = {
        str(key)[:80]: [f"is not a key. There are: {', '.join(KEYS)}."]
        for key in body
        if key not in KEYS
    }
    if ("gpus" in body) == ("nodes" in body):
        wrong["gpus"] = ["give either gpus or nodes."]
    objective = body.get("objective", OBJECTIVES[0])
    if objective not in OBJECTIVES:
        wrong["objective"] = [f"must be one of: {', '.join(OBJECTIVES)}."]
    what_if = body.get("what_if", {})
    if not isinstance(what_if, dict) or set(what_if) - set(PHYSICS[2:]):
        wrong["what_if"] = [f"must be an object of: {', '.join(PHYSICS[2:])}."]
    elif problem := _impossible(what_if):
        wrong[f"what_if.{problem.field}"] = [_without_field(problem)]
    if wrong:
        raise BadQuery(wrong)
    return Asked(
        job=_job(body.get("workload")),
        workload=body["workload"],
        gpus=_whole(body, "gpus", MOST_GPUS),
        nodes=_whole(body, "nodes", MOST_GPUS),
        query=parse(_as_query(body.get("filter", {}))),
        objective=objective,
        what_if=what_if,
        hours=_hours(body),
    )


def _job(workload: object) -> scoring.Job:
    """A preset by its slug, or a job given in full."""
    try:
        if isinstance(workload, str):
            return scoring.job(workload)
        if isinstance(workload, Mapping):
            return scoring.Job.from_fields(workload)
    except scoring.FieldError as problem:
        raise BadQuery({f"workload.{problem.field}": [_without_field(problem)]}) from None
    raise BadQuery(
        {"workload": ["must be a slug of workloads/, or an object that describes a job."]}
    )


def _impossible(what_if: Mapping[str, Any]) -> scoring.FieldError | None:
    """What no cluster can be, whatever else is known of it."""
    try:
        scoring.Cluster.from_fields({"gpu": "h100-sxm5-80gb", "gpu_count": 8} | dict(what_if))
    except scoring.FieldError as problem:
        return problem
    return None


def _without_field(problem: scoring.FieldError) -> str:
    return str(problem).removeprefix(f"{problem.field}: ")


def _whole(body: Mapping[str, Any], name: str, most: int) -> int | None:
    value = body.get(name)
    if value is None and name not in body:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise BadQuery({name: [f"must be a whole number from 1 to {most}."]})
    return value


def _hours(body: Mapping[str, Any]) -> float | None:
    value = body.get("hours")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST_HOURS:
        raise BadQuery({"hours": [f"must be a number above 0 and up to {MOST_HOURS:g}."]})
    return float(value)


def _as_query(given: object) -> QueryDict:
    """The filter of the body, as the query string it stands for."""
    if not isinstance(given, dict):
        raise BadQuery({"filter": ["must be an object of the query parameters of offers/."]})
    query = QueryDict(mutable=True)
    for name, value in given.items():
        values = value if isinstance(value, list) else [value]
        query.setlist(str(name), [_text(each) for each in values if each is not None])
    return query


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- The answer -------------------------------------------------------------------------------


def _answer(asked: Asked) -> dict[str, Any]:
    candidates, left_out = _candidates(asked)
    estimates = _estimates(asked, candidates)
    results = []
    for candidate in candidates:
        estimate = estimates[candidate.digest]
        if estimate["fits"]:
            results.append(_priced(candidate, estimate, asked.hours))
        else:
            left_out.append(_left_out(candidate.offer, "; ".join(estimate["reasons"])))
    results.sort(key=lambda result: _place(result, asked))
    version = CatalogVersion.objects.first()
    return {
        "workload": _named(asked),
        "gpus": asked.gpus,
        "nodes": asked.nodes,
        "objective": asked.objective,
        "catalog_as_of": version.changed_at if version else None,
        "model_version": scoring.MODEL_VERSION,
        "validation": scoring.measured_error(asked.job.kind),
        "results": [{"rank": place} | result for place, result in enumerate(results, start=1)],
        "left_out": left_out,
    }


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An offer as a cluster: so many of its instances, and the digest of what its time rests on."""

    offer: dict[str, Any]
    cluster: scoring.Cluster
    gpus: int
    digest: str

    @property
    def nodes(self) -> int:
        return -(-self.gpus // self.cluster.gpu_count)


def _candidates(asked: Asked) -> tuple[list[_Candidate], list[dict[str, Any]]]:
    """The offers that can be estimated, and those that cannot with the reason."""
    candidates, left_out = [], []
    for offer in offers.cheapest(asked.query):
        try:
            candidates.append(_candidate(offer, asked))
        except _Unfit as reason:
            left_out.append(_left_out(offer, str(reason)))
        except scoring.FieldError as problem:
            left_out.append(_left_out(offer, f"its facts contradict each other: {problem}"))
    return candidates, left_out


class _Unfit(Exception):
    """Why an offer cannot be estimated, in words."""


def _candidate(offer: dict[str, Any], asked: Asked) -> _Candidate:
    if offer["gpu"] is None:
        among = ", ".join(offer["gpu_candidates"])
        raise _Unfit("nobody says which GPU it has" + (f": one of {among}" if among else ""))
    if offer["gpu"] not in modelled_gpus():
        raise _Unfit(f"the cost model has no figures of {offer['gpu']}")
    if offer["gpu_count"] is None:
        raise _Unfit("nobody says how many GPUs it has")
    fields = _supposing({name: offer[name] for name in PHYSICS}, asked.what_if)
    cluster = scoring.Cluster.from_fields(
        fields, name=f"{offer['provider']}/{offer['instance_type']}"
    )
    wanted = asked.gpus or (asked.nodes or 1) * cluster.gpu_count
    gpus = scoring.whole_nodes(cluster, wanted)
    if gpus > MOST_GPUS:
        raise _Unfit(f"more than {MOST_GPUS} GPUs")
    if gpus > cluster.near_gpus and offer["multi_node"] == "no":
        raise _Unfit("several of it cannot be had on one fabric")
    return _Candidate(offer, cluster, gpus, _digest(fields, gpus, asked.job))


# What follows from a fact: supposing another, it is no longer known but follows anew.
FOLLOWS = {
    "gpudirect_rdma": ("gpudirect",),
    "fabric_nics": ("fabric_gbits_per_s",),
    "fabric_gbits_per_s_per_nic": ("fabric_gbits_per_s",),
    "fabric_gbits_per_s": ("fabric_nics", "fabric_gbits_per_s_per_nic"),
    "scale_up": ("scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus"),
    "scale_up_gbytes_per_s": ("scale_up_pair_gbytes_per_s",),
    "scale_up_domain_gpus": ("scale_up_domain_guaranteed_gpus",),
}


def _supposing(fields: Mapping[str, Any], what_if: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with some of them supposed to be others."""
    undone = {name for supposed in what_if for name in FOLLOWS.get(supposed, ())}
    return dict(fields) | dict.fromkeys(undone) | dict(what_if)


def _digest(fields: Mapping[str, Any], gpus: int, job: scoring.Job) -> str:
    """What the time rests on: the model, the job, the facts, and how many GPUs."""
    text = repr((scoring.MODEL_VERSION, job, gpus, sorted(fields.items())))
    return hashlib.sha256(text.encode()).hexdigest()


def _estimates(asked: Asked, candidates: Iterable[_Candidate]) -> dict[str, dict[str, Any]]:
    """The estimate of each digest: from the table, or computed now and kept there."""
    wanted = {candidate.digest: candidate for candidate in candidates}
    known = dict(Estimate.objects.filter(digest__in=wanted).values_list("digest", "result"))
    missing = [candidate for digest, candidate in wanted.items() if digest not in known]
    _refuse_too_much(asked, missing)
    fresh = [_computed(candidate, asked) for candidate in missing]
    Estimate.objects.bulk_create(fresh, ignore_conflicts=True)
    return known | {estimate.digest: estimate.result for estimate in fresh}


def _refuse_too_much(asked: Asked, missing: Iterable[_Candidate]) -> None:
    work = sum(layouts_considered(asked.job, c.gpus) for c in missing)
    if work > MOST_WORK:
        raise TooMuch(
            f"this asks for {work:,} layouts, and {MOST_WORK:,} are the most of one request: "
            "narrow the filter or take fewer GPUs."
        )


def _computed(candidate: _Candidate, asked: Asked) -> Estimate:
    try:
        result = scoring.best(candidate.cluster, asked.job, candidate.gpus).to_json()
    except scoring.FieldError as problem:  # a figure that the model lacks, of this GPU alone
        result = {"fits": False, "reasons": [str(problem)]}
    return Estimate(
        digest=candidate.digest,
        workload_id=asked.workload if isinstance(asked.workload, str) else None,
        gpus=candidate.gpus,
        model_version=scoring.MODEL_VERSION,
        result=result,
        computed_at=timezone.now(),
    )


def _priced(candidate: _Candidate, estimate: dict[str, Any], hours: float | None) -> dict[str, Any]:
    """An estimate with what it costs on this offer now.

    An hour that is used costs more than one that is rented, where a minimum term outlasts the job.
    """
    offer, nodes = candidate.offer, candidate.nodes
    per_hour = None if offer["usd_per_hour"] is None else float(offer["usd_per_hour"]) * nodes
    tokens, step_s = estimate["tokens_per_s"], estimate["step_time_s"]
    billed = hours and max(hours, float(offer["minimum_hours"] or 0))
    per_used_hour = per_hour and per_hour * (billed / hours if billed and hours else 1)
    per_mtoken = scoring.usd_per_mtoken(per_used_hour, tokens)
    low, high = (estimate["interval"][end] / step_s for end in ("low", "high"))
    return {
        "offer": offer,
        "nodes": nodes,
        "estimate": estimate | {"cluster": candidate.cluster.name},
        "usd_per_mtoken": per_mtoken,
        "usd_per_step": None if per_used_hour is None else per_used_hour * step_s / 3600,
        "usd_per_hour": per_hour,
        "hours_billed": billed,
        "usd_for_the_job": per_hour and billed and per_hour * billed,
        "usd_lost_to_waiting_per_hour": scoring.usd_lost_to_waiting_per_hour(
            per_hour, estimate["exposed_share"]
        ),
        "interval": {
            "of": "usd_per_mtoken" if per_mtoken else "step_time_s",
            "low": (per_mtoken or step_s) * low,
            "high": (per_mtoken or step_s) * high,
        },
    }


def _left_out(offer: dict[str, Any], reason: str) -> dict[str, Any]:
    return {"offer": offer, "reason": reason}


def _named(asked: Asked) -> dict[str, Any]:
    if isinstance(asked.workload, str):
        named = Workload.objects.filter(slug=asked.workload).values("slug", "title").first()
        return dict(named or {"slug": asked.workload, "title": asked.workload})
    return {"slug": None, "title": asked.job.name, "job": dict(asked.workload)}


def _place(result: Mapping[str, Any], asked: Asked) -> tuple[Any, ...]:
    """Best first; prices too old to rank after fresher ones, and unpublished ones last."""
    estimate, rate = result["estimate"], result["estimate"]["tokens_per_s"]
    name = (result["offer"]["provider"], result["offer"]["instance_type"])
    if asked.objective == "time":
        return 1 / rate if rate else estimate["step_time_s"], name
    if asked.objective == "efficiency":
        return -estimate["fabric_efficiency"], name
    money = result["usd_per_mtoken"] if rate else result["usd_per_step"]
    outdated = result["offer"]["outdated"] and not asked.query.include_stale
    return money is None, outdated, money or 0.0, name

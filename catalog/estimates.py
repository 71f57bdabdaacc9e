"""The one bridge from tables to physics: offers become clusters, clusters become ranked estimates.

`questions` checks what is asked, `candidates` makes clusters of offers and keeps their times,
`money` prices them with what each offer costs now, `wishes` holds them to a deadline and a budget.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import scoring
from catalog import advice, doubt, filters, growth, money, wishes
from catalog.alternatives import alternatives
from catalog.candidates import (
    Candidate,
    TooMany,
    TooMuch,
    Unfinished,
    left_out,
    machines,
    refuse_too_much,
    timed,
)
from catalog.counts import misses
from catalog.filters import OfferQuery
from catalog.kept import is_kept, kept_or_made
from catalog.models import CatalogVersion, Workload
from catalog.query import BadQuery
from catalog.questions import (
    MOST,
    MOST_GPUS,
    OBJECTIVES,
    Asked,
    asked,
    contradictions,
    job_of,
    sensible,
    without_field,
)
from scoring import SCENARIOS

EXPLAINED = 5  # clusters of a ranking that are explained in words, best first

__all__ = [
    "MOST",
    "MOST_GPUS",
    "OBJECTIVES",
    "SCENARIOS",
    "TooMany",
    "TooMuch",
    "Unfinished",
    "accuracy",
    "answer",
    "asked",
    "contradictions",
    "prepared",
    "question",
    "rank",
    "workloads",
]


def workloads() -> list[dict[str, Any]]:
    """The presets: slug, title, kind, the fields of the job, and the source of its shape."""
    known = Workload.objects.order_by("slug")
    return [dict(each) for each in known.values("slug", "title", "kind", "job", "source")]


def accuracy() -> dict[str, Any]:
    """How far off the model was: by kind of measurement, and the range that each answer shows."""
    return {
        "version": scoring.MODEL_VERSION,
        "measured": scoring.measured_errors(),
        "ranges": scoring.error_ranges(),
        "groups": scoring.measured_groups(),
    }


def rank(
    workload: str | Mapping[str, Any], gpus: int | None, query: OfferQuery, **more: Any
) -> dict[str, Any]:
    """The clusters that the query lets through, ranked for one workload (DESIGN 7, `estimates/`).

    `more` are fields of `questions.Asked`: objective, hours, tokens, deadline_hours, what_if...

    Raises
    ------
    BadQuery
        Where the workload is unknown or not of its form.
    TooMuch
        Over the cap of one request.
    """
    return ranked(question(workload, gpus, query, **more))


def question(
    workload: str | Mapping[str, Any], gpus: int | None, query: OfferQuery, **more: Any
) -> Asked:
    """What `rank` asks."""
    return sensible(Asked(job_of(workload), workload, query, gpus=gpus, **more))


def answer(body: object) -> dict[str, Any]:
    """What `POST estimates/` answers for its body."""
    return ranked(asked(body))


def ranked(question: Asked) -> dict[str, Any]:
    """The answer to a checked question: as kept, where nothing that it rests on has changed.

    Raises
    ------
    BadQuery
        Where the cost model cannot answer it for any offer: this is its only way to the doors.
    """
    try:
        answer: dict[str, Any] = kept_or_made(_told(question), lambda: _ranked(question))
    except scoring.FieldError as problem:  # that no offer was left out for: the question's own
        raise BadQuery({problem.field: [without_field(problem)]}) from problem
    return answer


def prepared(question: Asked) -> bool:
    """Make the answer to a question before anyone asks; False where it was there already."""
    if is_kept(_told(question)):
        return False
    ranked(question)
    return True


def _told(question: Asked) -> object:
    """What tells a question from others: not how long it may wait, nor how it is written."""
    workload = question.workload
    named = workload if isinstance(workload, str) else sorted(workload.items())
    return replace(question, workload="", until=None, what_if=question.what_if or None), named


def _ranked(question: Asked) -> dict[str, Any]:
    offered, without = machines(question)
    refuse_too_much(question, offered)
    found, too_few = wishes.counted(question, offered)
    without += too_few
    kept, broken, unfit = [], [], []
    for candidate, estimate in timed(question, found):
        if not estimate["fits"]:
            unfit.append((candidate, estimate))
            without.append(left_out(candidate.offer, "; ".join(estimate["reasons"])))
            continue
        result = money.priced(candidate, estimate, question)
        if reason := wishes.kept(question, result):
            broken.append(result)
            without.append(left_out(candidate.offer, reason))
        else:
            kept.append((candidate, result))
    kept.sort(key=lambda pair: _place(pair[1], question))
    results = [result for _candidate, result in kept]
    for candidate, result in kept[:EXPLAINED]:
        result.update(_explained(candidate, result))
    if question.scenarios:
        for result, others in zip(results, alternatives(question, kept), strict=False):
            result["what_if"] = others
    also: dict[str, Any] = {}
    if question.scenarios and question.job.kind == "decode":
        also["frontier"] = growth.frontier(question, kept)
    elif question.scenarios:
        also["growth"] = growth.growth(question, kept)
    if opposed := filters.contradictions(question.query):
        also["contradictions"] = opposed
    version = CatalogVersion.objects.first()
    return also | {
        "workload": _named(question),
        "gpus": question.gpus,
        "nodes": question.nodes,
        "objective": question.objective,
        "catalog_as_of": version.changed_at if version else None,
        "model_version": scoring.MODEL_VERSION,
        "validation": scoring.measured_error(question.job.kind),
        "wish": wishes.said(question, results, broken),
        "nearest": None if results else _nearest(question, without, unfit),
        "doubt": doubt.doubt(question, kept),
        "assumptions": [money.NOT_IN_THE_PRICE],
        "results": [{"rank": place} | result for place, result in enumerate(results, start=1)],
        "left_out": without,
    }


def _nearest(
    question: Asked, without: list[Any], unfit: list[tuple[Candidate, dict[str, Any]]]
) -> dict[str, Any]:
    """Where nothing can be ranked, what would: fewer filters, or another count of GPUs."""
    drop = [] if without else misses(question.query)
    return {
        "without_filters": [{"filters": names, "offers": offers} for names, offers in drop],
        "count": wishes.nearest_count(unfit),
    }


def _explained(candidate: Candidate, result: dict[str, Any]) -> dict[str, Any]:
    """Advice in words, and how to see on day one that the cluster is what it is taken for."""
    cluster, near = candidate.cluster, candidate.cluster.near_gpus
    links = advice.Links(cluster.domain_gpus, near)
    said: dict[str, Any] = {"advice": advice.advice(result, links), "nccl_tests": None}
    if test := advice.heaviest(result["estimate"]):
        crosses = any(sent["crossing_bytes"] for sent in result["estimate"]["collectives"])
        gpus = candidate.gpus if crosses else min(candidate.gpus, near)
        bus = scoring.expected_bus(cluster, gpus, advice.SIZES, test)
        nodes = -(-gpus // cluster.gpu_count)
        said["nccl_tests"] = advice.nccl_tests(test, nodes, gpus, bus)
    return said


def _named(question: Asked) -> dict[str, Any]:
    if isinstance(question.workload, str):
        named = Workload.objects.filter(slug=question.workload).values("slug", "title").first()
        return dict(named or {"slug": question.workload, "title": question.workload})
    return {"slug": None, "title": question.job.name, "job": dict(question.workload)}


def _place(result: Mapping[str, Any], question: Asked) -> tuple[Any, ...]:
    """Best first, and of equals by name."""
    offer, estimate = result["offer"], result["estimate"]
    if question.work is not None:
        usd = result["usd_for_the_job"]
    else:
        usd = result["usd_per_mtoken"] if estimate["tokens_per_s"] else result["usd_per_step"]
    outdated = offer["outdated"] and not question.query.include_stale
    by = ranked_by(question.objective, estimate, usd, outdated=outdated)
    return (*by, offer["provider"], offer["instance_type"])


def ranked_by(
    objective: str, estimate: Mapping[str, Any], usd: float | None, *, outdated: bool
) -> tuple[Any, ...]:
    """What an objective ranks by, the least first; a price too old to rank after all fresher ones,
    and one that is not published last.
    """
    if objective == "time":
        rate = estimate["tokens_per_s"]
        return (1 / rate if rate else estimate["step_time_s"],)
    if objective == "efficiency":
        return (-estimate["fabric_efficiency"],)
    place = (usd is None, outdated, usd or 0.0)
    return (estimate["gpus"], *place) if objective == "gpus" else place

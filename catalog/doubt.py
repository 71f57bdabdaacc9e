"""How sure the order is: who could overturn the first, and which one unknown fact would settle it.

Two clusters whose ranges overlap are undecided. A range is the p10 to p90 of the model's error on
measurements of its kind, over every plausible value of what is unknown and every claim to what is
disputed. What is unknown of a machine is the same whatever it is rented for: the dearer of two
terms of one machine can never come first, and is no rival of the other.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import scoring
from catalog.candidates import Candidate, Unfit, estimates
from catalog.money import priced
from catalog.questions import Asked

Result = Mapping[str, Any]
Reach = tuple[float, float, float]
MOST_RIVALS = 24  # whose unknown facts are tried, best first


def reach(question: Asked, result: Result) -> Reach | None:
    """Low, expected and high of what ranks: seconds, or dollars; None where that is not known."""
    estimate, interval = result["estimate"], result["estimate"]["interval"]
    if question.objective == "efficiency":
        return None
    if question.objective == "time":
        expected = 1 / estimate["tokens_per_s"] if estimate["tokens_per_s"] else None
        expected = expected or estimate["step_time_s"]
    elif question.work is not None:
        usd = result["usd_for_the_job_range"]
        return usd and (usd["low"], usd["expected"], usd["high"])
    else:
        expected = result["usd_per_mtoken"] or result["usd_per_step"]
    if expected is None:
        return None
    low, high = (interval[end] / estimate["step_time_s"] for end in ("low", "high"))
    return expected * low, expected, expected * high


def doubt(question: Asked, ranked: Sequence[tuple[Candidate, Result]]) -> dict[str, Any] | None:
    """Who is undecided with the first, and the fact that would settle most; None without ranges."""
    if not ranked or reach(question, ranked[0][1]) is None:
        return None
    dated = ranked[0][0].offer["outdated"]  # prices of one kind of age: the others rank after them
    known = [
        (candidate, result, span)
        for candidate, result in ranked
        if (span := reach(question, result)) and candidate.offer["outdated"] == dated
    ]
    spans = [span for _candidate, _result, span in known]
    rented = [_machine(candidate) for candidate, _result, _span in known]
    rivals = _rivals(spans, rented)
    near = [known[0], *(known[place] for place in rivals)][:MOST_RIVALS]
    return {
        "undecided": bool(rivals),
        "rivals": [
            _name(known[place][1]) | {"low": spans[place][0], "high": spans[place][2]}
            for place in rivals
        ],
        "settled_by": _settling(question, near, len(rivals)) if rivals else None,
    }


def _rivals(spans: Sequence[Reach], rented: Sequence[object]) -> list[int]:
    """Places whose range reaches below the end of the first one's; the first is the lowest.

    Those that rent the first one's very machine, for more, are none.
    """
    first = min(range(len(spans)), key=lambda place: spans[place][1])
    return [
        place
        for place, span in enumerate(spans)
        if rented[place] != rented[first] and span[0] < spans[first][2]
    ]


def _machine(candidate: Candidate) -> tuple[str, ...]:
    """What runs the job: the type, and the digest of what is known of so many of its GPUs."""
    return candidate.offer["provider"], candidate.offer["instance_type"], candidate.digest


def _settling(
    question: Asked, near: Sequence[tuple[Candidate, Result, Reach]], undecided: int
) -> dict[str, Any] | None:
    """The one fact that, whatever it turned out to be, would leave the fewest undecided.

    None where no fact would leave fewer for every value that it may have.
    """
    best: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    for kind, fact, values in _open_facts(near):
        found = list(_if_known(question, near, kind, fact, values))
        left = [each["undecided"] for each in found]
        hidden = undecided - (len(near) - 1)  # rivals beyond those that were tried
        if len(found) < len(values) or max(left) + hidden >= undecided:
            continue
        merit = (max(left), sum(left), *kind, fact)
        if best is None or merit < best[0]:
            said = {"provider": kind[0], "instance_type": kind[1], "fact": fact}
            most = max(left) + hidden
            best = merit, said | {"settles": not most, "undecided_now": undecided, "if": found}
    return best and best[1]


def _open_facts(
    near: Sequence[tuple[Candidate, Result, Reach]],
) -> Iterator[tuple[tuple[str, str], str, tuple[Any, ...]]]:
    """Each type's facts that are unknown or disputed, once, with the values that each may have."""
    seen = set()
    for candidate, _result, _span in near:
        kind = (candidate.offer["provider"], candidate.offer["instance_type"])
        if kind not in seen:
            seen.add(kind)
            for fact, values in candidate.machine.open_facts.items():
                yield kind, fact, values


def _if_known(
    question: Asked,
    near: Sequence[tuple[Candidate, Result, Reach]],
    kind: tuple[str, str],
    fact: str,
    values: Sequence[Any],
) -> Iterator[dict[str, Any]]:
    """What would be first, and how many undecided with it, for each value of the fact."""
    for value in values:
        spans = []
        with suppress(scoring.FieldError, Unfit):
            for candidate, _result, span in near:
                offer = candidate.offer
                if (offer["provider"], offer["instance_type"]) == kind:
                    spans.append(_span_if(question, candidate, {fact: value}))
                else:
                    spans.append(span)
        if len(spans) == len(near) and all(spans):
            known = [span for span in spans if span]
            first = min(range(len(known)), key=lambda place: known[place][1])
            left = len(_rivals(known, [_machine(candidate) for candidate, _, _ in near]))
            yield {"value": value, "first": _name(near[first][1]), "undecided": left}


def _span_if(question: Asked, candidate: Candidate, facts: Mapping[str, Any]) -> Reach | None:
    supposed = candidate.machine.supposing(facts).on(candidate.gpus, question.job)
    estimate = estimates(question, [supposed])[supposed.digest]
    return reach(question, priced(supposed, estimate, question)) if estimate["fits"] else None


def _name(result: Result) -> dict[str, Any]:
    offer = result["offer"]
    return {key: offer[key] for key in ("provider", "instance_type", "tier", "price_model")}

"""A run as a file: whole, or as lines of a table; and what changed as lines of another.

As of offers/, what is named `usd_*` is in dollars, and in another currency an amount stands beside
it: for EUR `eur_*`, and the rate `usd_per_eur` of the day `usd_per_eur_date`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from catalog.currency import Money
from catalog.evidence import unknowns
from catalog.records import OFFER_KEYS
from comparisons.changes import Change

Row = Mapping[str, Any]
OFFER = tuple(name for name in OFFER_KEYS if name not in {"disputed", "warnings", "usd_rate"})
OF_RUN = (
    "workload", "gpus", "rank", "key", "status", "left_out_because", "nodes", "usd_per_mtoken",
    "usd_per_mtoken_low", "usd_per_mtoken_high", "usd_per_step", "tokens_per_s_per_gpu",
    "step_time_s", "exposed_share", "scaling_efficiency", "usd_lost_to_waiting_per_hour",
    "limited_by", *OFFER, "usd_rate", "unknown", "disputed",
)  # fmt: skip
OF_CHANGES = (
    "seen", "kind", "provider", "instance_type", "region", "tier", "price_model", "what",
    "was", "now", "delta_percent", "was_source", "now_source", "effect", "via", "was_region",
    "now_region", "status",
)  # fmt: skip


def whole(results: Row) -> Row:
    """All of a run; in another money than dollars with its amounts besides, each at the rate of
    its offer. The question stands as it was asked."""
    if (currency := Money.of(results.get("currency")).currency) is None:
        return results
    rates = {each["key"]: currency.rate_of(each["offer"]) for each in results["offers"]}
    return {
        **results,
        "offers": [currency.beside(each) for each in results["offers"]],
        "types": {name: currency.beside(each) for name, each in results["types"].items()},
        "workloads": [
            {
                **each,
                "results": [currency.beside(one, rates[one["key"]]) for one in each["results"]],
            }
            for each in results["workloads"]
        ],
    }


def columns(results: Row) -> tuple[str, ...]:
    """Those of a run; in another money than dollars its amounts besides, at the end."""
    currency = Money.of(results.get("currency")).currency
    return (*OF_RUN, *currency.keys_beside(OF_RUN)) if currency else OF_RUN


def of_run(results: Row) -> Iterator[dict[str, Any]]:
    """One line an offer for each workload; an offer alone where there is none."""
    entries = {each["key"]: each for each in results["offers"]}
    money = Money.of(results.get("currency"))
    for answer in results["workloads"] or [None]:
        ranked = {each["key"]: each for each in (answer or {}).get("results", ())}
        reasons = {each["key"]: each["reason"] for each in (answer or {}).get("left_out", ())}
        for key in [*ranked, *(key for key in entries if key not in ranked)]:
            said = (
                {"workload": answer["workload"]["title"], "gpus": answer["gpus"]} if answer else {}
            )
            said |= _estimate(ranked.get(key)) | {"left_out_because": reasons.get(key)}
            line = dict.fromkeys(OF_RUN) | said | _offer(entries[key])
            yield money.currency.beside(line) if money.currency else line


def _estimate(result: Row | None) -> dict[str, Any]:
    if result is None:
        return {}
    estimate, interval = result["estimate"], result["interval"]
    ends = interval if interval["of"] == "usd_per_mtoken" else {"low": None, "high": None}
    of_estimate = ("tokens_per_s_per_gpu", "step_time_s", "exposed_share", "scaling_efficiency",
                   "limited_by")  # fmt: skip
    own = ("rank", "nodes", "usd_per_mtoken", "usd_per_step", "usd_lost_to_waiting_per_hour")
    return (
        {name: estimate[name] for name in of_estimate}
        | {name: result[name] for name in own}
        | {"gpus": estimate["gpus"]}
        | {"usd_per_mtoken_low": ends["low"], "usd_per_mtoken_high": ends["high"]}
    )


def _offer(entry: Row) -> dict[str, Any]:
    offer = entry["offer"]
    return {name: offer[name] for name in (*OFFER, "usd_rate", "disputed")} | {
        "key": entry["key"],
        "status": entry["status"],
        "unknown": unknowns(offer),
    }


def of_changes(found: Iterable[Change]) -> Iterator[dict[str, Any]]:
    """One line a change, in words: what is not offered is said so, and has no delta."""
    for change in found:
        said = change.as_json()
        sources = {name: (said[name] or {}).get("source") for name in ("was_source", "now_source")}
        words = {"was": change.was_text, "now": change.now_text}
        line = {**(said["offer"] or {}), **said, **words, **sources}
        yield {name: line.get(name) for name in OF_CHANGES}

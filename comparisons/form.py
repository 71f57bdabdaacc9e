"""The form of a kept answer, and its one reader: what an older version did not keep is unknown.

A kept answer is never changed, so a key that this version added is missing in older ones. `FORM`
says of each key what stands for it there; a value that was kept stays as it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import models

from catalog.currency import DOLLAR
from catalog.facts import ATTRIBUTES
from catalog.offers import HELPERS
from catalog.questions import OBJECTIVES
from catalog.records import OFFER_KEYS

Snapshot = dict[str, Any]
FACTS = tuple(name for name, attribute in ATTRIBUTES.items() if attribute.column)
SAID = ("value", "basis", "source", "checked", "disputed", "provisional", "note")
COLUMNS = tuple(dict.fromkeys((*OFFER_KEYS, *HELPERS, "regions", *FACTS)))
# Of an estimate, what a table, a diff or a print tells; its single collectives stay behind.
ESTIMATE = (
    "gpus", "step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "mfu",
    "memory_gb_per_gpu", "layout", "time", "exposed_share", "scaling_efficiency",
    "scaling_from", "fabric_efficiency", "limited_by", "interval", "assumptions", "warnings",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Each:
    """A mapping from names that nobody knows beforehand."""

    form: Any


def _unknown(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names)


RANGE = _unknown("of", "low", "high")
OFFER = _unknown(*COLUMNS) | {
    "gpu_candidates": [], "disputed": [], "warnings": [], "stale": False, "outdated": False,
}  # fmt: skip
FORM: Mapping[str, Any] = {
    "asked": {
        "picks": [], "workloads": [], "filter": {}, "objective": OBJECTIVES[0],
        "currency": DOLLAR, "baseline": "",
    },
    **_unknown("as_of", "currency", "catalog_version", "catalog_changed_at", "model_version"),
    "offers": [{"offer": OFFER}],
    "types": Each(
        {
            "facts": Each(_unknown(*SAID) | {"claims": [_unknown("value", "basis", "scope")]}),
            "prices": Each(OFFER),
        }
    ),
    "workloads": [
        {
            **_unknown("gpus", "nodes", "objective", "validation", "assumptions"),
            "doubt": _unknown("settled_by"),
            "workload": {"title": ""},
            "results": [
                {
                    **_unknown(
                        "rank", "nodes", "hours", "hours_billed", "usd_per_mtoken", "usd_per_step",
                        "usd_per_hour", "usd_for_the_job", "usd_lost_to_waiting_per_hour",
                    ),
                    "interval": RANGE,
                    "goodput": _unknown("share"),
                    "besides": _unknown("storage_usd_per_gb_month", "egress_usd_per_gb"),
                    "estimate": _unknown(*ESTIMATE)
                    | {"interval": RANGE, "time": {}, "layout": {}},
                }
            ],
            "left_out": [{"reason": ""}],
        }
    ],
}  # fmt: skip


def whole(kept: Any, form: Any = FORM) -> Any:
    """What was kept, with every key of the form; what was kept as unknown stays so."""
    match form:
        case _ if kept is None:
            return None
        case Each():
            return {name: whole(each, form.form) for name, each in kept.items()}
        case [one]:
            return [whole(each, one) for each in kept]
        case dict():
            nested = {
                name: whole(kept[name], each)
                for name, each in form.items()
                if name in kept and isinstance(each, dict | list | Each)
            }
            missing = {name: _empty(form[name]) for name in form if name not in kept}
            return {**missing, **kept, **nested}
    return kept


def _empty(form: Any) -> Any:
    match form:
        case Each():
            return {}
        case list():
            return []
        case dict():
            return whole({}, form)
    return form


def read(kept: Any) -> Any:
    """An answer as this version has it; an offer says what its own version did not keep of it."""
    answer = whole(kept)
    if answer is None:
        return None
    for entry, then in zip(answer["offers"], kept.get("offers", ()), strict=True):
        offer = entry["offer"]
        offer["provider_title"] = offer["provider_title"] or offer["provider"]
        if lacking := [name for name in (*FACTS, "outdated") if name not in then["offer"]]:
            entry["not_kept"] = lacking
    for workload in answer["workloads"]:
        for place, result in enumerate(workload["results"], 1):  # they stand in their order
            result["rank"] = result["rank"] or place
    return answer


class AnswerField(models.JSONField):
    """A column of kept answers: each is read whole, and written as it is."""

    def from_db_value(self, *row: Any) -> Any:
        return read(super().from_db_value(*row))

    def deconstruct(self) -> Any:
        """To the database it is a JSONField."""
        name, _path, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs

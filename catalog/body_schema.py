"""What a question in JSON may say, as JSON Schema: the body of estimates/, and a filter in it.

Some of what is asked cannot be put into a schema: which fields of a job go together, say. There it
says less than is answered, and its description says the rest: what it allows is never refused.
"""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from catalog.estimates import MOST, MOST_GPUS, OBJECTIVES, SCENARIOS
from catalog.filters import FILTERS, UNKNOWABLE, Rows
from catalog.query import moment, truth
from catalog.questions import KINDS, LEAST, RELIABILITY, SUPPOSABLE
from catalog.records import Support
from catalog.schema import ERROR, FAILED, Json, kind_of, one_of

NULL: Json = {"type": "null"}
NEVER: Json = {"not": {}}
LARGEST = 999_999_999  # of a filter's numbers
COUNT: Json = {"type": "integer", "minimum": 1, "maximum": MOST_GPUS}
CURRENCY: Json = {"type": ["string", "null"], "pattern": "^[A-Z]{3}$"}  # `openapi` lists them
AMOUNTS = ("hours", "tokens", "steps")  # how much is to be done: one of them
WISHES = ("deadline_hours", "budget_usd")
PRESET: Json = {
    "type": "string",
    "enum": list(KINDS),
    "description": "A preset of workloads/. Or an object: a job in full, with the fields that "
    "`python -m scoring --example job` shows, or {slug: a preset, and what of it is otherwise}",
}


# --- A filter ---------------------------------------------------------------------------------


def _value(kind: Json, *, many: bool) -> Json:
    """A parameter of offers/ as JSON has it: a text, what the text stands for, a list, or none."""
    forms: list[Json] = [kind]
    if kind.get("type") == "boolean":
        forms.append({"enum": ["true", "false"]})
    elif kind == kind_of(FILTERS["gpu_count_min"].read):
        forms.append({"type": "number", "minimum": 0, "maximum": LARGEST})
    elif many:
        forms.append({"type": "array", "items": kind})
    return {"anyOf": [*forms, {"enum": ["", None]}]}


FILTER: Json = {
    "type": "object",
    "additionalProperties": False,
    "description": "The query parameters of offers/ that narrow it",
    "properties": {
        **{f.name: _value(kind_of(f.read), many=f.many) for f in FILTERS.values()},
        "include_unknown": _value(one_of(UNKNOWABLE), many=True),
        "include_stale": _value(kind_of(truth), many=False),
        "rows": _value(one_of(Rows), many=False),
    },
}

# --- A question -------------------------------------------------------------------------------


def _amount(name: str) -> Json:
    return {"type": "number", "minimum": LEAST, "maximum": MOST[name]}


def _of_jobs(amount: str | None) -> Json:
    """The workload; where an amount is given, of a kind that is measured in it."""
    without = {"tokens": "custom", "steps": "decode"}.get(amount or "")
    return {"enum": [slug for slug, kind in KINDS.items() if kind != without]}


def _ways() -> Iterator[Json]:
    """What goes together: a count and an amount, or an amount and a wish that finds the count."""
    for amount in (None, *AMOUNTS):
        wishes = () if amount is None else WISHES[1:] if amount == "hours" else WISHES
        said = {"workload": _of_jobs(amount)}
        said |= {
            name: NULL for name in (*AMOUNTS, *WISHES) if name != amount and name not in wishes
        }
        needed = ["workload", *([amount] if amount else [])]
        if amount:
            said[amount] = _amount(amount)
        for count, other in (("gpus", "nodes"), ("nodes", "gpus")):
            yield {"required": [*needed, count], "properties": said | {other: NEVER}}
        for wish in wishes if len(wishes) == len(WISHES) else ():
            counted = {"gpus": NEVER, "nodes": NEVER, wish: _amount(wish)}
            yield {"required": [*needed, wish], "properties": said | counted}


ESTIMATE: Json = {
    "type": "object",
    "required": ["workload"],
    "additionalProperties": False,
    "properties": {
        "workload": PRESET,
        "gpus": COUNT,
        "nodes": COUNT,
        "filter": FILTER
        | {"properties": FILTER["properties"] | {"as_of": _value(kind_of(moment), many=False)}},
        "objective": one_of(OBJECTIVES),
        **{name: {"anyOf": [_amount(name), NULL]} for name in (*AMOUNTS, *WISHES)},
        "reliability": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                name: {"type": ["number", "null"], "minimum": 0, "maximum": most}
                for name, most in RELIABILITY.items()
            },
        },
        "what_if": {
            "anyOf": [
                one_of(SCENARIOS),
                {
                    "type": "object",
                    "maxProperties": 1,
                    "additionalProperties": False,
                    "properties": {
                        "gpudirect_rdma": one_of(Support),
                        "sharp": one_of(Support),
                        "oversubscription": {"type": "number", "minimum": 1, "maximum": 100},
                    },
                },
            ],
            "description": f"Facts supposed to be so, any of {', '.join(SUPPOSABLE)}, where they "
            "do not contradict each other; or a scenario's name",
        },
        "scenarios": {"type": "boolean"},
        "currency": CURRENCY,
    },
    "anyOf": list(_ways()),
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "Llama 3 70B on 256 GPUs": {
        "workload": "llama3-70b-pretrain",
        "gpus": 256,
        "filter": {"nvlink": "true"},
    },
    "1T tokens in 30 days under $2 M: the smallest cluster that does": {
        "workload": "llama3-8b-pretrain",
        "tokens": 1e12,
        "deadline_hours": 720,
        "budget_usd": 2e6,
        "objective": "gpus",
    },
    "DeepSeek-V3 served on 32 GPUs, were there no RDMA": {
        "workload": "deepseek-v3-decode",
        "gpus": 32,
        "filter": {"fabric": ["infiniband", "roce"], "price_model": "on_demand"},
        "what_if": "rdma_off",
    },
}
DOOR: Json = {
    "operation_id": "estimates",
    "request": {"application/json": ESTIMATE},
    "responses": {
        (200, "application/json"): OpenApiResponse({"type": "object"}, "Ranked clusters"),
        (422, "application/json"): OpenApiResponse(ERROR, "Over the cost cap, which is named"),
        **FAILED,
    },
    "examples": [
        OpenApiExample(says, asked, request_only=True) for says, asked in EXAMPLES.items()
    ],
}

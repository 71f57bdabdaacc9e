"""What a question in JSON may say, as JSON Schema: the body of estimates/, and a filter in it.

Some of what is asked cannot be put into a schema: which fields of a job go together, say. There it
says less than is answered, and its description says the rest: what it allows is never refused.
"""

from collections.abc import Iterator
from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from catalog.estimates import MOST, MOST_GPUS, OBJECTIVES, SCENARIOS
from catalog.filters import FILTERS, UNKNOWABLE, Rows
from catalog.job_schema import CUSTOM, DECODE, WORKLOAD, but, or_null
from catalog.query import moment, truth
from catalog.questions import LEAST, RELIABILITY
from catalog.records import FabricKind, ScaleUp, Support
from catalog.schema import ERROR, FAILED, Json, kind_of, one_of

NULL: Json = {"type": "null"}
NEVER: Json = {"not": {}}
LARGEST = 999_999_999  # of a filter's numbers
COUNT: Json = {"type": "integer", "minimum": 1, "maximum": MOST_GPUS}
CURRENCY: Json = {"type": ["string", "null"], "pattern": "^[A-Z]{3}$"}  # `openapi` lists them
AMOUNTS = ("hours", "tokens", "steps")  # how much is to be done: one of them
NOT_OF = {"tokens": CUSTOM, "steps": DECODE}  # of such a job there are none
WISHES = ("deadline_hours", "budget_usd")


# --- A filter ---------------------------------------------------------------------------------


def _value(kind: Json, *, many: bool) -> Json:
    """A parameter of offers/ as JSON has it: a text, what the text stands for, a list, or none."""
    if many and "pattern" in kind:  # commas part several of them
        one = kind["pattern"].removeprefix("^").removesuffix("$")
        kind = kind | {"pattern": f"^{one}(,{one})*$"}
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


def _ways() -> Iterator[Json]:
    """What goes together: a count and an amount, or an amount and a wish that finds the count."""
    for amount in (None, *AMOUNTS):
        wishes = () if amount is None else WISHES[1:] if amount == "hours" else WISHES
        said: Json = {
            name: NULL for name in (*AMOUNTS, *WISHES) if name != amount and name not in wishes
        }
        needed = ["workload", *([amount] if amount else [])]
        if amount:
            said[amount] = _amount(amount)
        if amount in NOT_OF:
            said["workload"] = but(NOT_OF[amount])
        for count, other in (("gpus", "nodes"), ("nodes", "gpus")):
            yield {"required": [*needed, count], "properties": said | {other: NEVER}}
        for wish in wishes if len(wishes) == len(WISHES) else ():
            counted = {"gpus": NEVER, "nodes": NEVER, wish: _amount(wish)}
            yield {"required": [*needed, wish], "properties": said | counted}


_RATE: Json = {"type": ["number", "null"], "minimum": 0, "maximum": 10_000}
_DOMAIN: Json = {
    "type": ["integer", "null"],
    "anyOf": [{"enum": [1, 2, 4]}, {"minimum": 8, "maximum": 10_000}],
}
_SUPPORT: Json = {"enum": [*map(str, Support), True, False, None]}
SUPPOSED: dict[str, Json] = {
    "scale_up": or_null(one_of(ScaleUp)),
    "scale_up_gbytes_per_s": _RATE,
    "scale_up_pair_gbytes_per_s": _RATE,
    "scale_up_domain_gpus": _DOMAIN,
    "scale_up_domain_guaranteed_gpus": _DOMAIN,
    "nvlink_generation": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
    "fabric": or_null(one_of(FabricKind)),
    "fabric_nics": {"type": ["integer", "null"], "minimum": 0, "maximum": 1024},
    "fabric_gbits_per_s_per_nic": _RATE,
    "fabric_gbits_per_s": {"type": ["number", "null"], "minimum": 0, "maximum": 1_000_000},
    "gpudirect": _SUPPORT,
    "gpudirect_rdma": _SUPPORT,
    "sharp": _SUPPORT,
    "oversubscription": {"type": ["number", "null"], "minimum": 1, "maximum": 100},
    "max_gpus_on_one_fabric": {"type": ["integer", "null"], "minimum": 1, "maximum": 10_000_000},
}
ESTIMATE: Json = {
    "type": "object",
    "required": ["workload"],
    "additionalProperties": False,
    "properties": {
        "workload": WORKLOAD,
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
                    "properties": SUPPOSED,
                },
            ],
            "description": "A fact supposed to be so, or a scenario's name. Several facts are "
            "taken where they do not contradict each other, which no schema can say",
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

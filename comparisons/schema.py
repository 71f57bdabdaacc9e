"""What the OpenAPI schema says of the doors of comparisons."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from catalog.body_schema import COUNT, FILTER, NEVER
from catalog.job_schema import WORKLOAD as JOB
from catalog.questions import OBJECTIVES
from catalog.schema import ERROR, FAILED, Json, parameter
from comparisons.asked import (
    LONGEST_NAME,
    LONGEST_NOTES,
    MOST_PICKS,
    MOST_WORKLOADS,
    UNSEEN,
)
from comparisons.change import Kind
from comparisons.picks import FORM, LONGEST

_WORDS: Json = {"type": "string"}
_MOMENT: Json = {"type": "string", "format": "date-time"}
_ID: Json = {"type": "string", "format": "uuid"}
_DAY_OR_TIME: Json = {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]}
_ANY: Json = {"type": "object"}


def _or_null(kind: Json) -> Json:
    return kind | {"type": [kind["type"], "null"]}


WORKLOAD: Json = {
    "type": "object",
    "required": ["workload"],
    "additionalProperties": False,
    "properties": {
        "workload": JOB,
        "gpus": COUNT,
        "nodes": COUNT,
    },
    "oneOf": [{"required": ["gpus"]}, {"required": ["nodes"]}],
}
SEEN = UNSEEN.replace("[", "[^", 1)
PICK: Json = {
    "type": "string",
    "maxLength": LONGEST,
    "pattern": "^[0-9A-Za-z_][0-9A-Za-z_.:()+ -]{0,79}/[ -~]*[ -:<-~]$",
    "description": f"An offer: {FORM}",
}
BODY: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_NAME,
            "pattern": rf"^{SEEN}*[^\s{SEEN[2:]}{SEEN}*$",  # a blank name is none
            "description": "Printable, and not of spaces alone",
        },
        "notes": {"type": "string", "maxLength": LONGEST_NOTES, "pattern": r"^[^\x00]*$"},
        "workloads": {"type": "array", "maxItems": MOST_WORKLOADS, "items": WORKLOAD},
        "filter": FILTER,
        "picks": {"type": "array", "maxItems": MOST_PICKS, "uniqueItems": True, "items": PICK},
        "objective": {"type": "string", "enum": list(OBJECTIVES)},
        "currency": {"type": "string", "pattern": "^[A-Z]{3}$"},
        "baseline": {
            "anyOf": [PICK, {"const": ""}],
            "description": "One of picks, where there are some: no schema can say so, so it allows "
            "either alone; in place of picks that stand it may be a 409",
        },
        "workload": JOB | {"description": "One, in place of workloads"},
        "gpus": COUNT,
        "nodes": COUNT,
    },
    "not": {
        "required": ["picks", "baseline"],
        "properties": {"picks": {"minItems": 1}, "baseline": {"minLength": 1}},
    },
}
# One workload beside its count, or else none of the three.
_ONE: list[Json] = [
    {
        "required": ["workload", count],
        "properties": {other: NEVER, "workloads": NEVER},
    }
    for count, other in (("gpus", "nodes"), ("nodes", "gpus"))
]
_NONE: Json = {"workload": NEVER, "gpus": NEVER, "nodes": NEVER}
_EMPTY: Json = {"properties": {name: {"maxItems": 0} for name in ("workloads", "picks")}}
CHANGED_BODY: Json = BODY | {
    "anyOf": [
        {"properties": _NONE, "not": _EMPTY | {"required": ["workloads", "picks"]}},
        *_ONE,
    ]
}
NEW_BODY: Json = BODY | {
    "required": ["name"],
    "anyOf": [
        {"required": [name], "properties": _NONE | {name: {"minItems": 1}}}
        for name in ("workloads", "picks")
    ]
    + _ONE,
}
OUTLINE: Json = {
    "type": ["object", "null"],
    "description": "In brief; null where an older version kept none",
    "properties": {
        "workloads": {"type": "array", "items": _WORDS},
        "offers": {"type": "integer"},
        "leads": {
            "type": ["object", "null"],
            "description": "Who comes first, and by which figure: money is named with its "
            "currency, as `usd_per_mtoken` or `eur_per_mtoken`",
            "properties": {"offer": _ANY, "of": _WORDS, "value": {}, "currency": _WORDS},
        },
        "changes": {
            "type": ["object", "null"],
            "description": "How many of each kind since the run before; null where it is the first",
            "additionalProperties": {"type": "integer"},
        },
    },
}
ABOUT_RUN: Json = {
    "type": "object",
    "required": [
        "id",
        "made_at",
        "as_of",
        "catalog_version",
        "catalog_changed_at",
        "model_version",
        "outline",
    ],
    "properties": {
        "id": _ID,
        "made_at": _MOMENT,
        "as_of": _or_null(_MOMENT),
        "catalog_version": {"type": "integer"},
        "catalog_changed_at": _or_null(_MOMENT),
        "model_version": _WORDS,
        "outline": OUTLINE,
    },
}
RUN: Json = ABOUT_RUN | {"properties": ABOUT_RUN["properties"] | {"results": _ANY}}
KEPT: Json = {
    "type": "object",
    "properties": {
        "id": _ID,
        **{k: v for k, v in BODY["properties"].items() if k not in {"workload", "gpus", "nodes"}},
        "workloads": {"type": "array", "items": _ANY},
        "filter": _ANY,
        "created_at": _MOMENT,
        "updated_at": _MOMENT,
        "page": _WORDS,
        "last_run": {"oneOf": [ABOUT_RUN, {"type": "null"}]},
    },
}
_REGION: Json = _or_null(_WORDS) | {
    "description": "Of that side, where the two are of different regions"
}
_PLACE: Json = {"type": ["integer", "null"]}
CHANGE: Json = {
    "type": "object",
    "required": ["kind", "what", "was", "now", "delta_percent", "was_text", "now_text", "effect"],
    "properties": {
        "kind": {
            "type": "string",
            "enum": [str(kind) for kind in Kind],
            "description": "price: one offer asks another price; moved: the lowest price is now "
            "one of another region (was_region, now_region), and no provider need have changed "
            "any; published, unpublished; freshness: a price grew too old to rank beside fresh "
            "ones (outdated), or is current again; stock; fact; new, gone: of an offer, also where "
            "one of another price model, tier or seller takes its row (status replaced), or of "
            "the type no price is listed any more (status no_price); incomparable; rank; model; "
            "question",
        },
        "was_region": _REGION,
        "now_region": _REGION,
        "status": _or_null(_WORDS)
        | {"description": "Why one side has no offer; null where both have one"},
        "effects": {
            "type": "array",
            "description": "What became of the offer, of each workload",
            "items": {
                "type": "object",
                "properties": {
                    "rank_was": _PLACE,
                    "rank_now": _PLACE,
                    "rank_alone": _PLACE
                    | {
                        "description": "Where it would rank now, had none but this offer changed: "
                        "as rank_was, where others moved it; null where nobody can say"
                    },
                },
            },
        },
        "effects_shared_with": {
            "type": "integer",
            "description": "How many more changes of the offer the effects are as much owed to",
        },
    },
}
DIFF: Json = {
    "type": "object",
    "required": ["from", "to", "summary", "changes"],
    "properties": {
        "from": {"oneOf": [ABOUT_RUN, {"type": "null"}]},
        "to": {"oneOf": [ABOUT_RUN, {"type": "null"}]},
        "summary": _WORDS,
        "changes": {"type": "array", "items": CHANGE},
    },
}
SHARE: Json = {
    "type": "object",
    "required": ["id", "created_at", "revoked_at"],
    "properties": {
        "id": _ID,
        "created_at": _MOMENT,
        "revoked_at": _or_null(_MOMENT),
        "token": _WORDS,
        "page": _WORDS,
    },
}


def _list_of(kind: Json) -> Json:
    results = {"type": "array", "items": kind}
    return {"type": "object", "required": ["results"], "properties": {"results": results}}


def _answers(kind: Json, says: str, status: int = 200) -> dict[Any, Any]:
    return {(status, "application/json"): OpenApiResponse(kind, says)} | REFUSED


_AS_IT_STANDS: dict[Any, Any] = {
    (409, "application/json"): OpenApiResponse(
        ERROR, "Not as things stand: with what it keeps, with the catalog, or one more of them"
    )
}
PRIVATE: dict[Any, Any] = {
    (401, "application/json"): OpenApiResponse(ERROR, "Nobody says who asks"),
    (403, "application/json"): OpenApiResponse(ERROR, "The token may not write"),
}
NOT_YOURS: dict[Any, Any] = {
    (404, "application/json"): OpenApiResponse(ERROR, "You have no such comparison"),
}
REFUSED: dict[Any, Any] = (
    FAILED
    | PRIVATE
    | NOT_YOURS
    | {
        (422, "application/json"): OpenApiResponse(ERROR, "Over a cap, which is named"),
    }
)
AS_CSV: dict[Any, Any] = {(200, "text/csv"): OpenApiTypes.STR}
EXAMPLE = OpenApiExample(
    "Llama 3 70B on 256 GPUs with NVLink and InfiniBand",
    {
        "name": "Pre-training cluster, Q1",
        "workloads": [{"workload": "llama3-70b-pretrain", "gpus": 256}],
        "filter": {"nvlink": "true", "infiniband": "true", "price_model": "on_demand"},
        "notes": "Budget round of January",
    },
    request_only=True,
)
AS_OF = OpenApiExample("At the prices of a day", {"as_of": "2026-11-28"}, request_only=True)
FORMAT = parameter("format", {"type": "string", "enum": ["json", "csv"]}, "How to write")
CURRENCY = parameter(
    "currency",
    {"type": "string"},
    "Amounts in it beside the dollars, at the rate of the run's day: for EUR, eur_per_hour and so "
    "on, and the rate, usd_per_eur, with its day; if left out, in the comparison's own",
)


def _path(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, OpenApiTypes.UUID, "path", description=says)


ID = _path("id", "Of the comparison")
RUN_ID = _path("run", "Of the run, from `runs/`")
SHARE_ID = _path("share", "Of the link, from `shares/`")
CREATE: Json = {
    "operation_id": "create_comparison",
    "request": {"application/json": NEW_BODY},
    "responses": _answers(KEPT, "It is kept", 201) | _AS_IT_STANDS,
    "examples": [EXAMPLE],
}
READ: Json = {
    "operation_id": "comparison",
    "parameters": [ID],
    "responses": _answers(KEPT, "One of yours"),
}
PATCH: Json = {
    "operation_id": "edit_comparison",
    "parameters": [ID],
    "request": {"application/json": CHANGED_BODY},
    "responses": _answers(KEPT, "As it stands now") | _AS_IT_STANDS,
    "examples": [OpenApiExample("Rename", {"name": "Q2"}, request_only=True)],
}
PUT: Json = PATCH | {
    "operation_id": "replace_comparison",
    "request": {"application/json": NEW_BODY},
    "examples": [EXAMPLE],
}
DELETE: Json = {
    "operation_id": "delete_comparison",
    "parameters": [ID],
    "responses": {204: OpenApiResponse(description="It is gone, with its runs and links")}
    | REFUSED,
}
MAKE_RUN: Json = {
    "operation_id": "run_comparison",
    "parameters": [ID],
    "request": {
        "application/json": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"as_of": {"anyOf": [_DAY_OR_TIME, {"type": "null"}]}},
        }
    },
    "responses": _answers(RUN, "The answer, which is kept", 201) | _AS_IT_STANDS,
    "examples": [AS_OF],
}
ONE_RUN: Json = {
    "operation_id": "comparison_run",
    "parameters": [ID, RUN_ID, FORMAT, CURRENCY],
    "responses": AS_CSV | _answers(RUN, "The answer, whole"),
}
EXPORT: Json = {
    "operation_id": "export_comparison",
    "parameters": [ID, FORMAT, CURRENCY],
    "responses": AS_CSV | _answers(RUN, "The last run, whole"),
}
THE_DIFF: Json = {
    "operation_id": "comparison_diff",
    "parameters": [
        ID,
        parameter("from", _ID, "A run; the one before `to` if left out"),
        parameter("to", _ID, "A run; the last if left out"),
        FORMAT,
        parameter("currency", {"type": "string"}, "What money the changes are told in"),
    ],
    "responses": AS_CSV | _answers(DIFF, "What changed, in words and values"),
}
DUPLICATE: Json = {
    "operation_id": "duplicate_comparison",
    "parameters": [ID],
    "request": {
        "application/json": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": BODY["properties"]["name"]},
        }
    },
    "responses": _answers(KEPT, "The copy, without runs or links", 201) | _AS_IT_STANDS,
    "examples": [OpenApiExample("Under another name", {"name": "Q1, cheaper"}, request_only=True)],
}
SHARES: Json = {
    "operation_id": "comparison_shares",
    "parameters": [ID],
    "responses": _answers(_list_of(SHARE), "Newest first; a token is shown once, when it is made"),
}
MAKE_SHARE: Json = {
    "operation_id": "share_comparison",
    "parameters": [ID],
    "request": None,
    "responses": _answers(SHARE, "The link; its token is shown this once", 201) | _AS_IT_STANDS,
}
REVOKE: Json = {
    "operation_id": "revoke_share",
    "parameters": [ID, SHARE_ID],
    "responses": {204: OpenApiResponse(description="The link leads nowhere now")} | REFUSED,
}
RFQ: Json = {
    "operation_id": "comparison_rfq",
    "parameters": [ID],
    "responses": {(200, "text/plain"): OpenApiTypes.STR} | REFUSED,
}

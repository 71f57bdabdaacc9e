"""What the OpenAPI schema says of the doors of this room, with examples."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from catalog.schema import ERROR, FAILED
from watches.asked import MOST_PERCENT
from watches.models import Channel, Kind, Pace, State, What

Json = dict[str, Any]
_ID: Json = {"type": "string", "format": "uuid"}
_TIME: Json = {"type": "string", "format": "date-time"}
_TIME_OR_NOT: Json = {"type": ["string", "null"], "format": "date-time"}
_TEXT_OR_NOT: Json = {"type": ["string", "null"]}
_THRESHOLD: Json = {
    "type": ["number", "null"],
    "minimum": 0,
    "maximum": MOST_PERCENT,
    "description": "Percent of a price (5), whole places of a rank (1); null for the rest",
}
# A name, not a number: which addresses may be called is said in `watches.targets`.
_PUBLIC = (
    r"^https://([a-z0-9]{1,20}(-[a-z0-9]{1,20}){0,2}\.){1,3}[a-z]{2,20}(/[A-Za-z0-9/._~?=&-]*)?$"
)


def _one_of(words: Any) -> Json:
    return {"type": "string", "enum": list(words)}


DELIVERY: Json = {
    "type": "object",
    "required": ["id", "watch", "type", "number", "created_at", "state", "attempts"],
    "properties": {
        "id": _ID | {"description": "The event's: the same in every repeat"},
        "watch": _ID,
        "type": _one_of(Kind.values),
        "number": {"type": "integer", "description": "1, 2, 3… of its watch, in their order"},
        "created_at": _TIME,
        "state": _one_of(State.values),
        "attempts": {"type": "integer"},
        "next_attempt_at": _TIME_OR_NOT,
        "delivered_at": _TIME_OR_NOT,
        "status": {"type": ["integer", "null"], "description": "HTTP's, of the last try"},
        "failure": _TEXT_OR_NOT,
        "changes": {"type": "array", "items": {"type": "object"}},
        "log": {"type": "array", "items": {"type": "object"}},
    },
}
WATCH: Json = {
    "type": "object",
    "required": ["id", "comparison", "what", "threshold", "channel", "active", "created_at"],
    "properties": {
        "id": _ID,
        "comparison": {
            "type": "object",
            "properties": {"id": _ID, "name": {"type": "string"}},
        },
        "what": _one_of(What.values),
        "threshold": _THRESHOLD,
        "channel": _one_of(Channel.values),
        "url": {"type": "string"},
        "pace": _one_of(Pace.values),
        "language": {"type": "string"},
        "active": {"type": "boolean"},
        "stopped": _TEXT_OR_NOT,
        "trouble": _TEXT_OR_NOT | {"description": "Why its comparison cannot be run now"},
        "warnings": {"type": "array", "items": {"type": "string"}},
        "created_at": _TIME,
        "secret_changed_at": _TIME_OR_NOT,
        "last_delivery": {"oneOf": [DELIVERY, {"type": "null"}]},
    },
}
SECRET: Json = {
    "type": "object",
    "required": ["secret"],
    "properties": {
        "secret": {"type": "string", "description": "Shown this once"},
        "signature": {"type": "string", "description": "The header that it signs"},
    },
}
# What is watched, and the threshold that it takes.
_OF_WHAT: list[Json] = [
    {"properties": {"what": {"const": What.PRICE.value}}},
    {
        "properties": {
            "what": {"const": What.RANK.value},
            "threshold": {"type": ["integer", "null"], "minimum": 1},
        }
    },
    {
        "properties": {
            "what": _one_of(sorted(set(What.values) - {What.PRICE.value, What.RANK.value})),
            "threshold": {"type": "null"},
        }
    },
]
NEW: Json = {
    "type": "object",
    "required": ["what", "channel"],
    "additionalProperties": False,
    "properties": {
        "what": _one_of(What.values),
        "threshold": _THRESHOLD,
        "channel": _one_of(Channel.values),
        "url": {"type": "string", "maxLength": 1000, "description": "https, of a webhook"},
        "pace": _one_of(Pace.values),
    },
    "oneOf": [
        {
            "properties": {
                "channel": {"const": Channel.WEBHOOK.value},
                "url": {"pattern": _PUBLIC},
                "pace": {"not": {}},
            },
            "required": ["url"],
        },
        {"properties": {"channel": {"const": Channel.MAIL.value}, "url": {"maxLength": 0}}},
    ],
    "anyOf": _OF_WHAT,
}
CHANGES: Json = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "threshold": _THRESHOLD,
        "url": {"type": "string", "maxLength": 1000, "pattern": _PUBLIC},
        "pace": _one_of(Pace.values),
        "active": {"type": "boolean"},
    },
}
_NOT_YOURS: dict[Any, OpenApiResponse] = {
    (401, "application/json"): OpenApiResponse(ERROR, "Nobody is signed in"),
    (403, "application/json"): OpenApiResponse(ERROR, "The token may only read"),
    (404, "application/json"): OpenApiResponse(ERROR, "There is none of yours"),
    **FAILED,
}
_NOT_NOW: dict[Any, OpenApiResponse] = {
    (409, "application/json"): OpenApiResponse(ERROR, "Not as things stand; it says why")
}


def _answers(
    kind: Json, says: str, status: int = 200, more: dict[Any, OpenApiResponse] | None = None
) -> dict[Any, OpenApiResponse]:
    return {(status, "application/json"): OpenApiResponse(kind, says), **(more or {}), **_NOT_YOURS}


def _list(kind: Json) -> Json:
    results = {"results": {"type": "array", "items": kind}}
    return {"type": "object", "required": ["results"], "properties": results}


LIST_ALL: Json = {"operation_id": "watches", "responses": _answers(_list(WATCH), "All of mine")}
LIST: Json = {
    "operation_id": "watches_of_comparison",
    "responses": _answers(_list(WATCH), "Those of the comparison"),
}
CREATE: Json = {
    "operation_id": "watch_comparison",
    "request": {"application/json": NEW},
    "responses": _answers({"allOf": [WATCH, {"type": "object"}]}, "With its secret", 201, _NOT_NOW),
    "examples": [
        OpenApiExample(
            "A webhook when a price moves by 10 %",
            {
                "what": "price",
                "threshold": 10,
                "channel": "webhook",
                "url": "https://hooks.example.com/fabricscout",
            },
            request_only=True,
        ),
        OpenApiExample(
            "One mail a day on what is known otherwise",
            {"what": "spec", "channel": "mail", "pace": "daily"},
            request_only=True,
        ),
    ],
}
READ: Json = {"operation_id": "watch", "responses": _answers(WATCH, "One watch")}
CHANGE: Json = {
    "operation_id": "change_watch",
    "request": {"application/json": CHANGES},
    "responses": _answers(WATCH, "As it is now", more=_NOT_NOW),
    "examples": [OpenApiExample("Pause it", {"active": False}, request_only=True)],
}
DELETE: Json = {
    "operation_id": "end_watch",
    "responses": {204: OpenApiResponse(description="It is gone"), **_NOT_YOURS},
}
ROTATE: Json = {
    "operation_id": "change_secret",
    "request": None,
    "responses": _answers(SECRET, "The new secret"),
}
TEST: Json = {
    "operation_id": "test_watch",
    "request": None,
    "responses": _answers(DELIVERY, "It waits to be sent", 202, _NOT_NOW),
}
LOG: Json = {"operation_id": "deliveries", "responses": _answers(_list(DELIVERY), "The log")}
SEND_AGAIN: Json = {
    "operation_id": "send_again",
    "request": None,
    "responses": _answers(DELIVERY, "It waits to be sent", 202, _NOT_NOW),
}

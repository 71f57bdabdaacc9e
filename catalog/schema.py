"""What the OpenAPI schema says of the doors whose answers are made by hand."""

from collections.abc import Callable
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from catalog.fabric_query import UNKNOWABLE as UNKNOWABLE_OF_A_FABRIC
from catalog.filters import FACETS, FILTERS, SORTABLE, UNKNOWABLE, Filter, Format, Rows
from catalog.offers import MONEY, NUMBERS
from catalog.query import CONTINENTS, LARGEST_PAGE, number, truth
from catalog.records import OFFER_KEYS, FabricKind, MultiNode, PriceModel, ScaleUp, Support

Json = dict[str, Any]
LISTS = ("gpu_candidates", "disputed", "warnings")
WORDS: dict[str, type] = {
    "scale_up": ScaleUp,
    "fabric": FabricKind,
    "gpudirect": Support,
    "gpudirect_rdma": Support,
    "sharp": Support,
    "multi_node": MultiNode,
    "price_model": PriceModel,
}
NEVER_NULL = {"provider", "instance_type", "price_model", "collected_at", "stale", "source_url"}


def _key(name: str) -> Json:
    """The schema of one key of an offer."""
    if name in LISTS:
        return {"type": "array", "items": {"type": "string"}}
    if name in WORDS:
        kind: Json = {"type": "string", "enum": [str(word) for word in WORDS[name]]}  # type: ignore[attr-defined]
    elif name in MONEY:
        kind = {"type": "string", "pattern": r"^\d+(\.\d+)?$"}
    elif name in NUMBERS:
        kind = {"type": "number"}
    elif name in {"available", "stale"}:
        kind = {"type": "boolean"}
    elif name == "collected_at":
        kind = {"type": "string", "format": "date-time"}
    else:
        kind = {"type": "string"}
    return kind if name in NEVER_NULL else _or_null(kind)


def _or_null(kind: Json) -> Json:
    nullable = kind | {"type": [kind["type"], "null"]}
    if "enum" in kind:
        nullable["enum"] = [*kind["enum"], None]
    return nullable


OFFER: Json = {"type": "object", "properties": {name: _key(name) for name in OFFER_KEYS}}
ERROR: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "fields"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "fields": {
                    "type": "object",
                    "additionalProperties": {"type": "array", "items": {"type": "string"}},
                },
            },
        }
    },
}
OFFER_PAGE: Json = {
    "type": "object",
    "required": ["results", "next", "previous", "left_out", "left_out_by"],
    "properties": {
        "results": {"type": "array", "items": OFFER},
        "next": {"type": ["string", "null"]},
        "previous": {"type": ["string", "null"]},
        "count": {"type": "integer"},
        "left_out": {"type": "integer"},
        "left_out_by": {"type": "object", "additionalProperties": {"type": "integer"}},
        "facets": {
            "type": "object",
            "additionalProperties": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "value": {"type": ["string", "null"]},
                        "count": {"type": "integer"},
                    },
                },
            },
        },
    },
}


def _filter(wanted: Filter) -> OpenApiParameter:
    what = ", ".join(wanted.fields) or "text"
    if wanted.many:
        return _parameter(wanted.name, _words(wanted.read), f"{wanted.title}: any of", many=True)
    kinds: dict[Callable[[str], object], Json] = {
        number: {"type": "number", "minimum": 0, "maximum": 999_999_999},
        truth: {"type": "boolean"},
    }
    return _parameter(wanted.name, kinds.get(wanted.read, {"type": "string"}), f"On {what}")


def _words(read: Callable[[str], object]) -> Json:
    choices = getattr(read, "choices", None)
    return {"type": "string"} | ({"enum": list(choices)} if choices else {})


def _parameter(name: str, kind: Json, says: str, *, many: bool = False) -> OpenApiParameter:
    schema = {"type": "array", "items": kind} if many else kind
    return OpenApiParameter(name, schema, description=says, explode=False if many else None)


_CONTROLS = (
    _parameter("include_unknown", {"type": "string", "enum": UNKNOWABLE},
               "Let rows through whose value is unknown here", many=True),
    _parameter("include_stale", {"type": "boolean"}, "Rank old prices beside fresh ones"),
    _parameter("rows", {"type": "string", "enum": [str(r) for r in Rows]},
               "One row per type, with its lowest region, or every region"),
    _parameter("sort", {"type": "string",
                        "enum": [*SORTABLE, *(f"-{name}" for name in SORTABLE)]},
               "Order; unknown is last both ways", many=True),
    _parameter("page_size", {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE}, "Rows"),
    _parameter("cursor", {"type": "string"}, "From `next` or `previous` of the same query"),
    _parameter("fields", {"type": "string", "enum": list(OFFER_KEYS)}, "Keys to show", many=True),
    _parameter("format", {"type": "string", "enum": [str(f) for f in Format]}, "How to write"),
    _parameter("count", {"type": "boolean"}, "Count the whole list"),
    _parameter("facets", {"type": "string", "enum": sorted(FACETS)}, "Count values", many=True),
    _parameter("as_of", {"type": "string"}, "Prices as of a day or an ISO time"),
    _parameter("currency", {"type": "string", "enum": ["USD"]}, "Of the prices"),
)  # fmt: skip

FAILED = {
    (400, "application/json"): OpenApiResponse(ERROR, "A parameter is wrong; each is named"),
    (503, "application/json"): OpenApiResponse(ERROR, "The database does not answer just now"),
}
OFFERS: Json = {
    "operation_id": "offers",
    "parameters": [*(_filter(wanted) for wanted in FILTERS.values()), *_CONTROLS],
    "responses": {
        (200, "application/json"): OpenApiResponse(
            OFFER_PAGE, "Some rows, and the way to the rest"
        ),
        (200, "text/csv"): OpenApiTypes.STR,
        (200, "application/x-ndjson"): OpenApiTypes.STR,
        304: OpenApiResponse(description="Nothing has changed since this ETag"),
        **FAILED,
    },
}
_WORDS: Json = {"type": "string"}
_COUNT: Json = {"type": "integer"}
FABRIC_PAGE: Json = {
    "type": "object",
    "required": ["results", "next", "previous", "left_out", "left_out_by"],
    "properties": {
        "results": {"type": "array", "items": {"type": "object"}},
        "next": {"type": ["string", "null"]},
        "previous": {"type": ["string", "null"]},
        "count": _COUNT,
        "left_out": _COUNT,
        "left_out_by": {"type": "object", "additionalProperties": _COUNT},
        "unplaced_types": _COUNT,
    },
}
FABRICS: Json = {
    "operation_id": "fabrics",
    "parameters": [
        _parameter("provider", _WORDS, "Provider: any of", many=True),
        _parameter("gpu", _WORDS, "GPU: any of", many=True),
        _parameter("gpus_min", {"type": "integer", "minimum": 1}, "GPUs on one fabric"),
        _parameter("fabric_gbits_per_s_per_gpu_min", {"type": "number"}, "Gb/s per GPU, one way"),
        _parameter("technology", {"type": "string", "enum": [str(k) for k in FabricKind]},
                   "Fabric: any of", many=True),
        _parameter("infiniband", {"type": "boolean"}, "InfiniBand, or anything else"),
        _parameter("region", _WORDS, "A type of it is on offer there", many=True),
        _parameter("country", _WORDS, "The same, by country", many=True),
        _parameter("continent", {"type": "string", "enum": list(CONTINENTS)},
                   "The same, by continent", many=True),
        _parameter("include_unknown", {"type": "string", "enum": sorted(UNKNOWABLE_OF_A_FABRIC)},
                   "Let fabrics through of which this is unknown; each row names it", many=True),
        _parameter("page_size", {"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE}, "Rows"),
        _parameter("cursor", _WORDS, "From `next` or `previous` of the same query"),
        _parameter("count", {"type": "boolean"}, "Count the whole list"),
    ],
    "responses": {
        (200, "application/json"): OpenApiResponse(FABRIC_PAGE, "Some fabrics, lowest price first"),
        **FAILED,
    },
}  # fmt: skip
ESTIMATE_REQUEST: Json = {
    "type": "object",
    "required": ["workload"],
    "properties": {
        "workload": {"oneOf": [{"type": "string"}, {"type": "object"}]},
        "gpus": {"type": "integer", "minimum": 1},
        "nodes": {"type": "integer", "minimum": 1},
        "filter": {"type": "object", "additionalProperties": True},
        "objective": {"type": "string", "enum": ["usd_per_mtoken", "time", "efficiency"]},
        "deadline_hours": {"type": ["number", "null"]},
        "what_if": {"type": "object"},
    },
}
ESTIMATES: Json = {
    "operation_id": "estimates",
    "request": {"application/json": ESTIMATE_REQUEST},
    "responses": {
        (200, "application/json"): OpenApiResponse({"type": "object"}, "Ranked clusters"),
        (422, "application/json"): OpenApiResponse(ERROR, "Over the cost cap, which is named"),
        **FAILED,
    },
    "examples": [
        OpenApiExample(
            "Llama 3 70B on 256 GPUs",
            {"workload": "llama3-70b-pretrain", "gpus": 256, "filter": {"nvlink": "true"}},
            request_only=True,
        )
    ],
}

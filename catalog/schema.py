"""What the OpenAPI schema says of the doors whose answers are made by hand."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    inline_serializer,
)
from rest_framework.serializers import CharField, IntegerField, Serializer

from catalog.fabric_query import KEYS, SORTS
from catalog.fabric_query import UNKNOWABLE as UNKNOWABLE_OF_A_FABRIC
from catalog.facts import gpus
from catalog.filters import FACETS, FIELDS, FILTERS, SORTABLE, UNKNOWABLE, Filter, Rows
from catalog.listing_columns import MONEY, NUMBERS
from catalog.query import (
    CONTINENTS,
    LARGEST_PAGE,
    NUMBER,
    SLUG,
    Format,
    country,
    gpu,
    moment,
    name,
    number,
    slug,
    truth,
    words,
)
from catalog.records import OFFER_KEYS, FabricKind, MultiNode, PriceModel, ScaleUp, Support

Json = dict[str, Any]
_WORDS: Json = {"type": "string"}
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
EXAMPLE = {"nvlink": True, "infiniband": True, "price_model": "on_demand"}
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
        "contradictions": {
            "type": "object",
            "description": "Filters that no offer can pass both, and what each contradicts",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
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
    of = ", ".join(wanted.fields) or "text"
    says = f"{wanted.title}: any of" if wanted.many else f"On {of}"
    return parameter(
        wanted.name,
        kind_of(wanted.read),
        says,
        many=wanted.many,
        example=EXAMPLE.get(wanted.name),
    )


# Any text but what Postgres cannot keep, and what stands for bytes that are none.
_TEXT: Json = {"type": "string", "maxLength": 200, "pattern": "^[^\\u0000\\ufffd]*$"}
_OF_READERS: dict[Callable[[str], object], Json] = {
    name: _TEXT | {"pattern": "^[^\\u0000\\ufffd,]+$"},  # a comma parts two
    words: _TEXT,
    number: {"type": "string", "pattern": f"^({NUMBER.pattern})$"},
    truth: {"type": "boolean"},
    gpu: {"type": "string", "enum": sorted(gpus())},
    slug: {"type": "string", "pattern": f"^({SLUG.pattern})$".replace(r"\w", "A-Za-z0-9_")},
    country: {"type": "string", "pattern": "^[A-Z]{2}$"},
    moment: {
        "type": "string",
        "anyOf": [{"format": "date"}, {"format": "date-time"}],
    },
}


def kind_of(read: Callable[[str], object]) -> Json:
    """The schema of a parameter's text, by its reader."""
    if choices := getattr(read, "choices", None):
        return one_of(choices)
    return _OF_READERS.get(read, _WORDS)


def begun(today: date) -> list[Json]:
    """The forms of a moment on a day from 2000 on that has begun in UTC: see `query.past`."""
    before, clock = _days_until(today - timedelta(days=1)), f"T{_from(0, 23)}:[0-5][0-9]:[0-5][0-9]"
    return [
        {"format": "date", "pattern": f"^({_days_until(today)})$"},
        {"format": "date-time", "pattern": f"^({before}){clock}(Z|[+-]{_from(0, 23)}:[0-5][0-9])$"},
        {"format": "date-time", "pattern": f"^{today}{clock}Z$"},
    ]


def _days_until(last: date) -> str:
    forms = [f"{_from(2000, last.year - 1)}-{_from(1, 12)}-{_from(1, 31)}"]
    if last.month > 1:
        forms.append(f"{last.year}-{_from(1, last.month - 1)}-{_from(1, 31)}")
    return "|".join([*forms, f"{last:%Y-%m}-{_from(1, last.day)}"])


def _from(first: int, last: int) -> str:
    """A pattern for the numbers from one to another, of two digits at least."""
    return f"({'|'.join(f'{n:02}' for n in range(first, last + 1))})"


def parameter(
    name: str, kind: Json, says: str, *, many: bool = False, example: object = None
) -> OpenApiParameter:
    """One parameter of a door; `many` takes commas and repetition."""
    schema = {"type": "array", "items": kind} if many else kind
    value = [example] if many else example
    examples = [] if example is None else [OpenApiExample(f"{name}={example}", value)]
    return OpenApiParameter(
        name, schema, description=says, explode=False if many else None, examples=examples
    )


_SIGNED: Json = {"type": "string", "not": {"minLength": 1}}
_PAGE_SIZE: Json = {
    "type": ["integer", "string"],
    "anyOf": [{"type": "integer", "minimum": 1, "maximum": LARGEST_PAGE}, {"const": "all"}],
}


def form(keys: Iterable[str], sortable: Iterable[str]) -> tuple[OpenApiParameter, ...]:
    """How a list is shown: its order, its page, its columns, its format."""
    orders = [order for name in sortable for order in (name, f"-{name}")]
    return (
        parameter("sort", one_of(orders), "Order; unknown is last both ways", many=True),
        parameter("page_size", _PAGE_SIZE, "Rows; `all` sends the whole list while it is read"),
        parameter(
            "cursor",
            _SIGNED,
            "From `next` or `previous` of the same query: none that one "
            "makes up is signed by us, so none is allowed here",
        ),
        parameter("fields", one_of(keys), "Keys to show", many=True),
        parameter("format", one_of(Format), "How to write"),
        parameter("count", {"type": "boolean"}, "Count the whole list"),
    )


def one_of(words: Iterable[str]) -> Json:
    """One word of a closed list."""
    return {"type": "string", "enum": [str(word) for word in words]}


CURRENCY = parameter(
    "currency", {"type": "string"},
    "Prices in it beside the dollars: for EUR, eur_per_hour and so on, and the rate, usd_per_eur, "
    "with its day (elsewhere than in offers/ whatever says usd)",
)  # fmt: skip
_CONTROLS = (
    parameter("include_unknown", one_of(UNKNOWABLE),
              "Let rows through whose value is unknown here", many=True),
    parameter("include_stale", {"type": "boolean"}, "Rank old prices beside fresh ones"),
    parameter("rows", one_of(Rows), "One row per type, with its lowest region, or every region"),
    *form(FIELDS, SORTABLE),
    parameter("facets", one_of(sorted(FACETS)), "Count values", many=True),
    parameter("as_of", kind_of(moment), "Prices as of a day or an ISO time"),
    CURRENCY,
)  # fmt: skip

FAILED = {
    (400, "application/json"): OpenApiResponse(ERROR, "A parameter is wrong; each is named"),
    (503, "application/json"): OpenApiResponse(ERROR, "The database does not answer just now"),
}
_UNCHANGED = OpenApiResponse(description="Nothing has changed since this ETag")
_AS_TEXT: dict[Any, Any] = {
    (200, "text/csv"): OpenApiTypes.STR,
    (200, "application/x-ndjson"): OpenApiTypes.STR,
    304: _UNCHANGED,
    **FAILED,
}
OFFERS: Json = {
    "operation_id": "offers",
    "parameters": [*(_filter(wanted) for wanted in FILTERS.values()), *_CONTROLS],
    "responses": {
        (200, "application/json"): OpenApiResponse(
            OFFER_PAGE, "Some rows, and the way to the rest"
        ),
        **_AS_TEXT,
    },
}


def small_list(
    name: str,
    says: str,
    rows: type[Serializer[Any]],
    narrows: Iterable[OpenApiParameter],
    sorts: Iterable[str],
    *,
    in_money: bool = False,
) -> Json:
    """What is said of a door onto one table, whose rows that serializer writes."""
    page = inline_serializer(
        f"{rows.__name__.removesuffix('Serializer')}Page",
        {
            "results": rows(many=True),
            "next": CharField(allow_null=True),
            "previous": CharField(allow_null=True),
            "count": IntegerField(required=False),
        },
    )
    return {
        "operation_id": name,
        "description": says,
        "parameters": [*narrows, *form(rows().fields, sorts), *([CURRENCY] if in_money else [])],
        "responses": {
            (200, "application/json"): OpenApiResponse(page, "Some rows, and the way to the rest"),
            **_AS_TEXT,
        },
    }


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
        parameter("provider", _WORDS, "Provider: any of", many=True),
        parameter("gpu", kind_of(gpu), "GPU: any of", many=True),
        parameter("gpus_min", {"type": "integer", "minimum": 1, "maximum": 9_999_999},
                  "GPUs on one fabric", example=64),
        parameter("fabric_gbits_per_s_per_gpu_min", kind_of(number), "Gb/s per GPU, one way"),
        parameter("technology", one_of(FabricKind), "Fabric: any of", many=True),
        parameter("infiniband", {"type": "boolean"}, "InfiniBand, or anything else"),
        parameter("region", kind_of(slug), "A type of it is on offer there", many=True),
        parameter("country", kind_of(country), "The same, by country", many=True),
        parameter("continent", one_of(CONTINENTS), "The same, by continent", many=True),
        parameter("include_unknown", {"type": "string", "enum": sorted(UNKNOWABLE_OF_A_FABRIC)},
                   "Let fabrics through of which this is unknown; each row names it", many=True),
        *form(KEYS, SORTS),
        CURRENCY,
    ],
    "responses": {
        (200, "application/json"): OpenApiResponse(FABRIC_PAGE, "Some fabrics, lowest price first"),
        **_AS_TEXT,
    },
}  # fmt: skip
INSTANCE_TYPE: Json = {
    "operation_id": "instance_type",
    "parameters": [
        OpenApiParameter(
            name, str, "path", description=says, examples=[OpenApiExample(value, value)]
        )
        for name, says, value in (
            ("provider", "Who rents it", "azure"),
            ("name", "The provider's own name of it", "Standard_ND96isr_H100_v5"),
        )
    ]
    + [CURRENCY],
    "responses": {
        (200, "application/json"): OpenApiResponse({"type": "object"}, "One type, whole"),
        (404, "application/json"): OpenApiResponse(ERROR, "The catalog has never had it"),
        **FAILED,
    },
}


def plain_door(name: str, says: str, missing: str = "") -> Json:
    """A door whose answer has no columns to list; `missing` says what may not be there."""
    answers: dict[Any, Any] = {
        (200, "application/json"): OpenApiResponse({"type": "object"}, says),
        304: _UNCHANGED,
        **FAILED,
    }
    if missing:
        answers[(404, "application/json")] = OpenApiResponse(ERROR, missing)
    return {"operation_id": name, "responses": answers}

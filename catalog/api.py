"""The REST API: the same filters, rows and estimates as the pages, for scripts.

One error shape everywhere: `{"error": {"code", "message", "fields": {name: [what it must be]}}}`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import urlencode

import orjson
from django.db import OperationalError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.utils import timezone
from django.utils.http import parse_etags
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import exceptions
from rest_framework.generics import ListAPIView
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog import estimates, fabric_list, fabric_query, instances, offers, schema
from catalog.filters import Format, OfferQuery, parse
from catalog.ledger import plain
from catalog.models import (
    CatalogVersion,
    Fact,
    Gpu,
    InstanceType,
    Price,
    Provider,
)
from catalog.paging import Cursor
from catalog.quality import quality
from catalog.query import BadQuery
from catalog.records import OFFER_KEYS
from catalog.serializers import (
    FactSerializer,
    GpuSerializer,
    InstanceTypeSerializer,
    PriceSerializer,
    ProviderSerializer,
)

JSON, CSV, NDJSON = "application/json", "text/csv; charset=utf-8", "application/x-ndjson"
RETRY_AFTER_S = 2


# --- Errors: one shape ------------------------------------------------------------------------


def problem(
    status: int, code: str, message: str, fields: Mapping[str, Iterable[str]] | None = None
) -> HttpResponse:
    """An error, in the one shape."""
    said = {
        "code": code,
        "message": message,
        "fields": {k: list(v) for k, v in (fields or {}).items()},
    }
    return HttpResponse(orjson.dumps({"error": said}), content_type=JSON, status=status)


def error_response(exc: Exception, _context: Mapping[str, Any]) -> HttpResponse | None:
    """What DRF answers for an exception of a view; None lets it through as a 500."""
    if isinstance(exc, BadQuery):
        message = "The query cannot be answered: " + "; ".join(
            f"{name} {' '.join(said)}" for name, said in exc.fields.items()
        )
        return problem(400, "bad_query", message, exc.fields)
    if isinstance(exc, estimates.TooMuch):
        return problem(422, "too_much", str(exc))
    if isinstance(exc, Http404):
        return problem(404, "not_found", str(exc) or "There is nothing at this address.")
    if isinstance(exc, OperationalError):
        response = problem(503, "database_unavailable", "The database does not answer just now.")
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    if isinstance(exc, exceptions.APIException):
        return _of_drf(exc)
    return None


def _of_drf(exc: exceptions.APIException) -> HttpResponse:
    message = str(exc.detail) if isinstance(exc.detail, str) else "It cannot be answered."
    response = problem(exc.status_code, str(exc.default_code), message)
    if isinstance(exc, exceptions.MethodNotAllowed):
        response["Allow"] = "GET, HEAD, OPTIONS"
    return response


def not_found(_request: HttpRequest) -> HttpResponse:
    """Any address under /api/v1/ that is no door."""
    return problem(404, "not_found", "There is no such door. The doors are in /api/v1/schema/.")


# --- Offers -----------------------------------------------------------------------------------


class Offers(APIView):
    """`GET offers/`: what can be rented, by how its GPUs are joined."""

    @extend_schema(**schema.OFFERS)
    def get(self, request: Request) -> HttpResponse:
        """List offers.

        An unknown satisfies no filter; `left_out` counts the rows that one kept out, and
        `include_unknown` lets them in.
        """
        query = parse(request.query_params)
        tag = etag(request)
        # GZipMiddleware marks the tag of what it compresses as weak: the content is the same.
        known = parse_etags(request.headers.get("If-None-Match", ""))
        if tag in {each.removeprefix("W/") for each in known}:
            return HttpResponse(status=304, headers={"ETag": tag})
        response = _written(query, request)
        response["ETag"] = tag
        return response


def _written(query: OfferQuery, request: Request) -> HttpResponse:
    if query.format is Format.CSV:
        response = HttpResponse(b"".join(offers.csv_lines(query)), content_type=CSV)
        response["Content-Disposition"] = 'attachment; filename="offers.csv"'
        return response
    if query.format is Format.NDJSON:
        return HttpResponse(b"".join(offers.lines(query)), content_type=NDJSON)
    return HttpResponse(b"".join(offers.json_page(query, _address(request))), content_type=JSON)


def _address(request: Request) -> str:
    """This list's own address without its cursor: a path, as no header may name the host."""
    asked = [(k, v) for k, values in request.query_params.lists() for v in values if k != "cursor"]
    return f"{request.path}?{urlencode(asked)}"


def etag(request: Request) -> str:
    """What this answer is made of: the catalog's version, the address, and the hour (ages grow)."""
    version = CatalogVersion.objects.values_list("version", flat=True).first()
    hour = timezone.now().strftime("%Y-%m-%dT%H")
    text = f"{version}|{hour}|{request.get_full_path()}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def only(request: Request, *allowed: str) -> QueryDict:
    """The parameters of a request.

    Raises
    ------
    BadQuery
        For one that this door does not know, or that is given twice.
    """
    asked, wrong = request.query_params, {}
    there_are = f"There are: {', '.join(sorted(allowed))}." if allowed else "There are none."
    for name, values in asked.lists():
        if name not in allowed:
            wrong[name[:80]] = [f"is not a parameter. {there_are}"]
        elif len(values) > 1:
            wrong[name] = ["is given more than once, and takes one value."]
        elif "\x00" in values[0]:
            wrong[name] = ["holds a NUL character."]
    if wrong:
        raise BadQuery(wrong)
    return asked


# --- What is known: types, GPUs, providers, fabrics, facts, prices ----------------------------


class Known(ListAPIView[Any]):
    """A list of what is known, narrowed by `narrows` (parameter → lookup); all else is a 400."""

    pagination_class = Cursor
    narrows: ClassVar[Mapping[str, str]] = {}

    def filter_queryset(self, queryset: QuerySet[Any]) -> QuerySet[Any]:
        asked = only(self.request, *self.narrows, "cursor", "page_size")
        lookups = {self.narrows[name]: asked[name] for name in self.narrows if asked.get(name)}
        return queryset.filter(**lookups)


class InstanceTypes(Known):
    """`GET instance-types/`: what is known of each type, with its evidence."""

    queryset = InstanceType.objects.all()
    serializer_class = InstanceTypeSerializer
    narrows: ClassVar = {"provider": "provider_id", "gpu": "gpu_id", "name": "name"}


class Gpus(Known):
    """`GET gpus/`: every SKU, its peaks dense and its links one way."""

    queryset = Gpu.objects.all()
    serializer_class = GpuSerializer
    narrows: ClassVar = {"gpu_vendor": "gpu_vendor", "form_factor": "form_factor"}


class Providers(Known):
    """`GET providers/`: who rents, and when its listing was last fetched."""

    queryset = Provider.objects.all()
    serializer_class = ProviderSerializer
    narrows: ClassVar = {"country": "country"}


class Fabrics(APIView):
    """`GET fabrics/`: N GPUs on one fabric, of at least such a speed, in such a place."""

    @extend_schema(**schema.FABRICS)
    def get(self, request: Request) -> HttpResponse:
        """List fabrics: types that can be reserved together on one network.

        An unknown size or speed satisfies no filter; `left_out` counts the fabrics that one kept
        out. Same region is not same fabric: `how` says what puts instances on one.
        """
        query = fabric_query.parse(request.query_params)
        found = fabric_list.find(query)
        at = _address(request)
        said: dict[str, Any] = {
            "next": found.next and f"{at}&cursor={found.next}",
            "previous": found.previous and f"{at}&cursor={found.previous}",
            "left_out": found.left_out,
            "left_out_by": found.left_out_by,
            "unplaced_types": found.unplaced,
            "results": found.rows,
        }
        return _json(said | ({"count": found.count} if query.count else {}))


class Facts(Known):
    """`GET facts/`: every sourced statement, the withdrawn ones too."""

    queryset = Fact.objects.all()
    serializer_class = FactSerializer
    narrows: ClassVar = {"subject": "subject", "attribute": "attribute", "basis": "basis"}


class Prices(Known):
    """`GET prices/`: every price period of an offer, while it held."""

    queryset = Price.objects.select_related("offer__instance_type")
    serializer_class = PriceSerializer
    narrows: ClassVar = {
        "provider": "offer__instance_type__provider_id",
        "instance_type": "offer__instance_type__name",
        "region": "offer__region",
        "price_model": "offer__price_model",
    }


class InstanceTypeDetail(APIView):
    """`GET instance-types/{provider}/{name}/`: one type, whole."""

    @extend_schema(operation_id="instance_type", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request, provider: str, name: str) -> HttpResponse:
        """Every fact with its evidence, prices by region, and what is still unknown."""
        only(request)
        found = instances.detail(provider, name)
        if found is None:
            raise Http404(f"The catalog has no {provider}/{name}.")
        return _json(found)


class Quality(APIView):
    """`GET quality/`: how much is known, how much is doubtful."""

    @extend_schema(operation_id="quality", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> HttpResponse:
        """Coverage of the interconnect fields, disputes, stale providers, quarantine."""
        only(request)
        return _json(quality())


# --- Estimates --------------------------------------------------------------------------------


class Workloads(APIView):
    """`GET workloads/`: what can be estimated by name."""

    @extend_schema(operation_id="workloads", responses={200: OpenApiTypes.OBJECT})
    def get(self, request: Request) -> HttpResponse:
        """The presets, each with its source."""
        only(request)
        return _json({"results": estimates.workloads()})


class Estimates(APIView):
    """`POST estimates/`: clusters ranked for one workload."""

    @extend_schema(**schema.ESTIMATES)
    def post(self, request: Request) -> HttpResponse:
        """Rank the clusters that the filter lets through, with breakdown, layout and interval."""
        only(request)
        return _json(_public(estimates.answer(request.data)))


def _public(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the keys of an offer that everyone gets, and no more."""
    for each in (*answer["results"], *answer["left_out"]):
        each["offer"] = {key: _whole(each["offer"][key]) for key in OFFER_KEYS}
    return answer


def _whole(value: object) -> object:
    """8.0 GPUs are 8, as everywhere."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _json(value: object) -> HttpResponse:
    body = orjson.dumps(value, default=_plain)
    return HttpResponse(body, content_type=JSON)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return plain(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")

"""How the API replies: bytes of JSON, one error shape, and a tag by which to ask again.

An error reads `{"error": {"code", "message", "fields": {name: [what it must be]}}}` everywhere.
"""

import csv
import hashlib
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import orjson
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.http import parse_etags
from rest_framework import exceptions
from rest_framework.request import Request

from catalog.estimates import TooMuch
from catalog.ledger import plain
from catalog.models import CatalogVersion
from catalog.query import BadQuery

JSON, CSV, NDJSON = "application/json", "text/csv; charset=utf-8", "application/x-ndjson"
RETRY_AFTER_S = 2


# --- What was asked for -----------------------------------------------------------------------


def json(value: object) -> HttpResponse:
    """A value as JSON; a decimal is the string of it."""
    return HttpResponse(orjson.dumps(value, default=_plain), content_type=JSON)


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return plain(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def lines(rows: Iterable[Mapping[str, object]]) -> HttpResponse:
    """One JSON object a line."""
    body = b"".join(orjson.dumps(row, default=_plain) + b"\n" for row in rows)
    return HttpResponse(body, content_type=NDJSON)


def table(name: str, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> HttpResponse:
    """The rows as a CSV file: a header of field names, lists joined by `;`, unknown left empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    response = HttpResponse(buffer.getvalue().encode(), content_type=CSV)
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        value = ";".join(map(str, value))
    if isinstance(value, dict):
        value = orjson.dumps(value).decode()
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value


def unless_known(request: Request, reply: Callable[[], HttpResponse]) -> HttpResponse:
    """The reply with its tag; a 304 where the reader has it already."""
    tag = _tag(request)
    # GZipMiddleware marks the tag of what it compresses as weak: the content is the same.
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if tag in {each.removeprefix("W/") for each in known}:
        return HttpResponse(status=304, headers={"ETag": tag})
    response = reply()
    response["ETag"] = tag
    return response


def _tag(request: Request) -> str:
    """What a reply is made of: the catalog's version, the hour (ages grow), and the address."""
    text = f"{CatalogVersion.stamp()}|{request.get_full_path()}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def address(request: Request) -> str:
    """This list's own address without its cursor: a path, as no header may name the host."""
    asked = [(k, v) for k, values in request.query_params.lists() for v in values if k != "cursor"]
    return f"{request.path}?{urlencode(asked)}"


# --- What cannot be had -----------------------------------------------------------------------


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
    if isinstance(exc, TooMuch):
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
    if asks_for := getattr(exc, "auth_header", None):  # DRF's, on a 401
        response["WWW-Authenticate"] = asks_for
    return response


def no_door(_request: HttpRequest) -> HttpResponse:
    """Any address under /api/v1/ that is none."""
    return problem(404, "not_found", "There is no such door. The doors are in /api/v1/schema/.")

"""How the API replies: bytes of JSON, one error shape, and a tag by which to ask again.

An error reads `{"error": {"code", "message", "fields": {name: [what it must be]}}}` everywhere.
"""

import csv
import hashlib
import io
import itertools
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

import orjson
import psycopg
from django.db import IntegrityError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.middleware.http import ConditionalGetMiddleware
from django.utils.decorators import decorator_from_middleware
from django.utils.http import parse_etags
from django.utils.translation import get_language
from django.views.decorators.csrf import csrf_exempt
from rest_framework import exceptions
from rest_framework.request import Request

from catalog.estimates import TooMany, TooMuch
from catalog.ledger import plain
from catalog.models import CatalogVersion
from catalog.query import BadQuery, Contradicts

JSON, CSV, NDJSON = "application/json", "text/csv; charset=utf-8", "application/x-ndjson"
RETRY_AFTER_S = 2
PARTS_AT_ONCE = 100
STREAMS = threading.BoundedSemaphore(2)  # whole lists that one process writes at the same time


# --- What was asked for -----------------------------------------------------------------------


def json(value: object) -> HttpResponse:
    """A value as JSON; a decimal is the string of it."""
    return HttpResponse(dumped(value), content_type=JSON)


def dumped(value: object) -> bytes:
    """The same as bytes."""
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:  # of 1e20, say, which Postgres keeps as an integer of more than 64 bits
        return orjson.dumps(_in_64_bits(value), default=_plain)


def _in_64_bits(value: Any) -> Any:
    """The same with each larger integer as the float that it was."""
    if isinstance(value, Mapping):
        return {name: _in_64_bits(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_in_64_bits(each) for each in value]
    return float(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return plain(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def listed(
    name: str,
    form: str,
    columns: Sequence[str],
    rows: Iterable[bytes],
    said: Mapping[str, Any],
    *,
    whole: bool,
) -> HttpResponse | StreamingHttpResponse:
    """A list in the form asked for, of rows that are JSON objects; a `whole` one is sent as read.

    What is `said` of the list stands in JSON alone: of it the others have the addresses of the
    next and the previous page, as links.
    """
    parts: Iterator[bytes]
    if form == "csv":
        parts, kind = _table(columns, map(orjson.loads, rows)), CSV
    elif form == "ndjson":
        parts, kind = (row + b"\n" for row in rows), NDJSON
    else:
        parts, kind = _object(rows, said), JSON
    response = _stream(parts, kind) if whole else HttpResponse(b"".join(parts), content_type=kind)
    if form == "csv":
        response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    named = [f'<{said[what]}>; rel="{what}"' for what in ("next", "previous") if said[what]]
    if named and form != "json":
        response["Link"] = ", ".join(named)
    return response


def _object(rows: Iterable[bytes], said: Mapping[str, Any]) -> Iterator[bytes]:
    yield b'{"results":['
    for place, row in enumerate(rows):
        yield b",\n" + row if place else row
    yield b"]," + dumped(said)[1:]


def _table(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """A header of field names, then the rows: lists joined by `;`, unknown left empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    cells = ([_cell(row[column]) for column in columns] for row in rows)
    for each in itertools.chain([columns], cells):
        writer.writerow(each)
        yield buffer.getvalue().encode()
        buffer.seek(0)
        buffer.truncate()


def _stream(parts: Iterator[bytes], kind: str) -> HttpResponse | StreamingHttpResponse:
    """A body sent as it is made. Its thread is its reader's until the end, so there are few."""
    if not STREAMS.acquire(blocking=False):
        return unavailable("busy", "Two whole lists are being written here already.")
    stream = _Stream(_blocks(parts))
    stream.begin()
    return StreamingHttpResponse(stream, content_type=kind)


class _Stream:
    """Parts of a body. When the server closes it, read or not, its place and cursor are free."""

    def __init__(self, parts: Generator[bytes]) -> None:
        self.parts = parts
        self.first = b""
        self.close = weakref.finalize(self, _ended, parts)

    def begin(self) -> None:
        """Make the first part, so that a list that cannot be had is still an error."""
        self.first = next(self.parts, b"")

    def __iter__(self) -> Iterator[bytes]:
        yield self.first
        yield from self.parts


def _ended(parts: Generator[bytes]) -> None:
    parts.close()
    STREAMS.release()


def _blocks(parts: Iterator[bytes]) -> Generator[bytes]:
    """The same bytes in fewer parts."""
    while block := b"".join(itertools.islice(parts, PARTS_AT_ONCE)):
        yield block


def _cell(value: object) -> object:
    """Text that a spreadsheet would run as a formula gets a leading apostrophe; a line ends in one
    way, for `csv` leaves a bare CR unquoted, and what follows it would be a row of its own.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and not any(isinstance(each, dict) for each in value):
        value = ";".join(map(str, value))
    if isinstance(value, list | dict):
        value = orjson.dumps(value).decode()
    if isinstance(value, str):
        value = value.replace("\r\n", "\n").replace("\r", "\n")
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\n") else value
    return value


def unless_known(
    request: Request, reply: Callable[[], HttpResponseBase], also: str = ""
) -> HttpResponseBase:
    """The reply with its tag; a 304 where the reader has it already.

    `also` is what it is made of besides the catalog's version.
    """
    tag = _tag(request, also)
    # GZipMiddleware marks the tag of what it compresses as weak: the content is the same.
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if not {each.removeprefix("W/") for each in known}.isdisjoint((tag, "*")):
        known_already = HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers={"ETag": tag})
        del known_already["Content-Type"]  # it has no content, and the reader's is of another kind
        return known_already
    response = reply()
    if response.status_code == HTTPStatus.OK:
        response["ETag"] = tag
    return response


class ByContent(ConditionalGetMiddleware):
    """The tag of what no version of the catalog stands for: its content's. To HEAD as to GET."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """The answer with its tag, or a 304."""
        asked = request.method
        request.method = "GET" if asked == "HEAD" else asked
        try:
            return super().process_response(request, response)
        finally:
            request.method = asked


tagged_by_content = decorator_from_middleware(ByContent)


def _tag(request: Request, also: str) -> str:
    """What a reply is made of: the catalog's version, the hour (ages grow), words, and address."""
    text = f"{CatalogVersion.stamp()}|{get_language()}|{request.get_full_path()}{also}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:32]}"'


def neighbours(request: Request, after: str | None, before: str | None) -> dict[str, str | None]:
    """The addresses of the next and the previous page of this list, by their cursors.

    They are paths, as no header may name the host.
    """
    asked = [(k, v) for k, values in request.query_params.lists() for v in values if k != "cursor"]
    at = f"{request.path}?{urlencode(asked)}"
    return {
        "next": after and f"{at}&cursor={after}",
        "previous": before and f"{at}&cursor={before}",
    }


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


def unavailable(code: str, message: str) -> HttpResponse:
    """A 503: it can be had, but not just now."""
    response = problem(503, code, message)
    response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def error_response(exc: Exception, _context: Mapping[str, Any]) -> HttpResponse | None:
    """What DRF answers for an exception of a view; None lets it through as a 500."""
    if isinstance(exc, BadQuery):
        message = "The query cannot be answered: " + "; ".join(
            f"{name} {' '.join(said)}" for name, said in exc.fields.items()
        )
        if isinstance(exc, Contradicts):
            return problem(409, "contradicts", message, exc.fields)
        return problem(400, "bad_query", message, exc.fields)
    if isinstance(exc, TooMany):
        return problem(409, "too_many", str(exc))
    if isinstance(exc, TooMuch):
        return problem(422, "too_much", str(exc))
    if isinstance(exc, Http404):
        return problem(404, "not_found", str(exc) or "There is nothing at this address.")
    if names_what_is_gone(exc):
        return problem(404, "not_found", "What this belongs to was deleted meanwhile.")
    if isinstance(exc, OperationalError):
        return unavailable("database_unavailable", "The database does not answer just now.")
    if isinstance(exc, exceptions.APIException):
        return _of_drf(exc)
    return None


def names_what_is_gone(exc: Exception) -> bool:
    """Whether a row could not be written as the one that it belongs to was deleted meanwhile."""
    return isinstance(exc, IntegrityError) and isinstance(
        exc.__cause__, psycopg.errors.ForeignKeyViolation
    )


def _of_drf(exc: exceptions.APIException) -> HttpResponse:
    message = str(exc.detail) if isinstance(exc.detail, str) else "It cannot be answered."
    response = problem(exc.status_code, str(exc.default_code), message)
    if isinstance(exc, exceptions.MethodNotAllowed):
        response["Allow"] = "GET, HEAD, OPTIONS"
    if asks_for := getattr(exc, "auth_header", None):  # DRF's, on a 401
        response["WWW-Authenticate"] = asks_for
    return response


@csrf_exempt
def no_door(_request: HttpRequest) -> HttpResponse:
    """Any address under /api/v1/ that is none."""
    return problem(404, "not_found", "There is no such door. The doors are in /api/v1/schema/.")

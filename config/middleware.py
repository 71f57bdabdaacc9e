"""What holds for every request: a strict policy, bounded bodies, a 503 without a database."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus

from django.core.exceptions import RequestDataTooBig
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, RawPostDataException, UnreadablePostError
from django.utils.cache import patch_vary_headers

from catalog.query import BadQuery
from catalog.replies import names_what_is_gone
from config import errors, hang_up
from config.doors import caller
from config.places import Places

Answer = Callable[[HttpRequest], HttpResponse]
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# Django's own scripts there write styles into elements.
ADMINS_POLICY = POLICY.replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
# Of a web process's four threads, so many may wait for a body; the others go on answering reads.
BODIES = Places(most=2, each=1)
PATIENCE_S = 0.1  # nearly every body comes with its head, and its place is free in a moment
GRACE_S, LEAST_BYTES_PER_S = 4.0, 200_000  # the largest body has nine seconds (reliability.md A6)


def security_headers(get_response: Answer) -> Answer:
    """A policy on every response, also of a file or of a redirect."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        policy = ADMINS_POLICY if request.path.startswith("/admin/") else POLICY
        response.headers.setdefault("Content-Security-Policy", policy)
        return response

    return answer


def who_may_keep(get_response: Answer) -> Answer:
    """A cache asks again each time, and keeps for all what nobody in particular was told.

    Cookies say in which language and theme a page is, and whether its reader is signed in; the API
    looks at a token as well.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        personal = request.headers.get("Authorization") or request.COOKIES or response.cookies
        response.headers.setdefault(
            "Cache-Control", f"{'private' if personal else 'public'}, no-cache"
        )
        patch_vary_headers(response, ("Authorization", "Cookie"))
        return response

    return answer


def bounded_bodies(get_response: Answer) -> Answer:
    """A body is read whole before anything else, a few at a time, and one of a caller.

    Whoever sends one byte a minute holds such a place for seconds, and has a 408.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if not (request.headers.get("Content-Length") or request.headers.get("Transfer-Encoding")):
            return get_response(request)
        with BODIES.one(caller(request), PATIENCE_S) as let_in:
            refused = _refused(request) if let_in else errors.busy(request)
        return refused or get_response(request)

    return answer


def _refused(request: HttpRequest) -> HttpResponse | None:
    """None once the body is there, kept by the request for whoever asks."""
    length = request.META.get("CONTENT_LENGTH") or ""
    given_s = GRACE_S + (int(length) if length.isdecimal() else 0) / LEAST_BYTES_PER_S
    began = time.monotonic()
    try:
        with _hanging_up(int(request.META["SERVER_PORT"]), given_s):
            request.body  # noqa: B018 -- read
    except RequestDataTooBig:
        return errors.answer(request, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    except (UnreadablePostError, RawPostDataException):
        return errors.answer(request, HTTPStatus.BAD_REQUEST)
    late = time.monotonic() - began >= given_s
    return errors.answer(request, HTTPStatus.REQUEST_TIMEOUT) if late else None


@contextmanager
def _hanging_up(port: int, after_s: float) -> Iterator[None]:
    """Whoever has not sent all by then never will."""
    clock = threading.Timer(after_s, hang_up.on_unanswered, [port, after_s - 0.1])
    clock.daemon = True
    clock.start()
    try:
        yield
    finally:
        clock.cancel()


class Unanswerable:
    """What a page could not answer: a database that is away, or a question that makes no sense.

    Nor one that was sent what it does not take.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        bare = response.status_code == HTTPStatus.METHOD_NOT_ALLOWED and not response.content
        return errors.not_allowed(request, response) if bare else response

    def process_exception(self, request: HttpRequest, problem: Exception) -> HttpResponse | None:
        """503 for a connection that is not there, 400 for a bad query, 404 for what was deleted
        while something was added to it; all else stays a fault.
        """
        if isinstance(problem, OperationalError | InterfaceError):
            return errors.answer(request, HTTPStatus.SERVICE_UNAVAILABLE)
        if isinstance(problem, BadQuery):
            return errors.answer(request, HTTPStatus.BAD_REQUEST)
        if names_what_is_gone(problem):
            return errors.answer(request, HTTPStatus.NOT_FOUND)
        return None

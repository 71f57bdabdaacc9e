"""What is answered where no view could: the API's one error shape below /api/, else a page."""

import logging
import uuid
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation

from catalog.replies import RETRY_AFTER_S, problem, unavailable

log = logging.getLogger(__name__)

SAID = {
    400: ("bad_request", "The request could not be understood: its address or its host name."),
    403: ("forbidden", "The request did not come from a form of this service."),
    404: ("not_found", "There is no such door. The doors are in /api/v1/schema/."),
    405: ("method_not_allowed", "This address is read; nothing can be sent to it."),
    408: ("too_slow", "The body did not come in time. Send it again, whole."),
    413: ("too_large", "The body is larger than 1 MB, the most that is read."),
    500: ("internal", "This request failed, and the log of the service says why."),
    503: ("unavailable", "The database does not answer just now. Try again in a moment."),
}


def answer(request: HttpRequest, status: int, **said: Any) -> HttpResponse:
    """An error of that status, in the form that the reader of this address expects.

    `said` is what its page says besides.
    """
    if request.path.startswith("/api/"):
        response = problem(status, *SAID[status])
    elif status in (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        response = HttpResponse(SAID[status][1], content_type="text/plain", status=status)
    else:
        response = page(request, status, **said)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def busy(request: HttpRequest) -> HttpResponse:
    """503: as many as may be are at it in this process, and the next moment has a place."""
    if request.path.startswith("/api/"):
        return unavailable("busy", "The service is busy just now. Try again in a moment.")
    return answer(request, HTTPStatus.SERVICE_UNAVAILABLE)


def page(request: HttpRequest, status: int, **said: Any) -> HttpResponse:
    """The page of an error, in the language of its reader, which nobody may have looked for yet."""
    with translation.override(translation.get_language_from_request(request)):
        return render(request, f"{status}.html", said, status=status)


def throttled(request: HttpRequest, message: str, seconds: int) -> HttpResponse:
    """429: when to come again. Whoever followed a link in a browser gets a page."""
    status = HTTPStatus.TOO_MANY_REQUESTS
    if "text/html" in request.headers.get("Accept", ""):
        return page(request, status, seconds=seconds)
    return problem(status, "throttled", message)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 -- Django's
    """400: Django's own, for a host that is not ours."""
    return answer(request, 400)


def forbidden(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 -- Django's
    """403: a form without its token."""
    return answer(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 -- Django's
    """404: no page at this address."""
    return answer(request, 404)


def not_allowed(request: HttpRequest, refused: HttpResponse) -> HttpResponse:
    """405: an address that is only read, and was sent something."""
    response = answer(request, HTTPStatus.METHOD_NOT_ALLOWED)
    response["Allow"] = refused["Allow"]
    return response


def failed(request: HttpRequest) -> HttpResponse:
    """500: our fault, under an id by which the log of the service can be searched."""
    name = uuid.uuid4().hex[:12]
    log.error("request %s failed: %s %s", name, request.method, request.path)
    try:
        response = answer(request, 500, request_id=name)
    except Exception:  # noqa: BLE001 -- what failed is the frame of every page
        response = HttpResponse(SAID[500][1], content_type="text/plain", status=500)
    response["X-Request-ID"] = name
    return response

"""What is answered where no view could: the API's one error shape below /api/, else a page."""

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from catalog.replies import RETRY_AFTER_S, problem

SAID = {
    400: ("bad_request", "The request could not be understood: its address or its host name."),
    403: ("forbidden", "The request did not come from a form of this service."),
    404: ("not_found", "There is no such door. The doors are in /api/v1/schema/."),
    413: ("too_large", "The body is larger than 1 MB, the most that is read."),
    500: ("internal", "This request failed, and the log of the service says why."),
    503: ("unavailable", "The database does not answer just now. Try again in a moment."),
}


def answer(request: HttpRequest, status: int) -> HttpResponse:
    """An error of that status, in the form that the reader of this address expects."""
    if request.path.startswith("/api/"):
        response = problem(status, *SAID[status])
    elif status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
        response = HttpResponse(SAID[status][1], content_type="text/plain", status=status)
    else:
        response = render(request, f"{status}.html", status=status)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response["Retry-After"] = str(RETRY_AFTER_S)
    return response


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 -- Django's
    """400: Django's own, for a host that is not ours."""
    return answer(request, 400)


def forbidden(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 -- Django's
    """403: a form without its token."""
    return answer(request, 403)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001 -- Django's
    """404: no page at this address."""
    return answer(request, 404)


def failed(request: HttpRequest) -> HttpResponse:
    """500: our fault."""
    return answer(request, 500)

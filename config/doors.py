"""What holds at the doors: how often one may knock, who reads from where, how many at once."""

import re
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounts import limits
from accounts.models import Token
from catalog.replies import problem
from config import errors
from config.places import Places

Answer = Callable[[HttpRequest], HttpResponse]
API = "/api/v1/"
READS = ("GET", "HEAD", "OPTIONS")
# A process has four threads. Two may take seconds over an estimate; a short write never waits for
# those, and leaves a thread to reads even where each waits for a lock.
ESTIMATES, WRITES = Places(most=2, each=1), Places(most=3, each=2)
ESTIMATED = re.compile(r"/(?:compare/|api/v1/networks/|workloads/[^/])")  # where it is read
ORDERED = re.compile(  # where it is sent for
    r"/(?:api/v1/estimates/|(?:api/v1/)?measurements/|comparisons/new/|.*/run/)"
)
WRITTEN = re.compile(r"/(?:api/v1|comparisons|measurements|watches)/")
EXPOSED = (
    "Content-Disposition, ETag, Link, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, "
    "Retry-After"
)


# --- From where -------------------------------------------------------------------------------


def cross_origin_reads(get_response: Answer) -> Answer:
    """Any page of the web may read here, as nobody or with a token that it holds itself.

    The origin is `*`, so a browser sends no cookie along, or shows no answer to what it sent.
    Nothing can be changed from another origin.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(API):
            return get_response(request)
        if wanted := request.headers.get("Access-Control-Request-Method", ""):
            return _preflight(wanted) if request.method == "OPTIONS" else get_response(request)
        response = get_response(request)
        if request.method in READS:
            response["Access-Control-Allow-Origin"] = "*"
            response["Access-Control-Expose-Headers"] = EXPOSED
        return response

    return answer


def _preflight(wanted: str) -> HttpResponse:
    if wanted not in READS:
        return problem(403, "forbidden", "Another site may read here, and change nothing.")
    return HttpResponse(
        status=HTTPStatus.NO_CONTENT,
        headers={
            "Access-Control-Allow-Origin": "*",
            "Access-Control-Allow-Methods": ", ".join(READS),
            "Access-Control-Allow-Headers": "Authorization, If-None-Match",
            "Access-Control-Max-Age": "86400",
        },
    )


# --- How often --------------------------------------------------------------------------------


class RateLimits:
    """So many requests a minute, by token or else by address; every answer says what is left.

    Who shows no token is counted, and refused, before anything is asked of the database. Whether a
    token is one of ours only the database knows, so that is `accounts.limits.TokenThrottle`'s, and
    one that is not counts as an anonymous request after all. What is refused before anyone looked
    at the token, as a body too large or a busy service is, counts for nobody.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not request.path.startswith(API):
            return self.get_response(request)
        refused = None if _shows_token(request) else _count(request)
        response = refused or self.get_response(request)
        if not hasattr(request, "standing") and hasattr(request, "auth"):  # DRF looked
            response = _count(request) or response
        if standing := getattr(request, "standing", None):
            for name, value in standing.headers.items():
                response[name] = value
        return response

    def process_view(
        self, request: HttpRequest, view: Callable[..., HttpResponse], *_: Any
    ) -> HttpResponse | None:
        """A door that looks at no token counts by address."""
        if hasattr(view, "cls") or hasattr(request, "standing"):
            return None
        return _count(request) if request.path.startswith(API) else None


def _shows_token(request: HttpRequest) -> bool:
    return request.headers.get("Authorization", "")[:7].lower() == "bearer "


def _count(request: HttpRequest) -> HttpResponse | None:
    """Count a request, by the token that DRF found good or by address; the 429, if that is due."""
    token = getattr(request, "auth", None)
    standing = limits.by_token(token) if isinstance(token, Token) else limits.anonymous(request)
    request.standing = standing  # type: ignore[attr-defined]
    if not standing.is_over:
        return None
    message = (
        f"That was more than {standing.limit.most} requests in {standing.limit.seconds} s. "
        f"Come again in {standing.resets_in_s} s."
    )
    return errors.throttled(request, message, standing.resets_in_s)


# --- How many at once -------------------------------------------------------------------------


def few_at_once(get_response: Answer) -> Answer:
    """What estimates has few places in a process and what writes has others, so that reads go on.

    Nobody waits for such a place: a thread that waits answers no reads. One caller is told that it
    is his own doing. It stands behind `bounded_bodies`: a body that is slow to come is no request.
    """

    def answer(request: HttpRequest) -> HttpResponse:
        if (places := _places(request)) is None:
            return get_response(request)
        with places.one(who := caller(request)) as let_in:
            return get_response(request) if let_in else _too_many_at_once(request, places, who)

    return answer


def _places(request: HttpRequest) -> Places | None:
    """Among whom it takes a place; None for what is read at once."""
    if request.method in READS:
        return ESTIMATES if ESTIMATED.match(request.path) else None
    if ORDERED.match(request.path):
        return ESTIMATES
    return WRITES if WRITTEN.match(request.path) else None


def caller(request: HttpRequest) -> str:
    """Whoever asks, as places know them: by the token that is shown, else by address."""
    shown = request.headers.get("Authorization", "") if _shows_token(request) else ""
    return sha256(shown.encode()).hexdigest() if shown else limits.address_of(request)


def _too_many_at_once(request: HttpRequest, places: Places, who: str) -> HttpResponse:
    if not request.path.startswith(API):
        response = errors.busy(request)
        if request.method in READS:
            response["Refresh"] = response["Retry-After"]  # the browser asks again by itself
        return response
    if not places.has_enough(who):
        return errors.busy(request)
    response = problem(
        HTTPStatus.TOO_MANY_REQUESTS,
        "too_many_at_once",
        f"As many requests of yours as may be are under way here: {places.each}. "
        "Wait for one of them.",
    )
    response["Retry-After"] = "1"
    return response

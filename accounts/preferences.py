"""Language and theme: all that a reader's browser keeps, in a cookie each, signed in or not."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_safe

from accounts.visitor import THEME_COOKIE, THEMES

SYSTEM = "system"
YEAR_S = 31_536_000


@require_safe
def language(request: HttpRequest, code: str) -> HttpResponse:
    """Read in that language, and go back to the page where it was chosen."""
    if code not in dict(settings.LANGUAGES):
        raise Http404
    return _keep(request, settings.LANGUAGE_COOKIE_NAME, code)


@require_safe
def theme(request: HttpRequest, code: str) -> HttpResponse:
    """Read in light, in dark, or as the system says."""
    if code not in (*THEMES, SYSTEM):
        raise Http404
    return _keep(request, THEME_COOKIE, "" if code == SYSTEM else code)


def _keep(request: HttpRequest, cookie: str, value: str) -> HttpResponse:
    """Back to the page of ours that `next` names; nothing to keep takes the cookie away."""
    there = request.GET.get("next", "/")
    if not url_has_allowed_host_and_scheme(there, allowed_hosts=None) or not there.startswith("/"):
        there = "/"
    response = HttpResponseRedirect(there)
    response.set_cookie(
        cookie, value, max_age=YEAR_S if value else 0, samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE, httponly=True,
    )  # fmt: skip
    return response

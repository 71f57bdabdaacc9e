"""What a link shows to whoever has it: one comparison, to read, for no cache or search engine.

A link that was revoked and one that never was are the same 404, found by one look-up of a hash.
"""

import functools
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from comparisons.models import Comparison, Share, hashed
from comparisons.pages import detail, printed, status_of

Page = Callable[[HttpRequest, str], HttpResponse]


def _read_by_anyone(page: Callable[[HttpRequest, Comparison, str], HttpResponse]) -> Page:
    """The page of a comparison, for whoever has a link that lives."""

    @never_cache
    @require_safe
    @functools.wraps(page)
    def answer(request: HttpRequest, token: str) -> HttpResponse:
        link = (
            Share.objects.select_related("comparison")
            .filter(token_hash=hashed(token), revoked_at=None)
            .first()
        )
        if link is None:
            response = render(request, "404.html", status=404)
        else:
            response = page(request, link.comparison, token)
        response["Referrer-Policy"] = "no-referrer"
        response["X-Robots-Tag"] = "noindex, nofollow"
        return response

    return answer


@_read_by_anyone
def shared(request: HttpRequest, found: Comparison, token: str) -> HttpResponse:
    """The comparison of a link: its last answer, and what changed."""
    context = detail(request, found) | {"paper_at": reverse("print-shared", args=[token])}
    return render(request, "comparisons/shared.html", context, status=status_of(context))


@_read_by_anyone
def on_paper(request: HttpRequest, found: Comparison, token: str) -> HttpResponse:
    """The same to print, with the evidence of each cell."""
    return printed(request, found, reverse("shared", args=[token]))

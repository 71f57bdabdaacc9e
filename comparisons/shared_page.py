"""What a link shows to whoever has it: one comparison, to read, for no cache or search engine.

A link that was revoked and one that never was are the same 404, found by one look-up of a hash.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from comparisons.models import Share, hashed
from comparisons.pages import detail


@never_cache
@require_safe
def shared(request: HttpRequest, token: str) -> HttpResponse:
    """The comparison of a link: its last answer, and what changed."""
    link = (
        Share.objects.select_related("comparison")
        .filter(token_hash=hashed(token), revoked_at=None)
        .first()
    )
    if link is None:
        response = render(request, "404.html", status=404)
    else:
        response = render(request, "comparisons/shared.html", detail(request, link.comparison))
    response["Referrer-Policy"] = "no-referrer"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response

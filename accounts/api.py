"""What a script may know of itself: whose its token is, what it may do, and the others' end.

A token is made on the account page alone: a token that leaked must not make others.
"""

from django.conf import settings
from django.http import Http404, HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework.request import Request

from accounts.access import OwnDoor
from accounts.models import Token
from catalog.replies import json
from catalog.schema import ERROR, FAILED, Json

_WORDS: Json = {"type": "string"}
_MOMENT: Json = {"type": "string", "format": "date-time"}
TOKEN: Json = {
    "type": "object",
    "required": ["id", "name", "scope", "prefix", "created_at", "last_used_at"],
    "properties": {
        "id": {"type": "integer"},
        "name": _WORDS,
        "scope": {"type": "string", "enum": ["read", "write"]},
        "prefix": _WORDS,
        "created_at": _MOMENT,
        "last_used_at": _MOMENT | {"type": ["string", "null"]},
    },
}
ME: Json = {
    "type": "object",
    "required": ["user", "token", "requests_per_minute"],
    "properties": {
        "user": _WORDS,
        "token": {"oneOf": [TOKEN, {"type": "null"}]},
        "requests_per_minute": {"type": "integer"},
    },
}
TOKENS: Json = {
    "type": "object",
    "required": ["results"],
    "properties": {"results": {"type": "array", "items": TOKEN}},
}
REFUSED = FAILED | {
    (401, "application/json"): OpenApiResponse(ERROR, "No token, or not one of ours"),
    (403, "application/json"): OpenApiResponse(ERROR, "The token may not do this"),
}


def _row(token: Token) -> dict[str, object]:
    return {name: getattr(token, name) for name in TOKEN["required"]}


class Me(OwnDoor):
    """`GET me/`: whose token this is."""

    @extend_schema(
        operation_id="me",
        responses={(200, "application/json"): OpenApiResponse(ME, "You"), **REFUSED},
    )
    def get(self, request: Request) -> HttpResponse:
        """Your account and token, and how often it may ask."""
        token = request.auth if isinstance(request.auth, Token) else None
        per_minute = settings.API_PER_MINUTE_TOKEN if token else settings.API_PER_MINUTE_ANONYMOUS
        return json(
            {
                "user": request.user.get_username(),
                "token": token and _row(token),
                "requests_per_minute": per_minute,
            }
        )


class Tokens(OwnDoor):
    """`GET tokens/`: one's own."""

    @extend_schema(
        operation_id="tokens",
        responses={(200, "application/json"): OpenApiResponse(TOKENS, "Newest first"), **REFUSED},
    )
    def get(self, request: Request) -> HttpResponse:
        """Your tokens, newest first, without those that were revoked. Secrets are not kept."""
        own = Token.objects.filter(user=request.user.pk).alive()
        return json({"results": [_row(token) for token in own]})


class OneToken(OwnDoor):
    """`DELETE tokens/{id}/`: its end."""

    @extend_schema(
        operation_id="revoke_token",
        parameters=[OpenApiParameter("id", OpenApiTypes.INT, "path", description="Of `tokens/`")],
        responses={
            204: OpenApiResponse(description="It is revoked"),
            (404, "application/json"): OpenApiResponse(ERROR, "You have no such token"),
            **REFUSED,
        },
    )
    def delete(self, request: Request, id: int) -> HttpResponse:  # noqa: A002 -- as in the address
        """Revoke a token of yours, for good; the one that asks, too."""
        if not Token.objects.filter(user=request.user.pk, pk=id).revoke():
            raise Http404("You have no such token.")
        return HttpResponse(status=204)

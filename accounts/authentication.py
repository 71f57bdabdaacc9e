"""Whose request this is: `Authorization: Bearer fs_…`, else the session of a browser.

`request.user` is the user and `request.auth` the `Token`, or None where a session speaks.
Nobody at all is `request.user is None`: most of the API is open to them.
"""

import re
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.models import SCHEME, SECRET_BYTES, USE_IS_NOTED, Token

DESCRIPTION = (
    "A token of the account page: `Authorization: Bearer <token>`. Any other value is a 401; who "
    "sends no such header is anonymous."
)
SECRET = re.compile(rf"{SCHEME}[0-9a-f]{{{2 * SECRET_BYTES}}}")


class TokenAuthentication(SessionAuthentication):
    """The token of the header, and of nowhere else: addresses are logged and shared.

    Where a browser's session came along with it, what changes something needs that session's CSRF
    token as well: a header must not be the way around it.
    """

    def authenticate(self, request: Request) -> tuple[User, Token] | None:
        """User and token; None where the header is absent: by a slip of the pen nobody is.

        Raises
        ------
        AuthenticationFailed
            401: the header is of another form, or the token not one of ours, or was revoked.
        """
        shown = request.headers.get("Authorization")
        if shown is None:
            return None
        kind, _, secret = shown.partition(" ")
        if kind.lower() != "bearer":
            raise AuthenticationFailed("The header reads `Authorization: Bearer <token>`.")
        token = Token.objects.of(secret) if SECRET.fullmatch(secret) else None
        if token is None:
            raise AuthenticationFailed("The token is unknown or was revoked.")
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            self.enforce_csrf(request)
        if token.last_used_at is None or datetime.now(UTC) - token.last_used_at > USE_IS_NOTED:
            token.note_use()
        return token.user, token

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 -- DRF's
        """What a 401 asks for."""
        return 'Bearer realm="FabricScout"'


class TokenInSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI schema names it."""

    target_class = TokenAuthentication
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, str]:  # noqa: ARG002
        """A bearer token in the header."""
        return {"type": "http", "scheme": "bearer", "description": DESCRIPTION}

"""What someone may do. `OwnDoor` is all that a door of one's own needs.

Another's thing is not forbidden but not there: a queryset narrowed to its owner makes it a 404.
"""

from typing import Any, ClassVar

from django.contrib.auth.models import User
from django.http import HttpRequest
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts.models import ConfirmedAddress, Scope, Token
from catalog.query import Reading


class SignedInRequest(HttpRequest):
    """What a page behind `login_required` is called with."""

    user: User


class SignedIn(BasePermission):
    """Someone whom we know, else 401; with a token that may do what is asked, else 403."""

    def has_permission(self, request: Request, view: APIView) -> bool:  # noqa: ARG002 -- DRF's
        """True when the request may go on.

        Raises
        ------
        PermissionDenied
            403: the token can only read.
        """
        if not getattr(request.user, "is_authenticated", False):  # nobody is None
            return False
        token = request.auth
        reads = request.method in SAFE_METHODS
        if isinstance(token, Token) and token.scope != Scope.WRITE and not reads:
            raise PermissionDenied("This token may read, not write.")
        return True


class Door(APIView):
    """A door that takes no parameter, but where it says so: others are refused, not overlooked."""

    reads_query: ClassVar[tuple[str, ...]] = ()  # the verbs of which the door reads them itself

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Who asks, then what: before anything is looked for or done.

        Raises
        ------
        BadQuery
            Naming every parameter that there is.
        """
        super().initial(request, *args, **kwargs)
        reads = "GET" if request.method == "HEAD" else request.method
        if reads in self.allowed_methods and reads not in self.reads_query:
            Reading(request.query_params).finish(())


class OwnDoor(Door):
    """A door of what is one's own: it answers someone whom we know."""

    permission_classes = (SignedIn,)


def mail_address(user: User) -> str | None:
    """Where mail reaches them; None until they have opened the link that was sent there."""
    return user.email if ConfirmedAddress.objects.filter(user=user).exists() else None

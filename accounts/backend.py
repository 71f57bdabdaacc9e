"""Passwords, checked a few times in five minutes for an account and for an address.

Every door that takes a password comes through here: the page, the admin, the deletion of an
account. An account that does not exist costs the same scrypt, so the clock does not tell of it.
"""

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from accounts import limits
from accounts.models import digest

BY_ACCOUNT = limits.Limit("sign-in-account", 10, 300)
BY_ADDRESS = limits.Limit("sign-in-address", 30, 300)


class Passwords(ModelBackend):
    """Django's own, but no guessing."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **kwargs: Any,
    ) -> User | None:
        """The user with that name and password. Without a request nobody guesses: it is a shell.

        Raises
        ------
        PermissionDenied
            It was tried too often; `request.guesses` says when to come again. Django makes a
            failed login of it, like any other.
        """
        if request is None or username is None:
            return super().authenticate(request, username, password, **kwargs)
        account = digest(username.lower())
        tried = (
            limits.take(BY_ACCOUNT, account),
            limits.take(BY_ADDRESS, limits.address_of(request)),
        )
        if any(each.is_over for each in tried):
            request.guesses = max(tried, key=lambda each: (each.is_over, each.resets_in_s))  # type: ignore[attr-defined]
            raise PermissionDenied
        user = super().authenticate(request, username, password, **kwargs)
        if user:
            limits.forget(BY_ACCOUNT, account)
        return user

"""The app, as Django sees it."""

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_delete
from django.db.transaction import on_commit


class AccountsConfig(AppConfig):
    name = "accounts"

    def ready(self) -> None:
        """Mails that are kept as files go with an account, on whatever page it is deleted."""
        post_delete.connect(_forget, sender="auth.User", dispatch_uid="accounts.forget")


def _forget(instance: Any, **_more: Any) -> None:
    from accounts import mail  # noqa: PLC0415 -- it reads models, which are there now

    on_commit(lambda: mail.forget(instance.email))

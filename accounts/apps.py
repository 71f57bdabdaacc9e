"""The app, as Django sees it."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "accounts"

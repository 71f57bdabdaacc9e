"""The app, as Django sees it."""

from django.apps import AppConfig


class WatchesConfig(AppConfig):
    name = "watches"

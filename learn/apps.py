"""The app, as Django sees it."""

from django.apps import AppConfig


class LearnConfig(AppConfig):
    name = "learn"

"""The app, as Django sees it."""

from django.apps import AppConfig


class ComparisonsConfig(AppConfig):
    name = "comparisons"

"""The scrapers, as Django sees them: their commands and tasks."""

from django.apps import AppConfig


class ScrapersConfig(AppConfig):
    name = "scrapers"

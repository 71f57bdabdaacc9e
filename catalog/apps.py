"""The catalog, as Django sees it."""

from django.apps import AppConfig


class CatalogConfig(AppConfig):
    name = "catalog"

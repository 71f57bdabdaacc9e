"""Addresses of this room's pages."""

from django.urls import path

from comparisons import compare_page

urlpatterns = [
    path("compare/", compare_page.compare, name="compare"),
]

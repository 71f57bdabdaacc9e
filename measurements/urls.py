"""Addresses of the pages."""

from django.urls import path

from measurements import pages

urlpatterns = [
    path("measurements/", pages.check, name="measurements"),
    path("measurements/keep/", pages.keep, name="keep-measurement"),
    path("measurements/<int:pk>/", pages.kept, name="measurement"),
]

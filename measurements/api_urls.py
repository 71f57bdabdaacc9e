"""Doors of this room, below /api/v1/."""

from django.urls import path

from measurements import api

urlpatterns = [
    path("measurements/", api.Measurements.as_view(), name="measurements"),
    path("measurements/<int:pk>/", api.OneMeasurement.as_view(), name="measurement"),
]

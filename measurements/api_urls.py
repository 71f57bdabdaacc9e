"""Doors of this room, below /api/v1/."""

from django.urls import path

from catalog.replies import tagged_by_content
from measurements import api

urlpatterns = [
    path("measurements/", api.Measurements.as_view(), name="measurements"),
    path(
        "measurements/<int:pk>/",
        tagged_by_content(api.OneMeasurement.as_view()),
        name="measurement",
    ),
]

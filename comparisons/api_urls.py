"""Doors of this room, below /api/v1/."""

from django.urls import include, path

from comparisons import api

ONE = [
    path("", api.OneComparison.as_view()),
    path("duplicate/", api.Duplicate.as_view()),
    path("run/", api.MakeRun.as_view()),
    path("runs/", api.Runs.as_view()),
    path("runs/<uuid:run>/", api.OneRun.as_view()),
    path("export/", api.Export.as_view()),
    path("diff/", api.Diff.as_view()),
    path("rfq/", api.Rfq.as_view()),
    path("shares/", api.Shares.as_view()),
    path("shares/<uuid:share>/", api.OneShare.as_view()),
]
urlpatterns = [
    path("comparisons/", api.Comparisons.as_view()),
    path("comparisons/<uuid:id>/", include(ONE)),
]

"""Doors of this room, below /api/v1/."""

from django.urls import path

from watches import api

urlpatterns = [
    path("comparisons/<uuid:comparison>/watches/", api.OfComparison.as_view()),
    path("watches/", api.Watches.as_view()),
    path("watches/<uuid:watch>/", api.OneWatch.as_view()),
    path("watches/<uuid:watch>/test/", api.Test.as_view()),
    path("watches/<uuid:watch>/secret/", api.Secret.as_view()),
    path("watches/<uuid:watch>/deliveries/", api.Deliveries.as_view()),
    path("deliveries/<uuid:delivery>/send-again/", api.SendAgain.as_view()),
]

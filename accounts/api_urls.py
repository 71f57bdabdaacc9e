"""Doors of this room, below /api/v1/."""

from django.urls import path

from accounts import api

urlpatterns = [
    path("me/", api.Me.as_view(), name="me"),
    path("tokens/", api.Tokens.as_view(), name="tokens"),
    path("tokens/<int:id>/", api.OneToken.as_view(), name="token"),
]

"""Addresses of this room's pages."""

from django.urls import path

from watches import pages

urlpatterns = [
    path("comparisons/<uuid:comparison>/watch/", pages.new, name="watch-comparison"),
    path("account/watches/", pages.watches, name="account-watches"),
    path("account/watches/<uuid:watch>/", pages.watch, name="watch"),
    path("account/watches/<uuid:watch>/change/", pages.change, name="watch-change"),
    path("account/watches/<uuid:watch>/pause/", pages.pause, name="watch-pause"),
    path("account/watches/<uuid:watch>/resume/", pages.resume, name="watch-resume"),
    path("account/watches/<uuid:watch>/test/", pages.test, name="watch-test"),
    path("account/watches/<uuid:watch>/secret/", pages.secret, name="watch-secret"),
    path("account/watches/<uuid:watch>/delete/", pages.delete, name="watch-delete"),
    path("account/deliveries/<uuid:delivery>/send-again/", pages.send_again, name="delivery-again"),
]

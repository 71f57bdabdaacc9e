"""Addresses of this room's pages."""

from django.urls import include, path

from comparisons import compare_page, pages, shared_page

ONE = [
    path("", pages.comparison, name="comparison"),
    path("run/", pages.run, name="run-comparison"),
    path("edit/", pages.edit, name="edit-comparison"),
    path("duplicate/", pages.duplicate, name="duplicate-comparison"),
    path("share/", pages.share, name="share-comparison"),
    path("share/<uuid:share>/revoke/", pages.revoke, name="revoke-share"),
    path("delete/", pages.delete, name="delete-comparison"),
    path("print/", pages.on_paper, name="print-comparison"),
    path("questions/", pages.questions, name="comparison-questions"),
]
urlpatterns = [
    path("compare/", compare_page.compare, name="compare"),
    path("comparisons/", pages.comparisons, name="comparisons"),
    path("comparisons/new/", pages.new, name="new-comparison"),
    path("comparisons/<uuid:pk>/", include(ONE)),
    path("shared/<str:token>/", shared_page.shared, name="shared"),
    path("shared/<str:token>/print/", shared_page.on_paper, name="print-shared"),
]

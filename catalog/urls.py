"""Addresses of the pages and, below /api/v1/, of the API."""

from django.urls import include, path

from catalog import (
    accuracy_page,
    fabric_page,
    instance_page,
    network_page,
    pages,
    provider_page,
    ranking,
)

urlpatterns = [
    path("api/v1/", include("catalog.api_urls")),
    path("", pages.offers, name="offers"),
    path("instances/<str:provider>/<path:name>/", instance_page.instance, name="instance"),
    path("workloads/", ranking.workloads, name="workloads"),
    path("workloads/<slug:slug>/", ranking.ranking, name="ranking"),
    path("workloads/<slug:slug>/network/", network_page.network, name="network"),
    path("fabrics/", fabric_page.fabrics, name="fabrics"),
    path("providers/", provider_page.providers, name="providers"),
    path("providers/<slug:slug>/", provider_page.provider, name="provider"),
    path("learn/values/", pages.values, name="values"),
    path("learn/accuracy/", accuracy_page.accuracy, name="accuracy"),
    path("robots.txt", pages.robots),
    path("favicon.ico", pages.favicon),
]

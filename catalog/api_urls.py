"""The doors of the REST API."""

from django.urls import path, re_path
from django.views.decorators.http import conditional_page
from drf_spectacular.views import SpectacularJSONAPIView

from catalog import api, api_docs, network_page, replies, small_lists

app_name = "api"
# What no version of the catalog stands for is tagged by its content: `conditional_page`.
urlpatterns = [
    path("", conditional_page(api_docs.index), name="index"),
    path("offers/", api.Offers.as_view(), name="offers"),
    path("instance-types/", small_lists.InstanceTypes.as_view(), name="instance-types"),
    path(
        "instance-types/<str:provider>/<path:name>/",
        conditional_page(api.InstanceTypeDetail.as_view()),
        name="instance-type",
    ),
    path("gpus/", small_lists.Gpus.as_view(), name="gpus"),
    path("providers/", conditional_page(small_lists.Providers.as_view()), name="providers"),
    path("fabrics/", api.Fabrics.as_view(), name="fabrics"),
    path("facts/", small_lists.Facts.as_view(), name="facts"),
    path("prices/", small_lists.Prices.as_view(), name="prices"),
    path("quality/", conditional_page(api.Quality.as_view()), name="quality"),
    path("workloads/", conditional_page(api.Workloads.as_view()), name="workloads"),
    path("estimates/", api.Estimates.as_view(), name="estimates"),
    path("networks/", conditional_page(network_page.Networks.as_view()), name="networks"),
    path("docs/", api_docs.docs, name="docs"),
    path("schema/", conditional_page(SpectacularJSONAPIView.as_view()), name="schema"),
    re_path(r"^.*$", replies.no_door),
]

"""The doors of the REST API."""

from django.urls import path, re_path

from catalog import api, api_docs, network_page, replies, small_lists
from catalog.replies import tagged_by_content

app_name = "api"
urlpatterns = [
    path("", tagged_by_content(api_docs.index), name="index"),
    path("offers/", api.Offers.as_view(), name="offers"),
    path("instance-types/", small_lists.InstanceTypes.as_view(), name="instance-types"),
    path(
        "instance-types/<str:provider>/<path:name>/",
        tagged_by_content(api.InstanceTypeDetail.as_view()),
        name="instance-type",
    ),
    path("gpus/", small_lists.Gpus.as_view(), name="gpus"),
    path("providers/", tagged_by_content(small_lists.Providers.as_view()), name="providers"),
    path("fabrics/", api.Fabrics.as_view(), name="fabrics"),
    path("facts/", small_lists.Facts.as_view(), name="facts"),
    path("prices/", small_lists.Prices.as_view(), name="prices"),
    path("quality/", tagged_by_content(api.Quality.as_view()), name="quality"),
    path("workloads/", tagged_by_content(api.Workloads.as_view()), name="workloads"),
    path("estimates/", api.Estimates.as_view(), name="estimates"),
    path("networks/", tagged_by_content(network_page.Networks.as_view()), name="networks"),
    path("docs/", tagged_by_content(api_docs.docs), name="docs"),
    path("schema/", tagged_by_content(api_docs.in_json), name="schema"),
    re_path(r"^.*$", replies.no_door),
]

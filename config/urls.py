"""The doors: pages, the API, the admin, and the two health checks."""

from django.contrib import admin
from django.urls import include, path

from config import llms
from config.health import healthz, readyz
from config.metrics import metrics

handler400 = "config.errors.bad_request"
handler404 = "config.errors.not_found"
handler500 = "config.errors.failed"
urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("llms.txt", llms.llms, name="llms"),
    path("client.md", llms.client, name="client"),
    path("admin/", admin.site.urls),
    # Before the catalog's, whose API answers all that is left below /api/v1/.
    path("api/v1/", include("accounts.api_urls")),
    path("api/v1/", include("comparisons.api_urls")),
    path("api/v1/", include("measurements.api_urls")),
    path("api/v1/", include("watches.api_urls")),
    path("", include("accounts.urls")),
    path("", include("comparisons.urls")),
    path("", include("measurements.urls")),
    path("", include("watches.urls")),
    path("", include("learn.urls")),
    path("", include("catalog.urls")),
]

"""The doors: pages, the API, the admin, and the two health checks."""

from django.contrib import admin
from django.urls import include, path

from config.health import healthz, readyz

handler400 = "config.errors.bad_request"
handler404 = "config.errors.not_found"
handler500 = "config.errors.failed"
urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("admin/", admin.site.urls),
    path("", include("catalog.urls")),
]

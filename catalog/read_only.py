"""How the admin shows what only ingest may write."""

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest

if TYPE_CHECKING:  # the stubs' class takes a model, Django's own does not
    ModelAdmin = admin.ModelAdmin[Model]
else:
    ModelAdmin = admin.ModelAdmin


class ReadOnly(ModelAdmin):
    """Written by ingest and by nobody else."""

    def has_add_permission(self, request: HttpRequest) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:  # noqa: ARG002
        """Never."""
        return False

    def has_rule_permission(self, request: HttpRequest) -> bool:
        """Of the actions: whoever may add a ruling may take any decision."""
        return request.user.has_perm("catalog.add_ruling")

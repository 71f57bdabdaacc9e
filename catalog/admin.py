"""The admin: everything to look at; what only ingest may write, to look at alone."""

from django.contrib import admin

from catalog import models, quarantine_admin
from catalog.read_only import ModelAdmin, ReadOnly

__all__ = ["quarantine_admin"]  # what waits for a person: registered there


class OfferAdmin(ReadOnly):
    """What can be rented."""

    list_display = ("id", "instance_type", "region", "price_model", "usd_per_hour", "ended_at")
    list_select_related = ("instance_type",)
    search_fields = ("instance_type__name", "instance_type__provider__slug")


class PriceAdmin(ReadOnly):
    """The history of prices."""

    list_display = ("id", "offer_id", "native_amount", "native_currency", "valid_from", "valid_to")


class Reading(ReadOnly):
    """What became of each reading of the exchange rates."""

    list_display = ("begun_at", "state", "day", "reason")
    exclude = ("body",)


class FactAdmin(ReadOnly):
    """Statements, the withdrawn ones too."""

    list_display = ("subject", "attribute", "value", "basis", "checked", "superseded_at")
    list_filter = ("basis", "origin")
    search_fields = ("subject", "source")


class LeaseAdmin(ModelAdmin):
    """A person may make a provider due, or close its breaker."""

    list_display = ("provider", "owner", "due_at", "attempts", "failures", "breaker_until")
    readonly_fields = ("provider", "epoch", "owner", "expires_at")


admin.site.site_header = admin.site.site_title = "FabricScout"
admin.site.register(models.Offer, OfferAdmin)
admin.site.register(models.Price, PriceAdmin)
admin.site.register(models.Fact, FactAdmin)
admin.site.register(models.Lease, LeaseAdmin)
admin.site.register([models.CatalogVersion, models.Estimate, models.Fabric], ReadOnly)
admin.site.register(models.RateReading, Reading)
admin.site.register([models.InstanceType, models.Gpu, models.Rate, models.Workload], ReadOnly)
admin.site.register([models.Provider, models.Region, models.Country])

"""Who rents GPUs, where, and what their money is worth."""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from datetime import timedelta

from django.contrib.postgres.fields import ArrayField
from django.db import models

from catalog.models.rules import positive


class Country(models.Model):
    """A country by its two letters, and the continent that a reader filters by."""

    code = models.CharField(max_length=2, primary_key=True)
    continent = models.CharField(max_length=32, null=True, blank=True)

    class Meta:
        verbose_name_plural = "countries"

    def __str__(self) -> str:
        return self.code


class Provider(models.Model):
    """A company that rents GPUs, or a market through which others do."""

    slug = models.SlugField(max_length=64, primary_key=True)
    title = models.CharField(max_length=200)
    homepage = models.URLField(max_length=400, blank=True)
    country = models.CharField(max_length=2, null=True, blank=True)
    also_known_as = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    source = models.CharField(max_length=400, blank=True)
    interval = models.DurationField(default=timedelta(days=1))  # between two scrapes
    credentials = ArrayField(models.CharField(max_length=100), default=list, blank=True)
    has_scraper = models.BooleanField(default=False)
    # The last good live fetch; null is shown as "never fetched live".
    fetched_live_at = models.DateTimeField(null=True, blank=True)
    published_run = models.ForeignKey(
        "catalog.ScrapeRun", models.PROTECT, null=True, blank=True, related_name="+"
    )

    def __str__(self) -> str:
        return self.slug


class Region(models.Model):
    """A provider's own name for a place, and the country it lies in."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="regions")
    region = models.CharField(max_length=120)
    country = models.ForeignKey(
        Country, models.PROTECT, db_column="country", null=True, blank=True, related_name="+"
    )
    source = models.CharField(max_length=400, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "region"], name="region_once")]

    def __str__(self) -> str:
        return f"{self.provider_id}/{self.region}"


class Rate(models.Model):
    """What one unit of a currency was worth on a day. [USD]"""

    currency = models.CharField(max_length=3)
    usd_per_unit = models.DecimalField(max_digits=20, decimal_places=10)
    day = models.DateField()
    source = models.CharField(max_length=400)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["currency", "day"], name="rate_once"),
            *positive("rate", "usd_per_unit"),
        ]

    def __str__(self) -> str:
        return f"{self.currency} {self.day}"

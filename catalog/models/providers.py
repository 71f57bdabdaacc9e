"""Who rents GPUs, where, and what their money is worth."""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from datetime import timedelta
from enum import StrEnum

from django.contrib.postgres.fields import ArrayField
from django.db import models

from catalog.models.rules import one_of, positive


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
    how = models.CharField(max_length=300, blank=True, db_default="")  # it is read, if worth a word
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
    # Where the name says no more than that ("Europe"); else it is the country's.
    continent = models.CharField(max_length=32, null=True, blank=True)
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


class ReadingState(StrEnum):
    """What became of one reading of the reference rates."""

    READING = "reading"
    ACCEPTED = "accepted"
    UNCHANGED = "unchanged"  # it named no later day than what we have
    REFUSED = "refused"  # no rate of it could be believed, or it could not be read
    FAILED = "failed"  # there was no answer


class RateReading(models.Model):
    """One attempt at the reference rates, with the very answer: the last good rates stay."""

    state = models.CharField(max_length=12, default=ReadingState.READING.value)
    reason = models.CharField(max_length=1000, blank=True)
    day = models.DateField(null=True)  # that the answer names
    body = models.BinaryField(default=b"")
    begun_at = models.DateTimeField()

    class Meta:
        constraints = [one_of("rate_reading", "state", ReadingState)]
        indexes = [models.Index(fields=["-begun_at"], name="rate_reading_latest")]

    def __str__(self) -> str:
        return f"{self.begun_at:%Y-%m-%d %H:%M} {self.state}"

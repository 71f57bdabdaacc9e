"""What can be rented, at which price, since when.

The current price stands on the offer, so that a page reads one table; `Price` holds its history,
one row a change. Both are written by `catalog.ingest` alone.
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from datetime import datetime

from django.contrib.postgres.constraints import ExclusionConstraint
from django.contrib.postgres.fields import ArrayField, DateTimeRangeField, RangeOperators
from django.db import connection, models
from django.db.models import F, Func, Q
from django.db.models.functions import Now

from catalog import records
from catalog.models.hardware import InstanceType
from catalog.models.providers import Country, Provider
from catalog.models.rules import between, one_of, positive


class OfferQuerySet(models.QuerySet["Offer"]):
    """Offers."""

    def listed(self) -> "OfferQuerySet":
        """Those that their provider still lists, and that stand for themselves."""
        return self.filter(ended_at=None, cross_check=False)

    def cross_checks(self) -> "OfferQuerySet":
        """Those of an aggregator whose seller is read directly."""
        return self.filter(ended_at=None, cross_check=True)


class Offer(models.Model):
    """A type, in a region, in a tier, under one price model: one thing to rent."""

    instance_type = models.ForeignKey(InstanceType, models.CASCADE, related_name="offers")
    via = models.CharField(max_length=64, null=True, blank=True)
    region = models.CharField(max_length=120, null=True, blank=True)
    country = models.ForeignKey(
        Country, models.PROTECT, db_column="country", null=True, blank=True, related_name="+"
    )
    tier = models.CharField(max_length=120, null=True, blank=True)
    price_model = models.CharField(max_length=16)
    # Whose listing (or bundled file) it stands in: `via`, or else its provider.
    listed_by = models.ForeignKey(Provider, models.CASCADE, related_name="listings")
    available = models.BooleanField(null=True)
    # The price now; null is "not published", and `price_note` says why.
    usd_per_hour = models.DecimalField(max_digits=18, decimal_places=8, null=True)
    usd_per_gpu_hour = models.DecimalField(max_digits=18, decimal_places=6, null=True)
    native_amount = models.DecimalField(max_digits=20, decimal_places=8, null=True)
    native_currency = models.CharField(max_length=3, null=True)
    usd_rate = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    usd_rate_date = models.DateField(null=True)
    price_note = models.CharField(max_length=400, null=True, blank=True)
    price_includes = models.CharField(max_length=400, null=True, blank=True)
    minimum_hours = models.FloatField(null=True)
    collected_at = models.DateTimeField()
    source_url = models.CharField(max_length=1000)
    warnings = ArrayField(models.CharField(max_length=400), default=list, blank=True)
    # Its seller is read directly: it checks those prices, and is not listed beside them.
    cross_check = models.BooleanField(db_default=False)
    first_seen = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)  # null while listed
    # The run that last listed it; null: a bundled, dated price that no scrape has listed yet.
    run = models.ForeignKey(
        "catalog.ScrapeRun", models.PROTECT, null=True, related_name="+", db_index=False
    )

    objects = OfferQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["instance_type", "via", "region", "tier", "price_model"],
                nulls_distinct=False,
                name="offer_once",
            ),
            one_of("offer", "price_model", records.PriceModel),
            *positive("offer", "usd_per_hour", "usd_per_gpu_hour", "native_amount", "usd_rate"),
            between("offer", "minimum_hours", 0, 1e6),
            models.CheckConstraint(
                condition=Q(usd_per_hour=None) | Q(native_amount__isnull=False),
                name="offer_dollars_come_from_an_amount",
            ),
            models.CheckConstraint(
                condition=Q(native_amount=None) | Q(native_currency__isnull=False),
                name="offer_amount_has_a_currency",
            ),
        ]
        indexes = [
            models.Index(
                F("usd_per_gpu_hour").asc(nulls_last=True),
                "id",
                condition=Q(ended_at=None),
                name="offer_cheapest_per_gpu",
            ),
            models.Index(
                F("usd_per_hour").asc(nulls_last=True),
                "id",
                condition=Q(ended_at=None),
                name="offer_cheapest",
            ),
            models.Index(fields=["listed_by"], name="offer_by_lister", include=["ended_at"]),
            models.Index(
                fields=["instance_type"],
                condition=Q(via__isnull=False),
                name="offer_through_another",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_type} {self.region or ''} {self.price_model}"


class TsTzRange(Func):
    """The half-open range from one time to another, for ever where the end is null."""

    function = "tstzrange"
    output_field = DateTimeRangeField()


class Price(models.Model):
    """What an offer cost from `valid_from` until `valid_to`. Written only when it changes."""

    offer = models.ForeignKey(Offer, models.CASCADE, related_name="prices", db_index=False)
    native_amount = models.DecimalField(max_digits=20, decimal_places=8, null=True)
    native_currency = models.CharField(max_length=3, null=True)
    usd_per_hour = models.DecimalField(max_digits=18, decimal_places=8, null=True)
    usd_rate = models.DecimalField(max_digits=20, decimal_places=10, null=True)
    usd_rate_date = models.DateField(null=True)
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True, blank=True)
    source_url = models.CharField(max_length=1000)
    run = models.ForeignKey(
        "catalog.ScrapeRun", models.PROTECT, null=True, related_name="+", db_index=False
    )

    class Meta:
        constraints = [
            ExclusionConstraint(
                name="price_periods_never_overlap",
                expressions=[
                    ("offer", RangeOperators.EQUAL),
                    (TsTzRange("valid_from", "valid_to"), RangeOperators.OVERLAPS),
                ],
            ),
            models.UniqueConstraint(
                fields=["offer"], condition=Q(valid_to=None), name="price_one_open_period"
            ),
            models.CheckConstraint(
                condition=Q(valid_to=None) | Q(valid_to__gt=F("valid_from")),
                name="price_period_runs_forward",
            ),
            *positive("price", "native_amount", "usd_per_hour", "usd_rate"),
        ]
        indexes = [
            models.Index(fields=["offer", "-valid_from"], name="price_history"),
            # What changed last, of all: without it every price is read for a page.
            models.Index(F("valid_from").desc(nulls_last=True), "id", name="price_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.offer_id}: {self.native_amount} {self.native_currency}"


class CatalogVersion(models.Model):
    """One row, raised in every publishing transaction: what caches and ETags go by."""

    version = models.BigIntegerField(default=0)
    changed_at = models.DateTimeField(null=True)
    revision = models.UUIDField(null=True)  # of the listing, written by triggers (`listing_sql`)
    bundle_digest = models.CharField(max_length=64, blank=True)  # of the files loaded last

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="catalog_version_one_row")]

    def __str__(self) -> str:
        return str(self.version)

    @classmethod
    def advance(cls) -> None:
        """Tell every cache that the catalog is another one now."""
        cls.objects.filter(id=1).update(version=F("version") + 1, changed_at=Now())

    @classmethod
    def stamp(cls) -> str:
        """What an answer is made of: the catalog, and the hour, since ages grow.

        By its version, and by the revision of the listing: an edit by hand raises no version.
        """
        made_of = "concat_ws('.', version, revision, to_char(now(), 'YYYYMMDDHH24'))"
        return str(cls._now(made_of) or 0)

    @classmethod
    def changed(cls) -> datetime | None:
        """When it became what it is."""
        found = cls._now("changed_at")
        return found if isinstance(found, datetime) else None

    @classmethod
    def _now(cls, column: str) -> object:
        """By hand: every reply asks, and the ORM's way would be a tenth of a page."""
        with connection.cursor() as cursor:
            cursor.execute(f"select {column} from catalog_catalogversion")  # noqa: S608 -- ours
            row = cursor.fetchone()
        return row and row[0]

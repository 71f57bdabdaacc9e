"""The JSON of the small lists: what is known, under the names of DESIGN 3."""

from datetime import datetime
from decimal import Decimal
from typing import ClassVar, TypeVar

from django.db import models
from rest_framework import serializers

from catalog.ledger import plain
from catalog.models import Fact, Gpu, InstanceType, Price
from catalog.sources import Origin, Source

Row = TypeVar("Row", bound=models.Model)


class Moment(serializers.DateTimeField):
    """A time as every other door writes it, its offset last: `2026-11-29T12:00:00+00:00`."""

    def to_representation(self, value: datetime) -> str:
        """Django's own ends in Z."""
        return str(self.enforce_timezone(value).isoformat())


class Told(serializers.ModelSerializer[Row]):
    """A row of a table as JSON has it."""

    serializer_field_mapping: ClassVar = {
        **serializers.ModelSerializer.serializer_field_mapping,
        models.DateTimeField: Moment,
    }


class InstanceTypeSerializer(Told[InstanceType]):
    """Every column of a type, and its evidence by attribute."""

    provider = serializers.CharField(source="provider_id")
    instance_type = serializers.CharField(source="name")
    gpu = serializers.CharField(source="gpu_id", allow_null=True)

    class Meta:
        model = InstanceType
        exclude = ("id", "name")


class GpuSerializer(Told[Gpu]):
    """A SKU, as its datasheet has it."""

    class Meta:
        model = Gpu
        fields = "__all__"


class ProviderSerializer(serializers.Serializer[Source]):
    """A provider, how it is read and how that goes, in the words of the providers page.

    `fetched_live_at` null says that its listing was never fetched live.
    """

    slug = serializers.CharField(source="provider.slug")
    title = serializers.CharField(source="provider.title")
    homepage = serializers.CharField(source="provider.homepage")
    country = serializers.CharField(source="provider.country", allow_null=True)
    also_known_as = serializers.ListField(
        source="provider.also_known_as", child=serializers.CharField()
    )
    source = serializers.CharField(source="provider.source")  # type: ignore[assignment]  # a name
    has_scraper = serializers.BooleanField(source="provider.has_scraper")
    how = serializers.CharField(source="provider.how", help_text="It is read, if worth a word")
    fetched_live_at = Moment(source="provider.fetched_live_at", allow_null=True)
    state = serializers.CharField(source="state.words")
    good = serializers.BooleanField(source="state.good")
    reason = serializers.CharField(source="state.why", help_text="Why not; empty where it is")
    missing_keys = serializers.ListField(
        source="state.missing", child=serializers.CharField(), help_text="Environment variables"
    )
    data_from = serializers.ChoiceField(source="origin", choices=[o.value for o in Origin])
    data_collected_at = Moment(source="newest", allow_null=True)
    data_age_hours = serializers.FloatField(source="age_hours", allow_null=True)
    interval_hours = serializers.FloatField(allow_null=True, help_text="null: not scraped")
    offers = serializers.IntegerField()
    types = serializers.IntegerField()
    quarantined = serializers.IntegerField()
    coverage = serializers.FloatField(
        allow_null=True, help_text="Of eight interconnect fields, over types of several GPUs"
    )
    disputes = serializers.IntegerField()


class FactSerializer(Told[Fact]):
    """One sourced statement; `superseded_at` says since when it no longer speaks."""

    unit = serializers.CharField(read_only=True)

    class Meta:
        model = Fact
        exclude = ("statement", "run")


class Amount(serializers.DecimalField):
    """Money as people write it: no trailing zeros."""

    def to_representation(self, value: Decimal) -> str:
        """The text of a decimal."""
        return plain(value)


class PriceSerializer(Told[Price]):
    """What an offer cost from `valid_from` until `valid_to`."""

    serializer_field_mapping: ClassVar = {
        **Told.serializer_field_mapping,
        models.DecimalField: Amount,
    }
    provider = serializers.CharField(source="offer.instance_type.provider_id")
    instance_type = serializers.CharField(source="offer.instance_type.name")
    region = serializers.CharField(source="offer.region", allow_null=True)
    tier = serializers.CharField(source="offer.tier", allow_null=True)
    price_model = serializers.CharField(source="offer.price_model")

    class Meta:
        model = Price
        exclude = ("id", "offer", "run")

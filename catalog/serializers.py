"""The JSON of the small lists: what is known, under the names of DESIGN 3."""

from rest_framework import serializers

from catalog.models import Fact, Gpu, InstanceType, Price, Provider


class InstanceTypeSerializer(serializers.ModelSerializer[InstanceType]):
    """Every column of a type, and its evidence by attribute."""

    provider = serializers.CharField(source="provider_id")
    instance_type = serializers.CharField(source="name")
    gpu = serializers.CharField(source="gpu_id", allow_null=True)

    class Meta:
        model = InstanceType
        exclude = ("id", "name")


class GpuSerializer(serializers.ModelSerializer[Gpu]):
    """A SKU, as its datasheet has it."""

    class Meta:
        model = Gpu
        fields = "__all__"


class ProviderSerializer(serializers.ModelSerializer[Provider]):
    """A provider; `fetched_live_at` null says that its listing was never fetched live."""

    class Meta:
        model = Provider
        exclude = ("credentials", "published_run")


class FactSerializer(serializers.ModelSerializer[Fact]):
    """One sourced statement; `superseded_at` says since when it no longer speaks."""

    unit = serializers.CharField(read_only=True)

    class Meta:
        model = Fact
        exclude = ("statement", "run")


class PriceSerializer(serializers.ModelSerializer[Price]):
    """What an offer cost from `valid_from` until `valid_to`."""

    provider = serializers.CharField(source="offer.instance_type.provider_id")
    instance_type = serializers.CharField(source="offer.instance_type.name")
    region = serializers.CharField(source="offer.region", allow_null=True)
    tier = serializers.CharField(source="offer.tier", allow_null=True)
    price_model = serializers.CharField(source="offer.price_model")

    class Meta:
        model = Price
        exclude = ("id", "offer", "run")

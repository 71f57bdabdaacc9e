"""A run of nccl-tests that a user keeps: its raw text, and the fact that it became."""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from catalog.models import InstanceType


class Measurement(models.Model):
    """Written once; removing it withdraws its fact, whoever removes it (`keeping`)."""

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="measurements", editable=False
    )
    instance_type = models.ForeignKey(InstanceType, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=32)  # of scoring's collectives
    gpus = models.IntegerField()
    nodes = models.IntegerField()
    size = models.BigIntegerField()  # of the largest message [B]
    bus_gbytes_per_s = models.FloatField()  # at that size, the better placement
    text = models.TextField()  # as it was pasted
    digest = models.CharField(max_length=64)  # of what was measured
    kept_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "instance_type", "digest"], name="measurement_once"
            ),
            models.CheckConstraint(
                condition=Q(gpus__gt=1, nodes__gt=0, size__gt=0, bus_gbytes_per_s__gt=0),
                name="measurement_of_something",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} of {self.gpus} GPUs of {self.subject}"

    @property
    def subject(self) -> str:
        """The type, as the ledger names it."""
        return f"{self.instance_type.provider_id}/{self.instance_type.name}"

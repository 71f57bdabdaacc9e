"""What people run, and what the cost model says of it on each type."""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from django.db import models

from catalog.models.hardware import InstanceType


class Workload(models.Model):
    """A named job of the cost model, with its source."""

    slug = models.SlugField(max_length=64, primary_key=True)
    title = models.CharField(max_length=200)
    kind = models.CharField(max_length=32)
    job = models.JSONField()
    source = models.CharField(max_length=1000)

    def __str__(self) -> str:
        return self.slug


class Estimate(models.Model):
    """A result of the cost model, kept for as long as model and facts are the same."""

    workload = models.ForeignKey(Workload, models.CASCADE, related_name="estimates")
    instance_type = models.ForeignKey(InstanceType, models.CASCADE, related_name="estimates")
    gpus = models.IntegerField()
    model_version = models.CharField(max_length=64)
    facts_digest = models.CharField(max_length=64)
    result = models.JSONField()
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workload", "instance_type", "gpus", "model_version", "facts_digest"],
                name="estimate_once",
            ),
            models.CheckConstraint(
                condition=models.Q(gpus__gt=0), name="estimate_of_at_least_one_gpu"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_id} on {self.gpus} GPUs"

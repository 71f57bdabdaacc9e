"""What people run, and what the cost model says of it on each type."""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from django.db import models
from django.db.models.functions import Now


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
    """An answer of the cost model, kept for as long as model, job and facts are the same.

    `digest` names all that the answer rests on (`catalog.estimates`), so types of equal hardware
    share one, and a changed fact asks anew.
    """

    digest = models.CharField(max_length=64, primary_key=True)
    workload = models.ForeignKey(
        Workload, models.CASCADE, null=True, blank=True, related_name="estimates"
    )
    gpus = models.IntegerField()
    model_version = models.CharField(max_length=64)
    result = models.JSONField()
    computed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(gpus__gt=0), name="estimate_of_at_least_one_gpu"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.workload_id} on {self.gpus} GPUs"


class Answer(models.Model):
    """A finished answer of `estimates/` or a ranking page; see `catalog.kept`."""

    digest = models.CharField(max_length=64, primary_key=True)  # of all that it was made of
    body = models.BinaryField()
    made_at = models.DateTimeField(db_default=Now(), db_index=True)

    def __str__(self) -> str:
        return self.digest

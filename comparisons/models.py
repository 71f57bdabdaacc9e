"""What a user keeps: comparisons, the runs that answered them, and the links that share them.

A run is written once and never changed; Postgres refuses an update of it (first migration).
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

import hashlib
import secrets
import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.utils.functional import cached_property

from comparisons.form import AnswerField

TOKEN_BYTES = 24  # 192 random bits
Json = models.JSONField


def hashed(token: str) -> str:
    """What is kept of a secret."""
    return hashlib.sha256(token.encode()).hexdigest()


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    """Comparisons of a list: what their last runs came to, without an answer being read."""

    def in_brief(self) -> "models.QuerySet[Comparison, Any]":
        """Name, `ran_at` and `outline` of the newest run at the prices of its own time."""
        last = Run.objects.filter(comparison=OuterRef("pk"), as_of=None)
        found = {"ran_at": last.values("made_at"), "outline": last.values("outline")}
        return self.values(
            "pk", "name", **{name: Subquery(rows[:1]) for name, rows in found.items()}
        )

    def last_runs(self) -> "dict[uuid.UUID, Run]":
        """The newest run of each that has one, without its results."""
        newest = Run.objects.filter(comparison=OuterRef("pk")).values("pk")[:1]
        found = Run.objects.defer("results").filter(pk__in=self.values(newest=Subquery(newest)))
        return {run.comparison_id: run for run in found}


class Comparison(models.Model):
    """One question that is asked again as the market moves (`comparisons.asked` reads it)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="comparisons", editable=False
    )
    name = models.CharField(max_length=200)
    notes = models.TextField(blank=True, default="")
    workloads = Json(default=list)  # [{"workload": slug or job, "gpus" or "nodes": count}]
    filter = Json(default=dict)  # the query parameters of offers/
    picks = Json(default=list)  # chosen offers as texts (`comparisons.picks`); empty: all that pass
    objective = models.CharField(max_length=32)
    currency = models.CharField(max_length=3)
    baseline = models.CharField(max_length=600, blank=True, default="")  # one of the picks
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(condition=~Q(name=""), name="comparison_has_a_name"),
        ]
        indexes = [models.Index(fields=["owner", "-updated_at"], name="comparison_of_owner")]

    def __str__(self) -> str:
        return self.name

    @cached_property
    def last_run(self) -> "Run | None":
        """The newest, without its results."""
        return self.runs.defer("results").first()


class Run(models.Model):
    """An answer, kept whole: what was asked, of which catalog, by which model, what came out."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    comparison = models.ForeignKey(Comparison, models.CASCADE, related_name="runs", db_index=False)
    made_at = models.DateTimeField(auto_now_add=True)
    as_of = models.DateTimeField(null=True)  # prices of that time; null: of when it was made
    catalog_version = models.BigIntegerField()
    catalog_changed_at = models.DateTimeField(null=True)
    model_version = models.CharField(max_length=64)
    # As the market moved; else somebody asked.
    by_itself = models.BooleanField(default=False, db_default=False)
    outline = Json(null=True)  # `comparisons.outline`; null: of a version that kept none
    results = AnswerField()  # `comparisons.snapshot` has its form

    class Meta:
        ordering = ["-made_at", "-id"]
        indexes = [models.Index(fields=["comparison", "-made_at"], name="run_of_comparison")]

    def __str__(self) -> str:
        return f"{self.comparison_id} {self.made_at:%Y-%m-%d %H:%M}"


class Share(models.Model):
    """A link that lets anyone read one comparison, until it is revoked. Only its hash is kept."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    comparison = models.ForeignKey(Comparison, models.CASCADE, related_name="shares")
    token_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.comparison_id} since {self.created_at:%Y-%m-%d}"

    @classmethod
    def make(cls, comparison: Comparison) -> tuple["Share", str]:
        """A new link, and its token: this is the only time that it can be read."""
        token = secrets.token_urlsafe(TOKEN_BYTES)
        return cls.objects.create(comparison=comparison, token_hash=hashed(token)), token

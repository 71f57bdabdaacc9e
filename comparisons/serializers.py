"""The JSON of a comparison, of a run without its results, and of a link."""

from collections.abc import Mapping
from typing import Any

from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from catalog.serializers import Told
from comparisons import outline
from comparisons.asked import ASKED
from comparisons.models import Comparison, Run

ABOUT_RUN = (
    "id", "made_at", "as_of", "catalog_version", "catalog_changed_at", "model_version", "outline",
)  # fmt: skip


class RunSerializer(Told[Run]):
    """What a run was made of."""

    outline = serializers.SerializerMethodField()

    class Meta:
        model = Run
        fields = ABOUT_RUN

    @extend_schema_field(OpenApiTypes.OBJECT)
    def get_outline(self, run: Run) -> Mapping[str, Any] | None:
        """With the names of today."""
        return outline.told(run.outline)


class ComparisonSerializer(Told[Comparison]):
    """What is asked, its page, and when it was answered last."""

    page = serializers.SerializerMethodField()
    last_run = serializers.SerializerMethodField()

    class Meta:
        model = Comparison
        fields = ("id", "name", "notes", *ASKED, "created_at", "updated_at", "page", "last_run")

    def get_page(self, comparison: Comparison) -> str:
        """The address of its page: a path, as no header may name the host."""
        return reverse("comparison", args=[comparison.pk])

    def get_last_run(self, comparison: Comparison) -> dict[str, Any] | None:
        """Without its results."""
        run = comparison.last_run
        return about(run) if run else None


def about(row: Comparison | Run) -> dict[str, Any]:
    """A run or a comparison as JSON has it."""
    said = RunSerializer(row) if isinstance(row, Run) else ComparisonSerializer(row)
    return dict(said.data)

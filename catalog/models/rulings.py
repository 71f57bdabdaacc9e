"""What people have decided: of a row, of a word, and what they have asked a worker to do.

Everything here is written by the admin and read by the next scrape; a ruling is never undone by a
list, and nothing is deleted when a list is.
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

from enum import StrEnum

from django.db import models
from django.db.models.functions import Now

from catalog.models.providers import Provider
from catalog.models.rules import one_of
from catalog.models.runs import ScrapeRun


class Verdict(StrEnum):
    """Of a row that a gate refused."""

    ACCEPTED = "accepted"  # published as it is, whenever it comes again
    REJECTED = "rejected"  # stays out, and is no open question any more


class Ruling(models.Model):
    """What a person decided of one doubt, under the key that the doubt goes by."""

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="rulings")
    key = models.CharField(max_length=32)
    verdict = models.CharField(max_length=8)
    gate = models.CharField(max_length=16)
    reason = models.CharField(max_length=1000)  # as it stood then
    row = models.TextField(blank=True)
    decided_by = models.CharField(max_length=150)
    decided_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            one_of("ruling", "verdict", Verdict),
            models.UniqueConstraint(fields=["provider", "key"], name="ruling_once"),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id}: {self.verdict}: {self.reason}"


class AliasKind(StrEnum):
    """What a word is the name of."""

    GPU = "gpu"
    REGION = "region"


class Alias(models.Model):
    """A provider's word for what we know under another; `scrapers/aliases.csv` is the base."""

    kind = models.CharField(max_length=8)
    provider = models.ForeignKey(  # null: whoever says it
        Provider, models.CASCADE, null=True, blank=True, related_name="aliases"
    )
    words = models.CharField(max_length=200)
    target = models.CharField(max_length=200)
    taught_by = models.CharField(max_length=150)
    taught_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "aliases"
        constraints = [
            one_of("alias", "kind", AliasKind),
            models.UniqueConstraint(
                fields=["kind", "provider", "words"], nulls_distinct=False, name="alias_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider_id or 'all'}: {self.words} → {self.target}"


class ErrandKind(StrEnum):
    """What a worker can be asked to do with a run."""

    REPLAY = "replay"  # read its payload again, with what is understood today
    APPROVE = "approve"  # publish it though a gate held it


class Errand(models.Model):
    """What a person has asked for. A worker takes it within a tick; it is done once."""

    run = models.ForeignKey(ScrapeRun, models.CASCADE, related_name="errands")
    kind = models.CharField(max_length=8)
    asked_by = models.CharField(max_length=150)
    asked_at = models.DateTimeField(db_default=Now())
    taken_at = models.DateTimeField(null=True)
    done_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=1000, blank=True)

    class Meta:
        constraints = [
            one_of("errand", "kind", ErrandKind),
            models.UniqueConstraint(
                fields=["run", "kind"],
                condition=models.Q(taken_at=None, done_at=None),
                name="errand_waits_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.run_id}"

"""How the catalog came in: the runs, their payloads, what they could not read, and who is due.

Redis carries only wake-ups. What is due, who holds it and how often it was tried stands here, by
the database's clock.
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

import uuid
from enum import StrEnum

from django.apps import apps
from django.db import models
from django.db.models import Count, Exists, F, OuterRef, Q

from catalog.models.providers import Provider
from catalog.models.rules import one_of
from catalog.records import Gate


class RunState(StrEnum):
    """What became of a run. Only `published` changed the catalog."""

    RUNNING = "running"
    PUBLISHED = "published"
    UNCHANGED = "unchanged"  # it read what was already published: nothing was written
    HELD = "held"  # a gate asks a person to look: `scrape --approve RUN`
    REJECTED = "rejected"  # held, and a person refused it
    SKIPPED = "skipped"  # its key is not set: the reason names the environment variable
    FAILED = "failed"
    SUPERSEDED = "superseded"  # something newer is published, or another worker took over


class RawPayload(models.Model):
    """One answer of a provider, exactly as it came, under the hash of its bytes.

    The bytes lie in Postgres, compressed, and not in a folder: they are committed in one
    transaction with the run that names them, so there is no run without its payload, and any
    number of machines can read them.
    """

    sha256 = models.CharField(max_length=64, primary_key=True)
    url = models.CharField(max_length=1000)
    body = models.BinaryField()  # zlib
    size = models.IntegerField()  # before compression [B]
    fetched_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["fetched_at"], name="payload_by_age")]

    def __str__(self) -> str:
        return self.sha256[:12]


class ScrapeRun(models.Model):
    """One attempt at one provider, from fetch to publication."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    provider = models.ForeignKey(Provider, models.CASCADE, related_name="runs")
    part = models.CharField(max_length=120, blank=True, default="")  # as of its lease
    epoch = models.BigIntegerField()  # the fencing number of the lease it was started under
    attempt = models.IntegerField(default=1)
    state = models.CharField(max_length=12, default=RunState.RUNNING.value)
    live = models.BooleanField(default=True)  # fetched from the provider, not read from a file
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    collected_at = models.DateTimeField(null=True)  # of its newest document
    rows_in = models.IntegerField(default=0)
    accepted = models.IntegerField(default=0)
    quarantined = models.IntegerField(default=0)
    ignored = models.IntegerField(default=0)
    offers_new = models.IntegerField(default=0)
    offers_changed = models.IntegerField(default=0)
    offers_ended = models.IntegerField(default=0)
    offers_unchanged = models.IntegerField(default=0)
    reason = models.CharField(max_length=1000, blank=True)
    approved_at = models.DateTimeField(null=True)  # a held run that a person let through
    decided_by = models.CharField(max_length=150, blank=True)  # who let it through, or refused it
    # The run whose payload it reads again: that of the fetch, or of the file.
    replay_of = models.ForeignKey("self", models.SET_NULL, null=True, related_name="replays")
    payloads = models.ManyToManyField(RawPayload, through="catalog.RunPayload", related_name="runs")

    class Meta:
        constraints = [
            one_of("scrape_run", "state", RunState),
            models.UniqueConstraint(
                fields=["provider", "part"], condition=Q(state="running"), name="run_one_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(rows_in=F("accepted") + F("quarantined") + F("ignored")),
                name="run_accounts_for_every_row",
            ),
            models.CheckConstraint(
                condition=Q(state="running", finished_at=None)
                | ~Q(state="running") & Q(finished_at__isnull=False),
                name="run_finished_has_a_time",
            ),
        ]
        indexes = [models.Index(fields=["provider", "-started_at"], name="run_latest")]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.started_at:%Y-%m-%d %H:%M} {self.state}"


class RunPayload(models.Model):
    """A document of a run: which, in what order, whence and when."""

    run = models.ForeignKey(ScrapeRun, models.CASCADE, related_name="documents")
    payload = models.ForeignKey(RawPayload, models.PROTECT, related_name="documents")
    position = models.IntegerField()
    url = models.CharField(max_length=1000)
    fetched_at = models.DateTimeField()

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="document_once")]

    def __str__(self) -> str:
        return f"{self.position}: {self.url}"


class QuarantineQuerySet(models.QuerySet["QuarantinedRow"]):
    """Rows that were not accepted."""

    def open(self) -> "QuarantineQuerySet":
        """What still asks for a person: in the newest list that was read, and never ruled on."""
        lists = ("provider", "part")
        read = ScrapeRun.objects.filter(state__in=("published", "unchanged", "held"))
        newest = read.exclude(collected_at=None).order_by(*lists, "-collected_at", "-started_at")
        rulings = apps.get_model("catalog", "Ruling").objects.filter(
            provider=OuterRef("run__provider"), key=OuterRef("key")
        )
        return self.filter(~Exists(rulings), run__in=newest.distinct(*lists).values("pk"))

    def by_provider(self) -> dict[str, int]:
        """How many, by the provider whose list they stand in."""
        counted = self.order_by().values_list("run__provider").annotate(rows=Count("id"))
        return dict(counted.order_by("run__provider"))


class QuarantinedRow(models.Model):
    """A row that was not accepted: which gate, why, where in which payload, and the row itself."""

    run = models.ForeignKey(ScrapeRun, models.CASCADE, related_name="quarantine")
    gate = models.CharField(max_length=16, default=Gate.UNREADABLE.value)
    reason = models.CharField(max_length=1000)
    where = models.CharField(max_length=400)
    row = models.TextField(blank=True)
    payload = models.ForeignKey(RawPayload, models.SET_NULL, null=True, related_name="+")
    key = models.CharField(max_length=32, default="")  # that a ruling goes by: catalog.judgement
    about = models.CharField(max_length=200, blank=True)  # the words or the amount in doubt
    # A price that jumped, beside the offer that keeps the last good one.
    offer = models.ForeignKey("catalog.Offer", models.CASCADE, null=True, related_name="+")
    native_amount = models.DecimalField(max_digits=20, decimal_places=8, null=True)
    native_currency = models.CharField(max_length=3, null=True)
    collected_at = models.DateTimeField(null=True)

    objects = QuarantineQuerySet.as_manager()

    class Meta:
        constraints = [one_of("quarantined_row", "gate", Gate)]

    def __str__(self) -> str:
        return f"{self.where}: {self.reason}"


class Lease(models.Model):
    """Who may scrape a provider now, when it is due next, and how often it has failed.

    A list that is too long for one task is read in parts, each a region with a lease of its own;
    the lease of the whole (part "") is then for reading which regions there are.

    `epoch` is the fencing number: it rises with each holder, and the publishing transaction locks
    this row and refuses an older one, so a worker that was frozen and woke up writes nothing.
    """

    provider = models.ForeignKey(Provider, models.CASCADE, related_name="leases")
    part = models.CharField(max_length=120, blank=True, default="")
    epoch = models.BigIntegerField(default=0)
    owner = models.CharField(max_length=200, blank=True)
    expires_at = models.DateTimeField(null=True)  # null: nobody holds it
    attempts = models.IntegerField(default=0)  # of the scrape that is due
    due_at = models.DateTimeField(null=True)  # null: never by itself
    failures = models.IntegerField(default=0)  # in a row
    breaker_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["provider", "part"], name="lease_once")]
        indexes = [models.Index(fields=["due_at"], name="lease_due")]

    def __str__(self) -> str:
        return f"{self.provider_id} {self.part} #{self.epoch}"

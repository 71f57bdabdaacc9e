"""Who wants to be told of what, what there was to tell, and what became of the telling.

An event and its delivery are written in one transaction with the run that shows the change: that
is the outbox. What is due, and when again, goes by the database's clock.
"""

# ruff: noqa: RUF012 -- Django reads a Meta once, and no one changes its lists

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from catalog.models import CatalogVersion
from comparisons.form import AnswerField
from comparisons.models import Comparison, Run
from watches import signing

PACE = timedelta(minutes=5)  # between two looks at a comparison, also after one that failed
KEPT = timedelta(days=90)  # of what was told and of its tries
LONGEST_TROUBLE = 500  # characters
A_TICK = 3  # looks begun by one tick: each costs a worker seconds


class What(models.TextChoices):
    """What is watched of a comparison."""

    PRICE = "price", _("price")
    SPEC = "spec", _("specification")
    RANK = "rank", _("rank")
    AVAILABILITY = "availability", _("availability")


class Channel(models.TextChoices):
    """How its owner is told."""

    WEBHOOK = "webhook", _("webhook")
    MAIL = "mail", _("e-mail")


class Pace(models.TextChoices):
    """When a mail goes out."""

    DAILY = "daily", _("one mail a day")
    AT_ONCE = "at_once", _("at once")


class State(models.TextChoices):
    """What became of a delivery."""

    SCHEDULED = "scheduled", _("waiting")
    DELIVERED = "delivered", _("delivered")
    DEAD = "dead", _("given up")
    DISABLED = "disabled", _("on hold")


class Stop(models.TextChoices):
    """Why a watch is not active."""

    OWNER = "owner", _("paused by you")
    GONE = "gone", _("its receiver answered 410 (gone)")


class Kind(models.TextChoices):
    """Of an event. A test stands outside the order, and is tried once."""

    CHANGED = "comparison.changed", pgettext_lazy("watch", "change")
    TEST = "test", pgettext_lazy("watch", "test")


class WatchQuerySet(models.QuerySet["Watch"]):
    """Watches, by what is to be done with them."""

    def behind(self) -> "WatchQuerySet":
        """Those whose comparison has not been looked at since the catalog changed, nor just now."""
        newest = CatalogVersion.objects.first()
        version = newest.version if newest else 0
        older = Q(seen_version=None) | Q(seen_version__lt=version)
        rested = Q(looked_at=None) | Q(looked_at__lt=Now() - PACE)
        return self.filter(older, rested, active=True)

    def to_look_at(self) -> list[uuid.UUID]:
        """The comparisons to run again now, the longest waiting first."""
        by_comparison = self.behind().order_by().values_list("comparison")
        waiting = by_comparison.annotate(since=models.Min("looked_at"))
        ordered = waiting.order_by(F("since").asc(nulls_first=True), "comparison")
        return [comparison for comparison, _since in ordered[:A_TICK]]


class Watch(models.Model):
    """One wish to be told. Thresholds are in percent (price) or in places (rank)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="watches")
    comparison = models.ForeignKey(Comparison, models.CASCADE, related_name="watches")
    what = models.CharField(max_length=16, choices=What.choices)
    threshold = models.FloatField(null=True)
    channel = models.CharField(max_length=8, choices=Channel.choices)
    url = models.CharField(max_length=1000, blank=True, default="")
    lane = models.CharField(max_length=300)  # host:port, or whose mail: one at a time goes there
    pace = models.CharField(max_length=8, choices=Pace.choices, default=Pace.DAILY)
    language = models.CharField(max_length=8, default="en")  # of its mails
    active = models.BooleanField(default=True)
    stopped = models.CharField(max_length=8, choices=Stop.choices, blank=True, default="")
    seed = models.CharField(max_length=32, default=signing.new_seed)
    # Seeds before it, newest first, and when each ended.
    earlier = models.JSONField(default=list, db_default=[])
    rotated_at = models.DateTimeField(null=True)
    known = AnswerField(null=True)  # what the owner was told last: `watches.news`
    seen_version = models.BigIntegerField(null=True)  # of the catalog that was looked at last
    looked_at = models.DateTimeField(null=True)  # when someone began to look
    # Why nobody could look.
    trouble = models.CharField(max_length=LONGEST_TROUBLE, blank=True, default="", db_default="")
    last_number = models.PositiveIntegerField(default=0)  # of its events
    created_at = models.DateTimeField(db_default=Now())

    objects = WatchQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "id"]
        constraints = [
            models.CheckConstraint(
                condition=Q(channel="mail", url="") | Q(channel="webhook") & ~Q(url=""),
                name="watch_has_where_to_tell",
            ),
            models.CheckConstraint(
                condition=Q(active=True, stopped="") | Q(active=False) & ~Q(stopped=""),
                name="watch_says_why_it_is_stopped",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.what} of {self.comparison_id}"


class Event(models.Model):
    """What there was to tell. Its id is the same in every repeat."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    watch = models.ForeignKey(Watch, models.CASCADE, related_name="events", db_index=False)
    number = models.PositiveIntegerField()  # 1, 2, 3… of its watch: the order of telling
    kind = models.CharField(max_length=20, choices=Kind.choices)
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    payload = models.JSONField(encoder=DjangoJSONEncoder)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering = ["-created_at", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["watch", "number"], name="one_event_a_number")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.watch_id}"


def _older() -> "models.QuerySet[Delivery]":
    """What waits before a delivery: tests stand outside the order."""
    return Delivery.objects.filter(
        state=State.SCHEDULED,
        event__watch=models.OuterRef("event__watch"),
        event__kind=Kind.CHANGED,
        event__number__lt=models.OuterRef("event__number"),
    )


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Deliveries, by what is to be done with them."""

    def due(self) -> "DeliveryQuerySet":
        """Those to try now: it is time, and nothing older of the same watch is waiting.

        A mail tells all that is due, in its order: it waits for what is older and not due yet.
        """
        older = _older()
        ready = self.filter(state=State.SCHEDULED, next_attempt_at__lte=Now())
        first = Q(event__watch__channel=Channel.MAIL) & ~models.Exists(
            older.filter(next_attempt_at__gt=Now())
        )
        return ready.filter(Q(event__kind=Kind.TEST) | first | ~models.Exists(older))

    def with_turn(self) -> "DeliveryQuerySet":
        """Each with the time until which an older one of its watch keeps it waiting."""
        last = _older().order_by("-next_attempt_at").values("next_attempt_at")[:1]
        return self.annotate(turn_at=models.Subquery(last))

    def past(self) -> "DeliveryQuerySet":
        """Those to let go: over since KEPT, and so is all that is older of the same watch."""
        over = Q(event__created_at__lt=Now() - KEPT, state__in=[State.DELIVERED, State.DEAD])
        stays = Delivery.objects.exclude(over).filter(
            event__watch=models.OuterRef("event__watch"),
            event__number__lt=models.OuterRef("event__number"),
        )
        return self.filter(over, ~models.Exists(stays))


class Delivery(models.Model):
    """The outbox: an event's way to its owner."""

    event = models.OneToOneField(Event, models.CASCADE, primary_key=True, related_name="delivery")
    state = models.CharField(max_length=9, choices=State.choices, default=State.SCHEDULED)
    next_attempt_at = models.DateTimeField(null=True, db_default=Now())
    delivered_at = models.DateTimeField(null=True)
    attempts = models.PositiveSmallIntegerField(default=0)  # since it was scheduled
    status = models.PositiveSmallIntegerField(null=True)  # HTTP's, of the last one
    failure = models.CharField(max_length=16, blank=True, default="")  # of the last one

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(state="scheduled"), name="delivery_due"
            ),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=State.values)
                & (Q(state="scheduled") ^ Q(next_attempt_at=None))
                & (Q(state="delivered") ^ Q(delivered_at=None)),
                name="delivery_has_the_time_of_its_state",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["dead", "disabled"]) | ~Q(failure=""),
                name="delivery_says_why_it_ended",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event_id}: {self.state}"

    @property
    def next_try_at(self) -> datetime | None:
        """When it is tried again: not before those that are older (`with_turn`)."""
        turn: datetime | None = getattr(self, "turn_at", None)
        if self.next_attempt_at is None or turn is None or self.event.kind == Kind.TEST:
            return self.next_attempt_at
        return max(self.next_attempt_at, turn)


class Attempt(models.Model):
    """The log: one try of a delivery."""

    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="log")
    at = models.DateTimeField(db_default=Now())
    failure = models.CharField(max_length=16, blank=True)
    status = models.PositiveSmallIntegerField(null=True)
    elapsed_ms = models.PositiveIntegerField()

    class Meta:
        ordering = ["-at", "-id"]

    def __str__(self) -> str:
        return f"{self.delivery_id} at {self.at}"

"""A watch and a delivery as the API shows them."""

from typing import Any

from django.db.models import OuterRef, Subquery
from django.utils.translation import gettext as _

from accounts.access import mail_address
from watches import signing
from watches.models import Channel, Delivery, Event, Watch

KEYS = ("what", "threshold", "channel", "url", "pace", "language", "active")


def watches_of(owner_id: int | None) -> Any:
    """Someone's watches, newest first, each with its last delivery; `known` stays in the table."""
    last = Event.objects.filter(watch=OuterRef("pk")).order_by("-number").values("pk")[:1]
    mine = Watch.objects.filter(owner=owner_id).defer("known").select_related("comparison", "owner")
    return mine.annotate(last_event=Subquery(last))


def with_last(watches: list[Watch]) -> list[Watch]:
    """The same, with `last_delivery` filled in, in one query for all of them."""
    wanted = [w.last_event for w in watches if w.last_event]  # type: ignore[attr-defined]
    found = {
        d.pk: d for d in Delivery.objects.with_turn().select_related("event").filter(pk__in=wanted)
    }
    for watch in watches:
        watch.last_delivery = found.get(watch.last_event)  # type: ignore[attr-defined]
    return watches


def watch(each: Watch) -> dict[str, Any]:
    """One watch, with its last delivery."""
    last: Delivery | None = getattr(each, "last_delivery", None)
    return {
        "id": str(each.pk),
        "comparison": {"id": str(each.comparison_id), "name": each.comparison.name},
        **{key: getattr(each, key) for key in KEYS},
        "stopped": each.stopped or None,
        "trouble": each.trouble or None,
        "warnings": warnings(each),
        "created_at": each.created_at,
        "secret_changed_at": each.rotated_at,
        "last_delivery": last and delivery(last),
    }


def warnings(each: Watch) -> list[str]:
    """What keeps its owner from being told."""
    if each.channel == Channel.MAIL and mail_address(each.owner) is None:
        return [_("The address of your account is not confirmed, so no mail goes there.")]
    return []


def secret(each: Watch) -> dict[str, Any]:
    """What signs its messages, for once."""
    return {"secret": signing.secret(each.seed), "signature": "FabricScout-Signature"}


def delivery(each: Delivery, *, whole: bool = False) -> dict[str, Any]:
    """One delivery; `whole` with its message and every try."""
    said = {
        "id": str(each.pk),
        "watch": str(each.event.watch_id),
        "type": each.event.kind,
        "number": each.event.number,
        "created_at": each.event.created_at,
        "state": each.state,
        "attempts": each.attempts,
        "next_attempt_at": each.next_try_at,
        "delivered_at": each.delivered_at,
        "status": each.status,
        "failure": each.failure or None,
    }
    if whole:
        said["changes"] = each.event.payload["changes"]
        said["log"] = [
            {
                "at": a.at,
                "status": a.status,
                "failure": a.failure or None,
                "elapsed_ms": a.elapsed_ms,
            }
            for a in each.log.all()
        ]
    return said

"""`{% load watches %}`: a comparison's watches and the form of a new one; how they look."""

from collections.abc import Mapping
from typing import Any

from django import template

from comparisons.models import Comparison
from watches import answers, pages, targets, wording
from watches.models import Channel, Delivery, Watch

register = template.Library()


@register.inclusion_tag("watches/_watches.html", takes_context=True)
def watches_of(context: template.Context, comparison: Comparison) -> dict[str, Any]:
    """A comparison's watches, each with its last delivery, and the form of a new one."""
    found = answers.watches_of(comparison.owner_id).filter(comparison=comparison)
    return {
        "comparison": comparison,
        "watches": answers.with_last(list(found)),
        "form": pages.form({}, {}),
        "csrf_token": context.get("csrf_token"),
    }


@register.filter
def place(watch: Watch) -> str:
    """Whom it tells: a host, or a person."""
    if watch.channel == Channel.MAIL:
        return f"{watch.get_channel_display()}, {watch.get_pace_display()}"
    return targets.read(watch.url).host


@register.filter
def result(delivery: Delivery) -> str:
    """What became of a delivery, or of its last try."""
    if not delivery.failure:
        return ""
    return wording.failure(delivery.failure, delivery.status)


@register.filter
def sentence(change: Mapping[str, Any]) -> str:
    """One change of an event, in a line."""
    return wording.sentence(change)

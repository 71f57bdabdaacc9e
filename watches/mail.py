"""The digest: one plain-text mail that tells its owner of all that is due.

It goes through the outbox as webhooks do. Sent twice, since its sender was killed before he could
note it, it is the same message by its Message-ID.
"""

import smtplib
import time
import uuid
from collections.abc import Iterable
from itertools import groupby
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, override

from accounts.access import mail_address
from watches.models import Delivery, Event, Kind, Watch
from watches.sender import Failure, Outcome
from watches.wording import one_line, sentence

LANE = "@"  # and the owner's number: no host looks like that
NAMESPACE = uuid.UUID("6f1c7f0a-6d1e-4f0a-9a55-2f0f4b7f3c11")


def send(taken: list[Delivery]) -> Outcome:
    """One mail for all of them, which are of one owner."""
    began = time.monotonic()
    events = [delivery.event for delivery in taken]
    failure = _send(events)
    return Outcome(failure, elapsed_s=time.monotonic() - began)


def _send(events: list[Event]) -> Failure | None:
    watch = events[-1].watch
    address = mail_address(watch.owner)
    if address is None:
        return Failure.NO_ADDRESS
    with override(watch.language):
        message = EmailMessage(subject(events), text(events), to=[address], headers=headers(events))
    try:
        message.send()
    except (smtplib.SMTPException, OSError):
        return Failure.NO_POST
    return None


def subject(events: list[Event]) -> str:
    """How much there is, or that it is a test."""
    if all(event.kind == Kind.TEST for event in events):
        return _("FabricScout: a test of your watch")
    changes = sum(len(event.payload["changes"]) for event in events)
    said = ngettext("FabricScout: %(n)d change", "FabricScout: %(n)d changes", changes)
    return said % {"n": changes}


def text(events: list[Event]) -> str:
    """The mail, by comparison, in the language that is active."""
    parts = [
        {
            "name": one_line(watch.comparison.name),
            "lines": list(_lines(of_it)),
            "at": f"{settings.PUBLIC_URL}{reverse('comparison', args=[watch.comparison_id])}",
        }
        for watch, of_it in groupby(events, key=_watch)
    ]
    where = f"{settings.PUBLIC_URL}{reverse('account-watches')}"
    return render_to_string("watches/digest.txt", {"parts": parts, "where": where})


def _watch(event: Event) -> Watch:
    return event.watch


def _lines(events: Iterable[Event]) -> Iterable[str]:
    for event in events:
        if event.kind == Kind.TEST:
            yield _("This is a test: mails of this watch arrive.")
        yield from map(sentence, event.payload["changes"])


def headers(events: list[Event]) -> dict[str, str]:
    """What makes a repeat known as one, and keeps holiday answers away."""
    ids = ",".join(str(event.pk) for event in events)
    host = urlsplit(settings.PUBLIC_URL).hostname or "localhost"
    return {
        "Message-ID": f"<{uuid.uuid5(NAMESPACE, ids)}@{host}>",
        "Auto-Submitted": "auto-generated",
    }

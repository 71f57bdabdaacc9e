"""A change, a state and a failure, in words."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as later

from catalog import wording
from comparisons.change import rate_text
from watches.models import Stop
from watches.sender import Failure

FAILURES: dict[str, Any] = {
    Failure.REFUSED: later("its address is not called"),
    Failure.NO_NAME: later("its name could not be looked up"),
    Failure.NO_CONNECTION: later("no connection"),
    Failure.NO_TRUST: later("its certificate is not valid"),
    Failure.SLOW: later("no answer within 10 s"),
    Failure.TOO_LONG: later("its answer is too long"),
    Failure.BROKEN: later("its answer is not HTTP"),
    Failure.STATUS: later("answered %(status)s"),
    Failure.GONE: later("answered 410: it wants no more"),
    Failure.NO_ADDRESS: later("the account has no confirmed e-mail address"),
    Failure.NO_POST: later("the mail server did not take it"),
    Failure.FAULT: later("a fault of this service"),
    Stop.OWNER: later("the watch is paused"),
}

OUR_FAULT = "a fault of this service"  # of a look, as of a delivery


def failure(name: str, status: int | None) -> str:
    """Why a try failed."""
    said = FAILURES.get(name)
    return str(said) % {"status": status} if said else name


def sentence(change: Mapping[str, Any]) -> str:
    """One change of an event, in a line: its words are those of the day it was found."""
    about = [name_of(change["offer"] or {}), change["what"]]
    line = f"{': '.join(filter(None, about))}: {change['was_text']} → {change['now_text']}"
    deltas = []
    if (delta := change["delta_percent"]) is not None:
        deltas.append(f"{delta:+.1f} %".replace("-", "−"))
    if (rate := change.get("rate_percent")) is not None:
        deltas.append(rate_text(rate))
    return one_line(f"{line} ({', '.join(deltas)})" if deltas else line)


def name_of(offer: Mapping[str, Any]) -> str:
    """An offer as people call it: who sells which type, how and where. Nothing of none."""
    if not offer:
        return ""
    model, via = offer.get("price_model"), offer.get("via")
    parts = [
        f"{offer['provider_title']} {offer['instance_type']}",
        wording.word("price_model", model) if model else "",
        offer.get("tier"),
        offer.get("region"),
        gettext("via %(broker)s") % {"broker": via} if via else "",
    ]
    return ", ".join(filter(None, parts))


def one_line(text: str) -> str:
    """Text of strangers without line breaks, control characters and marks of direction."""
    kept = (
        " " if c.isspace() else c for c in text if c.isspace() or unicodedata.category(c)[0] != "C"
    )
    return " ".join("".join(kept).split())

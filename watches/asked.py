"""A wish to be told, checked: what a body or a form may say of a watch."""

import math
from collections.abc import Callable, Mapping
from typing import Any

from django.utils.translation import gettext as _

from catalog.query import BadQuery, Contradicts, strangers
from watches import mail, targets
from watches.models import Channel, Pace, Watch, What

CREATED = ("what", "threshold", "channel", "url", "pace")
CHANGED = ("threshold", "url", "pace", "active")
MOST_PERCENT, MOST_PLACES = 1000.0, 1000.0
DEFAULT_THRESHOLD = {What.PRICE: 5.0, What.RANK: 1.0}  # percent, places
MOST_WATCHES = 100  # of one owner
Wrong = dict[str, list[str]]


def created(body: object) -> dict[str, Any]:
    """The columns of a new watch.

    Raises
    ------
    BadQuery
        Naming every field that is wrong, and every one that is none.
    """
    given, wrong = _fields(body, CREATED)
    what = _one_of("what", given, What, wrong)
    channel = _one_of("channel", given, Channel, wrong)
    pace = _one_of("pace", {"pace": Pace.DAILY, **given}, Pace, wrong)
    if "pace" in given and channel == Channel.WEBHOOK:
        wrong["pace"] = [_("is for e-mail only.")]
    said = {"what": what, "channel": channel, "pace": pace, "url": ""}
    said["threshold"] = _threshold(given.get("threshold"), what, wrong)
    if channel == Channel.WEBHOOK:
        said["url"] = _url(given.get("url"), wrong)
    elif given.get("url"):
        wrong["url"] = [_("is for webhooks only.")]
    _refuse(wrong)
    return said


def changed(body: object, standing: Watch) -> dict[str, Any]:
    """The columns that a body changes of a watch; `active` among them where it is named.

    Raises
    ------
    BadQuery
        As above.
    Contradicts
        Naming every field that may be said of another watch, not of this one.
    """
    given, wrong = _fields(body, CHANGED)
    said: dict[str, Any] = {}
    others: Wrong = {}
    if "threshold" in given:
        of_any = any(_is_threshold(given["threshold"], what) for what in What)
        of_this = others if of_any else wrong
        said["threshold"] = _threshold(given["threshold"], What(standing.what), of_this)
    if "url" in given:
        said["url"] = _url(given["url"], wrong)
        if standing.channel != Channel.WEBHOOK:
            others["url"] = [_("is for webhooks only.")]
    if "pace" in given:
        said["pace"] = _one_of("pace", given, Pace, wrong)
        if standing.channel != Channel.MAIL:
            others["pace"] = [_("is for e-mail only.")]
    if "active" in given:
        said["active"] = given["active"]
        if not isinstance(given["active"], bool):
            wrong["active"] = [_("must be true or false.")]
    _refuse(others | wrong if wrong else {})
    if others:
        raise Contradicts(others)
    return said


def _is_threshold(given: object, what: What) -> bool:
    wrong: Wrong = {}
    _threshold(given, what, wrong)
    return not wrong


def lane(channel: str, url: str, owner_id: int) -> str:
    """Where it goes, as the sender counts: one at a time to a host, or to a person."""
    return f"{mail.LANE}{owner_id}" if channel == Channel.MAIL else targets.lane(targets.read(url))


def _fields(body: object, names: tuple[str, ...]) -> tuple[Mapping[str, Any], Wrong]:
    if not isinstance(body, dict):
        raise BadQuery({"body": [_("must be a JSON object.")]})
    allowed = ", ".join(names)
    said = [_("is not a key. There are: %(allowed)s.") % {"allowed": allowed}]
    return body, dict.fromkeys(strangers(body, names), said)


def _refuse(wrong: Wrong) -> None:
    if wrong:
        raise BadQuery(wrong)


def _one_of(name: str, given: Mapping[str, Any], kind: Callable[[Any], Any], wrong: Wrong) -> Any:
    try:
        return kind(given.get(name))
    except ValueError:
        allowed = ", ".join(kind.values)  # type: ignore[attr-defined]
        wrong[name] = [_("must be one of: %(allowed)s.") % {"allowed": allowed}]
        return None


def _threshold(given: object, what: What | None, wrong: Wrong) -> float | None:
    """Percent for a price, whole places for a rank, nothing for the rest."""
    if what not in DEFAULT_THRESHOLD:
        if given is not None and what:
            wrong["threshold"] = [_("is for price and rank only.")]
        return None
    if given is None:
        return DEFAULT_THRESHOLD[what]
    most = MOST_PERCENT if what == What.PRICE else MOST_PLACES
    if isinstance(given, bool) or not isinstance(given, int | float) or not math.isfinite(given):
        number = None
    else:
        number = float(given) + 0.0 if abs(given) <= most else None  # 0.0 of a -0.0
    if what == What.RANK and number is not None and not (number.is_integer() and number >= 1):
        number = None
    if number is None or number < 0:
        wrong["threshold"] = [
            _("must be percent from 0 to 1000.")
            if what == What.PRICE
            else _("must be whole places from 1 to 1000.")
        ]
        return None
    return number


def _url(given: object, wrong: Wrong) -> str:
    if not isinstance(given, str) or not given:
        wrong["url"] = [_("must be an https address.")]
        return ""
    try:
        return str(targets.checked(given))
    except targets.Refused as refused:
        wrong["url"] = [str(refused)]
        return ""

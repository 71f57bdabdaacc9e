"""Pages of this room: all of one's watches, one watch with its log, and the buttons of both.

What they do is done by `watches.orders`, for the doors and for these; a form is a body with its
numbers as text. A secret is shown by the answer that made it, and nowhere kept to be shown again.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts.access import mail_address
from accounts.owned import remove
from catalog.query import BadQuery
from comparisons.models import Comparison
from watches import answers, asked, orders, outbox, signing
from watches.asked import DEFAULT_THRESHOLD
from watches.models import Channel, Delivery, Pace, Stop, Watch, What

LONGEST_NUMBER = 12  # characters of a threshold


@never_cache
@login_required
@require_safe
def watches(request: HttpRequest) -> HttpResponse:
    """All of one's own, each with its last delivery."""
    found = answers.with_last(list(answers.watches_of(request.user.pk)))
    return render(request, "watches/watches.html", {"watches": found, "room": "account"})


@never_cache
@login_required
def new(request: HttpRequest, comparison: UUID) -> HttpResponse:
    """The form of a new watch; sent, the watch, or the form again with what is wrong."""
    of = get_object_or_404(Comparison, pk=comparison, owner=request.user.pk)
    if request.method != "POST":
        return _form(request, of, {}, {})
    try:
        watch = orders.create(of, as_body(request.POST.dict()), language=request.LANGUAGE_CODE)
    except BadQuery as bad:
        return _form(request, of, request.POST, bad.fields)
    if watch.channel == Channel.WEBHOOK:
        return one(request, watch, secret=signing.secret(watch.seed))
    return redirect("watch", watch.pk)


def _form(
    request: HttpRequest, of: Comparison, given: Mapping[str, Any], wrong: Mapping[str, list[str]]
) -> HttpResponse:
    context = {"comparison": of, "form": form(given, wrong), "room": "account"}
    status = HTTPStatus.BAD_REQUEST if wrong else HTTPStatus.OK
    return render(request, "watches/new.html", context, status=status)


def form(given: Mapping[str, Any], wrong: Mapping[str, list[str]]) -> dict[str, Any]:
    """What the template of the form needs: the choices, what was chosen, what is wrong."""
    return {
        "what": What.choices,
        "channel": Channel.choices,
        "pace": Pace.choices,
        "given": {key: given.get(key, "") for key in asked.CREATED},
        "wrong": {name: " ".join(said) for name, said in wrong.items()},
    }


def as_body(given: Mapping[str, str]) -> dict[str, Any]:
    """A form as a body: what does not belong to the choice is left out, as is what is empty."""
    said: dict[str, Any] = {key: given.get(key, "") for key in ("what", "channel")}
    mine = {Channel.WEBHOOK: "url", Channel.MAIL: "pace"}.get(said["channel"], "url")
    if text := given.get(mine, "").strip():
        said[mine] = text
    if said["what"] in DEFAULT_THRESHOLD and (text := given.get("threshold", "")):
        said["threshold"] = _number(text)
    return said


def _number(text: str) -> float | str:
    """The number of a text; else the text, which is refused as none."""
    try:
        return float(text) if len(text) <= LONGEST_NUMBER else text
    except ValueError:
        return text


@never_cache
@login_required
@require_safe
def watch(request: HttpRequest, watch: UUID) -> HttpResponse:
    """One watch, its log, its buttons."""
    return one(request, _mine(request, watch))


def one(request: HttpRequest, watch: Watch, secret: str = "", **more: Any) -> HttpResponse:
    """The page of a watch; `secret` for once."""
    given = {"threshold": watch.threshold, "url": watch.url, "pace": watch.pace}
    context = {
        "watch": watch,
        "log": orders.log_of(watch),
        "form": form(given, {}),
        "secret": secret,
        "room": "account",
        "unconfirmed": watch.channel == Channel.MAIL and mail_address(watch.owner) is None,
    }
    status = more.pop("status", HTTPStatus.OK)
    return render(request, "watches/watch.html", context | more, status=status)


@never_cache
@login_required
@require_POST
def change(request: HttpRequest, watch: UUID) -> HttpResponse:
    """Another threshold, address or pace."""
    mine = _mine(request, watch)
    body: dict[str, Any] = {}
    if mine.what in DEFAULT_THRESHOLD:
        text = request.POST.get("threshold", "")
        body["threshold"] = _number(text) if text else None
    name = "url" if mine.channel == Channel.WEBHOOK else "pace"
    body[name] = request.POST.get(name, "").strip()
    try:
        orders.change(mine, body)
    except BadQuery as bad:
        again = form(request.POST, bad.fields)
        return one(request, mine, form=again, status=HTTPStatus.BAD_REQUEST)
    messages.success(request, _("The watch is changed."))
    return redirect("watch", mine.pk)


@login_required
@require_POST
def pause(request: HttpRequest, watch: UUID) -> HttpResponse:
    """Nothing goes out until it goes on."""
    outbox.stop(_mine(request, watch), Stop.OWNER)
    return redirect("watch", watch)


@login_required
@require_POST
def resume(request: HttpRequest, watch: UUID) -> HttpResponse:
    """It goes on, with what it kept back."""
    outbox.resume(_mine(request, watch))
    return redirect("watch", watch)


@login_required
@require_POST
def test(request: HttpRequest, watch: UUID) -> HttpResponse:
    """A test message, within a quarter of a minute."""
    if outbox.test(_mine(request, watch)):
        messages.info(request, _("A test goes out within a quarter of a minute: see the log."))
    else:
        messages.error(request, _("A test is waiting already."))
    return redirect("watch", watch)


@never_cache
@login_required
def secret(request: HttpRequest, watch: UUID) -> HttpResponse:
    """A new secret, on this page alone. Whoever comes to its address again sees the watch."""
    mine = _mine(request, watch)
    if request.method != "POST":
        return redirect("watch", watch)
    return one(request, mine, secret=signing.secret(orders.rotate(mine).seed))


@login_required
@require_POST
def delete(request: HttpRequest, watch: UUID) -> HttpResponse:
    """The watch and its log go."""
    if not remove(Watch.objects.filter(owner=request.user.pk, pk=watch)):
        raise Http404
    messages.success(request, _("The watch is deleted."))
    return redirect("account-watches")


@login_required
@require_POST
def send_again(request: HttpRequest, delivery: UUID) -> HttpResponse:
    """A delivery once more, under its id."""
    mine = Delivery.objects.select_related("event__watch")
    found = get_object_or_404(mine, pk=delivery, event__watch__owner=request.user.pk)
    if reason := orders.again(found):
        messages.error(request, reason)
    else:
        messages.info(request, _("It goes out within a quarter of a minute."))
    return redirect("watch", found.event.watch_id)


def _mine(request: HttpRequest, watch: UUID) -> Watch:
    found: Watch = get_object_or_404(answers.watches_of(request.user.pk), pk=watch)
    return answers.with_last([found])[0]

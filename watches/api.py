"""The doors: a comparison's watches, one watch, its secret, its test, its deliveries.

Everything is its owner's alone; another's is not there (404).
"""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.translation import override
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from accounts.access import OwnDoor
from accounts.idempotency import idempotent, told_once
from accounts.owned import remove
from catalog import replies
from catalog.query import BadQuery
from comparisons.models import Comparison
from watches import answers, orders, outbox, schema
from watches.models import Channel, Delivery, Watch


class _Own(OwnDoor):
    """What it refuses it says in English, as all doors do; mails are in the reader's language."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """The door, in English."""
        with override("en"):
            return super().dispatch(request, *args, **kwargs)


class Watches(_Own):
    """`GET watches/`: all of one's own."""

    @extend_schema(**schema.LIST_ALL)
    def get(self, request: Request) -> HttpResponse:
        """All of my watches, newest first, each with its last delivery."""
        found = answers.with_last(list(answers.watches_of(request.user.pk)))
        return replies.json({"results": [answers.watch(each) for each in found]})


class OfComparison(_Own):
    """`comparisons/{id}/watches/`: those of one comparison; a new one."""

    @extend_schema(**schema.LIST)
    def get(self, request: Request, comparison: UUID) -> HttpResponse:
        """The watches of a comparison."""
        mine = answers.watches_of(request.user.pk).filter(comparison=_own(request, comparison))
        found = answers.with_last(list(mine))
        return replies.json({"results": [answers.watch(each) for each in found]})

    @extend_schema(**schema.CREATE)
    @told_once
    def post(self, request: Request, comparison: UUID) -> HttpResponse:
        """Watch a comparison. A webhook's secret is in this answer, and in no other."""
        watch = orders.create(
            _own(request, comparison), request.data, language=request.LANGUAGE_CODE
        )
        said = answers.watch(watch)
        if watch.channel == Channel.WEBHOOK:
            said |= answers.secret(watch)
        answer = _with_secret(said)
        answer.status_code = HTTPStatus.CREATED
        answer["Location"] = f"/api/v1/watches/{watch.pk}/"
        return answer


class OneWatch(_Own):
    """`watches/{id}/`."""

    @extend_schema(**schema.READ)
    def get(self, request: Request, watch: UUID) -> HttpResponse:
        """One watch, with its last delivery."""
        return replies.json(answers.watch(_watch(request, watch)))

    @extend_schema(**schema.CHANGE)
    def patch(self, request: Request, watch: UUID) -> HttpResponse:
        """Change the threshold, the address or the pace; pause it, or let it go on."""
        orders.change(_watch(request, watch), request.data)
        return replies.json(answers.watch(_watch(request, watch)))

    @extend_schema(**schema.DELETE)
    def delete(self, request: Request, watch: UUID) -> HttpResponse:
        """End it, with its log."""
        if not remove(Watch.objects.filter(owner=request.user.pk, pk=watch)):
            raise Http404
        return HttpResponse(status=HTTPStatus.NO_CONTENT)


class Secret(_Own):
    """`POST watches/{id}/secret/`."""

    @extend_schema(**schema.ROTATE)
    @told_once
    def post(self, request: Request, watch: UUID) -> HttpResponse:
        """A new secret, shown in this answer alone. The old one is valid for 24 hours more."""
        _nothing_said(request)
        return _with_secret(answers.secret(orders.rotate(_watch(request, watch))))


class Test(_Own):
    """`POST watches/{id}/test/`."""

    @extend_schema(**schema.TEST)
    @idempotent
    def post(self, request: Request, watch: UUID) -> HttpResponse:
        """Send a test message, once, within a quarter of a minute; the log has what came of it."""
        _nothing_said(request)
        event = outbox.test(_watch(request, watch))
        if event is None:
            return replies.problem(409, "under_way", "A test of this watch is waiting already.")
        answer = replies.json(answers.delivery(get_object_or_404(Delivery, pk=event.pk)))
        answer.status_code = HTTPStatus.ACCEPTED
        return answer


class Deliveries(_Own):
    """`GET watches/{id}/deliveries/`."""

    @extend_schema(**schema.LOG)
    def get(self, request: Request, watch: UUID) -> HttpResponse:
        """The newest hundred, each with its changes and every try."""
        found = orders.log_of(_watch(request, watch))
        return replies.json({"results": [answers.delivery(each, whole=True) for each in found]})


class SendAgain(_Own):
    """`POST deliveries/{id}/send-again/`."""

    @extend_schema(**schema.SEND_AGAIN)
    @idempotent
    def post(self, request: Request, delivery: UUID) -> HttpResponse:
        """Once more, under the same id: after it was given up, or as it got lost over there."""
        _nothing_said(request)
        found = Delivery.objects.filter(pk=delivery, event__watch__owner=request.user.pk)
        standing = found.select_related("event__watch").first()
        if standing is None:
            raise Http404
        if reason := orders.again(standing):
            return replies.problem(409, "not_now", reason)
        standing = get_object_or_404(found.select_related("event"))
        answer = replies.json(answers.delivery(standing))
        answer.status_code = HTTPStatus.ACCEPTED
        return answer


# --- One's own ------------------------------------------------------------------------------


def _own(request: Request, comparison: UUID) -> Comparison:
    found = Comparison.objects.filter(pk=comparison, owner=request.user.pk).first()
    if found is None:
        raise Http404
    return found


def _watch(request: Request, watch: UUID) -> Watch:
    found = answers.watches_of(request.user.pk).filter(pk=watch).first()
    if found is None:
        raise Http404
    return answers.with_last([found])[0]


def _nothing_said(request: Request) -> None:
    """For a door whose address says it all.

    Raises
    ------
    BadQuery
        Where the body says something.
    """
    if request.data != {}:
        raise BadQuery({"body": ["must be empty."]})


def _with_secret(said: dict[str, Any]) -> HttpResponse:
    answer = replies.json(said)
    answer["Cache-Control"] = "no-store"
    return answer

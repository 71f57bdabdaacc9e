"""The doors onto one's own comparisons: `/api/v1/comparisons/`, and all below it.

Another's comparison is not there, for any verb: every door finds it among those of who asks. What
they answer is one person's, so no cache keeps it.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import add_never_cache_headers
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request

from accounts.access import OwnDoor
from accounts.idempotency import idempotent, told_once
from accounts.owned import held, remove
from catalog import replies
from catalog.currency import Money, in_currency
from catalog.query import BadQuery, Reading, no_keys, one_of, past
from catalog.questions import OBJECTIVES
from catalog.small_lists import Narrow, SmallList, documented
from comparisons import asked, exports, keeping, rfq, runs, schema
from comparisons.changes import changes, summary
from comparisons.models import Comparison, Run, Share
from comparisons.serializers import ComparisonSerializer, RunSerializer, about

FORMATS = ("json", "csv")
NONE_SUCH = "You have no such comparison."
Body = Mapping[str, Any]


class Own(OwnDoor):
    """A door that asks who is there, and answers them alone."""

    def own(self) -> QuerySet[Comparison]:
        """The comparisons of who asks."""
        return Comparison.objects.filter(owner=self.request.user.pk)

    def one(self, pk: UUID) -> Comparison:
        """One of them.

        Raises
        ------
        Http404
            Where there is none, or it is another's.
        """
        found = self.own().filter(pk=pk).first()
        if found is None:
            raise Http404(NONE_SUCH)
        return found

    def run_of(self, comparison: Comparison, pk: UUID) -> Run:
        """A run of a comparison.

        Raises
        ------
        Http404
            Where it has no such run.
        """
        found = comparison.runs.filter(pk=pk).first()
        if found is None:
            raise Http404("The comparison has no such run.")
        return found

    def finalize_response(self, request: Request, response: Any, *args: Any, **more: Any) -> Any:
        """What is one person's is kept by no cache."""
        response = super().finalize_response(request, response, *args, **more)
        add_never_cache_headers(response)
        return response


def owner_of(request: Request) -> int:
    """Whose request it is: `SignedIn` lets in nobody without an account."""
    return int(request.user.pk or 0)


def body_of(request: Request, *keys: str) -> dict[str, Any]:
    """A JSON object of these keys alone; where nothing was sent, DRF has an empty one.

    Raises
    ------
    BadQuery
        Naming what is no key.
    """
    body = request.data
    if not isinstance(body, dict):
        raise BadQuery({"body": ["must be a JSON object."]})
    if wrong := no_keys(body, keys):
        raise BadQuery(wrong)
    return dict(body)


def _made(said: object, at: str = "") -> HttpResponse:
    response = replies.json(said)
    response.status_code = 201
    if at:
        response["Location"] = at
    return response


# --- Comparisons ------------------------------------------------------------------------------


class OwnList(Own, SmallList):
    """A list of what is one's own: always made anew."""

    tagged = False
    reads_query = ("GET",)
    also_answers: ClassVar = schema.PRIVATE


@extend_schema_view(post=extend_schema(**schema.CREATE))
@documented
class Comparisons(OwnList):
    """`GET comparisons/`: what you keep, the last edited first."""

    door = "comparisons"
    queryset: ClassVar = Comparison.objects.all()
    serializer: ClassVar = ComparisonSerializer
    narrows: ClassVar = {"objective": Narrow("objective", one_of(OBJECTIVES), "Ranked by")}
    sorts: ClassVar = {each: each for each in ("name", "created_at", "updated_at")}
    usual: ClassVar = (("updated_at", True),)

    def _narrowed(self, reading: Reading) -> QuerySet[Model]:
        rows: QuerySet[Model] = super()._narrowed(reading)
        return rows.filter(owner=self.request.user.pk)

    def _told(self, rows: Iterable[Comparison]) -> list[Comparison]:
        """Each with its last run, found in one query for all of them."""
        found = list(rows)
        last = Comparison.objects.filter(pk__in=[each.pk for each in found]).last_runs()
        for each in found:
            each.last_run = last.get(each.pk)
        return found

    @idempotent
    def post(self, request: Request) -> HttpResponse:
        """Keep a comparison: workloads, and a filter or picks. `run/` answers it."""
        columns, _question = asked.read(request.data)
        comparison = keeping.save(owner_of(request), columns)
        return _made(about(comparison), f"{request.path}{comparison.pk}/")


class OneComparison(Own):
    """`comparisons/{id}/`: one of them."""

    @extend_schema(**schema.READ)
    def get(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002, ARG002
        """What it asks, and when it was answered last."""
        return replies.json(about(self.one(id)))

    @extend_schema(**schema.PATCH)
    def patch(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """Change some of it. Runs stay as they are; the next one asks the new question."""
        return self._edited(id, request.data, whole=False)

    @extend_schema(**schema.PUT)
    def put(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """Replace all of it: what the body leaves out is as in a new one."""
        return self._edited(id, request.data, whole=True)

    @extend_schema(**schema.DELETE)
    def delete(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002, ARG002
        """Delete it, its runs and its links."""
        if not remove(self.own().filter(pk=id)):
            raise Http404(NONE_SUCH)
        return HttpResponse(status=204)

    def _edited(self, pk: UUID, body: object, *, whole: bool) -> HttpResponse:
        with transaction.atomic():
            standing = held(self.own().filter(pk=pk), NONE_SUCH)
            columns, _question = asked.read(body, None if whole else standing)
            keeping.edit(standing, columns)
        return replies.json(about(standing))


class Duplicate(Own):
    """`POST comparisons/{id}/duplicate/`: the same question, kept once more."""

    @extend_schema(**schema.DUPLICATE)
    @idempotent
    def post(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """A copy of your own, without runs or links."""
        comparison, body = self.one(id), body_of(request, "name")
        copy = keeping.duplicate(comparison, body.get("name"))
        return _made(about(copy), f"/api/v1/comparisons/{copy.pk}/")


# --- Runs -------------------------------------------------------------------------------------


class MakeRun(Own):
    """`POST comparisons/{id}/run/`: ask again."""

    @extend_schema(**schema.MAKE_RUN)
    @idempotent
    def post(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """Answer it now, or at the prices of a date. Estimates within the cap; over it, 422."""
        comparison, body = self.one(id), body_of(request, "as_of")
        run = runs.make(comparison, _as_of(body.get("as_of")))
        at = f"/api/v1/comparisons/{comparison.pk}/runs/{run.pk}/"
        return _made(about(run) | {"results": run.results}, at)


def _as_of(given: object) -> datetime | None:
    """A time of the past; the end of a day of which we do not know all is now."""
    if given is None:
        return None
    try:
        return min(past(given if isinstance(given, str) else ""), datetime.now(UTC))
    except ValueError as problem:
        raise BadQuery({"as_of": [str(problem)]}) from None


@documented
class Runs(OwnList):
    """`GET comparisons/{id}/runs/`: when it was answered, the last first."""

    door = "runs"
    queryset: ClassVar = Run.objects.defer("results")
    serializer: ClassVar = RunSerializer
    sorts: ClassVar = {"made_at": "made_at"}
    also_answers: ClassVar = schema.PRIVATE | schema.NOT_YOURS
    usual: ClassVar = (("made_at", True),)

    def get(self, request: Request, id: UUID) -> HttpResponseBase:  # type: ignore[override]  # noqa: A002
        """A page of the list."""
        self.comparison = self.one(id)
        return self._reply(request)

    def _narrowed(self, reading: Reading) -> QuerySet[Model]:
        rows: QuerySet[Model] = super()._narrowed(reading)
        return rows.filter(comparison=self.comparison)


class OneRun(Own):
    """`GET comparisons/{id}/runs/{run}/`: one answer, whole."""

    reads_query = ("GET",)

    @extend_schema(**schema.ONE_RUN)
    def get(self, request: Request, id: UUID, run: UUID) -> HttpResponse:  # noqa: A002
        """The run as it was kept; as CSV, one line an offer for each workload."""
        return _written(request, self.run_of(self.one(id), run))


class Export(Own):
    """`GET comparisons/{id}/export/`: the last answer, whole."""

    reads_query = ("GET",)

    @extend_schema(**schema.EXPORT)
    def get(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """The last run: JSON, or CSV with one line an offer for each workload."""
        run = runs.shown(self.one(id))
        if run is None:
            raise Http404("It has not been answered yet: POST run/.")
        return _written(request, run)


def _written(request: Request, run: Run) -> HttpResponse:
    """A run in the form that is asked for, and with its amounts in the money that is."""
    reading = Reading(request.query_params)
    form, money = _form(reading), _money(reading, run)
    reading.finish(())
    results = runs.in_money(run, money) if money else run.results
    if form == "json":
        return replies.json(about(run) | {"results": exports.whole(results) if money else results})
    columns = exports.columns(results)
    return _table(f"run-{run.made_at:%Y-%m-%d}", columns, exports.of_run(results))


def _form(reading: Reading) -> str:
    return reading.one("format", one_of(FORMATS)) or "json"


def _money(reading: Reading, run: Run | None) -> Money | None:
    """What `currency` asks for, at the rate of the run's day; None where it is left out."""
    asked = reading.one("currency", in_currency(runs.time_of(run) if run else None))
    return Money(asked) if any(reading.query.getlist("currency")) else None


def _table(name: str, columns: tuple[str, ...], rows: Iterable[Body]) -> HttpResponse:
    lines = map(replies.dumped, rows)
    said = {"next": None, "previous": None}
    response = replies.listed(name, "csv", columns, lines, said, whole=False)
    assert isinstance(response, HttpResponse)  # noqa: S101 -- for mypy: a list that is not whole
    return response


class Diff(Own):
    """`GET comparisons/{id}/diff/`: what changed between two answers."""

    reads_query = ("GET",)

    @extend_schema(**schema.THE_DIFF)
    def get(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """Prices, facts, offers that came or went, ranks; what is not offered has no delta."""
        comparison = self.one(id)
        reading = Reading(request.query_params)
        was, now = (reading.one(name, _uuid) for name in ("from", "to"))
        form = _form(reading)
        to = self.run_of(comparison, now) if now else runs.current(comparison)
        before = self.run_of(comparison, was) if was else to and runs.before(to)
        money = _money(reading, to)
        reading.finish(())
        told = [
            runs.in_money(each, money) if money else each.results for each in (before, to) if each
        ]
        found = changes(*told) if before and to else []
        if form == "csv":
            return _table("changes", exports.OF_CHANGES, exports.of_changes(found))
        return replies.json(
            {
                "from": before and about(before),
                "to": to and about(to),
                "summary": summary(found),
                "changes": [change.as_json() for change in found],
            }
        )


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise ValueError("must be the id of a run.") from None


class Rfq(Own):
    """`GET comparisons/{id}/rfq/`: what to ask each provider."""

    answers = "text/plain"

    @extend_schema(**schema.RFQ)
    def get(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002, ARG002
        """The questions made from the unknowns that matter, as text to send."""
        comparison = self.one(id)
        run = runs.shown(comparison)
        if run is None:
            raise Http404("It has not been answered yet: POST run/.")
        return HttpResponse(rfq.text(run.results, comparison.name), "text/plain; charset=utf-8")


# --- Links ------------------------------------------------------------------------------------


class Shares(Own):
    """`comparisons/{id}/shares/`: links that let anyone read it."""

    @extend_schema(**schema.SHARES)
    def get(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002, ARG002
        """The links, the newest first, revoked ones too. Their tokens are not kept."""
        shares = self.one(id).shares.all()
        return replies.json({"results": [_share(share) for share in shares]})

    @extend_schema(**schema.MAKE_SHARE)
    @told_once
    def post(self, request: Request, id: UUID) -> HttpResponse:  # noqa: A002
        """Make a link. Its token stands in this answer and nowhere else."""
        comparison = self.one(id)
        body_of(request)
        share, token = keeping.share(comparison)
        return _made(_share(share) | {"token": token, "page": keeping.shared_at(token)})


class OneShare(Own):
    """`DELETE comparisons/{id}/shares/{share}/`: the end of a link."""

    @extend_schema(**schema.REVOKE)
    def delete(self, request: Request, id: UUID, share: UUID) -> HttpResponse:  # noqa: A002, ARG002
        """Revoke it, for good: it leads nowhere from now on."""
        if not keeping.revoke(self.one(id), share):
            raise Http404("The comparison has no such link.")
        return HttpResponse(status=204)


def _share(share: Share) -> dict[str, Any]:
    return {name: getattr(share, name) for name in ("id", "created_at", "revoked_at")}

"""The pages of what one keeps: the list, a new one, one of them, and what is done with it.

Another's comparison is a 404, whatever is asked of it. What a page does is a form that posts, so it
works without JavaScript, and it leads back to the page.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.owned import held, remove
from catalog import phrases
from catalog.currency import Money
from catalog.estimates import TooMuch
from catalog.page_money import of_page
from catalog.pages import provider_titles
from catalog.presets import chips
from catalog.query import BadQuery
from comparisons import address, asked, keeping, outline, paper, rfq, runs
from comparisons.changes import Change, Kind, changes, size, summary
from comparisons.columns import title_of_pick
from comparisons.compare_page import NEW, shown
from comparisons.form import Snapshot
from comparisons.models import Comparison, Run
from comparisons.table import Table

SHOWN_CHANGES, SHOWN_RUNS, PER_PAGE = 60, 20, 20
TOP = 6  # a rank that moved further down is told in the file alone
form_or_post = require_http_methods(["GET", "HEAD", "POST"])


def own(request: HttpRequest, pk: UUID) -> Comparison:
    """One of who asks.

    Raises
    ------
    Http404
        Where there is none, or it is another's.
    """
    return get_object_or_404(_mine(request, pk))


def _mine(request: HttpRequest, pk: UUID) -> QuerySet[Comparison]:
    return Comparison.objects.filter(owner=request.user.pk, pk=pk)


# --- The list, and a new one ------------------------------------------------------------------


@never_cache
@require_safe
def comparisons(request: HttpRequest) -> HttpResponse:
    """What one keeps, the last edited first; for others, how to make one."""
    mine = Comparison.objects.filter(owner=request.user.pk).order_by("-updated_at", "-pk")
    page = Paginator(mine.in_brief(), PER_PAGE).get_page(request.GET.get("page"))
    rows = [{**each, **outline.line(each["outline"])} for each in page]
    context = {"room": "comparisons", "rows": rows, "page": page}
    return render(request, "comparisons/list.html", context)


@never_cache
@login_required
@form_or_post
def new(request: HttpRequest) -> HttpResponse:
    """Keep what an address compares: a name and notes are all that is asked."""
    found = address.readable(request.GET, request.path, may_filter=True)
    wrong: Mapping[str, list[str]] = {}
    if request.method == "POST" and found.question:
        body = {**address.said(found.state), **_written(request)}
        try:
            columns, _question = asked.read(body)
            comparison = keeping.save(_pk(request), columns, and_run=True)
            return redirect("comparison", comparison.pk)
        except BadQuery as bad:
            wrong = bad.fields
        except TooMuch as cap:
            wrong = {"name": [str(cap)]}
    titles = provider_titles()
    query = found.question.query if found.question else None
    context = {
        "room": "comparisons",
        "problems": found.problems,
        "opposed": found.contradicting(titles),
        "question": found.question,
        "workload": found.state.get("workload"),
        "size": _size(found),
        "picks": [title_of_pick(pick, titles) for pick in found.question.picks]
        if found.question
        else [],
        "chips": list(chips(request.path, found.state, query, titles)) if query else [],
        "given": _written(request) if request.method == "POST" else {"name": named(found)},
        "wrong": wrong,
        "longest_name": asked.LONGEST_NAME,
        "longest_notes": asked.LONGEST_NOTES,
    }
    status = 400 if wrong or found.problems else 200
    return render(request, "comparisons/new.html", context, status=status)


def _pk(request: HttpRequest) -> int:
    """Whose request it is; a page behind `login_required` has someone."""
    return int(request.user.pk or 0)


def _written(request: HttpRequest) -> dict[str, str]:
    return {name: request.POST[name] for name in ("name", "notes") if name in request.POST}


def named(found: address.Address) -> str:
    """A name to begin with."""
    question = found.question
    if question is None:
        return ""
    jobs = [each.job.name for each in question.asked]
    on = f"{jobs[0]}, {_size(found)}" if jobs else ""
    types = ", ".join(pick.instance_type for pick in question.picks[:2])
    return (on or types)[: asked.LONGEST_NAME]


def _size(found: address.Address) -> str:
    """On how much the workload of an address is to run."""
    asked_of = found.question.asked if found.question else ()
    return size({"nodes": asked_of[0].nodes, "gpus": asked_of[0].gpus}) if asked_of else ""


# --- One of them ------------------------------------------------------------------------------


@never_cache
@login_required
@require_safe
def comparison(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The last answer, or the one that `run` names; what changed since the one before."""
    found = own(request, pk)
    context = detail(request, found) | {
        "mine": True,
        "shares": found.shares.filter(revoked_at=None),
        "made": request.session.pop(f"share {pk}", None),
        "longest_name": asked.LONGEST_NAME,
        "longest_notes": asked.LONGEST_NOTES,
    }
    return render(request, "comparisons/comparison.html", context, status=status_of(context))


def status_of(context: Mapping[str, Any]) -> int:
    """Of a page that says what could not be read, where something could not."""
    return 400 if context.get("problems") else 200


def detail(request: HttpRequest, found: Comparison) -> dict[str, Any]:
    """What the owner's page and a shared one have in common."""
    run = _named_run(found, request.GET.get("run")) or runs.shown(found)
    context: dict[str, Any] = {
        "room": "comparisons",
        "comparison": found,
        "run": run,
        "runs": found.runs.defer("results")[:SHOWN_RUNS],
        "asked_from": f"{settings.PUBLIC_URL}{request.path}",
        "only_differences": request.GET.get("diff") == "1",
    }
    if run is None:
        return context
    if not run.results["offers"]:
        context |= nothing(run.results)
    own = Money.of(run.results.get("currency"))
    money = of_page(request.GET, request.path, runs.time_of(run), own)
    answer = runs.in_money(run, money["money"])
    baseline = request.GET.get("baseline", "")
    context |= shown(answer, baseline, differences=context["only_differences"]) | money
    was = _named_run(found, request.GET.get("from")) or runs.before(run)
    told = changes(runs.in_money(was, money["money"]), answer) if was else []
    shown_changes = worth_telling(told)
    return context | {
        "was": was,
        "passed": f"&currency={money['money'].code}" if money["money"] != own else "",
        "changes": shown_changes,
        "summary": summary(told),
        "not_shown": summary(each for each in told if each not in shown_changes),
        "columns": _heads(request, context["table"]),
        "links": {
            "all": _here(request, diff=None),
            "differences": _here(request, diff="1"),
        },
        "workloads": [
            phrases.said(answer["workload"]["title"]) for answer in run.results["workloads"]
        ],
        "clusters": len(run.results["offers"]),
    }


def nothing(answer: Snapshot) -> dict[str, Any]:
    """Where no offer passed: the filters, each with the address that asks without it.

    Of a time before the catalog it is not they that let nothing through.
    """
    if early := rfq.before_all(answer):
        return {"early": early}
    found, titles = address.of(answer["asked"], NEW), provider_titles()
    query = found.question and found.question.query
    dropped = list(chips(NEW, found.state, query, titles)) if query else []
    return {"opposed": found.contradicting(titles), "dropped": dropped}


def printed(request: HttpRequest, found: Comparison, back: str) -> HttpResponse:
    """The answer for paper, with the evidence of each cell; a 404 where there is none."""
    context = detail(request, found)
    run = context["run"]
    if run is None:
        raise Http404
    columns = context["table"].columns
    context |= {
        "back": back,
        "paper": paper.paper(context["table"]),
        "question": list(paper.question(run.results, context["money"])),
        "assumptions": paper.assumptions(run.results, columns),
        "not_known": paper.not_known(run.results, columns),
        "rfq": rfq.text(run.results, found.name),
    }
    return render(request, "comparisons/print.html", context, status=status_of(context))


@never_cache
@login_required
@require_safe
def on_paper(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One's own, to print: the last answer, or the one that `run` names."""
    return printed(request, own(request, pk), reverse("comparison", args=[pk]))


def _named_run(found: Comparison, text: str | None) -> Run | None:
    """A run by its id; a 404 where the comparison has none such."""
    if not text:
        return None
    try:
        run = found.runs.filter(pk=UUID(text)).first()
    except ValueError:
        run = None
    if run is None:
        raise Http404
    return run


def worth_telling(found: list[Change]) -> list[Change]:
    """Causes, and ranks near the top that no cause in the list explains already."""
    caused = {change.key for change in found if change.kind is not Kind.RANK}
    told = [
        change
        for change in found
        if change.kind is not Kind.RANK
        or (change.key not in caused and min(change.was or TOP, change.now or TOP) <= TOP)
    ]
    return told[:SHOWN_CHANGES]


def _heads(request: HttpRequest, table: Table) -> list[dict[str, Any]]:
    return [
        {"column": column, "baseline": _here(request, baseline=column.key) if place else ""}
        for place, column in enumerate(table.columns)
    ]


def _here(request: HttpRequest, **changed: str | None) -> str:
    """This page, with part of its state changed."""
    query = request.GET.copy()
    for name, text in changed.items():
        if text is None:
            query.pop(name, None)
        else:
            query[name] = text
    said = query.urlencode()
    return f"{request.path}?{said}" if said else request.path


# --- What is done with it ---------------------------------------------------------------------


@login_required
@require_POST
def run(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask again, now or at the prices of a day."""
    found = own(request, pk)
    text = request.POST.get("as_of", "").strip()
    try:
        made = runs.make(found, _end_of(text))
    except (BadQuery, TooMuch, ValueError) as problem:
        messages.error(request, str(problem))
        return redirect("comparison", found.pk)
    query = f"?run={made.pk}" if made.as_of else ""
    return redirect(f"{request.path.removesuffix('run/')}{query}")


def _end_of(text: str) -> datetime | None:
    """The end of a day that is not after today; None where none is given.

    Raises
    ------
    ValueError
        Saying what it must be.
    """
    if not text:
        return None
    day, now = parse_date(text), datetime.now(UTC)
    if day is None or day > now.date():
        raise ValueError(gettext("The date must be a day like 2026-11-29, not after today."))
    return min(datetime.combine(day, time.max, tzinfo=UTC), now)


@login_required
@require_POST
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Another name, other notes."""
    try:
        with transaction.atomic():
            found = held(_mine(request, pk))
            columns, _question = asked.read(_written(request), found)
            keeping.edit(found, columns)
    except BadQuery as bad:
        messages.error(request, str(bad))
    return redirect("comparison", pk)


@login_required
@require_POST
def duplicate(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A copy, and its page."""
    found = own(request, pk)
    try:
        return redirect("comparison", keeping.duplicate(found).pk)
    except (BadQuery, TooMuch) as problem:
        messages.error(request, str(problem))
        return redirect("comparison", found.pk)


@login_required
@require_POST
def share(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A link for others; the page shows it this once."""
    found = own(request, pk)
    try:
        _share, token = keeping.share(found)
        request.session[f"share {pk}"] = f"{settings.PUBLIC_URL}{keeping.shared_at(token)}"
    except TooMuch as cap:
        messages.error(request, str(cap))
    return redirect("comparison", found.pk)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: UUID, share: UUID) -> HttpResponse:
    """The end of a link."""
    found = own(request, pk)
    if not keeping.revoke(found, share):
        raise Http404
    return redirect("comparison", found.pk)


@login_required
@require_POST
def delete(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The end of it, its runs and its links; asked for with its box ticked."""
    found = own(request, pk)
    if request.POST.get("sure") != "yes":
        messages.error(request, gettext("Tick the box to delete it: nothing brings it back."))
        return redirect("comparison", found.pk)
    if not remove(_mine(request, pk)):
        raise Http404
    return redirect("comparisons")


@never_cache
@login_required
@require_safe
def questions(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What to ask each provider, as text to copy."""
    found = own(request, pk)
    last = runs.shown(found)
    if last is None:
        raise Http404
    context = {
        "room": "comparisons",
        "comparison": found,
        "text": rfq.text(last.results, found.name),
    }
    return render(request, "comparisons/questions.html", context)

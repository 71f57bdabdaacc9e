"""The box for a pasted output of nccl-tests, what comes of it, and each run that is kept."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST

from accounts.owned import remove
from catalog import nccl
from catalog.query import BadQuery
from measurements.keeping import keep as keep_run
from measurements.models import Measurement

FIELDS = ("provider", "instance_type", "text", "nodes", "collective")


@csrf_exempt  # it changes nothing: what changes something is `keep`
@require_http_methods(["GET", "HEAD", "POST"])
def check(request: HttpRequest) -> HttpResponse:
    """The box; with something in it, what comes of that. What was pasted is there again."""
    if request.method != "POST":
        return _page(request, {name: request.GET.get(name, "") for name in FIELDS})
    given = {name: request.POST.get(name, "") for name in FIELDS}
    try:
        checked = _checked(given)
    except BadQuery as bad:
        return _page(request, given, problems=bad.fields, status=400)
    return _page(request, given, checked=checked)


@require_POST
@login_required
def keep(request: HttpRequest) -> HttpResponse:
    """Keep what was checked, as a fact of its type."""
    given = {name: request.POST.get(name, "") for name in FIELDS}
    try:
        kept = keep_run(request.user, _checked(given), given["text"])  # type: ignore[arg-type]
    except BadQuery as bad:
        return _page(request, given, problems=bad.fields, status=400)
    return redirect("measurement", kept.pk)


@require_http_methods(["GET", "HEAD", "POST"])
def kept(request: HttpRequest, pk: int) -> HttpResponse:
    """One run that is kept, with its raw text; its owner and an admin may remove it."""
    found = get_object_or_404(Measurement.objects.select_related("instance_type__provider"), pk=pk)
    mine = may_remove(request.user, found)
    if request.method == "POST":
        if not mine:
            raise Http404
        if not remove(Measurement.objects.filter(pk=pk)):
            raise Http404
        return redirect("instance", found.instance_type.provider_id, found.instance_type.name)
    kind = found.instance_type
    given = {"provider": kind.provider_id, "instance_type": kind.name, "text": found.text,
             "nodes": str(found.nodes), "collective": found.kind}  # fmt: skip
    try:
        checked, problems = _checked(given), None
    except BadQuery as bad:  # the type is known to be another by now
        checked, problems = None, bad.fields
    return _page(request, given, checked=checked, problems=problems, found=found, mine=mine)


def may_remove(user: Any, found: Measurement) -> bool:
    """Its owner, and whoever runs the service."""
    known = bool(getattr(user, "is_authenticated", False))
    return known and (found.owner_id == user.pk or user.is_staff)


def _checked(given: dict[str, str]) -> nccl.Checked:
    nodes, collective = given["nodes"].strip(), given["collective"] or None
    wrong: dict[str, list[str]] = {}
    short = len(nodes) <= len(str(nccl.MOST_NODES)) and nodes.isascii() and nodes.isdigit()
    if nodes and not (short and 0 < int(nodes) <= nccl.MOST_NODES):
        most = {"most": nccl.MOST_NODES}
        wrong["nodes"] = [gettext("must be a whole number from 1 to %(most)s.") % most]
    if collective and collective not in nccl.COLLECTIVES:
        wrong["collective"] = [
            gettext("is none of: %(all)s.") % {"all": ", ".join(nccl.COLLECTIVES)}
        ]
    if not given["text"].strip():
        wrong["text"] = [gettext("is empty: paste what the test printed.")]
    if wrong:
        raise BadQuery(wrong)
    count = int(nodes) if nodes else None
    return nccl.check(given["provider"], given["instance_type"], given["text"], count, collective)


def _label(field: str) -> str:
    """What the page calls a field; what is wrong with the run itself needs no name."""
    named = {"nodes": gettext("Instances"), "collective": gettext("Test")}
    return "" if field in ("text", "ranks", "keep", "instance_type") else named.get(field, field)


def _page(
    request: HttpRequest,
    given: dict[str, str],
    *,
    checked: nccl.Checked | None = None,
    problems: dict[str, list[str]] | None = None,
    status: int = 200,
    **more: Any,
) -> HttpResponse:
    answer = checked and checked.as_json()
    context = {
        "room": "offers",
        "given": given,
        "problems": [(_label(name), " ".join(said)) for name, said in (problems or {}).items()],
        "answer": answer,
        "adds_up": checked is not None and not checked.against,
        "collectives": nccl.COLLECTIVES,
        **more,
    }
    return render(request, "measurements/check.html", context, status=status)

"""From the catalog's change to the outbox: watched comparisons are run again, and each run is told.

Events are written in the transaction that writes the run, whoever made it: a worker that looked,
or the owner who pressed "run again".
"""

import logging
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.utils.translation import override

from catalog.estimates import TooMuch
from catalog.models import CatalogVersion
from catalog.query import BadQuery
from comparisons import runs
from comparisons.models import Comparison, Run
from watches import outbox
from watches.models import LONGEST_TROUBLE, Kind, Watch
from watches.news import news
from watches.wording import OUR_FAULT, one_line

log = logging.getLogger(__name__)


def look(comparison_id: UUID) -> None:
    """Run it again if the catalog has changed it. A second message finds nothing to do.

    Where it cannot be run, its watches say why (`Watch.trouble`) until it can. A fault of ours is
    raised, too.
    """
    watched = Watch.objects.filter(comparison=comparison_id, active=True)
    if not watched.behind().update(looked_at=Now()):
        return
    newest = CatalogVersion.objects.first()
    try:
        comparison = get_object_or_404(Comparison, pk=comparison_id)
        runs.refresh(comparison)
        _caught_up(comparison, newest.version if newest else 0)
    except Http404:
        return  # it was deleted meanwhile, and its watches with it
    except (BadQuery, TooMuch, ValueError) as problem:
        log.warning("comparison %s cannot be run: %s", comparison_id, problem)
        watched.update(trouble=_why(problem))
    except Exception:
        watched.update(trouble=OUR_FAULT)
        raise


def _why(problem: Exception) -> str:
    fields = problem.fields if isinstance(problem, BadQuery) else {}
    said = "; ".join(f"{name} {' '.join(texts)}" for name, texts in fields.items())
    return one_line(said or str(problem))[:LONGEST_TROUBLE]


@transaction.atomic
def _caught_up(comparison: Comparison, version: int) -> None:
    """Tell each what it has not heard: one that was paused missed the runs of that time."""
    last = runs.current(comparison)
    for watch in _listening(comparison.pk):
        if last is not None:
            _tell(watch, last)
        watch.seen_version, watch.trouble = version, ""
        watch.save(update_fields=["seen_version", "trouble"])


def tell(run: Run) -> None:
    """Write what a new run shows into the outbox. One of another day's prices shows nothing new."""
    if run.as_of is None:
        for watch in _listening(run.comparison_id):
            if watch.seen_version is None or watch.seen_version <= run.catalog_version:
                _tell(watch, run)


def _listening(comparison_id: UUID) -> QuerySet[Watch]:
    watched = Watch.objects.filter(comparison=comparison_id, active=True)
    return watched.select_for_update(of=("self",)).order_by("pk")


def _tell(watch: Watch, run: Run) -> None:
    found = news(watch, run.results)
    watch.seen_version = run.catalog_version
    watch.save(update_fields=["known", "seen_version"])
    if found:
        with override(watch.language):
            told = [each.as_json() for each in found]
        about = {
            "id": str(run.pk),
            "made_at": run.made_at.isoformat(),
            "catalog_version": run.catalog_version,
            "model_version": run.model_version,
        }
        outbox.put(watch, Kind.CHANGED, {"run": about, "changes": told}, run)


@transaction.atomic
def begin(watch: Watch) -> None:
    """Save a new watch, with what its owner knows from the last run."""
    if last := runs.current(watch.comparison):
        news(watch, last.results)
        watch.seen_version = last.catalog_version
    watch.save()

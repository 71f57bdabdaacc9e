"""From the catalog's change to the outbox: watched comparisons are run again, and each run is told.

Events are written in the transaction that writes the run, whoever made it: a worker that looked,
or the owner who pressed "run again".
"""

from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import override

from catalog.models import CatalogVersion
from comparisons import runs
from comparisons.models import Comparison, Run
from watches import outbox
from watches.models import Kind, Watch
from watches.news import news


def look(comparison_id: UUID) -> None:
    """Run it again if the catalog has changed it. A second message finds nothing to do."""
    watched = Watch.objects.filter(comparison=comparison_id)
    if not watched.behind().update(looked_at=Now()):
        return
    version = CatalogVersion.objects.first()
    runs.refresh(Comparison.objects.get(pk=comparison_id))
    watched.update(seen_version=version.version if version else 0)


def tell(run: Run) -> None:
    """Write what a new run shows into the outbox. One of another day's prices shows nothing new."""
    if run.as_of is None:
        watched = Watch.objects.filter(comparison=run.comparison_id, active=True)
        for watch in watched.select_for_update(of=("self",)).order_by("pk"):
            if watch.seen_version is None or watch.seen_version <= run.catalog_version:
                _tell(watch, run)


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

"""What people have asked for in the admin, carried out: each once, with its outcome written down.

An errand stands in Postgres. A worker that dies of one leaves it taken; it is taken again later,
and carrying it out twice changes nothing. A fault of ours is an outcome too: it ends the errand.
"""

import logging
from collections.abc import Iterator
from datetime import timedelta

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from catalog.models import Errand, ErrandKind
from scrapers import runs

log = logging.getLogger(__name__)
LOST = timedelta(minutes=15)  # longer than a task may run


def _open() -> QuerySet[Errand]:
    return Errand.objects.filter(
        Q(taken_at=None) | Q(taken_at__lt=Now() - LOST), done_at=None
    ).order_by("asked_at", "id")


def waiting() -> bool:
    """True when somebody has asked for something."""
    return _open().exists()


def run() -> list[Errand]:
    """Carry out all that is waiting, the first asked first."""
    return list(_each())


def _each() -> Iterator[Errand]:
    for errand in _open().select_related("run__replay_of"):
        if _open().filter(pk=errand.pk).update(taken_at=Now()):  # else another worker has it
            errand.outcome = _outcome(errand).replace("\0", "\ufffd")[:1000]
            errand.done_at = Now()
            errand.save(update_fields=["outcome", "done_at"])
            yield errand


def _outcome(errand: Errand) -> str:
    try:
        if errand.kind == ErrandKind.APPROVE:
            slug = errand.run.provider_id
            return runs.approve(slug, errand.run_id, errand.asked_by).told()
        return runs.replay(errand.run).told()
    except runs.REFUSALS as problem:
        return str(problem)
    except Exception as problem:  # whatever it is, the person who asked must read of it
        log.exception("errand %s of run %s", errand.pk, errand.run_id)
        said = f"A fault of ours: {type(problem).__name__}: {problem}"
        return f"{said[:900]}. The log has its trace; the last data stand."

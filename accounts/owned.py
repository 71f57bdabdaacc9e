"""Rows of one's own while somebody else writes to them, or deletes them.

Who writes holds the row first, and finds out whether it is there at all; who deletes holds it with
all that hangs on it, so that nothing is added in between. What is gone is a 404, for pages and API.
"""

from collections.abc import Iterable
from typing import Any, TypeVar

import psycopg
from django.db import OperationalError, transaction
from django.db.models import CASCADE, ForeignObjectRel, Model, QuerySet
from django.http import Http404

M = TypeVar("M", bound=Model)
TRIES = 3  # of a deletion: who sends a watch's message locks from below, so the two may cross


def held(rows: QuerySet[M], said: str = "") -> M:
    """The one row, for this transaction alone: others that write to it wait, readers do not.

    Raises
    ------
    Http404
        Where it is not there, or not any more.
    """
    found = rows.select_for_update(of=("self",), no_key=True).first()
    if found is None:
        raise Http404(said)
    return found


def remove(rows: QuerySet[M]) -> bool:
    """Delete the one row with all that hangs on it; False where it is gone already."""
    for left in reversed(range(TRIES)):
        try:
            return _removed(rows)
        except OperationalError as error:
            if not (left and isinstance(error.__cause__, psycopg.errors.DeadlockDetected)):
                raise
    raise AssertionError


@transaction.atomic
def _removed(rows: QuerySet[M]) -> bool:
    found = rows.select_for_update(of=("self",)).first()
    if found is None:
        return False
    _hold_below(type(found), [found.pk])
    found.delete()
    return True


def _hold_below(model: type[Model], pks: Iterable[Any]) -> None:
    """Lock all to which something could be added. From above to below, as all who write do."""
    for relation in _taken_along(model):
        below: Any = relation.related_model
        if any(_taken_along(below)):
            rows = below.objects.filter(**{f"{relation.field.name}__in": pks})
            locked = list(rows.order_by("pk").select_for_update().values_list("pk", flat=True))
            _hold_below(below, locked)


def _taken_along(model: type[Model]) -> list[ForeignObjectRel]:
    """What names such a row, and goes with it."""
    named = model._meta.get_fields(include_hidden=True)  # noqa: SLF001 -- Django's way to ask
    return [
        each
        for each in named
        if isinstance(each, ForeignObjectRel) and getattr(each, "on_delete", None) is CASCADE
    ]

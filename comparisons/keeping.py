"""What is written of comparisons: kept, edited, copied, shared. Each is whole or not at all.

Pages and API write through here, so that the same caps hold for both.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext

from accounts.owned import held
from catalog.estimates import TooMany
from comparisons import asked, runs
from comparisons.models import Comparison, Share

MOST_COMPARISONS = 500  # of one account
MOST_SHARES = 100  # of one comparison: so many that live, and so many of those that were revoked


def save(owner: int, columns: Mapping[str, Any], *, and_run: bool = False) -> Comparison:
    """Keep a new one, with its first answer where it is wanted: both or neither.

    Raises
    ------
    TooMany, TooMuch
        Over the cap of an account; over that of an answer.
    """
    with transaction.atomic():
        if Comparison.objects.filter(owner=owner).count() >= MOST_COMPARISONS:
            raise TooMany(f"An account keeps {MOST_COMPARISONS} comparisons: delete one.")
        comparison = Comparison.objects.create(owner_id=owner, **columns)
        if and_run:
            runs.make(comparison)
    return comparison


def edit(comparison: Comparison, columns: Mapping[str, Any]) -> None:
    """Change what it asks, or its name and notes; the caller holds it, so that it is there."""
    for name, value in columns.items():
        setattr(comparison, name, value)
    comparison.save()


def duplicate(comparison: Comparison, name: object = None) -> Comparison:
    """A copy of the question, without its runs and links.

    Raises
    ------
    BadQuery
        Where the name is none, or the catalog no longer has what it asks.
    TooMany
        Over the cap of an account.
    """
    if name is None:
        copied = gettext("%(name)s, copy") % {"name": comparison.name}
        name = copied[: asked.LONGEST_NAME]
    columns, _question = asked.read({"name": name}, comparison)
    return save(comparison.owner_id, columns)


@transaction.atomic
def share(comparison: Comparison) -> tuple[Share, str]:
    """A new link and its token, which can be read this once.

    Raises
    ------
    Http404
        Where the comparison was deleted meanwhile.
    TooMany
        Over the cap of a comparison.
    """
    held(Comparison.objects.filter(pk=comparison.pk), "The comparison was deleted.")
    if comparison.shares.filter(revoked_at=None).count() >= MOST_SHARES:
        raise TooMany(f"A comparison has {MOST_SHARES} links: revoke one.")
    revoked = comparison.shares.exclude(revoked_at=None).order_by("-revoked_at")
    comparison.shares.filter(pk__in=revoked.values("pk")[MOST_SHARES:]).delete()
    return Share.make(comparison)


def shared_at(token: str) -> str:
    """Where a link leads: a path, as no header may name the host."""
    return reverse("shared", args=[token])


def revoke(comparison: Comparison, pk: UUID) -> bool:
    """End a link; whether there was one that was not ended already."""
    return bool(comparison.shares.filter(pk=pk, revoked_at=None).update(revoked_at=Now()))

"""Runs: an answer kept for good, and the same question asked again as the market moves."""

from datetime import datetime
from typing import Any

from django.db import transaction

from accounts.owned import held
from catalog.currency import Money, in_currency
from catalog.estimates import TooMany
from comparisons import asked, outline, snapshot
from comparisons.changes import Change, changes
from comparisons.form import Snapshot
from comparisons.models import Comparison, Run

MOST_RUNS = 1_000  # of one comparison that somebody asked for
MOST_BY_ITSELF = 200  # of one comparison, the newest: the market never stops moving


def make(comparison: Comparison, as_of: datetime | None = None) -> Run:
    """Ask again, now or at the prices of a time, and keep the answer.

    Raises
    ------
    Http404
        Where the comparison was deleted meanwhile.
    Contradicts
        Where the catalog no longer has what the comparison names.
    TooMany, TooMuch
        Over the cap of the runs that are asked for of one comparison; over that of one request.
    """
    taken = snapshot.take(asked.of(comparison), as_of)
    with transaction.atomic():
        _locked(comparison)
        if comparison.runs.filter(by_itself=False).count() >= MOST_RUNS:
            raise TooMany(f"A comparison keeps {MOST_RUNS} runs: duplicate it, and go on there.")
        last = current(comparison)
        found = None if last is None else changes(last.results, taken)
        return _kept(comparison, taken, found, as_of=as_of)


def refresh(comparison: Comparison) -> Run | None:
    """Ask again because the catalog changed; None, and nothing is kept, where the answer did not.

    Of the runs that were made so the newest MOST_BY_ITSELF stay; those that somebody asked for all.

    Safe to call twice at once: the second finds the run of the first, and nothing changed since.

    Raises
    ------
    Http404, BadQuery, TooMuch
        As `make`, but for the cap of runs.
    """
    taken = snapshot.take(asked.of(comparison))
    with transaction.atomic():
        _locked(comparison)
        last = current(comparison)
        found = None if last is None else changes(last.results, taken)
        if found == []:
            return None
        made = _kept(comparison, taken, found, by_itself=True)
        by_itself = comparison.runs.filter(by_itself=True).values_list("pk", flat=True)
        Run.objects.filter(pk__in=list(by_itself[MOST_BY_ITSELF:])).delete()
        return made


def current(comparison: Comparison) -> Run | None:
    """The newest run at the prices of its own time: what later ones are held against."""
    return comparison.runs.filter(as_of=None).first()


def shown(comparison: Comparison) -> Run | None:
    """The run that every page and file is of, where none is named."""
    return current(comparison) or comparison.runs.first()


def in_money(run: Run, money: Money) -> Snapshot:
    """A run's answer as it was told; or in another money, at the rate of its time."""
    if money == Money.of(run.results.get("currency")):
        return run.results  # type: ignore[no-any-return]
    then = in_currency(time_of(run))(money.code)
    return {**run.results, "currency": then and then.as_json()}


def time_of(run: Run) -> datetime:
    """Whose prices it has, and whose rates."""
    return run.as_of or run.made_at


def before(run: Run) -> Run | None:
    """The one that was made before a run, at the prices of its own time."""
    return run.comparison.runs.filter(as_of=None, made_at__lt=run.made_at).first()


def since(run: Run) -> list[Change]:
    """What changed in a run since the one before it; nothing where it is the first."""
    last = before(run)
    return changes(last.results, run.results) if last else []


def _locked(comparison: Comparison) -> None:
    """One writer at a time, and none where it was deleted meanwhile."""
    held(Comparison.objects.filter(pk=comparison.pk), "The comparison was deleted.")


def _kept(
    comparison: Comparison,
    taken: Snapshot,
    found: list[Change] | None,
    **how: Any,
) -> Run:
    changed_at = taken["catalog_changed_at"]
    return Run.objects.create(
        **how,
        comparison=comparison,
        outline=outline.of(taken, found),
        catalog_version=taken["catalog_version"],
        catalog_changed_at=changed_at and datetime.fromisoformat(changed_at),
        model_version=taken["model_version"],
        results=taken,
    )

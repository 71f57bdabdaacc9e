"""What people decide, written down: rulings on rows, words taught, lists let through, errands.

Nothing is published here: a decision takes effect in the next list, and at once through an errand,
which a worker carries out (`scrapers.errands`). Every decision leaves a line in the log.
"""

import logging
from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from catalog.facts import gpus
from catalog.judgement import DOUBTS
from catalog.models import (
    Alias,
    AliasKind,
    Errand,
    ErrandKind,
    QuarantinedRow,
    Region,
    Ruling,
    RunState,
    ScrapeRun,
    Verdict,
)

audit = logging.getLogger("catalog.audit")


NEAR = 6  # names that are told to whoever mistyped one


class Unruly(ValueError):
    """A decision that cannot be taken, and why, in a sentence."""


# --- Of a row ---------------------------------------------------------------------------------


@transaction.atomic
def accept(rows: Iterable[QuarantinedRow], who: str) -> list[Errand]:
    """Publish these rows as they are, now and whenever they come again.

    Raises
    ------
    Unruly
        One of them is no offer: there is nothing to publish. None is accepted then.
    """
    rows = list(rows)
    for row in rows:
        if row.gate not in DOUBTS:
            raise Unruly(
                f"There is no offer to publish in {row.where}: it could not be read as one "
                f"({row.reason}). Reject it, or replay its list once the code understands it."
            )
    _rule(rows, Verdict.ACCEPTED, who)
    lists = {(row.run.provider_id, row.run.part) for row in rows}
    newest = newest_lists(provider for provider, _ in lists)
    asked = [run for run in newest if (run.provider_id, run.part) in lists]
    return [ask(run, ErrandKind.REPLAY, who) for run in asked]


@transaction.atomic
def reject(rows: Iterable[QuarantinedRow], who: str) -> None:
    """Keep these rows out, and ask nobody about them again."""
    _rule(list(rows), Verdict.REJECTED, who)


def _rule(rows: list[QuarantinedRow], verdict: Verdict, who: str) -> None:
    """The last decision stands, whoever took the one before."""
    rulings = {
        (row.run.provider_id, row.key): Ruling(
            provider_id=row.run.provider_id,
            key=row.key,
            verdict=verdict.value,
            gate=row.gate,
            reason=row.reason,
            row=row.row,
            decided_by=who,
            decided_at=Now(),
        )
        for row in rows
    }
    Ruling.objects.bulk_create(
        rulings.values(),
        update_conflicts=True,
        unique_fields=["provider", "key"],
        update_fields=["verdict", "gate", "reason", "row", "decided_by", "decided_at"],
    )
    for row in rows:
        # %r: neither a name nor a provider's words can begin a line of their own
        audit.info("%r %s %r of %s: %r", who, verdict, row.where, row.run.provider_id, row.reason)


def accepted(provider: str) -> frozenset[str]:
    """The keys of what people let through."""
    rulings = Ruling.objects.filter(provider=provider, verdict=Verdict.ACCEPTED)
    return frozenset(rulings.values_list("key", flat=True))


# --- Of a word --------------------------------------------------------------------------------


def allowed(kind: AliasKind, provider: str | None) -> list[str]:
    """What a word can be taught to mean."""
    if kind is AliasKind.GPU:
        return sorted(gpus())
    regions = Region.objects.filter(provider=provider).order_by("region")
    return list(regions.values_list("region", flat=True).distinct())


def check_target(kind: AliasKind, provider: str | None, target: str) -> None:
    """Refuse a meaning that we do not know.

    Raises
    ------
    Unruly
        Naming those that are near.
    """
    names = allowed(kind, provider)
    if target not in names:
        raise Unruly(f"{target[:60]!r} is no {kind} of ours; {_near(target, list(names))}.")


def _near(target: str, names: list[str]) -> str:
    if not names:
        return "there are none that we know: a region is one provider's"
    if len(names) <= NEAR:
        return f"there are {', '.join(names)}"
    target = target.lower()
    near = get_close_matches(target, names, NEAR)
    if not near:  # "h900": of the families that are near, each name
        families = get_close_matches(target.split("-")[0], {n.split("-")[0] for n in names}, NEAR)
        near = [n for f in families for n in names if n.split("-")[0] == f][:NEAR]
    return f"near it are {', '.join(near)}" if near else f"none of our {len(names)} is near it"


@transaction.atomic
def teach(kind: AliasKind, provider: str | None, words: str, target: str, who: str) -> Alias:
    """Let `words` mean `target` from now on, and have the newest lists read again."""
    check_target(kind, provider, target)
    alias, _ = Alias.objects.update_or_create(
        kind=kind.value,
        provider_id=provider,
        words=words,
        defaults={"target": target, "taught_by": who, "taught_at": Now()},
    )
    audit.info("%r taught %s: the %s %r is %r", who, provider or "all", kind, words, target)
    unknown = QuarantinedRow.objects.open().filter(about__iexact=words)
    said_by = [provider] if provider else unknown.values_list("run__provider", flat=True)
    for run in newest_lists(said_by):
        ask(run, ErrandKind.REPLAY, who)
    return alias


def aliases(kind: AliasKind, provider: str) -> Mapping[tuple[str, str], str]:
    """(provider or "" for all, words) → what they mean, of those that a provider's list may use."""
    told = Alias.objects.filter(Q(provider=provider) | Q(provider=None), kind=kind)
    return {(alias.provider_id or "", alias.words): alias.target for alias in told}


# --- Of a list --------------------------------------------------------------------------------


READ = (RunState.PUBLISHED, RunState.UNCHANGED)


def newest_lists(providers: Iterable[str], states: Iterable[RunState] = READ) -> list[ScrapeRun]:
    """The newest run of each list in one of these states whose payload is there whole.

    A provider has one list, or one for each part of it.
    """
    read = ScrapeRun.objects.filter(
        provider__in=set(providers),
        state__in=list(states),
        collected_at__isnull=False,
        documents__isnull=False,
    )
    order = ("provider", "part", "-collected_at", "-started_at")
    return list(read.order_by(*order).distinct("provider", "part"))


@transaction.atomic
def ask(run: ScrapeRun, kind: ErrandKind, who: str) -> Errand:
    """Have a worker do something with a run; asked twice, it is done once.

    Raises
    ------
    Unruly
        Only a held list can be let through.
    """
    if kind is ErrandKind.APPROVE and run.state != RunState.HELD:
        raise Unruly(f"Run {run.pk} is {run.state}, not held: there is nothing to approve.")
    errand, new = Errand.objects.get_or_create(
        run=run, kind=kind.value, taken_at=None, done_at=None, defaults={"asked_by": who}
    )
    if new:
        audit.info("%r asked: %s run %s of %s", who, kind, run.pk, run.provider_id)
    return errand


@transaction.atomic
def refuse(run: ScrapeRun, who: str) -> None:
    """A held list is not published, and asks nobody any more.

    Raises
    ------
    Unruly
        It is not held.
    """
    reason = f"{run.reason} Refused by {who}."[:1000]
    held = ScrapeRun.objects.filter(pk=run.pk, state=RunState.HELD)
    if not held.update(state=RunState.REJECTED.value, reason=reason, decided_by=who):
        raise Unruly(f"Run {run.pk} is not held: there is nothing to refuse.")
    audit.info("%r refused run %s of %s: %r", who, run.pk, run.provider_id, run.reason)

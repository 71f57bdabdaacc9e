"""The only writer of the catalog: one list of one provider, or the bundled files, all at once.

A publishing transaction locks the provider's lease and refuses an older fencing number, then locks
the catalog's version, so that one list is published at a time; whoever reads meanwhile sees the
catalog of before. What is not published (held, superseded) leaves no trace but its run, the rows
it could not read, and its payload.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Concat, Now

from catalog import fabrics, gates, payloads, rulings
from catalog.judgement import row_key
from catalog.models import (
    CatalogVersion,
    Gpu,
    InstanceType,
    Lease,
    Provider,
    QuarantinedRow,
    RunState,
    ScrapeRun,
)
from catalog.offer_rows import Counts, add_places, adopt, reprice_types, write_offers
from catalog.records import Fact, Normalised, OfferRecord, Rejected
from catalog.sieve import Ready, incoming, ready
from catalog.staging import IDENTITY, INCOMING, CursorWrapper, copy_text, stage_text
from catalog.statements import accept_facts, columns, everything_said, gpu_rows, respec


class Fenced(Exception):
    """Another worker holds the lease now: what this one brings is not written."""


def publish(
    run: ScrapeRun, normalised: Normalised, epoch: int, *, approved: bool = False
) -> ScrapeRun:
    """`publish_ready`, of a list that no one has made ready."""
    return publish_ready(run, ready(normalised), epoch, approved=approved)


def publish_ready(
    run: ScrapeRun, listed: Ready, epoch: int, *, approved: bool = False
) -> ScrapeRun:
    """Publish one list, or say in the run's state and reason why not. All in one transaction.

    Parameters
    ----------
    run
        In state `running`, its payloads kept.
    listed
        What its payloads came to; its rows in are accounted for one by one.
    epoch
        The fencing number of the lease under which the run works.
    approved
        A person has let a held list through: the gates stand open, all else holds.

    Raises
    ------
    Fenced
        The lease has gone to another; nothing is written.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        _own(cursor, run, epoch, RunState.HELD if approved else RunState.RUNNING)
        _lock_catalog(cursor)
        stage_text(cursor, "incoming", INCOMING, listed.offers, IDENTITY)
        scope = _scope(cursor, run)
        whole = not listed.partial
        gates.compare(cursor, run.provider_id, scope, whole=whole)
        state, reason = _verdict(cursor, run, scope, listed.rows, approved=approved, whole=whole)
        jumps: list[gates.Jump] = []
        if state is RunState.PUBLISHED and not approved:
            let_through = rulings.accepted(run.provider_id)
            replay = run.replay_of_id is not None
            jumps = gates.take_jumps(cursor, run.provider_id, let_through, replay=replay)
        _account(run, listed, jumps)
        if state is RunState.PUBLISHED:
            state = _write(cursor, run, listed, jumps, scope, whole=whole)
            reason = "" if whole else f"Nothing was ended: {listed.partial}."
        finish(run, state, reason)
    return run


def _own(cursor: CursorWrapper, run: ScrapeRun, epoch: int, state: RunState) -> None:
    """Hold the lease until the commit, or refuse. A run that has ended never runs again."""
    # Waiting for another list to be published is no fault.
    cursor.execute("set local lock_timeout = '30s'")
    lease = Lease.objects.select_for_update()
    held = lease.filter(provider=run.provider_id, part=run.part, epoch=epoch)
    if not held.exists() or not ScrapeRun.objects.filter(pk=run.pk, state=state).exists():
        raise Fenced(f"Another worker has taken over {run.provider_id}; nothing was written.")


def _lock_catalog(cursor: CursorWrapper) -> None:
    """One list is published at a time: all of them raise this one row."""
    cursor.execute("select lock_catalog()")


def _account(run: ScrapeRun, listed: Ready, jumps: Sequence[gates.Jump]) -> None:
    """Each row that came is accepted, quarantined with its reason, or ignored by name."""
    run.accepted = listed.accepted - len(jumps)
    run.quarantined = len(listed.rejected) + len(jumps)
    run.ignored = listed.ignored.total()
    run.rows_in = run.accepted + run.quarantined + run.ignored
    run.quarantine.all().delete()  # of the time when it was held
    documents = list(run.documents.values_list("payload_id", "url"))
    rows = [_quarantined(run, row, _payload_of(row.where, documents)) for row in listed.rejected]
    rows += _jumped(run, jumps, documents)
    QuarantinedRow.objects.bulk_create(rows)


def _quarantined(run: ScrapeRun, row: Rejected, payload: str | None) -> QuarantinedRow:
    return QuarantinedRow(
        run=run,
        gate=row.gate.value,
        reason=row.reason[:1000],
        where=row.where[:400],
        row=row.row[:4000].replace("\x00", ""),
        payload_id=payload,
        key=row.key or row_key(row.gate, row.reason, row.row),
        about=row.about[:200].replace("\x00", ""),
    )


def _jumped(
    run: ScrapeRun, jumps: Sequence[gates.Jump], documents: Sequence[tuple[str, str]]
) -> Iterator[QuarantinedRow]:
    """Prices that wait for the next list to confirm them, each with its offer and its raw row."""
    found = payloads.rows_at(run, [(j.record.source_url, j.record.where) for j in jumps])
    for jump, text in zip(jumps, found, strict=True):
        row = _quarantined(
            run, replace(jump.rejected, row=text), _payload_of(jump.record.source_url, documents)
        )
        row.offer_id, row.collected_at = jump.offer_id, jump.record.collected_at
        row.native_amount = jump.record.native_amount
        row.native_currency = jump.record.native_currency
        yield row


def _payload_of(where: str, documents: Sequence[tuple[str, str]]) -> str | None:
    """The payload that a row came from: the one there is, or the one whose address it names."""
    if len(documents) == 1:
        return documents[0][0]
    return next((sha for sha, url in documents if url and url in where), None)


def _verdict(
    cursor: CursorWrapper,
    run: ScrapeRun,
    scope: list[str] | None,
    rows: int,
    *,
    approved: bool,
    whole: bool,
) -> tuple[RunState, str]:
    newest = _read_before(run).first()
    if newest is not None and _time(newest) > _time(run):
        when = f"{_time(newest):%Y-%m-%d %H:%M} UTC"
        return RunState.SUPERSEDED, f"A newer list, of {when}, is published."
    if approved:
        return RunState.PUBLISHED, ""
    whole_ones = _read_before(run).filter(part=run.part, reason="")
    last = whole_ones.values_list("rows_in", flat=True).first()
    reason = gates.held(cursor, scope, whole=whole) or gates.swollen(rows, last)
    return (RunState.HELD, reason) if reason else (RunState.PUBLISHED, "")


def _read_before(run: ScrapeRun) -> QuerySet[ScrapeRun]:
    """The lists of what `run` has read, its part or the whole, that were read; newest first."""
    read = ScrapeRun.objects.filter(
        provider=run.provider_id, state__in=[RunState.PUBLISHED, RunState.UNCHANGED]
    ).exclude(collected_at=None)
    read = read.filter(part__in=("", run.part)) if run.part else read
    return read.order_by("-collected_at")


def _scope(cursor: CursorWrapper, run: ScrapeRun) -> list[str] | None:
    """The regions that a list speaks for; None: for all. What is listed elsewhere has not ended.

    A part speaks for its region and the zones there ("us-west-2-lax-1") that are no parts
    themselves. A file of a list that is read in parts speaks for the regions that stand in it.
    """
    leases = Lease.objects.filter(provider=run.provider_id).exclude(part="")
    parts = list(leases.values_list("part", flat=True))
    if not run.part and not parts:
        return None
    cursor.execute("select distinct region from incoming")
    here = [region for (region,) in cursor.fetchall()]
    if not run.part:
        return here
    cursor.execute(
        "select distinct region from catalog_offer where listed_by_id = %s and ended_at is null "
        "and starts_with(region, %s || '-') and region <> all(%s)",
        [run.provider_id, run.part, parts],
    )
    return [run.part, *here, *(region for (region,) in cursor.fetchall())]


def _time(run: ScrapeRun) -> datetime:
    return run.collected_at or run.started_at


def _write(
    cursor: CursorWrapper,
    run: ScrapeRun,
    listed: Ready,
    jumps: Sequence[gates.Jump],
    scope: list[str] | None,
    *,
    whole: bool,
) -> RunState:
    said = {run.provider_id: listed.facts}
    respecified = _learn(cursor, said, run.pk, whole=whole and not run.part)
    kept = [jump.record.identity for jump in jumps]
    kept += [identity for row in listed.rejected for identity in row.identities]
    at = _time(run)
    counts = write_offers(cursor, run.provider_id, run.pk, at, scope, whole=whole, kept=kept)
    reprice_types(cursor, respecified)
    _count(run, counts)
    provider = Provider.objects.filter(pk=run.provider_id)
    if counts.written or respecified:
        adopt(cursor, run.pk)
        provider.update(published_run=run)
        raise_version()
    if run.live:
        provider.update(fetched_live_at=Now())
    changed = counts.new or counts.changed or counts.ended or respecified
    return RunState.PUBLISHED if changed else RunState.UNCHANGED


def _learn(
    cursor: CursorWrapper, said: dict[str, list[Fact]], run: UUID | None, *, whole: bool = True
) -> list[int]:
    """Take the facts of each origin; the ids of the types that are other than before."""
    _ensure_gpus(cursor)
    add_places(cursor)
    touched: set[str] = set()
    for origin, facts in said.items():
        touched |= accept_facts(cursor, facts, origin, run, whole=whole)
    if run is None:  # the rules and the GPUs' datasheets may be others than at the last load
        touched |= everything_said(cursor)
    changed = respec(cursor, touched)
    if changed or run is None:
        fabrics.rebuild({subject.partition("/")[0] for subject in touched})
    return changed


def _ensure_gpus(cursor: CursorWrapper) -> None:
    """The SKUs of gpus.csv are there before a type can point at one."""
    cursor.execute("select count(*) from catalog_gpu")
    if cursor.fetchone()[0] == 0:
        write_gpus()


def write_gpus() -> None:
    """The SKUs of gpus.csv with their columns; one that is gone from the file stays."""
    columns = {f.name for f in Gpu._meta.concrete_fields} - {"slug"}  # noqa: SLF001
    Gpu.objects.bulk_create(
        [
            Gpu(slug=slug, **{name: value for name, value in row.items() if name in columns})
            for slug, row in gpu_rows().items()
        ],
        update_conflicts=True,
        unique_fields=["slug"],
        update_fields=sorted(columns),
    )


def _count(run: ScrapeRun, counts: Counts) -> None:
    run.offers_new, run.offers_changed = counts.new, counts.changed
    run.offers_ended, run.offers_unchanged = counts.ended, counts.unchanged


def finish(run: ScrapeRun, state: RunState, reason: str = "") -> None:
    """Write what became of a run, by the database's clock."""
    run.state, run.reason = state.value, reason[:1000]
    run.finished_at = Now()
    run.save()
    run.refresh_from_db(fields=["finished_at"])


def raise_version() -> None:
    """Tell every cache that the catalog is another one now."""
    CatalogVersion.advance()


def state(facts: Sequence[Fact], origin: str) -> None:
    """Make `facts` all that an origin states that is no list and no file: a user's measurement.

    What fills no column is shown with its type, and nothing filters or computes by it: the catalog
    stays the version that it was, and every answer that was made of it stands.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        _lock_catalog(cursor)
        touched = accept_facts(cursor, facts, origin)
        before = _asked_for(touched)
        respec(cursor, touched)
        if _asked_for(touched) != before:
            raise_version()


def _asked_for(subjects: Collection[str]) -> list[dict[str, object]]:
    """What lists and the model read of these types: every column but the claims beside it."""
    named = InstanceType.objects.annotate(subject=Concat("provider", Value("/"), "name"))
    return list(
        named.filter(subject__in=subjects).order_by("id").values(*columns().keys() - {"evidence"})
    )


@dataclass(frozen=True, slots=True)
class Bundle:
    """All that the files of catalog/data/ say: prices, and the facts of each file."""

    offers: list[OfferRecord]
    facts: dict[str, list[Fact]]
    at: datetime


def publish_bundle(cursor: CursorWrapper, bundle: Bundle) -> Counts:
    """Publish the bundled list, inside the caller's transaction. A newer live price stands."""
    _lock_catalog(cursor)
    write_gpus()
    stage_text(cursor, "incoming", INCOMING, copy_text(incoming(bundle.offers)), IDENTITY)
    respecified = _learn(cursor, bundle.facts, None)
    counts = write_offers(cursor, None, None, bundle.at)
    reprice_types(cursor, respecified)
    raise_version()
    return counts

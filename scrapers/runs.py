"""One run of the first arrow, from fetch to publication, whoever starts it.

Each step leaves its trace in Postgres before the next begins: the lease, the run, its payloads,
then offers and state in one transaction. A run that dies between two steps is buried and begun
again; nothing of it is published twice or by halves.
"""

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast
from uuid import UUID

from django.db import DatabaseError, connection
from django.db.models.functions import Now

from catalog import exchange, payloads, rulings
from catalog.connections import stand_ins_from
from catalog.ingest import Fenced, finish, publish_ready
from catalog.judgement import Judgement
from catalog.models import AliasKind, Lease, RunState, ScrapeRun
from catalog.payloads import Answer
from scrapers import leases
from scrapers.fields import Unreadable
from scrapers.gpu_names import alias_key
from scrapers.http import FetchFailed, Http, TryLater
from scrapers.leases import Held, Keeper
from scrapers.listing import Document, MissingKey
from scrapers.normalise import Rate
from scrapers.reading import ParserDied, Task, is_nothing, read
from scrapers.registry import InParts, UnknownProvider, provider_module
from scrapers.summary import Summary, summary_of, together

Say = Callable[[str], None]
log = logging.getLogger(__name__)


class Busy(Exception):
    """Another person is scraping the same provider."""


class NotHeld(Exception):
    """A run that cannot be approved, and why."""


class NotKept(Exception):
    """A run that cannot be replayed, and why."""


# Whatever is asked of a run, it may end in one of these, with a sentence.
REFUSALS = (
    Busy, NotHeld, NotKept, Fenced, Unreadable, ParserDied, UnknownProvider, DatabaseError,
)  # fmt: skip


def _quiet(_line: str) -> None:
    pass


# --- Three ways to begin ----------------------------------------------------------------------


def scrape_due(slug: str, part: str = "") -> Summary | None:
    """Fetch and publish a provider that is due; None when it is not, or another has it."""
    held = leases.take(slug, part)
    return _live(held, _quiet) if held else None


def scrape_now(slug: str, say: Say = _quiet) -> Summary:
    """Fetch and publish a provider because a person asks for it: all its parts, one by one."""
    whole = _live(_by_hand(slug), say)
    if whole.state == RunState.FAILED or not is_in_parts(slug):
        return whole
    parts = Lease.objects.filter(provider=slug).exclude(part="").order_by("part")
    names = list(parts.values_list("part", flat=True))
    return together(whole, {n: _live(_by_hand(slug, n), _saying(say, n)) for n in names})


def _live(held: Held, say: Say) -> Summary:
    began = time.monotonic()
    run = _begin(held, live=True)
    with Keeper(held), _accounted(run, held) as outcome:
        documents = _fetched(run, say)
        if is_in_parts(held.slug, held.part):
            _fan_out(run, held, documents)
        else:
            _carry(run, held, documents, None, say)
        outcome.append(leases.done)
    return summary_of(run, began)


def is_in_parts(slug: str, part: str = "") -> bool:
    """True of the whole of a list that is read in parts."""
    return not part and isinstance(provider_module(slug), InParts)


def _fan_out(run: ScrapeRun, held: Held, documents: list[Document]) -> None:
    """Give every part a lease of its own. The tick, and the task that ends here, do the rest."""
    payloads.keep(run, documents)
    parts = cast("InParts", provider_module(held.slug)).parts(documents)
    leases.register_parts(held.slug, parts)
    finish(run, RunState.UNCHANGED, f"{len(parts)} regions, each read by a task of its own.")


def _saying(say: Say, part: str) -> Say:
    return lambda step: say(f"{step} ({part})")


def scrape_file(
    slug: str,
    body: bytes,
    collected_at: datetime | None = None,
    say: Say = _quiet,
    file: Path = Path(),
) -> Summary:
    """Publish what a file holds, as if it had been fetched. Read again, it is no newer.

    Of several lists of one form, its name says which it stands in for (`Provider.source_of`).

    Raises
    ------
    Unreadable
        Its run says so too, and keeps the payload.
    """
    began, held = time.monotonic(), _by_hand(slug)
    at = collected_at or payloads.first_read(body) or _database_now()
    run = _begin(held, live=False)
    document = Document(provider_module(slug).PROVIDER.source_of(file), body, at)
    with Keeper(held), _accounted(run, held):
        _carry(run, held, [document], at, say)
    return summary_of(run, began)


def approve(slug: str, run_id: UUID, who: str, say: Say = _quiet) -> Summary:
    """Publish the very payload of a held run; once, since it is held no longer then.

    Raises
    ------
    NotHeld
    """
    began = time.monotonic()
    run = ScrapeRun.objects.filter(pk=run_id, provider=slug).first()
    if run is None:
        raise NotHeld(f"{slug} has no run {run_id}.")
    if run.state != RunState.HELD:
        raise NotHeld(f"Run {run_id} is {run.state}, not held: there is nothing to approve.")
    held = _by_hand(slug, run.part)
    try:
        with Keeper(held):
            say("reading")
            listed = read(_task(run, payloads.documents(run), _said_time(run)))
            say("publishing")
            run.approved_at, run.decided_by = _database_now(), who
            publish_ready(run, listed, held.epoch, approved=True)
            rulings.audit.info("%r let through run %s of %s: %s", who, run_id, slug, run.state)
    finally:
        leases.give_back(held)
    return summary_of(run, began)


def replay(run: ScrapeRun, say: Say = _quiet) -> Summary:
    """Read the kept payload of a run again, and publish what is understood today.

    It is as old as it was: where a newer list stands, nothing is published. It is a run of its own,
    and one that was held gives way to it.

    Raises
    ------
    NotKept
        The run ended before all its answers had come, or its payload has been let go.
    Unreadable
        It still cannot be read; its run says so too.
    """
    began, documents = time.monotonic(), payloads.documents(run)
    if not documents or run.collected_at is None:
        raise NotKept(f"Run {run.pk} of {run.provider_id} has no whole payload to read again.")
    held = _by_hand(run.provider_id, run.part)
    again = _begin(held, live=False, replay_of=run.replay_of or run)
    with Keeper(held), _accounted(again, held):
        _carry(again, held, documents, _said_time(run), say)
    if run.state == RunState.HELD and again.state != RunState.FAILED:
        waiting = ScrapeRun.objects.filter(pk=run.pk, state=RunState.HELD)
        waiting.update(state=RunState.SUPERSEDED.value, reason=f"Read again as run {again.pk}.")
    return summary_of(again, began)


def to_replay(*slugs: str) -> list[ScrapeRun]:
    """The newest lists of providers that were read, or that a fault kept from being read."""
    states = [RunState.PUBLISHED, RunState.UNCHANGED, RunState.FAILED]
    return rulings.newest_lists(slugs, states)


def _said_time(run: ScrapeRun) -> datetime | None:
    """The time that a file was given; what was fetched has its own."""
    return None if (run.replay_of or run).live else run.collected_at


def _by_hand(slug: str, part: str = "") -> Held:
    leases.register([provider_module(slug).PROVIDER])
    held = leases.take_by_hand(slug, part)
    if held is None:
        raise Busy(f"Another person is scraping {slug} now.")
    return held


# --- The steps --------------------------------------------------------------------------------


def _begin(held: Held, *, live: bool, replay_of: ScrapeRun | None = None) -> ScrapeRun:
    run = ScrapeRun(
        provider_id=held.slug,
        part=held.part,
        epoch=held.epoch,
        attempt=held.attempt,
        live=live,
        replay_of=replay_of,
        started_at=Now(),
    )
    run.save(force_insert=True)
    run.refresh_from_db()
    return run


def _fetched(run: ScrapeRun, say: Say) -> list[Document]:
    """All that the provider answers. Where that breaks off, what came so far is kept.

    A fetch that cannot go on from an answer of nothing is done: an empty list is for the gates.
    """
    documents: list[Document] = []
    try:
        for document in _fetch(run.provider_id, run.part, say):
            documents.append(document)  # noqa: PERF402 -- what came before it breaks off counts
    except (FetchFailed, Unreadable) as problem:
        bodies = [document.body for document in documents]
        if isinstance(problem, FetchFailed) or not is_nothing(bodies):
            payloads.keep(run, documents)
            raise
    return documents


def _fetch(slug: str, part: str, say: Say) -> Iterator[Document]:
    """The provider's answers, dated by the database's clock whatever ours says."""
    skew = _database_now() - datetime.now(UTC)
    off = abs(skew) > timedelta(seconds=2)
    module = provider_module(slug)
    own = module.PROVIDER
    with Http(
        stand_ins=stand_ins_from(os.environ),
        size=own.max_bytes,
        deadline=own.deadline,
        budget=own.budget,
    ) as http:
        answers = cast("InParts", module).fetch_part(http, part) if part else module.fetch(http)
        for number, document in enumerate(answers, 1):
            say(f"fetched {number} {'answer' if number == 1 else 'answers'}")
            at = document.fetched_at + skew if off else document.fetched_at
            yield replace(document, fetched_at=at)


def _carry(
    run: ScrapeRun, held: Held, documents: Sequence[Answer], at: datetime | None, say: Say
) -> None:
    """Keep, read and publish."""
    run.collected_at = at or max((d.fetched_at for d in documents), default=run.started_at)
    run.save(update_fields=["collected_at"])
    say("keeping the payload")
    payloads.keep(run, documents)
    say("reading")
    listed = read(_task(run, documents, at))
    run.collected_at = listed.newest or run.collected_at
    say("publishing")
    publish_ready(run, listed, held.epoch)


def _task(run: ScrapeRun, documents: Iterable[Answer], at: datetime | None) -> Task:
    """What the parser is asked of the documents of a run: by today's rates and rulings."""
    slug = run.provider_id
    answers = [(d.url, d.body, d.fetched_at) for d in documents]
    from_file = not (run.replay_of or run).live
    return Task(slug, answers, rates(), at, from_file, judgement(slug), run.part)


def judgement(slug: str) -> Judgement:
    """What people have decided of a provider's rows and words."""
    gpus = rulings.aliases(AliasKind.GPU, slug).items()
    return Judgement(
        rulings.accepted(slug),
        {alias_key(provider, words): gpu for (provider, words), gpu in gpus},
        rulings.aliases(AliasKind.REGION, slug),
    )


Outcome = list[Callable[[Held], None]]


@contextmanager
def _accounted(run: ScrapeRun, held: Held) -> Iterator[Outcome]:
    """However the block ends, the run says so, and the lease goes back by what it appended.

    A provider without its key is skipped, with a sentence that names it. A program error is a
    failed run too, and is raised on: the log has the trace.
    """
    outcome: Outcome = []
    after: Callable[[Held], None] = leases.failed if run.live else leases.give_back
    try:
        yield outcome
        after = outcome[0] if outcome else after
    except Fenced as problem:
        run.refresh_from_db()
        run.reason = run.reason or str(problem)
    except TryLater as problem:
        finish(run, RunState.FAILED, _sentence(problem))
        seconds = problem.after
        after = lambda lease: leases.later(lease, seconds)  # noqa: E731
    except MissingKey as problem:
        finish(run, RunState.SKIPPED, _sentence(problem))
        after = leases.skipped
    except (FetchFailed, ParserDied) as problem:
        finish(run, RunState.FAILED, _sentence(problem))
    except Unreadable as problem:
        finish(run, RunState.FAILED, _sentence(problem))
        if not run.live:
            raise
    except DatabaseError as problem:
        finish(run, RunState.FAILED, f"The database refused: {_sentence(problem)}")
    except Exception as problem:
        finish(run, RunState.FAILED, f"A fault of ours: {type(problem).__name__}: {problem}")
        log.exception("run %s of %s", run.pk, run.provider_id)
        raise
    finally:
        if run.state == RunState.FAILED:
            log.warning("%s: %s", run.provider_id, run.reason)
        after(held)


def _sentence(problem: Exception) -> str:
    return str(problem).strip().split("\n", maxsplit=1)[0][:500]


def rates() -> dict[str, Rate]:
    """The newest rate of each currency."""
    return {name: Rate(rate.usd_per_unit, rate.day) for name, rate in exchange.newest().items()}


def _database_now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("select clock_timestamp()")
        now: datetime = cursor.fetchone()[0]
    return now

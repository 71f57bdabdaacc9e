"""Who may scrape a provider now: one row a provider in Postgres, by the database's clock; of one
that is read in parts, one row a part besides.

A lease is taken with one UPDATE, lasts a minute and is renewed while the work goes on. Its `epoch`
rises with each holder and is checked in the publishing transaction, so whoever was frozen and
wakes up late writes nothing. What is due, and how often it was tried, stands here too: a queue
that is lost, doubled or shuffled changes nothing.
"""

# ruff: noqa: S608 -- only conditions of our own are written into SQL; every value is a parameter

import os
import random
import socket
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Self

from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper

from catalog.models import Lease, Provider
from scrapers.listing import Provider as Known

TTL = timedelta(seconds=60)
RENEW = 15.0  # [s]
ATTEMPTS = 3  # then the breaker opens
FIRST_WAIT = 30.0  # [s] after the first failure, four times as long after each
BREAKER = timedelta(minutes=15)  # then one try; twice as long after each that fails
LONGEST_BREAKER = timedelta(hours=6)
ASKED_TO_WAIT = 5  # times in a row that a server may say "later" before the breaker opens
A_TICK = 3  # scrapes started by one tick: after a long sleep not all come at once
APART = timedelta(seconds=20)  # of new parts, so that other providers have their turn
BY_HAND = "by hand"
LOST = "Its worker was lost, or overtaken."


@dataclass(frozen=True, slots=True)
class Held:
    """A lease that is ours as long as nobody has a higher epoch."""

    slug: str
    epoch: int
    attempt: int
    part: str = ""


def register(providers: Iterable[Known]) -> None:
    """A row for every provider that can be scraped; due at once where nothing more is needed."""
    known = list(providers)
    there = Provider.objects.filter(has_scraper=True)
    as_known = {p.slug: (p.interval, tuple(p.credentials), p.how) for p in there}
    Provider.objects.bulk_create(
        [_row(p) for p in known if as_known.get(p.slug) != (p.refresh, p.credentials, p.how)],
        update_conflicts=True,
        unique_fields=["slug"],
        update_fields=["interval", "credentials", "has_scraper", "how"],
    )
    Lease.objects.bulk_create([Lease(provider_id=p.slug) for p in known], ignore_conflicts=True)
    ready = [p.slug for p in known if all(os.environ.get(name) for name in p.credentials)]
    with connection.cursor() as cursor:
        cursor.execute(
            "update catalog_lease set due_at = clock_timestamp() "
            "where due_at is null and part = '' and provider_id = any(%s)",
            [ready],
        )


def _row(provider: Known) -> Provider:
    return Provider(
        slug=provider.slug,
        title=provider.title,
        homepage=provider.homepage,
        country=provider.home,
        source=provider.source,
        interval=provider.refresh,
        credentials=list(provider.credentials),
        how=provider.how,
        has_scraper=True,
    )


def register_parts(slug: str, parts: Sequence[str]) -> None:
    """A row for every part of a provider's list; new ones are due one after the other.

    A part that is named no more keeps its row: what became of it shows when it is read.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            """
            insert into catalog_lease (provider_id, part, epoch, owner, attempts, failures, due_at)
            select %s, part, 0, '', 0, 0, statement_timestamp() + (n - 1) * %s::interval
            from unnest(%s::text[]) with ordinality as named(part, n)
            on conflict (provider_id, part) do nothing
            """,
            [slug, str(APART), list(parts)],
        )


def take(slug: str, part: str = "") -> Held | None:
    """The lease of a provider that is due, or None: another has it, or it is not its time."""
    return _take(
        slug,
        part,
        f"{socket.gethostname()}:{os.getpid()}",
        "(expires_at is null or expires_at < clock_timestamp()) "
        "and due_at <= clock_timestamp() and attempts < %(attempts)s "
        "and coalesce(breaker_until <= clock_timestamp(), true)",
    )


def take_by_hand(slug: str, part: str = "", patience: float = 60.0) -> Held | None:
    """The lease at once, over the head of a worker (it will be refused); not of another person."""
    deadline = time.monotonic() + patience
    free = "(expires_at is null or expires_at < clock_timestamp() or owner not like %(by_hand)s)"
    owner = f"{BY_HAND}:{socket.gethostname()}:{os.getpid()}"
    while not (held := _take(slug, part, owner, free)):
        if time.monotonic() > deadline:
            return None
        time.sleep(0.2)
    return held


@transaction.atomic
def _take(slug: str, part: str, owner: str, condition: str) -> Held | None:
    with connection.cursor() as cursor:
        cursor.execute(
            "update catalog_lease set epoch = epoch + 1, owner = %(owner)s, "
            "attempts = attempts + 1, expires_at = clock_timestamp() + %(ttl)s::interval "
            f"where provider_id = %(slug)s and part = %(part)s and {condition} "
            "returning epoch, attempts",
            {
                "owner": owner,
                "ttl": str(TTL),
                "slug": slug,
                "part": part,
                "attempts": ATTEMPTS,
                "by_hand": f"{BY_HAND}%",
            },
        )
        row = cursor.fetchone()
        if row is None:
            return None
        _bury(cursor, "and r.provider_id = %s and r.part = %s", slug, part)  # our predecessor's
        epoch, attempt = row
        return Held(slug, epoch, attempt, part)


def _bury(cursor: CursorWrapper, condition: str, *values: str) -> None:
    """Runs whose worker no longer holds the lease are over."""
    cursor.execute(
        "update catalog_scraperun r set state = 'failed', reason = %s, "
        "finished_at = clock_timestamp() from catalog_lease l "
        "where l.provider_id = r.provider_id and l.part = r.part and r.state = 'running' "
        "and (l.epoch <> r.epoch "
        f"or l.expires_at is null or l.expires_at < clock_timestamp()) {condition}",
        [LOST, *values],
    )


def renew(held: Held) -> bool:
    """Keep it for another minute; False when it has gone to another."""
    with connection.cursor() as cursor:
        cursor.execute(
            "update catalog_lease set expires_at = clock_timestamp() + %s::interval "
            "where provider_id = %s and part = %s and epoch = %s",
            [str(TTL), held.slug, held.part, held.epoch],
        )
        return bool(cursor.rowcount)


class Keeper:
    """Renews a lease from a thread of its own while the block runs."""

    def __init__(self, held: Held) -> None:
        self._held = held
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep, name=f"lease {held.slug}", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _keep(self) -> None:
        """Until it is done, or the lease is another's. A database that is away may come back."""
        ours = True
        while ours and not self._done.wait(RENEW):
            with suppress(DatabaseError):
                ours = renew(self._held)
            connection.close()


# --- Giving it back ---------------------------------------------------------------------------


def done(held: Held) -> None:
    """It is read: due again after the provider's interval, however long ago it was due."""
    _release(
        held,
        "due_at = clock_timestamp() + (select interval from catalog_provider where slug = "
        "provider_id), attempts = 0, failures = 0, breaker_until = null",
    )


def give_back(held: Held) -> None:
    """Work by hand is over: what is due stays due."""
    _release(held, "attempts = 0")


def skipped(held: Held) -> None:
    """Its key is not set: due again when it is, which the tick sees (`register`)."""
    _release(held, "attempts = 0, failures = 0, due_at = null")


def later(held: Held, seconds: float) -> None:
    """The server asks to come back: that is no failed attempt, but not for ever either."""
    _release(
        held,
        "attempts = greatest(attempts - 1, 0), failures = failures + 1, "
        "due_at = clock_timestamp() + %(wait)s::interval, "
        "breaker_until = case when failures + 1 >= %(most)s "
        "then clock_timestamp() + greatest(%(breaker)s::interval, %(wait)s::interval) end",
        wait=str(timedelta(seconds=seconds)),
        most=ASKED_TO_WAIT,
        breaker=str(BREAKER),
    )


def failed(held: Held) -> None:
    """Try again after a wait that grows; after the last attempt the breaker opens."""
    spread = random.uniform(0.8, 1.2)  # noqa: S311 -- so that workers do not return in step
    wait = str(timedelta(seconds=FIRST_WAIT * 4 ** min(held.attempt - 1, 3) * spread))
    _release(held, _AFTER_FAILURE, **_breaker(), wait=wait)


# The breaker lets one attempt through when its time is over; each that fails doubles it.
_OPEN_FOR = """least(%(longest)s::interval, %(breaker)s::interval
    * power(2, least(greatest(failures + 1 - %(attempts)s, 0), 10)))"""
_LAST = "attempts >= %(attempts)s"
_AFTER_FAILURE = f"""failures = failures + 1,
    due_at = clock_timestamp() + case when {_LAST} then {_OPEN_FOR} else %(wait)s::interval end,
    breaker_until = case when {_LAST} then clock_timestamp() + {_OPEN_FOR} end,
    attempts = case when {_LAST} then %(attempts)s - 1 else attempts end"""


def _breaker() -> dict[str, str | int]:
    return {"attempts": ATTEMPTS, "breaker": str(BREAKER), "longest": str(LONGEST_BREAKER)}


def _release(held: Held, change: str, **values: str | int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"update catalog_lease set owner = '', expires_at = null, {change} "
            "where provider_id = %(slug)s and part = %(part)s and epoch = %(epoch)s",
            {**values, "slug": held.slug, "part": held.part, "epoch": held.epoch},
        )


# --- What the tick asks -----------------------------------------------------------------------


@transaction.atomic
def bury() -> None:
    """End the runs whose worker was lost; after the last attempt open the breaker."""
    with connection.cursor() as cursor:
        _bury(cursor, "")
        cursor.execute(
            f"update catalog_lease set owner = '', expires_at = null, {_AFTER_FAILURE} "
            "where expires_at < clock_timestamp() and attempts >= %(attempts)s",
            _breaker() | {"wait": "0"},
        )


def due(most: int = A_TICK) -> list[tuple[str, str]]:
    """The providers and parts to start now, the longest due first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select provider_id, part from catalog_lease where due_at <= clock_timestamp() "
            "and (expires_at is null or expires_at < clock_timestamp()) and attempts < %s "
            "and coalesce(breaker_until <= clock_timestamp(), true) "
            "order by due_at, provider_id, part limit %s",
            [ATTEMPTS, most],
        )
        return [(slug, part) for slug, part in cursor.fetchall()]

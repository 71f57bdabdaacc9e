"""Raw payloads: kept before anyone parses them, so that a parsing bug is replayed and fixed."""

import hashlib
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db import transaction

from catalog.models import RawPayload, RunPayload, ScrapeRun


class Answer(Protocol):
    """A document as `scrapers.listing.Document` has it."""

    @property
    def url(self) -> str: ...
    @property
    def body(self) -> bytes: ...
    @property
    def fetched_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Kept:
    """A document read back from the tables."""

    url: str
    body: bytes
    fetched_at: datetime


def digest(body: bytes) -> str:
    """The name that a payload is kept under."""
    return hashlib.sha256(body).hexdigest()


@transaction.atomic
def keep(run: ScrapeRun, answers: Iterable[Answer]) -> None:
    """Keep the documents of a run, all or none. The same bytes are stored once."""
    for position, answer in enumerate(answers):
        payload, _ = RawPayload.objects.get_or_create(
            sha256=digest(answer.body),
            defaults={
                "url": answer.url[:1000],
                "body": zlib.compress(answer.body, 6),
                "size": len(answer.body),
                "fetched_at": answer.fetched_at,
            },
        )
        RunPayload.objects.create(
            run=run,
            payload=payload,
            position=position,
            url=answer.url[:1000],
            fetched_at=answer.fetched_at,
        )


def documents(run: ScrapeRun) -> list[Kept]:
    """The documents of a run, in their order."""
    kept = run.documents.select_related("payload").order_by("position")
    return [Kept(d.url, body(d.payload), d.fetched_at) for d in kept]


def body(payload: RawPayload) -> bytes:
    """The bytes as they came.

    Raises
    ------
    ValueError
        They are not what their name says.
    """
    data = zlib.decompress(bytes(payload.body))
    if digest(data) != payload.sha256:
        raise ValueError(f"payload {payload.sha256} does not hash to its name")
    return data


def first_read(data: bytes) -> datetime | None:
    """When these very bytes were read first, if ever: reading them again makes them no newer."""
    known = RawPayload.objects.filter(sha256=digest(data)).values_list("fetched_at", flat=True)
    return known.first()

"""Raw payloads: kept before anyone parses them, so that a parsing bug is replayed and fixed."""

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Sequence
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


# --- A row of a document ----------------------------------------------------------------------

SEARCHED = 32 * 2**20  # [B] of a document that is parsed to show a row of it
SHOWN = 4000  # characters
_STEP = re.compile(r"\[([0-9]+)\]|([^.\[\]]+)")


def rows_at(run: ScrapeRun, places: Sequence[tuple[str, str]]) -> list[str]:
    """The rows at (url, place in its JSON), as text; empty where they cannot be found again."""
    wanted = {url for url, _ in places}
    bodies = [each for each in documents(run) if each.url in wanted] if wanted else []
    values = [(each.url, value) for each in bodies for value in _roots(each.body)]
    return [_row(values, url, where) for url, where in places]


def _roots(data: bytes) -> list[object]:
    """The JSON of a document; of a file that bundles several, each of them."""
    try:
        value = json.loads(data) if len(data) <= SEARCHED else None
    except (ValueError, RecursionError):
        return []
    bundled = value.get("documents") if isinstance(value, dict) else None
    return bundled if isinstance(bundled, list) else [value]


def _row(values: Sequence[tuple[str, object]], url: str, where: str) -> str:
    found = (_at(value, where) for at, value in values if at == url)
    row = next((row for row in found if row is not None), None)
    return "" if row is None else json.dumps(row, ensure_ascii=False)[:SHOWN]


def _at(value: object, where: str) -> object | None:
    """What stands at `data.offers[3]`, or None."""
    try:
        for number, name in _STEP.findall(where):
            value = value[int(number) if number else name]  # type: ignore[index]
    except (LookupError, TypeError):
        return None
    return value


# --- When it was read -------------------------------------------------------------------------


def first_read(data: bytes) -> datetime | None:
    """When these very bytes were read first, if ever: reading them again makes them no newer."""
    known = RawPayload.objects.filter(sha256=digest(data)).values_list("fetched_at", flat=True)
    return known.first()

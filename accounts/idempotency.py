"""`Idempotency-Key`: a request that is sent again is answered again, and done once.

As draft-ietf-httpapi-idempotency-key-header-07 has it. One line at a door that writes:

    @idempotent
    def post(self, request: Request) -> HttpResponse: ...

The key is the caller's own name for a request (1 to 255 visible ASCII characters), known for 24
hours among all requests of its user:

- the same key, door and body: the first answer again, with `Idempotency-Replayed: true`
- the same key with another door or body: 422, since it is a mistake that no repetition mends
- the same key while the first request is still under way: waits for it, or 409 with `Retry-After`

The door runs in one transaction with the note of its answer, so both are there or neither, and two
that arrive at once wait for each other in Postgres. An answer of 400 or more undoes all that the
door did and is not kept: the same key may try again. A door whose answer holds a secret
is `told_once` instead.
"""

import functools
import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Any

import psycopg
from django.db import OperationalError, connection, transaction
from django.db.models.functions import Now
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from rest_framework.request import Request

from accounts.models import KeptAnswer
from catalog.query import BadQuery
from catalog.replies import problem

HEADER = "Idempotency-Key"
KEY = re.compile(r"[\x21-\x7e]{1,255}")
KEPT = timedelta(hours=24)
KEPT_HEADERS = ("Content-Type", "ETag", "Location")
CLAIM = """
insert into accounts_keptanswer (user_id, key, fingerprint, headers, body)
values (%s, %s, %s, '{}', '')
on conflict (user_id, key) do update
    set fingerprint = excluded.fingerprint, status = null, created_at = statement_timestamp()
    where accounts_keptanswer.created_at < statement_timestamp() - %s::interval
returning id
"""
Door = Callable[..., HttpResponse]


class _Undone(Exception):
    """The door refused: what it wrote is taken back, and its answer given."""

    def __init__(self, answer: HttpResponse) -> None:
        self.answer = answer


def idempotent(door: Door) -> Door:
    """A method of a view that does the same request once, as above.

    Raises
    ------
    BadQuery
        Where the key is not of its form.
    """

    @functools.wraps(door)
    def once(view: object, request: Request, *arguments: Any, **named: Any) -> HttpResponse:
        key = request.headers.get(HEADER)
        owner = getattr(request.user, "pk", None)  # nobody is None, or a user without a row
        if key is None or owner is None:
            return door(view, request, *arguments, **named)
        if not KEY.fullmatch(key):
            raise BadQuery({HEADER: ["must be 1 to 255 visible ASCII characters."]})
        fingerprint = _fingerprint(request)
        try:
            with transaction.atomic():
                if claimed := _claim(owner, key, fingerprint):
                    answer = door(view, request, *arguments, **named)
                    _keep(claimed, answer)
                    return answer
        except _Undone as undone:
            return undone.answer
        except OperationalError as error:
            if isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                return _under_way()
            raise
        return _again(get_object_or_404(KeptAnswer, user=owner, key=key), fingerprint)

    return once


def told_once(door: Door) -> Door:
    """A method whose answer holds a secret, which is kept nowhere: it refuses such a key.

    Raises
    ------
    BadQuery
        Where there is one.
    """

    @functools.wraps(door)
    def refusing(view: object, request: Request, *arguments: Any, **named: Any) -> HttpResponse:
        if HEADER in request.headers:
            raise BadQuery({HEADER: ["cannot be used here: the secret is in one answer alone."]})
        return door(view, request, *arguments, **named)

    return refusing


def forget() -> int:
    """Let go of what was kept for its time; how many went."""
    return KeptAnswer.objects.filter(created_at__lt=Now() - KEPT).delete()[0]


def _fingerprint(request: Request) -> str:
    asked = json.dumps(request.data, sort_keys=True)
    return hashlib.sha256(
        f"{request.method} {request.get_full_path()} {asked}".encode()
    ).hexdigest()


def _claim(user: int, key: str, fingerprint: str) -> int | None:
    """A row of our own; None where the key is known. Waits while another transaction has it."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [user, key, fingerprint, str(KEPT)])
        row = cursor.fetchone()
    return row and int(row[0])


def _keep(claimed: int, answer: HttpResponse) -> None:
    if answer.status_code >= HTTPStatus.BAD_REQUEST:
        raise _Undone(answer)
    headers = {name: answer[name] for name in KEPT_HEADERS if name in answer}
    KeptAnswer.objects.filter(pk=claimed).update(
        status=answer.status_code, headers=headers, body=answer.content
    )


def _again(kept: KeptAnswer, fingerprint: str) -> HttpResponse:
    if kept.fingerprint != fingerprint:
        said = ["was used for another request within the last 24 hours: take a new one."]
        return problem(422, "key_reused", f"{HEADER} {said[0]}", {HEADER: said})
    answer = HttpResponse(bytes(kept.body), status=kept.status, headers=kept.headers)
    answer["Idempotency-Replayed"] = "true"
    return answer


def _under_way() -> HttpResponse:
    answer = problem(409, "under_way", "The first request with this key is still being done.")
    answer["Retry-After"] = "1"
    return answer

"""Two at once, in an order that locks give: a request that arrives while another is not over."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction

WAITS = """
select exists (
    select from pg_locks where not granted and pg_backend_pid() = any (pg_blocking_pids(pid))
)
"""


def meanwhile(write: Callable[[], Any], ask: Callable[[], Any]) -> Any:
    """What `ask` comes to, which begins when `write` is done and ends after it is committed.

    It is committed once the other waits for it, or has not waited at all.
    """
    answers: list[Any] = []

    def asking() -> None:
        try:
            answers.append(ask())
        finally:
            connection.close()

    other = threading.Thread(target=asking)
    with transaction.atomic():
        write()
        other.start()
        while other.is_alive() and not somebody_waits():
            other.join(0.01)
    other.join(20)
    (answer,) = answers
    return answer


def somebody_waits() -> bool:
    """Whether another waits for what this session holds."""
    with connection.cursor() as cursor:
        cursor.execute(WAITS)
        return bool(cursor.fetchone()[0])

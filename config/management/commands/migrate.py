"""`manage.py migrate`, beside readers: a lock is waited for shortly, and asked for again.

Who waits for a table's lock lets nobody read behind him. So a migration gives up after a second,
before a request does; what it did is taken back, readers go on, and it is tried again
(reference/reliability.md, F21).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import CommandError
from django.core.management.commands import migrate
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import LockNotAvailable

# An index of a large table may take its time; nobody waits for it.
FOR_THIS = {"lock_timeout": "1s", "statement_timeout": "0"}
PAUSE_S, PATIENCE_S = 1, 180


class Command(migrate.Command):
    """Django's, tried again while another holds what it must lock."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it.

        Raises
        ------
        CommandError
            Somebody reads the tables for longer than the patience: what is done stays done.
        """
        connection = connections[options["database"]]
        if connection.in_atomic_block:  # of the caller: nothing in it could be tried again
            super().handle(*args, **options)
            return
        until = time.monotonic() + PATIENCE_S
        with _settings_of_its_own(connection):
            while True:
                try:
                    super().handle(*args, **options)
                except OperationalError as error:
                    if not isinstance(error.__cause__, LockNotAvailable):
                        raise
                    if time.monotonic() > until:
                        raise CommandError(
                            f"A table has been in use for {PATIENCE_S} s: {str(error).strip()}. "
                            "What was done stays done; try again when its readers have ended."
                        ) from error
                else:
                    return
                self.stderr.write(f"a table is in use; again in {PAUSE_S} s…")
                time.sleep(PAUSE_S)


@contextmanager
def _settings_of_its_own(connection: BaseDatabaseWrapper) -> Iterator[None]:
    with connection.cursor() as cursor:
        for name, value in FOR_THIS.items():
            cursor.execute("select set_config(%s, %s, false)", [name, value])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            for name in FOR_THIS:
                cursor.execute(f"reset {name}")

"""A migration leaves the code of before running: old web processes live on beside new tables."""

from collections.abc import Iterator
from io import StringIO
from threading import Event, Thread

import pytest
from django.core.management import call_command
from django.db import connection, migrations, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations.base import Operation
from django.db.models import NOT_PROVIDED

OURS = ("accounts", "catalog", "comparisons", "measurements", "watches")
TAKING = (
    migrations.DeleteModel, migrations.RemoveField, migrations.RenameField, migrations.RenameModel,
    migrations.AlterModelTable,
)  # fmt: skip
BEFORE_THIS_RULE = {
    "catalog.0003_estimates_by_digest", "catalog.0008_rulings", "catalog.0010_lists_in_parts",
}  # fmt: skip


def later() -> Iterator[migrations.Migration]:
    """Every migration of ours but the first of each app, which finds no one at work."""
    for (app, name), migration in sorted(MigrationLoader(None).disk_migrations.items()):
        if app in OURS and not name.startswith("0001") and str(migration) not in BEFORE_THIS_RULE:
            yield migration


def on_the_tables(operations: list[Operation]) -> Iterator[Operation]:
    for each in operations:
        if isinstance(each, migrations.SeparateDatabaseAndState):
            yield from on_the_tables(each.database_operations)
        else:
            yield each


@pytest.mark.parametrize("migration", [*later()], ids=str)
def test_the_code_of_before_reads_and_writes_on(migration: migrations.Migration) -> None:
    for each in on_the_tables(migration.operations):
        assert not isinstance(each, TAKING), "what old code reads goes a release later"
        if isinstance(each, migrations.AddField) and not each.field.many_to_many:
            filled = each.field.null or each.field.db_default is not NOT_PROVIDED
            assert filled, f"old code writes rows without {each.name}"


class Told(StringIO):
    """What is said, and that something was."""

    def __init__(self) -> None:
        super().__init__()
        self.something = Event()

    def write(self, text: str) -> int:
        self.something.set()
        return super().write(text)


@pytest.mark.django_db(transaction=True)
def test_a_migration_gives_way_to_who_reads_and_is_tried_again() -> None:
    reads, told = Event(), Told()

    def read() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select from offer_listing")
            reads.set()
            assert told.something.wait(20)
        connection.close()

    reader = Thread(target=read)
    call_command("migrate", "catalog", "0020", verbosity=0)
    try:
        reader.start()
        assert reads.wait(10)
        call_command("migrate", verbosity=0, stderr=told)
    finally:
        reader.join()
        call_command("migrate", verbosity=0)
    assert told.getvalue() == "a table is in use; again in 1 s…\n"
    with connection.cursor() as cursor:
        cursor.execute(
            "select current_setting('lock_timeout'), current_setting('statement_timeout')"
        )
        assert cursor.fetchone() == ("5s", "1min")

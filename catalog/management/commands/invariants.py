"""`manage.py invariants`: whether what must hold after every fault holds."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from catalog.invariants import broken


class Command(BaseCommand):
    """After a restore, a crash or work by hand in the database."""

    help = "Look whether everything that must hold of the catalog holds; exits 1 where not."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Say that all holds, or how many rows break what.

        Raises
        ------
        CommandError
            Naming each that is broken.
        """
        if found := broken():
            raise CommandError("\n".join(f"{name}: {rows} rows" for name, rows in found.items()))
        self.stdout.write("All that must hold holds.")

"""`manage.py load_catalog`: the files of catalog/data/ into the tables."""

import time
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.facts import DATA, BadFact
from catalog.loading import load


class Command(BaseCommand):
    """Load the bundled catalog; skipped in milliseconds while the files are the same."""

    help = "Load catalog/data/*.csv: all of it, or, when a line is wrong, nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """--force, and for tests another folder."""
        parser.add_argument("--force", action="store_true", help="load it though it is the same")
        parser.add_argument("--from", dest="folder", type=Path, default=DATA, help="another folder")

    def handle(self, *_args: Any, **options: Any) -> None:
        """One sentence for a wrong line, exit 1, and what was loaded before stands."""
        began = time.monotonic()
        try:
            loaded = load(options["folder"], force=options["force"], say=self._say)
        except BadFact as problem:
            raise CommandError(f"{problem}. Nothing was loaded.") from None
        if loaded.skipped:
            self._say("the bundled catalog is loaded already (--force loads it again)")
            return
        c = loaded.counts
        self._say(
            f"loaded in {time.monotonic() - began:.1f} s: {c.new} offers new, {c.changed} changed, "
            f"{c.ended} ended, {c.unchanged} as before"
        )

    def _say(self, line: str) -> None:
        self.stdout.write(f"load_catalog: {line}")
        self.stdout.flush()

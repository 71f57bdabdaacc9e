"""`manage.py rates`: the European Central Bank's reference rates, by hand."""

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog import exchange
from scrapers import rates


class Command(BaseCommand):
    """Read the rates of the day, or of a file; or believe what looked too far from the last."""

    help = "Refresh the exchange rates. Exit 0 where they were taken or are no newer, else 1."

    def add_arguments(self, parser: CommandParser) -> None:
        """A file in the place of the network; and a person's word for a rate that jumped."""
        parser.add_argument("--from", dest="file", type=Path, help="a file instead of the network")
        parser.add_argument(
            "--believe", action="store_true", help="take rates that are far from the last too"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        """One sentence for what became of it."""
        believe = options["believe"]
        if path := options["file"]:
            try:
                body = path.read_bytes()
            except OSError as problem:
                reason = f"{path} cannot be read: {problem.strerror}."
                raise CommandError(reason, returncode=2) from None
            reading = rates.take(body, exchange.begin(), believe=believe)
        else:
            reading = rates.refresh(believe=believe)
        self.stdout.write(f"rates: {reading.state}. {reading.reason}".rstrip())
        if reading.state not in exchange.GOOD:
            sys.exit(1)

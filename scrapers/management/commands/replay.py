"""`manage.py replay [SLUG | RUN]`: kept payloads read again, with what is understood today."""

import json
import sys
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from catalog.models import RunState, ScrapeRun
from scrapers import errands, runs
from scrapers.registry import PROVIDERS

BAD = 2  # the exit code of a bad argument
GOOD = (RunState.PUBLISHED, RunState.UNCHANGED, RunState.SUPERSEDED)


class Command(BaseCommand):
    """Publish what a kept payload says by today's code, rulings and words, as of its own time."""

    help = (
        "Read kept payloads again: of one run, of a provider's newest list, or of every "
        "provider's. Nothing older ever replaces something newer. Exit 0, or 1 where a list is "
        "held or failed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What to read again."""
        parser.add_argument("what", nargs="?", help="a provider or a run; every provider if unsaid")
        parser.add_argument("--asked", action="store_true", help="what was asked for in the admin")
        parser.add_argument("--json", action="store_true", help="a JSON object a line")

    def handle(self, *_args: Any, **options: Any) -> None:
        """A line for each list."""
        if options["asked"]:
            for errand in errands.run():
                self.stdout.write(errand.outcome)
            return
        bad = False
        for run in _runs(options["what"]):
            try:
                summary = runs.replay(run)
            except runs.REFUSALS as problem:
                bad = True
                self.stderr.write(f"{run.provider_id}: {problem}")
                continue
            bad |= summary.state not in GOOD
            told = json.dumps(summary.as_dict()) if options["json"] else summary.told()
            self.stdout.write(told)
        if bad:
            sys.exit(1)


def _runs(what: str | None) -> list[ScrapeRun]:
    """The runs that a word names.

    Raises
    ------
    CommandError
        It names none.
    """
    if what is None:
        return runs.to_replay(*PROVIDERS)
    if what in PROVIDERS:
        if found := runs.to_replay(what):
            return found
        raise CommandError(f"No list of {what} is kept.")
    with suppress(ValueError):
        if found := list(ScrapeRun.objects.filter(pk=UUID(what))):
            return found
    known = ", ".join(PROVIDERS)
    message = f"{what[:60]!r} is neither a run nor a provider; there are {known}."
    raise CommandError(message, returncode=BAD)

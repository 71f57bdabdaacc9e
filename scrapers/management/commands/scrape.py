"""`manage.py scrape SLUG`: the whole arrow for one provider, by hand."""

import getpass
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from django.utils import timezone

from catalog.ingest import Fenced
from catalog.models import RunState
from scrapers import runs
from scrapers.fields import Unreadable
from scrapers.reading import ParserDied
from scrapers.registry import PROVIDERS
from scrapers.summary import Summary

BAD = 2  # the exit code of a bad argument and an unreadable file
GOOD = (RunState.PUBLISHED, RunState.UNCHANGED, RunState.SKIPPED)
LARGEST = 256 * 2**20  # [B]
STEPS = ("fetched", "keeping", "reading", "publishing")


class Command(BaseCommand):
    """Fetch, keep, read and publish one provider; or what a file holds; or a held run."""

    help = "Scrape one provider into the catalog. Exit 0, or 1 where the list is held or failed."

    def add_arguments(self, parser: CommandParser) -> None:
        """The options of DESIGN 6."""
        parser.add_argument("slug", help="a provider; `python -m scrapers list` names them")
        parser.add_argument("--from", dest="file", type=Path, help="a file instead of the network")
        parser.add_argument("--json", action="store_true", help="the summary as one JSON object")
        parser.add_argument("--collected-at", help="when the file was collected (ISO 8601)")
        parser.add_argument("--approve", metavar="RUN", help="publish a run that a gate has held")

    def handle(self, *_args: Any, **options: Any) -> None:
        """One sentence for whatever goes wrong, never a traceback."""
        slug = options["slug"]
        if slug not in PROVIDERS:
            raise CommandError(
                f"There is no provider {slug[:60]!r}; there are {', '.join(PROVIDERS)}.",
                returncode=BAD,
            )
        bar = Bar(slug, shown=sys.stderr.isatty())
        try:
            summary = self._run(slug, options, bar)
        except runs.NotHeld as problem:
            raise CommandError(str(problem)) from None
        except Unreadable as problem:
            said = str(problem).rstrip(".")
            message = f"{options['file']} cannot be read: {said}. The last data stand."
            raise CommandError(message, returncode=BAD) from None
        except (runs.Busy, Fenced, ParserDied) as problem:
            raise CommandError(str(problem)) from None
        except DatabaseError as problem:
            first = str(problem).strip().split("\n", maxsplit=1)[0]
            raise CommandError(f"The database refused: {first}") from None
        finally:
            bar.close()
        self.stdout.write(json.dumps(summary.as_dict()) if options["json"] else summary.told())
        if summary.state not in GOOD:
            sys.exit(1)

    def _run(self, slug: str, options: dict[str, Any], bar: "Bar") -> Summary:
        at = _moment(options["collected_at"])
        if options["approve"]:
            return runs.approve(slug, run_id(options["approve"]), shell_user(), bar.say)
        if options["file"]:
            return runs.scrape_file(slug, _body(options["file"]), at, bar.say, options["file"])
        if at:
            raise CommandError("--collected-at goes with --from.", returncode=BAD)
        return runs.scrape_now(slug, bar.say)


def _body(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            body = stream.read(LARGEST + 1)
    except OSError as problem:
        raise CommandError(f"{path} cannot be read: {problem.strerror}.", returncode=BAD) from None
    if len(body) > LARGEST:
        raise CommandError(f"{path} is larger than {LARGEST // 2**20} MB.", returncode=BAD)
    return body


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        message = f"--collected-at: {text[:40]!r} is not a time like 2026-11-29T12:00:00Z."
        raise CommandError(message, returncode=BAD) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    if at > timezone.now() + timedelta(minutes=5):
        raise CommandError(f"--collected-at: {text} lies in the future.", returncode=BAD)
    return at


def run_id(text: str) -> UUID:
    """The name of a run."""
    try:
        return UUID(text)
    except ValueError:
        raise CommandError(f"--approve: {text[:60]!r} is no run.", returncode=BAD) from None


def shell_user() -> str:
    """Who types, for the record."""
    return f"{getpass.getuser()} (shell)"


class Bar:
    """A progress bar on a terminal; elsewhere, nothing."""

    def __init__(self, slug: str, *, shown: bool) -> None:
        self._slug = slug
        self._shown = shown

    def say(self, step: str) -> None:
        """Show how far the run has come."""
        if self._shown:
            done = next((n for n, word in enumerate(STEPS, 1) if step.startswith(word)), 0)
            bar = ("█" * done).ljust(len(STEPS), "░")
            sys.stderr.write(f"\r\x1b[K{self._slug} {bar} {step}…")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave the line to what comes after."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")

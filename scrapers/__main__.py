"""`python -m scrapers`: what a payload or a listing's text says, without a database.

    parse SLUG FILE           one document of the provider, or {"documents": [...], "context": {}},
                              with the bundled facts of the types it names
    parse --text SLUG TEXT    a listing as people paste it, or a table of them; `why` has a
                              sentence a field: which piece of the text, or which rule
    parse --text --explain SLUG TEXT    the same sentences alone, to read
    list                      every provider that is scraped

One JSON object a line. Exit 0 if the input could be read at all, else 2 and one sentence.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from catalog.records import OfferRecord, Rejected
from scrapers.bundle import unpack
from scrapers.known_types import facts_of
from scrapers.lines import offer_line
from scrapers.listing import Document, Provider, Unreadable
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS, UnknownProvider, provider_module
from scrapers.text import read_text

OK, BAD_INPUT = 0, 2
LARGEST = 256 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    asked = _command_line().parse_args(arguments)
    try:
        for line in _lines(asked):
            print(_explained(line) if asked.explain else json.dumps(line, default=str))
    except BrokenPipeError:
        sys.stderr.close()
    except (Unreadable, UnknownProvider, OSError) as problem:
        print(f"{asked.command}: {problem}", file=sys.stderr)
        return BAD_INPUT
    return OK


def _command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scrapers", description=__doc__)
    parser.set_defaults(explain=False)
    commands = parser.add_subparsers(dest="command", required=True)
    parse = commands.add_parser("parse", help="what a payload or a text says, a line an offer")
    parse.add_argument("slug")
    parse.add_argument("file", nargs="?", help="a payload; - reads standard input")
    parse.add_argument("--text", action="store_true", help="FILE is the listing's own text")
    parse.add_argument("--explain", action="store_true", help="with --text: the reasons, to read")
    commands.add_parser("list", help="every provider that is scraped")
    return parser


def _lines(asked: argparse.Namespace) -> Iterator[dict[str, object]]:
    if asked.command == "list":
        return (_listed(provider) for provider in PROVIDERS.values())
    if asked.file is None:
        raise Unreadable("a FILE is needed, or --text and a text")
    if asked.explain and not asked.text:
        raise Unreadable("--explain goes with --text")
    if asked.text:
        return read_text(asked.slug, asked.file)
    return iter(_parsed(asked.slug, asked.file))


def _explained(line: dict[str, object]) -> str:
    """What was made of one listing, a sentence a field, in letters that any terminal shows."""
    sentences = [*_sequence(line.get("why")), *(f"mind: {w}" for w in _sequence(line["warnings"]))]
    text = "\n  ".join([f"{line['provider']} / {line['instance_type']}", *sentences])
    return text.encode("ascii", "backslashreplace").decode("ascii") if not _unicode() else text


def _sequence(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _unicode() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"


def _listed(provider: Provider) -> dict[str, object]:
    return {
        "slug": provider.slug,
        "title": provider.title,
        "needs_credentials": bool(provider.credentials),
        "credentials": list(provider.credentials),
        "refresh_hours": provider.refresh.total_seconds() / 3600,
        "source": provider.source,
    }


def _parsed(slug: str, file: str) -> list[dict[str, object]]:
    provider = provider_module(slug).PROVIDER
    bundle = unpack(Document(provider.source_of(Path(file)), _body(file), datetime.now(UTC)))
    result = offers(provider, bundle.documents, bundle.rates, bundle.collected_at)
    for reason, rows in sorted(result.ignored.items()):
        print(f"ignored: {rows} rows: {reason}", file=sys.stderr)
    return [_line(row) for row in result]


def _line(row: OfferRecord | Rejected) -> dict[str, object]:
    if isinstance(row, Rejected):
        return {"kind": "rejected", "reason": row.reason, "where": row.where}
    return offer_line(row, facts_of(row.provider, row.instance_type))


def _body(file: str) -> bytes:
    with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
        body = stream.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise Unreadable(f"the file is larger than {LARGEST // 2**20} MB")
    return body


if __name__ == "__main__":
    sys.exit(main())

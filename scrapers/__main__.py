"""`python -m scrapers`: what a payload or a listing's text says, without a database.

    parse SLUG FILE           one document of the provider, or {"documents": [...], "context": {}}
    parse --text SLUG TEXT    one listing as people paste it
    list                      every provider that is scraped

One JSON object a line. Exit 0 if the input could be read at all, else 2 and one sentence.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path

from catalog.records import OfferRecord, Rejected
from scrapers.fields import BadField, Row, Unfit, read_json
from scrapers.lines import offer_line
from scrapers.listing import Document, Provider, Unreadable
from scrapers.normalise import Rate, offers
from scrapers.registry import PROVIDERS, UnknownProvider, provider_module
from scrapers.text import read_text

OK, BAD_INPUT = 0, 2
LARGEST = 256 * 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code."""
    asked = _command_line().parse_args(arguments)
    try:
        for line in _lines(asked):
            print(json.dumps(line, ensure_ascii=True, default=str))
    except BrokenPipeError:
        sys.stderr.close()
    except (Unreadable, UnknownProvider, BadField, OSError) as problem:
        print(f"{asked.command}: {problem}", file=sys.stderr)
        return BAD_INPUT
    return OK


def _command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m scrapers", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    parse = commands.add_parser("parse", help="what a payload or a text says, a line an offer")
    parse.add_argument("slug")
    parse.add_argument("file", nargs="?", help="a payload; - reads standard input")
    parse.add_argument("--text", action="store_true", help="FILE is the listing's own text")
    commands.add_parser("list", help="every provider that is scraped")
    return parser


def _lines(asked: argparse.Namespace) -> Iterator[dict[str, object]]:
    if asked.command == "list":
        return (_listed(provider) for provider in PROVIDERS.values())
    if asked.file is None:
        raise Unreadable("a FILE is needed, or --text and a text")
    if asked.text:
        return read_text(asked.slug, asked.file)
    return iter(_parsed(asked.slug, asked.file))


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
    documents, context = _documents(provider, _body(file))
    at = _collected_at(context)
    result = offers(provider, documents, _rates(context), at)
    for reason, rows in sorted(result.ignored.items()):
        print(f"ignored: {rows} rows: {reason}", file=sys.stderr)
    return [_line(row) for row in result]


def _line(row: OfferRecord | Rejected) -> dict[str, object]:
    if isinstance(row, Rejected):
        return {"kind": "rejected", "reason": row.reason, "where": row.where}
    return offer_line(row)


def _body(file: str) -> bytes:
    with sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
        body = stream.read(LARGEST + 1)
    if len(body) > LARGEST:
        raise Unreadable(f"the file is larger than {LARGEST // 2**20} MB")
    return body


# --- Documents and their context --------------------------------------------------------------


def _documents(provider: Provider, body: bytes) -> tuple[list[Document], Row]:
    """One document, or those of a bundle with its context."""
    now = datetime.now(UTC)
    try:
        value = read_json(body)
    except Unreadable:
        if body.lstrip()[:1] in (b"{", b"["):
            raise
        return [Document(provider.source, body, now)], Row({}, "context")  # CSV, HTML: its own
    if isinstance(value, Unfit):
        raise Unreadable(f"the file: {value.reason}")
    if isinstance(value, dict) and isinstance(value.get("documents"), list):
        context = Row(value, "").row("context") or Row({}, "context")
        bundled = value["documents"]
        return [Document(provider.source, b"", now, document) for document in bundled], context
    return [Document(provider.source, body, now, value)], Row({}, "context")


def _collected_at(context: Row) -> datetime | None:
    text = context.text("collected_at")
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        context.fail("collected_at", f"{text[:40]!r} is not a time like 2026-11-29T12:00:00Z")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _rates(context: Row) -> dict[str, Rate]:
    """{"EUR": 1.1} or {"EUR": {"usd": "1.1", "date": "2026-11-29"}}: US$ for one."""
    rates = context.row("rates") or Row({}, "context.rates")
    return {currency.upper(): _rate(rates, currency) for currency in rates.fields}


def _rate(rates: Row, currency: str) -> Rate:
    day = datetime.now(UTC).date()
    if isinstance(rates.get(currency), dict):
        rate = Row(rates.get(currency), f"{rates.where}.{currency}")
        usd, day = rate.written("usd"), _day(rate, "date") or day
    else:
        usd = rates.written(currency)
    if usd is None or not Decimal("1e-6") < usd < Decimal("1e4"):
        rates.fail(currency, "is not a rate in US$")
    return Rate(usd, day)


def _day(row: Row, name: str) -> date | None:
    text = row.text(name)
    try:
        return None if text is None else date.fromisoformat(text[:10])
    except (ValueError, InvalidOperation):
        row.fail(name, f"{text[:40] if text else ''!r} is not a date")


if __name__ == "__main__":
    sys.exit(main())

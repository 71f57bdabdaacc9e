"""What a file holds that stands in for a fetch: one document, or several with their context.

`{"documents": [...], "context": {"collected_at": ..., "rates": {"EUR": 1.1}}}`, or any one answer
of the provider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal

from scrapers.fields import BadField, Row, Unfit, Unreadable, read_json
from scrapers.listing import Document
from scrapers.normalise import Rate


@dataclass(frozen=True, slots=True)
class Bundle:
    """Documents, when they were collected, and the rates that hold for them."""

    documents: Sequence[Document]
    collected_at: datetime | None = None
    rates: Mapping[str, Rate] = field(default_factory=dict)


def unpack(document: Document) -> Bundle:
    """The documents of a file.

    Raises
    ------
    Unreadable
        It looks like JSON and is none, or its context is wrong.
    """
    try:
        value = read_json(document.body)
    except Unreadable:
        if document.body.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"["):
            raise
        return Bundle([document])  # CSV or HTML: the provider's own
    if isinstance(value, Unfit):
        raise Unreadable(f"the file: {value.reason}")
    if not isinstance(value, dict) or not isinstance(value.get("documents"), list):
        return Bundle([document])
    documents = [
        Document(document.url, b"", document.fetched_at, item) for item in value["documents"]
    ]
    try:
        context = Row(value, "").row("context") or Row({}, "context")
        return Bundle(documents, _collected_at(context), _rates(context))
    except BadField as problem:
        raise Unreadable(str(problem)) from None


def _collected_at(context: Row) -> datetime | None:
    text = context.text("collected_at")
    return None if text is None else moment(text, context)


def moment(text: str, context: Row) -> datetime:
    """A time as people write it; without a zone it is UTC."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        context.fail("collected_at", f"{text[:40]!r} is not a time like 2026-11-29T12:00:00Z")
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _rates(context: Row) -> dict[str, Rate]:
    rates = context.row("rates") or Row({}, "context.rates")
    return {currency.upper(): _rate(rates, currency) for currency in rates.fields}


def _rate(rates: Row, currency: str) -> Rate:
    day: date | None = datetime.now(UTC).date()
    if isinstance(rates.get(currency), dict):
        rate = Row(rates.get(currency), f"{rates.where}.{currency}")
        usd, said = rate.written("usd"), rate.text("date")
        try:
            day = date.fromisoformat(said) if said else day
        except ValueError:
            rate.fail("date", "is not a date like 2026-11-29")
    else:
        usd = rates.written(currency)
    if usd is None or day is None or not Decimal("1e-6") < usd < Decimal("1e4"):
        rates.fail(currency, "is not a rate in US$")
    return Rate(usd, day)

"""Recorded payloads as documents, and what is made of them."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from catalog.records import Fact, Normalised, OfferRecord
from scrapers.listing import Document
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS

PAYLOADS = Path(__file__).parent.parent / "payloads"
SHARED = Path(__file__).parents[3] / "shared"
FETCHED = datetime(2026, 11, 29, 12, tzinfo=UTC)


def document(value: object, url: str = "https://provider.example/list") -> Document:
    """A document that says `value`."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return Document(url, body, FETCHED)


def recorded(name: str) -> Document:
    """One recorded answer, of whatever kind: tests/payloads/<name>.json, .html or .csv."""
    return document(recording(name).read_bytes(), f"https://{name}.example/list")


def recording(name: str) -> Path:
    """The file of a recorded answer."""
    kinds = ("json", "html", "csv")
    found = [place for kind in kinds if (place := PAYLOADS / f"{name}.{kind}").exists()]
    assert len(found) == 1, f"one of tests/payloads/{name}.{{{','.join(kinds)}}}"
    return found[0]


def parsed(slug: str, *values: object, **rates: object) -> Normalised:
    """The offers in documents that say `values`."""
    return offers(PROVIDERS[slug], [document(value) for value in values], rates)  # type: ignore[arg-type]


def shared(path: str) -> Path:
    """A file of the data at hand; the test skips where it is not there."""
    place = SHARED / path
    if not place.exists():
        pytest.skip(f"{path} is not at hand")
    return place


def one(result: Normalised, instance: str, model: str = "on_demand") -> OfferRecord:
    """The one offer of a type under a price model."""
    found = [o for o in result.offers if (o.instance_type, o.price_model) == (instance, model)]
    assert len(found) == 1, [o.identity for o in result.offers]
    return found[0]


def fact(offer: OfferRecord, attribute: str) -> Fact:
    """What an offer says of one attribute."""
    return next(fact for fact in offer.facts if fact.attribute == attribute)


def reasons(result: Normalised) -> dict[str, str]:
    """Where → why, of all that was rejected."""
    return {row.where: row.reason for row in result.rejected}

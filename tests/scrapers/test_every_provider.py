"""What holds for every provider, on its recorded payload."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from recorded import document, recorded, recording

from catalog.facts import ATTRIBUTES, gpus
from catalog.records import OFFER_KEYS, Normalised
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS

NULL_IS_EMPTY = {"hotaisle"}
LATER = datetime(2026, 11, 30, tzinfo=UTC)


@pytest.fixture(params=sorted(PROVIDERS))
def slug(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def result(slug: str) -> Normalised:
    return offers(PROVIDERS[slug], [recorded(slug)], {})


def test_it_has_offers_and_each_is_unique(result):
    identities = [offer.identity for offer in result.offers]
    assert identities
    assert len(set(identities)) == len(identities)


def test_prices_are_above_0_or_null_with_a_note(result):
    for offer in result.offers:
        if offer.native_amount is None:
            assert offer.price_note
        else:
            assert offer.native_amount > 0
            assert offer.native_currency
            assert offer.native_currency.isupper()


def test_gpus_are_of_the_list_or_candidates_are_or_it_is_said(result):
    for offer in result.offers:
        named = [f.value for f in offer.facts if f.attribute == "gpu"]
        assert set(named) | set(offer.gpu_candidates) <= set(gpus())
        assert named or offer.gpu_candidates or offer.warnings


def test_facts_have_a_source_a_day_and_a_known_attribute(result):
    for offer in result.offers:
        for fact in offer.facts:
            assert fact.attribute in ATTRIBUTES
            assert fact.source
            assert fact.checked
            assert fact.subject == offer.subject


def test_rejected_rows_say_why_and_where(result):
    assert all(row.reason and row.where for row in result.rejected)


def test_a_line_has_every_key_and_only_json(result):
    for offer in result.offers:
        line = offer_line(offer)
        assert set(line) == {"kind", *OFFER_KEYS}
        assert json.loads(json.dumps(line)) == line
        for name in ("usd_per_hour", "usd_per_gpu_hour", "native_amount", "usd_rate"):
            assert line[name] is None or isinstance(line[name], str)


def test_it_is_pure(slug):
    twice = [offers(PROVIDERS[slug], [recorded(slug)], {}, LATER) for _ in range(2)]
    assert twice[0] == twice[1]
    assert all(offer.collected_at == LATER for offer in twice[0].offers)


def test_the_order_of_rows_does_not_matter(slug):
    payload = payload_of(slug)
    ways = [offers(PROVIDERS[slug], [document(w)], {}) for w in (payload, turned(payload))]
    prices = [{o.identity: o.native_amount for o in way.offers} for way in ways]
    assert prices[0] == prices[1]
    assert ways[0].rows == ways[1].rows


def payload_of(slug: str) -> object:
    """The recorded payload as JSON; what comes as a page or a table has tests of its own."""
    place = recording(slug)
    if place.suffix != ".json":
        pytest.skip(f"{slug} answers in {place.suffix}")
    return json.loads(place.read_bytes())


def turned(value: object) -> object:
    """The same with each list of objects, and each object's keys, from the end."""
    if isinstance(value, dict):
        return {name: turned(item) for name, item in reversed(value.items())}
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        return [turned(item) for item in reversed(value)]
    return value


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"{}", b"[", b"<html>", b'"x"', b"0", b"\xff", b"[" * 50_000],
)
def test_what_is_not_its_list_is_unreadable(slug, body):
    if body == b"null" and slug in NULL_IS_EMPTY:
        pytest.skip(f"{slug} answers null where nothing is free")
    with pytest.raises(Unreadable):
        offers(PROVIDERS[slug], [document(body)], {})


JUNK = [None, True, -1, 0, 10**30, 1.5, "", "x" * 5000, "\u202e", "NaN", [], {}, [[]], {"a": []}]


Rows = dict[int | str, dict[str, object]]


@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_junk_in_any_field_spoils_no_other_row(slug, junk):
    """Each field of the first row in turn: the row goes or stays, the others all stay."""
    whole = payload_of(slug)
    container = rows_of(whole)
    first = 0 if isinstance(container, list) else next(iter(container))
    row, others = container[first], len(container) - 1
    usual = offers(PROVIDERS[slug], [document(whole)], {}).rows
    for field in row:
        container[first] = row | {field: junk}
        result = offers(PROVIDERS[slug], [document(whole)], {})
        assert result.rows >= min(usual, others + 1)
        assert all(rejected.where for rejected in result.rejected)
    container[first] = row


def rows_of(value: object) -> Rows:
    """The longest list of objects that is not inside another, or the longest table of them."""
    found = sorted(_tables(value), key=len)
    assert found, "no rows in the payload"
    return found[-1]


def _tables(value: object) -> Iterator[Rows]:
    items = list(value.values() if isinstance(value, dict) else value)
    if len(items) > 1 and all(isinstance(item, dict) for item in items):
        yield value
        return
    for item in items:
        if isinstance(item, dict | list):
            yield from _tables(item)

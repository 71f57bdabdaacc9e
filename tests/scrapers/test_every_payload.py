"""Payloads that hurt, over every provider: nothing lost, nothing wrong accepted, always a reason.

What is done to a recorded answer keeps its meaning (rows turned, repeated, a BOM), and then so must
the offers; or it destroys some of it, and then each row is as it was, or refused with a reason.
"""

import codecs
import json
import random
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from recorded import PAYLOADS, document, recording

from catalog.records import Normalised
from catalog.sieve import sieve
from scrapers.__main__ import main
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS

SLUGS = sorted(PROVIDERS)
IN_JSON = [slug for slug in SLUGS if recording(slug).suffix == ".json"]
TABLES = [slug for slug in SLUGS if recording(slug).suffix == ".csv"] + ["aws"]
PAGES = [slug for slug in SLUGS if recording(slug).suffix == ".html"]
FEW = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
Path_ = tuple[str | int, ...]


def read(slug: str, body: bytes) -> Normalised | None:
    """What is made of a body; None where it cannot be read at all, with a reason."""
    try:
        found = offers(PROVIDERS[slug], [document(body)], {})
    except Unreadable as problem:
        return None if str(problem) else pytest.fail("no reason")
    for row in found.rejected:
        assert row.reason
        assert row.where
    for offer in found.offers:
        amount = offer.native_amount
        assert amount is None or (amount.is_finite() and amount > 0)
        json.dumps(offer_line(offer), allow_nan=False)
    identities = [offer.identity for offer in found.offers]
    assert len(set(identities)) == len(identities)
    assert all(row.reason for row in sieve(found).rejected)
    return found


def prices(found: Normalised | None) -> dict[object, object]:
    return {} if found is None else {o.identity: o.native_amount for o in found.offers}


def assert_as_before(found: Normalised | None, usual: Normalised) -> None:
    """Every price is that of before, or says in a warning or a rejected row what it lacks."""
    before = {offer.identity: offer for offer in usual.offers}
    for offer in found.offers if found else ():
        known = before.get(offer.identity)
        if known and offer.native_amount not in (None, known.native_amount):
            assert found.rejected or set(offer.warnings) - set(known.warnings)


def table_of(slug: str) -> bytes:
    return (PAYLOADS / "aws_region.csv" if slug == "aws" else recording(slug)).read_bytes()


def value_of(slug: str) -> Any:
    return json.loads(recording(slug).read_bytes())


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


def leaves(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """The place of everything that has nothing inside."""
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for name, item in inside:
        if isinstance(item, dict | list) and item:
            yield from leaves(item, (*at, name))
        else:
            yield (*at, name)


def at(value: Any, path: Path_) -> Any:
    for step in path:
        value = value[step]
    return value


def with_leaf(value: Any, path: Path_, leaf: Any) -> Any:
    changed = deepcopy(value)
    at(changed, path[:-1])[path[-1]] = leaf
    return changed


def lists_of_rows(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        yield value
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list):
            yield from lists_of_rows(item)


# --- What keeps the meaning -------------------------------------------------------------------


@pytest.mark.parametrize("slug", IN_JSON)
@pytest.mark.parametrize("seed", range(3))
def test_rows_in_any_order_are_the_same_offers(slug: str, seed: int) -> None:
    value, usual = value_of(slug), read(slug, recording(slug).read_bytes())
    order = random.Random(seed)
    for rows in lists_of_rows(value):
        order.shuffle(rows)
    found = read(slug, dumped(value))
    assert prices(found) == prices(usual)
    assert (found.rows, found.partial) == (usual.rows, usual.partial)


@pytest.mark.parametrize("slug", IN_JSON)
def test_rows_given_twice_are_the_same_offers(slug: str) -> None:
    value, usual = value_of(slug), read(slug, recording(slug).read_bytes())
    longest = max(lists_of_rows(value), key=len, default=None)
    if longest is None:
        pytest.skip("its rows are no list")
    longest += deepcopy(longest)
    assert prices(read(slug, dumped(value))) == prices(usual)


@pytest.mark.parametrize("slug", TABLES)
def test_lines_given_twice_or_turned_are_the_same_offers(slug: str) -> None:
    body = table_of(slug)
    lines = body.splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if line.startswith((b'"SKU"', b"InstanceType")))
    head, rows = lines[: start + 1], lines[start + 1 :]
    for other in (rows + rows, rows[::-1]):
        assert prices(read(slug, b"".join(head + other))) == prices(read(slug, body))


@pytest.mark.parametrize("slug", SLUGS)
def test_a_byte_order_mark_and_white_space_change_nothing(slug: str) -> None:
    body = recording(slug).read_bytes()
    assert prices(read(slug, codecs.BOM_UTF8 + body)) == prices(read(slug, body))
    if slug in IN_JSON:
        spaced = json.dumps(json.loads(body), indent=3, ensure_ascii=False).encode()
        assert prices(read(slug, b"\r\n\t " + spaced + b"\n\n")) == prices(read(slug, body))


# --- What destroys some of it ------------------------------------------------------------------


@pytest.mark.parametrize("slug", SLUGS)
@pytest.mark.parametrize("coding", ["utf-16", "utf-16-le", "utf-32", "cp037", "utf-7"])
def test_another_encoding_is_unreadable_or_says_the_same(slug: str, coding: str) -> None:
    body = recording(slug).read_bytes()
    found = read(slug, body.decode().encode(coding))
    assert found is None or prices(found) == prices(read(slug, body))


@pytest.mark.parametrize("slug", SLUGS)
def test_half_a_letter_is_unreadable(slug: str) -> None:
    body = recording(slug).read_bytes()
    middle = len(body) // 2
    assert read(slug, body[:middle] + b"\xe9" + body[middle:]) is None


@pytest.mark.parametrize("name", [*SLUGS, "aws_region"])
@FEW
@given(share=st.floats(0, 0.999))
def test_a_list_cut_anywhere_is_unreadable_or_says_that_it_is_not_whole(
    name: str, share: float
) -> None:
    slug, body = name.removesuffix("_region"), recording(name).read_bytes().rstrip()
    usual = prices(read(slug, body + b"\n"))
    found = read(slug, body[: int(len(body) * share)])
    if found is not None:
        assert found.partial or prices(found) == usual
        assert prices(found).items() <= usual.items()


@pytest.mark.parametrize("slug", IN_JSON)
@FEW
@given(data=st.data())
def test_a_key_given_twice_spoils_at_most_its_row(slug: str, data: st.DataObject) -> None:
    """The second price would win in most readers."""
    value, usual = value_of(slug), read(slug, recording(slug).read_bytes())
    paths = [p for p in leaves(value) if isinstance(p[-1], str)]
    path = data.draw(st.sampled_from(paths))
    mark = "a key that no provider has"
    inside = at(value, path[:-1])
    inside[mark] = 1
    body = dumped(value).replace(json.dumps(mark).encode(), json.dumps(path[-1]).encode())
    assert_as_before(read(slug, body), usual)


NOT_NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "9" * 400, "1e1000000"]


@pytest.mark.parametrize("slug", IN_JSON)
@FEW
@given(data=st.data())
def test_what_is_no_number_is_never_a_price(slug: str, data: st.DataObject) -> None:
    value, usual = value_of(slug), read(slug, recording(slug).read_bytes())
    path = data.draw(st.sampled_from(list(leaves(value))))
    mark = json.dumps("where the number stands").encode()
    body = dumped(with_leaf(value, path, json.loads(mark)))
    found = read(slug, body.replace(mark, data.draw(st.sampled_from(NOT_NUMBERS)).encode()))
    of_before = set(prices(usual).values())
    assert set(prices(found).values()) <= of_before | {None}


@pytest.mark.parametrize("slug", IN_JSON)
@FEW
@given(data=st.data())
def test_a_number_in_quotes_is_the_same_number_or_refused(slug: str, data: st.DataObject) -> None:
    value, usual = value_of(slug), read(slug, recording(slug).read_bytes())
    numbers = [p for p in leaves(value) if type(at(value, p)) in (int, float)]
    if not numbers:
        pytest.skip("it writes no numbers")
    path = data.draw(st.sampled_from(numbers))
    assert_as_before(read(slug, dumped(with_leaf(value, path, str(at(value, path))))), usual)


JUNK = st.one_of(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False),
    st.text(st.characters(codec=None, categories=None), max_size=30),
    st.sampled_from(
        [
            "\0", "a\0b", "\ud800", "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>',
            "\u202egnp.exe", "\x1b[31m", "\r\nSet-Cookie: a=b", "=HYPERLINK(1)", "{{7*7}}",
            "1" * 100_000, " " * 100_000, "(" * 100_000, "１２", "1,5", "0x10", "1_000", "+-1",
        ]
    ),
    st.lists(st.none(), max_size=2) | st.dictionaries(st.text(max_size=3), st.none(), max_size=2),
    st.integers(1, 400).map(lambda depth: nested(depth)),  # noqa: PLW0108 -- defined below
)  # fmt: skip


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("slug", IN_JSON)
@FEW
@given(data=st.data())
def test_anything_anywhere_is_taken_or_refused_with_a_reason(
    slug: str, data: st.DataObject
) -> None:
    value = value_of(slug)
    for _ in range(data.draw(st.integers(1, 3))):
        value = with_leaf(value, data.draw(st.sampled_from(list(leaves(value)))), data.draw(JUNK))
    found = read(slug, dumped(value))
    for offer in found.offers if found else ():
        words = [offer.instance_type, offer.region, offer.tier, *offer.warnings]
        text = "".join(word for word in words if word)
        assert not {"\0", "\x1b", "\r", "\n", "\u202e", "\ud800"} & set(text)


@pytest.mark.parametrize("slug", TABLES + PAGES)
@FEW
@given(data=st.data())
def test_bytes_anywhere_in_a_page_or_table_do_no_harm(slug: str, data: st.DataObject) -> None:
    body = table_of(slug)
    place = data.draw(st.integers(0, len(body)))
    read(slug, body[:place] + data.draw(st.binary(max_size=20)) + body[place + 3 :])


# --- Through the command ----------------------------------------------------------------------


def hurt(slug: str) -> Iterator[bytes]:
    """A body of each kind."""
    body = recording(slug).read_bytes()
    yield from (b"", b"\0", b"[" * 100_000, b"9" * 5000, b"\xff\xfe", b"{}", b"<html><table>")
    yield from (body[: len(body) // 2], body + body, body.decode().encode("utf-16"))
    yield body.replace(b'"', b'"\\u0000', 41)
    yield from (b'{"documents": ' + inside + b"}" for inside in (b"[]", b"[null]", b"[[]]", b"3"))
    yield b'{"documents": [%s], "context": {"rates": {"EUR": 1e400}}}' % b"{}"


@pytest.mark.parametrize("slug", SLUGS)
def test_the_command_ends_with_0_or_with_2_and_a_sentence(
    slug: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "answer"
    for body in hurt(slug):
        place.write_bytes(body)
        code = main(["parse", slug, str(place)])
        said = capsys.readouterr()
        assert code in (0, 2)
        assert "Traceback" not in said.err
        if code == 2:
            assert said.out == ""
            assert said.err.startswith("parse: ")
            assert said.err.count("\n") == 1
        for line in said.out.splitlines():
            assert json.loads(line)["kind"] in ("offer", "rejected")

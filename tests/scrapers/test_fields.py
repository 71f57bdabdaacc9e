"""A stranger's JSON: bad numbers, bad text, bad shapes; each spoils its own row at most."""

import json
import time
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.records import Rejected
from scrapers.fields import SHOWN, BadField, Row, Unfit, Unreadable, each, read_json, visible


def test_floats_are_decimals_as_written():
    assert read_json(b"[0.1, 1e3, 7]") == [Decimal("0.1"), Decimal("1e3"), 7]


@pytest.mark.parametrize(
    "number",
    ["1e1000000", "1E+99999", "-1e-1000000", "9" * 5000, "0." + "1" * 5000, "NaN", "-Infinity"],
)
def test_a_number_out_of_bounds_is_never_made(number):
    started = time.perf_counter()
    value = read_json(f'{{"a": {number}, "b": 1}}'.encode())
    assert time.perf_counter() - started < 0.05
    assert isinstance(value, dict)
    assert isinstance(value["a"], Unfit)
    assert Row(value, "row").number("b") == 1
    with pytest.raises(BadField, match=r"row\.a: "):
        Row(value, "row").number("a")


@pytest.mark.parametrize("text", [r"a\u0000b", r"\ud800", r"x\udfff", r"\uDC00\uD800"])
def test_nul_and_half_characters_are_unfit(text):
    value = read_json(f'[{{"a": "{text}", "b": "fine"}}]'.encode())
    row = Row(value[0], "[0]")  # type: ignore[index]
    assert row.text("b") == "fine"
    with pytest.raises(BadField, match="NUL or half a character"):
        row.text("a")


def test_a_whole_pair_of_surrogates_is_a_character():
    assert read_json(rb'["\ud83d\ude00"]') == ["\U0001f600"]


def test_a_key_given_twice_spoils_its_own_object():
    value = read_json(b'[{"a": 1, "a": 2}, {"a": 3}]')
    assert [isinstance(item, Unfit) for item in value] == [True, False]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"  ", b"{", b'{"a": 1', b"<html>login</html>", b"\xff\xfe\x00", b"[1,]", b"nope",
        b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b"\x00",
    ],
)  # fmt: skip
def test_what_is_no_json_is_unreadable_in_one_sentence(body):
    with pytest.raises(Unreadable) as problem:
        read_json(body)
    assert len(str(problem.value)) < 200


def test_deep_bad_text_is_read_or_unreadable():
    for depth in (50, 400, 900):
        with suppress(Unreadable):
            read_json(b"[" * depth + rb'"\u0000"' + b"]" * depth)


def test_types_are_kept_apart():
    row = Row(read_json(b'{"t": "8", "n": 8, "f": true, "e": "", "z": null, "x": "8x"}'), "r")
    assert (row.text("t"), row.number("n"), row.flag("f")) == ("8", 8, True)
    assert (row.text("e"), row.number("z"), row.flag("none")) == (None, None, None)
    assert row.number("e") is None  # empty text is no price, not a fault of the row
    assert row.written("t") == 8
    for wrong in (
        lambda: row.number("t"),
        lambda: row.number("f"),
        lambda: row.text("n"),
        lambda: row.flag("n"),
        lambda: row.written("x"),
        lambda: row.rows("t"),
        lambda: row.need_text("e"),
        lambda: row.need_number("none"),
    ):
        with pytest.raises(BadField):
            wrong()


def test_words_of_a_list_are_all_texts():
    row = Row({"a": ["x", " y "], "b": ["x", 7], "c": [None], "d": "x", "e": None}, "r")
    assert (row.texts("a"), row.texts("e"), row.texts("none")) == (["x", "y"], [], [])
    for name, where in (("b", "r.b[1]"), ("c", "r.c[0]"), ("d", "r.d")):
        with pytest.raises(BadField) as problem:
            row.texts(name)
        assert problem.value.where == where


def test_a_long_text_is_refused_and_an_invisible_one_cleaned():
    with pytest.raises(BadField, match="longer than"):
        Row({"a": "x" * 5000}, "r").text("a")
    assert visible(" H\u200b100\u202e \t SXM\x07 ") == "H100 SXM"


def test_one_row_that_breaks_does_not_break_the_next():
    def read(row: Row) -> list[Decimal]:
        number = row.need_number("n")
        return [1 / number]

    rows = [Row({"n": n}, f"rows[{i}]") for i, n in enumerate([2, 0, "x", 4])]
    read_rows = list(each(rows, read))
    assert [type(item) for item in read_rows] == [Decimal, Rejected, Rejected, Decimal]
    assert [item.where for item in read_rows if isinstance(item, Rejected)] == [
        "rows[1]",
        "rows[2].n",
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(codec=None, categories=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
@settings(max_examples=60, deadline=None)
def test_whatever_json_says_is_read_or_unreadable(value):
    row = Row(read_json(json.dumps({"a": value}).encode()), "r")
    for read in (row.text, row.number, row.flag, row.written, row.rows, row.row):
        with suppress(BadField):
            read("a")
    assert len(row.shown) <= SHOWN


@given(st.binary(max_size=200))
@settings(max_examples=60, deadline=None)
def test_whatever_bytes_come_nothing_but_unreadable_is_raised(body):
    try:
        read_json(body)
    except Unreadable:
        return

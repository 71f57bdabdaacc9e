"""What is written as text for COPY stands in the table as it was."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from django.db import connection, transaction

from catalog.staging import copy_text, stage_text

COLUMNS = {
    "word": "text",
    "words": "text[]",
    "amount": "numeric",
    "hours": "double precision",
    "there": "boolean",
    "day": "date",
    "at": "timestamptz",
}
WORDS = [
    "",
    " ",
    "NULL",
    r"\N",
    r"\.",
    "a\tb\nc\rd",
    '"\\',
    "{,}",
    "\\\\n",
    "日本",
    "\u2028",
    "\x1b",
]
NOTHING = dict.fromkeys(COLUMNS)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "said",
    [
        *({"word": word} for word in WORDS),
        {"words": tuple(WORDS)},
        {"words": ()},
        {"amount": Decimal("12.340"), "hours": 0.1, "there": True},
        {"amount": Decimal("1E+3"), "hours": 1e-300, "there": False},
        {"day": date(2026, 2, 1), "at": datetime(2026, 11, 23, 12, 0, 0, 7, tzinfo=UTC)},
        {},
    ],
)
def test_a_value_comes_through_copy_as_it_is(said: dict[str, object]) -> None:
    row = tuple((NOTHING | said).values())
    with transaction.atomic(), connection.cursor() as cursor:
        stage_text(cursor, "taken", COLUMNS, copy_text([row]))
        cursor.execute("select * from taken")
        assert [tuple(tuple(v) if isinstance(v, list) else v for v in cursor.fetchone())] == [row]


@pytest.mark.django_db
def test_rows_come_in_blocks_and_in_order() -> None:
    rows = [(n, "1", n % 2 == 1) for n in range(5001)]
    with transaction.atomic(), connection.cursor() as cursor:
        columns = {"n": "integer", "word": "text", "odd": "boolean"}
        stage_text(cursor, "taken", columns, copy_text(rows))
        cursor.execute("select * from taken order by ctid")
        assert cursor.fetchall() == rows

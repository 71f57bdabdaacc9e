"""Check constraints in one line each. An unknown (null) passes every check of SQL, as it should."""

from enum import StrEnum

from django.db.models import CheckConstraint, Q


def one_of(table: str, column: str, words: type[StrEnum]) -> CheckConstraint:
    """The column holds a word of `words`, or null."""
    return CheckConstraint(
        condition=Q(**{f"{column}__in": [word.value for word in words]}),
        name=f"{table}_{column}_is_known",
    )


def positive(table: str, *columns: str) -> list[CheckConstraint]:
    """Each column is above zero, or null. NaN and infinity are greater than any bound: refused."""
    return [between(table, column, 0, 1e15, low_included=False) for column in columns]


def between(
    table: str, column: str, low: float, high: float, *, low_included: bool = True
) -> CheckConstraint:
    """The column lies in the range, or is null."""
    above = "gte" if low_included else "gt"
    return CheckConstraint(
        condition=Q(**{f"{column}__{above}": low, f"{column}__lte": high}),
        name=f"{table}_{column}_range",
    )

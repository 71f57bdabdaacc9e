"""Reading a stranger's JSON: one bad field spoils its own row, never the rest, and never us.

Numbers are bounded by their digits and exponent before they are made (9 characters, `1e1000000`,
cost minutes of CPU otherwise); a key given twice, NUL and lone surrogates are refused. What is
unfit becomes an `Unfit` in its place, and the row that needs it is rejected by path and reason.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Never, TypeVar

from catalog.records import Rejected

DIGITS = 40
EXPONENT = 30
TEXT = 400
SHOWN = 4000  # characters of a row, as the quarantine keeps them

T = TypeVar("T")


class Unreadable(ValueError):
    """A document that cannot be read at all, in one sentence."""


@dataclass(frozen=True, slots=True)
class Unfit:
    """Stands where a value was that must not be used, and says why."""

    reason: str
    said: object = None  # what stood there, to be shown


class BadField(ValueError):
    """What is wrong with one field, and where it stands."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.where = where
        self.reason = reason


# --- A body -----------------------------------------------------------------------------------


def read_json(body: bytes) -> object:
    """The value of a JSON body, every float a Decimal.

    Raises
    ------
    Unreadable
        Not UTF-8, not JSON, or nested too deeply.
    """
    if not body.strip():
        raise Unreadable("the answer is empty")
    try:
        text = body.decode("utf-8-sig")
        value = json.loads(
            text,
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=lambda word: Unfit(f"{word} is not a number"),
            object_pairs_hook=_object,
        )
        return _without_unfit_text(value) if _SUSPECT.search(text) else value
    except UnicodeDecodeError:
        raise Unreadable("the answer is not UTF-8") from None
    except RecursionError:
        raise Unreadable("the answer is nested too deeply") from None
    except ValueError as problem:
        raise Unreadable(f"the answer is not JSON: {_sentence(text, problem)}") from None


def _sentence(text: str, problem: ValueError) -> str:
    start = text.lstrip()[:1]
    return "it is a page of HTML" if start == "<" else str(problem)[:120]


def _integer(digits: str) -> int | Unfit:
    if len(digits) > DIGITS:
        return Unfit(f"a number of {len(digits)} digits is out of bounds")
    return int(digits)


def _decimal(written: str) -> Decimal | Unfit:
    mantissa, _, exponent = written.lower().partition("e")
    if len(mantissa) > DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > EXPONENT:
        return Unfit("a number out of bounds")
    return Decimal(written)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object] | Unfit:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        return Unfit(f"the key {twice[:40]!r} is given twice", pairs)
    return fields


# NUL, and surrogates: json.loads joins pairs, so that any left over stands alone.
_SUSPECT = re.compile(r"\\u0000|\\u[dD][89a-fA-F]")
_UNFIT_TEXT = re.compile("[\x00\ud800-\udfff]")


def _without_unfit_text(value: object) -> object:
    """The same value, with Unfit for each string that no database takes."""
    if isinstance(value, str):
        return Unfit("holds a NUL or half a character") if _UNFIT_TEXT.search(value) else value
    if isinstance(value, list):
        return [_without_unfit_text(item) for item in value]
    if isinstance(value, dict):
        if any(_UNFIT_TEXT.search(name) for name in value):
            return Unfit("a key holds a NUL or half a character", list(value.items()))
        return {name: _without_unfit_text(item) for name, item in value.items()}
    return value


# --- A row ------------------------------------------------------------------------------------


class Row:
    """One object of a payload and its place there. Absent, null and empty text are None."""

    __slots__ = ("_value", "where")

    def __init__(self, value: object, where: str) -> None:
        self._value = value
        self.where = where

    def fail(self, name: str, reason: str) -> Never:
        raise BadField(f"{self.where}.{name}" if self.where else name, reason)

    @property
    def fields(self) -> dict[str, object]:
        value = self._value
        if type(value) is dict:
            return value
        raise BadField(self.where, value.reason if isinstance(value, Unfit) else "is not an object")

    def get(self, name: str) -> object:
        """The value of a field, whatever it is."""
        value = (self._value if type(self._value) is dict else self.fields).get(name)
        if type(value) is Unfit:
            self.fail(name, value.reason)
        return value

    def text(self, name: str) -> str | None:
        """Trimmed, without invisible characters."""
        value = self._value.get(name) if type(self._value) is dict else None
        if type(value) is str and len(value) <= TEXT:  # as nearly all are
            return visible(value) or None
        value = self.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            self.fail(name, f"{_shown(value, 40)} is not text")
        if len(value) > TEXT:
            self.fail(name, f"is longer than {TEXT} characters")
        return visible(value) or None

    def number(self, name: str) -> Decimal | None:
        """A JSON number; text that looks like one is not one: see `written`."""
        value = self.get(name)
        if value is None or value == "":  # not stated; a price that is not stated is not sold so
            return None
        if isinstance(value, bool) or not isinstance(value, int | Decimal):
            self.fail(name, f"{_shown(value, 40)} is not a number")
        return Decimal(value)

    def written(self, name: str) -> Decimal | None:
        """A number that this provider writes as text: "8", "0.75"."""
        value = self.get(name)
        if not isinstance(value, str):
            return self.number(name)
        digits = value.strip()
        if not digits:
            return None
        if len(digits) > DIGITS or not _PLAIN.fullmatch(digits):
            self.fail(name, f"{digits[:40]!r} is not a number")
        return Decimal(digits)

    def flag(self, name: str) -> bool | None:
        value = self.get(name)
        if value is not None and not isinstance(value, bool):
            self.fail(name, f"{_shown(value, 40)} is neither true nor false")
        return value

    def rows(self, name: str) -> list["Row"]:
        """The objects of a list."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(name, "is not a list")
        place = f"{self.where}.{name}" if self.where else name
        return [Row(item, f"{place}[{n}]") for n, item in enumerate(value)]

    def texts(self, name: str) -> list[str]:
        """The words of a list; one that is no text spoils the row."""
        value = self.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fail(name, "is not a list")
        places = [f"{name}[{n}]" for n in range(len(value))]
        words = Row(dict(zip(places, value, strict=True)), self.where)
        return [words.need_text(place) for place in places]

    def row(self, name: str) -> "Row | None":
        value = self.get(name)
        if value is None:
            return None
        return Row(value, f"{self.where}.{name}" if self.where else name)

    def need_text(self, name: str) -> str:
        return self._needed(name, self.text(name))

    def need_number(self, name: str) -> Decimal:
        return self._needed(name, self.number(name))

    def _needed(self, name: str, value: T | None) -> T:
        if value is None:
            self.fail(name, "is missing")
        return value

    @property
    def is_object(self) -> bool:
        return isinstance(self._value, dict)

    @property
    def shown(self) -> str:
        """The row as JSON, cut short, for the quarantine."""
        return _shown(self._value, SHOWN)


_PLAIN = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?")


@lru_cache(2**14)  # a list says the same words in row after row
def visible(text: str) -> str:
    """Trimmed, its control and invisible characters gone, its spaces single."""
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    kept = "".join(
        " " if kind == "Cc" else "" if kind in ("Cf", "Cs", "Co", "Cn") else letter
        for letter in text
        if (kind := unicodedata.category(letter))
    )
    return " ".join(kept.split())


def _shown(value: object, limit: int) -> str:
    try:
        text = json.dumps(value, default=_written, ensure_ascii=True)
    except (RecursionError, ValueError, TypeError):
        return "(a row that cannot be shown)"
    return text[:limit]


def _written(value: object) -> object:
    """A number as it was written, where a float says the same."""
    if isinstance(value, Decimal) and Decimal(repr(float(value))) == value:
        return float(value)
    if isinstance(value, Unfit) and value.said is not None:
        return value.said
    return str(value)


def each(rows: Iterable[Row], read: Callable[[Row], Iterable[T]]) -> Iterator[T | Rejected]:
    """What `read` makes of each row; a row it cannot read is rejected, and the next one read."""
    for row in rows:
        try:
            yield from list(read(row))
        except BadField as problem:
            yield Rejected(problem.reason, problem.where, row.shown, nameless=not row.is_object)
        except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as problem:
            reason = f"cannot be read: {type(problem).__name__}: {str(problem)[:120]}"
            yield Rejected(reason, row.where, row.shown)

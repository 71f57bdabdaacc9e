"""One query string, read: every value checked, and all that is wrong with it said at once.

A reader turns text into a value or raises ValueError saying what it must be; `Reading` applies
readers to parameters and collects what they say. Nothing here knows which parameters there are.
"""

import difflib
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time
from enum import StrEnum
from typing import TypeVar

from django.http import QueryDict

from catalog.facts import gpus
from catalog.models import Provider

CONTINENTS = ("africa", "asia", "europe", "north-america", "oceania", "south-america")
NUMBER = re.compile(r"\d{1,9}(\.\d{1,6})?", re.ASCII)  # bounded before it is read
SLUG = re.compile(r"[\w][\w.:()+/ -]{0,79}", re.ASCII)
PAGE_SIZE, LARGEST_PAGE = 50, 500
MOST_VALUES = 1_000  # of one list: more than there are GPUs, regions or columns to name
MOST_NAMED = 20  # of what is wrong in one place: an answer is no larger than what it answers


TOO_LONG = f"must be a list of at most {MOST_VALUES} values."

T = TypeVar("T")


class Format(StrEnum):
    """How the rows of a list are written."""

    JSON = "json"
    CSV = "csv"
    NDJSON = "ndjson"


class BadQuery(ValueError):
    """A query that cannot be answered: for each parameter, what it must be."""

    def __init__(self, fields: Mapping[str, Sequence[str]]) -> None:
        super().__init__("; ".join(f"{name}: {' '.join(said)}" for name, said in fields.items()))
        self.fields = {name: list(said) for name, said in fields.items()}


class Contradicts(BadQuery):
    """What may be said, and not of what stands: a 409."""


def strangers(given: Iterable[object], known: Collection[object]) -> list[str]:
    """The first few names that are none of the known ones, each cut short."""
    found = (str(name)[:80] for name in given if name not in known)
    return list(itertools.islice(found, MOST_NAMED))


def no_keys(given: Iterable[object], known: Collection[str]) -> dict[str, list[str]]:
    """What to say of the keys of a body that are none; of the first, which there are."""
    there = f" There are: {', '.join(known)}." if known else " There is none here."
    names = strangers(given, known)
    return {name: ["is not a key." + ("" if place else there)] for place, name in enumerate(names)}


# --- How one value is read: text in, a value for SQL out, or ValueError saying what it must be ---


def number(text: str) -> str:
    """A decimal, kept as the text that it is."""
    if not NUMBER.fullmatch(text):
        raise ValueError("must be a number like 8 or 2.50, at most 9 digits before the point.")
    return text


def truth(text: str) -> bool:
    """`true` or `false`."""
    if text not in {"true", "false"}:
        raise ValueError("must be true or false.")
    return text == "true"


def slug(text: str) -> str:
    """A name: letters, digits and a few signs."""
    if not SLUG.fullmatch(text):
        raise ValueError("must be a name of letters, digits and . : ( ) + / - _")
    return text


def name(text: str) -> str:
    """A name in its owner's own words."""
    if len(text) > 200:
        raise ValueError("must be at most 200 characters of text.")
    return text


def country(text: str) -> str:
    """Two capital letters, as ISO 3166 has them."""
    if not re.fullmatch(r"[A-Z]{2}", text):
        raise ValueError("must be two capital letters, like US or JP.")
    return text


def provider(text: str) -> str:
    """A provider of the catalog."""
    if not Provider.objects.filter(slug=slug(text)).exists():
        known = sorted(Provider.objects.values_list("slug", flat=True))
        raise ValueError(f"{text[:80]!r} is not a provider. There are: {', '.join(known)}.")
    return text


def words(text: str) -> list[str]:
    """Free text to look for, in small letters, word by word."""
    if len(text) > 200:
        raise ValueError("must be at most 200 characters of text.")
    return text.lower().split()


def gpu(text: str) -> str:
    """The slug of a GPU SKU of the catalog."""
    if text not in gpus():
        near = difflib.get_close_matches(text, gpus(), n=3, cutoff=0.4)
        if not near:
            raise ValueError(f"{text[:80]!r} is not a GPU, nor is any near it.")
        raise ValueError(f"{text[:80]!r} is not a GPU; near it are {', '.join(near)}.")
    return text


def one_of(allowed: Iterable[str]) -> Callable[[str], str]:
    """One word of a closed list."""
    choices = tuple(str(word) for word in allowed)

    def read(text: str) -> str:
        if text not in choices:
            raise ValueError(f"{text[:80]!r} is none of: {', '.join(choices)}.")
        return text

    read.choices = choices  # type: ignore[attr-defined] # for the schema
    return read


def moment(text: str) -> datetime:
    """A day (its last moment) or an ISO time; UTC where no zone is given."""
    try:
        if len(text) == 10:
            return datetime.combine(date.fromisoformat(text), time.max, tzinfo=UTC)
        read = datetime.fromisoformat(text)
        # Python knows zones a day away; Postgres only those of up to 16 hours.
        return read.astimezone(UTC) if read.tzinfo else read.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date or time like 2026-11-29 or 2026-11-29T12:00Z.") from None


def past(text: str) -> datetime:
    """The same, of a day that has begun: of the future nobody knows anything."""
    at = moment(text)
    if at.date() > datetime.now(UTC).date():
        raise ValueError("must not be in the future.")
    return at


def words_of_a_cursor(text: str) -> str:
    """A cursor as it was given out; its content is checked where it is used."""
    if len(text) > 2000 or not re.fullmatch(r"[\w.:-]+", text, re.ASCII):
        raise ValueError("is not a cursor of this service.")
    return text


# --- The reading ------------------------------------------------------------------------------


class Reading:
    """One pass over a query string that collects everything that is wrong with it."""

    def __init__(self, query: QueryDict) -> None:
        self.query = query
        self.known: set[str] = set()
        self.wrong: dict[str, list[str]] = {}

    def one(self, name: str, read: Callable[[str], T]) -> T | None:
        """A parameter that is given once at most. None where absent, empty or wrong."""
        given = [text for text in self._given(name) if text]
        if len(given) > 1:
            self.wrong[name] = ["is given more than once, and takes one value."]
        return self._checked(name, given[0], read) if len(given) == 1 else None

    def many(self, name: str, read: Callable[[str], T]) -> tuple[T, ...]:
        """A list: commas and repetition, their union, in the order given."""
        texts = [text for given in self._given(name) if given for text in given.split(",")]
        if "" in texts:
            self.wrong.setdefault(name, []).append("is a list with an empty place.")
            return ()
        if len(texts) > MOST_VALUES:
            self.wrong.setdefault(name, []).append(TOO_LONG)
            return ()
        values = [
            self._checked(name, text, read)
            for text in dict.fromkeys(texts)
            if len(self.wrong.get(name, ())) < MOST_NAMED
        ]
        return tuple(value for value in values if value is not None)

    def page_size(self) -> int:
        """1 to 500."""
        return self.one("page_size", _page_size) or PAGE_SIZE

    def sort(self, fields: Iterable[str]) -> tuple[tuple[str, bool], ...]:
        """`field,-field` as (field, descending). A minus turns it; the first mention counts."""
        allowed = one_of(fields)

        def read(text: str) -> tuple[str, bool]:
            name = text.removeprefix("-")
            return allowed(name), text != name

        first: dict[str, bool] = {}
        for name, down in self.many("sort", read):
            first.setdefault(name, down)
        return tuple(first.items())

    def asks_for_all(self) -> bool:
        """Whether `page_size` is `all`."""
        return [text for text in self._given("page_size") if text] == ["all"]

    def asked(self, *, but: Iterable[str] = ()) -> list[tuple[str, list[str]]]:
        """The parameters and their values, in one order whatever theirs was."""
        return sorted((name, given) for name, given in self.query.lists() if name not in but)

    def finish(self, also: Iterable[str]) -> None:
        """Raises BadQuery where anything was wrong, or where a parameter has no meaning here."""
        known = sorted(self.known | set(also))
        there = f"There are: {', '.join(known)}." if known else "There is none here."
        for name in strangers(sorted(self.query), known):
            self.wrong[name] = [f"is not a parameter. {there}"]
        if self.wrong:
            raise BadQuery(self.wrong)

    def _given(self, name: str) -> list[str]:
        self.known.add(name)
        return self.query.getlist(name)

    def _checked(self, name: str, text: str, read: Callable[[str], T]) -> T | None:
        try:
            return read(_readable(text))
        except ValueError as problem:
            self.wrong.setdefault(name, []).append(str(problem))
            return None


def _readable(text: str) -> str:
    if "\x00" in text:
        raise ValueError("holds a NUL character.")
    if "\ufffd" in text:  # what Django reads where bytes are no UTF-8
        raise ValueError("holds bytes that are no text.")
    return text


def _page_size(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,2}", text, re.ASCII) or int(text) > LARGEST_PAGE:
        raise ValueError(f"must be a whole number from 1 to {LARGEST_PAGE}, or all.")
    return int(text)

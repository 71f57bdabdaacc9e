"""Reading a mapping that came from outside: every value is checked and every error names its field.

The one exception of the package lives here. Its message is one sentence that a person can act on,
and it is all that the command line prints.
"""

import difflib
import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path

MAX_FILE_BYTES = 1_000_000  # a cluster or a job is a page of text


class FieldError(ValueError):
    """A field of the input that cannot be used; `field` is its name."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class Fields:
    """A mapping being read: each getter takes one field, and `finish` rejects what is left.

    None, an absent key and an empty string all mean unknown. What is `typed`, as JSON is, has
    numbers and truths of its own: there no text stands for one, and an empty one for nothing.
    """

    def __init__(
        self, given: Mapping[str, object], where: str = "", *, typed: bool = False
    ) -> None:
        if not isinstance(given, Mapping):
            raise FieldError(where or "input", "must be a table of named fields")
        self._given = {str(key): value for key, value in given.items()}
        self._where = f"{where}." if where else ""
        self.typed = typed
        self._unknown = (None,) if typed else (None, "")
        self._known: list[str] = []

    def name(self, field: str) -> str:
        """The field as the user wrote it, with the table that it is in."""
        return self._where + field

    def has(self, field: str) -> bool:
        """True where the field is given and not null."""
        return self._given.get(field) not in self._unknown

    def raw(self, field: str) -> object:
        """The value as given, or None."""
        self._known.append(field)
        value = self._given.get(field)
        return None if value in self._unknown else value

    def number(self, field: str, low: float, high: float) -> float | None:
        """A finite number in [low, high], or None where unknown."""
        value = self.raw(field)
        if value is None:
            return None
        numbers = (int, float, Decimal) if self.typed else (int, float, Decimal, str)
        if isinstance(value, bool) or not isinstance(value, numbers):
            raise FieldError(self.name(field), f"must be a number, not {shown(value)}.")
        try:
            number = float(value) + 0.0  # -0.0 is 0.0
        except (ValueError, OverflowError):
            raise FieldError(self.name(field), f"must be a number, not {shown(value)}.") from None
        if not math.isfinite(number) or not low <= number <= high:
            raise FieldError(
                self.name(field),
                f"must be a finite number from {low:g} to {high:g}, not {shown(value)}.",
            )
        return number

    def whole(self, field: str, low: int, high: int) -> int | None:
        """A whole number in [low, high], or None where unknown."""
        number = self.number(field, low, high)
        if number is not None and number != int(number):
            raise FieldError(self.name(field), f"must be a whole number, not {number:g}.")
        return None if number is None else int(number)

    def text(self, field: str, choices: Iterable[str] | None = None) -> str | None:
        """A string, one of `choices` where they are given, or None where unknown."""
        value = self.raw(field)
        if value is None:
            return None
        if not isinstance(value, str) or len(value) > 500:
            raise FieldError(self.name(field), f"must be a short text, not {shown(value)}.")
        if choices is not None:
            allowed = list(choices)
            if value not in allowed:
                hint = near(value, allowed)
                raise FieldError(
                    self.name(field),
                    f"must be one of {', '.join(allowed)}, not {shown(value)}{hint}.",
                )
        return value

    def truth(self, field: str) -> bool | None:
        """yes / no / conditional or a boolean; `conditional` counts as no until it is set up."""
        value = self.raw(field)
        if value is None:
            return None
        if isinstance(value, bool):
            return value
        if value in ("yes", "no", "conditional"):
            return value == "yes"
        raise FieldError(
            self.name(field), f"must be yes, no, conditional, true or false, not {shown(value)}."
        )

    def finish(self) -> None:
        """Reject any field that no getter asked for.

        Raises
        ------
        FieldError
            Naming the first unknown field and the allowed ones.
        """
        for field in self._given:
            if field not in self._known:
                allowed = ", ".join(sorted(set(self._known)))
                raise FieldError(
                    self.name(field)[:80],
                    f"is not a known field{near(field, self._known)}; allowed are {allowed}.",
                )


def shown(value: object) -> str:
    """The value as it is quoted in an error, cut to a readable length."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def near(word: str, words: Iterable[str]) -> str:
    """ " (did you mean ...?)" where one of the words is close, else nothing."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def read_file(path: Path) -> Mapping[str, object]:
    """A JSON or TOML file as a mapping; anything that does not start with { is taken for TOML.

    Raises
    ------
    FieldError
        Naming the file, when it is absent, too large, or neither JSON nor TOML.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise FieldError(path.name, f"is larger than {MAX_FILE_BYTES} bytes.")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        if isinstance(error, FieldError):
            raise
        raise FieldError(path.name, "cannot be read as a text file.") from None
    try:
        is_json = text.lstrip().startswith("{")
        loaded = json.loads(text, object_pairs_hook=_once) if is_json else tomllib.loads(text)
    except FieldError:
        raise
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise FieldError(path.name, f"is neither JSON nor TOML ({reason}).") from None
    if not isinstance(loaded, Mapping):
        raise FieldError(path.name, "must hold one table of named fields.")
    return loaded


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A JSON object whose every name stands there once, as TOML asks of its own."""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(name for name in table if [key for key, _ in pairs].count(name) > 1)
        raise FieldError(twice[:80], "is given twice.")
    return table

"""The JSON body of a request, read as the work of a stranger: what is ambiguous is refused.

And the form of an answer: `format` names it, `Accept` may refuse it.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from rest_framework.exceptions import NotAcceptable, ParseError
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.utils.mediatypes import media_type_matches

from catalog.query import MOST_NAMED, MOST_VALUES, TOO_LONG, BadQuery

FORMS = {"csv": "text/csv", "ndjson": "application/x-ndjson"}  # by the parameter `format`
LARGEST_INTEGER = 2**63  # of what writes our answers
LONGEST_NUMBER = 30  # characters; a longer one costs more to read than it can mean


class StrictJSONParser(BaseParser):
    """JSON without duplicate keys, NaN, infinities, NULs, lone surrogates or bottomless nesting.

    And without long lists: whatever a door does with each value of one, it does it seldom.
    """

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,  # noqa: ARG002 -- what DRF passes
        parser_context: Mapping[str, Any] | None = None,  # noqa: ARG002
    ) -> Any:
        """The value of the body.

        Raises
        ------
        ParseError
            A 400 that says what is wrong with it.
        BadQuery
            The same of a field that is a list of too many.
        """
        try:
            return json.loads(
                stream.read().decode("utf-8"),
                object_pairs_hook=_once,
                parse_constant=_finite,
                parse_float=_finite,
                parse_int=_whole,
            )
        except RecursionError:
            raise ParseError("The body is nested too deeply.") from None
        except BadQuery:
            raise
        except ValueError as problem:  # of json, of utf-8, or of the readers below
            raise ParseError(f"The body is not JSON that can be read: {problem}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it gives a key twice")
    for text in (*found, *_texts(found.values())):
        if "\x00" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ValueError("it holds a NUL or half a character")
    if long := [name for name, value in pairs if isinstance(value, list) and _is_long(value)]:
        raise BadQuery({name[:80]: [TOO_LONG] for name in long[:MOST_NAMED]})
    return found


def _is_long(values: list[Any]) -> bool:
    """Whether it has too many values, or one of them does that is a list."""
    inner = (each for each in values if isinstance(each, list))
    return len(values) > MOST_VALUES or any(map(_is_long, inner))


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """The strings among them, and those of their lists; an object has been read before."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from _texts(value)


def _finite(text: str) -> float:
    if len(text) > LONGEST_NUMBER or not math.isfinite(number := float(text)):
        raise ValueError(f"{text[:LONGEST_NUMBER]} is not a number that can be used")
    return number + 0.0  # -0.0 is 0.0, and would be written otherwise


def _whole(text: str) -> float:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"{text[:LONGEST_NUMBER]}… is not a number that can be used")
    number = int(text)
    # To JSON it is the same number as 1e20, and no integer that any reader of ours would have.
    return number if abs(number) < LARGEST_INTEGER else float(number)


class AsNamed(DefaultContentNegotiation):
    """A door writes the form that `format` names, or its own: 406 where `Accept` has none of them.

    A view whose answer is no JSON says so in `answers`. Errors are JSON whatever is accepted.
    """

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,  # noqa: ARG002 -- what DRF passes
    ) -> tuple[BaseRenderer, str]:
        """The first renderer: doors that write for themselves never ask it.

        Raises
        ------
        NotAcceptable
            A 406.
        """
        view = (request.parser_context or {}).get("view")
        first = next(iter(renderers))
        named = FORMS.get(request.query_params.get("format", ""))
        own = getattr(view, "answers", None)
        forms = {form for form in ("application/json", first.media_type, own, named) if form}
        accepted = self.get_accept_list(request)
        if any(media_type_matches(each, form) for each in accepted for form in forms):
            return first, first.media_type
        raise NotAcceptable(f"This is answered as {' or '.join(sorted(forms))}.")

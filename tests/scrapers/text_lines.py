"""One line of one text, for the tests of a pasted listing."""

from typing import Any

from scrapers.text import read_text


def one(text: str, slug: str = "somecloud") -> dict[str, Any]:
    """What the one listing in a text comes to."""
    (line,) = read_text(slug, text)
    return line


def read(text: str, said: dict[str, Any], slug: str = "somecloud") -> dict[str, Any]:
    """Of the line, what `said` names: to be compared with it as a whole."""
    line = one(text, slug)
    return {name: line[name] for name in said}

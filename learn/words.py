"""The words of the field: one file of words/ each, English and Japanese side by side.

A file says its word's title, what it is in one sentence (`short`), the filter that shows it, the
figures that stand first, and the text. Its text is paragraphs of HTML, in which live figures are
tags (`learn.templatetags.live`), so that no count is typed in. Every reference `{% ref 1 %}` is to
one of the file's sources.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from django.template import Context, Template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

WORDS = Path(__file__).with_name("words")
QUESTIONS = Path(__file__).with_name("questions.toml")
GROUPS = ("inside", "between", "job", "choosing")  # in the order of the index
Said = Mapping[str, str]  # by language


def said(texts: Said) -> str:
    """The text in the reader's language; English where it has none."""
    return texts.get((get_language() or "en")[:2], texts["en"])


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement comes from: its name, its address, and when it was published or read."""

    name: str
    href: str
    when: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word as its file has it."""

    slug: str
    group: str
    order: int
    titles: Said
    shorts: Said
    texts: Said
    shows: str  # the query string of the offers that show it; empty where none does
    figures: tuple[Mapping[str, Any], ...]
    table: str
    drawing: str
    sources: tuple[Source, ...]

    @property
    def title(self) -> str:
        """What it is called."""
        return said(self.titles)

    @property
    def short(self) -> str:
        """What it is, in one sentence."""
        return said(self.shorts)

    def text(self) -> SafeString:
        """What there is to say, with the figures of today."""
        return rendered(said(self.texts))


@cache
def words() -> Mapping[str, Word]:
    """Every word by its slug, in the order of the index."""
    found = [_word(path) for path in WORDS.glob("*.toml")]
    found.sort(key=lambda word: (GROUPS.index(word.group), word.order))
    return {word.slug: word for word in found}


@cache
def questions() -> tuple[Mapping[str, Said], ...]:
    """The questions that a buyer asks: `title` and `text` in both languages."""
    return tuple(tomllib.loads(QUESTIONS.read_text(encoding="utf-8"))["question"])


def _word(path: Path) -> Word:
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    return Word(
        slug=path.stem,
        group=told["group"],
        order=told["order"],
        titles=told["title"],
        shorts=told["short"],
        texts=told["text"],
        shows=told.get("shows", ""),
        figures=tuple(told.get("figure", ())),
        table=told.get("table", ""),
        drawing=told.get("drawing", ""),
        sources=tuple(Source(**source) for source in told.get("source", ())),
    )


def rendered(text: str) -> SafeString:
    """A text of ours as HTML: blank lines part paragraphs, what begins with a tag stays as it is.

    The texts are files of this package, never anything from outside.
    """
    html = Template("{% load live %}" + text).render(Context())
    parts = (part.strip() for part in html.split("\n\n"))
    return mark_safe(  # noqa: S308 -- see above
        "\n".join(
            part if part.startswith(("<ul", "<ol", "<h2")) else f"<p>{part}</p>"
            for part in parts
            if part
        )
    )

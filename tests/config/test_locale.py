"""The Japanese: complete, and its compiled form is that of its text."""

import ast
import gettext
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The pages of the catalog, and each room's own beside them.
FOLDERS = [ROOT / "locale/ja/LC_MESSAGES", *sorted(ROOT.glob("*/locale/ja/LC_MESSAGES"))]
HOLES = re.compile(r"%\(\w+\)[.\d]*\w|%%|%s|<[^>]+>")


def entries(folder: Path) -> list[tuple[str, str, str]]:
    """Context, English, Japanese of each entry of the text."""
    found = []
    for block in (folder / "django.po").read_text().split("\n\n")[1:]:
        parts = {"msgctxt": "", "msgid": "", "msgid_plural": "", "msgstr": ""}
        name = ""
        for line in block.splitlines():
            if not line or line.startswith("#"):
                continue
            if not line.startswith('"'):
                name, _, line = line.partition(" ")  # noqa: PLW2901 -- the rest of it is text
                name = name.removesuffix("[0]")
            parts[name] += ast.literal_eval(line)
        if parts["msgid"]:
            found.append((parts["msgctxt"], parts["msgid"], parts["msgstr"]))
    return found


pytestmark = pytest.mark.parametrize("folder", FOLDERS, ids=lambda each: str(each.parents[2].name))


def test_the_compiled_words_are_those_of_the_text(folder: Path) -> None:
    with (folder / "django.mo").open("rb") as compiled:
        words = gettext.GNUTranslations(compiled)
    assert entries(folder)
    for context, english, japanese in entries(folder):
        said = words.pgettext(context, english) if context else words.gettext(english)
        if said == english != japanese:  # one with a plural is found by its number
            said = words.ngettext(english, english, 1)
        assert said == japanese, english


def test_every_word_is_translated_and_keeps_its_holes(folder: Path) -> None:
    for _context, english, japanese in entries(folder):
        assert japanese, english
        assert sorted(HOLES.findall(japanese)) == sorted(HOLES.findall(english)), english

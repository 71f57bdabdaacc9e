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


of_each_room = pytest.mark.parametrize("folder", FOLDERS, ids=lambda at: at.parents[2].name)


@of_each_room
def test_the_compiled_words_are_those_of_the_text(folder: Path) -> None:
    with (folder / "django.mo").open("rb") as compiled:
        words = gettext.GNUTranslations(compiled)
    assert entries(folder)
    for context, english, japanese in entries(folder):
        said = words.pgettext(context, english) if context else words.gettext(english)
        if said == english != japanese:  # one with a plural is found by its number
            said = words.ngettext(english, english, 1)
        assert said == japanese, english


@of_each_room
def test_every_word_is_translated_and_keeps_its_holes(folder: Path) -> None:
    for _context, english, japanese in entries(folder):
        assert japanese, english
        assert sorted(HOLES.findall(japanese)) == sorted(HOLES.findall(english)), english


def phrases(template: str) -> set[str]:
    """What a template has translated, as Django looks it up: a per cent is written twice."""
    found = re.findall(r"{% translate (?:\"([^\"]*)\"|'([^']*)')", template)
    blocks = re.findall(
        r"{% blocktranslate\b[^%]*%}(.*?)(?:{% plural %}.*?)?{% endblocktranslate %}",
        template,
        re.DOTALL,
    )
    said = [one or other for one, other in found] + blocks
    return {re.sub(r"{{ *(\w+) *}}", r"%(\1)s", each.replace("%", "%%")) for each in said}


def test_every_phrase_of_the_templates_is_translated() -> None:
    known = {english for folder in FOLDERS for _context, english, _japanese in entries(folder)}
    files = [each for each in (ROOT / "templates").rglob("*") if each.is_file()]
    said = {phrase: each.name for each in files for phrase in phrases(each.read_text())}
    assert len(said) > 500
    assert {phrase: name for phrase, name in said.items() if phrase not in known} == {}

"""Whose instance it is: an aggregator's word for a provider, as our slug.

One provider under two names is one: "lambdalabs" is `lambda`, "datacrunch" is `verda`. The names
are those of `catalog/data/providers.csv`; a word that is not there is a slug of its own.
"""

import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import catalog

PROVIDERS = Path(catalog.__file__).parent / "data" / "providers.csv"


def seller(word: str) -> str:
    """The slug of the provider that `word` means."""
    key = _key(word)
    return _slugs().get(key, key or word)


@cache
def _slugs() -> Mapping[str, str]:
    """Every name of every provider → its slug."""
    slugs: dict[str, str] = {}
    with PROVIDERS.open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            names = [line["slug"], line["title"], *line["also_known_as"].split(";")]
            slugs |= {_key(name): line["slug"] for name in names if _key(name)}
    return slugs


def _key(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())

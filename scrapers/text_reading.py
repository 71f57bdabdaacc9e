"""One listing in a text while it is read: its parts, what was read, and why."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from catalog.facts import ATTRIBUTES, BadFact
from catalog.records import Value
from scrapers.gpu_names import Named
from scrapers.text_gpu_words import Words


@dataclass(slots=True)
class Reading:
    """One listing in a text: its parts, what was read in them, and why."""

    provider: str
    instance: str
    text: str
    parts: tuple[str, ...]
    known: Mapping[str, Value] = field(
        default_factory=dict
    )  # of the catalog: speaks before the text
    said: dict[str, Value] = field(default_factory=dict)
    also: list[tuple[str, Value, str]] = field(default_factory=list)  # second claims, and why
    why: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    words: Words | None = None
    gpu: Named | None = None
    memory: str = ""  # the figure that told it, as printed

    def say(self, attribute: str, value: Value, why: str) -> None:
        """Keep the first that is said of an attribute, and the reason."""
        if attribute in self.said or value is None:
            return
        if refused := self._refused(attribute, value):
            self.unknown(attribute, refused)
            self.warnings.append(refused)
            return
        self.said[attribute] = value
        self.why[attribute] = why

    def dispute(self, attribute: str, value: Decimal, why: str) -> None:
        """A second, other figure for what was said: both stand, the lower speaks."""
        said = self.said.get(attribute)
        if self._refused(attribute, value) or value == said:
            return
        self.also.append((attribute, value, why))
        self.warnings.append(
            f"{attribute}: {said} ({self.why[attribute]}) is not {value:f} ({why}): "
            "both are said, and the lower speaks"
        )

    @property
    def gpu_count(self) -> Decimal | None:
        """How many GPUs: by the text, else by the catalog."""
        count = self.said.get("gpu_count", self.known.get("gpu_count"))
        return count if isinstance(count, Decimal) else None

    @property
    def slugs(self) -> tuple[str, ...]:
        """The GPU by the text, or those that it may be."""
        if self.gpu is None:
            return ()
        return (self.gpu.slug,) if self.gpu.slug else self.gpu.candidates

    def withhold(self, attribute: str, why: str) -> None:
        """The text looked at it and could not vouch for it: no rule fills it in."""
        if attribute not in self.said:
            self.said[attribute] = None
            self.unknown(attribute, why)

    def unknown(self, attribute: str, why: str) -> None:
        """Why it stays open."""
        self.why.setdefault(attribute, f"not known: {why}")

    def has(self, words: str) -> bool:
        return re.search(words, self.text, re.IGNORECASE) is not None

    @staticmethod
    def _refused(attribute: str, value: Value) -> str:
        try:
            ATTRIBUTES[attribute].read(str(value))
        except BadFact as problem:
            return f"{attribute} {problem}"
        return ""


_BEFORE = r"(?<![A-Za-z0-9])"
_AFTER = r'"?(?: ?\([^()]{0,12}\))? ?[:=]? ?"?([0-9A-Za-z./](?:[^"|;,]|,(?=[0-9])){0,40})'


def after(reading: Reading, *names: str) -> re.Match[str] | None:
    """A heading and, as group 1, what follows: `efa: 32`, `"num_gpus": 8`, `Max NICs (Qty.) 8`."""
    for name in names:
        found = re.search(_BEFORE + name + _AFTER, reading.text, re.IGNORECASE)
        if found:
            return found
    return None


def value_of(reading: Reading, *names: str) -> str | None:
    """What stands after the first heading of these that the text has."""
    found = after(reading, *names)
    return found[1].strip() if found else None


def number_of(reading: Reading, *names: str) -> Decimal | None:
    value = value_of(reading, *names)
    found = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,3})?(?![0-9x])", value) if value else None
    return Decimal(found[0]) if found else None

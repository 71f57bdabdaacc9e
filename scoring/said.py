"""A sentence about an input: its English form apart from its figures, and the line it is about.

The doors print it as it is; a door of another language translates `text` and fills it in itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence with %(holes)s and what fills them; `line` counts from 1."""

    code: str
    text: str
    figures: Mapping[str, object] = field(default_factory=dict)
    line: int | None = None

    def __str__(self) -> str:
        """The sentence in English."""
        return self.text % self.figures if self.figures else self.text

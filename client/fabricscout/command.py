"""The form of a command of `fabricscout`: what is asked of it, and what it answers."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fabricscout.client import FabricScout
from fabricscout.connection import Value
from fabricscout.errors import BadInput
from fabricscout.rows import LARGEST_PAGE
from fabricscout.writing import Absent

ROWS_OF_A_TABLE = 50


@dataclass(frozen=True, slots=True)
class Asked:
    """What stood on the command line: the command's own options, and parameters of the API."""

    options: Mapping[str, Any]
    parameters: Mapping[str, Value]

    def own(self, name: str) -> Any:
        """One of the command's own options."""
        return self.options[name]

    @property
    def limit(self) -> int | None:
        """How many rows are wanted: all for a program, what one reads for a person."""
        given: int | None = self.options["limit"]
        for_a_program = self.options["json"] or self.options["csv"]
        return given if given is not None or for_a_program else ROWS_OF_A_TABLE

    @property
    def page(self) -> dict[str, Value]:
        """The parameters, and a page no larger than what is wanted."""
        most = LARGEST_PAGE if self.limit is None else min(self.limit + 1, LARGEST_PAGE)
        return {"page_size": most, **self.parameters}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command found, and how a table shows it (`writing.as_table`)."""

    rows: Iterable[Mapping[str, Any]]
    columns: Sequence[str]
    headings: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, Absent] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)  # said besides the rows, in JSON
    whole: Mapping[str, Any] | None = None  # what JSON has instead of rows and `about`
    within: str = ""  # the key of `whole` that holds the rows, to be cut as they are
    notes: Sequence[str] = ()
    code: int | None = None  # the exit code, where it is not "found or not"


@dataclass(frozen=True, slots=True)
class Command:
    """One command: its sentence, its function, its own options, its words for parameters."""

    says: str
    run: Callable[[FabricScout, Asked], Answer]
    options: dict[str, dict[str, Any]] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
    takes_parameters: bool = True
    door: str = "offers"  # of the API, whose parameters it takes


def bad(option: str, said: str) -> BadInput:
    """An option that is not of its form, as the service says it of a parameter."""
    return BadInput(400, "bad_option", said, {option: [said]})

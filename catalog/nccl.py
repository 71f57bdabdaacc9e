"""A pasted output of nccl-tests, held against an instance type of the catalog.

The physics and the sentences are `scoring`'s; here they meet the facts of the type, and the
reader's language.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

from django.http import Http404
from django.utils.translation import gettext

import scoring
from catalog import phrases
from catalog.models import InstanceType
from catalog.query import BadQuery
from catalog.questions import PHYSICS

COLLECTIVES = tuple(dict.fromkeys(scoring.NCCL_TESTS.values()))
MOST_NODES = 100_000
# What a text must have somewhere, of all that makes it a run: the start of a row.
A_ROW = rf"[0-9]\s+[0-9]+\s+({'|'.join(scoring.nccl_rows.ELEMENT_BYTES)})\s+[^\s\x00]"


@dataclass(frozen=True, slots=True)
class Checked:
    """A run, the type that it is said to be of, and what came of it."""

    instance_type: InstanceType
    held: scoring.Held

    @property
    def against(self) -> list[scoring.Said]:
        """What contradicts itself in it, or the type."""
        return scoring.contradictions(self.held)

    @property
    def digest(self) -> str:
        """Of what was measured: a run is known again with another log around it, or none."""
        run = self.held.run
        rows = [(row.size, row.element, row.operation, row.timings) for row in run.rows]
        said = (run.kind, run.ranks, self.held.nodes, rows)
        return hashlib.sha256(repr(said).encode()).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Everything, with its sentences in the reader's language."""
        plain = scoring.verdict(self.held)
        return plain | {
            "verdict": [spoken(each) for each in scoring.sentences(self.held)],
            "problems": [spoken(each) for each in self.held.run.problems],
            "inferred": [words(each) for each in self.held.run.inferred],
        }


def check(
    provider: str, name: str, text: str, nodes: int | None = None, collective: str | None = None
) -> Checked:
    """A pasted output, read and held against the type.

    Raises
    ------
    Http404
        Where the catalog has no such type.
    BadQuery
        Where the text cannot be read (its line is named), or the run cannot be of this type.
    """
    known = "\x00" not in provider + name
    kind = known and InstanceType.objects.filter(provider=provider, name=name).first()
    if not kind:
        raise Http404(f"The catalog has no {provider[:80]}/{name[:200]}.")
    if kind.gpu_id is None or not kind.gpu_count:
        raise BadQuery({"instance_type": [gettext("nobody says which GPUs it has, or how many.")]})
    fields = {each: getattr(kind, each) for each in PHYSICS if each != "gpu"}
    try:
        run = scoring.read_run(text.replace("\x00", ""), collective)
        held = scoring.check_run(run, {"gpu": kind.gpu_id, **fields}, nodes)
    except scoring.BadPaste as bad:
        raise BadQuery({"text": [_at_line(bad.said)]}) from None
    except scoring.BadRun as bad:
        raise BadQuery({bad.field: [words(bad.said)]}) from None
    except scoring.FieldError as problem:
        message = str(problem).removeprefix(f"{problem.field}: ")
        raise BadQuery({problem.field: [phrases.said(message)]}) from None
    return Checked(kind, held)


def words(said: scoring.Said) -> str:
    """A sentence in the reader's language."""
    text = gettext(said.text)
    return text % said.figures if said.figures else text


def spoken(said: scoring.Said) -> dict[str, Any]:
    """A sentence with its code and its line."""
    return {"code": said.code, "text": words(said), "line": said.line}


def _at_line(said: scoring.Said) -> str:
    if said.line is None:
        return words(said)
    return gettext("line %(line)s: %(text)s") % {"line": said.line, "text": words(said)}

"""Parsing and cleaning in a child process: a payload that kills the parser kills nobody else.

The child caps its own memory and CPU time, reads the documents from stdin and answers on stdout;
both ends are this file. It has no database and no network to spoil.
"""

import gc
import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from catalog.judgement import NOTHING as NOTHING_SAID
from catalog.judgement import Judgement
from catalog.records import Normalised, Rejected
from catalog.sieve import Ready, ready
from scrapers.bundle import unpack
from scrapers.fields import Unreadable
from scrapers.listing import Document
from scrapers.normalise import Rate, offers
from scrapers.registry import provider_module

MEMORY = 2 * 2**30  # [B] of address space
CPU_SECONDS = 120
SECONDS = 150.0
CHILD = "from scrapers.reading import main; main()"
ROOT = Path(__file__).parent.parent
NOTHING = {b"", b"[]", b"{}", b"null"}


class ParserDied(Exception):
    """The child was killed, ran out of memory or of time."""


Answer = tuple[str, bytes, datetime]  # url, body, fetched_at of a document: what a pipe can carry


@dataclass(frozen=True, slots=True)
class Task:
    """What one child is asked: the documents of one run."""

    slug: str
    answers: Sequence[Answer]
    rates: Mapping[str, Rate]
    collected_at: datetime | None = None
    from_file: bool = False  # the one document may be a bundle with its context
    judgement: Judgement = NOTHING_SAID
    part: str = ""  # a region, where a list is read in parts


def is_nothing(bodies: Iterable[bytes]) -> bool:
    """True when every answer is an empty one: no row, and nothing that could be misread."""
    return all(body.strip() in NOTHING for body in bodies)


def read(task: Task) -> Ready:
    """What the documents come to, as the tables take it.

    Raises
    ------
    Unreadable
        A document cannot be read at all.
    ParserDied
        In one sentence, why.
    """
    if is_nothing(body for _, body, _ in task.answers):
        return ready(Normalised())  # an empty list, for the gates to judge
    result = ask_child(task)
    if isinstance(result, str):
        raise Unreadable(result)
    return result


def ask_child(task: Task) -> Ready | str:
    """`answer(task)`, from a process that may die of it."""
    try:
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            cwd=ROOT,
            input=pickle.dumps(task),
            stdout=subprocess.PIPE,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ParserDied(f"The parser took longer than {SECONDS:.0f} s.") from None
    if child.returncode:
        raise ParserDied(_last_words(child.returncode))
    result: Ready | str = pickle.loads(child.stdout)  # noqa: S301 -- our own child's
    return result


def _last_words(code: int) -> str:
    if code < 0:
        return f"The parser was killed ({signal.Signals(-code).name})."
    return f"The parser failed with code {code}: its memory, or a fault of ours; the log says."


def answer(task: Task) -> Ready | str:
    """What the child answers: the list, or why there is none."""
    try:
        return ready(normalised(task))
    except Unreadable as problem:
        return str(problem)


def normalised(task: Task) -> Normalised:
    """The offers that the documents come to.

    Raises
    ------
    Unreadable
    """
    documents: Sequence[Document] = [Document(*answer) for answer in task.answers]
    rates, at = dict(task.rates), task.collected_at
    if task.from_file:
        bundle = unpack(documents[0])
        documents, at = bundle.documents, bundle.collected_at or at
        rates |= bundle.rates
    provider = provider_module(task.slug).PROVIDER
    found = offers(provider, documents, rates, at, task.judgement)
    return _of_part(found, task.part) if task.part else found


def _of_part(found: Normalised, part: str) -> Normalised:
    """What a part's list says of the part: a list speaks for its own region and the zones there."""
    result = replace(found, offers=[])
    for offer in found.offers:
        if offer.region is None:
            result.ignored["a type that the part does not sell"] += 1
        elif offer.region == part or offer.region.startswith(f"{part}-"):
            result.offers.append(offer)
        else:
            reason = f"the region {offer.region} is not of the list of {part}"
            result.rejected.append(Rejected(reason, offer.source_url, str(offer.identity)))
    return result


def cap() -> None:
    """What the child may use, set before it reads a byte."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def main() -> None:
    """The child's whole life, too short for collecting garbage: that took half of its time."""
    cap()
    gc.disable()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a parser prints goes to the log
    task = pickle.load(sys.stdin.buffer)  # noqa: S301 -- our own parent's
    with out:
        pickle.dump(answer(task), out)

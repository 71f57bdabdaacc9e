"""Senders in processes of their own, on the tables of the test that starts them, to be killed.

`senders()` is a process that forks one child a line: it prints the child's number, and, when the
child has ended, how. The child sends one request, as a worker does.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from tests.scrapers.workers import ROOT, environment

POOL = """
import os, sys
import django
django.setup()
from watches import outbox
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        outbox.deliver_next()
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Senders:
    """One child at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def start(self) -> int:
        """A child that sends; its process id."""
        assert self._process.stdin
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        return self._line()

    def ended(self) -> int:
        """How it ended, once it has: 0 by itself, 9 by a kill."""
        return self._line()

    def _line(self) -> int:
        assert self._process.stdout
        return int(self._process.stdout.readline())


@contextmanager
def senders(stand_ins: str) -> Iterator[Senders]:
    """The process that forks, until the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", POOL],
        cwd=ROOT,
        env=environment(
            DJANGO_SETTINGS_MODULE=settings.SETTINGS_MODULE, FABRICSCOUT_STAND_INS=stand_ins
        ),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield Senders(process)
    finally:
        process.communicate()

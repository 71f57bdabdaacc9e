"""How a line of the log is written: without what opens a door to whoever reads it."""

import logging
import re

# An address that is a key: a shared comparison, a proof that came by mail.
KEYS = re.compile(r"((?:shared|account(?:/|%2F)(?:confirm|password(?:/|%2F)[^/%\s]+))(?:/|%2F))"
                  r"[\w:=.-]+", re.IGNORECASE)  # fmt: skip


class Line(logging.Formatter):
    """A formatter that masks such keys, in tracebacks too."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with three dots for each key."""
        return KEYS.sub(r"\1...", super().format(record))

"""Places for so many at once: who comes when all are taken is told so, at once or very soon."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Places:
    """Of the threads of a process, so many for one kind of work, and of those so many a caller.

    A caller may never have them all: the rest is for somebody else.
    """

    def __init__(self, most: int, each: int) -> None:
        self.most, self.each = most, each
        self.taken: Counter[str] = Counter()
        self._given_back = threading.Condition()

    @contextmanager
    def one(self, who: str, patience_s: float = 0) -> Iterator[bool]:
        """Whether there was a place for `who`, who has it until the end."""
        with self._given_back:
            if let_in := self._given_back.wait_for(lambda: self._is_free(who), patience_s):
                self.taken[who] += 1
        try:
            yield let_in
        finally:
            if let_in:
                with self._given_back:
                    self.taken -= Counter([who])  # a caller without a place is not kept
                    self._given_back.notify_all()

    def _is_free(self, who: str) -> bool:
        return self.taken.total() < self.most and not self.has_enough(who)

    def has_enough(self, who: str) -> bool:
        """Whether `who` has as many places as one caller may."""
        return self.taken[who] >= self.each

"""How many GPUs an offer is sold for, as its tier says: "256+ GPUs" is no price of sixteen."""

import re
from dataclasses import dataclass
from functools import lru_cache

_NUMBER = r"(\d{1,3}(?:,\d{3})+|\d{1,7})"
_WHAT = r"[ -]?(gpu|accelerator|node|instance|server)s?\b"
_SPAN = re.compile(rf"\b{_NUMBER} ?(?:-|–|to|through) ?{_NUMBER}{_WHAT}")
_MOST = re.compile(
    rf"(?:(?:up to|at most|max\.?(?:imum)?(?: of)?|≤|<=) ?{_NUMBER}{_WHAT}"
    rf"|\b{_NUMBER}{_WHAT} (?:or (?:less|fewer)|at most|max\b))"
)
_BELOW = re.compile(rf"(?:under|below|less than|fewer than|<) ?{_NUMBER}{_WHAT}")
_ABOVE = re.compile(rf"(?:over|above|more than|>(?!=)) ?{_NUMBER}{_WHAT}")
_LEAST = re.compile(rf"(?<![\d.,]){_NUMBER} ?\+?{_WHAT}")
_OF_GPUS = frozenset(("gpu", "accelerator"))


@dataclass(frozen=True, slots=True)
class Sizes:
    """From how many GPUs on an offer is sold, and up to how many, where that is said."""

    least: int = 1
    most: int | None = None


@lru_cache(maxsize=4096)
def sizes(tier: str | None, gpus_per_node: int) -> Sizes:
    """What a tier says of the size of a cluster; a bare count is the least, as of a volume price.

    Examples
    --------
    >>> sizes("256+ GPUs", 8)
    Sizes(least=256, most=None)
    >>> sizes("2-4 nodes", 8)
    Sizes(least=16, most=32)
    """
    text = (tier or "").casefold()

    def gpus(number: str, what: str) -> int:
        return int(number.replace(",", "")) * (1 if what in _OF_GPUS else gpus_per_node)

    if said := _SPAN.search(text):
        low, high, what = said.groups()
        return Sizes(gpus(low, what), gpus(high, what))
    if said := _BELOW.search(text):
        return Sizes(most=gpus(*said.groups()) - 1)
    if said := _MOST.search(text):
        number, what = filter(None, said.groups())
        return Sizes(most=gpus(number, what))
    if said := _ABOVE.search(text):
        return Sizes(gpus(*said.groups()) + 1)
    if said := _LEAST.search(text):
        return Sizes(gpus(*said.groups()))
    return Sizes()

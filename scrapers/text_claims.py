"""What a text says of a word: that it is there, that it is not, or that it may be had.

"no NVLink", "NVLink: not supported" and "NVLinkなし" deny; "InfiniBand on request", "RDMA: coming
soon" and "optional" promise nothing; "supports GPUDirect RDMA" and "SHARP: yes" say yes. A word
that merely stands there is named. Only the clause around the word speaks of it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache


class Stance(StrEnum):
    """What one clause makes of a word."""

    YES = "yes"
    NAMED = "named"
    MAYBE = "maybe"
    NO = "no"


@dataclass(frozen=True, slots=True)
class Claim:
    """A word as printed, what its clause makes of it, and the clause around it."""

    word: str
    stance: Stance
    clause: str


_CLAUSES = re.compile(
    r"[|;、。]| / (?!v?gpu|node|vm|h)|,(?![0-9])| \+ |\+(?=[0-9])"
    r"|(?<![0-9]) - (?![$€£]|no|yes|opt|coming|n/a)"
    r"|(?<!max)(?<!incl)(?<!inkl)[.!?](?= |$)"
    r"| (?=(?:but|with|aber|mit|avec|mais|c|plus|(?:and|und|et)(?= [0-9])) )",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def clauses(text: str) -> tuple[str, ...]:
    """A text at its commas, bars and joining words: each piece speaks of its own things."""
    return tuple(piece.strip() for piece in _CLAUSES.split(text) if piece and piece.strip())


_DENIED = (
    r"not (?:supported|available|included|possible|offered|applicable|present|enabled|provided)"
    r"|unavailable|unsupported|disabled|nicht \w+|non (?:disponible|inclus|supporté)\w*"
    r"|なし|無し|非対応|未対応|不可|不支持"
)
_NOTHING = r"no|none|false|n/a|absent|nein|non|nicht|無|нeт|✗|✘|❌|0"  # only where the clause ends
_SOMETHING = (
    r"(?:is |are )?(?:supported|available|enabled|included|standard)|yes|true|✓|✔|✅|ja|oui"
    r"|対応|あり|有り|支持|дa|inklusive|inclus"
)
_PERHAPS = (
    r"optional(?:ly|e|es)?|on request|upon request|by request|on demand only|coming soon|planned"
    r"|roadmap|add-?on|auf anfrage|sur demande|en option|soon|upcoming|future|tb[ad]|if available"
    r"|available on request|ask (?:us|sales)|contact (?:us|sales)|オプション|応相談|準備中|近日"
    r"|for [\w ]{1,30} only|(?:on|in) selected?|select \w+"
    r"|limited availability|conditional|waitlist|preview|unknown|depends|varies"
)
_DENIED_BEFORE = re.compile(
    r"(?:(?<![a-z])(?:no|not(?! only)|[a-z]+n't|without|w/o|lacks?|lacking|excluding|excl\.?"
    r"|neither|nor|never|(?<![0-9.,])0x?|ohne|kein(?:e|en)?|sans|pas de|бeз)|(?<![a-z])non-?) ?"
    r"(?:(?:any|connected (?:by|to|with)|equipped with|using|support for|include[sd]?|support"
    r"|have|has|offer|use|nvlink|infiniband|rdma|ib|roce|or|nor|and|oder|noch|ou|ni|/|-)"
    r"[ -]?){0,4}$",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"(?:unlike|instead of|rather than|vs\.?|versus|compared (?:to|with)|alternative to) $",
    re.IGNORECASE,
)
_PERHAPS_BEFORE = re.compile(rf"(?<![a-z])(?:{_PERHAPS})(?![a-z])", re.IGNORECASE)
_SAID_BEFORE = re.compile(r"(?:supports?|supporting|includes?|with|mit|avec) $", re.IGNORECASE)
_BETWEEN = r"\"?[\w ./()*,+-]{0,32}?\W{0,4}"
_AFTER = tuple(
    (
        stance,
        ends,
        re.compile(rf"{_BETWEEN}(?<![a-z0-9/.])(?:{words})(?![a-z0-9/])(.*)", re.IGNORECASE),
    )
    for stance, ends, words in (
        (Stance.MAYBE, False, rf"{_PERHAPS}|[-?]$"),
        (Stance.NO, False, _DENIED),
        (Stance.NO, True, _NOTHING),
        (Stance.YES, True, _SOMETHING),
    )
)
_END = re.compile(r"\W*(?:\(.*)?$")


NEAR = 80  # letters of a clause, before and behind a word, that can speak of it


def claims(text: str, words: str) -> Iterator[Claim]:
    """What each clause that has the words makes of them, in the order of the text."""
    pattern = re.compile(words, re.IGNORECASE)
    for clause in clauses(text):
        for found in pattern.finditer(clause):
            before = clause[max(0, found.start() - NEAR) : found.start()]
            after = clause[found.end() : found.end() + NEAR]
            yield Claim(found[0], _stance(before, after), f"{before}{found[0]}{after}".strip())


def claim(text: str, words: str) -> Claim | None:
    """The claim that decides: a denial over a promise, any of them over the bare word."""
    order = (Stance.NO, Stance.MAYBE, Stance.YES, Stance.NAMED)
    return min(claims(text, words), key=lambda said: order.index(said.stance), default=None)


def _stance(before: str, after: str) -> Stance:
    if _DENIED_BEFORE.search(before):
        return Stance.NO
    if _ASIDE.search(before) or _PERHAPS_BEFORE.search(before):
        return Stance.MAYBE
    for stance, ends, pattern in _AFTER:
        found = pattern.match(after)
        # "InfiniBand no NVLink": a bare no is of what follows it
        if found and (not ends or _END.match(found[1])):
            return stance
    return Stance.YES if _SAID_BEFORE.search(before) else Stance.NAMED

"""Written quantities: memories, bandwidths and counts, with bits and bytes told apart.

Every pattern is read from the left in one pass, with no repetition inside a repetition, so a long
string costs no more than its length.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

LONGEST = 20_000

# --- Letters ----------------------------------------------------------------------------------

# Letters that look like Latin ones: Cyrillic and Greek capitals and small letters; signs of times.
_LOOK_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"
    "×⨯✕∗⋅–—‒−‑⁃⁄",
    "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXo"
    "xxx**------/",
)  # fmt: skip


_MARKS = dict.fromkeys(map(ord, "®™©℠"))


def fold(text: str) -> str:
    """The same text in plain letters: widths, look-alikes and invisible characters folded."""
    text = text[:LONGEST]
    if text.isascii() and text.isprintable():
        return " ".join(text.split())
    plain = unicodedata.normalize("NFKC", text.translate(_MARKS)).translate(_LOOK_ALIKE)
    return " ".join("".join(_folded(letter) for letter in plain).split())


def _folded(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind in ("Cc", "Zs", "Zl", "Zp"):
        return " "
    if kind in ("Cf", "Cs", "Co", "Cn", "Mn"):
        return ""
    return str(unicodedata.digit(letter)) if kind == "Nd" else letter


# --- Memory -----------------------------------------------------------------------------------

BYTES = {
    "B": Decimal(1),
    "KB": Decimal(10) ** 3,
    "MB": Decimal(10) ** 6,
    "GB": Decimal(10) ** 9,
    "TB": Decimal(10) ** 12,
    "KiB": Decimal(2) ** 10,
    "MiB": Decimal(2) ** 20,
    "GiB": Decimal(2) ** 30,
    "TiB": Decimal(2) ** 40,
}


class UnknownUnit(ValueError):
    """A unit that is not in the table: the row is held, the number never guessed at."""


def gigabytes(amount: Decimal, unit: str) -> Decimal:
    """In GB of 10**9 bytes."""
    if unit not in BYTES:
        raise UnknownUnit(f"{unit[:20]!r} is not a unit of memory")
    return amount * BYTES[unit] / BYTES["GB"]


# What a card or driver may print for N nominal GB: N GiB less what is reserved, or N GB.
NOMINAL_TOLERANCE = Decimal("0.07")


def distance_from_nominal(gb: Decimal, nominal: int) -> Decimal:
    """How far a printed memory is from a nominal one, as a share, whichever unit was meant.

    22888 MiB is 24 GB and 81559 MiB is 80 GiB: which of the two a vendor means differs by card;
    and GiB are printed as GB (262 of the 288 GB of a B300).
    """
    gib = BYTES["GiB"] / BYTES["GB"]
    return min(abs(meant - nominal) for meant in (gb, gb / gib, gb * gib)) / nominal


# --- Counts -----------------------------------------------------------------------------------

_COUNT = re.compile(r"([0-9]{1,4})(?:/([0-9]{1,3})|(\.[0-9]{1,4}))?")


def count(text: str) -> Decimal | None:
    """How many: "8", "0.25", or "1/6" of one."""
    found = _COUNT.fullmatch(text.strip())
    if found is None:
        return None
    whole, share, decimals = found.groups()
    if share:
        return None if int(share) == 0 else round(Decimal(whole) / int(share), 4)
    return Decimal(whole + (decimals or ""))


# --- Bandwidth --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """`links` links of `gbits_per_s` each, and where in the text it stands."""

    links: int
    gbits_per_s: Decimal
    up_to: bool = False  # a burst, not a promise
    bytes_written: bool = False  # printed in bytes: "200 GB/s"
    bare: bool = False  # "400G": a rate only beside the word of a network
    counted: bool = False  # its links are printed: "1 x 50 Gbps"
    start: int = 0
    end: int = 0

    @property
    def total(self) -> Decimal:
        return self.links * self.gbits_per_s


_TIMES = r"([0-9]{1,3}) ?(?:x|\*|by ) ?\(?"
_PER_SECOND = r" ?(?:/|per) ?s(?:ec(?:ond)?)?"
# Quoted: "8 x 2 x 200 Gbps", "2x(4x100G)", "4x 100 Gigabit", "400 Gb/s x 8", "3,2 Tbit/s"
_BANDWIDTH = re.compile(
    rf"(?<![0-9A-Za-z.,])(?:{_TIMES})?(?:{_TIMES})?"
    r"([0-9]{1,3}(?:,[0-9]{3}){1,2}(?![0-9])|[0-9]{1,8})([.,][0-9]{1,4})? ?"
    rf"((?:giga|mega|tera)bits?(?:{_PER_SECOND})?|(?:giga|mega|tera)bytes?{_PER_SECOND}"
    rf"|[kmgt]i?b(?:it|yte)?s?{_PER_SECOND}|[kmgt]i?bps|[kmgt]bit|[gt]be|[гmt]бит/c"
    r"|ギガビット(?:/秒)?|テラビット(?:/秒)?"
    r"|gb(?= ?(?:ethernet|infiniband|ib|nic|rdma|roce|network|port|link)s?(?![a-z]))"
    r"|[gt](?![0-9]|\.[0-9]))(?![a-wyz]|x(?! ?[0-9]))"
    r"(?: ?\(?(?:x|\*) ?(?!86|64)([0-9]{1,2})(?![0-9.x])(?! ?[gt]b)\)?"
    r"| ?\(([0-9]{1,4}) ?(?:x|\*) ?([0-9]{1,2})\))?",
    re.IGNORECASE,
)
_SCALE = {"k": Decimal("1e-6"), "m": Decimal("1e-3"), "g": Decimal(1), "t": Decimal(1000)}
_WORDS = {"ギ": "g", "テ": "t", "г": "g"}
_BINARY = {"k": Decimal("1.024"), "m": Decimal(1.024**2), "g": Decimal("1.073741824")}
_UP_TO = re.compile(
    r"(?:up ?to|bis (?:zu)?|max(?:\.|imal|imum)?|jusqu.[aà]|hasta|fino a|дo|最大|peak|<|≤"
    r"|burst(?:s|ing|able)?(?: to)?)\W{0,3}$",
    re.IGNORECASE,
)
_AT_MOST = re.compile(r"\W{0,2}(?:burst|peak|max(?:imum)?(?![a-z]))", re.IGNORECASE)
# "100-400 Gbps" is a range, and "8 200 Gbps" 8200, or eight of 200: neither is one rate
_TO_MORE = re.compile(r"(?:-|~| to )[0-9]")
_UNCLEAR = re.compile(
    r"(?:bps|b/s(?:ec)?|bits?(?:/s)?)(?:-|~| to )$|[0-9] ?(?:-|/|~|to|or|bis|oder) ?$"
    r"|(?<![0-9A-Za-z.,-])[0-9]{1,3} $"
)


@lru_cache(maxsize=1024)
def bandwidths(text: str) -> tuple[Bandwidth, ...]:
    """Every bandwidth in a text, in its order. [Gb/s]"""
    read = (_bandwidth(found, text) for found in _BANDWIDTH.finditer(text))
    return tuple(rate for rate in read if rate is not None)


def _bandwidth(found: re.Match[str], text: str) -> Bandwidth | None:
    first, second, digits, decimals, unit, after, each, times = found.groups()
    before = text[max(0, found.start() - 24) : found.start()]
    if _UNCLEAR.search(before) and (first is None or not before.endswith(" ")):
        return None
    amount = _amount(digits, decimals or "")
    if (
        _TO_MORE.match(text, found.end())
        or amount is None
        or unit in ("GBPS", "GB/S", "TBPS", "TB/S")
    ):  # in capitals B may be bits
        return None
    links = int(first or 1) * int(second or 1) * int(after or 1)
    if each and Decimal(each) * int(times) == amount:  # "170 Gbps (85 * 2)"
        links, amount = int(times), Decimal(each)
    scale = _WORDS.get(unit[0].lower(), unit[0].lower())
    in_bytes = "byte" in unit.lower() or "B/s" in unit or "Bps" in unit or "B per" in unit
    rate = amount * _SCALE[scale] * (8 if in_bytes else 1)
    if unit[1:2] == "i" and unit[2:3] in ("B", "b"):
        rate *= _BINARY.get(scale, 1)
    return Bandwidth(
        links,
        Decimal(f"{rate.normalize():f}"),
        up_to=bool(_UP_TO.search(before) or _AT_MOST.match(text, found.end())),
        bytes_written=in_bytes,
        bare=len(unit) == 1,
        counted=bool(first or second or after or each),
        start=found.start(),
        end=found.end(),
    )


def _amount(digits: str, decimals: str) -> Decimal | None:
    """The number: "3,200" and "3.200" are thousands, "3,2" is not, "1.250" may be either."""
    if re.fullmatch(r"[1-9][0-9]{0,2}", digits) and re.fullmatch(r"\.[0-9]{2}0", decimals):
        return Decimal(digits + decimals[1:]) if decimals.endswith("00") else None
    return Decimal(digits.replace(",", "") + decimals.replace(",", "."))


_OF_A_RANGE = re.compile(
    r"[0-9] ?[x*] ?\( ?$|[0-9] ?(?:-|~|to|bis) ?$|[0-9] ?x ?(?:,|/|or|and|oder|und) ?$",
    re.IGNORECASE,
)


def promised(before: str) -> bool:
    """False where the words before a figure make it one of several: "up to 8", "1-8", "4x or 8"."""
    return not (_UP_TO.search(before) or _OF_A_RANGE.search(before))

"""Written quantities: memories, bandwidths and counts, with bits and bytes told apart.

Every pattern is read from the left in one pass, with no repetition inside a repetition, so a long
string costs no more than its length.
"""

import re
import unicodedata
from dataclasses import dataclass
from decimal import Decimal

LONGEST = 2000

# --- Letters ----------------------------------------------------------------------------------

# Letters that look like Latin ones: Cyrillic and Greek capitals and small letters.
_LOOK_ALIKE = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјорсухΑΒΕΖΗΙΚΜΝΟΡΤΥΧο"
    "×⨯✕–—‒−‑⁃",
    "ABESIJKMHOPCTYXaesijopcyxABEZHIKMNOPTYXo"
    "xxx------",
)  # fmt: skip


def fold(text: str) -> str:
    """The same text in plain letters: widths, look-alikes and invisible characters folded."""
    plain = unicodedata.normalize("NFKC", text[:LONGEST]).translate(_LOOK_ALIKE)
    kept = "".join(
        " " if unicodedata.category(c) in ("Cc", "Zs", "Zl", "Zp") else c
        for c in plain
        if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn", "Mn")
    )
    return " ".join(kept.split())


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
    """`links` links of `gbits_per_s` each. `up_to`: a burst, not a promise."""

    links: int
    gbits_per_s: Decimal
    up_to: bool = False
    bytes_written: bool = False  # printed in bytes: "200 GB/s"

    @property
    def total(self) -> Decimal:
        return self.links * self.gbits_per_s


# "8 x 2 x 200 Gbps", "4x 100 Gigabit", "Up to 25 Gigabit", "1.6 TB/s", "4x800Gb/s", "100GbE"
_BANDWIDTH = re.compile(
    r"(up to )?"
    r"(?:([0-9]{1,3}) ?x ?)?(?:([0-9]{1,3}) ?x ?)?"
    r"([0-9]{1,3}(?:,[0-9]{3}){1,2}|[0-9]{1,8})(\.[0-9]{1,4})? ?"
    r"(gigabits?|megabits?|terabits?|gigabytes?|[kmgt]i?b(?:it|yte)?s?/s(?:ec)?|[kmgt]i?bps"
    r"|[kmgt]bit|gbe)(?![a-z])",
    re.IGNORECASE,
)
_SCALE = {"k": Decimal("1e-6"), "m": Decimal("1e-3"), "g": Decimal(1), "t": Decimal(1000)}


def bandwidths(text: str) -> list[Bandwidth]:
    """Every bandwidth in a text, in its order. [Gb/s]"""
    return [_bandwidth(found) for found in _BANDWIDTH.finditer(text)]


def _bandwidth(found: re.Match[str]) -> Bandwidth:
    burst, first, second, digits, decimals, unit = found.groups()
    links = int(first or 1) * int(second or 1)
    amount = Decimal(digits.replace(",", "") + (decimals or ""))
    in_bytes = "byte" in unit.lower() or "B/s" in unit or "Bps" in unit
    rate = amount * _SCALE[unit[0].lower()] * (8 if in_bytes else 1)
    return Bandwidth(links, rate, up_to=bool(burst), bytes_written=in_bytes)

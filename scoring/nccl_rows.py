"""The rows that nccl-tests and rccl-tests print, a message size each, in the forms of all versions.

    size count type [operation] [root]  time algbw busbw wrong  [time algbw busbw wrong]

out of place and in place; what launchers put before a line (`[1,0]<stdout>:`) is passed over. A
line that begins as a row and is none is said to be one, with its number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scoring.said import Said
from scoring.units import MOST_BYTES

MOST_ROWS, LONGEST_ROW = 2000, 1000
ELEMENT_BYTES = {
    "int8": 1, "uint8": 1, "char": 1, "uchar": 1, "int32": 4, "uint32": 4, "int": 4, "int64": 8,
    "uint64": 8, "half": 2, "float16": 2, "bfloat16": 2, "float": 4, "double": 8,
    "f8e4m3": 1, "f8e5m2": 1, "fp8_e4m3": 1, "fp8_e5m2": 1,
}  # fmt: skip
ROW = re.compile(rf"(\d{{1,20}})\s+(\d{{1,20}})\s+({'|'.join(ELEMENT_BYTES)})\s+(\S.*)")
FIGURE = re.compile(r"\d{1,15}(?:\.\d{1,6})?(?:e[+-]?\d{1,3})?", re.IGNORECASE)
WRONG = re.compile(r"(?:N/A|\d{1,15}(?:\.\d{1,6})?(?:e[+-]?\d{1,3})?)\*?", re.IGNORECASE)
FOUR = 4  # time, algbw, busbw and wrong values of one placement


class BadPaste(ValueError):
    """A text that is no output of nccl-tests; `said` has the sentence and its line."""

    def __init__(self, said: Said) -> None:
        super().__init__(str(said) if said.line is None else f"line {said.line}: {said}")
        self.said = said


@dataclass(frozen=True, slots=True)
class Timing:
    """One placement of a row, as printed, and the step of the time's last digit."""

    time_us: float
    step_us: float
    algorithm_gbytes_per_s: float
    bus_gbytes_per_s: float
    wrong: int


@dataclass(frozen=True, slots=True)
class Row:
    """One message size: out of place, and in place where it was measured, too."""

    line: int
    size: int
    count: int
    element: str
    operation: str | None
    timings: tuple[Timing, ...]

    @property
    def bus_gbytes_per_s(self) -> float:
        """The better of its placements."""
        return max(each.bus_gbytes_per_s for each in self.timings)


def bad_paste(
    code: str, text: str, figures: Mapping[str, object] | None = None, line: int | None = None
) -> BadPaste:
    return BadPaste(Said(code, text, figures or {}, line))


def read_rows(lines: Sequence[str], problems: list[Said]) -> Iterator[Row]:
    count = 0
    for number, line in enumerate(lines, start=1):
        found = ROW.search(line[:LONGEST_ROW])
        if not found or "NCCL INFO" in line[: found.start()]:
            continue
        row = _row(number, found)
        if isinstance(row, Said):
            problems.append(row)
        elif 0 < row.size <= MOST_BYTES:
            count += 1
            if count > MOST_ROWS:
                raise bad_paste("rows", "More than %(most)s rows.", {"most": MOST_ROWS}, number)
            yield row


def _row(number: int, found: re.Match[str]) -> Row | Said:
    size, count, element, rest = found.groups()
    words = rest.split()
    operation = words.pop(0) if words[0].isalpha() else None
    figures = words[len(words) % FOUR :]  # but for the root
    if len(figures) not in (FOUR, 2 * FOUR) or len(words) - len(figures) > 1:
        said = {"count": len(words)}
        text = "This reads like a row, but has %(count)s figures behind its type, not 4, 8 or 9."
        return Said("columns", text, said, number)
    timings = []
    for start in range(0, len(figures), FOUR):
        time, algorithm, bus, wrong = figures[start : start + FOUR]
        odd = next((w for w in (time, algorithm, bus) if not FIGURE.fullmatch(w)), None)
        if odd is None and not WRONG.fullmatch(wrong):
            odd = wrong
        if odd is not None:
            text = "This reads like a row, but %(word)s is no figure."
            return Said("figure", text, {"word": repr(odd[:20])}, number)
        timings.append(
            Timing(float(time), _step(time), float(algorithm), float(bus), _wrong_count(wrong))
        )
    if any(each.time_us <= 0 for each in timings):
        return Said("time", "This row took no time at all.", {}, number)
    return Row(number, int(size), int(count), element, operation, tuple(timings))


def _step(text: str) -> float:
    """What the last digit of a printed figure counts: 0.01 of "36.50"."""
    mantissa = text.lower().partition("e")[0]
    return 10.0 ** -len(mantissa.partition(".")[2])


def _wrong_count(text: str) -> int:
    """Wrong values of a placement; older versions print the largest error there, newer ones N/A."""
    plain = text.rstrip("*")
    if plain.isdigit():
        return int(plain)
    return 1 if text.endswith("*") else 0

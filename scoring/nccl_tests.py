"""What nccl-tests and rccl-tests print, read back and its arithmetic checked.

The rows are those of `nccl_rows`, among a header and any log. By the arithmetic that
doc/PERFORMANCE.md of nccl-tests defines,

    algbw = size / time,    busbw = algbw · factor(collective, ranks)

every row can be checked, and where the header with the ranks was not pasted they follow from it.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scoring.algorithms import KINDS
from scoring.collectives import bus_factor
from scoring.nccl_log import Log, read_log
from scoring.nccl_rows import ELEMENT_BYTES, BadPaste, Row, Timing, bad_paste, read_rows
from scoring.said import Said
from scoring.units import GIGA, MICRO

MOST_CHARACTERS = 600_000
RANK = re.compile(
    r"#\s+Rank\s+(\d{1,7})\s+(?:Group\s+\d+\s+)?Pid\s+\d+ on\s+(\S{1,255})\s+device\s+\d+\s+"
    r"\[[^\]]{1,20}\]\s+(\S.{0,80})"
)
TEST = re.compile(r"\b(\w{3,20}?)_perf\b")
# What a run prints once, before its rows.
BEGINS = re.compile(
    r"(?P<start># nThread \d{1,4} nGpus)|(?P<test># Collective test starting)"
    r"|(?P<columns>#\s{1,40}size\s{1,40}count\s{1,40}type)"
)
FAILED = re.compile(
    r"Test (?:NCCL |CUDA )?failure|remote process exited|exited on signal|Segmentation fault"
    r"|non-zero (?:exit )?(?:code|status)|MPI_ABORT was invoked|unhandled (?:cuda|system) error"
)
AVERAGE = re.compile(r"#\s*Avg bus bandwidth\s*:\s*(\d{1,9}(?:\.\d{1,9})?(?:e[+-]?\d{1,3})?)")
OUT_OF_BOUNDS = re.compile(r"#\s*Out of bounds values\s*:\s*(\d{1,12})\s*(OK|FAILED)")
# nccl-tests' names of collectives, letters alone → ours
NAMES = {kind.replace("_", ""): kind for kind in KINDS if not kind.startswith("custom")}
NAMES |= {"sendrecv": "send_recv", "alltoall": "all_to_all"}
OTHER_TESTS = ("gather", "scatter", "hypercube", "alltoallv")
# Bus over algorithm bandwidth, of ever more ranks
MOST_FACTOR = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
BANDWIDTH_STEP = 0.01  # GB/s: bandwidths are printed to two decimals


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one test."""

    kind: str
    ranks: int
    nodes: int | None  # None: the paste does not say
    gpus: tuple[str, ...]  # names of devices, as the driver has them
    rows: tuple[Row, ...]
    inferred: tuple[Said, ...]  # what the paste does not say and its arithmetic does
    problems: tuple[Said, ...]
    log: Log

    @property
    def largest(self) -> Row:
        """The row of the largest message."""
        return max(self.rows, key=lambda row: row.size)

    @property
    def peak(self) -> Row:
        """The row of the highest bus bandwidth."""
        return max(self.rows, key=lambda row: row.bus_gbytes_per_s)


def read_run(text: str, kind: str | None = None) -> Run:
    """A pasted output as a run whose arithmetic is checked: `problems` has what does not add up.

    Parameters
    ----------
    kind
        The collective, one of `KINDS`, where the paste does not name it.

    Raises
    ------
    BadPaste
        Where there is no result in it, or it does not say whose.
    """
    if len(text) > MOST_CHARACTERS:
        figures = {"most": f"{MOST_CHARACTERS:,}"}
        raise bad_paste("long", "is longer than %(most)s characters, which are the most.", figures)
    lines = text.splitlines()
    problems: list[Said] = []
    rows = list(read_rows(lines, problems))
    if not rows:
        if problems:
            raise BadPaste(problems[0])
        raise _no_rows(lines)
    _one_run(lines, rows)
    problems += _failed(lines)
    log = read_log(lines)
    devices = [found for line in lines if (found := RANK.search(line))]
    inferred: list[Said] = []
    kind = _agreed(kind, lines)
    ranks = _ranks(devices, log)
    if kind is None:
        kind = _kind_of(rows, ranks, inferred)
    if ranks is None:
        ranks = _ranks_of(kind, rows, inferred)
    problems += _wrong(rows, kind, ranks)
    problems += _summary(lines, rows)
    listed = {found[2] for found in devices} if len(devices) == ranks else ()  # none cut out
    nodes = log.nodes or len(listed) or None
    gpus = tuple(dict.fromkeys(found[3].strip() for found in devices))
    told = tuple(sorted(problems, key=lambda said: said.line or 0))
    return Run(kind, ranks, nodes, gpus, tuple(rows), tuple(inferred), told, log)


def _one_run(lines: Sequence[str], rows: Sequence[Row]) -> None:
    """Refuse several runs in one paste, and the mark of a build without MPI.

    A test prints each line of its header once, and its sizes only ever grow.

    Raises
    ------
    BadPaste
        Naming the line where the second begins.
    """
    ranks = [(n, found[1]) for n, line in enumerate(lines, 1) if (found := RANK.search(line))]
    seen: set[str] = set()
    for number, rank in ranks:
        if rank in seen:
            text = (
                "Rank %(rank)s is listed twice. Started with mpirun, this is the sign of tests "
                "built without MPI=1: each process ran alone. Else, paste one run at a time."
            )
            raise bad_paste("twice", text, {"rank": rank}, number)
        seen.add(rank)
    again = [*_marked_again(lines), *(b.line for a, b in pairwise(rows) if b.size <= a.size)]
    if again:
        text = "A second run begins here: paste one run at a time."
        raise bad_paste("second", text, {}, min(again))


def _marked_again(lines: Sequence[str]) -> Iterator[int]:
    """Lines of a header that stood in the paste before."""
    seen: set[str | None] = set()
    for number, line in enumerate(lines, 1):
        if found := BEGINS.search(line):
            mark = next(name for name in ("start", "test", "columns") if found[name])
            if mark in seen:
                yield number
            seen.add(mark)


# ------------------------------------------------------------------ whose


def _agreed(chosen: str | None, lines: Sequence[str]) -> str | None:
    """The collective that the reader chose, or else the one that the paste names.

    Raises
    ------
    BadPaste
        Where the two differ; as `_named`.
    """
    named = _named(lines)
    if chosen and named and chosen != named[0]:
        text = "%(chosen)s was chosen, and the paste names %(named)s."
        raise bad_paste("other_test", text, {"chosen": chosen, "named": named[0]}, named[1])
    return chosen or (named and named[0])


def _named(lines: Sequence[str]) -> tuple[str, int] | None:
    """The collective that a header or a command line names, and the line; the header is surer.

    Raises
    ------
    BadPaste
        Where it is a test whose collective the model does not know.
    """
    tests = list(_tests(lines))
    headers = [(name, n) for name, n in tests if "test starting" in lines[n - 1]]
    for test, number in headers or tests:
        name = test.replace("_", "").lower()
        if name in NAMES:
            return NAMES[name], number
        if name in OTHER_TESTS:
            text = "%(test)s is a test that nothing here can be held against."
            raise bad_paste("test", text, {"test": f"{test}_perf"}, number)
    return None


def _tests(lines: Sequence[str]) -> Iterator[tuple[str, int]]:
    for number, line in enumerate(lines, start=1):
        for found in TEST.finditer(line[:1000]):
            yield found[1], number


def _ranks(devices: Sequence[re.Match[str]], log: Log) -> int | None:
    """Ranks that the paste states: a list of devices may be cut short, but not at its end."""
    if devices:
        return max(int(found[1]) for found in devices) + 1
    return log.ranks


def _factor(rows: Sequence[Row]) -> tuple[float, Timing] | None:
    """Bus over algorithm bandwidth where they are largest, and so best known."""
    timings = [each for row in rows for each in row.timings if each.algorithm_gbytes_per_s > 1]
    if not timings:
        return None
    best = max(timings, key=lambda each: each.algorithm_gbytes_per_s)
    return best.bus_gbytes_per_s / best.algorithm_gbytes_per_s, best


def _kind_of(rows: Sequence[Row], ranks: int | None, inferred: list[Said]) -> str:
    """The collective whose factor the rows have.

    Raises
    ------
    BadPaste
        Where several have it.
    """
    known = _factor(rows)
    summed = rows[0].operation not in (None, "none")
    kinds = ("all_reduce", "reduce_scatter", "reduce") if summed else ()
    if known and ranks and ranks > 1:
        fits = [
            kind
            for kind in kinds
            if abs(known[0] / float(bus_factor(kind, float(ranks))) - 1) < 0.01
        ]
        if len(fits) == 1:
            said = {"kind": fits[0], "factor": f"{known[0]:.3f}"}
            text = "No test is named: of %(kind)s by busbw / algbw = %(factor)s."
            inferred.append(Said("kind", text, said))
            return fits[0]
    if known and summed and known[0] > 1.01:
        text = "No test is named: of %(kind)s by busbw / algbw = %(factor)s."
        inferred.append(Said("kind", text, {"kind": "all_reduce", "factor": f"{known[0]:.3f}"}))
        return "all_reduce"
    text = (
        "Nothing says which collective this is: paste the command or the line "
        '"# Collective test starting", or choose one.'
    )
    raise bad_paste("which", text)


def _ranks_of(kind: str, rows: Sequence[Row], inferred: list[Said]) -> int:
    """Ranks by the factor 2(n−1)/n or (n−1)/n, or by size over count where that counts ranks.

    Raises
    ------
    BadPaste
        Where neither tells.
    """
    for row in rows:
        each = row.count * ELEMENT_BYTES[row.element]
        if kind in ("all_gather", "reduce_scatter", "all_to_all") and each and row.size > each:
            ranks = row.size / each
            if ranks == int(ranks):
                said = {"ranks": int(ranks)}
                text = "No ranks are listed: %(ranks)s by size over count."
                inferred.append(Said("ranks_by_count", text, said))
                return int(ranks)
    known = _factor(rows)
    most = MOST_FACTOR.get(kind)
    if known and most and known[0] < most:
        factor, timing = known
        ranks = most / (most - factor)
        # Both bandwidths are rounded: how far that may shift the number of ranks.
        blur = BANDWIDTH_STEP / timing.algorithm_gbytes_per_s * ranks**2 / most
        whole = round(ranks)
        if whole > 1 and blur < 0.5 and abs(ranks - whole) <= blur + 0.05:
            figures = {"ranks": str(whole), "factor": f"{factor:.3f}"}
            text = "No ranks are listed: %(ranks)s by busbw / algbw = %(factor)s."
            inferred.append(Said("ranks_by_factor", text, figures))
            return whole
    text = 'Nothing says how many ranks ran: paste the lines "#  Rank  0 …" of the header, too.'
    raise bad_paste("ranks", text)


# ------------------------------------------------------------------ arithmetic


def _wrong(rows: Sequence[Row], kind: str, ranks: int) -> Iterator[Said]:
    """What does not add up in each row."""
    factor = float(bus_factor(kind, float(ranks)))
    for row in rows:
        found = [said for each in row.timings for said in _bandwidths(row, each, factor)]
        yield from {said.code: said for said in reversed(found)}.values()  # once a row
        if wrong := sum(each.wrong for each in row.timings):
            text = "%(count)s values came out wrong: no figure of this cluster counts for much."
            yield Said("corrupt", text, {"count": wrong}, row.line)
        each_rank = row.count * ELEMENT_BYTES[row.element]
        if each_rank and row.size not in (each_rank, each_rank * ranks):
            said: dict[str, object] = {"size": row.size, "count": row.count}
            said |= {"element": row.element}
            text = "%(count)s × %(element)s are not %(size)s B, nor of that many ranks."
            yield Said("count", text, said, row.line)


def _bandwidths(row: Row, each: Timing, factor: float) -> Iterator[Said]:
    """Both bandwidths against size over time, within what printing rounds off."""
    slow, fast = each.time_us + each.step_us, max(each.time_us - each.step_us, each.step_us / 2)
    for name, printed, times in (
        ("algbw", each.algorithm_gbytes_per_s, 1.0),
        ("busbw", each.bus_gbytes_per_s, factor),
    ):
        low, high = (times * row.size / (t * MICRO) / GIGA for t in (slow, fast))
        if not low - BANDWIDTH_STEP <= printed <= high + BANDWIDTH_STEP:
            said = {
                "name": name,
                "printed": f"{printed:g}",
                "right": f"{times * row.size / (each.time_us * MICRO) / GIGA:.2f}",
                "size": row.size,
                "time": f"{each.time_us:g}",
            }
            text = "%(name)s is %(printed)s, but %(size)s B in %(time)s us are %(right)s GB/s."
            yield Said(name, text, said, row.line)


def _summary(lines: Sequence[str], rows: Sequence[Row]) -> Iterator[Said]:
    """The average and the count of wrong values that the test prints last."""
    timings = [each.bus_gbytes_per_s for row in rows for each in row.timings]
    mean = math.fsum(timings) / len(timings)
    for number, line in enumerate(lines, start=1):
        if (found := AVERAGE.search(line)) and abs(float(found[1]) - mean) > BANDWIDTH_STEP:
            said = {"printed": found[1], "mean": f"{mean:.4g}"}
            text = "The average is %(printed)s, and of the rows here %(mean)s: some are missing."
            yield Said("average", text, said, number)
        if (found := OUT_OF_BOUNDS.search(line)) and found[2] == "FAILED":
            text = "%(count)s values came out wrong: no figure of this cluster counts for much."
            yield Said("corrupt", text, {"count": found[1]}, number)


def _failed(lines: Sequence[str]) -> Iterator[Said]:
    """The first line that says that the test did not end as it should."""
    for number, line in enumerate(lines, start=1):
        if FAILED.search(line):
            text = "The test failed: what it printed before counts for nothing."
            yield Said("failed", text, {}, number)
            return


def _no_rows(lines: Sequence[str]) -> BadPaste:
    if failed := next(_failed(lines), None):
        return bad_paste("failed", "The test failed before its first row.", {}, failed.line)
    text = (
        "There is no row of results in it: a row has size, count, type, time, algbw and busbw, "
        "as all_reduce_perf prints."
    )
    return bad_paste("no_rows", text)

"""A pasted text as plain parts between bars: lines, cells of tables, answers beside their words.

"| NVLink | No |" is "NVLink: No"; a table is a listing a row, each cell behind its heading; and a
unit in a heading goes to its number, "InfiniBand (Gb/s) 3200".
"""

import re
from collections.abc import Iterator

from scrapers.quantities import fold

_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_LINES = re.compile(r"[\n\r\v\f•]+")
_RULE = re.compile(r"[-:|+= \t]+")
_ANSWER = re.compile(
    r"((?:NVLink|NVSwitch|InfiniBand|RDMA|RoCE|EFA|SHARP|RDMA network)[\w ]{0,16}?) ?[|;] ?"
    r"(yes|no|true|false|(?:not )?supported|included|none|n/a|✓|✔|✗|✘|-)(?= ?(?:[|;\"]|$))",
    re.IGNORECASE,
)
_UNIT_AHEAD = re.compile(
    r"((?:InfiniBand|RDMA|RoCE|EFA|NVLink|Ethernet)[A-Za-z ]{0,24}?) ?"
    r"\(([GMT](?:bps|b/s|bit/s|B/s))\)\"?[:|]? ?([0-9][0-9,.]*(?: ?[x*] ?[0-9]+)?)(?![0-9])",
    re.IGNORECASE,
)


def unfolded(text: str) -> Iterator[str]:
    """Each listing of a text, in plain letters, its parts between bars."""
    if quoted := re.fullmatch(r'\s*"([^"]*)"\s*', text):
        text = quoted[1]
    lines = [fold(line) for line in _LINES.split(text.replace("\t", "|"))]
    for listing in _rows([line for line in lines if line and not _RULE.fullmatch(line)]):
        plain = _BREAK.sub(" | ", listing)
        yield _UNIT_AHEAD.sub(r"\1: \3 \2", _ANSWER.sub(r"\1: \2", plain))


def _rows(lines: list[str]) -> Iterator[str]:
    """The rows of a table with their headings; what is no table, its lines between bars."""
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    if len(cells) > 1 and all(_is_named(row) for row in cells):
        yield " | ".join(f"{name}: {cell}" for name, cell in cells)
        return
    if len(cells) < 2 or not _is_table(cells):
        yield " | ".join(lines)
        return
    headings, *rows = cells
    for row in rows:
        named = zip(headings, row, strict=True)
        yield " | ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _is_named(row: list[str]) -> bool:
    """ "| RAM | 2 TB |": a word and what it is."""
    return len(row) == 2 and re.fullmatch(r"[A-Za-z][A-Za-z ()/]*", row[0]) is not None


LEAST_CELLS = 3


def _is_table(cells: list[list[str]]) -> bool:
    """Rows of one length, enough cells, under words with few figures."""
    headings = cells[0]
    figures = sum(bool(re.search("[0-9]", name)) for name in headings)
    same = len({len(row) for row in cells}) == 1
    return same and len(headings) >= LEAST_CELLS and figures * 3 <= len(headings)

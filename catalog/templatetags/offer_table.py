"""The table of offers: its headings, and its rows as one string.

As template nodes the rows would cost twice the time (`templatetags.cells`).
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from operator import itemgetter

from django import template
from django.utils.safestring import SafeString

from catalog import offers
from catalog.columns import COLUMNS, Column
from catalog.currency import Money
from catalog.presets import Picked, pick_of
from catalog.templatetags.cells import (
    CELLS,
    DOLLARS,
    HARDWARE,
    OF_HARDWARE,
    PRICED,
    instance_href,
)
from catalog.templatetags.quantities import Row, named, safe, today
from catalog.wording import gettext, language, once_a_language

register = template.Library()
HEAD = 'scope="col" role="columnheader"'
MOST_KEPT = 2048  # some 10 MB


@register.simple_tag
def heads(
    columns: Sequence[Column],
    sorts: Mapping[str, Mapping[str, str]],
    by_region: bool,
    money: Money = DOLLARS,
) -> SafeString:
    """The headings: each that sorts is a link, and only the leading one says which way."""
    compare = f'<th {HEAD} class="pk"><span class="vh">{gettext("Compare")}</span></th>'
    said = [] if by_region else [compare]
    said.append(_head("instance_type", gettext("Instance type"), "", "", sorts))
    for column in columns:
        title, small = _heading(column.name, money)
        if by_region and column.name == "usd_per_gpu_hour":
            small = gettext("each region")
        look = ' class="n"' if column.numeric else ""
        said.append(_head(column.name, title, small, look, sorts))
    return safe("\n".join(said))


@once_a_language
def _heading(name: str, money: Money) -> tuple[str, str]:
    column = COLUMNS[name]
    return money.heading(column.title), str(column.small)


def _head(
    name: str, title: str, small: str, look: str, sorts: Mapping[str, Mapping[str, str]]
) -> str:
    beneath = f"<small>{small}</small>" if small else ""
    if name not in sorts:
        return f"<th {HEAD}{look}><span>{title}{beneath}</span></th>"
    sort = sorts[name]
    way = f' aria-sort="{sort["aria"]}"' if sort["aria"] else ""
    href = escape(sort["href"])
    return (
        f'<th {HEAD}{look}{way}><a id="s-{name}" href="{href}">{title} {sort["arrow"]}'
        f"{beneath}</a></th>"
    )


@register.simple_tag
def offer_rows(
    rows: Iterable[offers.Row],
    columns: Sequence[Column],
    picks: Iterable[Picked],
    by_region: bool,
    money: Money = DOLLARS,
) -> SafeString:
    """The rows of the table: as template nodes they would cost twice the time."""
    rows = list(rows)
    if not rows:
        return safe("")
    picked, seen = {each.value for each in picks}, set[str]()
    compare = gettext("Compare")
    cells = _Cells(rows[0], tuple(column.name for column in columns), money)
    said = []
    for row in rows:
        said.append('<tr role="row">')
        if not by_region:
            said.append(_tick(row, compare, picked, seen))
        said.append(_name(row, money))
        said += cells.of(row)
        said.append("</tr>\n")
    return safe("".join(said))


# Most rows are of much the same hardware: cells of the same values look alike, in a language, for
# a day.
_kept: dict[tuple[object, ...], list[str]] = {}


class _Cells:
    """The cells of the rows of one page, all of the same keys."""

    def __init__(self, row: offers.Row, names: tuple[str, ...], money: Money) -> None:
        self.money = money
        self.shown = list(zip(names, _openings(names, money), strict=True))
        self.of_offers = [(at, name) for at, name in enumerate(names) if name not in OF_HARDWARE]
        self.like = (names, language(), today(), money)
        places = {name: place for place, name in enumerate(row)}
        self.hardware = itemgetter(*(places[name] for name in HARDWARE))

    def of(self, row: offers.Row) -> list[str]:
        """One row's: those of its hardware as they are kept, the others anew."""
        key = (self.like, self.hardware(row.read))
        if (cells := _kept.get(key)) is None:
            if len(_kept) >= MOST_KEPT:
                _kept.clear()
            cells = _kept[key] = [
                f"{opening}{CELLS[name](row)}</td>\n" if name in OF_HARDWARE else opening
                for name, opening in self.shown
            ]
        cells = cells.copy()
        for at, name in self.of_offers:
            cell = PRICED[name](row, self.money) if name in PRICED else CELLS[name](row)
            cells[at] += f"{cell}</td>\n"
        return cells


@once_a_language
def _openings(names: tuple[str, ...], money: Money) -> tuple[str, ...]:
    """The tag that opens each cell: how it looks as a column and on a phone's card."""
    shown = [COLUMNS[name] for name in names]
    labels = [
        f' data-l="{escape(money.heading(each.label))}"' if each.label else "" for each in shown
    ]
    return tuple(
        f'<td role="cell" class="{each.look}"{label}>'
        for each, label in zip(shown, labels, strict=True)
    )


def _tick(row: Row, compare: str, picked: set[str], seen: set[str]) -> str:
    """The box that picks a row; one alone where several sellers list the same."""
    value = pick_of(row)
    if value in seen:
        return '<td role="cell" class="pk"></td>'
    seen.add(value)
    ticked = " checked" if value in picked else ""
    label = escape(f"{compare}{gettext(': ')}{row['provider_title']} {row['instance_type']}")
    return (
        f'<td role="cell" class="pk" data-l="{compare}"><input type="checkbox" name="pick" '
        f'form="filters" id="p{row["offer_id"]}" value="{escape(value)}" aria-label="{label}"'
        f"{ticked}></td>"
    )


def _name(row: Row, money: Money) -> str:
    """Who sells it, and its name as the link to its page."""
    seller = str(named(row["provider_title"]))
    if row["via"]:
        seller += " · " + gettext("via %(via)s") % {"via": named(row["via"])}
    if row["tier"]:
        seller += f" · {named(row['tier'])}"
    return (
        f'<th scope="row" role="rowheader" class="nmc"><small>{seller}</small>'
        f'<a class="nm" href="{instance_href(row, money)}">{named(row["instance_type"])}</a></th>\n'
    )

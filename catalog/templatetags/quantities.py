"""How a value looks: its digits, how sure it is, and what stands where nobody says.

Values that have much to say are HTML, written as strings since a page has hundreds of them;
whatever comes from outside goes through `escape` first. `cells` makes the cells of a row of these.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from html import escape
from itertools import starmap
from typing import Any

from django import template
from django.conf import settings
from django.utils.safestring import SafeString

from catalog import charts, phrases, wording
from catalog.citations import Citation, citations
from catalog.columns import Column, Words
from catalog.currency import DOLLAR, Money, places
from catalog.freshness import FACTS
from catalog.presets import Choice, Facet, Option
from catalog.wording import gettext

register = template.Library()
Row = Mapping[str, Any]


def safe(html: str) -> SafeString:
    """HTML that this module has put together from escaped parts."""
    return SafeString(html)  # what mark_safe makes, which looks for lazy text first


# Letters that are written from right to left, and signs that turn the direction of what follows.
TURNING = re.compile(
    "[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufeff"
    "\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


@register.filter
def named(text: object) -> SafeString:
    """A name that someone else gave: what turns the direction of writing turns nothing else."""
    said = "" if text is None else str(text)
    if said.isascii() or not TURNING.search(said):
        return safe(escape(said))
    return safe(f"<bdi>{escape(said)}</bdi>")


# --- Digits -----------------------------------------------------------------------------------


@register.filter
def number(value: Any) -> str:
    """400, 1,391, 12.5, 0.125: no unit, at most three decimals, none that are zero."""
    if value is None:
        return ""
    amount = float(value)
    if amount == int(amount):
        return f"{amount:,.0f}"
    return f"{amount:,.{3 if abs(amount) < 1 else 2}f}".rstrip("0").rstrip(".")


@register.filter
def dollars(value: Any, code: str = DOLLAR) -> str:
    """Two decimals, so that a column lines up; four under ten cents. The heading has the sign.

    Of another currency as many as it has: yen have none.
    """
    if value is None:
        return ""
    amount = float(value)
    return f"{amount:,.4f}" if amount < 0.1 else f"{amount:,.{places(amount, code)}f}"


def own_price(offer: Row) -> str:
    """What the provider asks in its own money; escaped."""
    code = offer["native_currency"] or ""
    return f"{dollars(offer['native_amount'], code)} {escape(code)}"


@register.filter
def percent(value: Any) -> str:
    """A share as a whole number of hundredths, without its sign."""
    return "" if value is None else f"{100 * float(value):.0f}"


@register.filter
def share(value: Any) -> str:
    """A share in hundredths with one decimal, so that it can be held against the API's."""
    return "" if value is None else f"{100 * float(value):.1f}"


@register.filter
def figure(value: Any) -> str:
    """Three digits that matter, for estimates: 0.497, 11.8, 2,368."""
    if value is None:
        return ""
    amount = float(value)
    size = abs(amount)
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{amount:,.{places}f}"


@register.filter
def price(value: Any, code: str = DOLLAR) -> str:
    """Of a unit of work: three decimals under ten dollars, so that a column lines up."""
    if value is None:
        return ""
    amount = float(value)
    return f"{amount:,.3f}" if amount < 10 else f"{amount:,.{places(amount, code)}f}"


@register.filter
def duration(seconds: Any) -> str:
    """11.8 s, 45 ms, 12 µs."""
    amount = float(seconds or 0)
    if amount == 0:
        return "0 s"
    if amount < 1e-3:
        return f"{figure(1e6 * amount)} µs"
    return f"{figure(1000 * amount)} ms" if amount < 1 else f"{figure(amount)} s"


@register.filter
def in_money(heading: str, money: Money) -> str:
    """A heading that says dollars, in the money of the page."""
    return money.heading(heading)


# --- Age --------------------------------------------------------------------------------------


def today() -> date:
    """The day by UTC."""
    return datetime.now(UTC).date()


def day_of(moment: date | datetime | str | None) -> date | None:
    """The day of a date, a time, or the ISO text of either."""
    if isinstance(moment, str):
        return date.fromisoformat(moment[:10])
    return moment.date() if isinstance(moment, datetime) else moment


@register.filter
def age(moment: date | datetime | str | None) -> str:
    """102 d below a year, then 1.2 y."""
    day = day_of(moment)
    if day is None:
        return ""
    days = max((today() - day).days, 0)
    if days < 365:
        return gettext("%(days)d d") % {"days": days}
    return gettext("%(years).1f y") % {"years": days / 365.25}


@register.filter
def since(moment: date | datetime | str | None) -> SafeString:
    """An age with its date behind it."""
    day = day_of(moment)
    if day is None:
        return safe("")
    return safe(f'<time datetime="{day}" title="{day}">{age(day)}</time>')


@register.filter
def ages(newest: datetime | None, oldest: datetime | None) -> SafeString:
    """The age of the newest of several, and of the oldest where that is of another day."""
    if day_of(newest) == day_of(oldest):
        return since(newest)
    return safe(f"{since(newest)} – {since(oldest)}")


@register.filter
def checked(moment: date | str | None) -> SafeString:
    """When a fact was last checked; with the clock mark where that is too long ago."""
    day = day_of(moment)
    if day is None:
        return safe(f'<span class="na">{gettext("never")}</span>')
    return old(day) if today() - day > FACTS else since(day)


def old(moment: date | datetime | str, label: str = "") -> SafeString:
    """An age that is past its limit."""
    label = label or gettext("stale")
    return safe(f'<span class="old">{mark("stale", label)}{since(moment)}</span>')


# --- How sure ---------------------------------------------------------------------------------


@register.simple_tag
def mark(kind: str, label: str = "") -> SafeString:
    """The shape of a kind of value. Without a label it is decoration beside a word."""
    name = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return safe(f'<svg class="m" {name}><use href="#{kind}"/></svg>')


@register.simple_tag
def unknown() -> SafeString:
    """Nobody says: never zero, never "no"."""
    return safe(f'<span class="unk"><b>{gettext("unknown")}</b></span>')


NOT_APPLICABLE = '<span class="na">—</span>'


def evidence_of(row: Row, *names: str) -> Mapping[str, Any]:
    """What is said of the first attribute of a row of which a value is known."""
    evidence = row.get("evidence") or {}
    for name in names:
        said = evidence.get(name)
        if said and said.get("value") is not None:
            return said  # type: ignore[no-any-return]
    return {}


def marked(text: str, said: Mapping[str, Any], *, after: bool = False) -> str:
    """A value with the mark of its basis: before a number, after a word; documented has none.

    One that sources disagree on has the mark of that.
    """
    if said.get("disputed"):
        return either([text], after=after)
    kind = said.get("basis")
    if kind is None or kind == "documented":
        return text
    title = escape(phrases.said(str(said.get("source", ""))))
    sign = mark(kind, wording.basis(kind))
    if after:
        return f'<span class="w" title="{title}">{text}{sign}</span>'
    return f'<span class="{"est" if kind == "derived" else ""}" title="{title}">{sign}{text}</span>'


def disputed_numbers(said: Mapping[str, Any]) -> list[float]:
    """The values that sources of the strongest basis give, the lower first."""
    if not said.get("disputed"):
        return []
    claims: Iterable[Mapping[str, Any]] = said.get("claims") or ()
    peers = [
        c["value"] for c in claims if c.get("basis") == said.get("basis") and not c.get("scope")
    ]
    return sorted({float(value) for value in (*peers, said.get("value")) if is_number(value)})


def numbered(value: Any, said: Mapping[str, Any]) -> str:
    """A number with the mark of its basis; where sources disagree, all that they give."""
    values = disputed_numbers(said)
    return either(values) if len(values) > 1 else marked(number(value), said)


def is_number(value: object) -> bool:
    """Whether a claim's value is a number, or the text of one."""
    return value is not None and str(value).replace(".", "", 1).isdigit()


def either(values: Iterable[float | str], *, after: bool = False) -> str:
    """Values that sources disagree on: all of them, the lower first; one alone beside the mark."""
    sign = mark("disputed", gettext("disputed"))
    title = gettext("Sources disagree; the model uses the lower value")
    first, *others = (v if isinstance(v, str) else number(v) for v in values)
    ends = [first, *others] if others else [first, ""] if after else ["", first]
    return f'<span class="dis" title="{title}">{f" {sign}".join(ends).strip()}</span>'


# --- Words ------------------------------------------------------------------------------------


@register.simple_tag
def word(field: str, value: object) -> str:
    """A value of a closed list as people write it."""
    return wording.word(field, value)


@register.filter
def gpu_name(slug: str | None) -> str:
    """A GPU's slug as people write it, with its memory."""
    return wording.gpu(slug, memory=True) if slug else ""


# --- Links and controls -----------------------------------------------------------------------


@register.simple_tag
def facet_boxes(facet: Facet, fragment: object = False) -> SafeString:
    """The boxes of one facet, the unknown last and apart; for htmx, to stand where they stood."""
    kind = "radio" if facet.one else "checkbox"
    boxes = [_option(option, kind, escape(option.text)) for option in facet.options]
    if folded := facet.folded:
        first = len(boxes) - len(folded)
        said = gettext("%(shown)d of %(all)d, show all") % {"shown": first, "all": len(boxes)}
        wide = " open" if any(option.chosen for option in folded) else ""
        rest = "".join(boxes[first:])
        boxes[first:] = [f'<details{wide}><summary class="s">{said}</summary>{rest}</details>']
    if facet.unknown:
        boxes.append(_option(facet.unknown, "checkbox", unknown(), " sep"))
    swap = ' hx-swap-oob="true"' if fragment else ""
    return safe(
        f'<fieldset id="facet-{facet.name}"{swap}><legend>{escape(facet.title)}</legend>'
        f"{''.join(boxes)}</fieldset>\n"
    )


def _option(option: Option, kind: str, text: str, apart: str = "") -> str:
    ticked = " checked" if option.chosen else ""
    count = "" if option.count is None else number(option.count)
    return (
        f'<label class="opt{apart}"><input type="{kind}" name="{option.parameter}" '
        f'id="{option.parameter}-{escape(option.value)}" value="{escape(option.value)}"{ticked}> '
        f"{text} <span>{count}</span></label>"
    )


@register.simple_tag
def choice(gap: Choice) -> SafeString:
    """A gap of the sentence that a bare page begins with."""
    options = "".join(
        f'<option value="{escape(value)}">{escape(text)}</option>' for value, text in gap.options
    )
    return safe(
        f'<label class="s nw">{gap.label} <select id="f-{gap.name}" name="{gap.name}">'
        f"{options}</select></label>"
    )


@register.simple_tag
def column_boxes(title: Words, columns: Iterable[tuple[Column, bool]], money: Money) -> SafeString:
    """A group of the column picker."""
    boxes = "".join(
        f'<label class="opt"><input type="checkbox" name="cols" value="{column.name}" '
        f'id="col-{column.name}"{" checked" if shown else ""}> '
        f"{money.heading(column.title)}</label>"
        for column, shown in columns
    )
    return safe(f"<fieldset><legend>{title}</legend>{boxes}</fieldset>")


# --- Pages other than the offers --------------------------------------------------------------


@register.simple_tag
def word_basis(kind: str) -> str:
    """How a value is known, as a word."""
    return wording.basis(kind)


@register.filter
def whole(value: Any) -> str:
    """No decimals."""
    return "" if value is None else f"{float(value):,.0f}"


@register.filter
def interval(span: timedelta) -> str:
    """6 h, 3 d."""
    hours = span.total_seconds() / 3600
    if hours < 48 and hours % 24:
        return gettext("%(n)s h") % {"n": number(hours)}
    return gettext("%(n)s d") % {"n": number(hours / 24)}


@register.filter
def meter(share: float) -> SafeString:
    """A share of one as a bar; its number stands beside it."""
    return charts.meter(share)


@register.filter
def said(text: str | None) -> str:
    """A sentence of a layer that knows no language, in the reader's."""
    return phrases.said(text or "")


@register.filter
def told(text: str | None) -> SafeString:
    """The same as HTML: what stays English is marked as that for who reads aloud."""
    there = said(text)
    return safe(escape(there) if there != text else f'<span lang="en">{escape(there)}</span>')


@register.filter
def source_link(text: str | None) -> SafeString:
    """Each source of a text as a link where it leads anywhere, its address for who looks."""
    return cited(citations(text))


@register.filter
def cited(sources: Iterable[Citation]) -> SafeString:
    """Sources in their order."""
    return safe(escape(gettext("; ")).join(starmap(_cited, sources)))


def _cited(name: str, href: str) -> str:
    if not href:
        return escape(name)
    # Paper has no host that a path could belong to.
    at = f' data-at="{escape(settings.PUBLIC_URL + href)}"' if href.startswith("/") else ""
    return f'<a class="src" href="{escape(href)}"{at} title="{escape(href)}">{escape(name)}</a>'

"""Small charts as SVG: where a value stands, what prices there are, where a step's time goes.

Drawn for 330 to 360 units of width, so that text of 11 units can be read on a phone. Sizes are
attributes and colours are classes, since the page's policy allows no style in an element.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from statistics import median_low
from unicodedata import category, east_asian_width

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from catalog.currency import Money

WIDTH = 360
DOLLARS = Money()
TEXT = 11  # [units] height of a sign, as the style sheet sets it
# Widths of signs over their height, in the widest of the sans fonts that readers have.
SIGNS = {"Lu": 0.72, "Ll": 0.62, "Nd": 0.64}
OTHER, SYMBOL, SQUARE, BOLD = 0.42, 0.84, 1.0, 1.12
PARTS = re.compile(r"(?<=[\s_-])")
TICK = 4  # [units] from the label of an axis to the axis


def text_width(said: str, *, bold: bool = False) -> float:
    """About how wide text is in a drawing [units]: rather too much than too little."""
    return TEXT * sum(map(_sign_width, said)) * (BOLD if bold else 1)


def _sign_width(sign: str) -> float:
    if (wide := east_asian_width(sign)) in "WF":
        return SQUARE
    if sign in "mwMW%":
        return 1.0
    return SYMBOL if wide == "A" else SIGNS.get(category(sign), OTHER)


def kept_in(middle: float, half: float, width: float) -> float:
    """The middle of a text of that half width, moved until all of it is on the paper."""
    return min(max(middle, half + 1), width - half - 1)


def margin(labels: Iterable[str], least: float = 0) -> float:
    """How far from the edge an axis stands, so that the widest of its labels fits before it."""
    return max(math.ceil(max(map(text_width, labels), default=0)) + TICK + 1, least)


def wrapped(said: str, width: float) -> list[str]:
    """Text as lines of at most that many units, broken where a word or a part of a name ends."""
    lines = [""]
    for part in PARTS.split(said):
        if lines[-1] and text_width(f"{lines[-1]}{part.rstrip()}") > width:
            lines.append("")
        lines[-1] += part
    return [fitted(line.rstrip(), width) for line in lines]


def fitted(said: str, width: float, *, bold: bool = False) -> str:
    """Text, cut where it would be wider than that many units."""
    if text_width(said, bold=bold) <= width:
        return said
    ends = range(len(said), 0, -1)
    return next((f"{cut}…" for end in ends if text_width(f"{(cut := said[:end].rstrip())}…",
                 bold=bold) <= width), "…")  # fmt: skip


@dataclass(slots=True)
class Drawing:
    """Shapes in the order that they are painted."""

    shapes: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, w: float, h: float, look: str, rx: float = 4) -> None:
        """A rectangle."""
        self.shapes.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{rx:g}" class="{look}"/>'
        )

    def line(self, path: str, look: str, width: float = 1) -> None:
        """A path that is not filled."""
        self.shapes.append(f'<path d="{path}" class="fn {look}" stroke-width="{width:.3g}"/>')

    def text(self, x: float, y: float, said: str, look: str = "") -> None:
        """A word or two."""
        self.shapes.append(f'<text x="{x:g}" y="{y:g}" class="{look}">{escape(said)}</text>')

    def dot(self, x: float, y: float, r: float, look: str) -> None:
        """A filled circle."""
        self.shapes.append(f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" class="{look}"/>')

    def svg(self, height: float, look: str, title: str, width: float = WIDTH) -> SafeString:
        """The drawing, with the finding that it shows for those who cannot see it."""
        return mark_safe(  # noqa: S308 -- every text above is escaped
            f'<svg class="plot {look}" viewBox="0 0 {width:g} {height:g}" role="img" '
            f'aria-label="{escape(title)}">{"".join(self.shapes)}</svg>'
        )


# --- Where a value stands among all -----------------------------------------------------------

STRIP = 330
STRIP_TOP, STRIP_AXIS = 20, 108  # dots stand between; above them is the name of this one
DOT = 4  # from dot to dot of one pile, where it is not too high for that
BIN = 5
GAP = 6  # at least, between two labels


def cliff_strip(all_of: Iterable[float], this: float | None, finding: str) -> SafeString:
    """Every type's cliff as a dot on a log axis; this one marked."""
    values = sorted(value for value in all_of if value > 0)
    low, high = min(values, default=1), max(values, default=1000)
    start, end = math.log10(low) - 0.05, math.log10(max(high, low * 10)) + 0.05

    def at(value: float) -> float:
        return 8 + (STRIP - 16) * (math.log10(value) - start) / (end - start)

    def bin_of(value: float) -> int:
        return round(at(value) / BIN) * BIN

    drawing, piles = Drawing(), dict[int, int]()
    ticks = log_ticks(10**start, 10**end)
    for tick in ticks:
        drawing.line(f"M{at(tick):.1f} {STRIP_TOP}V{STRIP_AXIS}", "sl")
    for tick in labelled(ticks, at):
        drawing.text(round(at(tick), 1), STRIP_AXIS + 14, tick_text(tick), "q mid")
    for value in values:
        piles[bin_of(value)] = piles.get(bin_of(value), 0) + 1
    step = min(DOT, (STRIP_AXIS - STRIP_TOP - 4) / max(piles.values(), default=1))
    for place, height in piles.items():
        for n in range(height):
            drawing.dot(place, round(STRIP_AXIS - 4 - step * n, 2), 1.8, "fw")
    if this:
        x, said = bin_of(min(max(this, low), high)), cliff_name(this)
        half = text_width(said, bold=True) / 2
        drawing.line(f"M{x} {STRIP_AXIS}V{STRIP_TOP - 4}", "so", 1.5)
        drawing.dot(x, STRIP_AXIS - 4, 4, "fo")
        drawing.text(round(kept_in(x, half, STRIP), 1), 12, said, "tout b mid")
    return drawing.svg(STRIP_AXIS + 20, "strip", finding, STRIP)


def cliff_name(this: float) -> str:
    """What the mark of this type says."""
    return gettext("this one %(n)s×") % {"n": f"{round(this):,}"}


def cliff_said(all_of: Iterable[float], this: float | None) -> str:
    """What the strip shows, as a sentence or two: its ends, its middle, and where this one is."""
    values = sorted(value for value in all_of if value > 0)
    if not values:
        return ""
    said = gettext("From %(low)s× to %(high)s×; half of them at most %(middle)s×.") % {
        "low": f"{round(values[0]):,}", "high": f"{round(values[-1]):,}",
        "middle": f"{round(median_low(values)):,}",
    }  # fmt: skip
    if not this:
        return said
    steeper = sum(round(value) > round(this) for value in values)
    beside = ngettext(
        "%(n)s is steeper than this one.", "%(n)s are steeper than this one.", steeper
    ) % {"n": f"{steeper:,}"}
    return f"{said} {beside}"


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each power of ten between."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**n for n in powers for m in (1, 2, 5) if low <= m * 10.0**n <= high]


def labelled(ticks: Sequence[float], at: Callable[[float], float]) -> list[float]:
    """Those of the ticks that have room for what they say: powers of ten before halves of them."""
    kept: list[float] = []
    for tick in sorted(ticks, key=lambda tick: (1, 5, 2).index(round(tick / _power(tick)))):
        half = text_width(tick_text(tick)) / 2
        free = all(
            abs(at(tick) - at(other)) >= half + text_width(tick_text(other)) / 2 + GAP
            for other in kept
        )
        if free and kept_in(at(tick), half, STRIP) == at(tick):
            kept.append(tick)
    return sorted(kept)


def _power(tick: float) -> float:
    return 10.0 ** math.floor(math.log10(tick) + 1e-9)


def tick_text(tick: float) -> str:
    """1,000×, 0.5×."""
    return f"{tick:,.12g}×"


# --- Prices by region ---------------------------------------------------------------------------

PRICES = 360
NAMES, CIRCLES = (12, 27), 44  # [units] from the top: two lines of names, then the prices


def price_strip(
    on_demand: Sequence[tuple[str, float]], spot: Sequence[float], money: Money = DOLLARS
) -> SafeString:
    """Prices of a GPU-hour by region: circles on demand, triangles spot; the ends labelled."""
    drawing = Drawing()
    highest = max([price for _, price in on_demand] + list(spot), default=1)
    steps = (m * 10.0**n for n in range(-6, 9) for m in (1, 2.5, 5))
    step = next(step for step in steps if highest / step <= 6)
    end = step * max(math.ceil(highest / step), 1)

    def at(price: float) -> float:
        return 20 + (PRICES - 40) * price / end

    drawing.line(f"M20 {CIRCLES + 28}H{PRICES - 20}", "sl")
    for index in range(round(end / step) + 1):
        drawing.line(f"M{at(index * step):.1f} {CIRCLES - 12}V{CIRCLES + 32}", "sl")
        tick = money.said(f"{index * step:,.12g}")
        drawing.text(round(at(index * step), 1), CIRCLES + 46, tick, "q mid")
    for _, price in on_demand:
        drawing.shapes.append(
            f'<circle cx="{at(price):.1f}" cy="{CIRCLES}" r="4" class="fn sk" stroke-width="1.2"/>'
        )
    drawing.shapes += [
        f'<path d="M{at(price):.1f} {CIRCLES + 15}l4 7h-8z" class="fw"/>' for price in spot
    ]
    _ends(drawing, on_demand, at, money)
    signs = [f"○ {gettext('on demand')}", *([f"▲ {gettext('spot')}"] if spot else [])]
    drawing.text(PRICES - 20, CIRCLES + 64, " · ".join(signs), "q e")
    regions = len({name for name, _ in on_demand})
    title = ngettext(
        "Price of a GPU-hour in %(n)d region", "Price of a GPU-hour in %(n)d regions", regions
    ) % {"n": regions}
    return drawing.svg(CIRCLES + 68, "strip prices", title, PRICES)


def _ends(
    drawing: Drawing,
    on_demand: Sequence[tuple[str, float]],
    at: Callable[[float], float],
    money: Money,
) -> None:
    """The lowest and the highest by name, each above its circle; one line for both if they fit."""
    if not on_demand:
        return
    by_price = sorted(on_demand, key=lambda pair: pair[1])
    (low_name, low), (high_name, high) = by_price[0], by_price[-1]
    names = [_end(gettext("lowest"), low_name, money.priced(low))]
    if high > low:
        names.append(_end(gettext("highest"), high_name, money.priced(high)))
    halves = [text_width(name, bold=True) / 2 for name in names]
    places = [
        kept_in(at(price), half, PRICES) for price, half in zip((low, high), halves, strict=False)
    ]
    apart = len(names) == 1 or places[1] - places[0] >= sum(halves) + GAP
    for place, name, y in zip(places, names, (NAMES[1],) * 2 if apart else NAMES, strict=False):
        drawing.text(round(place, 1), y, name, "b mid")


def _end(which: str, name: str, price: str) -> str:
    """Lowest: oslo $2.00; of a long name as much as a line holds, of the price all."""
    before, after = f"{which}: ", f" {price}"
    room = PRICES - GAP - text_width(before + after, bold=True)
    return f"{before}{fitted(name, room, bold=True)}{after}"


# --- In a cell ----------------------------------------------------------------------------------


def small(width: int, height: int) -> str:
    """The opening of a drawing of that size, all of which is shown where paper has less room."""
    return f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"'


def whisker(low: float, value: float, high: float, axis: tuple[float, float]) -> SafeString:
    """Low to high with a dot at the expected, on a log axis that the whole column shares."""
    start, end = (math.log(max(edge, 1e-9)) for edge in axis)
    span = max(end - start, 1e-9)

    def at(amount: float) -> float:
        share = (math.log(max(amount, 1e-9)) - start) / span
        return 6 + 108 * min(max(share, 0), 1)

    a, b, middle = at(low), at(high), at(value)
    return mark_safe(  # noqa: S308 -- numbers alone
        f'{small(120, 14)} aria-hidden="true"><path d="M0 7H120" class="sl"/>'
        f'<path d="M{a:.1f} 7H{b:.1f}" class="sk" stroke-width="1.5"/>'
        f'<path d="M{a:.1f} 3.5v7M{b:.1f} 3.5v7" class="sk"/>'
        f'<circle cx="{middle:.1f}" cy="7" r="3.5" class="fi"/></svg>'
    )


BAR = 120  # [px] a whole step


def shares(compute: float, inside: float, between: float, idle: float) -> SafeString:
    """Where a step's time goes: grey, blue, orange, hollow; always in that order."""
    total = compute + inside + between + idle or 1.0
    parts = ((compute, "fw"), (inside, "fi"), (between, "fo"))
    x, shapes = 0.0, []
    for amount, look in parts:
        width = BAR * amount / total
        shapes.append(f'<rect x="{x:.1f}" y="2" width="{width:.1f}" height="14" class="{look}"/>')
        x += width
    if (rest := BAR - x) > 1.5:
        shapes.append(
            f'<rect x="{x + 0.5:.1f}" y="2.5" width="{rest - 1:.1f}" height="13" class="fn se"/>'
        )
    said = gettext(
        "compute %(a).0f %%, waiting in the domain %(b).0f %%, waiting on the fabric %(c).0f %%, "
        "bubble and jitter %(d).0f %%"
    ) % {
        "a": 100 * compute / total, "b": 100 * inside / total,
        "c": 100 * between / total, "d": 100 * idle / total,
    }  # fmt: skip
    return mark_safe(  # noqa: S308 -- numbers and our own words
        f'{small(BAR, 18)} role="img" aria-label="{escape(said)}">{"".join(shapes)}</svg>'
    )


def meter(share: float) -> SafeString:
    """A share of one as a bar; its number stands beside it."""
    return mark_safe(  # noqa: S308 -- a number
        f'{small(90, 10)} aria-hidden="true"><rect width="90" height="10" rx="2" '
        f'class="fs2"/><rect width="{90 * share:.1f}" height="10" rx="2" class="fw"/></svg>'
    )

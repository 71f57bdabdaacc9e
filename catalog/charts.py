"""Small charts as SVG: where a value stands, what prices there are, where a step's time goes.

Drawn for 330 to 360 units of width, so that text of 11 units can be read on a phone. Sizes are
attributes and colours are classes, since the page's policy allows no style in an element.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

WIDTH = 360


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


def cliff_strip(all_of: Iterable[float], this: float | None) -> SafeString:
    """Every type's cliff as a dot on a log axis; this one marked."""
    values = sorted(value for value in all_of if value > 0)
    low, high = min(values, default=1), max(values, default=1000)
    start, end = math.log10(low) - 0.05, math.log10(max(high, low * 10)) + 0.05

    def at(value: float) -> float:
        return 8 + 305 * (math.log10(value) - start) / (end - start)

    drawing, stacked = Drawing(), dict[int, int]()
    for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000):
        if low <= tick <= high:
            drawing.line(f"M{at(tick):.1f} 8V100", "sl")
            if str(tick)[0] in "15":
                drawing.text(round(at(tick), 1), 114, f"{tick}×", "q mid")
    for value in values:
        place = round(at(value) / 5) * 5
        stacked[place] = height = stacked.get(place, 0) + 1
        if height <= 22:
            drawing.dot(place, 100 - 4 * height, 1.8, "fw")
    title = gettext("Cliff of %(n)d instance types") % {"n": len(values)}
    if this:
        x = round(at(min(max(this, low), high)) / 5) * 5
        drawing.line(f"M{x} 100V8", "so", 1.5)
        drawing.dot(x, 96, 4, "fo")
        side = ("e", x - 6) if x > 230 else ("", x + 6)
        drawing.text(
            side[1], 14, gettext("this one %(n)s×") % {"n": round(this)}, f"tout b {side[0]}"
        )
        title += gettext("; this one is %(n)s to 1") % {"n": round(this)}
    return drawing.svg(118, "strip", title, 330)


def price_strip(on_demand: Sequence[tuple[str, float]], spot: Sequence[float]) -> SafeString:
    """Prices of a GPU-hour by region: circles on demand, triangles spot; the ends labelled."""
    drawing = Drawing()
    highest = max([price for _, price in on_demand] + list(spot), default=1)
    step = next(s for s in (0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 1e9) if highest / s <= 6)
    end = step * math.ceil(highest / step)

    def at(price: float) -> float:
        return 20 + 660 * price / end

    drawing.line("M20 62H680", "sl")
    for index in range(round(end / step) + 1):
        drawing.line(f"M{at(index * step):.1f} 20V66", "sl")
        drawing.text(round(at(index * step), 1), 80, f"${index * step:g}", "q mid")
    for _, price in on_demand:
        drawing.shapes.append(
            f'<circle cx="{at(price):.1f}" cy="34" r="4" class="fn sk" stroke-width="1.2"/>'
        )
    drawing.shapes += [f'<path d="M{at(price):.1f} 49l4 7h-8z" class="fw"/>' for price in spot]
    _ends(drawing, on_demand, at)
    signs = [f"○ {gettext('on demand')}", *([f"▲ {gettext('spot')}"] if spot else [])]
    drawing.text(680, 98, " · ".join(signs), "q e")
    regions = len(on_demand)
    title = ngettext(
        "Price of a GPU-hour in %(n)d region", "Price of a GPU-hour in %(n)d regions", regions
    ) % {"n": regions}
    return drawing.svg(102, "wideplot", title, 700)


def _ends(drawing: Drawing, on_demand: Sequence[tuple[str, float]], at: Any) -> None:
    if not on_demand:
        return
    (low_name, low), (high_name, high) = (
        min(on_demand, key=lambda pair: pair[1]),
        max(on_demand, key=lambda pair: pair[1]),
    )
    said = gettext("lowest"), gettext("highest")
    look = "b e" if at(low) > 350 else "b"
    drawing.text(round(at(low), 1), 16, f"{said[0]}: {low_name} ${low:,.2f}", look)
    if at(high) > at(low):  # above its circle, or where the other stands there already, beneath
        y = 16 if at(high) - at(low) > 300 else 52
        drawing.text(max(round(at(high), 1), 200), y, f"{said[1]}: {high_name} ${high:,.2f}", "b e")


# --- Estimates --------------------------------------------------------------------------------


def whisker(low: float, value: float, high: float, axis: tuple[float, float]) -> SafeString:
    """Low to high with a dot at the expected, on a log axis that the whole column shares."""
    start, end = (math.log(max(edge, 1e-9)) for edge in axis)
    span = max(end - start, 1e-9)

    def at(amount: float) -> float:
        share = (math.log(max(amount, 1e-9)) - start) / span
        return 6 + 108 * min(max(share, 0), 1)

    a, b, middle = at(low), at(high), at(value)
    return mark_safe(  # noqa: S308 -- numbers alone
        '<svg width="120" height="14" aria-hidden="true"><path d="M0 7H120" class="sl"/>'
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
        f'<svg width="{BAR}" height="18" role="img" aria-label="{escape(said)}">'
        f"{''.join(shapes)}</svg>"
    )


def meter(share: float) -> SafeString:
    """A share of one as a bar; its number stands beside it."""
    return mark_safe(  # noqa: S308 -- a number
        '<svg width="90" height="10" aria-hidden="true"><rect width="90" height="10" rx="2" '
        f'class="fs2"/><rect width="{90 * share:.1f}" height="10" rx="2" class="fw"/></svg>'
    )

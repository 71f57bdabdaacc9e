"""Line charts as SVG: efficiency as a job grows, serving's frontier, prices over time.

Each line ends in its own name, has its own dash, and stands in a table beside the drawing. They are
drawn for 380 units of width, so that 11 units of text can be read on a phone.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext

from catalog.charts import TICK, Drawing, margin, text_width, wrapped

WIDTH = 380
# Of what is plotted: names stand to the right, what an axis says to the left, wider where it must.
LEFT, RIGHT, TOP, BOTTOM = 30.0, 228.0, 10.0, 180.0
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 3")
NOT_FITTING = "1 5"
STEP = 13  # between two lines of names, so that they can be read
NAME = RIGHT + 8  # where the names begin
Scale = Callable[[float], float]
Point = tuple[float, float]


def dash_of(index: int) -> str:
    """How the line of that number is drawn."""
    return DASHES[index % len(DASHES)]


def path(points: Iterable[Point]) -> str:
    """Straight from point to point."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _line(drawing: Drawing, points: Sequence[Point], index: int, dash: str | None = None) -> None:
    dash = dash_of(index) if dash is None else dash
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    drawing.shapes.append(f'<path d="{path(points)}" class="ln s{index + 1}"{dashed}/>')


def _names(drawing: Drawing, ends: Iterable[tuple[int, Point, str]]) -> None:
    """Each line's name at its end, none over another."""
    ordered = sorted(ends, key=lambda each: each[1][1])
    names = [wrapped(name, WIDTH - NAME) for _index, _end, name in ordered]
    places = [y + 4 for _index, (_x, y), _name in ordered]
    for n in range(1, len(places)):
        places[n] = max(places[n], places[n - 1] + STEP * len(names[n - 1]))
    lowest = BOTTOM + 4.0
    for n in reversed(range(len(places))):  # nor beneath the axis
        lowest -= STEP * len(names[n])
        places[n] = min(places[n], lowest + STEP)
    for (index, (x, y), _name), lines, place in zip(ordered, names, places, strict=True):
        drawing.shapes.append(f'<g class="s{index + 1}">')
        if x < RIGHT - 1 or abs(place - y - 4) > 3:  # a name that stands apart is led to its line
            led = path(((x + 2, y), (RIGHT + 6, place - 4)))
            drawing.shapes.append(f'<path d="{led}" class="fn" stroke="currentColor"/>')
        for n, line in enumerate(lines):
            drawing.text(NAME, round(place + STEP * n, 1), line, "lt")
        drawing.shapes.append("</g>")


def _frame(
    drawing: Drawing,
    xs: Iterable[tuple[float, str]],
    ys: Iterable[tuple[float, str]],
    under: str,
    left: float = LEFT,
) -> None:
    """Ticks of both axes with what they say, and what the horizontal one is."""
    for y, said in ys:
        drawing.line(f"M{left:g} {y:.1f}H{RIGHT:g}", "sl")
        drawing.text(left - TICK, round(y + 4, 1), said, "q e")
    for x, said in xs:
        drawing.text(round(x, 1), BOTTOM + 14, said, "q mid")
    drawing.text((left + RIGHT) / 2, BOTTOM + 28, under, "q mid")


def linear(low: float, high: float, start: float, end: float) -> Scale:
    """A straight scale."""
    span = (high - low) or 1.0
    return lambda value: start + (end - start) * (value - low) / span


def ticks(highest: float, most: int = 5) -> list[float]:
    """Round numbers from 0 to at least the highest."""
    rough = max(highest, 1e-9) / most
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 2.5, 5, 10) if size * each >= rough)
    return [step * n for n in range(math.ceil(highest / step - 1e-9) + 1)]


# --- As a job grows ---------------------------------------------------------------------------


def scaling(curves: Sequence[Mapping[str, Any]], finding: str) -> SafeString:
    """Fabric efficiency over GPUs: x by powers of two, y from 0 to 100 %.

    A curve has a `name`, `unknown` facts, `domain_gpus`, and `points` as `growth` makes them. Where
    something is unknown its range is an area; where a count does not fit the line is dotted. Its
    `measured` runs are hollow circles, of those counts that the axis has.
    """
    counts = sorted({point["gpus"] for curve in curves for point in curve["points"]})
    x_of = linear(math.log2(counts[0]), math.log2(max(counts[-1], 2 * counts[0])), LEFT, RIGHT)
    y_of = linear(0, 100, BOTTOM, TOP)
    drawing, ends = Drawing(), []
    powers = [2**n for n in range(18) if counts[0] <= 2**n <= counts[-1]]
    _frame(drawing, [(x_of(math.log2(n)), f"{n}") for n in powers],
           [(y_of(share), f"{share}") for share in (0, 25, 50, 75, 100)],
           gettext("GPUs"))  # fmt: skip
    _edges(drawing, curves, counts, x_of)
    for index, curve in enumerate(curves):
        at = {point["gpus"]: x_of(math.log2(point["gpus"])) for point in curve["points"]}
        fitting = [point for point in curve["points"] if point["fits"]]
        if not fitting:
            continue
        line = [(at[p["gpus"]], y_of(100 * p["fabric_efficiency"])) for p in fitting]
        if curve["unknown"]:
            high = [(at[p["gpus"]], y_of(100 * p["high"])) for p in fitting]
            low = [(at[p["gpus"]], y_of(100 * p["low"])) for p in reversed(fitting)]
            drawing.shapes.append(f'<path d="{path((*high, *low))}Z" class="band s{index + 1}"/>')
        _line(drawing, line, index)
        first, last = min(at.values()), max(at.values())
        for edge, (x, y) in ((first, line[0]), (last, line[-1])):
            if abs(edge - x) > 1:
                _line(drawing, [(edge, y), (x, y)], index, NOT_FITTING)
        ends.append((index, (last, line[-1][1]), str(curve["name"])))
        drawing.shapes += [
            f'<circle cx="{x_of(math.log2(run["gpus"])):.1f}" cy="{y_of(100 * run["share"]):.1f}" '
            f'r="4" class="ln s{index + 1}"/>'
            for run in curve.get("measured", ())
            if counts[0] <= run["gpus"] <= counts[-1] and run["share"] <= 1
        ]
    _names(drawing, ends)
    return drawing.svg(BOTTOM + 34, "big", finding, WIDTH)


def _edges(
    drawing: Drawing, curves: Iterable[Mapping[str, Any]], counts: Sequence[int], x_of: Scale
) -> None:
    """Where a job leaves the domain: beyond it the fabric is in the way."""
    edges = sorted({curve["domain_gpus"] for curve in curves})
    for n, edge in enumerate(edge for edge in edges if counts[0] < edge < counts[-1]):
        x = x_of(math.log2(edge))
        drawing.line(f"M{x:.1f} {TOP:g}V{BOTTOM:g}", "se dash")
        said = gettext("domain of %(n)d") % {"n": edge}
        start = min(x + 3, RIGHT - text_width(said))  # before the names, one above the other
        drawing.text(round(start, 1), BOTTOM - 4 - STEP * n, said, "q")


# --- Serving ----------------------------------------------------------------------------------


def frontier(curves: Sequence[Mapping[str, Any]], finding: str) -> SafeString:
    """Tokens a second of a GPU over those of one reader: of each cluster what nothing beats."""
    points = [point for curve in curves for point in curve["points"]]
    across = ticks(max(point["tokens_per_s_per_user"] for point in points), 4)
    up = ticks(max(point["tokens_per_s_per_gpu"] for point in points), 4)
    left = margin(map(_short, up), LEFT)
    x_of, y_of = linear(0, across[-1], left + 8, RIGHT), linear(0, up[-1], BOTTOM, TOP)
    drawing, ends = Drawing(), []
    _frame(drawing, [(x_of(n), f"{n:g}") for n in across], [(y_of(n), _short(n)) for n in up],
           gettext("tokens/s for one reader"), left)  # fmt: skip
    for index, curve in enumerate(curves):
        line = [
            (x_of(p["tokens_per_s_per_user"]), y_of(p["tokens_per_s_per_gpu"]))
            for p in curve["points"]
        ]
        if line:
            _line(drawing, line, index)
            ends.append((index, line[0], str(curve["name"])))  # the fastest
    _names(drawing, ends)
    return drawing.svg(BOTTOM + 34, "big", finding, WIDTH)


def _short(amount: float) -> str:
    """4k for 4,000: room is scarce beside an axis."""
    return f"{amount / 1000:g}k" if amount >= 1000 else f"{amount:g}"


# --- Prices over time -------------------------------------------------------------------------


def price_steps(
    lines: Sequence[tuple[str, Sequence[tuple[datetime, float | None]]]],
    until: datetime,
    finding: str,
    sign: str = "$",
) -> SafeString:
    """Money over time as steps, a line for each way of paying; None opens a gap."""
    known = [usd for _name, steps in lines for _at, usd in steps if usd is not None]
    start = min(at for _name, steps in lines for at, _usd in steps)
    up = ticks(max(known), 4)
    said = [f"{sign}{amount:,.12g}" for amount in up]
    left = margin(said, LEFT)
    x_of = linear(start.timestamp(), until.timestamp(), left + 4, RIGHT)
    y_of = linear(0, up[-1], BOTTOM, TOP)
    drawing, ends = Drawing(), []
    _frame(drawing, [(left + 26, f"{start:%Y-%m-%d}"), (RIGHT - 26, f"{until:%Y-%m-%d}")],
           list(zip(map(y_of, up), said, strict=True)), "", left)  # fmt: skip
    for index, (name, steps) in enumerate(lines):
        last: Point | None = None
        for (at, usd), (then, _next) in zip(steps, [*steps[1:], (until, None)], strict=True):
            if usd is None:
                continue
            a, b, y = x_of(at.timestamp()), x_of(then.timestamp()), y_of(usd)
            joined = [last] if last and abs(last[0] - a) < 0.05 else []
            _line(drawing, [*joined, (a, y), (b, y)], index)
            last = (b, y)
        if last:
            ends.append((index, last, name))
    _names(drawing, ends)
    return drawing.svg(BOTTOM + 20, "big", finding, WIDTH)

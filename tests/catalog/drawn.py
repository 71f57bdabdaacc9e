"""Reads a drawing back: its boxes and texts, and which of them lie upon each other."""

import re
from dataclasses import dataclass
from html import unescape
from itertools import combinations
from xml.etree import ElementTree as ET

from catalog.charts import TEXT, text_width

NS = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True)
class Text:
    """A text with the left and right ends that it takes at most."""

    said: str
    left: float
    right: float
    y: float

    def over(self, other: "Text") -> bool:
        """Whether two texts lie upon each other."""
        beside = self.right <= other.left or other.right <= self.left
        return not beside and abs(self.y - other.y) < TEXT - 1


@dataclass(frozen=True)
class Box:
    left: float
    right: float
    top: float
    bottom: float

    def holds(self, text: Text) -> bool:
        middle = (text.left + text.right) / 2
        return self.left <= middle <= self.right and self.top < text.y - TEXT / 3 < self.bottom


def texts(svg: str) -> list[Text]:
    found = []
    for shape in _root(svg).iter("text"):
        said, look = unescape(shape.text or ""), (shape.get("class") or "").split()
        wide, x = text_width(said, bold="b" in look), float(shape.get("x") or 0)
        left = x - wide if "e" in look else x - wide / 2 if "mid" in look else x
        found.append(Text(said, left, left + wide, float(shape.get("y") or 0)))
    return found


def boxes(svg: str) -> list[Box]:
    found = []
    for shape in _root(svg).iter("rect"):
        x, y, wide, tall = (float(shape.get(name) or 0) for name in ("x", "y", "width", "height"))
        assert wide > 0, shape.attrib
        assert tall > 0, shape.attrib
        found.append(Box(x, x + wide, y, y + tall))
    return found


def ill_placed(svg: str) -> list[str]:
    """What cannot be read: text past the paper or past its box, and text upon text."""
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])  # type: ignore[index]
    words, around = texts(svg), boxes(svg)
    wrong = [f"past the paper: {t.said}" for t in words if t.left < 0 or t.right > width]
    for text in words:
        homes = [box for box in around if box.holds(text)]
        home = min(homes, key=lambda box: box.right - box.left, default=None)
        if home and not (home.left <= text.left and text.right <= home.right):
            wrong.append(f"past its box: {text.said}")
    return wrong + [f"{a.said} upon {b.said}" for a, b in combinations(words, 2) if a.over(b)]


def _root(svg: str) -> ET.Element:
    return ET.fromstring(re.sub(r'aria-label="[^"]*"', "", svg))  # noqa: S314 -- ours


@dataclass(frozen=True)
class Circle:
    x: float
    y: float
    r: float
    look: str


def circles(svg: str) -> list[Circle]:
    return [
        Circle(*(float(shape.get(name) or 0) for name in ("cx", "cy", "r")),
               shape.get("class") or "")
        for shape in _root(svg).iter("circle")
    ]  # fmt: skip

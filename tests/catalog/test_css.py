"""The style sheet keeps what UI.md promises: size, contrast, and colours that all can tell."""

import re
from itertools import combinations
from pathlib import Path

import pytest

CSS = Path("catalog/static/catalog/fs.css")
SHEET = (Path(__file__).parents[2] / CSS).read_text()
LIGHT, DARK = 0, 1
TEXT, GRAPHIC = 4.5, 3.0

# Foreground, background, the least ratio.
PAIRS = [
    *(
        (text, ground, TEXT)
        for text in ("ink", "soft", "link")
        for ground in ("bg", "card", "sunk")
    ),
    ("link", "tint", TEXT),
    ("ink", "tint", TEXT),
    ("warn", "card", TEXT),
    ("warn", "warn-bg", TEXT),
    ("ink", "warn-bg", TEXT),
    ("link", "warn-bg", TEXT),
    ("good", "card", TEXT),
    ("bad", "card", TEXT),
    ("on-in", "in", TEXT),
    ("on-out", "out", TEXT),
    ("out", "card", TEXT),
    ("ink", "in-soft", TEXT),
    ("soft", "in-soft", TEXT),
    ("in", "card", GRAPHIC),
    ("in", "in-soft", GRAPHIC),
    ("work", "card", GRAPHIC),
    ("edge", "card", GRAPHIC),
    ("edge", "bg", GRAPHIC),
    ("focus", "bg", GRAPHIC),
    ("focus", "card", GRAPHIC),
    *((f"s{n}", "card", GRAPHIC) for n in range(1, 6)),
]
# G. Machado, M. Oliveira, L. Fernandes, "A physiologically-based model for simulation of color
# vision deficiency," IEEE TVCG 15(6), 2009. doi:10.1109/TVCG.2009.113: severity 1.0, linear RGB.
SEEN_BY = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216),
                   (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413),
                     (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602),
                   (0.004733, 0.691367, 0.303900)),
}  # fmt: skip
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)
Triple = tuple[float, ...]


def token(name: str, mode: int) -> Triple:
    """A colour token of the sheet in one mode, as linear RGB."""
    found = re.search(rf"--{name}:light-dark\((#\w+),(#\w+)\)", SHEET)
    assert found, name
    hexes = found[mode + 1].removeprefix("#")
    if len(hexes) == 3:
        hexes = "".join(2 * sign for sign in hexes)
    parts = [int(hexes[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    return tuple(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)


def luminance(colour: Triple) -> float:
    """Relative luminance (WCAG 2.2)."""
    return 0.2126 * colour[0] + 0.7152 * colour[1] + 0.0722 * colour[2]


def times(matrix: tuple[Triple, ...], colour: Triple) -> Triple:
    return tuple(sum(m * c for m, c in zip(row, colour, strict=True)) for row in matrix)


def lab(colour: Triple) -> Triple:
    """CIELAB of linear RGB."""
    x, y, z = (
        (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116)
        for t in (max(c, 0) / w for c, w in zip(times(TO_XYZ, colour), WHITE, strict=True))
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("mode", [LIGHT, DARK])
@pytest.mark.parametrize(("front", "back", "least"), PAIRS)
def test_text_and_marks_stand_out(front: str, back: str, least: float, mode: int) -> None:
    one, other = sorted((luminance(token(front, mode)), luminance(token(back, mode))))
    assert (other + 0.05) / (one + 0.05) >= least


@pytest.mark.parametrize("mode", [LIGHT, DARK])
@pytest.mark.parametrize("seen", SEEN_BY)
def test_series_are_told_apart_without_full_colour_vision(seen: str, mode: int) -> None:
    for one, other in combinations(range(1, 6), 2):
        a, b = (lab(times(SEEN_BY[seen], token(f"s{n}", mode))) for n in (one, other))
        distance = sum((p - q) ** 2 for p, q in zip(a, b, strict=True)) ** 0.5
        assert distance >= 18, f"s{one} and s{other}"


def test_black_on_white_is_21_to_1() -> None:
    """By hand, so that the measure above is known to measure: (1 + 0.05) / (0 + 0.05)."""
    assert round((luminance((1, 1, 1)) + 0.05) / (luminance((0, 0, 0)) + 0.05)) == 21


def test_the_sheet_stays_small() -> None:
    assert len(SHEET.encode()) < 15_000


def test_every_class_of_the_templates_is_styled_or_known() -> None:
    """A class that nothing styles is a slip; those that only name a thing are listed here."""
    only_names = {"on", "size", "state", "fs2", "src", "s", "w", "n", "v"}
    root = Path(__file__).parents[2] / "templates"
    used = set[str]()
    for template in root.rglob("*.html"):
        for classes in re.findall(r'class="([^"]*)"', template.read_text()):
            used |= set(re.sub(r"{%.*?%}|{{.*?}}", " ", classes).split())
    styled = set(re.findall(r"\.([a-z][\w-]*)", SHEET))
    assert used - styled - only_names == set()

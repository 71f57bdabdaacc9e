"""No text of a drawing lies over another, past its box or past the paper: in whatever variant."""

import itertools
import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from catalog import plots
from catalog.accuracy_page import predicted_against_measured
from catalog.charts import (
    cliff_said,
    cliff_strip,
    meter,
    price_strip,
    shares,
    text_width,
    whisker,
    wrapped,
)
from catalog.records import FabricKind, ScaleUp
from catalog.templatetags.cells import cliff_cell, cliff_text
from catalog.topology import Links, nic_boxes, topology
from learn.drawings import cliff
from scoring import measured_groups
from tests.catalog.drawn import boxes, circles, ill_placed, texts
from tests.catalog.test_topology import NO_FABRIC, NODE

GPUS = (0.125, 0.3333, 1, 2, 3, 4, 5, 7, 8, 12, 16, 36, 72)
NICS = (None, *range(1, 33))
RATES = (None, 12.5, 25, 100, 175, 200, 400, 800)  # [Gb/s]
DOMAINS = (None, 1, 2, 8, 36, 72, 576)
WAYS = (None, *ScaleUp)
NETWORKS = (None, *FabricKind)
SAMPLE = 600

positive = st.floats(0.5, 50_000)
prices = st.lists(st.tuples(st.text(max_size=80), st.floats(0, 500)), min_size=1, max_size=40)


def a_kind(draw: Callable[[Any], Any]) -> dict[str, Any]:
    """An instance type of any make, whether or not anybody sells it."""
    fabric, nics, rate = draw(NETWORKS), draw(NICS), draw(RATES)
    kind = {
        **NODE, "gpu_count": draw(GPUS), "scale_up": draw(WAYS), "scale_up_domain_gpus":
        draw(DOMAINS), "fabric": fabric, "fabric_generation": draw((None, "NDR", "EFAv3")),
        "fabric_nics": nics, "fabric_gbits_per_s_per_nic": rate,
        "max_gpus_on_one_fabric": draw((None, 8, 20_000, 131_072)),
    }  # fmt: skip
    if rate and nics and draw((True, False)):
        claims = [{"value": v, "basis": "documented", "scope": ""} for v in (rate, 2 * rate)]
        said = {"value": rate, "basis": "documented", "disputed": True, "claims": claims}
        whole = {"value": rate * nics, "basis": "derived"}
        kind["evidence"] = {"fabric_gbits_per_s_per_nic": said, "fabric_gbits_per_s": whole}
    return kind | NO_FABRIC if fabric in (None, FabricKind.NONE) else kind


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_topology_of_any_make_can_be_read(language: str) -> None:
    chance = random.Random(7)
    with translation.override(language):
        for _ in range(SAMPLE):
            kind = a_kind(chance.choice)
            assert ill_placed(topology(kind)) == [], kind


def test_boxes_stand_for_all_the_nics_and_for_no_more() -> None:
    for gpus, nics in itertools.product((1, 2, 3, 4, 6, 8, 16), range(1, 33)):
        drawn, each = nic_boxes(Links.of({**NODE, "gpu_count": gpus, "fabric_nics": nics}))
        assert drawn * each == nics


def test_32_nics_on_8_gpus_say_what_each_box_is() -> None:
    drawn = topology({**NODE, "fabric_nics": 32, "fabric_gbits_per_s_per_nic": 100})
    said = [text.said for text in texts(drawn)]
    assert said.count("4×") == said.count("100") == 8
    assert "8 GPUs, 32 NICs" in said
    one = {**NODE, "gpu_count": 1, "scale_up_domain_gpus": 1, "fabric_nics": 1}
    assert "1 GPU, 1 NIC" in [text.said for text in texts(topology(one))]


@pytest.mark.parametrize(
    "drawn",
    [
        meter(0.5), shares(1, 1, 1, 1), whisker(1, 2, 3, (1, 3)),
        cliff_cell({**NODE, "scale_up_gbytes_per_s": 450, "fabric_gbits_per_s_per_gpu": 400}),
    ],
)  # fmt: skip
def test_a_bar_that_paper_makes_narrower_is_scaled_and_not_cut(drawn: str) -> None:
    """`max-width` on paper makes it narrower: without a viewBox its right end would go."""
    said = re.search(r'<svg width="(\d+)" height="(\d+)" viewBox="0 0 (\d+) (\d+)"', drawn)
    assert said
    assert said.group(1, 2) == said.group(3, 4)


def test_a_cliff_has_its_thousands_apart_in_a_row_as_on_its_page() -> None:
    steep = {**NODE, "scale_up_gbytes_per_s": 900, "fabric_gbits_per_s_per_gpu": 3.125}
    assert cliff_text(steep) == "2,304×"


@given(st.lists(positive, min_size=1, max_size=60), st.none() | positive)
def test_labels_of_where_it_stands_never_overlap(cliffs: list[float], this: float | None) -> None:
    drawn = cliff_strip(cliffs, this, cliff_said(cliffs, this))
    assert ill_placed(drawn) == []
    axis = [text.said for text in texts(drawn) if text.said[0].isdigit()]
    assert axis, "an axis without a number says nothing"


@given(st.lists(positive, min_size=1, max_size=60), st.none() | positive)
def test_each_type_is_a_dot_and_this_one_lies_on_a_dot(
    cliffs: list[float], this: float | None
) -> None:
    dots = circles(cliff_strip(cliffs, this, ""))
    assert len([dot for dot in dots if dot.look == "fw"]) == len(cliffs)
    named = [text for text in texts(cliff_strip(cliffs, this, "")) if not text.said[0].isdigit()]
    assert all(dot.y - dot.r > text.y for dot in dots for text in named)


@given(prices, st.lists(st.floats(0, 500), max_size=5))
def test_names_of_prices_fit_and_each_price_is_a_circle(
    on_demand: list[tuple[str, float]], spot: list[float]
) -> None:
    drawn = price_strip([(printable(name), usd) for name, usd in on_demand], spot)
    assert ill_placed(drawn) == []
    assert len(circles(drawn)) == len(on_demand)


# --- Axes ---------------------------------------------------------------------------------------

BOTH = pytest.mark.parametrize("language", ["en", "ja"])
# The names of a ranking's curves: GPU and fabric, and the type where two are alike.
NAMES = (
    "H100 InfiniBand 400",
    "GB200 NVL72 RoCE 400",
    "H100 InfiniBand 400 Standard_ND96isr_H100_v5",
    "MI300X fabric unknown VM.GPU.MI300X.8-of-a-name-that-has-no-end",
    "H100 ファブリック不明",
)
DOMAINS_OF_CURVES = st.tuples(*[st.sampled_from((8, 16, 72, 576))] * len(NAMES))


def test_the_largest_number_of_an_axis_is_whole() -> None:
    """100,000 tokens/s read 00,000: its first sign lay past the paper."""
    drawn = predicted_against_measured([(20, 25), (180_000, 150_000)], "x")
    assert ill_placed(drawn) == []
    up = [text for text in texts(drawn) if text.said == "100,000"]
    assert len(up) == 2
    assert min(text.left for text in up) >= 0


@BOTH
def test_every_drawing_of_the_validation_page_can_be_read(language: str) -> None:
    with translation.override(language):
        for said in measured_groups().values():
            if isinstance(said, dict):
                assert ill_placed(predicted_against_measured(said["dot"], "x")) == []


@BOTH
@given(ends=st.tuples(st.floats(1e-3, 1e6), st.floats(1e-3, 1e6)))
def test_the_validation_axes_fit_whatever_they_reach(
    language: str, ends: tuple[float, float]
) -> None:
    with translation.override(language):
        assert ill_placed(predicted_against_measured([ends, (ends[0], ends[0] * 30)], "x")) == []


@BOTH
@given(start=st.integers(3, 12), share=st.floats(0.01, 1), domains=DOMAINS_OF_CURVES)
def test_curves_of_growth_can_be_read(
    language: str, start: int, share: float, domains: tuple[int, ...]
) -> None:
    points = [{"gpus": 2**n, "fits": True, "fabric_efficiency": share}
              for n in range(start, start + 5)]  # fmt: skip
    curves = [
        {"name": name, "unknown": [], "domain_gpus": domain, "points": points}
        for name, domain in zip(NAMES, domains, strict=True)
    ]
    with translation.override(language):
        assert ill_placed(plots.scaling(curves, "")) == []


@BOTH
@given(most=st.floats(0.01, 1e6), fastest=st.floats(0.1, 1e4))
def test_serving_s_axes_fit_whatever_they_reach(language: str, most: float, fastest: float) -> None:
    point = {"tokens_per_s_per_user": fastest, "tokens_per_s_per_gpu": most}
    with translation.override(language):
        curves = [{"name": name, "points": [point]} for name in NAMES]
        assert ill_placed(plots.frontier(curves, "")) == []


@given(st.floats(0.001, 1e6), st.sampled_from(("$", "€", "¥", "₹", "CHF ")))
def test_the_axis_of_prices_fits_whatever_is_paid(highest: float, sign: str) -> None:
    monday = datetime(2026, 11, 23, tzinfo=UTC)
    lines = [("on demand", [(monday, highest)]), ("reserved for a year", [(monday, highest / 2)])]
    drawn = plots.price_steps(lines, monday + timedelta(days=7), "", sign)
    assert ill_placed(drawn) == []


@BOTH
@pytest.mark.parametrize("domain", [8, 72, 128, 576])
def test_where_a_domain_ends_is_named_on_the_paper(language: str, domain: int) -> None:
    offer = {"scale_up_gbytes_per_s": 900, "nvlink_domain_gpus": domain, "gpu_count": 8,
             "fabric_gbits_per_s_per_gpu": 400}  # fmt: skip
    with translation.override(language):
        drawn = cliff([{**offer, "nvlink_domain_gpus": 8, "scale_up_gbytes_per_s": 450}, offer])
    assert drawn
    assert ill_placed(drawn["svg"]) == []


def test_a_long_name_is_broken_where_a_part_of_it_ends() -> None:
    assert wrapped("H100 InfiniBand 400 Standard_ND96isr_H100_v5", 144) == [
        "H100 InfiniBand 400", "Standard_ND96isr_", "H100_v5",
    ]  # fmt: skip


def printable(name: str) -> str:
    """What the catalog lets in: no sign that XML cannot hold."""
    return "".join(sign for sign in name if sign.isprintable())


def test_where_it_stands_is_said_in_words() -> None:
    assert cliff_said([9, 18, 18, 100], 9.2) == (
        "From 9× to 100×; half of them at most 18×. 3 are steeper than this one."
    )
    assert cliff_said([], None) == ""


def test_square_signs_take_more_room() -> None:
    assert text_width("段差") == 2 * text_width("段") > text_width("ab")
    assert text_width("ab", bold=True) > text_width("ab")


def test_boxes_are_read_back() -> None:
    assert len(boxes(topology(NODE))) > 8

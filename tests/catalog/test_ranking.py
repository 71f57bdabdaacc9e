"""Where the waiting of a layout falls: inside the domain, or on the fabric."""

from typing import Any

import pytest

from catalog.ranking_rows import waits

HGX = {"scale_up_domain_gpus": 8, "gpu_count": 8}
RACK = {"scale_up_domain_gpus": 72, "gpu_count": 4}
TIME = {"exposed_tp_s": 1.0, "exposed_dp_s": 2.0, "exposed_pp_s": 4.0, "compute_s": 9.0}


@pytest.mark.parametrize(
    ("layout", "offer", "inside", "between"),
    [
        ({"tp": 8, "dp": 4, "pp": 2}, HGX, 1, 6),  # tp fills the box; dp and pp leave it
        ({"tp": 16, "dp": 1, "pp": 1}, HGX, 0, 7),  # tp itself leaves it, and so all beyond
        ({"tp": 8, "dp": 4, "pp": 2}, RACK, 7, 0),  # 64 of the 72
        ({"tp": 2, "dp": 4, "pp": 2}, HGX, 3, 4),  # dp: 2 · 4 = 8 fits; pp: 16 does not
        ({}, {"scale_up_domain_gpus": None, "gpu_count": None}, 7, 0),  # one GPU waits for none
    ],
)
def test_waiting_falls_where_its_groups_reach(
    layout: dict[str, int], offer: dict[str, Any], inside: float, between: float
) -> None:
    assert waits({"layout": layout, "time": TIME}, offer) == (inside, between)

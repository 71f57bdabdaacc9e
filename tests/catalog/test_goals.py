"""How much of the bundled catalog is known, where a buyer of several GPUs asks: the goals held."""

from decimal import Decimal
from functools import cache

import pytest

from catalog import bundled
from tests.catalog.test_data import types

GOALS = {
    "form_factor": 0.98,
    "scale_up": 0.98,
    "scale_up_domain_gpus": 0.98,
    "fabric": 0.80,
    "fabric_gbits_per_s_per_gpu": 0.65,
    "gpudirect_rdma": 0.50,
}


@cache
def several() -> list[dict[str, object]]:
    """What is known of each offer of several GPUs of NVIDIA or AMD; an unnamed vendor is theirs."""
    known = [types()[offer.subject].columns() for offer in bundled.read().offers]
    return [
        each
        for each in known
        if Decimal(str(each["gpu_count"] or 0)) > 1
        and each["gpu_vendor"] in (None, "nvidia", "amd")
    ]


@pytest.mark.parametrize(("name", "goal"), GOALS.items())
def test_what_is_asked_of_several_gpus_is_known_of_nearly_all_offers(
    name: str, goal: float
) -> None:
    assert len(several()) > 1200
    assert sum(each[name] is not None for each in several()) / len(several()) >= goal

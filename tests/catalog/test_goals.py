"""How much of the bundled catalog is known, where a buyer of several GPUs asks: the goals held."""

from decimal import Decimal
from functools import cache

import pytest

from catalog import bundled
from catalog.placement import gangs
from tests.catalog.test_data import facts, types

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


def test_racks_that_are_guaranteed_in_part_take_a_gang_evenly() -> None:
    """24 trays on racks of which the provider guarantees 16 of 18, by a source that says so."""
    rack = types()["coreweave/gb200-4x"]
    guaranteed = rack.findings["scale_up_domain_guaranteed_gpus"].fact
    assert "docs.coreweave.com" in guaranteed.source
    trays = int(Decimal(str(guaranteed.value)) / Decimal(str(rack["gpu_count"])))
    assert gangs(24, trays) == [12, 12]


def test_a_rack_of_which_nobody_guarantees_trays_says_where_was_looked() -> None:
    racks = {
        subject: known
        for subject, known in types().items()
        if known["form_factor"] == "superchip"
        and known["gpu_count"] == 4
        and known["scale_up_domain_gpus"] == 72
    }
    assert len(racks) >= 10
    asked = {
        fact.subject
        for fact in facts("instances.csv")
        if fact.attribute == "scale_up_domain_guaranteed_gpus"
    }
    assert racks.keys() <= asked

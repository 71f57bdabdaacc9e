"""What if: another network over the whole ranking, or every scenario of its first clusters."""

from typing import Any

import pytest

from catalog import estimates
from catalog.models import Workload
from catalog.query import BadQuery
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

pytestmark = pytest.mark.django_db
JOB = "llama3-70b-pretrain"


@pytest.fixture(autouse=True)
def market() -> None:
    """One cluster with InfiniBand, one of the same GPUs with a slower RoCE."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    roce = {"fabric": "roce", "fabric_gbits_per_s": 800}
    scrape(
        [
            offer("ib", "20", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes")),
            offer("roce", "19", facts=facts("acme/roce", **roce, gpudirect_rdma="yes")),
        ]
    )


def ask(**body: Any) -> dict[str, dict[str, Any]]:
    found = estimates.answer({"workload": JOB, "gpus": 256, **body})["results"]
    return {each["offer"]["instance_type"]: each for each in found}


def test_a_scenario_by_its_name_changes_every_cluster_that_it_makes_sense_of() -> None:
    as_sold, then = ask(), ask(what_if="sockets")
    for name in ("ib", "roce"):
        assert then[name]["usd_per_mtoken"] > as_sold[name]["usd_per_mtoken"]
    assert ask(what_if="infiniband")["ib"]["estimate"] == as_sold["ib"]["estimate"]
    faster = ask(what_if="infiniband")["roce"]["estimate"]["step_time_s"]
    assert faster <= as_sold["roce"]["estimate"]["step_time_s"]


def test_each_scenario_of_a_cluster_is_what_the_question_by_its_name_answers() -> None:
    found = ask(scenarios=True)["ib"]
    for each in found["what_if"]:
        then = ask(what_if=each["scenario"])["ib"]
        assert then["estimate"]["step_time_s"] == pytest.approx(each["step_time_s"])
        assert then["usd_per_mtoken"] == pytest.approx(each["usd_per_mtoken"])
    assert {each["scenario"] for each in found["what_if"]} >= {"rdma_off", "sockets", "domain_72"}


def test_a_worse_network_must_be_that_much_cheaper() -> None:
    found = {each["scenario"]: each for each in ask(scenarios=True)["ib"]["what_if"]}
    sockets = found["sockets"]
    assert sockets["break_even_usd_per_gpu_hour"] == pytest.approx(2.5 / sockets["time_ratio"])
    assert sockets["premium_usd_per_gpu_hour"] < 0


def test_another_data_centre_can_be_supposed_in_facts() -> None:
    far = {"site_gpus": 128, "site_link_gbits_per_s": 100, "site_round_trip_ms": 30}
    assert (
        ask(what_if=far)["ib"]["estimate"]["step_time_s"]
        > 1.01 * ask()["ib"]["estimate"]["step_time_s"]
    )


def test_without_asking_there_are_no_scenarios() -> None:
    assert "what_if" not in ask()["ib"]


@pytest.mark.parametrize("wrong", [{"what_if": "magic"}, {"scenarios": "all"}])
def test_a_scenario_that_there_is_not_is_said(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadQuery) as bad:
        ask(**wrong)
    assert list(bad.value.fields) == list(wrong)

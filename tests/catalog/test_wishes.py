"""A deadline and a budget: the smallest cluster that keeps them, or why none and what is near."""

from typing import Any

import pytest

from catalog import estimates
from catalog.models import Workload
from catalog.query import BadQuery
from catalog.records import PriceModel
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

pytestmark = pytest.mark.django_db
JOB = "llama3-8b-pretrain"
TOKENS = 1e11


@pytest.fixture(autouse=True)
def market() -> None:
    """The same machine by the hour, on spot, and for a year; and one that is sold alone."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    ib = facts("acme/ib", **INFINIBAND)
    alone = facts("acme/alone", **INFINIBAND, multi_node="no")
    scrape(
        [
            offer("ib", "20", facts=ib),
            offer("ib", "8", facts=ib, price_model=PriceModel.SPOT),
            offer("ib", "10", facts=ib, price_model=PriceModel.RESERVED_1Y),
            offer("alone", "16", facts=alone),
        ]
    )


def ask(**body: Any) -> dict[str, Any]:
    return estimates.answer({"workload": JOB, "tokens": TOKENS, **body})


def by_hour(answer: dict[str, Any], model: str = "on_demand", name: str = "ib") -> dict[str, Any]:
    (found,) = (
        each
        for each in answer["results"]
        if (each["offer"]["instance_type"], each["offer"]["price_model"]) == (name, model)
    )
    return found


def test_a_job_takes_its_tokens_over_the_rate_that_failures_leave() -> None:
    result = by_hour(ask(gpus=64))
    hours = TOKENS / result["estimate"]["tokens_per_s"] / 3600
    assert result["hours"]["expected"] == pytest.approx(hours / result["goodput"]["share"])
    assert result["usd_for_the_job"] == pytest.approx(result["hours"]["expected"] * 8 * 20)
    assert result["hours"]["low"] < result["hours"]["expected"] < result["hours"]["high"]


def test_failures_are_a_factor_of_their_own() -> None:
    result = by_hour(ask(gpus=64))
    time = result["estimate"]["time"]
    assert sum(time.values()) == pytest.approx(result["estimate"]["step_time_s"])
    share = result["goodput"]["share"]
    assert 0.9 < share < 1
    assert result["usd_per_mtoken_with_failures"] == pytest.approx(result["usd_per_mtoken"] / share)
    assert result["usd_for_the_job"] == pytest.approx(
        result["usd_per_mtoken_with_failures"] * TOKENS / 1e6
    )
    assert result["usd_per_gpu_hour_used"] == pytest.approx(20 / 8 / share)
    assert all(result["goodput"]["sources"].values())


def test_failures_of_ones_own_are_taken() -> None:
    often = by_hour(ask(gpus=64, reliability={"failures_per_gpu_hour": 0.01}))
    never = by_hour(ask(gpus=64, reliability={"failures_per_gpu_hour": 0}))
    assert never["goodput"]["share"] == 1
    assert often["hours"]["expected"] > 1.1 * never["hours"]["expected"]


def test_spot_is_interrupted_and_a_year_is_paid_for_a_week() -> None:
    answer = ask(gpus=64)
    shares = [by_hour(answer, model)["goodput"]["share"] for model in ("on_demand", "spot")]
    assert shares[0] > shares[1]
    year = by_hour(answer, "reserved_1y")
    assert year["hours_billed"] == 8760
    assert year["usd_for_the_job"] == 8760 * 8 * 10


def test_the_smallest_cluster_that_keeps_a_deadline_is_found() -> None:
    wish = {"deadline_hours": 100}
    found = ask(**wish)
    assert found["wish"]["met"]
    smallest = found["wish"]["smallest"]
    assert smallest["hours"]["expected"] <= 100
    for gpus in range(8, smallest["gpus"], 8):
        assert not ask(gpus=gpus, filter={"price_model": "on_demand"}, **wish)["results"]
    assert ask(gpus=smallest["gpus"], **wish)["results"]


def test_who_cannot_says_by_how_much_it_misses() -> None:
    (left,) = (
        e for e in ask(deadline_hours=100)["left_out"] if e["offer"]["instance_type"] == "alone"
    )
    assert left["reason"].startswith("takes ")
    assert left["reason"].endswith(" h on 8 GPUs, not 100")


def test_a_budget_keeps_out_what_costs_more() -> None:
    free = ask(deadline_hours=100)
    dearest = max(each["usd_for_the_job"] for each in free["results"])
    held = ask(deadline_hours=100, budget_usd=dearest - 1)
    assert len(held["results"]) == len(free["results"]) - 1
    assert any(each["reason"].startswith("costs $") for each in held["left_out"])


def test_a_budget_alone_finds_the_smallest_count_that_the_job_fits_on() -> None:
    found = ask(budget_usd=1e6)
    assert found["wish"]["smallest"]["gpus"] == 2


def test_an_impossible_wish_gets_a_reason_and_the_nearest_answer() -> None:
    found = ask(deadline_hours=100, budget_usd=1000)
    assert (found["results"], found["wish"]["met"]) == ([], False)
    nearest = found["wish"]["nearest"]
    assert nearest["price_model"] == "spot"
    assert nearest["usd"]["expected"] > 1000
    assert nearest["hours"]["expected"] <= 100
    assert f"costs ${nearest['usd']['expected']:,.0f}" in found["wish"]["reason"]


def test_no_cluster_is_fast_enough_and_the_fastest_is_named() -> None:
    found = ask(deadline_hours=0.001)
    assert not found["wish"]["met"]
    assert "takes" in found["wish"]["reason"]
    assert found["wish"]["nearest"]["hours"]["expected"] > 0.001


def test_the_workload_may_say_how_much_there_is_and_change_a_preset() -> None:
    own = estimates.answer({"workload": {"slug": JOB, "tokens": TOKENS}, "gpus": 64})
    assert by_hour(own)["hours"] == by_hour(ask(gpus=64))["hours"]
    wide = estimates.answer({"workload": {"slug": JOB, "global_batch": 1024}, "gpus": 64})
    assert (
        by_hour(wide)["estimate"]["step_time_s"]
        > 1.5 * by_hour(ask(gpus=64))["estimate"]["step_time_s"]
    )


def test_fewest_gpus_first() -> None:
    found = ask(deadline_hours=100, objective="gpus")["results"]
    counts = [each["estimate"]["gpus"] for each in found]
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("wish", "field", "says"),
    [
        ({"deadline_hours": 9}, "deadline_hours", "what must be done by then"),
        ({"budget_usd": 9}, "budget_usd", "what it is for"),
        ({"hours": 5, "tokens": 1e9, "gpus": 8}, "hours", "contradicts tokens"),
        ({"hours": 5, "deadline_hours": 4, "gpus": 8}, "deadline_hours", "hours are the time"),
        ({"tokens": -1, "gpus": 8}, "tokens", "above 0"),
        ({"tokens": 1e9, "budget_usd": "2M"}, "budget_usd", "above 0"),
        ({"tokens": 1e9}, "gpus", "deadline or budget"),
        ({"gpus": 8, "reliability": {"restart_s": -1}}, "reliability.restart_s", "finite"),
        ({"gpus": 8, "reliability": 7}, "reliability.reliability", "not a known field"),
        ({"gpus": 8, "workload": {"slug": JOB, "tokens": 1}, "tokens": 2}, "tokens", "contradicts"),
        ({"gpus": 8, "workload": "hpc-halo", "tokens": 2}, "tokens", "give steps"),
        ({"gpus": 8, "workload": "llama3-8b-decode", "steps": 2}, "steps", "give tokens"),
    ],
)
def test_what_contradicts_itself_is_said(wish: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(BadQuery) as bad:
        estimates.answer({"workload": JOB, **wish})
    assert says in bad.value.fields[field][0]

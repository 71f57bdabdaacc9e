"""How sure the order is: overlapping ranges are undecided, and one fact may settle them."""

from dataclasses import replace
from typing import Any

import pytest

from catalog import estimates
from catalog.models import Workload
from catalog.records import PriceModel
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

pytestmark = pytest.mark.django_db
JOB = "llama3-70b-pretrain"
RDMA = {"gpudirect_rdma": "yes"}


@pytest.fixture(autouse=True)
def workload() -> None:
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))


def ask(**body: Any) -> dict[str, Any]:
    return estimates.answer({"workload": JOB, "gpus": 64, **body})


def sold(name: str, usd: str, **known: Any) -> Any:
    return offer(name, usd, facts=facts(f"acme/{name}", **known))


def test_the_first_is_certain_where_no_range_reaches_it() -> None:
    scrape([sold("cheap", "10", **INFINIBAND, **RDMA), sold("dear", "30", **INFINIBAND, **RDMA)])
    doubt = ask()["doubt"]
    assert (doubt["undecided"], doubt["rivals"], doubt["settled_by"]) == (False, [], None)


def test_known_clusters_of_about_one_price_stay_undecided_whatever_is_asked() -> None:
    scrape([sold("cheap", "20", **INFINIBAND, **RDMA), sold("near", "21", **INFINIBAND, **RDMA)])
    doubt = ask()["doubt"]
    assert doubt["undecided"]
    assert [rival["instance_type"] for rival in doubt["rivals"]] == ["near"]
    assert doubt["settled_by"] is None  # it is the model's own error that keeps them together


def test_the_one_unknown_fact_that_settles_the_order_is_named() -> None:
    scrape(
        [
            sold("known", "20", **INFINIBAND, **RDMA),
            sold("silent", "15", fabric="infiniband", **RDMA),  # nobody says how fast
        ]
    )
    doubt = ask(gpus=1024)["doubt"]
    assert doubt["undecided"]
    settled = doubt["settled_by"]
    assert (settled["instance_type"], settled["fact"]) == ("silent", "fabric_gbits_per_s")
    assert settled["settles"]
    slow, fast = settled["if"]
    assert (slow["value"], slow["first"]["instance_type"]) == (100, "known")
    assert (fast["value"], fast["first"]["instance_type"]) == (3200, "silent")


def test_an_unknown_fabric_is_ranked_over_its_plausible_range() -> None:
    scrape([sold("known", "20", **INFINIBAND, **RDMA), sold("dark", "20")])
    spans = {
        each["offer"]["instance_type"]: each["interval"]["high"] / each["interval"]["low"]
        for each in ask(gpus=1024)["results"]
    }
    assert spans["dark"] > 3 * spans["known"]


def test_a_disputed_fact_widens_the_range_to_what_the_other_claim_gives() -> None:
    lower, higher = ({**INFINIBAND, "fabric_gbits_per_s_per_nic": rate} for rate in (50, 400))
    said = facts("acme/twice", **lower, **RDMA)
    again = [
        replace(fact, source="https://acme.example/docs")
        for fact in facts("acme/twice", **higher, **RDMA)
        if fact.attribute == "fabric_gbits_per_s_per_nic"
    ]
    scrape(
        [
            offer("twice", "20", facts=(*said, *again)),
            sold("lower", "20", **lower, **RDMA),
            sold("higher", "20", **higher, **RDMA),
        ]
    )
    found = {each["offer"]["instance_type"]: each for each in ask(gpus=256)["results"]}
    assert "fabric_gbits_per_s_per_nic" in found["twice"]["offer"]["disputed"]
    times = {name: each["estimate"]["step_time_s"] for name, each in found.items()}
    assert times["twice"] == times["lower"] > times["higher"]
    ends = {name: each["interval"] for name, each in found.items()}
    assert ends["twice"]["low"] == pytest.approx(ends["higher"]["low"])
    assert ends["twice"]["high"] == pytest.approx(ends["lower"]["high"])


def test_an_order_by_time_is_doubted_too_and_one_by_efficiency_has_no_range() -> None:
    scrape([sold("cheap", "20", **INFINIBAND), sold("near", "99", **INFINIBAND)])
    assert ask(objective="time")["doubt"]["undecided"]
    assert ask(objective="efficiency")["doubt"] is None


def test_the_same_machine_for_more_is_no_rival_of_its_own() -> None:
    kind = {"fabric": "infiniband", **RDMA}  # nobody says how fast: a wide range
    spot = offer("alone", "15", facts=facts("acme/alone", **kind), price_model=PriceModel.SPOT)
    scrape([spot, sold("alone", "18", **kind)])
    doubt = ask(gpus=1024)["doubt"]
    assert (doubt["undecided"], doubt["rivals"], doubt["settled_by"]) == (False, [], None)
    scrape([spot, sold("alone", "18", **kind), sold("other", "18", **kind)], days=1)
    doubt = ask(gpus=1024)["doubt"]
    assert {rival["instance_type"] for rival in doubt["rivals"]} == {"other"}

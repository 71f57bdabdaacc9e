"""The sizes of a cluster for which a price holds: read from a tier, kept to by every ranking."""

from typing import Any

import pytest

import scoring
from catalog import estimates
from catalog.models import Workload
from catalog.questions import MOST_GPUS
from catalog.sizes import Sizes, sizes
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

JOB = "llama3-8b-pretrain"


@pytest.mark.parametrize(
    ("tier", "least", "most"),
    [
        ("256+ GPUs", 256, None),
        ("64 GPUs", 64, None),
        ("1,024+ GPUs", 1024, None),
        ("from 16 GPUs, one year", 16, None),
        ("128 GPUs or more", 128, None),
        ("more than 64 GPUs", 65, None),
        ("4+ nodes", 32, None),
        ("16-64 GPUs", 16, 64),
        ("2 to 4 nodes", 16, 32),
        ("up to 512 GPUs", 1, 512),
        ("32 GPUs or fewer", 1, 32),
        ("under 64 GPUs", 1, 63),
        ("7-30 days", 1, None),
        ("bare metal", 1, None),
        ("H100 80 GB", 1, None),
        ("", 1, None),
        (None, 1, None),
    ],
)
def test_a_tier_says_how_many_gpus_it_is_for(tier: str | None, least: int, most: int | None):
    assert sizes(tier, 8) == Sizes(least, most)


@pytest.fixture
def market(db: None) -> None:
    """One machine at three volume prices."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    ib = facts("acme/ib", **INFINIBAND)
    tiers = {"16 GPUs": "40", "64+ GPUs": "30", "up to 32 GPUs": "35"}
    scrape([offer("ib", usd, tier=tier, facts=ib) for tier, usd in tiers.items()])


def ask(**body: Any) -> dict[str, Any]:
    return estimates.answer({"workload": JOB, **body})


def tiers_of(rows: list[dict[str, Any]]) -> set[str | None]:
    return {each["offer"]["tier"] for each in rows}


@pytest.mark.usefixtures("market")
@pytest.mark.parametrize(
    ("gpus", "ranked", "reasons"),
    [
        (8, {"up to 32 GPUs"}, {"16", "64"}),
        (16, {"16 GPUs", "up to 32 GPUs"}, {"64"}),
        (64, {"16 GPUs", "64+ GPUs"}, {"32"}),
    ],
)
def test_a_volume_price_is_ranked_for_such_a_volume_alone(gpus, ranked, reasons):
    answer = ask(gpus=gpus)
    assert tiers_of(answer["results"]) == ranked
    said = {each["reason"] for each in answer["left_out"] if each["offer"]["instance_type"] == "ib"}
    assert {each.split()[4] for each in said} == reasons
    assert all(each.startswith("its price is for ") for each in said)


@pytest.mark.usefixtures("market")
@pytest.mark.parametrize("more", [{}, {"what_if": "twice_the_fabric"}])
def test_more_gpus_than_the_model_counts_leave_an_offer_out(more):
    assert tiers_of(ask(nodes=MOST_GPUS // 8)["results"]) == {"16 GPUs", "64+ GPUs"}
    answer = ask(nodes=MOST_GPUS, **more)
    assert answer["results"] == []
    assert {each["reason"] for each in answer["left_out"]} == {f"more than {MOST_GPUS} GPUs"}


@pytest.mark.usefixtures("market")
@pytest.mark.django_db
def test_what_the_cost_model_cannot_answer_is_a_400_at_every_door(client, monkeypatch):
    def refuses(*_args: Any, **_named: Any) -> None:
        raise scoring.FieldError("gpus", "must be what no door foresaw.")

    monkeypatch.setattr("catalog.estimates._ranked", refuses)
    body = {"workload": JOB, "gpus": 16}
    answer = client.post("/api/v1/estimates/", body, content_type="application/json")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"] == {"gpus": ["must be what no door foresaw."]}
    assert client.get(f"/workloads/{JOB}/?gpus=16").status_code == 400
    assert client.get(f"/compare/?pick=acme/ib&workload={JOB}&gpus=16").status_code == 400

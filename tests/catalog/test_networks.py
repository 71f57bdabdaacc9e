"""InfiniBand or Ethernet, as the door and the page answer it."""

import pytest

from catalog.models import Workload
from catalog.networks import AXES
from scoring.workload import job_fields
from tests.catalog.market import open_market

JOB = "llama3-8b-pretrain"
DOOR = "/api/v1/networks/"


@pytest.fixture
def market(db):
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    open_market()


def test_the_door_answers_at_1000_and_10000_gpus_unasked(client, market):
    answer = client.get(DOOR, {"workload": JOB}).json()
    assert len({each["gpus"] for each in answer["results"]}) == 2
    assert {each["network"] for each in answer["results"]} == {
        "infiniband", "roce_adaptive", "roce", "ethernet",
    }  # fmt: skip
    assert answer["usd_per_gpu_hour"] is None  # of no type: no price


def test_a_count_that_was_shifted_is_said_to_be(client, market):
    shifted = client.get(DOOR, {"workload": JOB, "gpus": "1000"}).json()
    assert {(each["gpus"], each["gpus_wanted"]) for each in shifted["results"]} == {(1024, 1000)}
    assert any("near it is taken" in said for said in shifted["assumptions"])
    kept = client.get(DOOR, {"workload": JOB, "gpus": "1024"}).json()
    assert len(kept["assumptions"]) == 1


def test_the_gpus_of_a_type_come_with_its_price(client, market):
    asked = {"workload": JOB, "provider": "acme", "instance_type": "ib", "gpus": "64"}
    answer = client.get(DOOR, asked).json()
    assert answer["usd_per_gpu_hour"] == 3  # $24 for 8 in Oslo
    slow = next(each for each in answer["results"] if each["network"] == "ethernet")
    assert slow["infiniband_is_worth_usd_per_gpu_hour"] == pytest.approx(
        3 * (slow["time_ratio"] - 1)
    )


def test_every_axis_has_a_source_or_is_said_to_be_unknown(client, market):
    axes = client.get(DOOR, {"workload": JOB, "gpus": "64"}).json()["axes"]
    assert {each["axis"] for each in axes} == {"Lock-in", "Existing Ethernet", "Power"}
    for each in axes:
        assert each["source"].startswith("https://") or "unknown" in each["said"]
    assert len(axes) == len(AXES)


@pytest.mark.parametrize(
    ("more", "status", "field"),
    [
        ({"gpus": "many"}, 400, "gpus"),
        ({"gpus": "0"}, 400, "gpus"),
        ({"gpus": "1,2,3,4,5,6,7"}, 400, "gpus"),
        ({"frobnicate": "1"}, 400, "frobnicate"),
        ({"workload": ""}, 400, "workload"),
        ({"workload": "none"}, 404, None),
        ({"provider": "acme", "instance_type": "none"}, 404, None),
        ({"provider": "=other", "instance_type": "mystery"}, 400, "instance_type"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(client, market, more, status, field):
    answer = client.get(DOOR, {"workload": JOB, "gpus": "64"} | more)
    assert answer.status_code == status
    if field:
        assert field in answer.json()["error"]["fields"]


def test_the_page_shows_the_same_and_where_axes_come_from(client, market):
    page = client.get(f"/workloads/{JOB}/network/", {"gpus": "64"})
    said = page.content.decode()
    assert page.status_code == 200
    assert "RoCE with adaptive routing" in said
    assert AXES[0][2] in said
    assert client.get(f"/workloads/{JOB}/network/", {"gpus": "x"}).status_code == 400

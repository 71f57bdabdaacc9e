"""A list of more values than there can be is refused by its name, wherever it stands."""

import json
from typing import Any

import pytest
from django.test import Client

from catalog.models import Workload
from scoring.workload import job_fields
from tests.catalog.market import open_market

JOB = "llama3-8b-pretrain"
ASKED = {"workload": JOB, "gpus": 8}
WORDS = [f"r-{n}" for n in range(1001)]
TOO_LONG = ["must be a list of at most 1000 values."]
MESSAGE = {"kind": "all_reduce", "bytes": 1e6}


@pytest.fixture(autouse=True)
def _market(db: None) -> None:
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    open_market()


def fields(answer: Any) -> Any:
    assert answer.status_code == 400, answer.content[:500]
    return answer.json()["error"]["fields"]


def post(door: str, body: Any) -> Any:
    return Client().post(f"/api/v1/{door}/", json.dumps(body), content_type="application/json")


def test_of_a_query() -> None:
    for name in ("gpu", "region", "facets", "fields", "include_unknown", "sort"):
        asked = {name: ",".join(WORDS)}
        assert fields(Client().get("/api/v1/offers/", asked))[name] == TOO_LONG
    thousand = {"region": ",".join(WORDS[1:])}
    assert Client().get("/api/v1/offers/", thousand).status_code == 200


@pytest.mark.parametrize(
    ("door", "body", "name"),
    [
        ("estimates", ASKED | {"filter": {"gpu": WORDS}}, "gpu"),
        ("estimates", ASKED | {"filter": {"gpu": ",".join(WORDS)}}, "gpu"),
        ("estimates", ASKED | {"filter": {"colour": WORDS}}, "colour"),
        ("estimates", ASKED | {"filter": {"region": [[WORDS]]}}, "region"),
        ("measurements", {"text": WORDS}, "text"),
        ("estimates", {"x": [{"y": WORDS}]}, "y"),
    ],
)
def test_of_a_body(door: str, body: Any, name: str) -> None:
    assert fields(post(door, body)) == {name: TOO_LONG}


def test_of_messages_that_each_cluster_costs() -> None:
    job = {"kind": "custom", "flop": 1e15, "messages": [MESSAGE] * 20}
    assert post("estimates", {"workload": job, "gpus": 8}).status_code == 200
    job["messages"] = [MESSAGE] * 21
    assert fields(post("estimates", {"workload": job, "gpus": 8})) == {
        "workload.messages": ["must be a list of at most 20 tables."]
    }


def test_a_name_that_nobody_has_is_not_echoed_whole() -> None:
    body = {"provider": "acme", "instance_type": "x" * 900_000, "text": "x"}
    answer = post("measurements", body)
    assert (answer.status_code, len(answer.content) < 1000) == (404, True)

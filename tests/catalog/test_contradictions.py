"""Filters that leave nothing: told where no offer could pass, and else what to drop."""

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.utils.html import escape

from catalog import estimates
from catalog.counts import misses
from catalog.filters import parse
from catalog.models import Estimate, Workload
from catalog.query import BadQuery
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND, open_market


@pytest.mark.parametrize(
    ("query", "both"),
    [
        ("gpu_count_min=8&gpu_count_max=4", {"gpu_count_min", "gpu_count_max"}),
        ("infiniband=true&fabric=ethernet,roce", {"infiniband", "fabric"}),
        ("infiniband=false&fabric=infiniband", {"infiniband", "fabric"}),
        ("nvlink=true&scale_up=pcie", {"nvlink", "scale_up"}),
        ("nvlink=false&scale_up=nvswitch,nvlink_mesh", {"nvlink", "scale_up"}),
    ],
)
def test_what_no_offer_can_be_is_named_under_both_names(query: str, both: set[str]) -> None:
    with pytest.raises(BadQuery) as refused:
        parse(QueryDict(query))
    assert set(refused.value.fields) == both


@pytest.mark.parametrize(
    "query",
    [
        "gpu_count_min=8&gpu_count_max=8",
        "infiniband=true&fabric=ethernet,infiniband",
        "nvlink=false&scale_up=pcie",
        "infiniband=true&fabric=ethernet&include_unknown=fabric",  # an unknown one passes both
    ],
)
def test_what_some_offer_can_be_is_asked(query: str) -> None:
    assert parse(QueryDict(query)).filters


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("query", "said", "either"),
    [
        (
            "infiniband=true&fabric=roce",
            "“InfiniBand: yes” and “Fabric: RoCE” contradict each other: no offer can pass both.",
            ("/?fabric=roce", "/?infiniband=true"),
        ),
        (
            "gpu_count_min=8&gpu_count_max=4&provider=acme",
            "“GPUs: ≥ 8” and “GPUs: ≤ 4” contradict each other: no offer can pass both.",
            ("/?gpu_count_max=4&provider=acme", "/?gpu_count_min=8&provider=acme"),
        ),
    ],
)
def test_a_page_says_what_no_offer_can_be_and_leads_to_the_list_without_either(
    client: Client, query: str, said: str, either: tuple[str, str]
) -> None:
    open_market()
    answer = client.get(f"/?{query}")
    assert answer.status_code == 200
    html = answer.content.decode()
    assert said in html
    assert "left out" not in html  # whatever an unknown is, it is not both
    for href in either:
        assert f'class="btn" href="{escape(href)}"' in html
        assert "contradict" not in client.get(href).content.decode()


@pytest.mark.django_db
def test_the_api_says_so_and_that_no_unknown_kept_any_out(client: Client) -> None:
    open_market()
    found = client.get("/api/v1/offers/?infiniband=true&fabric=roce&count=true").json()
    assert (found["results"], found["count"], found["left_out"]) == ([], 0, 0)
    assert set(found["contradictions"]) == {"infiniband", "fabric"}
    let_in = client.get("/api/v1/offers/?infiniband=true&fabric=roce&include_unknown=fabric").json()
    assert let_in["results"]
    assert "contradictions" not in let_in
    ranked = ask("llama3-8b-pretrain", 8, infiniband=True, fabric="roce")
    assert ranked["results"] == []
    assert set(ranked["contradictions"]) == {"infiniband", "fabric"}


@pytest.mark.django_db
def test_the_fewest_filters_to_drop_are_named_with_what_they_let_in() -> None:
    open_market()
    found = misses(parse(QueryDict("provider=acme&infiniband=true&gpu_count_max=1")))
    assert found[0] == (("gpu_count_max",), 3)  # ib on demand, ib as spot, quoted
    assert all(len(names) == 1 for names, _offers in found)


def ask(job: str, gpus: int, **query: Any) -> dict[str, Any]:
    Workload.objects.get_or_create(
        slug=job, defaults={"title": job, "kind": "train", "job": dict(job_fields(job))}
    )
    return estimates.answer({"workload": job, "gpus": gpus, "filter": query})


@pytest.mark.django_db
def test_an_empty_answer_says_what_to_drop() -> None:
    open_market()
    found = ask("llama3-70b-pretrain", 64, infiniband=True, gpu_count_max=1)
    assert (found["results"], found["left_out"]) == ([], [])
    assert found["nearest"]["without_filters"][0] == {"filters": ("gpu_count_max",), "offers": 3}


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("job", "gpus", "count"), [("llama3-405b-pretrain", 8, 96), ("llama3-8b-pretrain", 96, 128)]
)
def test_a_count_that_does_not_do_is_told_the_nearest_that_does(
    job: str, gpus: int, count: int
) -> None:
    scrape([offer("ib", "24", facts=facts("acme/ib", **INFINIBAND))])
    found = ask(job, gpus)
    near = found["nearest"]["count"]
    assert (near["instance_type"], near["gpus"]) == ("ib", count)
    assert f"{count} GPUs" in found["left_out"][0]["reason"]
    assert ask(job, count)["results"]
    assert ask(job, count)["nearest"] is None


@pytest.mark.django_db
def test_within_a_node_equal_boxes_on_other_fabrics_are_computed_once() -> None:
    scrape(
        [
            offer("ib", "24", facts=facts("acme/ib", **INFINIBAND)),
            offer("eth", "20", facts=facts("acme/eth", fabric="ethernet")),
            offer("dark", "16", facts=facts("acme/dark")),
        ]
    )
    found = ask("llama3-8b-pretrain", 8)["results"]
    assert len({repr(each["estimate"]["interval"]) for each in found}) == 1
    assert len(found) == 3
    assert Estimate.objects.count() == 1
    ask("llama3-8b-pretrain", 64)
    assert Estimate.objects.count() >= 1 + 3

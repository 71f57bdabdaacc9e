"""The page of a ranking: wishes, supposings and advice, without JavaScript."""

import json
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from catalog.models import Workload
from catalog.ranking_query import readable
from catalog.ranking_rows import starved
from scoring.accuracy import error_ranges, measured_errors
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

JOB = "llama3-70b-pretrain"


@pytest.fixture
def page(db: None, client: Client) -> Any:
    """A query to the text of the ranking."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    scrape(
        [
            offer("ib", "20", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes")),
            offer("silent", "15", facts=facts("acme/silent", fabric="infiniband", rdma="yes")),
        ]
    )

    def ask(query: str, status: int = 200) -> str:
        answer = client.get(f"/workloads/{JOB}/?{query}")
        assert answer.status_code == status
        return answer.content.decode()

    return ask


def test_the_smallest_cluster_for_a_wish_is_named(page: Any) -> None:
    html = page("tokens=100B&deadline_hours=720&budget_usd=2M")
    assert "The smallest cluster that does: " in html
    assert "the fewest GPUs that do" in html
    assert "failures included" in html


def test_a_wish_that_no_cluster_keeps_is_told_the_nearest(page: Any) -> None:
    html = page("tokens=1T&deadline_hours=24&budget_usd=100")
    assert "No cluster keeps both time and money." in html
    assert "The nearest: " in html


def test_a_count_of_instances_is_a_count_as_it_is_to_the_api(page: Any) -> None:
    html = page("nodes=32")
    assert f"{JOB} on 32 instances" in html
    assert f"/comparisons/new/?workload={JOB}&amp;nodes=32" in html
    assert "None" not in html
    assert "give either gpus or nodes" in page("nodes=32&gpus=64", 400)
    assert "must be a whole number" in page("nodes=many", 400)


def test_the_one_fact_to_ask_for_is_named(page: Any) -> None:
    assert "What would settle most: ask Acme about silent" in page("gpus=1024")


def test_scenarios_lead_to_the_ranking_under_them(page: Any) -> None:
    html = page("gpus=256&provider=acme")
    link = f'href="/workloads/{JOB}/?gpus=256&amp;provider=acme&amp;what_if=sockets"'
    assert link in html
    assert "TCP sockets instead of RDMA" in html
    assert '<option value="sockets" selected>' in page("gpus=256&what_if=sockets")


def test_the_first_is_explained_and_can_be_verified(page: Any) -> None:
    html = page("gpus=256")
    assert "The first, explained" in html
    assert "all_reduce_perf -b 1048576" in html


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("deadline_hours=9", "needs to know what must be done"),
        ("gpus=64&tokens=many", "must be a number above 0"),
        ("gpus=64&what_if=magic", "is none of"),
        ("gpus=64&steps=9", "is not what this workload is measured in"),
        ("gpus=64&hours=5&tokens=1T", "contradicts tokens"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_rest_is_ranked(
    page: Any, query: str, says: str
) -> None:
    html = page(query, status=400)
    assert says in html
    assert "comes first" in html


@pytest.mark.parametrize(
    ("text", "value"),
    [("1T", 1e12), ("1e12", 1e12), ("1,000,000", 1e6), ("500B", 5e11), ("2.5 k", 2500)],
)
def test_amounts_are_read_as_people_write_them(text: str, value: float) -> None:
    given = QueryDict(mutable=True)
    given["tokens"], given["gpus"] = text, "8"
    assert readable(given, "/", has_tokens=True).own["tokens"] == value


def test_the_table_of_errors_shows_every_figure_that_is_kept(db: None, client: Client) -> None:
    html = client.get("/learn/accuracy/").content.decode()
    for said in measured_errors().values():
        assert f"{said['rows']:,}" in html
        assert f"{100 * said['median_abs_error']:.1f}" in html
        assert f"{100 * said['p90_abs_error']:.1f}" in html
    assert html.count("×</td>") == 2 * len(error_ranges())


def test_an_empty_list_says_which_filters_to_drop(page: Any) -> None:
    html = page("gpus=64&infiniband=true&gpu_count_max=1")
    assert "Nothing fits" in html
    assert "No offer passes all of these filters." in html
    assert f'href="/workloads/{JOB}/?gpus=64&amp;infiniband=true">Without “GPUs”' in html
    assert "Nothing was left out" not in html
    assert "stand below" not in html


def test_a_count_that_is_too_small_is_told_the_nearest(page: Any) -> None:
    html = page("gpus=8&provider=acme")
    assert "The nearest count on which it fits: " in html
    assert f'href="/workloads/{JOB}/?gpus=' in html


def test_filters_that_deny_each_other_rank_nothing_and_either_can_be_dropped(page: Any) -> None:
    html = page("gpus=256&infiniband=true&fabric=ethernet")
    assert "“InfiniBand: yes” and “Fabric: Ethernet” contradict each other" in html
    assert "Drop the filter: InfiniBand: yes" in html
    assert f'"/workloads/{JOB}/?gpus=256&amp;fabric=ethernet"' in html
    assert f'"/workloads/{JOB}/?gpus=256&amp;infiniband=true"' in html
    assert "comes first" in page("gpus=256&infiniband=true")


def test_the_file_of_such_a_ranking_is_empty_and_says_why(page: Any) -> None:
    found = json.loads(page("gpus=256&infiniband=true&fabric=ethernet&format=json"))
    assert (found["results"], found["count"]) == ([], 0)
    assert set(found["contradictions"]) == {"infiniband", "fabric"}
    assert "contradictions" not in json.loads(page("gpus=256&infiniband=true&format=json"))


def test_scaling_over_100_percent_says_why() -> None:
    start = {"gpus": 8, "layout": {"recompute": "full"}}
    many: dict[str, Any] = {"scaling_from": start, "layout": {"recompute": "none"}}
    assert "8 GPUs, must recompute" in starved(many | {"scaling_efficiency": 1.43})
    assert "little memory" in starved(
        many | {"layout": start["layout"], "scaling_efficiency": 1.43}
    )
    assert starved(many | {"scaling_efficiency": 0.9}) == ""

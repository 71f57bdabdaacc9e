"""Fresh prices stand before dated ones, however low these are: every list in that order says so."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.test import Client

from catalog import estimates
from catalog.freshness import dated
from catalog.models import Offer, Workload
from scoring.workload import job_fields
from tests.catalog.conftest import DAY, MONDAY, facts, offer, scrape
from tests.catalog.market import INFINIBAND

JOB = "llama3-8b-pretrain"
SOME = "Dated prices come after all fresh ones"
ALL = "Every price here is past its limit of age"
LISTS = ("/", f"/workloads/{JOB}/?gpus=64", "/learn/infiniband/")


def sold(name: str, usd: str, **fields: Any) -> Any:
    known = facts(f"acme/{name}", **INFINIBAND, gpudirect_rdma="yes")
    return offer(name, usd, **{"facts": known, **fields})


@pytest.fixture
def web(db: None, client: Client) -> Client:
    """One type at 20 today, others at 5 and at 19 seen two months ago."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    today = (datetime.now(UTC) - MONDAY) / DAY
    scrape([sold("low", "5"), sold("near", "19")], lister="acme", days=today - 60)
    fresh = facts("=other/fresh", **INFINIBAND, gpudirect_rdma="yes")
    scrape([offer("fresh", "20", provider="=other", facts=fresh)], lister="=other", days=today)
    return client


def get(web: Client, address: str) -> str:
    answer = web.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


@pytest.mark.parametrize("address", LISTS)
def test_a_list_with_fresh_and_dated_prices_says_which_come_first(
    web: Client, address: str
) -> None:
    html = get(web, address)
    assert SOME in html
    assert ALL not in html


@pytest.mark.parametrize("query", ["sort=provider", "include_stale=true"])
def test_a_list_in_another_order_does_not_say_so(web: Client, query: str) -> None:
    assert SOME not in get(web, f"/?{query}")
    assert SOME not in get(web, f"/workloads/{JOB}/?gpus=64&objective=time")


def test_a_dated_price_below_the_first_does_not_overlap_with_it(web: Client) -> None:
    """The page and the API count the same clusters."""
    answer = estimates.answer({"workload": JOB, "gpus": 64})
    names = [each["offer"]["instance_type"] for each in answer["results"]]
    assert names == ["fresh", "low", "near"]
    assert answer["doubt"]["rivals"] == []
    html = get(web, LISTS[1])
    assert "The order is not certain" not in html


def test_prices_of_one_age_that_overlap_are_counted_as_the_api_counts_them(web: Client) -> None:
    today = (datetime.now(UTC) - MONDAY) / DAY
    known = [facts(f"=more/n{n}", **INFINIBAND, gpudirect_rdma="yes") for n in range(3)]
    near = [
        offer(f"n{n}", str(20 + n), provider="=more", facts=said) for n, said in enumerate(known)
    ]
    scrape(near, lister="=more", days=today)
    rivals = estimates.answer({"workload": JOB, "gpus": 64})["doubt"]["rivals"]
    assert len(rivals) == 3
    assert "the ranges of 3 clusters overlap with it" in get(web, LISTS[1])


def test_the_figure_on_top_of_a_type_says_that_a_dated_one_is_lower(web: Client) -> None:
    today, said = (datetime.now(UTC) - MONDAY) / DAY, "the lowest that is not dated"
    known = facts("=both/both", **INFINIBAND)
    places = [("oslo", "10"), ("tokyo", "12")]
    both = [offer("both", usd, provider="=both", region=at, facts=known) for at, usd in places]
    scrape(both, lister="=both", days=today)
    address = "/instances/%3Dboth/both/"
    assert said not in get(web, address)
    Offer.objects.filter(instance_type__name="both", region="oslo").update(
        collected_at=MONDAY - 60 * DAY
    )
    assert said in get(web, address)


def test_a_time_before_the_catalog_is_unknown_and_one_to_come_is_refused(web: Client) -> None:
    early = get(web, "/?as_of=2020-01-01")
    first = (datetime.now(UTC) - 60 * DAY).date()
    assert f"The catalog begins on {first}: of a time before it nothing is known." in early
    assert "none could" not in early
    assert "The catalog begins on" not in get(web, f"/?as_of={first}")
    assert get(web, f"/?as_of={datetime.now(UTC).date()}"), "the day that is"
    for door in ("/", "/api/v1/offers/"):
        answer = web.get(f"{door}?as_of={(datetime.now(UTC) + 2 * DAY).date()}")
        assert answer.status_code == 400
        assert "must not be in the future." in answer.content.decode()


@pytest.mark.parametrize(
    ("ages", "said"), [((True, True), "all"), ((True, False), "some"), ((False,), ""), ((), "")]
)
def test_unpublished_prices_have_no_age(ages: tuple[bool, ...], said: str) -> None:
    priced = [{"outdated": age, "usd_per_gpu_hour": "1"} for age in ages]
    assert dated([*priced, {"outdated": True, "usd_per_gpu_hour": None}]) == said

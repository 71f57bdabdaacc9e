"""What a whole job costs: an hour that is used costs more where a minimum term outlasts the job."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from catalog import estimates
from catalog.models import Workload
from catalog.query import BadQuery
from catalog.ranking_rows import terms
from catalog.records import PriceModel
from catalog.templatetags.cells import price_cell
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

pytestmark = pytest.mark.django_db
JOB = "llama3-8b-pretrain"


@pytest.fixture(autouse=True)
def market() -> None:
    """The same machine twice: by the hour, and cheaper but for a day at least."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    scrape(
        [
            offer("hourly", "20", facts=facts("acme/hourly", **INFINIBAND)),
            offer(
                "daily",
                "14.75",
                facts=facts("acme/daily", **INFINIBAND),
                price_model=PriceModel.CAPACITY_BLOCK,
                minimum_hours=24,
            ),
        ]
    )


def ranked(hours: float | None, gpus: int = 8) -> dict[str, dict[str, Any]]:
    found = estimates.answer({"workload": JOB, "gpus": gpus, "hours": hours})["results"]
    return {each["offer"]["instance_type"]: each for each in found}


def test_five_hours_on_a_one_day_minimum_cost_twenty_four() -> None:
    daily, hourly = ranked(5)["daily"], ranked(5)["hourly"]
    assert (daily["hours_billed"], daily["usd_for_the_job"]) == (24, 354)  # 24 x 14.75
    assert (hourly["hours_billed"], hourly["usd_for_the_job"]) == (5, 100)
    assert daily["usd_per_hour"] == 14.75  # of an hour that is rented


def test_what_is_billed_decides_the_rank() -> None:
    assert list(ranked(5)) == ["hourly", "daily"]  # 70.80 for an hour that is used
    assert list(ranked(30)) == ["daily", "hourly"]
    assert list(ranked(None)) == ["daily", "hourly"]


def test_a_token_costs_its_share_of_what_is_billed() -> None:
    short, long = ranked(5)["daily"], ranked(24)["daily"]
    assert short["usd_per_mtoken"] == pytest.approx(long["usd_per_mtoken"] * 24 / 5)
    assert short["interval"]["high"] == pytest.approx(long["interval"]["high"] * 24 / 5)


def test_each_node_is_billed_for_its_minimum() -> None:
    assert ranked(5, gpus=16)["daily"]["usd_for_the_job"] == 2 * 354


def test_no_hours_are_no_total() -> None:
    daily = ranked(None)["daily"]
    assert (daily["hours_billed"], daily["usd_for_the_job"]) == (None, None)
    assert terms(daily) == "24 h at least"


@pytest.mark.parametrize("hours", [0, -1, "5", True, 1e9])
def test_hours_are_a_number_above_zero(hours: object) -> None:
    with pytest.raises(BadQuery) as bad:
        estimates.answer({"workload": JOB, "gpus": 8, "hours": hours})
    assert list(bad.value.fields) == ["hours"]


def test_the_page_says_the_total_and_the_least(client: Client) -> None:
    page = client.get(f"/workloads/{JOB}/?gpus=8&hours=5").content.decode()
    assert "$354 for 24 h, 24 h at least" in page
    assert "$100 for 5 h" in page
    assert 'name="hours" size="5" value="5"' in page


def test_the_page_says_what_hours_must_be(client: Client) -> None:
    answer = client.get(f"/workloads/{JOB}/?gpus=8&hours=soon")
    assert answer.status_code == 400
    assert "must be a number above 0 and up to 100,000." in answer.content.decode()


def test_the_list_and_the_types_page_say_the_least(client: Client) -> None:
    row = {"region": None, "usd_per_gpu_hour": 2, "stale": False, "outdated": False}
    assert "24 h at least" in price_cell(row | {"price_model": "on_demand", "minimum_hours": 24})
    assert "least" not in price_cell(row | {"price_model": "reserved_1y", "minimum_hours": 8760})
    page = client.get("/instances/acme/daily/").content.decode()
    assert "24 h at least: $354.00" in page
    assert "h at least" not in client.get("/instances/acme/hourly/").content.decode()


def test_a_converted_price_names_its_rates_day_and_what_it_includes(client: Client) -> None:
    euros = offer(
        "euros",
        "24",
        provider="euro",
        facts=facts("euro/euros"),
        native_amount=Decimal(20),
        native_currency="EUR",
        usd_rate=Decimal("1.2"),
        usd_rate_date=date(2026, 11, 27),
        price_includes="100 GB of disk",
    )
    scrape([euros], lister="euro")
    page = client.get("/instances/euro/euros/").content.decode()
    assert "20.00 EUR at the rate of 2026-11-27" in page
    assert "100 GB of disk" in page

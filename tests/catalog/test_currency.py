"""Prices in another currency, beside the dollars: the amount, the rate, and the rate's day."""

import csv
import io
import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from catalog.currency import Currency
from catalog.exchange import Sheet, accept, begin
from catalog.models import Rate
from tests.catalog.conftest import DAY, MONDAY, offer, scrape

pytestmark = pytest.mark.django_db
TODAY = (datetime.now(UTC) - MONDAY) / DAY


@pytest.fixture(autouse=True)
def _market():
    """One offer in dollars; one in euros, told in dollars by the rate of its own day."""
    for day, usd in {"2026-10-09": "1.12", "2026-11-20": "1.25"}.items():
        Rate.objects.create(currency="EUR", day=day, usd_per_unit=usd, source="https://ecb.example")
    Rate.objects.create(currency="JPY", day="2026-11-20", usd_per_unit="0.00625", source="x")
    euros = {
        "native_amount": Decimal(10), "native_currency": "EUR",
        "usd_rate": Decimal("1.12"), "usd_rate_date": date(2026, 10, 9),
    }  # fmt: skip
    scrape([offer("dollars", "20"), offer("euros", "11.2", **euros)], days=TODAY)


@pytest.fixture
def rows(client):
    def ask(query, door="offers"):
        said = client.get(f"/api/v1/{door}/?{query}")
        assert said.status_code == 200, said.content
        return {row["instance_type"]: row for row in said.json()["results"]}

    return ask


def test_an_offer_is_told_in_euros_by_the_newest_rate(rows):
    found = rows("currency=EUR")["dollars"]
    assert (found["usd_per_hour"], found["eur_per_hour"]) == ("20", "16")
    assert (found["usd_per_gpu_hour"], found["eur_per_gpu_hour"]) == ("2.5", "2")
    assert (found["usd_per_eur"], found["usd_per_eur_date"]) == ("1.25", "2026-11-20")


def test_what_a_provider_asks_in_euros_is_what_it_asks(rows):
    found = rows("currency=EUR")["euros"]
    assert (found["eur_per_hour"], found["native_amount"]) == ("10", "10")
    assert (found["usd_per_eur"], found["usd_per_eur_date"]) == ("1.12", "2026-10-09")


def test_a_small_unit_keeps_what_can_be_asked(rows):
    found = rows("currency=JPY")["dollars"]
    assert (found["jpy_per_hour"], found["usd_per_jpy"]) == ("3200", "0.00625")


def test_an_answer_names_the_rate_and_its_source(client):
    said = client.get("/api/v1/offers/?currency=EUR").json()["currency"]
    assert said == {
        "code": "EUR",
        "usd_per_unit": "1.25",
        "rate_date": "2026-11-20",
        "source": "https://ecb.example",
    }


def test_dollars_are_there_anyway(rows, client):
    assert rows("currency=USD") == rows("")
    assert "currency" not in client.get("/api/v1/offers/?currency=USD").json()


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_each_form_has_the_same(client, rows, form):
    query = "currency=EUR&fields=instance_type,usd_per_hour"
    text = client.get(f"/api/v1/offers/?{query}&format={form}").content.decode()
    if form == "csv":
        read = list(csv.DictReader(io.StringIO(text)))
    else:
        read = [json.loads(line) for line in text.splitlines()]
    assert read == list(rows(query).values())
    assert list(read[0]) == [
        "instance_type", "usd_per_hour", "eur_per_hour", "eur_per_gpu_hour", "usd_per_eur",
        "usd_per_eur_date",
    ]  # fmt: skip


def test_the_past_is_told_by_the_rate_of_then():
    then = datetime(2026, 11, 1, tzinfo=UTC)
    assert Currency.named("EUR", then).usd_per_unit == Decimal("1.12")
    before = Currency.named("EUR", datetime(2026, 1, 1, tzinfo=UTC))
    assert (str(before.usd_per_unit), str(before.day)) == ("1.1200000000", "2026-10-09")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("offers/?currency=XYZ", "There are: USD, EUR, JPY"),
        ("offers/?currency=eur", "There are"),
        ("prices/?currency=XYZ", "There are"),
        ("gpus/?currency=EUR", "is not a parameter"),
    ],
)
def test_a_currency_without_a_rate_is_a_400_that_names_those_with(client, query, says):
    answer = client.get(f"/api/v1/{query}")
    assert answer.status_code == 400
    assert says in answer.json()["error"]["fields"]["currency"][0]


def test_a_price_period_has_it_too(rows):
    found = rows("currency=EUR&fields=instance_type,usd_per_hour", "prices")
    assert found["dollars"]["eur_per_hour"] == "16"
    assert found["euros"]["eur_per_hour"] == "10"
    assert found["euros"]["usd_per_eur_date"] == "2026-10-09"


def test_an_estimate_has_every_amount_in_it(client):
    body = {"workload": {"job": "llama3-8b-decode"}, "gpus": 8, "currency": "EUR"}
    body["workload"] = "llama3-8b-pretrain"
    from catalog.models import Workload

    Workload.objects.get_or_create(
        slug="llama3-8b-pretrain", defaults={"title": "x", "kind": "train", "job": {}, "source": ""}
    )
    said = client.post(
        "/api/v1/estimates/", json.dumps(body | {"hours": 10}), content_type="application/json"
    ).json()
    assert said["currency"]["code"] == "EUR"
    for result in said["results"]:
        rate = {"dollars": 1.25, "euros": 1.12}[result["offer"]["instance_type"]]
        for name in ("per_hour", "per_mtoken", "for_the_job", "lost_to_waiting_per_hour"):
            assert result[f"eur_{name}"] == pytest.approx(result[f"usd_{name}"] / rate), name
        ranges = (result[f"{code}_for_the_job_range"]["low"] for code in ("usd", "eur"))
        assert next(ranges) / next(ranges) == pytest.approx(rate)
        assert result["offer"]["eur_per_hour"] in {"16", "10"}
    assert len(said["results"]) == 2
    wrong = client.post(
        "/api/v1/estimates/", json.dumps(body | {"currency": 7}), content_type="application/json"
    )
    assert list(wrong.json()["error"]["fields"]) == ["currency"]


@pytest.mark.parametrize("door", ["offers", "prices"])
@pytest.mark.parametrize("key", ["eur_per_hour", "usd_per_eur"])
def test_a_key_of_the_currency_need_not_be_named_and_the_error_says_so(client, door, key):
    answer = client.get(f"/api/v1/{door}/?fields=provider,{key}&currency=EUR")
    said = answer.json()["error"]["fields"]["fields"][0]
    assert (answer.status_code, "stands in each row by currency=EUR" in said) == (400, True)
    row = client.get(f"/api/v1/{door}/?fields=provider&currency=EUR").json()["results"][0]
    assert key in row
    without = client.get(f"/api/v1/{door}/?fields=provider,{key}").json()["error"]["fields"]
    assert "is none of" in without["fields"][0]


def test_a_new_rate_makes_a_new_answer(client):
    address = "/api/v1/offers/?currency=EUR"
    known = client.get(address)["ETag"]
    assert client.get(address, headers={"If-None-Match": known}).status_code == 304
    accept(begin(), Sheet(date(2026, 11, 27), {"EUR": Decimal("1.28")}, "https://ecb.example"))
    answer = client.get(address, headers={"If-None-Match": known})
    assert answer.status_code == 200
    assert answer.json()["results"][0]["usd_per_eur"] in {"1.28", "1.12"}

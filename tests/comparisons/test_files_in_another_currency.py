"""Files of a run in the money that `currency` asks for: at the rate of the run's day, beside $."""

import csv
import io
import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from catalog.models import Rate
from tests.comparisons.conftest import IB, JOB, MONDAY, PICKS, facts, offer

ROOT = "/api/v1/comparisons/"
BODY = {"name": "Q1", "workload": JOB, "gpus": 64, "picks": [*PICKS, "acme/euro"]}
EURO = offer(
    "euro", "8.8", facts=facts("acme/euro", **IB), native_currency="EUR", native_amount=Decimal(8),
    usd_rate=Decimal("1.10"), usd_rate_date=MONDAY.date(),
)  # fmt: skip


@pytest.fixture
def made(market, as_ada):
    """The address of a comparison, and of its runs: of today, and at the prices of the 24th."""
    market(days=0.5, more=(EURO,))
    for day, usd in ((20, "1.25"), (28, "1.00")):
        Rate.objects.create(currency="EUR", usd_per_unit=usd, day=date(2026, 11, day), source="ECB")

    def post(at: str, body: Any) -> Any:
        return as_ada.post(at, json.dumps(body), content_type="application/json").json()

    at = f"{ROOT}{post(ROOT, BODY)['id']}/"
    now, then = post(f"{at}run/", {}), post(f"{at}run/", {"as_of": "2026-11-24"})
    return at, f"{at}runs/{now['id']}/", f"{at}runs/{then['id']}/"


def table(client, at: str) -> tuple[list[str], dict[str, dict[str, str]]]:
    lines = csv.DictReader(io.StringIO(client.get(f"{at}&format=csv").content.decode()))
    rows = {row["key"]: row for row in lines}
    return list(lines.fieldnames or ()), rows


def test_a_table_has_its_amounts_besides_at_the_rate_of_the_runs_day(made, as_ada):
    at, now, then = made
    dollars, _rows = table(as_ada, f"{then}?")
    for address, rate, day in ((f"{then}?currency=EUR", "1.25", "2026-11-20"),
                               (f"{now}?currency=EUR", "1", "2026-11-28"),
                               (f"{at}export/?currency=EUR", "1", "2026-11-28")):  # fmt: skip
        columns, rows = table(as_ada, address)
        assert columns == [
            *dollars, "eur_per_mtoken", "eur_per_mtoken_low", "eur_per_mtoken_high",
            "eur_per_step", "eur_lost_to_waiting_per_hour", "eur_per_hour", "eur_per_gpu_hour",
            "usd_per_eur", "usd_per_eur_date",
        ]  # fmt: skip
        row = rows["acme/ib"]
        assert (row["usd_per_hour"], row["usd_per_eur"], row["usd_per_eur_date"]) == (
            "24",
            rate,
            day,
        )
        assert row["eur_per_hour"] == {"1.25": "19.2", "1": "24"}[rate]
        for name in ("per_mtoken", "per_mtoken_low", "lost_to_waiting_per_hour"):
            usd = float(row[f"usd_{name}"])
            assert float(row[f"eur_{name}"]) == pytest.approx(usd / float(rate))


def test_what_a_provider_asks_for_in_that_money_is_what_it_asks(made, as_ada):
    _columns, rows = table(as_ada, f"{made[1]}?currency=EUR")
    row = rows["acme/euro"]
    assert (row["eur_per_hour"], row["eur_per_gpu_hour"]) == ("8", "1")
    assert (row["usd_per_eur"], row["usd_per_eur_date"]) == ("1.1", "2026-11-23")
    assert float(row["eur_per_mtoken"]) == pytest.approx(float(row["usd_per_mtoken"]) / 1.1)


def test_json_has_them_besides_and_says_the_rate(made, as_ada):
    _at, _now, then = made
    kept, told = (as_ada.get(then, asked).json()["results"] for asked in ({}, {"currency": "EUR"}))
    assert (kept["currency"], "eur_per" in json.dumps(kept)) == (None, False)
    assert told["currency"] == {
        "code": "EUR", "usd_per_unit": "1.25", "rate_date": "2026-11-20", "source": "ECB",
    }  # fmt: skip
    by_key = {each["key"]: each["offer"] for each in told["offers"]}
    assert by_key["acme/ib"]["eur_per_hour"] == "19.2"
    assert by_key["acme/euro"]["eur_per_hour"] == "8"
    assert told["types"]["acme/ib"]["prices"]["spot"]["eur_per_hour"] == "9.6"
    rates = {"acme/euro": 1.1}
    for each in told["workloads"][0]["results"]:
        rate = rates.get(each["key"], 1.25)
        assert each["eur_per_mtoken"] == pytest.approx(each["usd_per_mtoken"] / rate)
    assert told["asked"] == kept["asked"]
    assert told["workloads"][0]["left_out"] == kept["workloads"][0]["left_out"]


def test_dollars_alone_are_told_of_a_comparison_in_euros(made, as_ada):
    at, now, _then = made
    as_ada.patch(at, json.dumps({"currency": "EUR"}), content_type="application/json")
    as_ada.post(f"{at}run/", "{}", content_type="application/json")
    dollars, _rows = table(as_ada, f"{now}?")
    assert "eur_per_hour" in table(as_ada, f"{at}export/?")[0]
    assert table(as_ada, f"{at}export/?currency=USD")[0] == dollars


def test_changes_are_told_in_it(made, as_ada, market):
    at, _now, _then = made
    market(days=1, ib="30", more=(EURO,))
    as_ada.post(f"{at}run/", "{}", content_type="application/json")
    told = as_ada.get(f"{at}diff/", {"currency": "EUR"}).json()["changes"]
    (price,) = (each for each in told if each["kind"] == "price")
    assert (price["was_text"], price["now_text"]) == ("3.00 EUR", "3.75 EUR")
    assert price["delta_percent"] == 25


def test_a_currency_without_a_rate_is_refused_by_name(made, as_ada):
    at, now, _then = made
    for door in (f"{at}export/", now, f"{at}diff/"):
        answer = as_ada.get(door, {"currency": "XXX"})
        assert answer.status_code == 400
        assert "has no rate" in answer.json()["error"]["fields"]["currency"][0]

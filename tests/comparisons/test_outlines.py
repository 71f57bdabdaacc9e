"""The list of comparisons reads of each run an outline, kept when it was made, and no answer."""

from importlib import import_module

import pytest
from django.apps import apps
from django.db import ProgrammingError, connection, transaction
from django.test.utils import CaptureQueriesContext

from catalog.models import Rate
from comparisons import runs
from comparisons.changes import changes, counted, summary
from comparisons.models import Run
from tests.comparisons.conftest import DAY, JOB, MONDAY, offer

old_runs = import_module("comparisons.migrations.0004_old_runs_in_brief")
LISTS = ("/comparisons/", "/api/v1/comparisons/")


def asked_of_the_database(client, address: str) -> list[str]:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(address).status_code == 200
    return [each["sql"] for each in queries]


@pytest.fixture
def several(saved, market, as_ada):
    """Three comparisons, each asked twice."""
    kept = [saved(name=f"Q{n}") for n in range(3)]
    for comparison in kept:
        runs.make(comparison)
    market(days=1, dark="15", roce=None)
    return [runs.make(comparison) for comparison in kept]


@pytest.mark.parametrize("address", LISTS)
def test_a_list_asks_as_often_for_three_as_for_one_and_reads_no_answer(several, as_ada, address):
    as_ada.get(address)  # what the footer says of the catalog is counted once
    for_three = asked_of_the_database(as_ada, address)
    assert not [sql for sql in for_three if '"results"' in sql]
    several[0].comparison.owner.comparisons.exclude(pk=several[0].comparison_id).delete()
    assert len(asked_of_the_database(as_ada, address)) == len(for_three)


def test_the_page_of_the_list_is_one_query_besides_its_count(several, as_ada):
    found = asked_of_the_database(as_ada, "/comparisons/")
    of_this_room = [sql for sql in found if "comparisons_" in sql]
    assert len(of_this_room) == 2
    assert not [column for column in ("picks", "filter", "notes") if column in "".join(found)]


def test_what_the_list_says_is_what_the_page_of_each_says(several, as_ada):
    for run in several:
        assert counted(run.outline["changes"]) == summary(runs.since(run)) == (
            "1 price, 1 gone, 2 ranks"
        )  # fmt: skip
    html = as_ada.get("/comparisons/").content.decode()
    assert html.count("1 price, 1 gone, 2 ranks") == 3
    assert html.count(JOB) == 3
    first = several[0].results["workloads"][0]["results"][0]
    assert html.count(f"Acme {first['key'].removeprefix('acme/')}<small>") == 3
    assert f"{first['usd_per_mtoken']:.3f} $ per million tokens" in html


def test_scripts_read_how_much_changed_in_the_list_too(several, as_ada):
    listed = as_ada.get("/api/v1/comparisons/?sort=name").json()["results"]
    assert [each["last_run"]["id"] for each in listed] == [str(run.pk) for run in several]
    last = listed[0]["last_run"]["outline"]
    assert last["changes"] == {"price": 1, "gone": 1, "rank": 2}
    assert (last["leads"]["of"], last["leads"]["currency"]) == ("usd_per_mtoken", "USD")
    one = as_ada.get(f"/api/v1/comparisons/{listed[0]['id']}/").json()
    assert one == listed[0]


def test_a_first_run_has_no_changes_and_one_that_changed_nothing_has_none(saved):
    comparison = saved()
    assert [runs.make(comparison).outline["changes"] for _ in range(2)] == [None, {}]


@pytest.mark.parametrize(
    ("objective", "of"),
    [("usd_per_mtoken", "usd_per_mtoken"), ("time", "step_time_s"),
     ("efficiency", "fabric_efficiency"), ("gpus", "usd_per_mtoken")],
)  # fmt: skip
def test_who_leads_is_told_by_the_figure_that_it_is_ranked_by(saved, objective, of):
    run = runs.make(saved(objective=objective))
    first = run.results["workloads"][0]["results"][0]
    leads = run.outline["leads"]
    assert leads["of"] == of
    assert leads["value"] == (first | first["estimate"])[of]
    assert leads["offer"]["instance_type"] == first["key"].removeprefix("acme/")


@pytest.mark.parametrize(
    ("currency", "usd", "value", "said"),
    [("EUR", "1.25", 0.8, "0.80 € per GPU-hour"), ("JPY", "0.01", 100, "100 ¥ per GPU-hour")],
)
def test_without_a_workload_the_lowest_price_leads_in_the_comparisons_currency(
    saved, as_ada, currency, usd, value, said
):
    day = (MONDAY - DAY).date()
    Rate.objects.create(currency=currency, usd_per_unit=usd, day=day, source="x")
    comparison = saved(currency=currency)
    comparison.workloads = []
    comparison.save()
    leads = runs.make(comparison).outline["leads"]
    assert (leads["offer"]["instance_type"], leads["value"], leads["currency"]) == (
        "dark", value, currency,
    )  # fmt: skip
    assert leads["of"] == f"{currency.lower()}_per_gpu_hour"
    assert said in as_ada.get("/comparisons/").content.decode()


def test_euros_that_an_older_version_kept_under_the_name_of_dollars_are_told_as_euros(
    saved, as_ada
):
    run = runs.make(saved())
    old = run.outline["leads"] | {"of": "usd_per_mtoken", "value": 0.025, "currency": "EUR"}
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")
        cursor.execute(old_runs.ASIDE)
        Run.objects.update(outline=run.outline | {"leads": old})
        cursor.execute(old_runs.BACK)
    (told,) = as_ada.get(f"/api/v1/comparisons/{run.comparison_id}/runs/").json()["results"]
    leads = told["outline"]["leads"]
    assert (leads["of"], leads["value"], leads["currency"]) == ("eur_per_mtoken", 0.025, "EUR")
    assert "0.025 € per million tokens" in as_ada.get("/comparisons/").content.decode()


def test_where_nothing_has_a_price_nobody_leads(saved, market, as_ada):
    quoted = [offer(name, None, price_note="ask us") for name in ("ib", "roce", "dark")]
    market(days=1, ib=None, roce=None, dark=None, spot=None, more=tuple(quoted))
    comparison = saved()
    comparison.workloads = []
    assert runs.make(comparison).outline["leads"] is None
    assert as_ada.get("/comparisons/").status_code == 200


def test_runs_that_were_kept_without_an_outline_get_it_and_stay_unchangeable(several, as_ada):
    told = dict(Run.objects.values_list("pk", "outline"))
    answers = dict(Run.objects.values_list("pk", "results"))
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")
        cursor.execute(old_runs.ASIDE)
        Run.objects.update(outline=None)
        assert as_ada.get("/comparisons/").status_code == 200  # meanwhile, a dash
        assert (
            as_ada.get("/api/v1/comparisons/").json()["results"][0]["last_run"]["outline"] is None
        )
        old_runs.fill(apps, None)
        cursor.execute(old_runs.BACK)
    assert dict(Run.objects.values_list("pk", "outline")) == told
    assert dict(Run.objects.values_list("pk", "results")) == answers
    with pytest.raises(ProgrammingError, match="never changed"), transaction.atomic():
        Run.objects.update(outline=None)


def test_the_outline_of_a_run_at_the_prices_of_a_day_is_held_against_the_last_of_its_time(several):
    was = several[0].comparison
    then = runs.make(was, as_of=MONDAY + DAY / 2)
    found = changes(several[0].results, then.results)
    assert counted(then.outline["changes"]) == summary(found) != ""

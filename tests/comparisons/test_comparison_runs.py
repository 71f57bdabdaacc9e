"""Runs over a market that moves: what is kept, what changed, what it did; never a $0."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from catalog import estimates, ingest
from catalog.filters import OfferQuery
from catalog.models import Rate
from catalog.records import PriceModel
from comparisons import rfq, runs, snapshot
from comparisons.changes import Kind, changes, summary
from comparisons.compare_page import shown
from comparisons.models import Run
from scoring import MODEL_VERSION
from tests.comparisons.conftest import DAY, IB, JOB, MONDAY, PICKS, SMALL, facts, offer


def by_kind(run: Run, kind: Kind) -> dict:
    return {change.key: change for change in runs.since(run) if change.kind is kind}


def test_a_run_keeps_the_answer_whole(saved):
    run = runs.make(saved())
    offers = {each["key"]: each["offer"] for each in run.results["offers"]}
    assert list(offers) == PICKS
    ib = offers["acme/ib"]
    assert (ib["native_amount"], ib["native_currency"], ib["usd_per_gpu_hour"]) == (
        "24",
        "USD",
        "3",
    )
    assert ib["source_url"] == "https://acme.example/prices"
    said = run.results["types"]["acme/ib"]["facts"]["fabric"]
    assert (said["value"], said["basis"], said["checked"]) == (
        "infiniband", "documented", "2026-11-23",
    )  # fmt: skip
    (answer,) = run.results["workloads"]
    assert {each["key"] for each in answer["results"]} == set(PICKS)
    assert [each["rank"] for each in answer["results"]] == [1, 2, 3]
    assert (run.model_version, run.catalog_version > 0) == (MODEL_VERSION, True)


def test_a_run_is_of_one_list_though_another_is_published_while_it_is_taken(
    saved, market, monkeypatch
):
    """Between the reading of its offers and their ranking one comes that was not listed."""
    comparison, cheapest, read = (
        saved(picks=[], filter={"price_model": "on_demand"}),
        snapshot.offers.cheapest,
        [],
    )

    def then_published(query):
        found = cheapest(query)
        if not read:
            read.append(found)
            market(days=1, more=(offer("new", "4", facts=facts("acme/new", **IB)),))
        return found

    monkeypatch.setattr(snapshot.offers, "cheapest", then_published)
    run = runs.make(comparison)
    assert len(read) == 1
    assert "acme/new" not in {row["instance_type"] for row in read[0]}
    keys = {each["key"] for each in run.results["offers"]}
    (answer,) = run.results["workloads"]
    assert {each["key"] for each in (*answer["results"], *answer["left_out"])} == keys
    assert any("new" in key for key in keys)


def test_the_estimates_are_those_of_the_api(saved):
    mine = runs.make(saved()).results["workloads"][0]["results"]
    theirs = estimates.rank(JOB, 64, OfferQuery(filters={"price_model": ["on_demand"]}))["results"]
    assert [(e["key"], e["usd_per_mtoken"], e["estimate"]["step_time_s"]) for e in mine] == [
        (
            f"acme/{e['offer']['instance_type']}",
            e["usd_per_mtoken"],
            e["estimate"]["step_time_s"],
        )
        for e in theirs
    ]


def test_nothing_changed_makes_no_run(saved, market):
    comparison = saved()
    first = runs.refresh(comparison)
    assert first is not None
    assert runs.refresh(comparison) is None
    market(days=1)  # a newer list, the same prices
    assert runs.refresh(comparison) is None
    assert comparison.runs.count() == 1


def test_a_price_that_moved_is_told_with_both_sides_and_its_effect(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, dark="15")
    run = runs.refresh(comparison)
    change = by_kind(run, Kind.PRICE)["acme/dark"]
    assert (change.was, change.now) == ("1", "1.875")
    assert change.delta_percent == pytest.approx(87.5)
    assert change.seen == (MONDAY + DAY).date()
    assert (change.was_text, change.now_text) == ("$1.00", "$1.88")
    assert "rank " in change.effect
    assert "cost of work +88 %" in change.effect
    assert set(by_kind(run, Kind.RANK)) == {"acme/dark", "acme/roce"}  # it fell behind the other
    assert summary(runs.since(run)) == "1 price, 2 ranks"


def test_what_several_changes_did_is_said_of_none_alone(saved, market):
    """One price and two facts of an offer: nobody can tell which of them moved its cost."""
    comparison = saved()
    runs.refresh(comparison)
    slower = facts("acme/ib", **IB | {"fabric_nics": 4})
    market(days=1, ib=None, roce="17", more=(offer("ib", "30", facts=slower),))
    run = runs.refresh(comparison)
    found = [c for c in runs.since(run) if c.key == "acme/ib" and c.kind is not Kind.RANK]
    kinds = [change.kind for change in found]
    assert kinds.count(Kind.PRICE) == 1
    assert kinds.count(Kind.FACT) > 1
    more = len(found) - 1
    for change in found:
        assert change.others == more
        assert change.as_json()["effects_shared_with"] == more
        assert change.effect.startswith(f"together with {more} other changes: ")
    alone = by_kind(run, Kind.PRICE)["acme/roce"]
    assert alone.others == 0
    assert "together" not in alone.effect


def test_fewer_gpus_at_one_price_are_a_higher_price_of_each(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    half = offer("dark", "8", facts=facts("acme/dark", gpu_count=4))
    market(days=1, dark=None, more=(half,))
    change = by_kind(runs.refresh(comparison), Kind.PRICE)["acme/dark"]
    assert (change.was_text, change.now_text) == ("$1.00", "$2.00")
    assert change.delta_percent == 100
    assert change.others > 0  # the facts that changed with it


def test_prices_have_two_decimals_but_where_they_would_look_alike(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, dark="8.02", roce="16.7004")
    prices = by_kind(runs.refresh(comparison), Kind.PRICE)
    assert (prices["acme/dark"].was_text, prices["acme/dark"].now_text) == ("$1.0000", "$1.0025")
    assert prices["acme/roce"].now_text == "$2.09"


def test_what_is_gone_is_not_offered_and_saves_nothing(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, roce=None)
    change = by_kind(runs.refresh(comparison), Kind.GONE)["acme/roce"]
    assert (change.was, change.now, change.delta_percent) == ("2", None, None)
    assert (change.was_text, change.now_text) == ("$2.00", "no longer listed")
    assert "$0" not in str(change.as_json())


def test_a_region_without_it_is_not_offered(saved, market):
    here = offer("roce", "20", region="tokyo", country="JP")
    comparison = saved(filter={"region": "tokyo"})
    run = runs.refresh(comparison)
    assert {each["status"] for each in run.results["offers"]} == {snapshot.NOT_OFFERED}
    assert run.results["workloads"][0]["results"] == []
    market(days=1, more=(here,))
    run = runs.refresh(comparison)
    change = by_kind(run, Kind.NEW)["acme/roce"]
    assert (change.was, change.now, change.delta_percent) == (None, "2.5", None)
    assert change.was_text == "not offered"
    market(days=2)
    change = by_kind(runs.refresh(comparison), Kind.GONE)["acme/roce"]
    assert (change.now, change.now_text, change.delta_percent) == (None, "not offered", None)


def test_a_price_that_is_no_longer_published_has_no_delta(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    quoted = offer("dark", None, facts=facts("acme/dark"), price_note="ask us")
    market(days=1, dark=None, more=(quoted,))
    run = runs.refresh(comparison)
    change = by_kind(run, Kind.UNPUBLISHED)["acme/dark"]
    assert (change.was, change.now, change.delta_percent) == ("1", None, None)
    assert change.now_text == "not published"
    market(days=2)
    change = by_kind(runs.refresh(comparison), Kind.PUBLISHED)["acme/dark"]
    assert (change.was, change.now, change.delta_percent) == (None, "1", None)


def test_a_fact_that_somebody_found_out_is_told_with_its_source(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    known = offer("dark", "8", facts=facts("acme/dark", fabric="infiniband",
                  fabric_nics=8, fabric_gbits_per_s_per_nic=400))  # fmt: skip
    market(days=1, dark=None, more=(known,))
    run = runs.refresh(comparison)
    change = next(c for c in runs.since(run) if c.attribute == "fabric_gbits_per_s")
    assert (change.kind, change.was, change.now) == (Kind.FACT, None, 3200)
    assert (change.was_text, change.now_text) == ("unknown", "3,200 Gb/s")
    assert change.delta_percent is None
    assert "range narrowed from" in change.effect
    fabric = next(c for c in runs.since(run) if c.attribute == "fabric")
    assert fabric.now_said["source"] == "https://acme.example/prices"
    assert fabric.was_said == {}


def test_a_filter_finds_what_came_and_what_no_longer_passes(saved, market):
    comparison = saved(
        picks=[], filter={"usd_per_gpu_hour_max": "2.50", "price_model": "on_demand"}
    )
    runs.refresh(comparison)
    newer = offer("ib2", "10", facts=facts("acme/ib2", **IB))
    market(days=1, roce="32", more=(newer,))
    run = runs.refresh(comparison)
    assert set(by_kind(run, Kind.NEW)) == {"acme/ib2;on_demand"}
    gone = by_kind(run, Kind.GONE)
    assert set(gone) == {"acme/roce;on_demand"}
    assert gone["acme/roce;on_demand"].now_text == "not offered, or the filter keeps it out"


def test_a_pick_of_two_price_models_is_two_rows(saved):
    run = runs.make(saved(picks=["acme/ib;on_demand", "acme/ib;spot"]))
    prices = [each["offer"]["usd_per_hour"] for each in run.results["offers"]]
    assert prices == ["24", "12"]
    both = run.results["types"]["acme/ib"]["prices"]
    assert [both[model]["usd_per_hour"] for model in ("on_demand", "spot")] == ["24", "12"]


def test_a_run_as_of_a_date_has_the_prices_of_then(saved, market):
    market(days=2, ib="30")
    comparison = saved()
    now = runs.refresh(comparison)
    then = runs.make(comparison, as_of=datetime(2026, 11, 24, tzinfo=UTC))
    assert [r.results["offers"][0]["offer"]["usd_per_hour"] for r in (now, then)] == ["30", "24"]
    assert runs.current(comparison) == now  # what later runs are held against is the present
    assert runs.refresh(comparison) is None
    (change,) = (c for c in changes(then.results, now.results) if c.kind is Kind.PRICE)
    assert (change.was, change.now) == ("3", "3.75")


def test_a_new_rate_of_exchange_alone_is_no_change(saved, market):
    def in_euros(rate):
        return offer("euro", "8", facts=facts("acme/euro", **IB), native_currency="EUR",
                     usd_per_hour=8 * Decimal(rate), usd_rate=Decimal(rate),
                     usd_rate_date=MONDAY.date())  # fmt: skip

    comparison = saved(picks=["acme/euro"])
    market(days=1, more=(in_euros("1.10"),))
    run = runs.refresh(comparison)
    assert run.results["offers"][0]["offer"]["usd_rate"] == "1.1"
    market(days=2, ib="25", more=(in_euros("1.11"),))
    assert runs.refresh(comparison) is None


def test_two_workloads_are_ranked_apart(saved):
    workloads = [{"workload": JOB, "gpus": 64}, {"workload": SMALL, "nodes": 1}]
    comparison = saved()
    comparison.workloads = workloads
    run = runs.make(comparison)
    assert [(w["gpus"], w["nodes"]) for w in run.results["workloads"]] == [(64, None), (None, 1)]


def test_a_comparison_without_a_workload_is_of_offers_alone(saved):
    comparison = saved()
    comparison.workloads = []
    run = runs.make(comparison)
    assert run.results["workloads"] == []
    assert len(run.results["offers"]) == 3


def test_a_type_that_the_catalog_never_had_stays_said(saved):
    run = runs.make(saved(picks=["acme/ib", "acme/nonesuch"]))
    assert [each["status"] for each in run.results["offers"]] == ["offered", "unheard_of"]
    assert run.results["offers"][1]["offer"]["usd_per_hour"] is None


def test_an_edited_question_is_told_as_such(saved):
    comparison = saved()
    first = runs.make(comparison)
    comparison.picks = PICKS[:2]
    kinds = [change.kind for change in changes(first.results, runs.make(comparison).results)]
    assert Kind.QUESTION in kinds


def test_spot_has_a_key_of_its_own(saved):
    run = runs.make(saved(picks=[], filter={"price_model": "spot"}))
    assert [each["key"] for each in run.results["offers"]] == [f"acme/ib;{PriceModel.SPOT}"]


def test_another_version_of_the_cost_model_is_told_as_such_and_not_as_the_market(
    saved, as_ada, monkeypatch
):
    comparison = saved()
    runs.make(comparison)
    monkeypatch.setattr("scoring.MODEL_VERSION", "2099.01-1")
    second = runs.make(comparison)
    (found,) = runs.since(second)
    assert found.kind is Kind.MODEL
    assert (found.was_text, found.now_text) == (MODEL_VERSION, "2099.01-1")
    text = as_ada.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert "with cost model 2099.01-1" in text
    assert f"<td>{MODEL_VERSION}</td>" in text  # of the run before, in the list of runs


def test_what_nobody_recorded_is_not_called_not_offered(saved):
    comparison = saved()
    now = runs.make(comparison)
    then = runs.make(comparison, as_of=datetime(2020, 1, 1, tzinfo=UTC))
    for was, to in ((then, now), (now, then)):
        found = changes(was.results, to.results)
        assert {change.kind for change in found} == {Kind.INCOMPARABLE}
        texts = {change.was_text if was is then else change.now_text for change in found}
        assert texts == {"no price of then is known"}
        assert summary(found) == "3 with nothing to compare it to"


def test_what_was_not_asked_about_neither_came_nor_went(saved):
    comparison = saved(picks=PICKS[:2])
    first = runs.make(comparison)
    comparison.picks = PICKS[1:]
    found = changes(first.results, runs.make(comparison).results)
    assert {change.kind for change in found} == {Kind.QUESTION, Kind.INCOMPARABLE}
    texts = {change.key: (change.was_text, change.now_text) for change in found if change.key}
    assert texts == {
        "acme/dark": ("was not asked about", "$1.00"),
        "acme/ib": ("$3.00", "was not asked about"),
    }


def test_two_workloads_tell_their_ranks_apart(saved, market):
    comparison = saved()
    comparison.workloads = [{"workload": JOB, "gpus": 64}, {"workload": JOB, "gpus": 32}]
    first = runs.make(comparison)
    market(days=1, dark="15")
    found = changes(first.results, runs.make(comparison).results)
    ranks = {change.what for change in found if change.kind is Kind.RANK}
    assert ranks <= {f"Rank, {JOB} (64 GPUs)", f"Rank, {JOB} (32 GPUs)"}
    assert ranks


def test_a_dispute_that_begins_is_told_with_both_values_and_asked_about(saved):
    comparison = saved()
    before = {sharp: facts("acme/ib", sharp=sharp)[-1] for sharp in ("yes", "no")}
    ingest.state([before["yes"]], "blog")
    runs.refresh(comparison)
    ingest.state([replace(before["no"], source="https://acme.example/faq")], "faq")
    run = runs.refresh(comparison)
    (change,) = (change for change in runs.since(run) if change.attribute == "sharp")
    assert (change.was_text, change.now_text) == ("yes", "no ≠ yes")
    assert change.delta_percent is None
    assert "Sources disagree on “SHARP in the switches”: no ≠ yes." in rfq.text(run.results, "Q1")


def test_a_fact_that_lost_its_source_is_unknown_again_and_no_loss(saved):
    comparison = saved()
    stated = facts("acme/dark", oversubscription=2)[-1]
    ingest.state([stated], "blog")
    runs.refresh(comparison)
    ingest.state([], "blog")
    run = runs.refresh(comparison)
    (change,) = (change for change in runs.since(run) if change.attribute == "oversubscription")
    assert (change.was_text, change.now_text, change.delta_percent) == ("2:1", "unknown", None)
    assert change.was_said["source"] == "https://acme.example/prices"


def rate(usd: str, day: int) -> None:
    """What the ECB said on a day of November."""
    Rate.objects.create(currency="EUR", usd_per_unit=usd, day=date(2026, 11, day), source="ECB")


def test_in_euros_a_move_of_the_rate_alone_is_no_change_of_a_price(saved, market):
    rate("1.25", 20)
    comparison = saved(currency="EUR")
    first = runs.refresh(comparison)
    rate("1.00", 24)
    market(days=1)
    assert runs.refresh(comparison) is None
    again = runs.make(comparison)
    assert again.results["currency"]["usd_per_unit"] != first.results["currency"]["usd_per_unit"]
    assert changes(first.results, again.results) == []


def test_in_euros_the_price_and_the_rate_are_told_apart(saved, market):
    """The provider asks 10 % more dollars, and a euro buys a fifth fewer of them."""
    rate("1.25", 20)
    comparison = saved(currency="EUR")
    runs.refresh(comparison)
    rate("1.00", 24)
    market(days=1, roce="17.60")
    found = by_kind(runs.refresh(comparison), Kind.PRICE)
    assert set(found) == {"acme/roce"}  # the others' prices stand as they stood
    change = found["acme/roce"]
    assert (change.was_text, change.now_text) == ("1.60 EUR", "2.20 EUR")
    assert change.delta_percent == pytest.approx(10)
    assert change.rate_percent == pytest.approx(25)
    assert "exchange rate +25 %" in change.effect


def test_a_price_that_falls_while_its_money_rises_is_told_as_lower(saved, market):
    rate("1.25", 20)
    comparison = saved(currency="EUR")
    runs.refresh(comparison)
    rate("1.00", 24)
    market(days=1, roce="14.40")
    change = by_kind(runs.refresh(comparison), Kind.PRICE)["acme/roce"]
    assert change.delta_percent == pytest.approx(-10)
    assert (change.was, change.now) == ("1.6", "1.8")  # in euros it is dearer: the rate's doing


def test_another_currency_of_the_comparison_is_no_change_of_any_price(saved):
    rate("1.25", 20)
    comparison = saved()
    first = runs.make(comparison)
    comparison.currency = "EUR"
    assert {c.kind for c in changes(first.results, runs.make(comparison).results)} <= {
        Kind.QUESTION
    }


def test_what_is_gone_and_comes_back_is_new_again(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    market(days=1, roce=None)
    runs.refresh(comparison)
    market(days=2)
    change = by_kind(runs.refresh(comparison), Kind.NEW)["acme/roce"]
    assert (change.was_text, change.now_text, change.delta_percent) == (
        "no longer listed", "$2.00", None,
    )  # fmt: skip


def test_a_fact_of_another_value_is_told_with_both_and_no_price_moves(saved, market):
    comparison = saved()
    runs.refresh(comparison)
    faster = facts("acme/roce", fabric="roce", fabric_gbits_per_s=3200)
    market(days=1, roce=None, more=(offer("roce", "16", facts=faster),))
    run = runs.refresh(comparison)
    change = next(c for c in runs.since(run) if c.attribute == "fabric_gbits_per_s")
    assert (change.was_text, change.now_text) == ("1,600 Gb/s", "3,200 Gb/s")
    assert change.delta_percent == pytest.approx(100)
    assert by_kind(run, Kind.PRICE) == {}


def test_a_baseline_that_is_gone_stays_the_baseline_and_saves_nothing(saved, market):
    comparison = saved(baseline="acme/roce")
    runs.make(comparison)
    market(days=1, roce=None)
    made = shown(runs.make(comparison).results)
    assert made["table"].columns[0].key == "acme/roce"
    assert "$0" not in str(made["table"])
    prices = next(line for _title, lines in made["table"].groups for line in lines
                  if line.title == "This offer")  # fmt: skip
    assert [cell.delta for cell in prices.cells] == ["", "", ""]
    assert "Not offered: Acme roce." in made["finding"].rest

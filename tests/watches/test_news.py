"""What of a run is told: against what the owner knows, above the threshold, in one transaction."""

from typing import Any

import pytest
from django.db import transaction

from catalog.records import NO_PRICE_FOUND
from comparisons.models import Comparison, Run
from tests.watches.conftest import offer, run, watch_of
from watches.models import Delivery, Event
from watches.wording import sentence

pytestmark = pytest.mark.django_db
PICKED = "acme/h100x8"  # a row of no price model: several offers may speak for it
A, B = "acme/h100x8;on_demand", "bolt/h200x8;on_demand"


def told() -> list[list[tuple[str, Any, Any]]]:
    """Of each event, who changed from what to what."""
    return [
        [(c["key"], c["was"], c["now"]) for c in event.payload["changes"]]
        for event in Event.objects.order_by("number")
    ]


def ranked(*keys: str) -> dict[str, Any]:
    """An answer's workload that ranks these offers."""
    results = [
        {"key": key, "rank": n, "usd_per_mtoken": n, "usd_per_step": None,
         "estimate": {"interval": {"low": 1, "high": 1}, "step_time_s": 1}}
        for n, key in enumerate(keys, 1)
    ]  # fmt: skip
    workload = {"slug": "x", "title": "Llama"}
    one = {"workload": workload, "gpus": 8, "nodes": None, "results": results, "left_out": []}
    return {"workloads": [one]}


def test_the_first_run_is_the_base_and_no_news(comparison: Comparison) -> None:
    watch_of(comparison)
    run(comparison, [offer(A, "2.00")])
    assert told() == []


def test_a_price_above_the_threshold_is_told_with_its_source(comparison: Comparison) -> None:
    run(comparison, [offer(A, "2.00"), offer(B, "4.00")])
    watch = watch_of(comparison, threshold=10)
    made = run(comparison, [offer(A, "2.20"), offer(B, "4.30")])
    assert told() == [[(A, "2.00", "2.20")]]
    event = Event.objects.get()
    change = event.payload["changes"][0]
    assert change["delta_percent"] == pytest.approx(10)
    assert change["now_source"]["source"] == "https://acme.example/prices"
    assert event.payload["run"]["id"] == str(made.pk)
    assert event.payload["watch"] == {"id": str(watch.pk), "what": "price", "threshold": 10.0}
    assert Delivery.objects.get().pk == event.pk


def test_a_price_that_rises_by_the_very_threshold_is_told(comparison: Comparison) -> None:
    """As floats 26.4 over 24 is 1.0999999999999999."""
    watch_of(comparison, threshold=10)
    run(comparison, [offer(A, "24"), offer(B, "24")])
    run(comparison, [offer(A, "26.40"), offer(B, "26.39")])
    assert told() == [[(A, "24", "26.40")]]
    assert Event.objects.get().payload["changes"][0]["delta_percent"] == 10


def test_a_price_that_creeps_is_held_against_what_was_told(comparison: Comparison) -> None:
    """1 % a day, while the other jumps: told once it has made 5 %, and then from there."""
    watch_of(comparison, threshold=5)
    for day in range(12):
        run(comparison, [offer(A, f"{2 + day * 0.02:.2f}"), offer(B, "4" if day < 3 else "5")])
    assert told() == [[(B, "4", "5")], [(A, "2.00", "2.10")], [(A, "2.10", "2.22")]]


def test_a_fall_back_to_the_old_price_is_told_too(comparison: Comparison) -> None:
    watch_of(comparison, threshold=5)
    for usd in ("2", "3", "2"):
        run(comparison, [offer(A, usd)])
    assert told() == [[(A, "2", "3")], [(A, "3", "2")]]


def test_what_is_not_offered_is_never_a_price_of_zero(comparison: Comparison) -> None:
    """Away, and back at another price: one change, from the price that was told."""
    watch_of(comparison, threshold=5)
    run(comparison, [offer(A, "2"), offer(B, "4")])
    run(comparison, [offer(B, "4")])
    assert told() == []
    run(comparison, [offer(A, "3"), offer(B, "4")])
    assert told() == [[(A, "2", "3")]]


def test_an_offer_that_is_new_has_a_price_to_be_held_against(comparison: Comparison) -> None:
    watch_of(comparison, threshold=5)
    run(comparison, [offer(A, "2")])
    run(comparison, [offer(A, "2"), offer(B, "4")])
    run(comparison, [offer(A, "2"), offer(B, "6")])
    assert told() == [[(B, "4", "6")]]


def test_a_rank_that_moves_by_the_threshold_is_told(comparison: Comparison) -> None:
    c, d = "c/x;on_demand", "d/x;on_demand"
    offers = [offer(key, "2") for key in (A, B, c, d)]
    watch_of(comparison, what="rank", threshold=2)
    run(comparison, offers, **ranked(A, B, c, d))
    run(comparison, offers, **ranked(B, A, c, d))
    assert told() == []
    run(comparison, offers, **ranked(B, c, A, d))
    assert told() == [[(A, 1, 3)]]
    run(comparison, offers, **ranked(B, c, A))
    assert told()[1:] == [[(d, 4, None)]]


def test_a_fact_that_is_known_otherwise_is_told(comparison: Comparison) -> None:
    def types(value: object) -> dict[str, Any]:
        said = {"value": value, "basis": "documented", "source": "https://acme.example/doc",
                "checked": "2026-11-29", "disputed": False}  # fmt: skip
        return {"types": {"acme/h100x8": {"facts": {"fabric_gbits_per_s": said}}}}

    watch_of(comparison, what="spec", threshold=None)
    for value in (1600, 1600, 3200):
        run(comparison, [offer(A, "2", fabric_gbits_per_s=value)], **types(value))
    assert told() == [[(A, 1600, 3200)]]
    assert Event.objects.get().payload["changes"][0]["attribute"] == "fabric_gbits_per_s"


def test_what_comes_and_goes_is_told(comparison: Comparison) -> None:
    watch_of(comparison, what="availability", threshold=None)
    run(comparison, [offer(A, "2")])
    run(comparison, [offer(A, "9"), offer(B, "4")])
    run(comparison, [offer(B, "4")])
    run(comparison, [offer(B, "4")])
    assert told() == [[(B, None, "4")], [(A, "9", None)]]


def test_stock_is_told_where_the_provider_says_so(comparison: Comparison) -> None:
    """Nobody says for a while: that is no news, and what was said last is not forgotten."""
    watch_of(comparison, what="availability", threshold=None)
    for available in (None, True, None, False, None, False, True):
        run(comparison, [offer(A, "2", available=available), offer(B, "4")])
        run(comparison, [offer(A, "2", available=available), offer(B, "4")])
    assert told() == [[(A, True, False)], [(A, False, True)]]
    text = [e.payload["changes"][0]["now_text"] for e in Event.objects.order_by("number")]
    assert text == ["no", "yes"]


def test_an_edited_question_is_a_new_base(comparison: Comparison) -> None:
    watch_of(comparison)
    run(comparison, [offer(A, "2")])
    run(comparison, [offer(A, "9")], asked={"filter": {"gpu": "x"}})
    assert told() == []
    run(comparison, [offer(A, "2")], asked={"filter": {"gpu": "x"}})
    assert told() == [[(A, "9", "2")]]


def test_a_run_of_another_days_prices_is_no_news(comparison: Comparison) -> None:
    watch_of(comparison)
    run(comparison, [offer(A, "2")])
    with transaction.atomic():
        Run.objects.create(
            comparison=comparison, as_of="2026-01-01T00:00Z", catalog_version=9,
            model_version="1", results={"asked": {}, "offers": [offer(A, "9")]},
        )  # fmt: skip
    assert told() == []


def test_an_event_is_written_with_its_run_or_not_at_all(comparison: Comparison) -> None:
    watch_of(comparison)
    run(comparison, [offer(A, "2")])
    with transaction.atomic():
        run(comparison, [offer(A, "9")])
        assert Event.objects.count() == 1
        transaction.set_rollback(True)
    assert (Event.objects.count(), comparison.runs.count()) == (0, 1)
    run(comparison, [offer(A, "9")])
    assert told() == [[(A, "2", "9")]]


def test_each_watch_has_its_own_knowledge(comparison: Comparison) -> None:
    run(comparison, [offer(A, "2")])
    watch_of(comparison, threshold=5)
    run(comparison, [offer(A, "4")])
    watch_of(comparison, threshold=5)
    run(comparison, [offer(A, "6")])
    was = sorted(event.payload["changes"][0]["was"] for event in Event.objects.all())
    assert was == ["2", "4", "4"]


def test_a_paused_watch_is_told_the_difference_when_it_goes_on(comparison: Comparison) -> None:
    from watches import outbox
    from watches.models import Stop

    watch = watch_of(comparison)
    run(comparison, [offer(A, "2")])
    outbox.stop(watch, Stop.OWNER)
    run(comparison, [offer(A, "3")])
    assert told() == []
    outbox.resume(watch)
    run(comparison, [offer(A, "4")])
    assert told() == [[(A, "2", "4")]]


def test_a_fact_that_an_older_version_did_not_keep_is_no_news(comparison: Comparison) -> None:
    watch_of(comparison, what="spec", threshold=None)
    run(comparison, [offer(A, "2")])
    run(comparison, [offer(A, "2", fabric_gbits_per_s=3200) | {"not_kept": []}])
    assert told() == []


def test_a_price_is_held_against_the_providers_own_amount(comparison: Comparison) -> None:
    """+10 % while the rate falls by 8 % is told as +10 %; a move of the rate is no price."""
    watch_of(comparison, threshold=5)
    run(comparison, [offer(A, "2.200", native_amount="16", native_currency="EUR")])
    run(comparison, [offer(A, "2.530", native_amount="16.0016", native_currency="EUR")])
    assert told() == []
    run(comparison, [offer(A, "2.2264", native_amount="17.6", native_currency="EUR")])
    [change] = Event.objects.get().payload["changes"]
    assert change["delta_percent"] == pytest.approx(10)
    assert change["rate_percent"] == pytest.approx(-8)


def test_another_cost_model_is_told_as_that(comparison: Comparison) -> None:
    offers = [offer(A, "2"), offer(B, "2")]
    watch_of(comparison, what="rank", threshold=1)
    run(comparison, offers, **ranked(A, B))
    run(comparison, offers, **ranked(B, A), model_version="2")
    [change] = Event.objects.get().payload["changes"]
    assert (change["kind"], change["effect"]) == ("model", "2 ranks")
    run(comparison, offers, **ranked(B, A), model_version="2")
    assert Event.objects.count() == 1


@pytest.mark.parametrize("how", [{"price_model": "spot"}, {"tier": "bulk"}, {"via": "broker"}])
def test_another_offer_of_a_row_came_and_one_went(comparison: Comparison, how: Any) -> None:
    watch_of(comparison, what="availability", threshold=None)
    run(comparison, [offer(PICKED, "6.16", available=True)])
    run(comparison, [offer(PICKED, "2.46", **how)])
    run(comparison, [offer(PICKED, "2.46", available=False, **how)])  # of it nobody said yes
    assert told() == [[(PICKED, "6.16", None), (PICKED, None, "2.46")]]


@pytest.mark.parametrize("how", [{"price_model": "spot"}, {"tier": "bulk"}, {"via": "broker"}])
def test_another_offer_of_a_row_is_no_change_of_a_price(comparison: Comparison, how: Any) -> None:
    """Nor is it when the first is back; what changes of the other from then on is told."""
    watch_of(comparison, threshold=5)
    run(comparison, [offer(PICKED, "6.16")])
    run(comparison, [offer(PICKED, "2.46", **how)])
    assert told() == []
    run(comparison, [offer(PICKED, "2.96", **how)])
    run(comparison, [offer(PICKED, "6.16")])
    assert told() == [[(PICKED, "2.46", "2.96")]]


def test_a_lowest_price_of_another_region_is_told_with_both(comparison: Comparison) -> None:
    watch_of(comparison, threshold=5)
    run(comparison, [offer(PICKED, "15.36", region="eastus")])
    run(comparison, [offer(PICKED, "18.43", region="westus")])
    [change] = Event.objects.get().payload["changes"]
    assert (change["kind"], change["was"], change["now"]) == ("moved", "15.36", "18.43")
    assert sentence(change) == (
        "Acme h100x8, on demand, westus: Lowest price of any region, $ per GPU-hour: "
        "$15.36 in eastus → $18.43 in westus (+20.0 %)"
    )


def unpriced() -> dict[str, Any]:
    return offer(PICKED, None, price_model="quote", price_note=NO_PRICE_FOUND)


def test_a_type_of_which_no_price_is_found_any_more_went(comparison: Comparison) -> None:
    watch_of(comparison, what="availability", threshold=None)
    for row in (offer(PICKED, "6.16"), unpriced(), unpriced(), offer(PICKED, "7")):
        run(comparison, [row])
    assert told() == [[(PICKED, "6.16", None)], [(PICKED, None, "7")]]


def test_nor_is_that_a_change_of_a_price_until_there_is_one_again(comparison: Comparison) -> None:
    watch_of(comparison, threshold=5)
    for row in (offer(PICKED, "6.16"), unpriced(), unpriced(), offer(PICKED, "7")):
        run(comparison, [row])
    assert told() == [[(PICKED, "6.16", "7")]]


def test_a_row_that_was_not_offered_at_first_has_a_price_from_then_on(
    comparison: Comparison,
) -> None:
    watch_of(comparison, threshold=5)
    for row in (unpriced(), offer(PICKED, "6.16"), offer(PICKED, "7")):
        run(comparison, [row])
    assert told() == [[(PICKED, "6.16", "7")]]

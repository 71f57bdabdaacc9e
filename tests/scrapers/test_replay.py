"""A kept payload is read again: the same rows come of it, or what is understood by now."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from catalog import rulings
from catalog.invariants import broken
from catalog.models import (
    AliasKind,
    Errand,
    ErrandKind,
    Fact,
    Offer,
    Price,
    QuarantinedRow,
    RunState,
    ScrapeRun,
)
from scrapers import errands, leases, reading, runs
from scrapers.fields import Unreadable
from scrapers.registry import PROVIDERS
from scrapers.summary import summary_of
from tests.scrapers.recorded import recording
from tests.scrapers.vast_page import bundle

pytestmark = pytest.mark.django_db
MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = timedelta(days=1)
READ_WITH = {"run_id", "cross_check"}  # says which run confirmed a row, and is no part of it


@pytest.fixture(autouse=True)
def all_hold(db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(reading, "ask_child", reading.answer)
    leases.register(PROVIDERS.values())
    yield
    assert broken() == {}


def rows(model: type[Any]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name not in READ_WITH}
        for row in model.objects.order_by("id").values()
    ]


def changed(body: bytes, **fields: Any) -> bytes:
    """The same file with other fields in its first offer."""
    whole = json.loads(body)
    whole["documents"][0]["offers"][0] |= fields
    return json.dumps(whole).encode()


def scrape(body: bytes, slug: str = "vast") -> ScrapeRun:
    return ScrapeRun.objects.get(pk=runs.scrape_file(slug, body).run)


def replay(*words: str) -> list[dict[str, Any]]:
    """`manage.py replay --json`, as its lines."""
    said = StringIO()
    call_command("replay", *words, "--json", stdout=said)
    return [json.loads(line) for line in said.getvalue().splitlines()]


# --- The same rows ----------------------------------------------------------------------------


@pytest.mark.parametrize("slug", sorted(PROVIDERS))
def test_replaying_gives_the_same_accepted_rows(slug: str) -> None:
    """Invariant I3 of reference/reliability.md, for what every provider answers."""
    first = runs.scrape_file(slug, recording(slug).read_bytes(), MONDAY)
    before = rows(Offer), rows(Price), rows(Fact)
    (again,) = replay(slug)
    assert (again["state"], again["accepted"], again["quarantined"], again["ignored"]) == (
        "unchanged", first.accepted, first.quarantined, first.ignored,
    )  # fmt: skip
    assert (again["new"], again["changed"], again["ended"]) == (0, 0, 0)
    assert (rows(Offer), rows(Price), rows(Fact)) == before


def test_without_a_word_the_newest_list_of_every_provider_is_read_again() -> None:
    for slug in ("vast", "lambda"):
        runs.scrape_file(slug, recording(slug).read_bytes(), MONDAY)
    assert {line["provider"] for line in replay()} == {"vast", "lambda"}


def test_a_replay_is_as_old_as_its_payload_and_names_the_run_it_reads() -> None:
    first = scrape(bundle(MONDAY))
    again = ScrapeRun.objects.get(pk=replay("vast")[0]["run"])
    assert (again.collected_at, again.replay_of, again.live) == (MONDAY, first, False)
    twice = ScrapeRun.objects.get(pk=replay(str(again.pk))[0]["run"])
    assert (twice.replay_of, twice.state) == (first, RunState.UNCHANGED)


def test_an_older_list_never_replaces_a_newer_one() -> None:
    old = scrape(bundle(MONDAY))
    scrape(bundle(MONDAY + DAY, dearer=1.1))
    before = rows(Offer), rows(Price)
    (line,) = replay(str(old.pk))
    assert line["state"] == "superseded"
    assert "2026-11-24" in line["reason"]
    assert (rows(Offer), rows(Price)) == before


def test_nor_one_that_only_confirmed_what_was_there() -> None:
    scrape(bundle(MONDAY))
    strange = scrape(changed(bundle(MONDAY + DAY), gpu_name="H900 Ultra"))
    scrape(bundle(MONDAY + 2 * DAY))
    assert replay(str(strange.pk))[0]["state"] == "superseded"


# --- What is understood now -------------------------------------------------------------------


def test_a_list_that_no_code_could_read_is_published_once_code_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def unable(_task: object) -> str:
        return "the provider has changed its format"

    with monkeypatch.context() as yesterday:
        yesterday.setattr(reading, "ask_child", unable)
        with pytest.raises(Unreadable):
            scrape(bundle(MONDAY))
    assert not Offer.objects.exists()
    (line,) = replay("vast")
    assert (line["state"], line["new"]) == ("published", 20)
    assert set(Offer.objects.values_list("collected_at", flat=True)) == {MONDAY}


def test_a_word_that_was_taught_publishes_the_rows_that_held_it() -> None:
    run = scrape(changed(bundle(MONDAY), gpu_name="HGX Hopper 8-way"))
    assert (run.accepted, run.quarantined) == (19, 1)
    row = QuarantinedRow.objects.open().get()
    assert (row.gate, row.about) == ("unknown_gpu", "HGX Hopper 8-way")
    rulings.teach(AliasKind.GPU, "vast", row.about, "h100-sxm5-80gb", "ada")
    (errand,) = errands.run()
    assert "vast: published." in errand.outcome
    assert Offer.objects.filter(instance_type__gpu="h100-sxm5-80gb").count() == 20
    assert not QuarantinedRow.objects.open().exists()
    assert errands.run() == []


def test_what_one_provider_was_taught_another_does_not_say() -> None:
    rulings.teach(AliasKind.GPU, "lambda", "HGX Hopper 8-way", "h100-sxm5-80gb", "ada")
    assert scrape(changed(bundle(MONDAY), gpu_name="HGX Hopper 8-way")).quarantined == 1
    rulings.teach(AliasKind.GPU, None, "HGX Hopper 8-way", "h100-sxm5-80gb", "ada")
    errands.run()
    assert not QuarantinedRow.objects.open().exists()


def test_a_region_can_be_taught_too() -> None:
    scrape(bundle(MONDAY))
    known = Offer.objects.first().region
    rulings.teach(AliasKind.REGION, "vast", "Elsewhere XX", known, "ada")
    scrape(changed(bundle(MONDAY + DAY), geolocation="Elsewhere, XX"))
    assert set(Offer.objects.listed().values_list("region", flat=True)) == {known}


@pytest.mark.parametrize(
    ("kind", "named"), [(AliasKind.GPU, "h100-sxm5-80gb"), (AliasKind.REGION, "Quebec CA")]
)
def test_an_unknown_meaning_is_refused_with_those_near_it_named(
    kind: AliasKind, named: str
) -> None:
    scrape(changed(bundle(MONDAY), geolocation="Quebec, CA"))
    with pytest.raises(rulings.Unruly, match=r"'h900' is no .* of ours; ") as problem:
        rulings.teach(kind, "vast", "H900", "h900", "ada")
    assert named in str(problem.value)
    assert len(str(problem.value)) < 200


# --- What a person lets through ---------------------------------------------------------------


def test_an_accepted_row_is_published_and_does_not_come_back() -> None:
    cheap = {"dph_base": 0.5, "dph_total": 0.5}
    scrape(changed(bundle(MONDAY), **cheap))
    row = QuarantinedRow.objects.open().get()
    assert row.gate == "price_band"
    assert json.loads(row.row)["dph_base"] == 0.5
    rulings.accept([row], "ada")
    errands.run()
    offer = Offer.objects.order_by("usd_per_hour").first()
    assert (Offer.objects.count(), offer.collected_at) == (20, MONDAY)
    assert "a person let it through" in offer.warnings[-1]
    again = scrape(changed(bundle(MONDAY + DAY), **cheap))
    assert (again.quarantined, again.offers_unchanged) == (0, 20)


def test_a_rejected_row_stays_out_and_is_no_open_question() -> None:
    bad = changed(bundle(MONDAY), dph_base=0.5, dph_total=0.5)
    scrape(bad)
    rulings.reject(QuarantinedRow.objects.open(), "ada")
    again = scrape(changed(bundle(MONDAY + DAY), dph_base=0.5, dph_total=0.5))
    assert (again.accepted, again.quarantined, Offer.objects.count()) == (19, 1, 19)
    assert not QuarantinedRow.objects.open().exists()


def test_a_price_that_jumps_keeps_its_raw_row_and_can_be_accepted() -> None:
    scrape(bundle(MONDAY))
    scrape(changed(bundle(MONDAY + DAY), dph_base=128, dph_total=128))
    row = QuarantinedRow.objects.open().get()
    assert (row.gate, json.loads(row.row)["dph_base"]) == ("price_jump", 128)
    rulings.accept([row], "ada")
    errands.run()
    assert Price.objects.filter(valid_to=None, valid_from=MONDAY + DAY).count() == 1
    assert not QuarantinedRow.objects.open().exists()


def test_a_row_that_is_no_offer_cannot_be_accepted() -> None:
    scrape(changed(bundle(MONDAY), num_gpus="eight"))
    with pytest.raises(rulings.Unruly, match="could not be read as one"):
        rulings.accept(QuarantinedRow.objects.open(), "ada")
    assert not Errand.objects.exists()


def test_every_decision_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    scrape(changed(bundle(MONDAY), gpu_name="H900\nroot accepted everything"))
    row = QuarantinedRow.objects.open().get()
    with caplog.at_level("INFO", "catalog.audit"):
        rulings.accept([row], "ada")
        rulings.reject([row], "bob\n")
        rulings.teach(AliasKind.GPU, "vast", row.about, "h100-sxm5-80gb", "eve")
    lines = [record.getMessage() for record in caplog.records if record.name == "catalog.audit"]
    for who, what in (("'ada'", "accepted"), ("'bob\\n'", "rejected"), ("'eve'", "taught")):
        assert any(line.startswith(f"{who} {what}") for line in lines)
    assert not any("\n" in line for line in lines)


# --- A list that waits ------------------------------------------------------------------------


def held() -> ScrapeRun:
    scrape(bundle(MONDAY, 20))
    run = scrape(bundle(MONDAY + DAY, 10))
    assert run.state == RunState.HELD
    return run


def test_a_held_list_is_let_through_by_an_errand_and_says_by_whom() -> None:
    run = held()
    rulings.ask(run, ErrandKind.APPROVE, "ada")
    rulings.ask(run, ErrandKind.APPROVE, "bob")
    (errand,) = errands.run()
    run.refresh_from_db()
    assert (run.state, run.decided_by, Offer.objects.listed().count()) == ("published", "ada", 10)
    assert "10 ended" in errand.outcome
    with pytest.raises(rulings.Unruly, match="nothing to approve"):
        rulings.ask(run, ErrandKind.APPROVE, "ada")


def test_a_refused_list_asks_nobody_any_more() -> None:
    run = held()
    rulings.refuse(run, "ada")
    run.refresh_from_db()
    assert (run.state, run.decided_by) == (RunState.REJECTED, "ada")
    assert run.reason.endswith("Refused by ada.")
    with pytest.raises(rulings.Unruly, match="not held"):
        rulings.refuse(run, "bob")
    assert Offer.objects.listed().count() == 20


def test_a_held_list_that_is_read_again_waits_in_one_place() -> None:
    run = held()
    with pytest.raises(SystemExit):
        replay(str(run.pk))
    run.refresh_from_db()
    assert (run.state, ScrapeRun.objects.filter(state="held").count()) == ("superseded", 1)


# --- What cannot be done ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("nope", "neither a run nor a provider"),
        ("6d1f0c3e-0000-4000-8000-000000000000", "neither a run nor a provider"),
        ("lambda", "No list of lambda is kept"),
    ],
)
def test_what_cannot_be_replayed_is_one_sentence(word: str, told: str) -> None:
    with pytest.raises(CommandError, match=told):
        call_command("replay", word)


def test_a_run_whose_answers_had_not_all_come_is_no_list() -> None:
    run = scrape(bundle(MONDAY))
    ScrapeRun.objects.filter(pk=run.pk).update(collected_at=None)
    problem = StringIO()
    with pytest.raises(SystemExit):
        call_command("replay", str(run.pk), stderr=problem)
    assert "has no whole payload" in problem.getvalue()
    ScrapeRun.objects.filter(pk=run.pk).update(collected_at=MONDAY)


def test_an_errand_that_fails_says_why_and_the_next_is_carried_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = scrape(bundle(MONDAY))
    rulings.ask(run, ErrandKind.REPLAY, "ada")
    broke: Callable[[object], str] = lambda _task: "it is a page of HTML"  # noqa: E731
    with monkeypatch.context() as bad:
        bad.setattr(reading, "ask_child", broke)
        assert "it is a page of HTML" in errands.run()[0].outcome
    rulings.ask(run, ErrandKind.REPLAY, "ada")
    assert "unchanged" in errands.run()[0].outcome


def test_a_fault_of_ours_ends_an_errand_with_its_sentence_and_the_next_is_carried_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = scrape(bundle(MONDAY)), scrape(bundle(MONDAY + DAY))
    rulings.ask(first, ErrandKind.REPLAY, "ada")
    rulings.ask(second, ErrandKind.REPLAY, "ada")
    carry_out = runs.replay

    def faulty(run: ScrapeRun) -> Any:
        if run.pk == first.pk:
            raise KeyError("usd\0")
        return carry_out(run)

    monkeypatch.setattr(runs, "replay", faulty)
    broken_one, carried_out = errands.run()
    assert broken_one.outcome.startswith("A fault of ours: KeyError: ")
    assert "the last data stand" in broken_one.outcome
    assert "unchanged" in carried_out.outcome
    assert f"errand {broken_one.pk} of run {first.pk}" in caplog.text
    assert "Traceback" in caplog.text
    assert not errands.waiting()
    Errand.objects.update(taken_at=MONDAY)  # long ago
    assert not errands.waiting()


# --- What a person is told --------------------------------------------------------------------


def test_a_list_that_waits_names_the_command_that_publishes_it() -> None:
    scrape(bundle(MONDAY, 20))
    summary = runs.scrape_file("vast", bundle(MONDAY + DAY, 10))
    assert summary.state == RunState.HELD
    command = f"manage.py scrape vast --approve {summary.run}"
    assert summary.told().endswith(f"The last data stand. To publish it: {command}")


def test_an_older_file_says_how_to_tell_its_time() -> None:
    scrape(bundle(MONDAY + DAY))
    summary = runs.scrape_file("vast", bundle(MONDAY), MONDAY - DAY)
    assert summary.state == RunState.SUPERSEDED
    assert "The last data stand." in summary.told()
    assert "manage.py scrape vast --from FILE --collected-at TIME" in summary.told()


def test_refused_rows_are_told_with_their_place_and_reason() -> None:
    summary = runs.scrape_file("vast", changed(bundle(MONDAY), gpu_name="H900 Ultra"))
    row = QuarantinedRow.objects.get()
    assert f"1 quarantined: {row.where}: {row.reason.rstrip('.')}." in summary.told()
    assert {"refused", "advice"}.isdisjoint(summary.as_dict())


def test_a_reason_without_a_full_stop_gets_one() -> None:
    run = scrape(bundle(MONDAY))
    run.state, run.reason = RunState.FAILED, "acme.example answers 503, 5 times"
    told = summary_of(run, 0).told()
    assert "failed. acme.example answers 503, 5 times. " in told
    assert told.endswith(f"Once the code reads it: manage.py replay {run.pk}")
    run.live = True
    assert summary_of(run, 0).told().endswith("To try again: manage.py scrape vast")

"""Finished answers: shared by all processes, for as long as what they rest on is the same."""

from unittest.mock import patch

import pytest
from django.utils import translation

import scoring
from catalog import estimates, kept, tasks
from catalog.filters import OfferQuery
from catalog.models import Answer, CatalogVersion, Workload
from scoring.workload import job_fields
from tests.catalog.market import open_market

JOB = "llama3-8b-pretrain"


@pytest.fixture
def market(db):
    """Offers, and one preset."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    open_market()


def made_of(question, times=1):
    """How often the answer is made when it is asked for so many times."""
    with patch.object(estimates, "_ranked", wraps=estimates._ranked) as ranked:
        for _ in range(times):
            estimates.ranked(question)
    return ranked.call_count


def question(gpus=64, **more):
    return estimates.question(JOB, gpus, OfferQuery(), **more)


def test_the_same_question_is_answered_once_for_page_and_door(market):
    assert made_of(question(), times=3) == 1
    door = estimates.asked({"workload": JOB, "gpus": 64})
    assert made_of(door) == 0
    assert estimates.ranked(door) == estimates._ranked(door)


def test_the_order_of_a_jobs_fields_makes_no_other_question(market):
    job = dict(job_fields(JOB))
    turned = dict(reversed(job.items()))
    assert made_of(estimates.asked({"workload": job, "gpus": 64})) == 1
    assert made_of(estimates.asked({"workload": turned, "gpus": 64})) == 0


def test_whoever_changes_an_answer_changes_no_one_elses(market):
    estimates.ranked(question())["results"].clear()
    assert estimates.ranked(question())["results"]


@pytest.mark.parametrize(
    "other", [{"gpus": 8}, {"objective": "time"}, {"scenarios": True}, {"hours": 2.0}]
)
def test_another_question_has_another_answer(market, other):
    made_of(question())
    assert made_of(question(**other)) == 1


def test_a_changed_price_the_model_the_language_and_our_code_ask_anew(market):
    made_of(question())
    open_market(days=0.01, price_in_oslo="25")
    assert made_of(question(), times=2) == 1
    with translation.override("ja"):
        assert made_of(question()) == 1
    with patch.object(scoring, "MODEL_VERSION", "another"):
        assert made_of(question()) == 1
    with patch.object(kept, "_code", lambda: "another"):
        assert made_of(question()) == 1


def test_only_the_newest_answers_are_kept(market):
    with patch.object(kept, "MOST", 3):
        for gpus in (8, 16, 24, 32, 40):
            estimates.ranked(question(gpus))
        assert Answer.objects.count() == 3
        assert made_of(question(40)) == 0
        assert made_of(question(8)) == 1


# --- Before anyone asks ----------------------------------------------------------------------


def test_the_presets_are_made_before_anyone_asks_and_anew_after_a_change(market):
    made = list(tasks.prepared())
    assert len(made) == len(tasks.USUAL) + 1
    assert made_of(question(256, scenarios=True)) == made_of(question(256)) == 0
    assert list(tasks.prepared()) == []
    CatalogVersion.advance()
    assert list(tasks.prepared()) == made


def test_a_turn_ends_in_time_and_the_next_goes_on(market):
    with patch.object(tasks, "PATIENCE_S", -1):
        tasks.warm()
    assert Answer.objects.count() == 1
    tasks.warm()
    assert Answer.objects.count() == len(tasks.USUAL) + 1

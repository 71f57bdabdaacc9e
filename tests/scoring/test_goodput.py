"""Goodput: what failures, checkpoints, restarts and spot leave of the time that is paid for."""

import math

import pytest

import scoring
from scoring.goodput import LIMITS

TRAIN = scoring.job("llama3-405b-pretrain")
SERVE = scoring.job("llama3-70b-decode")
FRAMES = scoring.job("render-batch")


def share(job: scoring.Job, gpus: float, **more: object) -> float:
    return scoring.goodput(job, gpus, 8, **more).share  # type: ignore[arg-type]


def test_the_run_that_the_rate_was_counted_on_keeps_what_its_authors_say() -> None:
    found = scoring.goodput(TRAIN, 16_384, 8)
    assert found.interruptions_per_hour == pytest.approx(419 / (54 * 24), rel=0.01)
    assert 0.90 < found.share < 0.93  # "more than 90 %"


def test_the_share_is_dalys_by_hand() -> None:
    # 1,000 GPUs at 1e-4: one stop in 10 h = 36,000 s; checkpoints of 50 s every sqrt(3.6e6) s
    assumed = scoring.reliability(
        {"failures_per_gpu_hour": 1e-4, "checkpoint_s": 50, "restart_s": 600}
    )
    found = scoring.goodput(TRAIN, 1000, 8, assumed=assumed)
    every = math.sqrt(2 * 50 * 36_000)
    took = 36_000 * math.exp(600 / 36_000) * (math.exp((every + 50) / 36_000) - 1)
    assert found.checkpoint_every_s == pytest.approx(every)
    assert found.share == pytest.approx(every / took)


def test_more_gpus_stop_more_often() -> None:
    shares = [share(TRAIN, n) for n in (8, 256, 4096, 100_000)]
    assert shares == sorted(shares, reverse=True)
    assert share(TRAIN, 8) > 0.99


def test_spot_is_taken_back_and_on_demand_is_not() -> None:
    assert share(TRAIN, 1024, spot=True) < share(TRAIN, 1024)
    assert "spot_interruptions_per_instance_hour" not in scoring.goodput(TRAIN, 8, 8).as_json()


def test_what_does_not_wait_for_others_loses_its_own_time_alone() -> None:
    assert share(FRAMES, 4096) == share(FRAMES, 8) > 0.999
    assert share(SERVE, 4096, replica_gpus=8) == share(SERVE, 8, replica_gpus=8)
    assert share(SERVE, 4096, replica_gpus=64) < share(SERVE, 4096, replica_gpus=8)


def test_where_nothing_fails_nothing_is_lost() -> None:
    perfect = scoring.reliability({"failures_per_gpu_hour": 0})
    assert share(TRAIN, 100_000, assumed=perfect) == 1


@pytest.mark.parametrize("name", LIMITS)
def test_at_its_worst_it_is_still_a_share(name: str) -> None:
    assumed = scoring.reliability({name: LIMITS[name]})
    assert 0 <= share(TRAIN, 100_000, spot=True, assumed=assumed) < 1


def test_each_assumption_names_its_source_or_who_gave_it() -> None:
    said = scoring.goodput(TRAIN, 64, 8, spot=True).as_json()
    assert set(said["sources"]) == set(said["assumed"]) == set(LIMITS)
    assert "2407.21783" in said["sources"]["failures_per_gpu_hour"]
    given = scoring.reliability({"restart_s": 60})
    assert scoring.goodput(TRAIN, 64, 8, assumed=given).as_json()["sources"]["restart_s"] == (
        "as asked"
    )


@pytest.mark.parametrize("wrong", [{"restart_s": -1}, {"restart_s": "soon"}, {"colour": 1}])
def test_a_wrong_assumption_is_named(wrong: dict[str, object]) -> None:
    with pytest.raises(scoring.FieldError) as error:
        scoring.reliability(wrong)
    assert error.value.field in wrong

"""InfiniBand or Ethernet at 1,000 and 10,000 GPUs: what the model says, and when it cannot say."""

import pytest

from scoring.answers import DoesNotFit
from scoring.hardware import cluster, cluster_fields
from scoring.network_choice import FIRST, NETWORKS, choices, workable
from scoring.workload import job

DGX = cluster_fields("dgx-h100-ndr")
JOB = job("llama3-70b-pretrain")


@pytest.fixture(scope="module")
def found():
    """By count wanted, each network."""
    made = choices(DGX, JOB, (1_000, 10_000))
    return {
        wanted: {each.network: each for each in made if abs(each.gpus / wanted - 1) <= 0.1}
        for wanted in (1_000, 10_000)
    }


def test_every_network_is_held_against_infiniband_at_both_counts(found):
    for each in found.values():
        assert list(each) == list(NETWORKS)
        assert each[FIRST].time_ratio == 1.0


def test_no_ethernet_is_faster_at_the_same_rate_and_tcp_is_the_slowest(found):
    for each in found.values():
        times = [each[name].estimate.step_time_s for name in NETWORKS]
        assert times == sorted(times)


def test_the_gap_grows_with_the_count(found):
    for name in ("roce", "ethernet"):
        assert found[10_000][name].time_ratio > found[1_000][name].time_ratio


def test_spreading_switches_close_part_of_the_gap_of_a_large_network(found):
    large = found[10_000]
    assert 1 < large["roce_adaptive"].time_ratio < large["roce"].time_ratio


def test_a_gap_within_the_models_error_is_not_decided_and_tcps_is(found):
    said = {name: each.as_json() for name, each in found[1_000].items()}
    assert not said["roce_adaptive"]["decided"]
    assert said["ethernet"]["decided"]


def test_the_premium_by_hand(found):
    """At $2 a GPU-hour on the slower, InfiniBand at 2 · ratio costs the same for a step."""
    each = found[1_000]["ethernet"]
    said = each.as_json(2.0)
    assert said["infiniband_is_worth_share"] == pytest.approx(each.time_ratio - 1)
    assert said["infiniband_is_worth_usd_per_gpu_hour"] == pytest.approx(2 * each.time_ratio - 2)


def test_a_count_on_which_the_job_runs_is_taken_as_asked():
    """10,496 would do 8 % more per GPU, and nobody asked for it."""
    (first, *_) = choices(DGX, JOB, (10_240,))
    said = first.as_json()
    assert (said["gpus"], said["gpus_wanted"], said["fits"]) == (10_240, 10_240, True)


def test_the_count_is_one_on_which_the_job_divides():
    """405B: 126 layers, batch 2048: 10,000 = 2⁴·5⁴ divides nothing, 9,216 = 2¹⁰·9 does."""
    asked = job("llama3-405b-pretrain")
    gpus = workable(cluster("dgx-h100-ndr"), asked, 10_000)
    assert abs(gpus / 10_000 - 1) <= 0.1
    (first, *_) = choices(DGX, asked, (10_000,))
    assert not isinstance(first.estimate, DoesNotFit)

"""What another network would change, and what the better one is worth."""

import pytest

from scoring import cluster, cluster_fields, job, scenarios
from scoring.what_if import Changed, what_if

H100 = cluster_fields("dgx-h100-ndr")
TRAIN = job("llama3-70b-pretrain")
USD = 2.5


def asked(fields: dict, work: str = "llama3-70b-pretrain", gpus: int = 256) -> dict[str, Changed]:
    return {each.scenario: each for each in what_if(fields, job(work), gpus, USD)}


def test_worse_networks_take_longer_and_better_ones_do_not() -> None:
    found = asked(H100)
    for worse in ("rdma_off", "sockets", "oversubscribed_2_to_1", "half_the_nics", "roce"):
        assert found[worse].time_ratio >= 1, worse
        assert found[worse].premium_usd_per_gpu_hour <= 0, worse
    for better in ("twice_the_fabric", "domain_72"):
        assert found[better].time_ratio <= 1, better
        assert found[better].premium_usd_per_gpu_hour >= 0, better
    assert found["sockets"].time_ratio > 1.3 > found["rdma_off"].time_ratio


def test_at_the_break_even_a_unit_of_work_costs_the_same() -> None:
    for each in asked(H100).values():
        assert each.break_even_usd_per_gpu_hour * each.time_ratio == pytest.approx(USD)
        assert each.premium_usd_per_gpu_hour == pytest.approx(
            each.break_even_usd_per_gpu_hour - USD
        )


def test_half_the_nics_is_a_fabric_oversubscribed_two_to_one_in_bandwidth() -> None:
    found = asked(H100)
    halves = found["half_the_nics"].time_ratio, found["oversubscribed_2_to_1"].time_ratio
    assert halves[0] == pytest.approx(halves[1], rel=0.02)


def test_a_job_within_one_domain_is_asked_nothing_of_the_fabric() -> None:
    assert list(asked(H100, "llama3-8b-pretrain", 8)) == []
    assert "sockets" not in scenarios(cluster("gb200-nvl72"), 64)
    assert "domain_8" in scenarios(cluster("gb200-nvl72"), 64)


def test_only_what_can_be_otherwise_is_asked() -> None:
    assert "infiniband" not in asked(H100)
    assert "domain_8" not in asked(H100)
    roce = asked({**H100, "fabric": "roce"})
    assert "roce" not in roce
    assert "infiniband" in roce
    assert "rdma_off" not in asked({**H100, "gpudirect": "no", "gpudirect_rdma": "no"})


def test_infiniband_is_worth_more_over_roce_the_larger_the_network() -> None:
    def worth(gpus: int) -> float:
        return asked(H100, "llama3-405b-pretrain", gpus)["roce"].time_ratio

    assert 1 <= worth(1024) <= worth(8192) < 1.5


def test_a_second_data_centre_is_dear_for_a_job_that_talks() -> None:
    assert asked(H100)["second_site"].time_ratio > 1
    assert asked(H100, "render-batch", 64)["second_site"].time_ratio == 1


def test_what_does_not_fit_has_no_scenarios() -> None:
    assert what_if(H100, job("gpt-1t-pretrain"), 8) == []


def test_without_a_price_there_is_time_alone() -> None:
    (first, *_) = what_if(H100, TRAIN, 64)
    assert first.time_ratio
    assert first.premium_usd_per_gpu_hour is None

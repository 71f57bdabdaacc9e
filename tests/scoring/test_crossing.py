"""What leaves an island of GPUs in a step, by hand."""

from typing import Any

import pytest

from scoring import cluster, job
from scoring.estimate import estimate
from scoring.layout import Layout


def crossing(slug: str, work: str, gpus: int, layout: str | None = None) -> dict[str, float]:
    split = Layout.parse(layout, job(work), gpus) if layout else None
    found: Any = estimate(cluster(slug), job(work), gpus, split)
    return {c["purpose"]: c["crossing_bytes"] / 1e9 for c in found.collectives}


def test_a_tensor_parallel_group_inside_the_domain_crosses_nothing() -> None:
    found = crossing("dgx-h100-ndr", "llama3-70b-pretrain", 256, "tp=8,pp=4,micro_batch=1")
    assert found["tensor parallel"] == 0
    assert found["pipeline"] > 0


def test_a_pipeline_sends_each_micro_batch_on_and_its_gradients_back() -> None:
    # 1,024 sequences over 8 replicas, one at a time: 128 rounds, there and back, of
    # 8,192 tokens × 8,192 wide × 2 B over 8 tensor-parallel ranks
    found = crossing("dgx-h100-ndr", "llama3-70b-pretrain", 256, "tp=8,pp=4,micro_batch=1")
    assert found["pipeline"] == pytest.approx(2 * 128 * 8192 * 8192 * 2 / 8 / 1e9)


def test_gradients_and_weights_cross_once_a_step_with_zero_1() -> None:
    # 8 copies on 8 nodes; each GPU's 1/32 of 70.6e9 weights: 4 B of gradient, 2 B of weight, 7/8
    found = crossing(
        "dgx-h100-ndr", "llama3-70b-pretrain", 256, "tp=8,pp=4,micro_batch=1,zero_stage=1"
    )
    assert found["data parallel"] == pytest.approx(70.6e9 / 32 * 6 * 7 / 8 / 1e9, rel=0.1)


def test_a_transpose_leaves_the_box_but_for_what_its_own_gpus_hold() -> None:
    found = crossing("dgx-h100-ndr", "hpc-fft", 64)
    assert found["message"] == pytest.approx(2 * 1.37e11 / 64 * 56 / 64 / 1e9)


def test_a_rack_of_one_domain_sends_nothing_out() -> None:
    found = crossing("gb200-nvl72", "llama3-70b-pretrain", 64, "tp=8,pp=1,micro_batch=1")
    assert set(found.values()) == {0}

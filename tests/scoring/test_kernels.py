"""How kernels fall off with their shape, each value by hand from constants.toml."""

from dataclasses import replace

import pytest

from scoring import cluster, gpu, job
from scoring.compute import attention_time, expert_time, host_bound, layer_time
from scoring.constants import KERNELS, TRAINING
from scoring.kernels import attention_flop_per_s, padded_product
from scoring.layout import Layout

H100 = cluster("dgx-h100-ndr")
MIXTURE = job("qwen3-30b-a3b-pretrain")


def test_the_faster_the_arithmetic_the_longer_its_edges():
    assert padded_product(1024.0, 1024.0, "bf16") == (1024 + 90) * (1024 + 90)
    assert padded_product(1024.0, 1024.0, "fp8") == (1024 + 200) * (1024 + 300)
    assert padded_product(512.0, 512.0, "tf32") == padded_product(512.0, 512.0, "bf16")


def test_heads_of_64_wait_for_exponentials_most_on_blackwell():
    def share(slug):
        wide = attention_flop_per_s(gpu(slug), "flash3", 8192.0, 128.0)
        return attention_flop_per_s(gpu(slug), "flash3", 8192.0, 64.0) / wide

    assert share("h100-sxm5-80gb") == pytest.approx((1 + 50 / 128) / (1 + 50 / 64))
    assert share("b200-sxm6-180gb") == pytest.approx(0.63, abs=0.01)  # .33 of .53, moved by d alone


def test_a_ring_of_context_ranks_runs_shorter_attention_kernels():
    dense = job("llama3-8b-pretrain")
    whole, split = (Layout(cp=cp, micro_batch=1.0) for cp in (1.0, 8.0))
    one = attention_time(H100, dense, whole, 8192.0)
    eighth = attention_time(H100, dense, split, 1024.0)
    half = KERNELS.attention_s_half
    assert eighth / one == pytest.approx((1 + half / 1024) / (1 + half / 8192) / 8)


def test_many_small_experts_are_bound_by_their_launches():
    layout = Layout(dp=8.0, ep=8.0)  # 16 experts a GPU
    kernels = TRAINING.mixture_kernels + TRAINING.expert_kernels * 16
    launches = kernels * KERNELS.launch_us * 1e-6
    # the host waits for the GPU by turns: the root of the sum of squares, not the longer of the two
    assert host_bound(MIXTURE, layout, launches / 4) == pytest.approx(17**0.5)
    assert host_bound(MIXTURE, layout, launches * 4) == pytest.approx((1 + 1 / 16) ** 0.5)
    assert host_bound(job("llama3-8b-pretrain"), layout, 1e-9) == 1.0


def test_few_rows_make_expert_gradients_a_matter_of_memory():
    layout = Layout(dp=8.0, ep=8.0)
    forward, gradients = expert_time(H100, MIXTURE, layout, 64.0, "bf16")
    per_expert = 3 * 2048 * 768
    sums = 16 * per_expert * 2 * 4.0 / (3.35e12 * KERNELS.memory_efficiency)
    assert gradients == pytest.approx(sums)
    assert gradients > forward


def test_recomputing_stops_before_the_last_product_where_the_software_does():
    dense, layout = job("llama3-8b-pretrain"), Layout(recompute=2.0)
    through, early = (replace(dense, software=s) for s in ("megatron", "torchtitan"))
    assert layer_time(H100, through, layout).recompute == layer_time(H100, through, layout).forward
    stopped = layer_time(H100, early, layout)
    assert 0.7 * stopped.forward < stopped.recompute < 0.9 * stopped.forward

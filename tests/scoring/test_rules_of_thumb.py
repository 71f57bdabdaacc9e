"""The rules of thumb of the field must come out of the model; each test could fail."""

from dataclasses import replace

import numpy as np
import pytest

from scoring import Cluster, Job, Layout, best, cluster, cluster_fields, job, rank
from scoring.collectives import collective_time, domain_rate, group
from scoring.decode import token_time, tokens_per_s
from scoring.replicas import decode_layouts, fitting_layouts
from scoring.training import training_step

GPT3, LLAMA8B, LLAMA70B = (
    job(f"{name}-pretrain") for name in ("gpt3-175b", "llama3-8b", "llama3-70b")
)


def step(slug, task, layout):
    """Seconds of one step. [s]"""
    return float(training_step(cluster(slug), task, layout).total)


def bus(where, ranks, size=4e9, kind="all_reduce"):
    """Algorithm rate relative to bytes: size over time. [B/s]"""
    return size / float(collective_time(where, kind, size, group(where, float(ranks), alone=True)))


@pytest.mark.parametrize("slug", ["selene-a100", "dgx-h100-ndr", "aws-p5", "gcp-a3-mega"])
@pytest.mark.parametrize(("task", "gpus"), [("gpt3-175b", 512), ("llama3-70b", 128)])
def test_tensor_parallelism_stays_inside_the_nvlink_domain(slug, task, gpus):
    answer = best(cluster(slug), job(f"{task}-pretrain"), gpus)
    assert answer.fits
    assert answer.layout.tp <= 8


def test_pipelines_beat_tensor_parallelism_across_l40s():
    tensor = Layout(tp=8.0, recompute=2.0)
    pipeline = Layout(pp=8.0, virtual_stages=4.0, recompute=2.0)
    assert step("l40s-pcie-8", LLAMA8B, pipeline) < step("l40s-pcie-8", LLAMA8B, tensor) / 1.5
    assert best(cluster("l40s-pcie-8"), LLAMA8B, 8).layout.tp <= 2


def test_pipelines_beat_tensor_parallelism_when_serving_from_pcie_cards():
    serving = job("llama3-70b-decode")
    where = cluster("l40s-pcie-8")

    def rate(layout):
        token = token_time(where, serving, layout).total
        return float(tokens_per_s(serving, layout, token))

    batch = 16.0
    assert rate(Layout(pp=8.0, micro_batch=batch)) > rate(Layout(tp=8.0, micro_batch=8 * batch))
    assert decode_layouts(where, replace(serving, max_tpot_ms=None), 8)[0].tp < 8


def test_on_pcie_cards_stages_give_throughput_and_a_tight_limit_forces_tensor_parallelism():
    """Stages do not shorten a token, which passes all of them: each reads its weights in turn.

    70B in 8 bits on cards of 864 GB/s: 70 GB / 864 GB/s = 81 ms a token, whatever the stages.
    """
    serving, where = job("llama3-70b-decode"), cluster("l40s-pcie-8")

    def most(limit_ms, **split):
        rows = fitting_layouts(where, serving, 8)
        rows = rows.rows(np.all([getattr(rows, n) == ways for n, ways in split.items()], axis=0))
        token = np.asarray(token_time(where, serving, rows).total)
        rate = np.asarray(tokens_per_s(serving, rows, token))
        return max(rate[token * 1e3 <= limit_ms], default=0.0)

    assert most(np.inf, tp=1, pp=4) > 2 * most(np.inf, tp=4, pp=1)
    free = decode_layouts(where, replace(serving, max_tpot_ms=None), 8)[0]
    assert free.pp > 1
    assert free.tp <= 2
    assert most(serving.max_tpot_ms, tp=1, pp=4) == 0 < most(serving.max_tpot_ms, tp=4, pp=1)


def test_a_model_that_fits_on_one_gpu_is_not_split():
    small = Job.from_fields(
        {
            "layers": 24,
            "hidden": 2048,
            "heads": 16,
            "vocab": 50304,
            "seq_len": 2048,
            "global_batch": 512,
        }
    )
    for slug in ("dgx-h100-ndr", "selene-a100", "gb200-nvl72", "mi300x-8"):
        layout = best(cluster(slug), small, 64).layout
        assert (layout.tp, layout.pp, layout.cp) == (1, 1, 1), slug


def test_tensor_parallelism_across_nodes_is_poor_without_an_infiniband_class_fabric():
    inside, across = Layout(tp=8.0, dp=2.0, zero_stage=1.0), Layout(tp=16.0)
    loss = {
        slug: step(slug, LLAMA70B, across) / step(slug, LLAMA70B, inside)
        for slug in ("dgx-h100-ndr", "gcp-a3-mega", "h100-sxm-ethernet")
    }
    assert loss["dgx-h100-ndr"] < loss["gcp-a3-mega"] < loss["h100-sxm-ethernet"]
    assert loss["h100-sxm-ethernet"] > 5


def test_one_gpu_gains_nothing_from_nvlink():
    where = cluster("dgx-h100-ndr")
    bare = replace(where, scale_up="none", domain_gpus=1, scale_up_bytes_per_s=0.0)
    layout = Layout(recompute=2.0)
    assert training_step(where, LLAMA8B, layout).total == training_step(bare, LLAMA8B, layout).total
    serving = job("llama3-70b-decode")
    assert token_time(where, serving, Layout()).total == token_time(bare, serving, Layout()).total


def test_the_nvl72_moves_the_cliff_from_8_to_72():
    hgx, rack = cluster("dgx-b200-ndr"), cluster("gb200-nvl72")
    assert bus(hgx, 8) > 1.5 * bus(hgx, 32)
    assert bus(rack, 8) < 1.5 * bus(rack, 72)
    assert bus(rack, 72) > bus(rack, 144) > 0.85 * bus(rack, 72)  # two racks lose a few per cent
    assert bus(rack, 72) > 1.4 * bus(rack, 288)
    wide = Layout(tp=32.0)
    inside, across = (training_step(where, LLAMA70B, wide) for where in (rack, hgx))
    assert inside.exposed_tp < 0.7 * across.exposed_tp


def test_sockets_instead_of_gpudirect_rdma_collapse_it():
    assert bus(cluster("dgx-h100-ndr"), 64) > 20 * bus(cluster("h100-sxm-ethernet"), 64)
    sharded = Layout(dp=64.0, micro_batch=1.0, zero_stage=3.0, recompute=2.0)
    task = replace(LLAMA70B, global_batch=64)
    assert step("h100-sxm-ethernet", task, sharded) > 8 * step("dgx-h100-ndr", task, sharded)


def test_the_slowest_link_sets_the_pace():
    where = cluster("dgx-h100-ndr")
    thin = replace(where, nic_bytes_per_s=where.nic_bytes_per_s / 8)
    faster_inside = replace(thin, scale_up_bytes_per_s=thin.scale_up_bytes_per_s * 4)
    assert bus(faster_inside, 512, kind="all_gather") == pytest.approx(
        bus(thin, 512, kind="all_gather"), rel=0.02
    )
    doubled = replace(thin, nic_bytes_per_s=thin.nic_bytes_per_s * 2)
    assert bus(doubled, 512, 6.4e10, "all_gather") > 1.6 * bus(thin, 512, 6.4e10, "all_gather")


def test_oversubscription_and_host_bounces_slow_the_fabric():
    where = cluster("dgx-h100-ndr")
    for worse in (replace(where, oversubscription=2.0), replace(where, gpudirect=False)):
        assert bus(worse, 64) < bus(where, 64)
        assert best(worse, GPT3, 512).step_time_s > best(where, GPT3, 512).step_time_s


def test_strong_scaling_loses_to_the_bubble():
    few, many = (best(cluster("selene-a100"), GPT3, n) for n in (512, 3072))
    assert many.scaling_efficiency < few.scaling_efficiency
    assert many.exposed_share > few.exposed_share


NAMES = ("h100-sxm-ethernet", "gcp-a3-mega", "dgx-h100-ndr")


def test_a_faster_fabric_ranks_higher_on_the_same_gpus():
    order = [a.cluster for a in rank(map(cluster, NAMES), LLAMA70B, 256)]
    assert order[-1] == "h100-sxm-ethernet"
    assert order.index("dgx-h100-ndr") < order.index("gcp-a3-mega")


def test_all_to_all_of_experts_feels_the_cliff_most():
    where = cluster("dgx-h100-ndr")

    def fall(kind):
        g8, g64 = group(where, 8.0), group(where, 64.0)
        size = 1e8
        return float(
            collective_time(where, kind, size, g64) / collective_time(where, kind, size, g8)
        )

    assert fall("all_to_all") > 2 * fall("all_gather")


# ------------------------------------------------------------------ where each rule flips


def seconds(where, task, layout):
    """Seconds of one step on a cluster. [s]"""
    return float(training_step(where, task, layout).total)


def test_tensor_parallelism_over_two_nodes_loses_once_the_lanes_are_thinner_than_nvlink():
    where = cluster("dgx-h100-ndr")
    inside, across = Layout(tp=8.0, dp=2.0, zero_stage=1.0), Layout(tp=16.0)

    def loss(factor):
        thin = replace(where, nic_bytes_per_s=where.nic_bytes_per_s * factor)
        return seconds(thin, LLAMA70B, across) / seconds(thin, LLAMA70B, inside)

    # A group of 16 drives the 8 lanes of a node: they match its ring of 361 GB/s at .94 of NDR400.
    lanes = 8 * where.nic_effective_bytes_per_s
    flip = float(domain_rate(where, 8.0)) / lanes
    assert 0.85 < flip < 1.0
    assert loss(4.0) == pytest.approx(loss(1.0), rel=0.01)
    assert loss(0.9 * flip) > 1.02 * loss(1.0)
    assert loss(0.1) > 2.5 * loss(1.0)


def test_tensor_parallelism_beats_pipelines_once_pcie_is_as_fast_as_nvlink():
    where = cluster("l40s-pcie-8")
    tensor = Layout(tp=8.0, recompute=2.0)
    pipeline = Layout(pp=8.0, virtual_stages=4.0, recompute=2.0)

    def loss(factor):
        wide = replace(where, pcie_bytes_per_s=where.pcie_bytes_per_s * factor)
        return seconds(wide, LLAMA8B, tensor) / seconds(wide, LLAMA8B, pipeline)

    assert loss(1) > 10 > loss(8) > loss(64) > 1
    assert loss(256) < 1  # some 180 GB/s a GPU, after all eight have shared the host
    rate = 256 * where.pcie_bytes_per_s * where.pcie.efficiency * (2 / 8) ** 1.92
    assert 100e9 < rate < 450e9


def test_a_model_is_split_once_it_no_longer_fits():
    small = Job.from_fields(
        {
            "layers": 24,
            "hidden": 2048,
            "heads": 16,
            "vocab": 50304,
            "seq_len": 2048,
            "global_batch": 512,
        }
    )
    where = cluster("dgx-h100-ndr")

    def splits(share):
        part = replace(where.gpu, memory_bytes=where.gpu.memory_bytes * share)
        layout = best(replace(where, gpu=part), small, 64).layout
        return layout.tp * layout.pp, layout.zero_stage

    assert splits(1.0) == splits(0.25) == (1, 1)
    assert splits(0.5)[0] == 1
    tight = splits(0.1)
    assert tight[0] > 1 or tight[1] == 3


def test_sockets_catch_up_as_the_work_between_messages_grows():
    sharded = Layout(dp=64.0, micro_batch=1.0, zero_stage=1.0, recompute=2.0)

    def loss(batch):
        task = replace(LLAMA8B, global_batch=batch)
        return step("h100-sxm-ethernet", task, sharded) / step("dgx-h100-ndr", task, sharded)

    assert loss(64) > 5 > loss(64 * 16) > loss(64 * 256)
    assert loss(64 * 256) < 1.1


# ------------------------------------------------------------------ Megatron-LM, arXiv:2104.04473

SELENE = cluster("selene-a100")


def of_2021(**shape):
    """A GPT of that paper on its software: vocabulary 51,200, 2,048 tokens."""
    return Job.from_fields({"vocab": 51200, "seq_len": 2048, "software": "megatron-2021", **shape})


def test_a_trillion_parameters_on_3072_a100s():
    # Table 1: 8-way tensor, 64-way pipeline, batch 3,072: 502 Pflop/s in all, 52 % of the peak
    task = of_2021(layers=128, hidden=25600, heads=160, global_batch=3072)
    layout = Layout(tp=8.0, pp=64.0, dp=6.0, recompute=2.0)
    s, h, depth, vocab = 2048, 25600, 128, 51200
    flop = 96 * 3072 * s * depth * h**2 * (1 + s / (6 * h) + vocab / (16 * depth * h))
    rate = flop / seconds(SELENE, task, layout)
    assert rate / 1e15 == pytest.approx(502, rel=0.08)
    assert rate / 3072 / 312e12 == pytest.approx(0.52, abs=0.04)


def test_the_best_micro_batch_lies_between_and_matters_by_about_15_percent():
    # Figure 16: 91B parameters, (t, p) = (8, 8): a micro-batch of 2, and up to 15 % in it
    task = of_2021(layers=72, hidden=10240, heads=80, global_batch=512)
    sizes = (1.0, 2.0, 4.0, 8.0, 16.0)
    times = [
        seconds(SELENE, task, Layout(tp=8.0, pp=8.0, micro_batch=b, recompute=2.0)) for b in sizes
    ]
    assert sizes[times.index(min(times))] in (2.0, 4.0)
    assert times[0] > 1.01 * min(times)
    assert 1.1 < max(times) / min(times) < 1.2


def test_model_parallelism_is_no_more_than_what_makes_it_fit():
    # Takeaway 2: tp · pp just to fit, then data parallelism
    task = of_2021(layers=32, hidden=4096, heads=32, global_batch=512)
    splits = ((1, 1), (2, 1), (4, 1), (8, 1), (8, 2), (8, 4), (8, 8))
    times = [
        seconds(SELENE, task, Layout(tp=float(t), pp=float(p), dp=64.0 / t / p, recompute=2.0))
        for t, p in splits
    ]
    assert times == sorted(times)


def test_tensors_within_a_node_and_pipelines_across_is_best():
    # Takeaway 1, figure 13: 161B parameters on 64 GPUs: tp 8 with pp 8 beats both extremes
    task = of_2021(layers=32, hidden=20480, heads=128, global_batch=128)
    times = {
        t: seconds(SELENE, task, Layout(tp=float(t), pp=64.0 / t, recompute=2.0))
        for t in (2, 4, 8, 16, 32)
    }
    assert min(times, key=lambda t: times[t]) == 8
    assert times[32] > 1.3 * times[8]


def test_scatter_and_gather_over_the_nics_helps_only_across_nodes():
    # Section 4.1: each of tp = 8 ranks sends an eighth over its own NIC instead of all of it
    size = 2.0 * 2 * 2048 * 12288
    saved = {}
    for name, stride in (("within", 1.0), ("across", 8.0)):
        g = group(SELENE, 2.0, stride)
        whole, part = (collective_time(SELENE, "send_recv", x, g) for x in (size, size / 8))
        saved[name] = whole - part
    layer = seconds(SELENE, replace(GPT3, global_batch=1), Layout(tp=8.0)) / 96
    assert saved["across"] > 0.05 * layer
    assert saved["within"] < 0.02 * layer
    assert saved["across"] > 8 * saved["within"]


# ------------------------------------------------------------------ InfiniBand and RoCE


def test_ten_thousand_gpus_feel_a_congested_roce_more_than_a_thousand():
    infiniband = cluster("dgx-h100-ndr")
    fields = {**cluster_fields("dgx-h100-ndr"), "fabric": "roce", "sharp": None}

    def loss(gpus, batch, oversubscription):
        roce = Cluster.from_fields({**fields, "oversubscription": oversubscription})
        task = replace(GPT3, global_batch=batch)
        slow, fast = (best(where, task, gpus).step_time_s for where in (roce, infiniband))
        return slow / fast - 1

    few, many = (loss(n, 2 * n, 2) for n in (1024, 10240))
    assert 0 < loss(1024, 2048, 1) < 0.005  # well built, a thousand do not notice
    assert loss(10240, 20480, 1) > 1.3 * loss(1024, 2048, 1)  # hashed flows meet in more tiers
    assert 0.015 < few < many

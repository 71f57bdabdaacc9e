"""The rules of thumb of the field must come out of the model; each test could fail."""

from dataclasses import replace

import pytest

from scoring import Job, Layout, best, cluster, job, rank
from scoring.collectives import collective_time, group
from scoring.decode import decode_layouts, token_time, tokens_per_s
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

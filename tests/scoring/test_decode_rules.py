"""The rules of people who serve models come out of the physics, and turn where the physics does.

https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html (read 2026-11-29): on one GPU where
the model fits; tensor parallel within a node; tensor and pipeline parallel over several; pipeline
parallel where there is no NVLink.
"""

from dataclasses import replace

import pytest

from scoring.decode import token_time, tokens_per_s
from scoring.estimate import estimate
from scoring.hardware import Cluster, cluster
from scoring.layout import Layout
from scoring.replicas import decode_layouts
from scoring.transformers import shape
from scoring.workload import Job, job


def serving(model, precision="bf16", **more):
    known = {"seq_len": 2048, "prompt_len": 1024, "output_len": 1024} | more
    return Job(name=model, kind="decode", precision=precision, model=shape(model), **known)


def chosen(slug, job, gpus):
    where = cluster(slug) if isinstance(slug, str) else slug
    layout = decode_layouts(where, job, gpus)[0]
    return int(layout.tp), int(layout.pp)


@pytest.mark.parametrize("slug", ["dgx-b200-ndr", "gb200-nvl72", "mi300x-8"])
def test_a_model_that_fits_on_one_gpu_is_not_split(slug):
    for limit in (None, 50.0):
        for model, precision in (("llama3-8b", "bf16"), ("llama3-70b", "fp8")):
            job = serving(model, precision, max_tpot_ms=limit)
            assert chosen(slug, job, 8) == (1, 1), (model, limit)


def test_a_small_model_is_not_split_over_pcie_cards_either():
    assert chosen("l40s-pcie-8", serving("llama3-8b"), 8) == (1, 1)


@pytest.mark.parametrize("slug", ["dgx-h100-ndr", "selene-a100"])
def test_within_a_node_it_is_tensor_parallel(slug):
    for limit in (None, 50.0, 20.0):
        tp, pp = chosen(slug, serving("llama3-70b", max_tpot_ms=limit), 8)
        assert tp > 1
        assert pp == 1


def test_readers_in_a_hurry_get_wider_groups():
    widths = [
        chosen("dgx-b200-ndr", serving("llama3-70b", "fp8", max_tpot_ms=limit), 8)[0]
        for limit in (None, 20.0, 9.0)
    ]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


@pytest.mark.parametrize("slug", ["dgx-h100-ndr", "gcp-a3-mega", "h100-sxm-ethernet"])
def test_over_several_nodes_it_is_tensor_parallel_inside_and_pipeline_parallel_across(slug):
    assert chosen(slug, serving("llama3-405b"), 16) == (8, 2)


def rate(where, job, layout):
    return float(tokens_per_s(job, layout, token_time(where, job, layout).total))


def test_tensor_parallelism_across_nodes_needs_an_infiniband_class_fabric():
    job = replace(serving("llama3-405b"), output_len=0)
    across, staged = Layout(tp=16.0, micro_batch=64.0), Layout(tp=8.0, pp=2.0, micro_batch=32.0)
    loss = {
        slug: rate(cluster(slug), job, across) / rate(cluster(slug), job, staged)
        for slug in ("dgx-h100-ndr", "gcp-a3-mega", "h100-sxm-ethernet")
    }
    assert loss["h100-sxm-ethernet"] < loss["gcp-a3-mega"] < loss["dgx-h100-ndr"]
    assert loss["h100-sxm-ethernet"] < 0.35
    # With one domain around all 16 the rule turns: no edge is left to be crossed.
    one = replace(cluster("dgx-h100-ndr"), domain_gpus=16)
    assert rate(one, job, across) > loss["dgx-h100-ndr"] * rate(one, job, staged)


def test_between_pcie_cards_it_is_pipeline_parallel_until_the_links_are_fast():
    job = serving("llama3-70b", "fp8")
    cards = cluster("l40s-pcie-8")
    tensor, staged = Layout(tp=8.0, micro_batch=128.0), Layout(pp=8.0, micro_batch=16.0)

    def switched(gbytes_per_s):
        """The same cards behind a switch of this rate."""
        links = {"scale_up_gbytes_per_s": gbytes_per_s, "scale_up_domain_gpus": 8}
        known = {"gpu": "l40s-pcie-48gb", "gpu_count": 8, "fabric": "none"}
        return Cluster.from_fields({**known, **links, "scale_up": "nvswitch"})

    assert rate(cards, job, tensor) < 0.3 * rate(cards, job, staged)
    machines = [switched(rate) for rate in (2, 16, 64, 256, 900)]
    gains = [rate(where, job, tensor) / rate(where, job, staged) for where in machines]
    assert gains == sorted(gains)
    assert gains[0] < 0.5
    assert gains[-1] > 1.0
    tp, pp = chosen(cards, job, 8)
    assert pp > 1
    assert tp <= 2


def test_pairs_of_cards_are_joined_inside_the_pair_first():
    tp, _ = chosen("h100-nvl-pairs", serving("llama3-70b", max_tpot_ms=50.0), 8)
    assert tp == 2


def test_experts_are_spread_wider_in_a_larger_domain():
    job = serving("deepseek-v3", "fp8", max_tpot_ms=50.0)
    rack, boxes = (decode_layouts(cluster(s), job, 64)[0] for s in ("gb200-nvl72", "dgx-b200-ndr"))
    assert rack.ep >= boxes.ep >= 8
    assert rack.dp > rack.pp


def test_what_messages_expose_adds_up_to_what_the_time_says_of_them():
    task = job("qwen3-235b-a22b-decode")
    split = Layout.parse("tp=2,pp=2,dp=2,ep=4,micro_batch=2", task, 8)
    found = estimate(cluster("l40s-pcie-8"), task, 8, split)
    answer = found.to_json()
    shown = sum(each["exposed_s"] for each in answer["collectives"])
    waits = ("exposed_tp_s", "exposed_pp_s", "exposed_ep_s")
    assert shown == pytest.approx(sum(answer["time"][name] for name in waits))
    assert answer["time"]["bubble_s"] > 0


def test_what_a_server_holds_for_its_sequences_is_called_a_cache():
    found = estimate(cluster("dgx-h100-ndr"), job("llama3-70b-decode"), 8)
    assert "KV cache" in found.memory
    assert "activations" not in found.memory

"""A training step: one set of equations for a number and a column, terms that add up, limits."""

from dataclasses import fields, replace

import numpy as np
import pytest

from scoring import Layout, job
from scoring.collectives import collective_time, group
from scoring.compute import layer_time, logits_time
from scoring.constants import SOFTWARE
from scoring.hardware import cluster, clusters
from scoring.layout import candidates
from scoring.memory import local_parameters
from scoring.search import fastest_layouts, fitting
from scoring.training import StepTime, training_step
from scoring.transformers import shape

GPT3, MIXTRAL = job("gpt3-175b-pretrain"), job("mixtral-8x7b-pretrain")
TERMS = [f.name for f in fields(StepTime) if f.name != "traffic"]


def some_rows(task, gpus, count=60):
    """A spread of candidates, fitting or not."""
    rows = candidates(task, gpus)
    return rows.rows(np.linspace(0, len(rows) - 1, count).astype(int))


@pytest.mark.parametrize("slug", clusters())
@pytest.mark.parametrize("task", ["gpt3-175b-pretrain", "mixtral-8x7b-pretrain", "llama3-70b-lora"])
def test_one_layout_and_a_column_of_layouts_agree(slug, task):
    where, what = cluster(slug), job(task)
    rows = some_rows(what, 64, 25)
    column = training_step(where, what, rows)
    for index in range(len(rows)):
        alone = training_step(where, what, rows.row(index))
        for term in (*TERMS, "total"):
            whole = np.broadcast_to(getattr(column, term), len(rows))[index]
            assert float(getattr(alone, term)) == pytest.approx(float(whole), rel=1e-9, abs=1e-15)


def test_the_terms_add_up():
    step = training_step(cluster("selene-a100"), GPT3, some_rows(GPT3, 512))
    assert np.allclose(step.total, sum(np.asarray(getattr(step, t)) for t in TERMS))
    for term in TERMS:
        assert np.all(np.asarray(getattr(step, term)) >= 0), term


@pytest.mark.parametrize("task", [GPT3, MIXTRAL])
@pytest.mark.parametrize("slug", ["dgx-h100-ndr", "gb200-nvl72", "l40s-pcie-8", "mi300x-8"])
def test_a_better_network_is_never_slower(task, slug):
    where = cluster(slug)
    rows = some_rows(task, 64)
    before = training_step(where, task, rows).total
    for better in (
        {"nic_bytes_per_s": where.nic_bytes_per_s * 2},
        {"scale_up_bytes_per_s": where.scale_up_bytes_per_s * 2},
        {"pcie_bytes_per_s": where.pcie_bytes_per_s * 2},
        {"gpudirect": True},
    ):
        assert np.all(
            training_step(replace(where, **better), task, rows).total <= before * (1 + 1e-12)
        )


def test_one_gpu_does_not_communicate():
    step = training_step(cluster("dgx-h100-ndr"), job("llama3-8b-pretrain"), Layout())
    assert float(step.exposed) == 0.0
    assert float(step.bubble) == 0.0


def test_the_bubble_of_1f1b_by_hand():
    # (p − 1) stages of forward and backward, /v interleaved; the last stage waits for the logits
    where = cluster("selene-a100")
    layout = Layout(tp=8.0, pp=8.0, dp=8.0, zero_stage=1.0)
    four = replace(layout, virtual_stages=4.0)
    plain, interleaved = (training_step(where, GPT3, x).bubble for x in (layout, four))
    layer = layer_time(where, GPT3, layout).total
    tensor = training_step(where, GPT3, layout).exposed_tp / (1536 / 8) / 12
    assert plain - interleaved == pytest.approx(7 * 12 * (layer + tensor) * (1 - 1 / 4))


def test_full_recompute_costs_one_forward_pass():
    where = cluster("selene-a100")
    none, full = (layer_time(where, GPT3, Layout(recompute=r)) for r in (0.0, 2.0))
    assert full.total - none.total == pytest.approx(none.forward)


def test_the_search_finds_what_costing_every_candidate_finds():
    for slug in ("dgx-h100-ndr", "h100-nvl-pairs", "h100-sxm-ethernet"):
        where = cluster(slug)
        rows = fitting(MIXTRAL, 128, where.gpu.memory_bytes)
        every = training_step(where, MIXTRAL, rows).total
        found = fastest_layouts(where, MIXTRAL, 128)[0]
        assert float(training_step(where, MIXTRAL, found).total) == pytest.approx(every.min())
        assert fastest_layouts(where, MIXTRAL, 128, top=3)[0] == rows.row(int(every.argmin()))


def test_jitter_grows_by_a_third_of_a_percent_a_doubling():
    layouts = [Layout(tp=8.0, dp=float(n), zero_stage=1.0) for n in (2, 4)]
    steps = [training_step(cluster("selene-a100"), GPT3, x) for x in layouts]
    shares = [s.jitter / (s.total - s.jitter) for s in steps]
    assert shares == pytest.approx([0.0035, 0.0070])


def test_the_exchange_of_gradients_hides_behind_the_last_backward_pass():
    # 2 nodes of 8: a reduce-scatter of 4 bytes a parameter, then an all-gather of 2; a fifth of
    # what runs side by side shows (dp_overlap 0.8), and all that outlasts the pass
    where, layout = cluster("selene-a100"), Layout(tp=8.0, dp=2.0, zero_stage=1.0, micro_batch=8.0)
    layer, local = layer_time(where, GPT3, layout), local_parameters(GPT3, layout)[0]
    g = group(where, 2.0, 8.0)
    reduce = collective_time(where, "reduce_scatter", 4.0 * local, g)
    gather = collective_time(where, "all_gather", 2.0 * local, g)
    backward, forward = 96 * layer.backward, 96 * layer.forward
    assert reduce < backward
    assert gather < forward
    shown = training_step(where, GPT3, layout).exposed_dp
    assert shown == pytest.approx(0.4 * (reduce + gather))


def test_where_launches_do_not_queue_small_micro_batches_cost_more():
    # a layer of BLOOM's software waits for the host in each of its four passes
    where, old = cluster("selene-a100"), replace(GPT3, software="megatron-deepspeed")
    one, two = (
        layer_time(where, old, Layout(tp=8.0, micro_batch=b, recompute=2.0)).total
        for b in (1.0, 2.0)
    )
    profile = SOFTWARE["megatron-deepspeed"]
    wait = 4 * profile.layer_wait_ms * 1e-3 * profile.multiplier
    rest = 2 * one - two - wait  # edges of short products, and gaps of kernels in a graph
    assert wait > 0.007
    assert 0 < rest < 0.1 * wait


def test_software_that_overlaps_the_exchange_of_experts_shows_less_of_it():
    where, layout = cluster("gb200-nvl72"), Layout(dp=64.0, ep=8.0, zero_stage=1.0)
    before, after = (
        training_step(where, replace(MIXTRAL, software=name), layout).exposed_ep
        for name in ("megatron", "megatron-2026")
    )
    shown = 1.0 - SOFTWARE["megatron-2026"].ep_overlap
    assert after == pytest.approx(shown * before)


def test_selective_recompute_of_every_second_layer_costs_half_of_full():
    where, task = cluster("selene-a100"), replace(GPT3, software="torchtitan")
    none, half, full = (layer_time(where, task, Layout(recompute=r)).total for r in (0.0, 1.0, 2.0))
    assert half - none == pytest.approx((full - none) / 2)


def test_a_stack_of_single_mixers_costs_the_same_as_a_number_and_as_a_column():
    where = cluster("gb200-nvl72")
    hybrid = replace(MIXTRAL, model=shape("nemotron3-super-120b-a12b"))
    rows = some_rows(hybrid, 64, 25)
    column = training_step(where, hybrid, rows).total
    for index in range(len(rows)):
        alone = float(training_step(where, hybrid, rows.row(index)).total)
        assert alone == pytest.approx(float(column[index]), rel=1e-9)


def test_predicting_a_second_token_adds_its_layers_and_a_head_to_the_last_stage():
    where, layout = cluster("gb200-nvl72"), Layout(dp=64.0, ep=64.0, zero_stage=1.0)
    task = replace(MIXTRAL, model=shape("deepseek-v3"))
    without = replace(task, model=replace(task.transformer, mtp_layers=0))
    rounds = task.global_batch / 64
    layer, head = layer_time(where, task, layout).total, logits_time(where, task, layout)
    more, less = (training_step(where, x, layout).compute for x in (task, without))
    assert more - less == pytest.approx(rounds * (layer + head))

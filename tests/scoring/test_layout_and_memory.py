"""Splits that divide, and what one GPU must hold: published formulas, term by term."""

from dataclasses import replace

import numpy as np
import pytest

from scoring import FieldError, Job, Layout, job
from scoring.hardware import cluster
from scoring.layout import KINDS, candidates
from scoring.memory import activation_bytes_per_layer, training_memory
from scoring.search import fitting, smallest_count
from scoring.training import training_step

GPT3 = job("gpt3-175b-pretrain")


def test_every_candidate_divides():
    rows = candidates(GPT3, 512)
    assert len(rows) > 1000
    assert np.all(rows.gpus == 512)
    assert np.all(96 % rows.tp == 0)
    assert np.all((96 % rows.pp == 0) | (98 % rows.pp == 0))
    assert np.all(1536 % (rows.dp * rows.micro_batch) == 0)


def test_candidates_are_distinct():
    rows = candidates(GPT3, 512)
    table = np.stack([np.asarray(getattr(rows, f)) for f in ("tp", "pp", "dp", "cp", "ep")])
    more = [rows.micro_batch, rows.virtual_stages, rows.zero_stage, rows.recompute]
    table = np.concatenate([table, np.stack(more)])
    assert np.unique(table, axis=1).shape[1] == len(rows)


def test_embedding_and_head_count_as_layers_where_126_must_be_cut_in_16():
    assert 16 in candidates(job("llama3-405b-pretrain"), 1024).pp


def test_states_are_18_bytes_a_parameter_and_6_plus_12_over_d_sharded():
    # NVIDIA/Megatron-LM theoretical_memory_usage.py
    model = GPT3.transformer.parameters
    plain = training_memory(GPT3, Layout())
    assert plain.weights + plain.gradients + plain.optimizer == pytest.approx(18 * model)
    sharded = training_memory(GPT3, Layout(dp=16.0, zero_stage=1.0))
    held = sharded.weights + sharded.gradients + sharded.optimizer
    assert held == pytest.approx((6 + 12 / 16) * model)
    all_sharded = training_memory(GPT3, Layout(dp=16.0, zero_stage=3.0))
    held = all_sharded.weights + all_sharded.gradients + all_sharded.optimizer
    assert held == pytest.approx(18 / 16 * model)


def test_activations_of_a_layer_are_32_sbh_over_t():
    # arXiv:2205.05198, equation 4: 34 without the scores, which flash attention does not keep, and
    # without the two masks of dropout, which went out with the scores
    layout = Layout(tp=8.0, micro_batch=2.0)
    assert activation_bytes_per_layer(GPT3, layout) == 32 * 2048 * 2 * 12288 / 8


def test_gradients_are_summed_in_fp32_but_for_fp16():
    # DeepSpeed in bf16: 4 bytes summed and 2 beside; in fp16: 2, and 4 of a shard for the optimizer
    old = replace(GPT3, software="megatron-deepspeed")
    layout, model = Layout(dp=16.0, zero_stage=1.0), GPT3.transformer.parameters
    assert training_memory(old, layout).gradients == pytest.approx(6 * model)
    narrow = training_memory(replace(old, precision="fp16"), layout)
    assert narrow.gradients == pytest.approx(2 * model)
    assert narrow.optimizer == pytest.approx((12 + 4) / 16 * model)


def test_unfused_attention_keeps_5_a_s_more_until_selective_recompute_drops_it():
    old = replace(GPT3, software="megatron-2022")
    kept = activation_bytes_per_layer(old, Layout(tp=8.0))
    assert kept == 2048 * (34 * 12288 + 5 * 96 * 2048) / 8
    dropped = activation_bytes_per_layer(old, Layout(tp=8.0, recompute=1.0))
    assert dropped == 34 * 2048 * 12288 / 8
    full = activation_bytes_per_layer(old, Layout(tp=8.0, recompute=2.0))
    assert full == 2 * 2048 * 12288 / 8


def test_the_memory_sentence_says_what_fills_the_gpu():
    terms = training_memory(job("llama3-8b-pretrain"), Layout(recompute=2.0))
    words = terms.sentence(cluster("dgx-h100-ndr").gpu)
    # 12 bytes × 8.03e9 parameters, before 4 of gradients and 2 of weights
    assert words.startswith("optimizer state 96 GB + gradients 32 GB + weights 16 GB + ")
    assert "exceeds the 85 GB of h100-sxm5-80gb" in words


def test_zero_three_never_needs_more_than_one():
    for dp in (2.0, 8.0, 64.0):
        one = training_memory(GPT3, Layout(tp=8.0, dp=dp, zero_stage=1.0)).total
        three = training_memory(GPT3, Layout(tp=8.0, dp=dp, zero_stage=3.0)).total
        assert three < one + 2 * GPT3.transformer.parameters / 96


def test_the_least_recompute_that_fits_is_kept():
    memory = cluster("selene-a100").gpu.memory_bytes
    kept = fitting(GPT3, 512, memory)
    total = np.asarray(training_memory(GPT3, kept).total)
    assert np.all(total <= memory)
    lighter = replace(kept, recompute=np.maximum(np.asarray(kept.recompute) - 1, 0))
    lighter_fits = np.asarray(training_memory(GPT3, lighter).total) <= memory
    assert np.all(~lighter_fits | (np.asarray(kept.recompute) == 0))


def test_the_smallest_count_is_where_it_first_fits():
    h100 = cluster("dgx-h100-ndr")
    count = smallest_count(h100, GPT3, 512)
    assert count is not None
    assert len(fitting(GPT3, count, h100.gpu.memory_bytes))
    assert smallest_count(h100, GPT3, count - 1) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("tp=64", "heads"),
        ("tp=8,pp=2,dp=3", "48, not 64"),
        ("tp=eight", "tp"),
        ("pp=128", "layout"),
        ("speed=9", "speed"),
        ("zero_stage=4", "zero_stage"),
        ("tp=8,recompute=often", "recompute"),
        ("tp=1,micro_batch=1000", "layout"),
    ],
)
def test_a_layout_that_does_not_divide_says_why(text, word):
    with pytest.raises(FieldError, match=word):
        Layout.parse(text, GPT3, 64)


def test_dp_is_what_is_left():
    assert Layout.parse("tp=8,pp=4", GPT3, 64).dp == 2.0


def test_a_job_of_one_short_sequence_has_candidates():
    tiny = Job.from_fields(
        {"layers": 2, "hidden": 64, "heads": 4, "vocab": 100, "seq_len": 32, "global_batch": 1}
    )
    assert len(candidates(tiny, 1)) > 0


def test_a_frozen_mlp_keeps_what_its_activation_read_in_the_width_of_its_weights():
    lora = replace(job("llama3-70b-lora"), precision="bf16")
    wide, narrow = (
        activation_bytes_per_layer(replace(lora, precision=p), Layout()) for p in ("bf16", "fp8")
    )
    assert wide - narrow == 2 * 28672 * lora.seq_len  # two inner vectors a token, a byte each


@pytest.mark.parametrize("name", ["gpt3-175b", "mixtral-8x7b"])
@pytest.mark.parametrize("slug", ["selene-a100", "gb200-nvl72", "l40s-pcie-8"])
def test_rows_that_share_a_layer_or_an_exchange_are_costed_as_if_alone(name, slug):
    task = job(f"{name}-pretrain")
    rows = candidates(task, 512)
    assert all(len(getattr(rows, kinds).few) < len(rows) for kinds in KINDS)
    shared = training_step(cluster(slug), task, rows)
    alone = training_step(cluster(slug), task, replace(rows, **dict.fromkeys(KINDS)))
    for term in ("compute", "exposed_tp", "exposed_pp", "bubble", "exposed_dp", "exposed_ep"):
        assert getattr(shared, term) == pytest.approx(getattr(alone, term), rel=1e-12), term
    assert shared.total == pytest.approx(alone.total, rel=1e-12)


def test_of_chosen_rows_only_their_own_kinds_are_kept():
    rows = candidates(job("gpt3-175b-pretrain"), 64)
    chosen = rows.rows(np.array([700, 3, 400]))
    for kinds in KINDS:
        few, spread = chosen.one_of_each(getattr(chosen, kinds))
        assert len(few) <= 3
        assert list(spread(few.tp)) == list(chosen.tp) == list(rows.tp[[700, 3, 400]])


def test_a_count_that_no_layout_divides_has_no_rows():
    assert len(candidates(job("gpt3-175b-pretrain"), 7919)) == 0

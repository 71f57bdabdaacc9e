"""One decoding step: bytes and flop by hand, limits that must hold, columns like single rows."""

from dataclasses import replace

import numpy as np
import pytest

from scoring.collectives import group
from scoring.decode import (
    decode_memory,
    filled_slots,
    most_sequences,
    one_sided_exchange,
    sequence_bytes,
    token_time,
    tokens_per_s,
)
from scoring.engines import ENGINES, SERVING, reading_bytes_per_s
from scoring.fields import FieldError
from scoring.formats import attention_format, maths, weight_bytes
from scoring.gpus import gpu
from scoring.hardware import cluster
from scoring.layout import Layout
from scoring.prefill import prefill_time
from scoring.replicas import fitting_layouts
from scoring.transformers import shape
from scoring.workload import Job

H100, B200 = cluster("dgx-h100-ndr"), cluster("dgx-b200-ndr")


def serving(model, precision="bf16", **more):
    known = {"seq_len": 2048, "prompt_len": 1024} | more
    return Job(name=model, kind="decode", precision=precision, model=shape(model), **known)


LLAMA8B, DEEPSEEK = serving("llama3-8b"), serving("deepseek-v3", "fp8")


def test_one_sequence_reads_every_weight_and_its_own_cache():
    token = token_time(H100, LLAMA8B, Layout())
    read = 2.0 * LLAMA8B.model.active_parameters / reading_bytes_per_s(H100.gpu, "any")
    floors = LLAMA8B.model.layers * 4 * SERVING.product_us["bf16"] * 1e-6
    assert token.weights == pytest.approx(read + floors, rel=0.001)
    cached = 2.0 * 32 * 2 * 8 * 128 * 2048  # two bytes, layers, keys and values, heads, width
    floor = LLAMA8B.model.layers * SERVING.attention_us * 1e-6
    moved = cached / (H100.gpu.memory_bytes_per_s * SERVING.cache_reading)
    assert token.cache == pytest.approx(moved + floor)
    assert token.exposed == 0.0


def test_a_column_of_layouts_costs_what_its_rows_do():
    for model, where in ((LLAMA8B, H100), (DEEPSEEK, B200)):
        job = replace(model, output_len=512)
        rows = fitting_layouts(where, job, 16)
        times = np.asarray(token_time(where, job, rows).total)
        prompts = np.asarray(prefill_time(where, job, rows))
        for index in range(0, len(rows), max(len(rows) // 40, 1)):
            row = rows.row(index)
            assert float(token_time(where, job, row).total) == pytest.approx(times[index], rel=1e-9)
            assert float(prefill_time(where, job, row)) == pytest.approx(prompts[index], rel=1e-9)


def test_more_sequences_cost_less_than_their_number_and_never_nothing():
    times = [float(token_time(H100, LLAMA8B, Layout(micro_batch=q)).total) for q in (1, 2, 8, 64)]
    assert times == sorted(times)
    assert times[2] < 1.2 * times[0]
    assert times[3] < 8 * times[0]


def test_a_mixture_reads_the_experts_that_are_hit():
    # 1 token hits 8 of 256; 64 tokens hit 256 (1 − (1 − 8/256)^64) = 222.4 of them.
    first, many = (
        float(token_time(B200, DEEPSEEK, Layout(tp=8.0, micro_batch=q)).weights)
        for q in (1.0, 64.0)
    )
    local = DEEPSEEK.model.expert_parameters / 8
    more = 58 * (222.4 - 8.0) * local / reading_bytes_per_s(B200.gpu, "any")
    assert many - first == pytest.approx(more, rel=0.15)  # the rest is arithmetic


def test_attention_data_parallel_divides_the_cache_that_compression_does_not():
    tensor = Layout(tp=8.0, micro_batch=64.0)
    spread = Layout(tp=1.0, dp=8.0, ep=8.0, micro_batch=8.0)  # the same 64 sequences
    whole, part = (sequence_bytes(B200.gpu, DEEPSEEK, x) * x.micro_batch for x in (tensor, spread))
    assert whole == pytest.approx(8 * part)
    llama = serving("llama3-70b", "fp8")  # 8 heads of keys and values: tp divides them
    assert sequence_bytes(B200.gpu, llama, tensor) == pytest.approx(
        sequence_bytes(B200.gpu, llama, Layout()) / 8
    )


def test_ranks_of_attention_without_a_sequence_idle():
    wide = Layout(tp=1.0, dp=8.0, ep=8.0, micro_batch=1.0)
    two, eight = (replace(DEEPSEEK, global_batch=n) for n in (2, 8))
    few, full = (token_time(B200, job, wide) for job in (two, eight))
    assert few.total < full.total  # fewer experts are hit
    assert tokens_per_s(two, wide, few.total) < 0.5 * tokens_per_s(eight, wide, full.total)
    tensor = Layout(tp=8.0, micro_batch=2.0)
    assert token_time(B200, two, tensor).total < few.total


def test_four_bit_weights_save_reading_where_the_gpu_cannot_multiply_them():
    assert maths(gpu("h100-sxm5-80gb"), "nvfp4") == "bf16"
    assert maths(gpu("b200-sxm6-180gb"), "nvfp4") == "nvfp4"
    assert maths(gpu("a100-sxm4-80gb"), "fp8") == "bf16"
    wide, narrow = serving("llama3-70b"), serving("llama3-70b", weights="int4")
    for batch, least, most in ((1.0, 2.0, 3.8), (1024.0, 0.95, 1.1)):
        layout = Layout(tp=4.0, micro_batch=batch)
        gain = token_time(H100, wide, layout).weights / token_time(H100, narrow, layout).weights
        assert least < gain < most
    assert decode_memory(H100.gpu, narrow, Layout()).weights < 0.3 * (
        decode_memory(H100.gpu, wide, Layout()).weights
    )


def test_mixtures_in_four_bits_keep_attention_wide():
    assert attention_format(serving("gpt-oss-120b", "nvfp4")) == "bf16"
    assert attention_format(serving("llama3-70b", "nvfp4")) == "nvfp4"
    assert weight_bytes("int4") < weight_bytes("nvfp4") < weight_bytes("fp8")


def test_the_cache_limits_the_batch_and_the_limit_fits():
    job = serving("llama3-70b", "fp8")
    most = float(most_sequences(H100.gpu, job, Layout(tp=2.0)))
    room = H100.gpu.memory_bytes
    assert decode_memory(H100.gpu, job, Layout(tp=2.0, micro_batch=most)).total <= room
    assert decode_memory(H100.gpu, job, Layout(tp=2.0, micro_batch=most + 1)).total > room
    doubled = float(most_sequences(H100.gpu, replace(job, seq_len=4096), Layout(tp=2.0)))
    assert doubled == pytest.approx(most / 2, abs=1)
    assert most_sequences(H100.gpu, serving("llama3-405b"), Layout(tp=8.0)) == 0.0


def test_windows_states_and_an_index_bound_what_a_long_context_costs():
    short, long = 8192, 131072
    for model, most in (("llama3-8b", 20.0), ("gpt-oss-120b", 10.0), ("qwen35-397b-a17b", 8.0)):
        job, layout = serving(model, "fp8"), Layout(tp=2.0, micro_batch=16.0)
        few, many = (token_time(B200, replace(job, seq_len=n), layout).cache for n in (short, long))
        assert 1.5 < many / few < most
    # 2,048 picked of 131,072 tokens: the index's 132 bytes each, instead of 576.
    picked = serving("glm-5", "fp8")
    layout = Layout(tp=8.0, micro_batch=64.0)
    ratio = (
        token_time(B200, replace(picked, seq_len=long), layout).cache
        / token_time(
            B200,
            replace(picked, seq_len=long, model=replace(picked.model, attended=0)),
            layout,
        ).cache
    )
    assert ratio < 0.5


def test_prompts_beside_decoding_take_their_share_of_each_slot():
    alone = token_time(H100, LLAMA8B, Layout(micro_batch=64.0))
    shared = token_time(H100, replace(LLAMA8B, output_len=256), Layout(micro_batch=64.0))
    prompt = float(prefill_time(H100, LLAMA8B, Layout(micro_batch=64.0), alone=False))
    assert alone.prefill == 0.0
    assert shared.total - alone.total == pytest.approx(64 / 256 * prompt)


def test_a_prompt_costs_its_length_and_attention_the_square():
    def prompt(tokens):
        return float(prefill_time(H100, replace(LLAMA8B, prompt_len=tokens), Layout()))

    assert prompt(16) == pytest.approx(prompt(1), rel=0.2)  # both read all weights once
    assert 1.9 < prompt(8192) / prompt(4096) < 2.4
    assert prompt(131072) / prompt(65536) > 2.5
    # 6 passes of 8,192 read the weights 16 times as often as one of 8,192 does.
    assert prompt(131072) > 16 * prompt(8192)


def test_a_step_that_yields_more_tokens_is_cheaper_for_few_sequences_alone():
    draft = replace(LLAMA8B, drafted=3, accepted=2.5)
    for batch, least, most in ((1.0, 1.9, 2.5), (512.0, 0.3, 1.9)):
        plain, guessed = (
            float(token_time(H100, job, Layout(micro_batch=batch)).total)
            for job in (LLAMA8B, draft)
        )
        assert least < plain / guessed < most
    with pytest.raises(FieldError, match="accepted_tokens"):
        Job.from_fields(
            {"kind": "decode", "model": "llama3-8b", "seq_len": 64, "accepted_tokens": 2}
        )


def test_one_request_fills_one_slot_of_a_pipeline():
    single = replace(LLAMA8B, global_batch=1)
    staged = Layout(pp=4.0)
    assert filled_slots(single, staged) == 1.0
    assert filled_slots(LLAMA8B, staged) == 4.0
    lone = token_time(H100, single, staged).total
    assert lone == pytest.approx(token_time(H100, single, Layout()).total, rel=0.05)
    assert tokens_per_s(single, staged, lone) == pytest.approx(1.0 / lone)


@pytest.mark.parametrize(
    ("ranks", "dispatch_us", "combine_us"),
    [(8, 37, 67), (16, 118, 195), (32, 155, 273), (64, 173, 314), (128, 192, 369)],
)
def test_experts_are_reached_as_fast_as_measured(ranks, dispatch_us, combine_us):
    """128 tokens of 7,168 to 8 experts, in 8 bits and back in 16; 8: small_ops.csv of H100."""
    g = group(H100, float(ranks))
    for bytes_each, measured in ((1.03, dispatch_us), (2.0, combine_us)):
        took = float(one_sided_exchange(H100, bytes_each * 128 * 8 * 7168, g)) * 1e6
        assert took == pytest.approx(measured, rel=0.15)


def test_stages_wait_for_one_another():
    """Four stages of a quarter each: no faster than one GPU by what they wait and hand over."""
    one, four = Layout(micro_batch=64.0), Layout(pp=4.0, micro_batch=64.0)
    alone, staged = (token_time(H100, LLAMA8B, x) for x in (one, four))
    assert staged.bubble > 3 * SERVING.stage_wait * (alone.weights + alone.cache)
    speedup = tokens_per_s(LLAMA8B, four, staged.total) / tokens_per_s(LLAMA8B, one, alone.total)
    assert 2.5 < speedup < 4 / (1 + 3 * SERVING.stage_wait)


def test_each_engine_has_a_host_that_takes_time():
    times = {
        name: float(token_time(H100, replace(LLAMA8B, engine=name), Layout()).overhead)
        for name in ENGINES
    }
    assert min(times, key=lambda name: times[name]) == "tensorrt_llm"
    assert max(times.values()) < 3e-3

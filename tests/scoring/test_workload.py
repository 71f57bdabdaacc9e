"""Jobs: parameters and flop of public models, and errors that name the field."""

import math

import pytest

from scoring import FieldError, Job, job, jobs
from scoring.transformers import known_shape, shape

TINY = {"layers": 2, "hidden": 64, "heads": 4, "vocab": 100, "seq_len": 32, "global_batch": 8}


@pytest.mark.parametrize(
    ("slug", "billions", "active"),
    [
        ("gpt3-175b-pretrain", 175, 175),
        ("gpt-1t-pretrain", 1008, 1008),
        ("llama3-8b-pretrain", 8.03, 7.5),
        ("llama3-70b-pretrain", 70.6, 69.5),
        ("llama3-405b-pretrain", 405.9, 403.8),
        ("mixtral-8x7b-pretrain", 46.7, 12.8),
        ("deepseek-v3-decode", 671, 36.6),
    ],
)
def test_parameters_of_public_models(slug, billions, active):
    model = job(slug).transformer
    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.01)
    assert model.active_parameters / 1e9 == pytest.approx(active, rel=0.02)


def test_flop_of_gpt3_by_the_formula_of_megatron():
    # 72 B s L h² (1 + s/6h + V/12 L h) of arXiv:2104.04473 without recompute, its attention
    # unmasked; ours counts the masked half, which is s/12h instead of s/6h.
    gpt3 = job("gpt3-175b-pretrain")
    s, layers, h, v = 2048, 96, 12288, 51200
    formula = 72 * 1536 * s * layers * h**2 * (1 + s / (12 * h) + v / (12 * layers * h))
    assert gpt3.model_flop == pytest.approx(formula, rel=1e-3)


def test_lora_needs_two_passes_and_a_sliver_of_gradients():
    lora = job("llama3-70b-lora")
    assert lora.model_flop == pytest.approx(
        2 * lora.tokens * lora.transformer.forward_flop_per_token(lora.seq_len)
    )
    assert lora.trainable_parameters < lora.transformer.parameters / 1000


def test_every_reference_job_builds():
    assert {"hpc-halo", "llama3-70b-lora", "deepseek-v3-decode"} <= set(jobs())
    for slug in jobs():
        assert job(slug).name == slug


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("layers", 0),
        ("layers", 1e9),
        ("hidden", math.nan),
        ("heads", "many"),
        ("kv_heads", 3),
        ("seq_len", None),
        ("seq_len", -1),
        ("global_batch", 2.5),
        ("global_batch", None),
        ("micro_batch", 3),
        ("precision", "fp3"),
        ("kind", "guess"),
        ("model", "gpt5"),
        ("activation_recompute", "some"),
        ("software", "mine"),
        ("experts", 8),  # without topk: named below
        ("laeyrs", 2),
    ],
)
def test_bad_input_names_its_field(field, value):
    with pytest.raises(FieldError) as caught:
        Job.from_fields({**TINY, field: value})
    assert caught.value.field == ("topk" if field == "experts" else field)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "flop"),
        ({"flop": math.inf}, "flop"),
        ({"flop": 1e12, "messages": "all"}, "messages"),
        ({"flop": 1e12, "messages": [3]}, "messages[0]"),
        ({"flop": 1e12, "messages": [{"kind": "shout", "bytes": 1}]}, "messages[0].kind"),
        ({"flop": 1e12, "messages": [{"kind": "broadcast"}]}, "messages[0].bytes"),
    ],
)
def test_a_bad_custom_job_names_its_field(given, field):
    with pytest.raises(FieldError) as caught:
        Job.from_fields({"kind": "custom", **given})
    assert caught.value.field == field


def test_words_of_measured_rows_are_understood():
    task = Job.from_fields({**TINY, "kind": "train", "precision": "MXFP8", "model_name": "tiny"})
    assert task.precision == "fp8"
    assert Job.from_fields({**TINY, "kind": "infer"}).kind == "decode"


# Billions of weights as published, in the paper or on the card that each shape names.
PUBLISHED_BILLIONS = {
    "llama2-7b": 6.74,
    "llama2-13b": 13.02,
    "llama32-1b": 1.24,
    "llama32-3b": 3.21,
    "mistral-7b": 7.24,
    "mixtral-8x7b": 46.7,
    "mixtral-8x22b": 140.6,
    "qwen25-7b": 7.62,
    "qwen25-72b": 72.7,
    "qwen3-8b": 8.19,
    "qwen3-32b": 32.8,
    "qwen3-235b-a22b": 235.1,
    "gemma2-27b": 27.2,
    "falcon-40b": 41.3,
    "bloom-176b": 176.2,
    "gpt-neox-20b": 20.6,
    "gpt2-xl": 1.56,
    "bert-large": 0.335,
    "nemotron4-340b": 341.0,
    "gpt-oss-20b": 20.9,
    "gpt-oss-120b": 116.8,
    "deepseek-v2": 235.7,
    "deepseek-v3": 671.0,
    "kimi-k2": 1026.0,
    "llama3-405b": 405.9,
    "grok-1": 316.0,
    "llama4-maverick": 400.7,
}


def test_shapes_have_as_many_weights_as_published():
    for slug, billions in PUBLISHED_BILLIONS.items():
        assert shape(slug).parameters / 1e9 == pytest.approx(billions, rel=0.01), slug


@pytest.mark.parametrize(
    ("written", "slug"),
    [
        ("LLAMA3.1_405B", "llama3-405b"),
        ("Qwen/Qwen2.5-72B", "qwen25-72b"),
        ("Kimi_K2 (w/o MTP)", "kimi-k2"),
        ("mixtral 8x22b", "mixtral-8x22b"),
        ("Mixtral 8×7B v0.1", "mixtral-8x7b"),
        ("DeepSeek-V3-Base", "deepseek-v3"),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek-v3"),
        ("qwen3 30b", "qwen3-30b-a3b"),
        ("Grok-1", "grok-1"),
        ("Llama 4 Scout", "llama4-scout"),
        ("Llama-4-Maverick-17B-128E-Instruct-FP8", "llama4-maverick"),
        ("Llama 4", None),  # which of the two is not said
        ("Llama", None),
    ],
)
def test_a_public_model_is_known_however_it_is_spelled(written, slug):
    assert known_shape(written) == slug


@pytest.mark.parametrize(
    ("slug", "billions", "active"),
    [
        ("nemotron3-nano-30b-a3b", 31.6, 3.2),
        ("nemotron3-super-120b-a12b", 120.6, 12.2),
        ("nemotron3-ultra", 549, 55),
    ],
)
def test_hybrids_have_the_parameters_that_their_names_say(slug, billions, active):
    model = shape(slug)
    assert model.blocks == 1.0  # a mixer or an MLP, not both
    assert model.parameters / 1e9 == pytest.approx(billions, rel=0.01)
    assert model.active_parameters / 1e9 == pytest.approx(active, rel=0.02)

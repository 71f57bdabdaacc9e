"""A measured run is read by what its words mean, however they are spelled."""

import pytest

from scoring.machines import CannotPredict, gpu_slug, machine
from scoring.measured import predict
from scoring.measured_runs import metric_of, recompute_of, zero_group, zero_stage
from scoring.measured_shapes import shape_of_row

RUN = {
    "kind": "train",
    "model_name": "LLAMA3_70B",
    "gpu_model": "H100-SXM-80GB",
    "num_gpus": "64",
    "gpus_per_node": "8",
    "seq_len": "8192",
    "global_batch": "128",
    "micro_batch": "1",
    "tp": "4",
    "pp": "4",
    "dp": "4",
    "vp": "5",
    "precision": "bf16",
    "framework": "NeMo 25.04",
    "activation_recompute": "none",
    "metric_name": "step_time_s",
    "metric_value": "1",
}
TOKENS = 128 * 8192.0


def value(**columns):
    return predict({**RUN, **columns}).value


@pytest.mark.parametrize(
    ("name", "of_a_second_s_work"),
    [
        ("tokens/s/GPU", TOKENS / 64),
        ("tokens/sec/GPU", TOKENS / 64),
        ("tok/s/device", TOKENS / 64),
        ("tokens_per_second_per_gpu", TOKENS / 64),
        ("tokens/s", TOKENS),
        ("samples/s", 128),
        ("sequences per second", 128),
        ("samples/s/GPU", 2),
    ],
)
def test_rates_are_the_same_step_in_other_units(name, of_a_second_s_work):
    assert value(metric_name=name) == pytest.approx(of_a_second_s_work / value())


def test_times_and_flop_have_units_of_their_own():
    assert value(metric_name="step_time_ms") == pytest.approx(1e3 * value())
    assert value(metric_name="iteration time (s)") == value()
    assert value(metric_name="ms/step") == value(metric_name="step_time_ms")
    tera = value(metric_name="TFLOP/s/GPU")
    assert value(metric_name="model TFLOPs/GPU") == tera
    assert value(metric_name="PFLOP/s/GPU") == pytest.approx(tera / 1e3)
    assert value(metric_name="MFU%") == pytest.approx(100 * tera / 989.5)


@pytest.mark.parametrize("name", ["PFLOP/s", "PFLOPs", "total TFLOP/s", "EFLOP/s"])
def test_petaflop_are_told_of_a_whole_system_unless_of_one_gpu(name):
    tera = value(metric_name="TFLOP/s/GPU")
    unit = {"P": 1e3, "E": 1e6, "t": 1.0}[name[0]]
    assert value(metric_name=name) == pytest.approx(64 * tera / unit)
    assert value(metric_name="PFLOP/s/GPU") == pytest.approx(tera / 1e3)
    assert value(metric_name="TFLOPS") == tera


def test_hardware_utilisation_counts_what_was_computed_twice():
    full = {"activation_recompute": "full"}
    model, hardware = (value(**full, metric_name=f"{kind}%") for kind in ("MFU", "HFU"))
    assert hardware == pytest.approx(4 / 3 * model)
    assert value(metric_name="HFU%") == value(metric_name="MFU%")


@pytest.mark.parametrize("name", ["time_to_train_min", "MFU", "loss", "tokens", "busbw_GB/s"])
def test_what_no_step_says_is_not_predicted(name):
    with pytest.raises(CannotPredict):
        metric_of(name)


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        ("", None),
        ("none (DP)", 0),
        ("DDP", 0),
        ("no_shard", 0),
        ("distributed optimizer (zero1)", 1),
        ("distributed optimizer", 1),
        ("zero1 shard group=8", 1),
        ("ZeRO-2", 2),
        ("SHARD_GRAD_OP", 2),
        ("FSDP FULL_SHARD (zero3)", 3),
        ("FSDP2", 3),
        ("HSDP", 3),
        ("megatron-FSDP=64 (0)", 3),
        ("ZeRO stage 3", 3),
        ("2", 2),
    ],
)
def test_sharding_by_its_words(words, stage):
    assert zero_stage(words) == stage


def test_hybrid_sharding_stays_in_a_node_unless_it_says_how_many_ranks():
    assert zero_group("HSDP", 8) == 8
    assert zero_group("HYBRID_SHARD, shard size=16", 8) == 16
    assert zero_group("zero1 shard group=all DP", 8) == 0
    assert zero_group("FSDP2", 8) == 0


def test_recompute_by_its_words():
    assert recompute_of("None") == recompute_of("no") == "none"
    assert recompute_of("full (uniform, 1)") == recompute_of("Full") == "full"
    assert recompute_of("selective op") == recompute_of("core_attn") == "selective"
    assert recompute_of("") is None
    assert recompute_of("5 of 10 blocks") is None


def test_the_batch_follows_from_the_splits_where_it_is_not_stated():
    # no gradient accumulation is mentioned: one micro-batch on each of 64 / (4 · 4) replicas
    bare = {**RUN, "global_batch": "", "dp": ""}
    found = predict(bare)
    assert found.assumed
    assert found.value == predict({**RUN, "global_batch": "4"}).value


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("NVIDIA T4", "t4-pcie-16gb"),
        ("A10G", "a10g-pcie-24gb"),
        ("NVIDIA L40", "l40-pcie-48gb"),
        ("V100-SXM2-16GB", "v100-sxm2-16gb"),
        ("Tesla V100-PCIE-16GB", "v100-pcie-16gb"),
        ("Intel Gaudi 3", "gaudi3-oam-128gb"),
    ],
)
def test_cards_by_their_names(words, slug):
    assert gpu_slug({"gpu_model": words}) == slug


def test_the_parameters_that_a_row_states_say_whether_its_mlp_is_gated():
    # Nemotron-4 340B has grouped queries and squared ReLU: two matrices, arXiv:2406.11704
    row = {
        "model_name": "a model of one's own",
        "layers": "96",
        "hidden": "18432",
        "ffn_hidden": "73728",
        "vocab": "256000",
        "heads": "96",
        "kv_heads": "8",
    }
    assert shape_of_row(row).gated
    assert not shape_of_row({**row, "params_b": "340"}).gated
    assert shape_of_row({**row, "params_b": "470"}).gated


def test_a_power_in_the_name_of_a_card_is_a_cap_on_it():
    whole, held = (machine({"gpu_model": f"H100-SXM5-80GB{x}"}).gpu for x in ("", "-500W"))
    assert held.flop_per_s["bf16"] < whole.flop_per_s["bf16"]
    assert machine({"gpu_model": "A100-SXM4-80GB (400W)"}).gpu is machine({"gpu_model": "A100"}).gpu


def test_a_layout_that_does_not_divide_is_no_question():
    with pytest.raises(CannotPredict, match="does not divide"):
        predict({**RUN, "tp": "3"})

"""Which software a row ran: a family and a date, however they are spelled."""

import pytest

from scoring.constants import SOFTWARE
from scoring.measured_runs import says
from scoring.measured_software import (
    counts_whole_attention,
    framework_of,
    software_of,
    software_of_row,
)

H100 = {"gpu_model": "NVIDIA H100-SXM5-80GB", "vocab": "128256"}


@pytest.mark.parametrize(
    ("framework", "kernels", "profile"),
    [
        ("NeMo NeMo24.05", "h100", "megatron-2024"),
        ("NeMo 24.05", "h100", "megatron-2024"),
        ("NVIDIA NeMo Framework Release 24.05", "h100", "megatron-2024"),
        ("nemo24.05.01.framework", "h100", "megatron-2024"),
        ("NeMo NeMo24.09", "h100", "megatron"),
        ("nvidia nemo 24.09", "h100", "megatron"),
        ("Megatron-Core", "h100", "megatron"),
        ("megatron-core", "h100", "megatron"),
        ("megatron-lm main", "h100", "megatron"),
        ("Megatron-LM 2021", "a100", "megatron-2021"),
        ("Megatron-LM 2022", "a100", "megatron-2022"),
        ("Megatron-LM 2019", "a100", "megatron-2021"),  # older than the first is the first
        ("NVIDIA NeMo Megatron Release 23.04", "h100", "megatron-2023"),
        ("Megatron-Bridge 26.04 NeMo Container", "gb200", "megatron"),
        ("Megatron-Bridge 26.08 NeMo Container", "gb200", "megatron-2026"),
        ("Megatron-Core 2026.08", "gb200", "megatron-2026"),
        ("NeMo 26.08", "gb200", "megatron-2026"),
        ("Megatron-Bridge 28.01", "gb200", "megatron-2026"),  # newer than the last is the last
        ("Megatron-Bridge 28.01", "h100", "megatron"),  # of those for its GPU
        ("Megatron-DeepSpeed 2022-02", "a100", "megatron-deepspeed"),
        ("PyTorch 2.5, FSDP2", "h100", "torchtitan"),
        ("llm-foundry/Composer FSDP", "a100", "llm-foundry"),
    ],
)
def test_a_name_and_a_date_make_a_generation(framework, kernels, profile):
    assert software_of(framework, kernels).profile == profile
    assert software_of(framework.upper(), kernels).profile == profile


@pytest.mark.parametrize(
    "framework", ["", "a framework of one's own", "MegaScale", "PyTorch 2.6.0"]
)
def test_an_unknown_framework_gets_the_generic_software_and_a_warning(framework):
    found = software_of(framework, "h100")
    assert found.profile == "other"
    assert "is not known" in found.warnings[0]
    assert "MLPerf" not in SOFTWARE["other"].title


def test_a_version_that_is_not_stated_is_the_usual_one_and_said():
    found = software_of("Megatron-Bridge v0.7", "gb200")
    assert found.profile == "megatron"
    assert "version" in found.warnings[0]
    assert software_of("InternEvo", "a100").warnings == ()  # there is but one


def test_neither_a_round_nor_a_model_decides():
    row = {**H100, "framework": "NeMo 24.07"}
    names = ("GPT-3", "Llama3.1-70B (MLPerf v3.0)", "BERT-ish 70B (MLPerf v5.1)", "DSV3")
    assert len({software_of_row({**row, "model_name": name}) for name in names}) == 1


def test_an_encoder_is_known_by_its_vocabulary_of_word_pieces():
    row = {"gpu_model": "NVIDIA H100", "framework": "NGC PyTorch 23.04", "model_name": "E"}
    assert software_of_row({**row, "vocab": "30528"}).profile == "encoder-hopper"
    assert software_of_row({**row, "vocab": "30528", "gpu_model": "L4"}).profile == "encoder"
    assert software_of_row({**row, "vocab": "32000"}).profile == "other"
    assert software_of_row({**row, "model_name": "BERT-large"}).profile == "encoder-hopper"


def test_chips_with_software_of_their_own_have_it_whatever_it_is_called():
    assert software_of("LLMBoost 1.2.0", "mi300x").profile == "rocm"


def test_months_and_years_but_no_versions_are_dates():
    assert framework_of("NeMo 24.09").date == pytest.approx(2024 + 8 / 12)
    assert framework_of("Megatron-LM 2022").date == pytest.approx(2022 + 11 / 12)
    assert framework_of("PyTorch 2.25.10, NeMo").date is None
    assert framework_of("NGC Pytorch 25.04, NVIDIA Nemo 25.09").date == pytest.approx(2025 + 8 / 12)


def test_how_flop_were_counted_follows_the_same_name_and_date():
    assert counts_whole_attention("NeMo NeMo24.07")
    assert counts_whole_attention("NeMo 24.07")
    assert not counts_whole_attention("NeMo 26.04")
    assert not counts_whole_attention("MosaicML")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Llama2-70B LoRA", True),
        ("SFT; QLoRA r=16", True),
        ("lora=true", True),
        ("no LoRA", False),
        ("without LoRA", False),
        ("not a LoRA", False),
        ("lora=none", False),
        ("Explora-8B", False),
        ("", False),
    ],
)
def test_a_word_counts_where_it_stands_alone_and_is_not_denied(text, named):
    assert says("q?lora", text) == named

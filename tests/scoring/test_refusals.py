"""Nonsense gets an error that names its field, or a reason; whichever door it comes through."""

import json
from dataclasses import replace

import pytest

from scoring.cli import main
from scoring.estimate import estimate, rank, search
from scoring.fields import FieldError
from scoring.hardware import Cluster, cluster, cluster_fields
from scoring.machines import CannotPredict
from scoring.measured_shapes import precision_of_row
from scoring.serving import balanced_pools, pareto
from scoring.workload import MODEL_PRECISIONS, Job, job

SMALL = {"model": "llama3-8b", "seq_len": 2048, "global_batch": 8}
DECODE = job("llama3-70b-decode")


def with_facts(**facts):
    """Eight H100 a node, otherwise told."""
    return Cluster.from_fields({**cluster_fields("dgx-h100-ndr"), **facts}, name="other")


# ------------------------------------------------------------------ precisions


@pytest.mark.parametrize("kind", ["train", "finetune_lora", "decode"])
@pytest.mark.parametrize("precision", ["tf32", "fp64", "fp32", "int8"])
def test_a_transformer_in_a_format_that_is_not_modelled_is_refused_by_name(kind, precision):
    with pytest.raises(FieldError) as caught:
        Job.from_fields({**SMALL, "kind": kind, "precision": precision})
    assert caught.value.field == "precision"
    assert all(name in str(caught.value) for name in MODEL_PRECISIONS)


def test_a_custom_code_may_run_in_any():
    assert Job.from_fields({"kind": "custom", "flop": 1e15, "precision": "fp64"})
    assert Job.from_fields({"kind": "custom", "flop": 1e15, "precision": "tf32"})


@pytest.mark.parametrize("kind", ["train", "decode"])
@pytest.mark.parametrize("precision", MODEL_PRECISIONS)
@pytest.mark.parametrize("slug", ["dgx-h100-ndr", "selene-a100", "dgx-b200-ndr", "l40s-pcie-8"])
def test_every_format_that_is_named_is_answered(kind, precision, slug):
    task = Job.from_fields({**SMALL, "kind": kind, "precision": precision})
    assert estimate(cluster(slug), task, 8).to_json()


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("bfloat16", "bf16"),
        ("amp_bf16", "bf16"),
        ("F16", "fp16"),
        ("e4m3", "fp8"),
        ("BF16", "bf16"),
    ],
)
def test_spellings_of_measured_rows(written, meant):
    assert precision_of_row({"precision": written}) == (meant, True)


@pytest.mark.parametrize("written", ["fp32", "tf32", "int8", "fp64"])
def test_a_row_in_another_format_is_a_reason_and_never_bf16(written):
    with pytest.raises(CannotPredict, match="precision"):
        precision_of_row({"precision": written})


# ------------------------------------------------------------------ how many GPUs


@pytest.mark.parametrize(
    ("facts", "gpus", "reason"),
    [
        ({"fabric": "none", "fabric_gbits_per_s": None}, 1000, "no fabric joins them"),
        ({"max_gpus_on_one_fabric": 8}, 1000, "at most 8 GPUs"),
    ],
)
def test_gpus_that_cannot_be_joined_are_refused_at_every_door(facts, gpus, reason):
    where = with_facts(**facts)
    assert reason in estimate(where, DECODE, gpus).reasons[0]
    assert reason in rank([where], DECODE, gpus)[0].reasons[0]
    assert search(where, DECODE, gpus) == []
    assert pareto(where, DECODE, gpus) == []
    assert balanced_pools(where, replace(DECODE, prompt_len=512, output_len=512), gpus) is None


@pytest.mark.parametrize("door", [estimate, search, pareto, balanced_pools])
@pytest.mark.parametrize("gpus", [12, 0, -8, 2_000_000])
def test_a_count_of_no_whole_nodes_is_refused_at_every_door(door, gpus):
    with pytest.raises(FieldError) as caught:
        door(cluster("dgx-h100-ndr"), DECODE, gpus)
    assert caught.value.field == "gpus"


def test_the_command_gives_the_reason_and_exit_1(tmp_path, capsys):
    file = tmp_path / "alone.json"
    fields = {**cluster_fields("dgx-h100-ndr"), "fabric": "none", "fabric_gbits_per_s": None}
    file.write_text(json.dumps(fields))
    asked = ["pareto", "--cluster", str(file), "--gpus", "1000", "--job", "llama3-70b-decode"]
    assert main([*asked, "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["points"] == []
    assert "no fabric joins them" in answer["reasons"][0]

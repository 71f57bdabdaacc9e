"""Nonsense gets an error that names its field, or a reason; whichever door it comes through."""

import json
from dataclasses import replace

import pytest

from scoring.cli import main
from scoring.estimate import estimate, rank, search
from scoring.fields import FieldError
from scoring.hardware import Cluster, cluster, cluster_fields
from scoring.layout import Layout, candidates, objection
from scoring.machines import CannotPredict
from scoring.measured import predict
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


# ------------------------------------------------------------------ splits


def asked(model, layout, gpus, **fields):
    """The estimate of a job on so many H100 with a layout in words."""
    given = {"model": model, "seq_len": 8192, "global_batch": 1024, **fields}
    task = Job.from_fields(given)
    return estimate(cluster("dgx-h100-ndr"), task, gpus, Layout.parse(layout, task, gpus))


@pytest.mark.parametrize(
    ("model", "gpus", "layout", "named"),
    [
        ("llama3-70b", 256, "tp=8,pp=4,dp=8,virtual_stages=7", "virtual_stages = 7"),
        ("llama3-70b", 256, "tp=8,pp=4,dp=8,virtual_stages=1000000", "virtual_stages = 1000000"),
        ("llama3-70b", 256, "tp=8,pp=1,dp=32,virtual_stages=6", "pp > 1"),
        ("llama3-8b", 56, "tp=8,cp=7", "cp = 7"),
        ("llama3-8b", 64, "tp=8,dp=8,micro_batch=3", "micro_batch = 24"),
        ("deepseek-v3", 256, "pp=32,dp=8,virtual_stages=4", "virtual_stages = 4"),
        ("llama3-8b", 64, "tp=8,tp=4", "layout.tp: is given twice"),
    ],
)
def test_a_split_that_does_not_divide_is_refused(model, gpus, layout, named):
    with pytest.raises(FieldError, match=named.replace("(", r"\(")):
        asked(model, layout, gpus)


@pytest.mark.parametrize(
    ("model", "gpus", "layout"),
    [
        ("llama3-70b", 256, "tp=8,pp=4,dp=8,virtual_stages=5"),  # 20 layers a stage
        ("llama3-405b", 512, "tp=8,pp=8,dp=8,virtual_stages=4"),  # 126 and the two ends
        ("deepseek-v3", 256, "pp=4,dp=64,ep=64,virtual_stages=4"),  # 61: laid out by hand
        ("llama3-8b", 64, "tp=8,cp=8"),
    ],
)
def test_a_split_that_divides_is_answered(model, gpus, layout):
    assert asked(model, layout, gpus).to_json()["job"]


@pytest.mark.parametrize("layout", ["tp=8,cp=2,dp=1", "tp=8,pp=2,dp=1,virtual_stages=2"])
def test_decoding_has_no_ring_and_no_chunks(layout):
    with pytest.raises(FieldError, match="decoding"):
        Layout.parse(layout, DECODE, 16)


def test_every_layout_that_the_search_costs_passes_the_same_rule():
    task = job("llama3-405b-pretrain")
    rows = candidates(task, 1024)
    assert len(rows) > 100
    assert not any(objection(rows.row(n), task) for n in range(0, len(rows), 7))


def test_a_name_that_stands_twice_in_a_file_is_refused(tmp_path, capsys):
    file = tmp_path / "job.json"
    file.write_text('{"model": "llama3-8b", "seq_len": 4096, "seq_len": 8192, "global_batch": 8}')
    asked_for = ["--cluster", "dgx-h100-ndr", "--gpus", "8", "--job", str(file)]
    assert main(["estimate", *asked_for]) == 2
    assert capsys.readouterr().err == "seq_len: is given twice.\n"


RUN = {
    "kind": "train",
    "model_name": "a 70B",
    "layers": "80",
    "hidden": "8192",
    "ffn_hidden": "28672",
    "heads": "64",
    "kv_heads": "8",
    "vocab": "128256",
    "seq_len": "8192",
    "micro_batch": "1",
    "global_batch": "128",
    "gpu_model": "H100-SXM-80GB",
    "num_gpus": "64",
    "gpus_per_node": "8",
    "precision": "bf16",
    "tp": "4",
    "pp": "4",
    "cp": "2",
    "vp": "5",
    "framework": "NeMo 24.09",
    "metric_name": "step_time_s",
    "metric_value": "14.7",
}


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("micro_batch", "3"),
        ("micro_batch", "100"),
        ("heads", "7"),
        ("vp", "3"),
        ("seq_len", "1e15"),
        ("seq_len", "0"),
        ("num_gpus", "1e9"),
        ("num_gpus", "0"),
        ("global_batch", "0"),
        ("cp", "7"),
    ],
)
def test_a_measured_row_of_nonsense_is_a_reason_and_never_a_number(column, value):
    assert predict(RUN).value > 0
    with pytest.raises((CannotPredict, FieldError)):
        predict({**RUN, column: value})


@pytest.mark.parametrize(("node", "asked"), [(72, 72), (8, 24), (16, 48), (8, 4)])
def test_a_count_on_which_it_would_fit_is_one_that_can_be_rented(node, asked):
    """Whole instances, or a part of one where a part is asked for."""
    many = with_facts(gpu_count=node, scale_up_domain_gpus=node)
    refused = estimate(many, Job.from_fields({**SMALL, "model": "llama3-70b"}), asked)
    near = refused.nearest_gpus
    assert not refused.fits
    assert bool(near) == (node != 72)  # a batch of 8 divides over no multiple of 9
    assert all(count % node == 0 or asked < node for count in near)

"""Nonsense through every door is a sentence that names the field, or a reason; never a number."""

import csv
import io
import json
import math
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scoring import Cluster, DoesNotFit, FieldError, Job, Layout, best, cluster, job
from scoring.cli import main
from scoring.cluster_facts import FABRIC_NAMES, SCALE_UPS
from scoring.estimate import estimate, rank, search
from scoring.hardware import cluster_fields, clusters
from scoring.layout import LAYOUT_FIELDS
from scoring.validation import validate
from scoring.workload import job_fields, jobs

BRIEF = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
ODD = (0, -1, 7, 0.5, 1e30, 10**30, -1e-9, math.nan, math.inf, -math.inf, True, None)
ODD_WORDS = ("", "nan", "-8", "1e999", "8 GPUs", "\0", "ｅ", "[]", "0x10", "a" * 600, [], {}, [8])
odd = st.sampled_from([*ODD, *ODD_WORDS]) | st.integers() | st.floats() | st.text(max_size=8)
plausible = st.sampled_from([1, 2, 3, 4, 7, 8, 16, 64, 400, "yes", "no", *SCALE_UPS, *FABRIC_NAMES])
CLUSTER_FIELDS = sorted(
    {*cluster_fields("dgx-h100-ndr"), "pcie_generation", "pcie_p2p", "oversubscription"}
    | {"max_gpus_on_one_fabric", "usd_per_hour", "scale_up_domain_guaranteed_gpus"}
)
JOB_FIELDS = sorted({*job_fields("llama3-70b-pretrain"), *job_fields("mixtral-8x7b-pretrain")})
JOB_FIELDS += ["layers", "hidden", "heads", "kv_heads", "vocab", "experts", "topk", "micro_batch"]


def sound(answer):
    """An answer whose every number is finite and in its range, or a reason."""
    if isinstance(answer, DoesNotFit):
        assert answer.reasons
        return
    assert 0 < answer.step_time_s < 1e15
    assert 0 < answer.low_s <= answer.step_time_s <= answer.high_s < math.inf
    assert 0 <= answer.exposed_share <= 1
    assert 0 < answer.fabric_efficiency <= 1
    assert 0 < answer.mfu <= 1
    json.dumps(answer.to_json(), allow_nan=False)


@BRIEF
@given(st.dictionaries(st.sampled_from(CLUSTER_FIELDS), odd | plausible, max_size=4))
def test_any_fields_of_a_cluster_are_refused_by_name_or_answered_soundly(changed):
    try:
        where = Cluster.from_fields({**cluster_fields("dgx-h100-ndr"), **changed})
        answer = best(where, job("llama3-8b-pretrain"), where.gpu_count * 2)
    except FieldError:
        return
    sound(answer)


@BRIEF
@given(st.dictionaries(st.sampled_from(JOB_FIELDS), odd | plausible, max_size=4))
def test_any_fields_of_a_job_are_refused_by_name_or_answered_soundly(changed):
    try:
        task = Job.from_fields({**job_fields("mixtral-8x7b-pretrain"), **changed})
        answer = best(cluster("dgx-h100-ndr"), task, 64)
    except FieldError:
        return
    sound(answer)


@BRIEF
@given(st.dictionaries(st.sampled_from((*LAYOUT_FIELDS, "recompute")), odd | plausible, max_size=4))
def test_any_layout_is_refused_by_name_or_answered_soundly(changed):
    task = job("mixtral-8x7b-pretrain")
    try:
        answer = estimate(cluster("dgx-h100-ndr"), task, 64, Layout.from_fields(changed, task, 64))
    except FieldError:
        return
    sound(answer)


@pytest.mark.parametrize(
    "gpus", [value for value in ODD if value is True or value != 7] + ["many", [8]]
)
@pytest.mark.parametrize("ask", [best, search, lambda c, j, n: rank([c], j, n)])
def test_a_count_that_is_none_is_refused(ask, gpus):
    with pytest.raises(FieldError, match="gpus"):
        ask(cluster("dgx-h100-ndr"), job("llama3-8b-pretrain"), gpus)


@pytest.mark.parametrize(
    "layout",
    [
        Layout(tp=-8.0, dp=-8.0),
        Layout(tp=8.0),  # 8 of 64 GPUs
        Layout(tp=7.0, dp=64.0 / 7),
        Layout(dp=64.0, micro_batch=0.0),
        Layout(dp=64.0, micro_batch=math.nan),
        Layout(dp=64.0, ep=3.0),
        Layout(dp=64.0, zero_stage=4.0),
        Layout(dp=64.0, recompute=9.0),
        Layout(pp=64.0),  # of 32 layers
    ],
)
def test_a_layout_built_by_hand_is_checked_too(layout):
    with pytest.raises(FieldError, match="layout"):
        estimate(cluster("dgx-h100-ndr"), job("llama3-8b-pretrain"), 64, layout)


@pytest.mark.parametrize("top", [0, -1, 1.5, math.nan, None, "ten"])
def test_how_many_layouts_is_a_whole_number(top):
    with pytest.raises(FieldError, match="top"):
        search(cluster("dgx-h100-ndr"), job("llama3-8b-pretrain"), 8, top)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpu_count", 0),
        ("gpu_count", -8),
        ("domain_gpus", 0),
        ("scale_up_bytes_per_s", -1.0),
        ("scale_up_bytes_per_s", math.nan),
        ("nic_bytes_per_s", math.inf),
        ("nic_bytes_per_s", -5e10),
        ("oversubscription", 0.0),
        ("fabric", "wet string"),
    ],
)
def test_a_what_if_is_checked_like_a_file(field, value):
    with pytest.raises(FieldError, match=field):
        replace(cluster("dgx-h100-ndr"), **{field: value})


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"scale_up_domain_gpus": 7}, "scale_up_domain_gpus"),
        ({"scale_up_domain_gpus": 3}, "scale_up_domain_gpus"),
        ({"scale_up_gbytes_per_s": 0}, "scale_up_gbytes_per_s"),
        ({"fabric_nics": 0, "fabric_gbits_per_s": 0}, "fabric_gbits_per_s"),
        ({"fabric_gbits_per_s_per_nic": 0, "fabric_gbits_per_s": None}, "fabric_gbits_per_s"),
    ],
)
def test_hardware_that_contradicts_itself_is_refused(changed, field):
    with pytest.raises(FieldError, match=f"^{field}: "):
        Cluster.from_fields({**cluster_fields("dgx-h100-ndr"), **changed})


def test_a_thousand_gpus_without_a_fabric_are_a_reason():
    alone = Cluster.from_fields(
        {**cluster_fields("dgx-h100-ndr"), "fabric": "none"}
        | dict.fromkeys(("fabric_nics", "fabric_gbits_per_s", "fabric_gbits_per_s_per_nic"))
    )
    answer = best(alone, job("llama3-8b-pretrain"), 1000)
    assert "no fabric joins them" in answer.reasons[0]
    assert search(alone, job("llama3-8b-pretrain"), 1000) == []


# ------------------------------------------------------------------ the command line

words = st.text(max_size=10) | st.sampled_from(["-1", "0", "nan", "1e30", "7", "8", "1000", "64"])


def run(*arguments):
    """Exit code, what was printed, what was complained of."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


@BRIEF
@given(
    st.sampled_from(["estimate", "search", "collective", "validate"]),
    st.sampled_from([*clusters(), "nowhere", ""]),
    st.sampled_from([*jobs(), "nothing", ""]),
    words,
    words,
)
def test_any_words_are_an_answer_or_one_sentence(command, where, task, count, size):
    arguments = {
        "estimate": ("--cluster", where, "--job", task, f"--gpus={count}", f"--layout={size}"),
        "search": ("--cluster", where, "--job", task, f"--nodes={count}", f"--top={size}"),
        "collective": ("all_reduce", "--cluster", where, f"--ranks={count}", f"--bytes={size}"),
        "validate": (size,),
    }[command]
    code, out, err = run(command, *arguments, "--json")
    if code == 2:
        assert out == ""
        assert err.count("\n") == 1
        assert ": " in err
    else:
        assert err == ""
        json.loads(out, parse_constant=pytest.fail)


COLUMNS = ("id", "kind", "model_name", "layers", "hidden", "heads", "seq_len", "micro_batch")
COLUMNS += ("global_batch", "gpu_model", "num_gpus", "gpus_per_node", "inter_link", "tp", "pp")
COLUMNS += ("inter_gbps_per_gpu", "dp", "cp", "ep", "vp", "precision", "framework", "extra")
COLUMNS += ("metric_name", "metric_value", "scale_up_domain_gpus", "activation_recompute")
TRAIN = dict.fromkeys(COLUMNS, "") | {
    "kind": "train",
    "layers": "32",
    "hidden": "4096",
    "heads": "32",
    "seq_len": "4096",
    "micro_batch": "1",
    "global_batch": "64",
    "gpu_model": "H100-SXM-80GB",
    "num_gpus": "64",
    "gpus_per_node": "8",
    "tp": "8",
    "pp": "1",
    "metric_name": "step_time_s",
    "metric_value": "2",
}
NCCL = dict.fromkeys(COLUMNS, "") | {
    "kind": "nccl",
    "model_name": "all_reduce",
    "gpu_model": "A100",
    "num_gpus": "8",
    "gpus_per_node": "8",
    "metric_name": "busbw_GB/s",
    "metric_value": "200",
    "extra": "bytes=1e9",
}


@BRIEF
@given(
    st.sampled_from([TRAIN, NCCL]),
    st.dictionaries(
        st.sampled_from(COLUMNS),
        words
        | st.sampled_from(
            [
                "-8",
                "0",
                "7",
                "1e30",
                "nan",
                "inf",
                "bytes=-1",
                "bytes=0",
                "bytes=1.2.3",
                "bytes=1e99G",
            ]
        ),
        max_size=3,
    ),
)
def test_any_row_is_predicted_or_skipped_with_a_reason(tmp_path_factory, row, changed):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerow({**row, **{key: value.replace("\0", "") for key, value in changed.items()}})
    try:
        report = validate(path)
    except FieldError:
        return
    for found in report["rows"]:
        assert 0 < found["predicted"] < 1e30
        assert math.isfinite(found["error"])
    assert all(skipped["reason"] for skipped in report["skipped"])

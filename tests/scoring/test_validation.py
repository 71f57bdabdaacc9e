"""Validation: errors as defined, rows that cannot be told counted, the measured rows at hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from scoring.cli import main
from scoring.validation import far_out, kendall_tau, source_weighted, summary, validate

COLUMNS = """id,source_repo_or_doc,kind,model_name,layers,hidden,ffn_hidden,heads,kv_heads,vocab,
seq_len,micro_batch,global_batch,gpu_model,num_gpus,gpus_per_node,inter_link,inter_gbps_per_gpu,
precision,tp,pp,dp,framework,activation_recompute,metric_name,metric_value,extra,colour"""
HEAD = COLUMNS.replace("\n", "")
STEP = (
    "{id},x,train,GPT,96,12288,49152,96,96,51200,2048,1,64,A100-SXM-80GB,64,8,8x200G IB,200,fp16,"
    "8,8,1,Megatron-LM 2022,full,{metric},{value},,green"
)
RING = (
    "{id},x,nccl,all_reduce,,,,,,,,,,H100-SXM-80GB,8,8,single node,,half,,,,NCCL,,busbw_GB/s,"
    "{value},bytes={bytes},"
)
MEASURED = Path(__file__).resolve().parents[3] / "shared" / "data" / "measured"


def written(tmp_path, *rows):
    """A CSV of the rows."""
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    return path


def test_the_error_is_of_the_time_and_for_a_rate_of_its_inverse(tmp_path):
    by_time = STEP.format(id="t", metric="step_time_s", value=18.13)
    by_rate = STEP.format(id="r", metric="samples/s", value=64 / 18.13)
    time, rate = validate(written(tmp_path, by_time, by_rate))["rows"]
    assert time["error"] == pytest.approx(math.log(time["predicted"] / 18.13))
    assert rate["error"] == pytest.approx(time["error"])


def test_a_prediction_does_not_read_the_result(tmp_path):
    rows = [STEP.format(id=i, metric="step_time_s", value=v) for i, v in (("a", 1), ("b", 100))]
    first, second = validate(written(tmp_path, *rows))["rows"]
    assert first["predicted"] == second["predicted"]


def test_a_rate_in_flop_follows_how_its_source_counted(tmp_path):
    row = STEP.format(id="{id}", metric="TFLOP/s/GPU", value=100)
    masked = row.format(id="m").replace("Megatron-LM 2022", "NeMo 26.04")
    whole = row.format(id="w").replace("Megatron-LM 2022", "NeMo NeMo24.07")
    report = validate(written(tmp_path, masked, whole, row.format(id="x")))
    by_id = {r["id"]: r["predicted"] for r in report["rows"]}
    # 12 s against 6 s of 72 h a layer and token, s = 2,048 and h = 12,288: 1.4 % more for the same
    # work, beside what the two generations differ in time.
    assert 1.0 < by_id["w"] / by_id["m"] < 1.1


def test_collectives_are_predicted(tmp_path):
    (row,) = validate(written(tmp_path, RING.format(id="n", value=480, bytes=17179869184)))["rows"]
    assert row["predicted"] == pytest.approx(480, rel=0.05)


def test_what_cannot_be_predicted_is_counted_with_its_reason_and_line(tmp_path):
    report = validate(
        written(
            tmp_path,
            STEP.format(id="a", metric="time_to_train_min", value=10),
            STEP.format(id="b", metric="step_time_s", value="soon"),
            STEP.format(id="c", metric="step_time_s", value=""),
            STEP.format(id="d", metric="step_time_s", value=18.13).replace("12288", "wide"),
            STEP.format(id="e", metric="step_time_s", value=18.13).replace("A100-SXM-80GB", "TPU"),
            "f,short",
        )
    )
    assert [s["id"] for s in report["skipped"]] == list("abcdef")
    assert [s["line"] for s in report["skipped"]] == [2, 3, 4, 5, 6, 7]
    assert "hidden" in report["skipped"][3]["reason"]
    assert report["summary"]["n"] == 0


def test_json_of_the_command(tmp_path, capsys):
    path = written(tmp_path, STEP.format(id="t", metric="step_time_s", value=18.13))
    assert main(["validate", str(path), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report) >= {"summary", "groups", "rows", "skipped"}
    assert set(report["summary"]) >= {
        *("n", "median_abs_error", "p90_abs_error", "worst", "bias", "kendall_tau")
    }
    assert {"id", "metric_name", "measured", "predicted", "error"} <= set(report["rows"][0])


def test_a_file_without_the_columns_is_refused(tmp_path, capsys):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert main(["validate", str(path)]) == 2
    assert capsys.readouterr().err.startswith("other.csv: has no column metric_name")


def test_kendall_tau():
    up = np.arange(10.0)
    assert kendall_tau(up, up) == 1.0
    assert kendall_tau(up, -up) == -1.0
    assert kendall_tau(up[:1], up[:1]) is None


def test_the_summary_by_hand():
    rows = [
        {"id": str(m), "error": e, "measured": m, "predicted": m}
        for e, m in ((-0.3, 1), (0.1, 2), (0.2, 3))
    ]
    found = summary(rows)
    assert found["median_abs_error"] == pytest.approx(0.2)
    assert found["worst"] == -0.3
    assert found["bias"] == pytest.approx(0.1)


def test_a_configuration_that_was_published_twice_counts_once(tmp_path):
    rows = [
        STEP.format(id="a", metric="step_time_s", value=18.0),
        STEP.format(id="b", metric="step_time_s", value=22.0).replace("b,x,", "b,elsewhere,"),
        STEP.format(id="c", metric="step_time_s", value=18.0).replace(",1,64,", ",1,128,"),
    ]
    report = validate(written(tmp_path, *rows))
    a, b, c = (row["error"] for row in report["rows"])
    assert (report["summary"]["n"], report["summary"]["rows"]) == (2, 3)
    assert report["summary"]["bias"] == pytest.approx((c + (a + b) / 2) / 2)
    by_source = {g["group"]: g["n"] for g in report["groups"] if g["by"] == "source"}
    assert by_source == {"x": 2, "elsewhere": 1}


def test_every_source_weighs_the_same_in_the_weighted_summary():
    many = [{"source": "many", "error": 0.1}] * 99
    found = source_weighted([*many, {"source": "one", "error": 0.5}])
    assert found["sources"] == 2
    assert found["median_abs_error"] == pytest.approx(0.1, abs=0.01)
    assert found["p90_abs_error"] == pytest.approx(0.5)


def test_outliers_are_listed_before_the_worst_is_named():
    rows = [
        {"id": str(n), "kind": "train", "error": e, "measured": n, "predicted": n}
        for n, e in enumerate([0.01 * k for k in range(-10, 11)] + [3.0])
    ]
    (outlier,) = far_out(rows)
    assert outlier["error"] == 3.0
    assert summary(rows, [outlier])["worst"] == pytest.approx(-0.1)
    assert summary([outlier], [outlier])["worst"] == 3.0


def test_coverage_is_of_the_rows_that_state_enough(tmp_path):
    good = STEP.format(id="a", metric="step_time_s", value=18.0)
    report = validate(
        written(
            tmp_path,
            good,
            STEP.format(id="t", metric="time_to_train_min", value=10),
            good.replace("A100-SXM-80GB", "TPU").replace("a,x", "u,x"),
            good.replace(",96,96,", ",97,97,").replace("a,x", "h,x"),
        )
    )
    assert [each["must"] for each in report["skipped"]] == [False, False, True]
    assert report["summary"]["coverage"] == pytest.approx(1 / 2)


def test_a_byte_order_mark_costs_no_column(tmp_path):
    path = written(tmp_path, STEP.format(id="a", metric="step_time_s", value=18.0))
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert [row["id"] for row in validate(path)["rows"]] == ["a"]


@pytest.mark.skipif(not MEASURED.is_dir(), reason="the measured rows are not at hand")
@pytest.mark.parametrize(
    ("name", "by", "group", "median", "p90"),
    [
        ("train.csv", "assumed", "False", 0.05, 0.13),
        ("train.csv", "framework", "Megatron-LM 2021", 0.035, 0.08),
        ("train.csv", "framework", "Megatron-LM 2022", 0.03, 0.05),
        ("nccl.csv", "kind", "nccl all_reduce", 0.10, 0.30),
        ("nccl.csv", "kind", "nccl all_gather", 0.10, 0.30),
    ],
)
def test_measured_rows_are_met(reports, name, by, group, median, p90):
    found = next(g for g in reports[name]["groups"] if (g["by"], g["group"]) == (by, group))
    assert found["median_abs_error"] < median
    assert found["p90_abs_error"] < p90


@pytest.mark.skipif(not MEASURED.is_dir(), reason="the measured rows are not at hand")
def test_what_a_fixed_batch_loses_from_768_to_10000_gpus_is_met():
    def alike(row):
        return row["num_gpus"], row["model"], row["framework"]

    rows = [
        r for r in validate(MEASURED / "train.csv")["rows"] if "175B (MLPerf v3.1)" in r["model"]
    ]
    first, *more = sorted((r for r in rows if r["framework"].startswith("NVIDIA NeMo")), key=alike)
    assert (first["num_gpus"], more[-1]["num_gpus"]) == (768, 10752)
    for row in more:
        # Both in log, and of each GPU: how much of the efficiency the model misses.
        assert abs(math.expm1(row["error"] - first["error"])) < 0.03


@pytest.fixture(scope="module")
def reports():
    """The whole reports, once."""
    return {name: validate(MEASURED / name) for name in ("train.csv", "nccl.csv")}


def test_collectives_across_the_fabric_are_counted_apart(tmp_path):
    path = tmp_path / "rows.csv"
    said = (
        "kind,model_name,gpu_model,num_gpus,gpus_per_node,inter_link,metric_name,metric_value,extra"
    )
    path.write_text(
        f"{said}\n"
        "nccl,all_reduce,H100,8,8,,busbw_GB/s,470,bytes=8589934592\n"
        "nccl,all_reduce,H100,16,8,InfiniBand NDR,busbw_GB/s,465,bytes=8589934592\n",
        encoding="utf-8",
    )
    spans = {g["group"]: g["n"] for g in validate(path)["groups"] if g["by"] == "span"}
    assert spans == {"inside a domain or node, on a curve": 1, "across the fabric, by formula": 1}

"""Rows of measured collectives: what their words say, and what cannot be predicted."""

import csv

import pytest

from scoring.machines import CannotPredict, gpu_slug, machine
from scoring.measured import predict
from scoring.measured_collectives import metric_of, question
from scoring.validation import validate


def row(**said):
    """A row of measured collectives."""
    usual = {"kind": "nccl", "model_name": "all_reduce", "metric_name": "busbw_GB/s"}
    return {**usual, "num_gpus": "4", "gpus_per_node": "4", "extra": "bytes=536870912", **said}


def test_what_joins_the_gpus_of_a_row_is_read_from_its_words():
    cards = {"gpu_model": "A100-PCIE-80GB", "intra_link": "PCIe4 x16, no NVLink, P2P"}
    plain = machine(row(**cards))
    bridged = machine(row(**{**cards, "intra_link": "NVLink bridge NV12 + PCIe4"}))
    bounced = machine(row(**{**cards, "intra_link": "PCIe4 x16, no P2P"}))
    assert (plain.domain_gpus, bridged.domain_gpus) == (1, 2)
    assert plain.pcie.share_exponent < bounced.pcie.share_exponent


def test_a_fabric_that_a_row_does_not_name_is_not_guessed():
    alone = row(gpu_model="H100-SXM-80GB", num_gpus="16", gpus_per_node="8")
    for link in ("", "inter-node link not stated (measured)"):
        with pytest.raises(CannotPredict, match="fabric between nodes not stated"):
            predict({**alone, "inter_link": link})
    assert predict({**alone, "inter_link": "8x400G NDR IB"}).value > 100


@pytest.mark.parametrize(
    ("words", "fabric"),
    [
        ("8x400G InfiniBand NDR", "infiniband"),
        ("Ethernet, Infiniband", "infiniband"),
        ("8x ConnectX-7 400Gb/s", "infiniband"),
        ("4x200G per node", "infiniband"),  # nothing but a rate: the reference design
        ("100G Ethernet, no RDMA", "ethernet"),
        ("Ethernet without RDMA", "ethernet"),
        ("TCP sockets", "ethernet"),
        ("gVNIC", "ethernet"),
        ("100GbE", "ethernet"),
        ("ConnectX-6 Dx Ethernet (TCP)", "ethernet"),
        ("Ethernet(RoCEv2)", "roce"),
        ("ConnectX-6 Dx 100G", "roce"),
        ("Slingshot-11", "slingshot"),
        ("eRDMA", "erdma"),
        ("OmniPath", "omni_path"),
        ("Omni-Path 100", "omni_path"),
        ("EFAv2", "efa"),
        ("GPUDirect-TCPX", "gpudirect_tcpx"),
        ("GPUDirect-TCPXO", "gpudirect_tcpxo"),
    ],
)
def test_what_joins_the_nodes_is_read_from_its_words(words, fabric):
    asked = row(gpu_model="H100", num_gpus="16", gpus_per_node="8", inter_gbps_per_gpu="400")
    assert machine({**asked, "inter_link": words}).fabric == fabric


@pytest.mark.parametrize(
    ("words", "why"), [("none", "no fabric"), ("carrier pigeon", "not known to the model")]
)
def test_a_fabric_that_the_model_does_not_know_is_a_reason_where_it_is_crossed(words, why):
    two = row(gpu_model="H100", num_gpus="16", gpus_per_node="8", inter_link=words)
    with pytest.raises(CannotPredict, match=why):
        machine(two)
    assert machine({**two, "num_gpus": "8"}).fabric == "none"


@pytest.mark.parametrize("words", ["SHARP off", "SHARP disabled", "no SHARP", "without SHARP"])
def test_sharp_that_is_off_is_off(words):
    two = row(gpu_model="H100", num_gpus="16", gpus_per_node="8")
    assert not machine({**two, "inter_link": f"InfiniBand NDR, {words}"}).sharp
    assert machine({**two, "inter_link": "InfiniBand NDR + SHARP"}).sharp


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("A100-40G", "a100-sxm4-40gb"),
        ("A100 40 GB", "a100-sxm4-40gb"),
        ("A100-PCIE-40G", "a100-pcie-40gb"),
        ("A100-SXM4-80GB (400W)", "a100-sxm4-80gb"),
        ("GH200 144GB", "gh200-superchip-144gb"),
        ("GH200-480GB", "gh200-superchip-96gb"),  # 480 GB are its host's
        ("H100 94GB", "h100-nvl-94gb"),
        ("RTX-PRO-6000", "rtxpro6000-pcie-96gb"),
        ("NVIDIA A100 - PCIe - 80 GB", "a100-pcie-80gb"),
    ],
)
def test_a_gpu_is_known_however_its_memory_is_written(words, slug):
    assert gpu_slug({"gpu_model": words}) == slug


@pytest.mark.parametrize(
    ("metric", "unit"),
    [
        ("busbw GB/s", 1e9),
        ("busbw_GBps", 1e9),
        ("bus_bandwidth_GB/s", 1e9),
        ("busbw_Gb/s", 1e9 / 8),
        ("time_ms", 1e-3),
        ("latency_us", 1e-6),
    ],
)
def test_a_metric_of_a_collective_is_known_however_it_is_spelled(metric, unit):
    assert metric_of(metric).unit == pytest.approx(unit)
    with pytest.raises(CannotPredict, match="not modelled"):
        metric_of("pps_Mpps")


@pytest.mark.parametrize(
    "extra", ["bytes=1,073,741,824", "size=1073741824", "message_bytes=1GiB", "bytes=1.0737e9"]
)
def test_a_size_is_read_however_it_is_written(extra):
    asked = row(gpu_model="H100-SXM-80GB", num_gpus="8", gpus_per_node="8", extra=extra)
    assert question(asked).size == pytest.approx(2**30, rel=1e-3)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"extra": "bytes=0"}, "less than one byte"),
        ({"extra": "bytes=0.5"}, "less than one byte"),
        ({"extra": "bytes=1e99G"}, "more than 1e"),
        ({"num_gpus": "1"}, "one GPU"),
    ],
)
def test_a_collective_of_nothing_is_refused(changed, why):
    with pytest.raises(CannotPredict, match=why):
        predict(row(gpu_model="H100", **{"num_gpus": "8", "gpus_per_node": "8", **changed}))


def test_a_ring_that_the_tester_chose_is_a_ring():
    h200 = row(gpu_model="H200", num_gpus="8", gpus_per_node="8", extra="bytes=8589934592")
    free, forced = predict(h200), predict({**h200, "extra": h200["extra"] + "; NVLS_ENABLE=0"})
    assert free.value == pytest.approx(473, rel=0.03)  # stas00 network/README
    assert forced.value == pytest.approx(366, rel=0.04)
    assert free.curve
    assert not forced.curve


def test_a_launch_by_the_host_is_the_floor_of_short_calls():
    short = {"model_name": "custom_all_reduce", "metric_name": "latency_us", "num_gpus": "8"}
    asked = row(**short, gpus_per_node="8", gpu_model="H100-SXM-80GB", extra="bytes=16384")
    graph = predict({**asked, "framework": "vLLM_custom_graph"}).value
    eager = predict({**asked, "framework": "vLLM_custom_eager"}).value
    assert graph == pytest.approx(5.2, rel=0.15)  # us; aiconfigurator@095f58a51
    assert eager == pytest.approx(21, rel=0.1)


def test_rows_tell_whether_a_curve_drew_them(tmp_path):
    rows = [
        row(gpu_model="A100-SXM-80GB", metric_value="200"),
        row(gpu_model="MI300X", metric_value="150"),
    ]
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, rows[1].keys())
        table.writeheader()
        table.writerows(rows)
    report = validate(path)
    groups = {g["group"]: g["n"] for g in report["groups"] if g["by"] == "curve"}
    assert groups == {"True": 1, "False": 1}


@pytest.mark.parametrize(
    "name", ["all_reduce", "AllReduce", "all-reduce", "allreduce (tree)", "all_reduce_perf"]
)
def test_a_collective_is_known_however_it_is_spelled(name):
    usual = row(gpu_model="H100-SXM-80GB", num_gpus="8", gpus_per_node="8")
    assert predict({**usual, "model_name": name}).kind == "nccl all_reduce"


def test_bus_and_algorithm_bandwidth_and_time_say_the_same():
    asked = row(gpu_model="H100-SXM-80GB", num_gpus="8", gpus_per_node="8", extra="bytes=1e9")
    bus, algorithm, time = (
        predict({**asked, "metric_name": metric}).value
        for metric in ("busbw_GB/s", "algbw_GB/s", "time_us")
    )
    assert bus == pytest.approx(1.75 * algorithm)
    assert algorithm == pytest.approx(1e9 / (time * 1e-6) / 1e9)


@pytest.mark.parametrize(
    ("link", "gbits", "gpu", "kind", "ranks", "points"),
    [
        # scoring/between_nodes.csv; size in MiB → time in us
        ("InfiniBand NDR", 400, "H100", "all_reduce", 16, {1: 93, 8: 152, 64: 477, 1024: 4497}),
        ("InfiniBand NDR", 400, "H100", "all_reduce", 32, {8: 217, 64: 579, 1024: 5809}),
        ("RoCE", 400, "H200", "all_reduce", 16, {1: 77, 8: 150, 64: 461, 1024: 4389}),
        ("RoCE", 400, "B200", "all_gather", 16, {1: 80, 8: 94, 64: 295, 1024: 3106}),
        ("InfiniBand HDR", 200, "A100", "all_reduce", 16, {2: 124, 8: 199, 512: 5760}),
        ("GPUDirect-TCPXO", 200, "H100", "all_gather", 16, {8: 332, 64: 656, 1024: 5533}),
    ],
)
def test_the_middle_of_a_curve_between_nodes_is_met(link, gbits, gpu, kind, ranks, points):
    said = {"gpu_model": gpu, "num_gpus": str(ranks), "gpus_per_node": "8", "model_name": kind}
    said |= {"inter_link": link, "inter_gbps_per_gpu": str(gbits), "metric_name": "time_us"}
    for mib, us in points.items():
        found = predict({**row(**said), "extra": f"bytes={mib * 2**20}"})
        assert found.value == pytest.approx(us, rel=0.2), mib

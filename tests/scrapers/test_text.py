"""A pasted listing: each kind of wording, on values of our own; then the traps at hand."""

import json
import time

import pytest
from recorded import shared

from catalog.records import OFFER_KEYS
from scrapers.listing import Unreadable
from scrapers.text import read_text


def one(text: str, slug: str = "somecloud") -> dict[str, object]:
    (line,) = read_text(slug, text)
    return line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # links × rate, the front end apart
        (
            "n1.metal | 1 x 50 Gbps<br>4 x 2 x 100 Gbps RDMA",
            {"fabric_nics": 8, "fabric_gbits_per_s": 800, "frontend_gbits_per_s": 50},
        ),
        ("n1.metal | 8 × 400 Gbps RDMA", {"fabric_nics": 8, "fabric_gbits_per_s": 3200}),
        # megabits under a label or alone, beside EFA interfaces
        (
            "x9.48xlarge | instance-network-bandwidth: 1600000 | vpc.amazonaws.com/efa: 8",
            {"fabric": "efa", "fabric_nics": 8, "fabric_gbits_per_s": 1600,
             "fabric_gbits_per_s_per_nic": 200},
        ),
        ("x9.48xlarge | NetworkCards: 9 | efa: 8 | 800000", {"fabric_nics": 8}),
        # a promise, and an "up to"
        ("x9.large | Up to 25 Gigabit", {"fabric_gbits_per_s": None, "frontend_gbits_per_s": None}),
        # columns with the unit in their heading, once with a slip
        ("n2.gpu | Max Bandwidth (Mbps) 80000", {"frontend_gbits_per_s": 80}),
        ("n2.gpu | Max Front-end Bandwidth (Mbps) 200", {"frontend_gbits_per_s": 200}),
        ("n2.gpu | Max Scale-Out Bandwidth (Gbps) 4x400", {"fabric_gbits_per_s": 1600}),
        # the technology by name, and its absence
        ("node-x | 8x H100 SXM | 8 x 400 Gb/s NDR InfiniBand",
         {"fabric": "infiniband", "fabric_generation": "NDR", "fabric_gbits_per_s": 3200}),
        ("node-x | InfiniBand: Not Supported", {"fabric": "ethernet", "gpudirect_rdma": "no"}),
        ("node-x | NCCL_IB_HCA=mlx5_0 NCCL_IB_GID_INDEX=3", {"fabric": "roce"}),
        ("node-x | Spectrum-X RoCE", {"fabric": "roce"}),
        ("node-x | 8x H100 SXM5", {"fabric": None}),
        # bytes written for bits
        ("node-x | 200 GB/s HDR InfiniBand", {"fabric_gbits_per_s_per_nic": 200}),
        ("node-x: 1.6 TB/s per VM, 200 GB/s HDR InfiniBand",
         {"fabric_gbits_per_s": 1600, "fabric_nics": 8}),
        # totals, and what is left open
        ("node-x | 8x H100 SXM | 3.2 Tbps InfiniBand", {"fabric_gbits_per_s": 3200}),
        ("x9.48xlarge | EfaSupported: true | 3200 Gigabit",
         {"fabric": "efa", "fabric_gbits_per_s": 3200}),
        ("x9.48xlarge | EfaSupported: false | 50 Gigabit",
         {"fabric": None, "frontend_gbits_per_s": 50}),
        ("node-x | 8x 400 Gbps", {"fabric_gbits_per_s": None, "frontend_gbits_per_s": None}),
        # yes and no
        ("node-x | GPUDirect RDMA: Supported | SHARP: no",
         {"gpudirect_rdma": "yes", "sharp": "no", "fabric": None}),
        ("node-x | Cluster network capable: No", {"multi_node": "no"}),
        ("4x GB200 NVL72", {"scale_up_domain_gpus": 72, "gpu_count": 4, "scale_up": "nvswitch"}),
        # GPUs: driver's names, counts before and after, shares, totals
        ("NVIDIA H100 80GB HBM3", {"gpu": "h100-sxm5-80gb", "form_factor": "sxm5"}),
        ("n3-L40Sx4 | flavor", {"gpu": "l40s-pcie-48gb", "gpu_count": 4}),
        ("L40S-4-48G", {"gpu": "l40s-pcie-48gb", "gpu_count": 4}),
        ("gx9-160x1792x8a100p | flavor", {"gpu_count": 8, "form_factor": None, "gpu": None}),
        ("Box | 2x A100 (80 GB SXM4)", {"gpu": "a100-sxm4-80gb", "gpu_count": 2}),
        ("Box | H100", {"gpu": None}),
        ("Slice | A10 | Accelerators 1/6 | Accelerator-Memory (GB) 4",
         {"gpu": "a10-pcie-24gb", "gpu_count": 0.1667, "gpu_memory_gb": 4}),
        ("Slice | NVIDIA L4 | instance-gpu-count: 0 | instance-gpu-memory: 2861",
         {"gpu_count": 0.125, "gpu_memory_gb": 3}),
        ("Box | B200 | instance-gpu-memory: 183359", {"gpu_memory_gb": 180}),
        ("Box | MI325X | Accelerators 8 | GPU Memory (GB) 2048", {"gpu_memory_gb": 256}),
        # links inside: both ways halved, cards bridged, a 0 that says nothing, a NO
        ("NVIDIA H800", {"scale_up_gbytes_per_s": 200}),
        ("Box | 8x A100 SXM4 80GB | NVLink 600 GB/s", {"scale_up_gbytes_per_s": 300}),
        ("Box | 8x A100 SXM4 80GB | NVLink 300 GB/s", {"scale_up_gbytes_per_s": 300}),
        ("NVLink 4 ... 900 GB/s per GPU", {"scale_up_gbytes_per_s": 450}),
        ("Box | 2x MI300X | 896 GB/s", {"scale_up": "infinity_fabric_mesh",
                                        "scale_up_gbytes_per_s": 64, "nvlink_domain_gpus": 1}),
        ("Box | 4x A100 PCIe 80GB | NVLink",
         {"scale_up": "nvlink_bridge", "nvlink_domain_gpus": 2}),
        ("Box | 4x A100 PCIe 80GB | NVLink: No", {"scale_up": "pcie", "nvlink_domain_gpus": 1}),
        ("Box (V100) | NVLink Ring @ 300 GBps",
         {"scale_up": "nvlink_mesh", "nvlink_generation": 2, "scale_up_gbytes_per_s": 150}),
        ('"gpu_name": "H100 SXM", "num_gpus": 8, "bw_nvlink": 0',
         {"gpu": "h100-sxm5-80gb", "scale_up": None, "scale_up_gbytes_per_s": None}),
        # ports on the package are no NICs
        ("Box | 8 gaudi3 | Internal AI Fabric: 21 x 200 GbE",
         {"fabric_gbits_per_s": None, "frontend_gbits_per_s": None}),
        ("preset: 1gpu-16vcpu-200gb | H200 SXM", {"gpu_count": 1, "nvlink_domain_gpus": 1}),
        ("Box | 8x H100 SXM | $19.92/h", {"usd_per_hour": "19.92", "usd_per_gpu_hour": "2.49"}),
    ],
)  # fmt: skip
def test_kinds_of_wording(text, said):
    line = one(text)
    assert {name: line[name] for name in said} == said


def test_a_line_has_every_key_and_says_why():
    line = one("node-x | 8x H100 SXM5 | 8 x 400 Gb/s NDR InfiniBand")
    assert set(line) == {"kind", "why", *OFFER_KEYS}
    assert any("links × rate" in why for why in line["why"])
    assert json.loads(json.dumps(line)) == line


def test_the_instance_type_decides_over_a_wrong_text():
    line = one("p4d.24xlarge | H100:8:80GB", "aws")
    assert (line["gpu"], line["gpu_candidates"], line["gpu_count"]) == ("a100-sxm4-40gb", [], 8)


def test_a_size_of_a_known_family_that_no_one_has_listed():
    line = one("Standard_ND96isrf_new_H200_v5", "azure")
    assert (line["gpu"], line["gpu_count"], line["fabric"]) == (
        "h200-sxm5-141gb",
        8,
        "infiniband",
    )


def test_two_types_in_one_text_are_two_lines():
    lines = list(read_text("scaleway", "H100-2-80G | 2x H100 PCIe ; H100-SXM-2-80G | 2x H100-SXM"))
    assert [line["instance_type"] for line in lines] == ["H100-2-80G", "H100-SXM-2-80G"]


def test_bytes_for_bits_are_warned_of():
    assert "bytes written for bits" in one("x | 200 GB/s HDR InfiniBand")["warnings"][0]


@pytest.mark.parametrize("text", ["", "  ", "x" * 30_000])
def test_no_text_and_too_long_a_one_are_refused(text):
    with pytest.raises(Unreadable):
        list(read_text("aws", text))


@pytest.mark.parametrize("slug", ["", "../x", "a b", "x" * 60])
def test_a_slug_that_is_none_is_refused(slug):
    with pytest.raises(Unreadable):
        list(read_text(slug, "x"))


@pytest.mark.parametrize(
    "junk", ["1", " ", "(", "8 x ", "1x1x", "H100 ", "NVLink", '"gpu_name": "']
)
def test_long_texts_cost_no_more_than_their_length(junk):
    list(read_text("aws", "warm"))
    started = time.perf_counter()
    list(read_text("aws", (junk * 20_000)[:19_000] + "z"))
    assert time.perf_counter() - started < 0.5


NUMBERS = {
    "nic_count": "fabric_nics",
    "fabric_total_gbps": "fabric_gbits_per_s",
    "frontend_gbps": "frontend_gbits_per_s",
    "gpudirect_rdma": "gpudirect_rdma",
}


def test_traps_at_hand():
    """Those whose answer is a number or a word; the bundled facts of known types help."""
    wrong = []
    for line in shared("data/cases/traps.jsonl").read_text(encoding="utf-8").splitlines():
        trap = json.loads(line)
        slug = trap["provider"].lower().split()[0].removesuffix(".ai").removesuffix("cloud")
        read = next(iter(read_text(slug.replace("any", "anyone"), trap["raw"])))
        for name, key in NUMBERS.items():
            expected = trap["expected"].get(name)
            if expected is not None and read[key] != expected:
                wrong.append((trap["id"], key, expected, read[key]))
    assert wrong == []

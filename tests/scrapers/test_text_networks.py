"""A pasted listing's networks: links x rate, whose rate it is, what a no or an option leaves."""

from decimal import Decimal

import pytest
from text_lines import one, read

from scrapers.quantities import bandwidths, fold


def fabric(kind=None, nics=None, each=None, total=None, front=None):
    return {
        "fabric": kind,
        "fabric_nics": nics,
        "fabric_gbits_per_s_per_nic": each,
        "fabric_gbits_per_s": total,
        "frontend_gbits_per_s": front,
    }


NDR8 = fabric("infiniband", 8, 400, 3200)


@pytest.mark.parametrize(
    "words",
    [
        "8x 400 Gbps InfiniBand", "InfiniBand 8 × 400Gb/s", "8*400G InfiniBand",
        "8 by 400 Gbit/s InfiniBand", "2x(4x400G) IB", "InfiniBand 400G x 8",
        "eight ConnectX-7 400 Gb/s InfiniBand NICs", "8x ConnectX-7 NDR",
        "8 ConnectX-7 InfiniBand NICs (400 Gb/s each)", "NDR InfiniBand x8",
        "8 NICs, 400 Gb/s each, InfiniBand",
        "InfiniBand 3.2 Tbps (8x400 Gbps)",
        "8x 400 Gb/s InfiniBand (3.2 Tb/s total)", "InfiniBand: 400Gbps×8",
        "8x 400,000 Mbps InfiniBand", "400G InfiniBand x 8", "400G InfiniBand x 8 (3.2 Tbps total)",
        "400 Gb/s NDR InfiniBand NICs (x8)", "8x CX7 400 Gb/s InfiniBand",
        "400 Gigabit x 8, InfiniBand",
    ],
)  # fmt: skip
def test_a_product_is_multiplied_however_it_is_written(words):
    assert read(f"8x H100 SXM | {words}", NDR8) == NDR8


@pytest.mark.parametrize(
    "words",
    [
        "3.2 Tb/s InfiniBand", "3,200 Gbps InfiniBand", "3.200 Gbit/s InfiniBand",
        "3,2 Tbit/s InfiniBand", "3200000 Mbps InfiniBand", "InfiniBand, 3200 Gbps per node",
        "400 Gb/s per GPU InfiniBand", "InfiniBand 400 Gb/s/GPU", "50 GB/s per GPU InfiniBand",
        "400 GB/s InfiniBand per node", "InfiniBand (Gb/s) 3200", "3,2 Тбит/с InfiniBand",
    ],
)  # fmt: skip
def test_a_total_however_it_is_written(words):
    total = fabric("infiniband", total=3200)
    assert read(f"8x H100 SXM | {words}", total) == total


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # the front end apart, whatever stands first
        ("n1.metal | 1 x 50 Gbps<br>4 x 2 x 100 Gbps RDMA", fabric(None, 8, 100, 800, 50)),
        ("8x H100 SXM | 2x 100 GbE front-end, 8x 400 Gb/s NDR InfiniBand",
         NDR8 | {"frontend_gbits_per_s": 200}),
        ("8x H100 SXM, 3.2Tbps InfiniBand, 100Gbps Ethernet",
         fabric("infiniband", total=3200, front=100)),
        ("8x H100 SXM | 8x400G IB + 2x100G Ethernet", NDR8 | {"frontend_gbits_per_s": 200}),
        ("8x H100 SXM | 8x 400 Gb/s InfiniBand; 2x 200 Gb/s storage network", NDR8),
        ("8x H100 SXM | NVMe 6.4 GB/s read | 25 Gbps", fabric(front=25)),
        ("Box | 8 gaudi3 | Internal AI Fabric: 21 x 200 GbE", fabric()),
        # RoCE is Ethernet, InfiniBand is not
        ("8x H200 SXM | Spectrum-X Ethernet RoCEv2, 8x400GbE", fabric("roce", 8, 400, 3200)),
        ("8x H200 SXM | InfiniBand, 25GbE", fabric("infiniband", front=25)),
        ("8x H100 SXM | 100 Gbps Ethernet (no RDMA)", fabric("ethernet", total=100, front=100)),
        ("InfiniBand: 8 × ConnectX-7 (400Gb/s NDR), Ethernet: 2 × ConnectX-6 (200Gb/s)",
         NDR8 | {"frontend_gbits_per_s": 400}),
        ("n1.metal | 1 x 400 Gbps<br>4 x 400 Gbps RDMA", fabric(None, 4, 400, 1600, 400)),
        ("node-x | 2x InfiniBand 400Gbit/s", fabric("infiniband", 2, 400, 800)),
        ("H100 PCIe servers (4 GPUs) at 100 Gbps Ethernet", fabric(front=100)),
        ("8x H100 SXM | RoCE (not InfiniBand) 8x 400 Gbps", fabric("roce", 8, 400, 3200)),
        # EFA: interfaces are its NICs, the whole figure is the instance's
        ("x9.48xlarge | NetworkPerformance: \"4x 100 Gigabit\" | EfaSupported: True",
         fabric("efa", 4, 100, 400)),
        ("x9.48xlarge | instance-network-bandwidth: 1600000 | vpc.amazonaws.com/efa: 8",
         fabric("efa", 8, 200, 1600)),
        ("x9.48xlarge | NetworkCards: 9 | efa: 8 | 800000", fabric("efa", 8, 100, 800)),
        ("x9.48xlarge | EFA: 3.2 Tbps", fabric("efa", total=3200)),
        ("x9.48xlarge | 32 x 100 Gbps EFA", fabric("efa", 32, 100, 3200)),
        ("x9.48xlarge | EfaSupported: false | 50 Gigabit", fabric(front=50)),
        # a port of its generation; a switch's name says it too
        ("node-x | HDR InfiniBand 200 Gb/s", fabric("infiniband", each=200)),
        ("8x H100 SXM | 8x NDR200 InfiniBand", fabric("infiniband", 8, 200, 1600)),
        ("node-x | Quantum-2 InfiniBand 400Gb/s", fabric("infiniband", each=400)),
        ("node-x | InfiniBand NDR 4X 400 Gb/s", fabric("infiniband", each=400)),  # lanes of a port
        # columns with the unit in their heading, once with a slip
        ("n2.gpu | Max Bandwidth (Mbps) 80000", fabric(front=80)),
        ("n2.gpu | Max Front-end Bandwidth (Mbps) 200", fabric(front=200)),
        ("n2.gpu | Max Scale-Out Bandwidth (Gbps) 4x400", fabric(None, 4, 400, 1600)),
        # bytes written for bits: no such port is made
        ("node-x | 200 GB/s HDR InfiniBand", fabric("infiniband", each=200)),
        ("node-x: 1.6 TB/s per VM, 200 GB/s HDR InfiniBand",
         fabric("infiniband", 8, 200, 1600)),
        # other technologies
        ("node-x | NCCL_IB_HCA=mlx5_0 NCCL_IB_DISABLE=0", fabric()),  # no sign of InfiniBand
        ("node-x | NCCL_IB_HCA=mlx5_0 NCCL_IB_GID_INDEX=3", fabric("roce")),
        ("4x MI250X | Slingshot-11 4x 200 Gb/s", fabric("slingshot", 4, 200, 800)),
        ("node-x | GPUDirect-TCPXO 8 x 200 Gbps", fabric("gpudirect_tcpxo", 8, 200, 1600)),
        ("b200-180gb-sxm-ib.2x", fabric("infiniband")),
        ("b300-288gb-sxm-roce.2x", fabric("roce")),
        # not a promise
        ("8x H100 SXM | up to 3200 Gbps InfiniBand", fabric("infiniband")),
        ("8x H100 SXM | InfiniBand bis zu 3,2 Tbit/s", fabric("infiniband")),
        ("8x H100 SXM | 最大 3.2 Tbps InfiniBand", fabric("infiniband")),
        ("x9.large | Up to 25 Gigabit", fabric()),
        ("x9.large | max. 100 Gbps", fabric()),
        ("x9.large | 10 Gbps burst", fabric()),
        # of what, or which network, is not said
        ("node-x | 8x 400 Gbps", fabric()),
        ("node-x | InfiniBand 400 Gb/s", fabric("infiniband")),
        ("node-x | InfiniBand or RoCE", fabric()),
        ("node-x | 100-400 Gbps Ethernet", fabric()),
        ("8x H100 SXM | 3.2 Tbps InfiniBand bidirectional", fabric("infiniband")),
        ("node-x | 1Gbps-10Gbps", fabric()),
        ("4 x GB200 | 28.8 Tbps EFAv4 per UltraServer", fabric("efa")),
        ("node-x | 100 GB/S InfiniBand", fabric("infiniband")),  # capitals hide bits and bytes
    ],
)  # fmt: skip
def test_whose_rate_it_is(text, said):
    assert read(text, said) == said


@pytest.mark.parametrize(
    ("text", "kind", "multi_node"),
    [("BM.GPU.Z9.8 | 8 x 400 Gbps RDMA", "roce", None), ("BM.GPU.B200-NC.8", "ethernet", "no")],
)
def test_the_one_rdma_network_of_oci_is_roce_and_nc_has_none(text, kind, multi_node):
    said = {"fabric": kind, "multi_node": multi_node}
    assert read(text, said, "oci") == said


@pytest.mark.parametrize(
    "words",
    [
        "no InfiniBand", "0 InfiniBand NICs", "without InfiniBand", "InfiniBand not available",
        "InfiniBandなし",
        "not connected by InfiniBand", "unlike InfiniBand, ours is simple", "InfiniBand optional",
        "optional 8x 400 Gbps InfiniBand", "InfiniBand 8x 400 Gbps on request",
        "InfiniBand: coming soon", "InfiniBand auf Anfrage", "InfiniBand: -",
        "InfiniBand for reserved clusters only", "RDMA: coming soon", "EFA: No",
        "NVLink ✔ — InfiniBand ✘", "InfiniBand is not offered. For InfiniBand choose another",
    ],
)  # fmt: skip
def test_what_is_denied_or_may_be_had_is_no_fabric(words):
    nothing = fabric()
    assert read(f"8x H100 SXM | {words}", nothing) == nothing


@pytest.mark.parametrize("words", ["InfiniBand: Not Supported", "| InfiniBand | No |"])
def test_a_table_that_says_no_infiniband_means_ethernet(words):
    said = {"fabric": "ethernet", "gpudirect_rdma": "no"}
    assert read(f"node-x | {words}", said) == said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("one 8 Tb/s NIC RDMA", "no NIC of this kind has 8000 Gb/s, the fastest has 800"),
        ("8x 8 Tb/s InfiniBand", "no NIC of this kind has 8000 Gb/s"),
        ("NDR InfiniBand 8x 1600 Gb/s", "no NIC of this kind has 1600 Gb/s, the fastest has 400"),
        ("HDR 4x 800 Gbps", "the fastest has 200"),
        (
            "efa: 8 | 12800000",
            "a GPU has at most 800 Gb/s of fabric, and 8 x 800 is less than 12800",
        ),
    ],
)
def test_a_rate_that_no_nic_has_is_refused_with_the_reason(words, reason):
    line = one(f"8x H100 SXM | {words}")
    assert (line["fabric_gbits_per_s"], line["fabric_gbits_per_s_per_nic"]) == (None, None)
    assert reason in line["warnings"][0]


def test_figures_that_differ_by_place_are_told_and_none_is_taken():
    line = one("z9-edge-8g | 5 | 600 (asia-south1, us-east9) / 400 (other)", "gcp")
    assert line["fabric_gbits_per_s"] is None
    assert "differs by place" in line["warnings"][0]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("8x 200 Gb/s InfiniBand (3200 Gb/s total)", "links × rate, 8 x 200 Gb/s"),
        ("8x400G InfiniBand (1.6 Tbps total)", "1600 Gb/s is the instance's"),
        ("4x 400 Gbps RoCE, 3.2 Tbps per node", "links × rate, 4 x 400 Gb/s"),
        ("4x 400G RoCE ports, 400 Gb/s per GPU", "links × rate, 4 x 400 Gb/s"),
        ("400G IB per GPU, 1.6 Tbps per node", "1600 Gb/s is the instance's"),
    ],
)
def test_an_equation_that_fails_is_disputed_and_the_lower_speaks(words, reason):
    line = one(f"8x H100 SXM | {words}")
    assert line["fabric_gbits_per_s"] == 1600
    assert "fabric_gbits_per_s" in line["disputed"]
    assert all(f"{figure} (" in line["warnings"][0] for figure in (1600, 3200))
    (why,) = (said for said in line["why"] if said.startswith("fabric_gbits_per_s = 1600"))
    assert why.endswith(reason)


@pytest.mark.parametrize(
    ("text", "bits_meant"),
    [
        ("8x A100 SXM4 80GB | fabric 1600 GB/s", 1600),
        ("8x A100 SXM4 80GB | RDMA fabric 3200 GB/s", 3200),
        ("8x H100 SXM | 3.2TBps IB", 3200),
        ("4x B200 | RoCE fabric 1.6 TB/s per node", 1600),
        ("8x H100 SXM | 400 GB/s per GPU InfiniBand", 3200),
        ("InfiniBand fabric 3.2 TB/s per node", 3200),
        ("1x H100 SXM | InfiniBand 3200 Gbps", None),
        ("2x L40S | 8x 400 Gb/s InfiniBand", None),
        ("8x H200 SXM | HDR InfiniBand, 6400 Gbps per node", None),
        ("1x V100 | 400 Gb/s RDMA", None),  # its lanes are those of PCIe 3
    ],
)
def test_more_than_its_gpus_can_have_is_refused_with_the_equation(text, bits_meant):
    line = one(text)
    assert (line["fabric_gbits_per_s"], line["fabric_nics"]) == (None, None)
    assert "a GPU has at most" in line["warnings"][0]
    meant = f"likely {bits_meant} Gb/s is meant"
    assert (meant in line["warnings"][0]) is (bits_meant is not None)


@pytest.mark.parametrize(
    "text",
    ["8x B300 | 8x 800 Gb/s InfiniBand", "8x H100 SXM | 8x 2x 400 Gb/s RoCE",
     "8x H100 SXM | 800 GB/s InfiniBand per node", "16 GPUs | 6.4 Tbps RDMA"],
)  # fmt: skip
def test_the_most_that_is_built_is_kept(text):
    assert one(text)["fabric_gbits_per_s"] == 6400


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("GPUDirect RDMA: Supported", "yes"),
        ("RoCE with GPUDirect RDMA", "yes"),
        ("InfiniBand | GPUDirect RDMA", "yes"),
        ("no GPUDirect RDMA", "no"),
        ("GPUDirect RDMA is not available on this VM", "no"),
        ("GPUDirect RDMA非対応", "no"),
        ("GPUDirect RDMA: coming soon", None),
        ("GPUDirect RDMA optional", None),
        ("GPUDirect Storage supported", None),
        ("RDMA: yes, InfiniBand", None),  # never from the presence of a fabric
        ("32 x 100 Gbps EFA", None),
    ],
)
def test_gpudirect_rdma_is_what_its_own_words_say(words, answer):
    assert one(f"8x H100 SXM | {words}")["gpudirect_rdma"] == answer


def test_a_suffix_of_the_name_that_means_gpudirect_rdma():
    assert one("gpu_4x_b200_sxm6gdr")["gpudirect_rdma"] == "conditional"


@pytest.mark.parametrize(
    ("text", "links", "each"),
    [
        ("8 x 2 x 200 Gbps", 16, 200),
        ("2x(4x100G)", 8, 100),
        ("170 Gbps (85 * 2)", 2, 85),
        ("12,5 Gbit/s", 1, Decimal("12.5")),
        ("7 GiB/s", 1, Decimal("60.129542144")),
        ("毎秒400ギガビット", 1, 400),
        ("400Gb InfiniBand", 1, 400),
    ],
)
def test_rates_as_they_are_written(text, links, each):
    (rate,) = bandwidths(fold(text))
    assert (rate.links, rate.gbits_per_s) == (links, each)


@pytest.mark.parametrize("text", ["80GB", "3g.40gb", "100-400 Gbps", "8 200 Gbps", "1.250 Gbps"])
def test_what_is_no_rate_or_not_one(text):
    assert bandwidths(text) == ()

"""A pasted listing's links inside: bridge, switch, mesh, rack; both ways halved; a no is a no."""

import pytest
from text_lines import one, read

CARDS = "4x A100 PCIe 80GB"


@pytest.mark.parametrize(
    "words",
    [
        "no NVLink", "without NVLink", "NVLink: No", "NVLink not available", "NVLink | No",
        '"nvlink": false', "NVLink: ✗", "does not have NVLink", "ohne NVLink", "sans NVLink",
        "NVLinkなし", "NVLink非対応", "no InfiniBand or NVLink",
    ],
)  # fmt: skip
def test_cards_without_nvlink_meet_over_pcie(words):
    said = {"scale_up": "pcie", "nvlink_domain_gpus": 1}
    assert read(f"{CARDS} | {words}", said) == said


@pytest.mark.parametrize(
    "words",
    ["NVLink optional", "NVLink on request", "NVLink coming soon", "NVLink en option", "NVLink: -"],
)
def test_what_may_be_had_is_not_known(words):
    said = {"scale_up": None, "nvlink_domain_gpus": None}
    assert read(f"{CARDS} | {words}", said) == said


@pytest.mark.parametrize(
    "words", ["NVLink", "NVLink: Supported", "with NVLink", "NVLinkブリッジあり"]
)
def test_nvlink_of_cards_is_a_bridge_of_two(words):
    said = {"scale_up": "nvlink_bridge", "nvlink_domain_gpus": 2}
    assert read(f"{CARDS} | {words}", said) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8x L40S with NVLink", {"scale_up": "pcie"}),  # a card that has none
        ("2x H200 NVL | NVLink", {"scale_up": "nvlink_bridge", "nvlink_domain_gpus": None}),
        ("4x H200 NVL | 4-way NVLink bridge", {"nvlink_domain_gpus": 4}),
        ("2x H100 NVL 94GB", {"scale_up": "nvlink_bridge", "nvlink_domain_gpus": 2}),
        ("8x H100 SXM5", {"scale_up": "nvswitch", "nvlink_domain_gpus": 8}),
        ("4x H100 SXM | NVLink", {"scale_up": None}),  # a board of four, or half of one of eight
        ("4x H100 SXM | NVSwitch", {"scale_up": "nvswitch", "nvlink_domain_gpus": 4}),
        ("Box (V100) | NVLink Ring @ 300 GBps",
         {"scale_up": "nvlink_mesh", "nvlink_generation": 2, "scale_up_gbytes_per_s": 150}),
        # racks: what is one domain, however few of it an instance has
        ("4x GB200 NVL72", {"scale_up_domain_gpus": 72, "gpu_count": 4, "scale_up": "nvswitch"}),
        ("1x GB200 NVL72", {"nvlink_domain_gpus": 72, "gpu_count": 1}),
        ("8x L40S NVL72 NVSwitch", {"scale_up": "pcie", "nvlink_domain_gpus": 1}),  # no such rack
        ("GB200 NVL36x2 | 4 GPUs", {"nvlink_domain_gpus": 72, "gpu_count": 4}),
        ("GB200 NVL4", {"nvlink_domain_gpus": 4, "scale_up": None}),
        ("VR200 NVL144 | 4 GPUs", {"nvlink_domain_gpus": 72}),  # counted by its dies
        ("HGX B300 NVL16 | 8 GPUs", {"nvlink_domain_gpus": 8}),
        # both ways halved, one way kept
        ("8x A100 SXM4 80GB | NVLink 600 GB/s", {"scale_up_gbytes_per_s": 300}),
        ("8x A100 SXM4 80GB | NVLink 300 GB/s", {"scale_up_gbytes_per_s": 300}),
        ("8x B200 | 14.4 TB/s NVLink in all", {"scale_up_gbytes_per_s": 900}),
        ("NVLink 4 ... 900 GB/s per GPU", {"scale_up_gbytes_per_s": 450}),
        ("NVIDIA H800", {"scale_up_gbytes_per_s": 200}),
        ("8x H100 SXM | 18 NVLink links x 25 GB/s per direction",
         {"scale_up_gbytes_per_s": 450, "fabric_nics": None}),
        # to its CPU
        ("GH200 900 GB/s NVLink-C2C", {"scale_up": None, "scale_up_gbytes_per_s": None}),
        # a mesh has a link for each peer
        ("Box | 2x MI300X | 896 GB/s", {"scale_up": "infinity_fabric_mesh",
         "scale_up_gbytes_per_s": 64, "scale_up_domain_gpus": 2, "nvlink_domain_gpus": 1}),
        ('"gpu_name": "H100 SXM", "num_gpus": 8, "bw_nvlink": 0',
         {"gpu": "h100-sxm5-80gb", "scale_up": None, "scale_up_gbytes_per_s": None}),
    ],
)  # fmt: skip
def test_how_gpus_are_joined(text, said):
    assert read(text, said) == said


def test_an_nvlink_rate_in_bits_is_a_slip():
    line = one("4x H100 SXM | NVLink 900 Gb/s")
    assert (line["scale_up_gbytes_per_s"], line["frontend_gbits_per_s"]) == (None, None)
    assert "NVLink of 900 Gb/s would be 112.5 GB/s" in line["warnings"][0]


def test_links_of_a_virtual_machine_are_to_be_asked_about():
    assert "ask" in one('"vms_enabled": true on a multi-GPU host')["warnings"][0]


@pytest.mark.parametrize(
    ("text", "has"),
    [
        ("8x H100 SXM5 | p2p 1800GB/s", "450 GB/s one way, 900 both ways"),
        ("8x H100 SXM5 | NVLink 3600 GB/s per GPU", "450 GB/s one way, 900 both ways"),
        ('"gpu": "H100 SXM5", "count": 8, "p2p": "1800GB/s"', "450 GB/s one way, 900 both ways"),
        ("8x H100 SXM5 | GPU interconnect: 1800 GB/s", "450 GB/s one way, 900 both ways"),
        ("8x H100 SXM5 | NVLink 1.8 TB/s per GPU", "450 GB/s one way, 900 both ways"),
        ("8x A100 SXM4 80GB | GPU-to-GPU 900 GB/s", "300 GB/s one way, 600 both ways"),
        ("8x MI300X | Infinity Fabric 1792 GB/s", "448 GB/s one way, 896 both ways"),
        ("2x L40S | p2p: 900 GB/s", "32 GB/s one way, 64 both ways"),
    ],
)
def test_a_link_rate_that_no_such_gpu_has_is_refused_with_the_equation(text, has):
    assert has in one(text)["warnings"][0]


@pytest.mark.parametrize(
    "text",
    [
        "8x H100 SXM5 | p2p 900 GB/s",
        "8x H100 SXM5 | NVSwitch 7.2 TB/s in all",
        "4x GB200 NVL72 | NVLink 130 TB/s",
        "8x H100 SXM5 | 3.35 TB/s HBM3 memory with NVLink",
        "2x L40S | p2p 50 GB/s",
        "2x RTX A6000 | NVLink bridge 112 GB/s",
    ],
)
def test_a_link_rate_that_such_gpus_have_stands(text):
    assert one(text)["warnings"] == []

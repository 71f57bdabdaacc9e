"""A pasted listing's GPUs: chip, form and memory; how many; a share of one."""

import pytest
from text_lines import one, read

H100S = ["h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb"]


@pytest.mark.parametrize(
    ("text", "gpu"),
    [
        ("HGX H100", "h100-sxm5-80gb"),
        ("DGX A100 80GB", "a100-sxm4-80gb"),
        ("8x H100 | NVSwitch", "h100-sxm5-80gb"),  # no card has one
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),  # the driver's name
        ("nvidia-h100-80gb-hbm3:8", "h100-sxm5-80gb"),
        ("nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3", "h100-sxm5-80gb"),
        ("n3-L40Sx4 | flavor", "l40s-pcie-48gb"),
        ("gx9-160x1792x8a100p | A100 80GB", "a100-pcie-80gb"),
        ("2H200.141S.88V", "h200-sxm5-141gb"),
        ("gpu-gb200-sxm-z", "gb200-superchip-186gb"),  # it has one form
        ("geforcertx3090-pcie-24gb", "rtx3090-pcie-24gb"),
        ("4x A100 (NVLink, no NVSwitch) SXM4 40GB", "a100-sxm4-40gb"),
        ("gpu-h100-sxm-z 1gpu-16vcpu-200gb", "h100-sxm5-80gb"),
        ("n9-A100x8 | A100-80G-PCIe", "a100-pcie-80gb"),
        ("RTX 6000 Ada 48GB x8", "rtx6000ada-pcie-48gb"),
        ("RTX 4070 Ti Super 16GB", "rtx4070tisuper-pcie-16gb"),
        ("H100 PCIe Gen5 x16 80GB", "h100-pcie-80gb"),
        ("GH200 480GB (LPDDR5X) + 96GB HBM3", "gh200-superchip-96gb"),
        ("B200 192GB HBM3e", "b200-sxm6-180gb"),
        ("H200 SXM5 142GB", "h200-sxm5-141gb"),
        ("A100 SXM4 | 81920 MiB", "a100-sxm4-80gb"),
        # the figure of them all
        ("4x A100 SXM4 | 320GB VRAM", "a100-sxm4-80gb"),
        ("8x H100 SXM | 400G per GPU RoCE", "h100-sxm5-80gb"),  # bits
        ("8x A100 SXM4 (320 GB GPU memory)", "a100-sxm4-40gb"),
        ("2x A100 SXM4 | 80 GB total GPU memory", "a100-sxm4-40gb"),
        ("2x A100 SXM4, 80GB per GPU", "a100-sxm4-80gb"),
        # letters of other alphabets, wide and invisible ones, figures of other scripts
        ("\uff18\uff38\uff28\uff11\uff10\uff10 \uff33\uff38\uff2d\uff15", "h100-sxm5-80gb"),
        ("8\u0445 \u041d100 SXM5", "h100-sxm5-80gb"),
        ("8x H\u200b100\u00a0SXM5", "h100-sxm5-80gb"),
        ("\u0668x H\u0661\u0660\u0660 SXM5", "h100-sxm5-80gb"),
    ],
)
def test_chip_form_and_memory_name_one(text, gpu):
    assert one(text)["gpu"] == gpu


@pytest.mark.parametrize(
    ("text", "candidates", "memory_gb"),
    [
        ("8x H100", H100S, None),
        ("8x H100 | PCIe 5.0 host", H100S, None),
        ("8x H100 80GB", ["h100-pcie-80gb", "h100-sxm5-80gb"], 80),
        ("8x H200", ["h200-nvl-141gb", "h200-sxm5-141gb"], 141),
        ("A100 40GB/80GB PCIe", ["a100-pcie-40gb", "a100-pcie-80gb"], None),
        ('"gpu_name": "A100 PCIe 40GB/80GB"', ["a100-pcie-40gb", "a100-pcie-80gb"], None),
        ("A100 PCIe 40 or 80 GB", ["a100-pcie-40gb", "a100-pcie-80gb"], None),
        ("4x H100 or H200 SXM", ["h100-sxm5-80gb", "h200-sxm5-141gb"], None),
        ("H100/H200 SXM cluster", ["h100-sxm5-80gb", "h200-sxm5-141gb"], None),
        ("8x H100 SXM / 8x H200 SXM", ["h100-sxm5-80gb", "h200-sxm5-141gb"], None),
        ("8x RTX 6000 Ada | 8x A6000", ["rtx6000ada-pcie-48gb", "rtxa6000-pcie-48gb"], None),
        ("1x A100 SXM4, 80 GB RAM", ["a100-sxm4-40gb", "a100-sxm4-80gb"], None),
        ("n9-A100-80Gx4-NVLink", ["a100-pcie-80gb", "a100-sxm4-80gb"], 80),
    ],
)
def test_what_is_not_said_leaves_the_candidates(text, candidates, memory_gb):
    line = one(text)
    assert (line["gpu"], line["gpu_candidates"]) == (None, candidates)
    assert line["gpu_memory_gb"] == memory_gb


@pytest.mark.parametrize(
    "text",
    [
        "8x RTX 4090 D", "RTX 4090D 24GB", "RTX 4090 Laptop GPU", "8x RTX 5090 Ti", "A100X 80GB",
        "H100 CNX", "4x MI300A", "AMD MI308X 192GB", "B100 192GB", "GB10 DGX Spark", "TPU v5e",
        "16x Trainium", "RTX PRO 5000", "p4d.24large", "c5.large",
    ],
)  # fmt: skip
def test_a_card_that_is_none_of_ours_is_not_the_next_best(text):
    line = one(text)
    assert (line["gpu"], line["gpu_candidates"]) == (None, [])


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("8 x NVIDIA L40S", 8),
        ("eight NVIDIA H100 SXM GPUs", 8),
        ("Dual NVIDIA L40S", 2),
        ("L40S x8", 8),
        ("L40S*8", 8),
        ("L40S 48GB × 4", 4),
        ("L40S-4-48G", 4),
        ("l40s-48gb.10x", 10),
        ("BM.GPU.L40S.4", 4),
        ("gb300-4x", 4),
        ("HGX B200 8x 180GB", 8),
        ("H20 96GB*8", 8),
        ("DGX H100 (8x H100 80GB)", 8),
        ("H100 SXM5 - 8x", 8),
        ("GPU: H100 SXM5 (x8)", 8),
        ("gz200-4x | GB200", 4),  # by the name of the type
        ("A800 SXM | GPU memory 80GB*8", 8),
        ("L40S | 4 GPUs", 4),
        ("L40S | x4", 4),
        ("platform: gpu-l40s-d | preset: 2gpu-64vcpu-384gb", 2),
        ('{"gpu": "L40S", "num_gpus": 2}', 2),
        ("gpus_per_node: 8  # H100 80GB", 8),
        ("nvidia.com/gpu: 8 | L40S", 8),
        ("accelerators: {L40S: 8}", 8),
        ("gpu: H100:80GB:8", 8),
        ("8x NVIDIA® L40S™", 8),
        ("NVIDIA A40 | Anzahl: 8", 8),
        ("nvidia-h100-80gb-hbm3:8", 8),
        ("H100 SXM 8基 | L40S", 8),
        ("H100 SXM 8卡", 8),
        ("16x V100 SXM2 32GB", 16),
        ("8x H100 SXM5 per node, 128 GPUs total", 8),
        # no count of one instance
        ("up to 8x L40S", None),
        ("1-8x L40S", None),
        ("1x, 2x, 4x or 8x L40S", None),
        ("4 × (2 × H100 NVL)", None),
        ("L40S, clusters up to 512 GPUs", None),
        ("L40S PCIe x16", None),
        ("2x L40S or 4x L4", None),
        ("8x H200 SXM, 2x faster than 8x H100", 8),
        ("L40S | 8x 400 Gbps | 24x 64GB DDR5", None),
    ],
)
def test_how_many(text, count):
    assert one(text)["gpu_count"] == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("18 x GB200 NVL72 trays (72 GPUs)", 4),
        ("36x GB300 NVL72 compute trays, 144 GPUs in all", 4),
        ("18 x GB200 NVL72 trays", 4),  # a tray has so many
        ("16x HGX H100 nodes (128 GPUs)", 8),
        ("2x DGX H100 (16 GPUs)", 8),
        ("2x DGX H100", None),  # two systems
        ("24x A100 SXM4 80GB across 3 nodes", 8),
        ("64x H100 SXM (8 nodes)", 8),
        ("32 L40S GPUs in 8 servers", 4),
        ("8x H100 SXM | 4 nodes", 8),
        ("one GB200 NVL72 rack: 72 GPUs", 72),
        ("2 x GB300 NVL72 racks", 72),
        ("8x H100 SXM nodes, clusters up to 512 GPUs", 8),
        ("8x H100 SXM5 per node, 16 nodes, 128 GPUs total", 8),
    ],
)
def test_nodes_that_are_counted_are_not_gpus(text, count):
    assert one(text)["gpu_count"] == count


@pytest.mark.parametrize(
    ("text", "count", "memory_gb"),
    [
        ("0.5x L40S", 0.5, 24),
        ("1/3 A10 8GB", 0.3333, 8),
        ("\u00bc L40S (12 GB)", 0.25, 12),
        ("half of an L40S (24GB)", 0.5, 24),
        ("A10-8Q", 0.3333, 8),  # a vGPU's profile
        ("Slice | A10 | Accelerators 1/6 | Accelerator-Memory (GB) 4", 0.1667, 4),
        ("Slice | NVIDIA L4 | instance-gpu-count: 0 | instance-gpu-memory: 2861", 0.125, 3),
        ("A100 SXM4 80GB MIG 3g.40gb", None, 40),  # 3 of 7 and 40 of 80: no one share
        ("H200 SXM 1g.18gb", None, 18),
    ],
)
def test_a_share_of_a_card_has_no_peers(text, count, memory_gb):
    said = {"gpu_count": count, "gpu_memory_gb": memory_gb}
    said |= {"scale_up": "none", "nvlink_domain_gpus": 1}
    assert read(text, said) == said


@pytest.mark.parametrize(
    ("words", "ram_gb"),
    [
        ("80GB RAM", 80), ("320 GB RAM", 320), ("RAM=80GB", 80), ("(80GB RAM)", 80),
        ("RAM: 80GB", 80),
        ("80GB host RAM", 80), ("80 GB DDR4", 80), (", 80GB system memory", 80),
        ("80GB disk", None), ("80GB NVMe", None), ("80GB local SSD", None),
        ("80GB boot disk", None),
        ("80GB NVMe SSD storage", None), ("80GB RAM per GPU", None), ("40GB RAM 2TB", None),
        ("RAM 80GB disk 100GB", 80),
    ],
)  # fmt: skip
def test_a_figure_of_the_host_is_not_the_gpus(words, ram_gb):
    line = one(f"4x A100 SXM4 {words}")
    assert line["gpu_candidates"] == ["a100-sxm4-40gb", "a100-sxm4-80gb"]
    assert (line["ram_gb"], line["warnings"]) == (ram_gb, [])


@pytest.mark.parametrize(
    ("words", "ram_gb"),
    [
        ("80GB VRAM", None), ("80GB HBM2e", None), ("80GB GPU RAM, 1TB RAM", 1000),
        ("80GB memory", None), ("gpu_ram: 80 GB", None), ("2TB RAM 80GB", 2000),
        ("320GB storage, 80GB HBM", None), ("| 1TB RAM / 80GB VRAM", 1000),
        ("80GB VRAM | 32x 64GB DDR5", 2048),
    ],
)  # fmt: skip
def test_a_figure_of_the_gpu_is_not_the_hosts(words, ram_gb):
    line = one(f"4x A100 SXM4 {words}")
    assert (line["gpu"], line["ram_gb"], line["warnings"]) == ("a100-sxm4-80gb", ram_gb, [])


def test_the_host_is_not_the_gpu():
    said = {"gpu": "l40s-pcie-48gb", "gpu_memory_gb": 48, "vcpus": 128, "ram_gb": 2000}
    assert read("4x L40S | 128 vCPU | 2 TB RAM | 8x 3.84 TB NVMe", said) == said


def test_the_instance_type_decides_over_a_wrong_text():
    line = one("p4d.24xlarge | H100:8:80GB", "aws")
    assert (line["gpu"], line["gpu_candidates"], line["gpu_count"]) == ("a100-sxm4-40gb", [], 8)
    assert line["gpu_memory_gb"] == 40
    assert "has a100-sxm4-40gb by our facts" in line["warnings"][0]


def test_a_providers_own_word_for_a_gpu():
    line = one("z9-megagpu-4g | nvidia-h100-mega-80gb | 5", "gcp")
    assert (line["gpu"], line["gpu_count"]) == ("h100-sxm5-80gb", 4)


def test_a_size_of_a_known_family_that_no_one_has_listed():
    line = one("Standard_ND96isrf_new_H200_v5", "azure")
    assert (line["gpu"], line["gpu_count"], line["fabric"]) == (
        "h200-sxm5-141gb",
        8,
        "infiniband",
    )


def test_a_form_that_every_gpu_it_may_be_has_is_known_and_with_it_the_board():
    board = {"gpu": None, "form_factor": "sxm4", "scale_up": "nvswitch"}
    assert read("8x A100 SXM4", board) == board
    assert one("8x A100")["form_factor"] is None

"""A pasted listing as a whole: how it is written, its name, why; then the traps at hand."""

import json
import time
from decimal import Decimal

import pytest
from recorded import shared
from text_lines import one, read

from catalog.ledger import spec
from catalog.records import OFFER_KEYS
from scrapers.known_types import known_types
from scrapers.listing import Unreadable
from scrapers.text import read_text

PLAIN = (
    "8x H100 SXM5 80GB | 8 x 400 Gb/s NDR InfiniBand | 2x 100 Gbps Ethernet | $2.49/GPU/hr",
    "n1.metal | 4x A100 PCIe 80GB | no NVLink | 1 x 50 Gbps",
    "GB200 NVL72 | 4 GPUs | GPUDirect RDMA: yes | 4x 400 Gbps RoCE",
)
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)} | {0x20: 0x3000}


@pytest.mark.parametrize("text", PLAIN)
@pytest.mark.parametrize(
    "written",
    [
        lambda text: text.translate(WIDE),
        lambda text: text.translate(str.maketrans("ABEKMHOPCTXaeopcx", "АВЕКМНОРСТХаеорсх")),
        "\u200b".join,
        lambda text: text.replace(" ", "\u00a0"),
        lambda text: text.translate(str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")),
        lambda text: text.replace(" | ", "\n"),
        lambda text: text.replace(" | ", "<br>"),
        lambda text: text.replace(" | ", "; "),
        lambda text: text.replace("Gbps", "Gbit/s").replace("Gb/s", "Gigabit"),
        lambda text: text.replace("x ", " × "),
    ],
)
def test_how_it_is_written_changes_nothing(text, written):
    spoken = {"why", "warnings", "collected_at", "instance_type"}
    plain, other = one(text), one(written(text))
    assert {k: v for k, v in other.items() if k not in spoken} == {
        k: v for k, v in plain.items() if k not in spoken
    }


def test_a_table_is_a_listing_a_row():
    table = """
    | Type | GPU       | Count | NVLink | InfiniBand (Gb/s) |
    |------|-----------|-------|--------|-------------------|
    | a-8  | H100 SXM5 | 8     | Yes    | 3200              |
    | b-2  | A40       | 2     | No     | -                 |
    """
    names = ("instance_type", "gpu", "gpu_count", "scale_up", "fabric_gbits_per_s")
    assert [tuple(line[name] for name in names) for line in read_text("somecloud", table)] == [
        ("a-8", "h100-sxm5-80gb", 8, "nvswitch", 3200),
        ("b-2", "a40-pcie-48gb", 2, "pcie", None),
    ]


def test_a_table_of_words_and_answers_is_one_listing():
    said = {"gpu": "h100-sxm5-80gb", "gpu_count": 8, "ram_gb": 2000, "fabric_gbits_per_s": 3200}
    table = """
    | GPU      | H100 SXM          |
    | Count    | 8                 |
    | RAM      | 2 TB              |
    | Backbone | 8x400G InfiniBand |
    """
    assert read(table, said) == said


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("n1.metal | 8x L40S", "n1.metal"),
        ("8x H100 SXM, 3.2Tbps InfiniBand", "8x H100 SXM, 3.2Tbps InfiniBand"),
        ("Type: g-9 | L4", "g-9"),
    ],
)
def test_the_name_of_the_type_is_no_quantity(text, name):
    assert one(text)["instance_type"] == name


def test_a_line_has_every_key_and_says_why():
    line = one("node-x | 8x H100 SXM5 | 8 x 400 Gb/s NDR InfiniBand")
    assert set(line) == {"kind", "why", *OFFER_KEYS}
    why = dict(sentence.split(" = ", 1) for sentence in line["why"] if " = " in sentence)
    assert why["fabric_gbits_per_s"] == (
        '3200: the text: "8 x 400 Gb/s NDR InfiniBand": links × rate, 8 x 400 Gb/s'
    )
    assert why["scale_up"] == "nvswitch: follows by the rule: an 8-GPU SXM board has NVSwitch"
    assert "gpudirect_rdma: not known" in " ".join(line["why"])
    assert json.loads(json.dumps(line)) == line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("8x H100 SXM | 1979 TFLOPS", 'bf16_tflops = 989.5: the text: "1979 TFLOPS" is twice that'),
        ("L40S | 362 TFLOPS", 'bf16_tflops = 362.05: the text: "362 TFLOPS" is that: dense'),
        ("8x B200 | 72 PFLOPS FP8", 'fp8_tflops = 4500: the text: "72 PFLOPS FP8" is twice that'),
        ("B300 FP4 14 PFLOPS", 'fp4_tflops = 14000: the text: "FP4 14 PFLOPS" is that: dense'),
    ],
)
def test_a_sparse_peak_is_not_the_dense_one(text, said):
    assert any(sentence.startswith(said) for sentence in one(text)["why"])


def test_two_types_in_one_text_are_two_lines():
    lines = list(read_text("scaleway", "H100-2-80G | 2x H100 PCIe ; H100-SXM-2-80G | 2x H100-SXM"))
    assert [line["instance_type"] for line in lines] == ["H100-2-80G", "H100-SXM-2-80G"]


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Q | 2x H100 PCIe5 ; R | 2x H100-SXM NVLink", ["h100-pcie-80gb", "h100-sxm5-80gb"]),
        ("L40S-2-48G vs L4-2-24G", ["l40s-pcie-48gb", "l4-pcie-24gb"]),
        ("n9-H100x4 | n9-H100x4-NVLink | n9-H100-SXM5x4", [None, None, "h100-sxm5-80gb"]),
        ("n9-H100x2 | n9-H100-SXM5x2 ; gpu: H100-80G-PCIe", [None, "h100-sxm5-80gb"]),
        ("n9-A100x8 | A100-80G-PCIe; up to 350 Gbps", ["a100-pcie-80gb"]),
    ],
)
def test_types_that_no_one_has_listed_are_told_apart(text, read):
    assert [line["gpu"] for line in read_text("somecloud", text)] == read


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
    started = time.process_time()
    list(read_text("aws", (junk * 20_000)[:19_000] + "z"))
    assert time.process_time() - started < 0.5


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


# --- Names ------------------------------------------------------------------------------------


def same(value: object, read: object) -> bool:
    """True of a value and what a line of JSON has of it."""
    if isinstance(value, Decimal):
        return isinstance(read, int | float) and float(value) == read
    return read == (list(value) if isinstance(value, tuple) else value)


def test_every_name_that_the_catalog_knows_is_read_as_what_the_catalog_says():
    wrong = []
    for provider, types in known_types().items():
        for name, facts in types.items():
            lines = list(read_text(provider, name))
            if [line["instance_type"] for line in lines] != [name]:
                wrong.append((provider, name, [line["instance_type"] for line in lines]))
                continue
            differ = {
                key: (value, lines[0][key])
                for key, value in spec(facts).columns().items()
                if value is not None and key in lines[0] and not same(value, lines[0][key])
            }
            if differ or lines[0]["warnings"]:
                wrong.append((provider, name, differ, lines[0]["warnings"]))
    assert wrong == []


def test_a_name_inside_another_is_not_listed():
    text = "2x NVIDIA H200 NVL | 4x NVIDIA H200"
    assert [line["gpu"] for line in read_text("runpod", text)] == [
        "h200-nvl-141gb",
        "h200-sxm5-141gb",
    ]


@pytest.mark.parametrize(
    "name",
    ["Quick Cluster: H100", "2-Click Cluster (B200)", "VRT/24Core-240GB-H100x1", "sub/gx8-h100"],
)
def test_a_name_is_not_cut_at_its_signs(name):
    assert one(f"{name} | 25 Gbps Ethernet")["instance_type"] == name

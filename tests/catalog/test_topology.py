"""The drawing of how the GPUs are joined: each kind has its own, the unknown never looks known."""

import re
from collections import Counter
from typing import Any

import pytest

from catalog.templatetags.cells import domain_cell, domain_text
from catalog.topology import CUBE, GBYTES_PER_UNIT, topology

NODE = {
    "gpu_count": 8, "scale_up": "nvswitch", "scale_up_domain_gpus": 8, "nvlink_generation": 4,
    "scale_up_gbytes_per_s": 450, "fabric": "infiniband", "fabric_generation": "NDR",
    "fabric_nics": 8, "fabric_gbits_per_s_per_nic": 400, "fabric_gbits_per_s": 3200,
    "fabric_gbits_per_s_per_gpu": 400, "max_gpus_on_one_fabric": 2048, "evidence": {},
}  # fmt: skip
NO_LINKS = {"scale_up_gbytes_per_s": None, "nvlink_generation": None, "scale_up_domain_gpus": 1}
NO_FABRIC = dict.fromkeys(
    ("fabric_generation", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s",
     "fabric_gbits_per_s_per_gpu", "max_gpus_on_one_fabric")
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "says", "blue", "orange"),
    [
        ({}, ["domain of 8 GPUs", "8 × 400 Gb/s", "2,048 GPU"], True, True),
        ({"scale_up": "nvlink_mesh"}, ["NVLink mesh", "domain of 8 GPUs"], True, True),
        ({"scale_up": "nvlink_bridge", "scale_up_domain_gpus": 2}, ["pairs of 2"], True, True),
        ({"scale_up": "pcie", **NO_LINKS}, ["PCIe only"], False, True),
        ({"scale_up_domain_gpus": 72, "gpu_count": 4}, ["72 GPUs in one rack"], True, True),
        ({"gpu_count": 1, "scale_up": "none", **NO_LINKS}, ["1 GPU"], False, True),
        ({"scale_up": None, **NO_LINKS}, ["links unknown"], False, True),
        ({"fabric": "none", **NO_FABRIC}, ["no fabric between instances"], True, False),
        ({"fabric": None, **NO_FABRIC}, ["fabric unknown", "unknown"], True, False),
    ],
)
def test_each_kind_is_drawn_as_what_it_is(
    kind: dict[str, Any], says: list[str], blue: bool, orange: bool
) -> None:
    drawn = topology({**NODE, **kind})
    words = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", drawn))
    for text in says:
        assert text in words, words
    assert bool(re.search(r'class="[^"]*\b(?:fi|si|fis)\b', drawn)) == blue
    assert bool(re.search(r'class="[^"]*\b(?:fo|so|fos)\b', drawn)) == orange
    assert re.search(r'role="img" aria-label="[^"]{20,}"', drawn)


def test_a_line_is_as_wide_as_what_it_carries() -> None:
    """A GPU's NVLink of 450 GB/s against its NIC's 50."""
    drawn = topology(NODE)
    blue = {float(w) for w in re.findall(r'class="fn si" stroke-width="([\d.]+)"', drawn)}
    orange = {float(w) for w in re.findall(r'class="fn so" stroke-width="([\d.]+)"', drawn)}
    assert 450 / GBYTES_PER_UNIT in blue
    assert 50 / GBYTES_PER_UNIT in orange


def test_a_disputed_rate_stands_with_both_values() -> None:
    claims = [{"value": value, "basis": "documented", "scope": ""} for value in (400, 800)]
    said = {"value": 400, "basis": "documented", "disputed": True, "claims": claims}
    whole = {"value": 3200, "basis": "derived"}
    evidence = {"fabric_gbits_per_s_per_nic": said, "fabric_gbits_per_s": whole}
    assert "8 × 400 ≠ 800 Gb/s" in topology({**NODE, "evidence": evidence})


def arcs(**kind: Any) -> list[str]:
    """The ends of each arc between two GPUs."""
    drawn = topology({**NODE, **kind})
    return re.findall(r'd="(M[\d.]+ [\d.]+)Q[\d. -]+"', drawn)


def test_a_mesh_is_drawn_each_to_each_only_where_the_rates_say_so() -> None:
    whole = {"scale_up": "infinity_fabric_mesh", "scale_up_gbytes_per_s": 448}
    assert len(arcs(**whole, scale_up_pair_gbytes_per_s=64)) == 8 * 7 / 2
    for pair in (None, 128):  # nobody says, or some pairs are not linked
        assert arcs(**whole, scale_up_pair_gbytes_per_s=pair) == []
        drawn = topology({**NODE, **whole, "scale_up_pair_gbytes_per_s": pair})
        assert "which GPUs are linked is unknown" in drawn


def test_a_hybrid_cube_mesh_links_each_gpu_to_four_others_by_six_links() -> None:
    ends = Counter(gpu for pair in CUBE for gpu in pair)
    assert ends == dict.fromkeys(range(8), 4)
    links = Counter(dict.fromkeys(range(8), 0))
    for pair, count in CUBE.items():
        links.update(dict.fromkeys(pair, count))
    assert links == dict.fromkeys(range(8), 6)
    board = {"scale_up": "nvlink_mesh", "form_factor": "sxm2", "nvlink_generation": 2}
    assert len(arcs(**board)) == 16
    assert arcs(**{**board, "gpu_count": 4, "scale_up_domain_gpus": 4}) == []


def test_a_disputed_domain_stands_with_both_sizes() -> None:
    claims = [{"value": value, "basis": "documented", "scope": ""} for value in (4, 8)]
    said = {"value": 4, "basis": "documented", "disputed": True, "claims": claims}
    kind = {**NODE, "scale_up_domain_gpus": 4, "evidence": {"scale_up_domain_gpus": said}}
    assert "domain of 4 ≠ 8 GPUs" in topology(kind)
    assert (domain_text(kind), domain_text(kind, instance=True)) == ("4 ≠ 8", "8")
    cell = domain_cell({**kind, "nvlink_domain_gpus": 4})
    assert 'class="dis"' in cell
    assert re.sub(r"<[^>]*>", "", cell) == "4 8"

"""What the page of a type says of what it has not: a known no is no unknown, one is not several."""

import re
from typing import Any

import pytest
from django.utils import translation

from catalog import wording
from catalog.charts import price_strip
from catalog.currency import Money
from catalog.evidence import unknowns, value_text
from catalog.facts import ATTRIBUTES
from catalog.instance_page import cliff, disputes, figures, summary
from catalog.instance_prices import prices
from catalog.instances import CHECKLIST
from catalog.templatetags.cells import cliff_cell, inside_cell, per_gpu_cell, rdma_cell
from catalog.topology import topology_text
from catalog.verify import nccl_lines

NULL = dict.fromkeys((*ATTRIBUTES, "fabric_gbits_per_s_per_gpu", "cliff", "nvlink_domain_gpus"))
BARE = NULL | {"gpu": "t4-pcie-16gb", "gpu_vendor": "nvidia", "gpu_count": 1.0, "evidence": {},
               "disputed": []}  # fmt: skip
NEITHER = BARE | {"scale_up": "pcie", "fabric": "none"}


def test_a_known_no_is_said_and_an_unknown_is_boxed() -> None:
    assert [(f.value, f.absent) for f in figures(NEITHER)] == [
        ("", "no links"), ("", "no fabric"), ("", "—"),
    ]  # fmt: skip
    assert [(f.value, f.absent) for f in figures(BARE)] == [("", "")] * 3
    for cell in (inside_cell, per_gpu_cell, cliff_cell, rdma_cell):
        assert "—" in cell(NEITHER)
        assert "unknown" in cell(BARE)


def test_only_what_could_be_known_is_unknown() -> None:
    assert not {"scale_up_gbytes_per_s", "fabric_nics", "multi_node", "sharp"} & set(
        unknowns(NEITHER)
    )
    assert {"scale_up", "scale_up_gbytes_per_s", "fabric", "fabric_nics"} <= set(unknowns(BARE))
    meshed = BARE | {"gpu_vendor": "amd", "scale_up": "infinity_fabric_mesh"}
    assert "nvlink_generation" not in unknowns(meshed)
    assert "scale_up_gbytes_per_s" in unknowns(meshed)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (NEITHER, "1 GPU, without links. No fabric joins instances."),
        (NEITHER | {"gpu_count": 0.125}, "0.125 GPU, without links. No fabric joins instances."),
        (NEITHER | {"gpu_count": 8},
         "8 GPUs without links between them. No fabric joins instances."),
        (NEITHER | {"fabric": "roce", "fabric_nics": 1, "fabric_gbits_per_s_per_nic": 100},
         "1 GPU, without links. Fabric: RoCE, 1 NIC of 100 Gb/s."),
        (NEITHER | {"fabric": "efa", "fabric_generation": "EFAv1",
                    "fabric_gbits_per_s_per_gpu": 40},
         "1 GPU, without links. Fabric: EFAv1, 40 Gb/s per GPU."),
        (NEITHER | {"fabric": "infiniband"},
         "1 GPU, without links. Fabric: InfiniBand, rate unknown."),
    ],
)  # fmt: skip
def test_the_drawing_in_words(kind: dict[str, Any], said: str) -> None:
    assert topology_text(kind) == said


def test_one_device_is_not_several() -> None:
    kind = BARE | {"fabric": "infiniband", "fabric_nics": 1}
    assert any(line.endswith(" 1 device") for line in nccl_lines(kind))


def test_a_line_about_a_type_says_nothing_twice() -> None:
    alone = BARE | {"scale_up": "none", "fabric": "ethernet"}
    assert summary(alone) == "1 × T4 16 GB · Ethernet"
    assert summary(alone | {"fabric": "efa", "fabric_generation": "EFAv1"}).endswith("· EFAv1")


def test_a_strip_of_prices_names_its_ends_and_its_signs() -> None:
    drawn = price_strip([("oslo", 2.0), ("tokyo", 3.5)], [1.0])
    said = re.findall(r"<text[^>]*>([^<]*)</text>", drawn)
    assert "lowest: oslo $2.00" in said
    assert "highest: tokyo $3.50" in said
    assert "○ on demand · ▲ spot" in said
    assert "▲" not in price_strip([("oslo", 2.0), ("tokyo", 3.5)], [])


def test_a_name_that_has_room_in_a_strip_of_prices_is_whole() -> None:
    drawn = price_strip([("southafricanorth", 23.33), ("eastus", 12.29)], [])
    said = re.findall(r"<text[^>]*>([^<]*)<", drawn)
    assert "highest: southafricanorth $23.33" in said
    assert "lowest: eastus $12.29" in said


KNOWN = {
    "gpu_count": 8, "gpu": "h100-sxm5-80gb", "scale_up": "nvswitch", "multi_node": True,
    "fabric": "infiniband", "disputed": [], "evidence": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ({"oversubscription": 1, "rail_optimised": True}, []),
        ({"oversubscription": 1, "rail_optimised": None},
         ["We found nothing on “Rail-optimised wiring”: what can you tell us?"]),
        ({"oversubscription": None, "rail_optimised": True},
         ["What is the oversubscription between leaf and spine?"]),
        ({"oversubscription": None, "rail_optimised": None},
         ["What is the oversubscription between leaf and spine, and is it rail-optimised?"]),
    ],
)  # fmt: skip
def test_what_is_known_is_no_open_question(said: dict[str, Any], left: list[str]) -> None:
    kind = {**KNOWN, **said}
    (question,) = (each for each in CHECKLIST if each.attribute == "oversubscription")
    assert question.left(kind, question.unsaid(kind)) == left


def test_a_count_is_said_in_the_readers_language() -> None:
    assert value_text("gpu_count", 8, "GPUs") == "8 GPUs"
    assert value_text("gpu_count", 1, "GPUs") == "1 GPU"
    with translation.override("ja"):
        assert value_text("gpu_count", 8, "GPUs") == "8 GPU"
        assert value_text("vcpus", 96, "vCPUs") == "96 vCPU"


@pytest.mark.django_db
def test_a_bar_of_the_cliff_is_on_the_scale_of_all() -> None:
    """With one side missing the other does not fill its bar: 1 GB/s of the 900 that it shows."""
    slow = cliff(NEITHER | {"fabric": "ethernet", "fabric_gbits_per_s_per_gpu": 8})
    assert slow["between_width"] == f"{100 / 900:.2f}"
    assert cliff(BARE | {"scale_up_gbytes_per_s": 450})["inside_width"] == "50.00"


def test_a_dispute_that_follows_from_another_is_told_once() -> None:
    def fact(name: str, basis: str) -> dict[str, Any]:
        return {"attribute": name, "disputed": True, "basis": basis, "claims": [], "value": 400,
                "unit": "Gb/s"}  # fmt: skip

    rate, total = "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s"
    kind = {"facts": [fact(rate, "documented"), fact(total, "derived")], "disputed": [rate, total]}
    assert [each["title"] for each in disputes(kind)] == [wording.title(rate)]


def test_a_row_of_prices_is_as_old_as_the_price_on_top() -> None:
    def offer(model: str, day: str, usd: str) -> dict[str, Any]:
        return {"region": "oslo", "tier": None, "via": None, "price_model": model, "stale": True,
                "outdated": True, "usd_per_gpu_hour": usd, "collected_at": day,
                "price_includes": None, "price_note": None}  # fmt: skip

    offers = [offer("on_demand", "2026-06-18", "3"), offer("spot", "2026-05-20", "1")]
    found = prices({"prices": offers, "history": []}, Money())
    (row,) = found["rows"]
    assert row["seen"] == found["lowest"]["collected_at"] == "2026-06-18"
    assert row["older"] == ["spot"]
    assert not found["tiers"]


@pytest.mark.parametrize(
    ("scale_up", "said"),
    [
        ("nvswitch", "NVLink per GPU, one way"),
        ("nvlink_bridge", "NVLink per GPU, one way"),
        ("infinity_fabric_mesh", "Infinity Fabric per GPU, one way"),
        ("gaudi_mesh", "Gaudi links per GPU, one way"),
        (None, "links per GPU, one way"),
    ],
)
def test_links_have_the_name_that_their_vendor_gives_them(scale_up: str | None, said: str) -> None:
    assert figures(BARE | {"scale_up": scale_up})[0].title == said

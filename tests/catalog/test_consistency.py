"""Equations that one provider's words must satisfy: refused in words, where a dispute is kept."""

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from catalog import bundled
from catalog.consistency import contradictions, faster_than_nvlink
from catalog.facts import DATA, BadFact, read
from catalog.ledger import spec
from catalog.records import Basis, Fact, Value


def said(basis: Basis = Basis.DOCUMENTED, scope: str = "", **values: Value) -> list[Fact]:
    """What is said of one type."""
    day = date(2026, 11, 29)
    return [
        Fact("acme/a", name, value, basis, "https://acme.example", day, scope=scope)
        for name, value in values.items()
    ]


def sentences(*facts: list[Fact]) -> list[str]:
    return [sentence for _, sentence in contradictions([f for some in facts for f in some])]


NICS = {"fabric_nics": 8, "fabric_gbits_per_s_per_nic": 400}


def test_nics_times_rate_is_the_total() -> None:
    assert sentences(said(**NICS, fabric_gbits_per_s=3200)) == []
    assert sentences(said(**NICS, fabric_gbits_per_s=1600)) == [
        "NICs × rate = total: 8 × 400 Gb/s is 3200 Gb/s, not 1600 Gb/s"
    ]


def test_links_times_rate_is_the_total_of_a_full_mesh() -> None:
    mesh = {"scale_up": "infinity_fabric_mesh", "scale_up_domain_gpus": 8}
    right = said(**mesh, scale_up_pair_gbytes_per_s=64, scale_up_gbytes_per_s=448)
    wrong = said(**mesh, scale_up_pair_gbytes_per_s=64, scale_up_gbytes_per_s=896)
    assert sentences(right) == []
    assert sentences(wrong) == ["links × rate = total: 7 × 64 GB/s is 448 GB/s, not 896 GB/s"]


def test_a_rate_through_a_switch_is_that_of_the_sku_and_headlines_count_both_ways() -> None:
    board = {"gpu": "h100-sxm5-80gb", "scale_up": "nvswitch"}
    assert sentences(said(**board, scale_up_gbytes_per_s=450)) == []
    (sentence,) = sentences(said(**board, scale_up_gbytes_per_s=900))
    assert sentence.endswith("has 450 GB/s one way, not 900 GB/s (that is both ways)")
    part = board | {"scale_up": "nvlink_bridge"}  # fewer links than the board has
    assert sentences(said(**part, scale_up_gbytes_per_s=300)) == []


def test_a_nic_is_no_faster_than_a_port_of_its_generation() -> None:
    hdr = {"fabric": "infiniband", "fabric_generation": "HDR"}
    assert sentences(said(**hdr, fabric_gbits_per_s_per_nic=200)) == []
    assert sentences(said(**hdr, fabric_gbits_per_s_per_nic=100)) == []  # HDR100: half a port
    assert sentences(said(**hdr, fabric_gbits_per_s_per_nic=400)) == [
        "rate ≤ port: a port of HDR has 200 Gb/s, not 400 Gb/s"
    ]
    efa = {"fabric": "efa", "fabric_generation": "EFAv3"}  # a protocol, of any rate
    assert sentences(said(**efa, fabric_gbits_per_s_per_nic=400)) == []


def test_no_nic_is_faster_than_the_fastest_port_that_is_sold() -> None:
    assert sentences(said(fabric_gbits_per_s_per_nic=800)) == []
    assert sentences(said(fabric_gbits_per_s_per_nic=1600)) == [
        "rate ≤ port: no NIC has 1600 Gb/s, the fastest has 800 Gb/s"
    ]
    assert sentences(said(fabric_nics=16, fabric_gbits_per_s=6400)) == []
    assert sentences(said(fabric_nics=4, fabric_gbits_per_s=12800)) == [
        "NICs × rate = total: 4 × 800 Gb/s, the fastest NIC, is less than 12800 Gb/s"
    ]
    assert sentences(said(fabric_nics=0, fabric_gbits_per_s=100)) == []


def test_a_measured_link_is_no_faster_than_those_of_its_sku_both_ways() -> None:
    assert faster_than_nvlink(Decimal(900), ["h100-sxm5-80gb"]) is None
    problem = "no NVLink is faster than the 900 GB/s of h100-sxm5-80gb, both ways together"
    assert faster_than_nvlink(Decimal(1800), ["h100-sxm5-80gb"]) == problem
    assert faster_than_nvlink(Decimal(1800), ["h100-pcie-80gb", "b200-sxm6-180gb"]) is None
    assert faster_than_nvlink(Decimal(1800), []) is None
    assert faster_than_nvlink(Decimal(9000), []) is not None


@pytest.mark.parametrize(
    ("listed", "bundled", "each", "total", "disputed"),
    [
        # equals that differ: the lower total, and the rate that goes with it
        ({"fabric_gbits_per_s": 1600}, Basis.DOCUMENTED, 200, 1600, True),
        # a weaker source for the rate follows the total
        ({"fabric_gbits_per_s": 1600}, Basis.STATED, 200, 1600, True),
        ({"fabric_gbits_per_s": 3200}, Basis.DOCUMENTED, 400, 3200, False),
    ],
)
def test_nics_rate_and_total_of_several_sources_are_never_mixed(
    listed: dict[str, Value], bundled: Basis, each: int, total: int, disputed: bool
) -> None:
    known = spec([*said(fabric_nics=8, **listed), *said(bundled, **NICS, fabric_gbits_per_s=3200)])
    names = ("fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
    assert tuple(known[name] for name in names) == (each, total)
    assert known.disputed == (names if disputed else ())


def test_a_total_of_a_weaker_source_follows_the_rate() -> None:
    known = spec([*said(**NICS), *said(Basis.STATED, fabric_gbits_per_s=1600)])
    assert (known["fabric_gbits_per_s"], known.disputed) == (3200, ("fabric_gbits_per_s",))


def test_a_peak_is_the_dense_one_of_the_sku() -> None:
    h100 = {"gpu": "h100-sxm5-80gb"}
    assert sentences(said(**h100, bf16_tflops=989)) == []
    (sentence,) = sentences(said(**h100, bf16_tflops=1979))
    assert sentence.startswith("dense peak: a h100-sxm5-80gb has 989.5 Tflop/s in bf16, not 1979")
    assert sentence.endswith("(that is the sparse one)")


def test_an_aggregator_is_held_to_the_equations_too() -> None:
    assert sentences(said(Basis.STATED, **NICS, fabric_gbits_per_s=1600)) != []
    assert sentences(said(Basis.DERIVED, **NICS, fabric_gbits_per_s=1600)) == []


def test_count_times_memory_is_the_total_but_of_a_slice() -> None:
    h100 = {"gpu": "h100-sxm5-80gb"}
    assert sentences(said(**h100, gpu_count=8, gpu_memory_gb=80)) == []
    assert sentences(said(**h100, gpu_count=8, gpu_memory_gb=640)) == [
        "count × memory = total: 8 × 640 GB is not 8 × 80 GB of h100-sxm5-80gb"
    ]
    assert sentences(said(**h100, gpu_count=0.5, gpu_memory_gb=40)) == []


def test_no_more_gpus_are_guaranteed_than_the_domain_has() -> None:
    wrong = said(scale_up_domain_gpus=36, scale_up_domain_guaranteed_gpus=72)
    assert sentences(wrong) == [
        "guaranteed ≤ domain: 72 GPUs are guaranteed of a domain of 36"
    ]  # fmt: skip


def test_a_dispute_stays_a_dispute() -> None:
    assert sentences(said(**NICS, fabric_gbits_per_s=1600), said(fabric_gbits_per_s=3200)) == []


def test_weaker_words_and_other_scopes_contradict_nothing() -> None:
    assert sentences(said(**NICS), said(Basis.STATED, fabric_gbits_per_s=1600)) == []
    assert sentences(said(**NICS), said(scope="oslo", fabric_gbits_per_s=1600)) == []
    assert sentences(said(**NICS, fabric_gbits_per_s=None)) == []


def test_the_bundled_catalog_contradicts_itself_nowhere() -> None:
    assert list(contradictions(read(DATA / "instances.csv"))) == []


def test_a_file_that_contradicts_itself_is_refused_by_file_subject_and_equation(
    tmp_path: Path,
) -> None:
    units = {"fabric_nics": "NICs", "fabric_gbits_per_s_per_nic": "Gb/s",
             "fabric_gbits_per_s": "Gb/s"}  # fmt: skip
    lines = [
        f"acme/a,{name},{value},{units[name]},documented,https://acme.example,2026-11-29,,"
        for name, value in {**NICS, "fabric_gbits_per_s": 1600}.items()
    ]
    for file in DATA.glob("*.csv"):  # of all others, the header alone
        (tmp_path / file.name).write_text(file.read_text().splitlines()[0] + "\n")
    with (tmp_path / "instances.csv").open("a") as text:
        text.write("\n".join(lines) + "\n")
    with pytest.raises(BadFact, match=r"^instances.csv, acme/a: NICs × rate = total: 8 × 400 "):
        bundled.read(tmp_path)

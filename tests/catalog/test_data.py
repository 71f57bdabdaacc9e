"""The bundled catalog, line by line: readable, sourced, whole, right where an expert looks.

No database: the files are read as `load_catalog` reads them.
"""

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache

import pytest

from catalog.facts import DATA, gpus, read
from catalog.known import Spec
from catalog.ledger import spec
from catalog.records import NVLINK, Basis, Fact, PriceModel
from scrapers.registry import PROVIDERS

FACTS = ("gpus.csv", "fabrics.csv", "instances.csv")
TABLES = {
    "prices.csv": "provider,instance_type,region,tier,price_model,amount,currency,per,"
    "minimum_hours,includes,note,source,checked",
    "regions.csv": "provider,region,country,continent,source",
    "providers.csv": "slug,title,homepage,country,also_known_as,source",
    "rates.csv": "currency,usd_per_unit,day,source",
}
CONTINENTS = {"africa", "asia", "europe", "north-america", "oceania", "south-america"}
TODAY = date(2026, 11, 29)
LINKED = {"sxm2", "sxm4", "sxm5", "sxm6", "superchip", "oam"}


@cache
def facts(name: str) -> tuple[Fact, ...]:
    return tuple(read(DATA / name))


@cache
def rows(name: str) -> tuple[dict[str, str], ...]:
    with (DATA / name).open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        assert ",".join(reader.fieldnames or ()) == TABLES[name]
        return tuple(reader)


@cache
def types() -> dict[str, Spec]:
    """Every instance type with what the ledger makes of its lines."""
    said: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts("instances.csv"):
        said[fact.subject].append(fact)
    return {subject: spec(claims) for subject, claims in said.items()}


def known(subject: str, attribute: str) -> object:
    return types()[subject][attribute]


# --- Every line ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FACTS)
def test_every_fact_reads_and_says_where_it_is_from_and_when(name: str) -> None:
    assert len(facts(name)) > 50
    for fact in facts(name):
        assert fact.source.strip()
        assert date(2024, 1, 1) <= fact.checked <= TODAY
        if fact.basis is Basis.DERIVED:
            assert fact.source.startswith("rule: "), fact
        else:
            assert re.match(r"https?://|github:[\w.-]+/[\w.-]+|secondary ", fact.source), fact


@pytest.mark.parametrize("name", FACTS)
def test_no_fact_is_said_twice_and_the_files_are_sorted(name: str) -> None:
    lines = Counter(
        (fact.subject, fact.attribute, str(fact.value), fact.scope, fact.basis is Basis.MEASURED)
        for fact in facts(name)
    )  # what somebody saw for himself may be what is said
    assert [line for line, times in lines.items() if times > 1] == []
    subjects = [fact.subject for fact in facts(name)]
    assert subjects == sorted(subjects)


@pytest.mark.parametrize("name", TABLES)
def test_every_row_of_a_table_has_its_columns_and_a_source(name: str) -> None:
    for row in rows(name):
        assert row["source"].strip(), row
        assert None not in row
        assert None not in row.values()


def test_no_file_names_a_machine_path_or_an_address_that_was_not_kept() -> None:
    for path in DATA.glob("*.csv"):
        text = path.read_text(encoding="utf-8")
        places = [f"/{folder}/" for folder in ("work", "tmp", "home")]
        for word in (*places, "public copy", "stored file"):
            assert word not in text, (path.name, word)


def test_every_provider_is_known_and_one_provider_has_one_slug() -> None:
    providers = {row["slug"] for row in rows("providers.csv")}
    used = {subject.split("/")[0] for subject in types()}
    used |= {row["provider"] for name in ("prices.csv", "regions.csv") for row in rows(name)}
    assert used <= providers  # and those of which only a scrape or an aggregator knows
    assert set(PROVIDERS) <= providers
    names = Counter(
        name.casefold()
        for row in rows("providers.csv")
        for name in {row["slug"], *filter(None, row["also_known_as"].split(";"))}
    )
    assert [name for name, times in names.items() if times > 1] == []
    assert any("datacrunch" in row["also_known_as"] for row in rows("providers.csv"))


# --- GPUs ---------------------------------------------------------------------------------------


def test_every_gpu_says_who_made_it_how_it_is_mounted_and_how_much_it_holds() -> None:
    for slug, said in gpus().items():
        form, memory = slug.split("-")[1:]
        assert said["gpu_vendor"].value in {"nvidia", "amd", "intel"}
        assert said["form_factor"].value == form
        assert f"{said['gpu_memory_gb'].value}gb" == memory


def test_only_gpus_that_always_carry_their_links_have_a_link_rate() -> None:
    for slug, said in gpus().items():
        if slug.split("-")[1] not in LINKED:
            assert "scale_up_gbytes_per_s" not in said, slug
            assert "nvlink_generation" not in said, slug


def test_a_card_that_takes_an_optional_bridge_is_not_said_to_be_unlinked() -> None:
    """Two of them in one box may be bridged: only the listing can say."""
    for slug in ("rtx3090-pcie-24gb", "rtx3090ti-pcie-24gb", "rtx2080ti-pcie-11gb"):
        assert "scale_up" not in gpus()[slug], slug


@pytest.mark.parametrize(
    ("slug", "attribute", "value"),
    [
        ("h100-sxm5-80gb", "scale_up_gbytes_per_s", 450),  # 900 is both ways
        ("h100-sxm5-80gb", "bf16_tflops", Decimal("989.5")),  # 1979 is sparse
        ("h200-sxm5-141gb", "memory_gbytes_per_s", 4800),
        ("a100-sxm4-80gb", "scale_up_gbytes_per_s", 300),
        ("a100-sxm4-40gb", "bf16_tflops", 312),
        ("b200-sxm6-180gb", "scale_up_gbytes_per_s", 900),
        ("b200-sxm6-180gb", "bf16_tflops", 2250),
        ("b200-sxm6-180gb", "fp4_tflops", 9000),
        ("b300-sxm6-288gb", "fp4_tflops", 14000),
        ("h800-sxm5-80gb", "scale_up_gbytes_per_s", 200),
        ("mi300x-oam-192gb", "scale_up_gbytes_per_s", 448),
        ("mi300x-oam-192gb", "scale_up_pair_gbytes_per_s", 64),
        ("gaudi3-oam-128gb", "bf16_tflops", 1835),
        ("l40s-pcie-48gb", "bf16_tflops", Decimal("362.05")),
        ("l4-pcie-24gb", "bf16_tflops", 121),
        ("a10g-pcie-24gb", "bf16_tflops", 70),  # 125 is the A10
        ("rtx5090-pcie-32gb", "bf16_tflops", 210),  # 419 is sparse, or FP16 accumulate
        ("rtx4090-pcie-24gb", "bf16_tflops", Decimal("165.2")),
        ("rtx5080-pcie-16gb", "bf16_tflops", 113),  # 225 is sparse, or FP16 accumulate
        ("rtx3080-pcie-10gb", "bf16_tflops", Decimal("59.5")),
        ("rtx3090ti-pcie-24gb", "memory_gbytes_per_s", 1008),
        ("rtx4060ti-pcie-16gb", "scale_up", "pcie"),
        ("v100-pcie-16gb", "scale_up", "pcie"),  # NVLink is on the SXM2 module only
        ("v710-pcie-24gb", "gpu_vendor", "amd"),
    ],
)
def test_a_gpu_has_its_dense_one_way_figures(slug: str, attribute: str, value: Decimal) -> None:
    assert gpus()[slug][attribute].value == value


# --- Instance types -----------------------------------------------------------------------------


def test_every_gpu_of_a_type_is_in_the_list_of_gpus() -> None:
    named = {fact.value for fact in facts("instances.csv") if fact.attribute == "gpu"} - {None}
    assert named <= set(gpus())


def test_every_type_says_its_gpu_or_that_nobody_says_and_its_count() -> None:
    asked = {(fact.subject, fact.attribute) for fact in facts("instances.csv")}
    for subject in types():
        assert known(subject, "gpu_count"), subject
        for attribute in ("gpu", "scale_up"):
            assert known(subject, attribute) or (subject, attribute) in asked, subject


def test_nics_times_rate_is_the_total() -> None:
    for subject in types():
        said = [
            types()[subject].findings.get(name)
            for name in ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
        ]
        if all(finding and not finding.disputed for finding in said):
            nics, rate, total = (Decimal(str(finding.value)) for finding in said if finding)
            assert nics * rate == total, subject


def test_a_domain_of_one_has_no_nvlink_and_nvlink_has_a_peer() -> None:
    for subject in types():
        links, domain = known(subject, "scale_up"), known(subject, "scale_up_domain_gpus")
        if links in ("none", "pcie"):
            assert domain == 1, subject
        if links in NVLINK and domain is not None:
            assert domain >= 2, subject


def test_a_rate_that_is_a_maximum_is_not_passed_off_as_a_promise() -> None:
    for subject in ("azure/Standard_NC96ads_A100_v4", "gcp/a2-highgpu-8g", "ibm/gx3-64x320x4l4"):
        fact = types()[subject].findings["fabric_gbits_per_s"].fact
        assert (fact.basis, fact.provisional) == (Basis.DERIVED, True), subject
    assert (
        not types()["azure/Standard_ND96isr_H100_v5"]
        .findings["fabric_gbits_per_s"]
        .fact.provisional
    )


def test_a_figure_that_its_source_calls_up_to_is_a_burst_and_no_front_end() -> None:
    said = [fact for fact in facts("instances.csv") if fact.attribute == "frontend_gbits_per_s"]
    assert not [fact for fact in said if re.search(r"\bup to\b", fact.note)]
    burst = types()["scaleway/H100-SXM-8-80G"]
    assert (burst["frontend_gbits_per_s"], burst["frontend_burst_gbits_per_s"]) == (None, 20)
    assert burst["fabric_gbits_per_s"] is None


def test_that_none_are_joined_is_said_by_the_provider_or_of_one_kind_of_network_alone() -> None:
    for fact in facts("instances.csv"):
        if fact.attribute == "multi_node" and fact.value == "no":
            assert fact.scope or fact.basis is Basis.DOCUMENTED, fact


def test_gpudirect_rdma_is_never_derived_from_the_fabric_alone() -> None:
    for fact in facts("instances.csv"):
        if fact.attribute == "gpudirect_rdma" and fact.basis is Basis.DERIVED and fact.value:
            assert re.search(r"https?://|github:|secondary", fact.source), fact


def test_disputes_are_the_ones_that_the_sources_really_have() -> None:
    disputed = {
        (subject, attribute)
        for subject, findings in types().items()
        for attribute in findings.disputed
    }
    assert ("aws/p6e-gb200.36xlarge", "fabric_gbits_per_s") in disputed
    assert ("azure/Standard_ND128isr_GB300_v6", "fabric_gbits_per_s") in disputed
    assert len(disputed) < 15


@pytest.mark.parametrize(
    ("subject", "expected"),
    [
        (
            "aws/p5.48xlarge",
            {
                "gpu": "h100-sxm5-80gb",
                "gpu_count": 8,
                "scale_up": "nvswitch",
                "scale_up_domain_gpus": 8,
                "nvlink_generation": 4,
                "fabric": "efa",
                "fabric_generation": "EFAv2",
                "fabric_nics": 32,
                "fabric_gbits_per_s": 3200,
                "gpudirect_rdma": "yes",
            },
        ),
        (
            "aws/p5.4xlarge",  # not a slice of the family's 3200
            {
                "gpu_count": 1,
                "scale_up": "none",
                "scale_up_domain_gpus": 1,
                "fabric_nics": 1,
                "fabric_gbits_per_s": 100,
                "gpudirect_rdma": "conditional",
            },
        ),
        ("aws/p4d.24xlarge", {"gpu": "a100-sxm4-40gb", "fabric_gbits_per_s": 400}),
        ("aws/p5en.48xlarge", {"fabric_nics": 16, "fabric_generation": "EFAv3"}),
        ("aws/p6-b200.48xlarge", {"fabric_nics": 8, "fabric_generation": "EFAv4"}),
        ("aws/p6-b300.48xlarge", {"fabric_nics": 16, "fabric_gbits_per_s": 6400}),
        ("aws/g5.48xlarge", {"fabric": "efa", "gpudirect_rdma": "no", "scale_up": "pcie"}),
        ("aws/g6f.2xlarge", {"gpu_count": Decimal("0.25"), "gpu_memory_gb": 6}),
        (
            "aws/p6e-gb200.36xlarge",  # 3200 and 1600 are both printed: the lower counts
            {
                "gpu_count": 4,
                "scale_up_domain_gpus": 72,
                "fabric_gbits_per_s": 1600,
                "multi_node": "reservation",
            },
        ),
        (
            "azure/Standard_ND96isr_H100_v5",
            {
                "gpu": "h100-sxm5-80gb",
                "fabric": "infiniband",
                "fabric_generation": "NDR",
                "fabric_nics": 8,
                "fabric_gbits_per_s_per_nic": 400,
                "fabric_gbits_per_s": 3200,
                "frontend_gbits_per_s": 80,
                "gpudirect_rdma": "yes",
                "sharp": "yes",
                "multi_node": "self_serve",
                "max_gpus_on_one_fabric": 2400,
            },
        ),
        (
            "azure/Standard_ND96amsr_A100_v4",
            {"fabric": "infiniband", "fabric_generation": "HDR", "fabric_gbits_per_s": 1600},
        ),
        (
            "azure/Standard_NC96ads_A100_v4",
            {
                "gpu": "a100-pcie-80gb",
                "scale_up": "nvlink_bridge",
                "scale_up_domain_gpus": 2,
                "scale_up_gbytes_per_s": 300,
                "fabric": "ethernet",
                "gpudirect_rdma": "no",
            },
        ),
        ("azure/Standard_NC80adis_H100_v5", {"gpu": "h100-nvl-94gb", "scale_up_domain_gpus": 2}),
        (
            "azure/Standard_NC24rs_v3",
            {"gpu": "v100-pcie-16gb", "scale_up": "pcie", "fabric": "infiniband"},
        ),
        (
            "azure/Standard_NC24s_v3",  # its page gives no network rate at all
            {"form_factor": "pcie", "fabric": "ethernet", "fabric_gbits_per_s": None},
        ),
        (
            "digitalocean/gpu-h200x8-1128gb-fabric-contracted",
            {"gpu": "h200-sxm5-141gb", "scale_up": "nvswitch", "fabric": "roce", "rdma": "yes"},
        ),
        (
            "digitalocean/gpu-mi300x8-1536gb-contracted",  # a single node: no fabric NICs
            {"fabric": "ethernet", "gpudirect_rdma": "no"},
        ),
        (
            "verda/Instant Cluster (16+ GPUs)",  # B200 or H200: the SKU differs, the board does not
            {"gpu": None, "scale_up": "nvswitch", "scale_up_domain_gpus": 8},
        ),
        ("oci/BM.GPU3.8", {"fabric": "ethernet", "fabric_gbits_per_s": 50, "gpu": None}),
        (
            "coreweave/gb200-4x",  # a rack that lacks more than two of its 18 nodes is taken out
            {"scale_up_domain_gpus": 72, "scale_up_domain_guaranteed_gpus": 64},
        ),
        ("gcp/a4x-highgpu-4g", {"scale_up_domain_guaranteed_gpus": 72}),  # reserved by the rack
        ("azure/Standard_ND128isr_NDR_GB200_v6", {"scale_up_domain_guaranteed_gpus": None}),
        ("aws/g5g.metal", {"fabric": "ethernet", "fabric_gbits_per_s": 25}),
        (
            "azure/Standard_ND96isr_MI300X_v5",
            {"scale_up": "infinity_fabric_mesh", "scale_up_pair_gbytes_per_s": 64},
        ),
        (
            "azure/Standard_ND128isr_NDR_GB200_v6",
            {"gpu_count": 4, "scale_up_domain_gpus": 72, "fabric_gbits_per_s": 1600},
        ),
        ("azure/Standard_NV6ads_A10_v5", {"gpu_count": Decimal("0.1667"), "gpu_memory_gb": 4}),
        (
            "gcp/a3-megagpu-8g",
            {
                "fabric": "gpudirect_tcpxo",
                "fabric_nics": 8,
                "fabric_gbits_per_s_per_nic": 200,
                "fabric_gbits_per_s": 1600,
                "frontend_gbits_per_s": 200,
                "gpudirect": "yes",
                "gpudirect_rdma": "no",
            },
        ),
        ("gcp/a3-highgpu-8g", {"fabric": "gpudirect_tcpx", "fabric_gbits_per_s": 800}),
        ("gcp/a3-highgpu-1g", {"scale_up": "none", "fabric": "ethernet"}),
        ("gcp/a3-ultragpu-8g", {"fabric": "roce", "fabric_gbits_per_s": 3200}),
        (
            "gcp/a2-megagpu-16g",
            {"gpu_count": 16, "scale_up": "nvswitch", "scale_up_domain_gpus": 16},
        ),
        ("gcp/a4x-highgpu-4g", {"gpu_count": 4, "scale_up_domain_gpus": 72}),
        (
            "oci/BM.GPU.H100.8",
            {"fabric": "roce", "fabric_gbits_per_s": 3200, "frontend_gbits_per_s": 100},
        ),
        ("oci/BM.GPU.H200.8", {"fabric": "roce"}),  # one benchmark entry says InfiniBand
        ("oci/BM.GPU4.8", {"fabric_nics": 8, "fabric_gbits_per_s": 1600}),
        ("oci/BM.GPU.L40S.4", {"scale_up": "pcie", "fabric": "roce", "fabric_gbits_per_s": 800}),
        ("oci/BM.GPU.GB200.4", {"gpu_count": 4, "scale_up_domain_gpus": 72}),
        ("coreweave/gb300-4x", {"fabric": "infiniband", "scale_up_domain_gpus": 72}),
        ("coreweave/gb300-4x-e", {"fabric": "roce", "sharp": "no"}),
        ("coreweave/gd-8xh100ib-i128", {"fabric": "infiniband", "fabric_gbits_per_s": 3200}),
        ("lambda/gpu_8x_h100_sxm5", {"scale_up": "nvswitch", "fabric": None, "multi_node": None}),
        ("lambda/gpu_2x_a100", {"gpu": "a100-pcie-40gb", "scale_up": None}),  # bridged? unsaid
        ("lambda/1-Click Cluster (H100)", {"fabric": "infiniband", "multi_node": "reservation"}),
        (
            "nebius/gpu-h100-sxm 8gpu-128vcpu-1600gb",
            {"fabric": "infiniband", "multi_node": "self_serve"},
        ),
        ("nebius/gpu-h100-sxm 1gpu-16vcpu-200gb", {"fabric": "ethernet", "multi_node": None}),
        ("hyperstack/n3-H100x8", {"scale_up": "pcie", "scale_up_domain_gpus": 1}),
        ("hyperstack/n3-H100x8-NVLink", {"scale_up": "nvlink_bridge", "scale_up_domain_gpus": 2}),
        ("hyperstack/n3-H100-SXM5x8", {"scale_up": "nvswitch", "scale_up_domain_gpus": 8}),
        ("ibm/gx3d-48x240x2a100p", {"scale_up": "pcie", "scale_up_domain_gpus": 1}),
        ("ibm/gx3d-160x1792x8gaudi3", {"scale_up": "gaudi_mesh", "fabric": "ethernet"}),
        ("ibm/gx3d-160x1792x8h100", {"fabric": "roce", "gpudirect_rdma": "conditional"}),
        ("scaleway/H100-2-80G", {"scale_up": "pcie", "scale_up_domain_gpus": 1}),
        ("scaleway/H100-SXM-2-80G", {"scale_up": "nvswitch", "scale_up_domain_gpus": 2}),
        ("ovh/h100-380", {"gpu_count": 1, "gpu": "h100-pcie-80gb"}),  # 380 GB is host memory
        ("ovh/h100-760", {"gpu_count": 2, "scale_up": "pcie"}),
        ("hotaisle/MI300X x2", {"scale_up_gbytes_per_s": 64, "scale_up_domain_gpus": 2}),
        ("crusoe/mi355x-288gb-roce.8x", {"fabric": "roce", "fabric_gbits_per_s": 3200}),
        ("crusoe/a100-80gb.8x", {"gpu": "a100-pcie-80gb", "fabric": "none"}),
        ("runpod/Instant Cluster: B200", {"fabric": None, "fabric_gbits_per_s": 3200}),
        ("tencent/HCCPNV5", {"gpu": "h800-sxm5-80gb", "scale_up_pair_gbytes_per_s": 200}),
        ("sakura/SAKURAONE (dedicated)", {"fabric": "roce", "fabric_gbits_per_s": 3200}),
        ("verda/8H100.80S.176V", {"scale_up": "nvswitch", "fabric": None}),  # nobody says
        (
            "abci/rt_HF",
            {"gpu": "h200-sxm5-141gb", "fabric": "infiniband", "fabric_gbits_per_s": 1600},
        ),
        ("alibaba/ecs.ebmgn8v.48xlarge", {"gpu": "h20-sxm5-96gb", "fabric": "erdma"}),
        ("alibaba/ecs.ebmgn8v.48xlarge", {"rdma": "yes"}),  # elastic RDMA, by its name
        ("aws/u-p6e-gb200x72", {"gpudirect_rdma": "yes", "rdma": "yes"}),
        ("gcp/a2-highgpu-8g", {"fabric": "ethernet", "multi_node": "self_serve"}),  # on the VPC
        ("azure/Standard_NC96ads_A100_v4", {"multi_node": None}),  # no RDMA; of a VNet is not said
        ("ibm/gx3d-160x1792x8gaudi3", {"multi_node": "no"}),  # "Cluster network capable: No"
        ("ibm/gx4d-232x3840x8b300", {"fabric": None, "gpudirect_rdma": "conditional"}),
        ("verda/2H100.80S.80V", {"fabric": None}),
        ("aws/p4d.24xlarge", {"ram_gb": Decimal("1236.95")}),  # 1152 GiB
    ],
)
def test_an_expert_finds_what_the_provider_says(subject: str, expected: dict[str, object]) -> None:
    assert {name: known(subject, name) for name in expected} == expected


# --- Prices -------------------------------------------------------------------------------------


def prices() -> Iterator[tuple[str, dict[str, str]]]:
    for row in rows("prices.csv"):
        yield f"{row['provider']}/{row['instance_type']}", row


def test_no_price_is_given_twice() -> None:
    identity = ("provider", "instance_type", "region", "tier", "price_model")
    seen = Counter(tuple(row[name] for name in identity) for row in rows("prices.csv"))
    assert [key for key, times in seen.items() if times > 1] == []


def test_a_price_is_above_zero_or_says_why_there_is_none() -> None:
    for _, row in prices():
        assert row["price_model"] in list(PriceModel)
        assert row["per"] in {"instance_hour", "gpu_hour"}
        assert date(2025, 1, 1) <= date.fromisoformat(row["checked"]) <= TODAY
        if row["amount"]:
            assert Decimal(row["amount"]) > 0
            assert re.fullmatch(r"[A-Z]{3}", row["currency"])
        else:
            assert row["note"]
        if row["minimum_hours"]:
            assert Decimal(row["minimum_hours"]) > 0


def test_every_priced_type_and_region_is_known() -> None:
    regions = {(row["provider"], row["region"]) for row in rows("regions.csv")}
    for subject, row in prices():
        assert subject in types()
        assert not row["region"] or (row["provider"], row["region"]) in regions, row


def test_a_gpu_hour_costs_what_a_gpu_hour_can_cost() -> None:
    rate = {row["currency"]: Decimal(row["usd_per_unit"]) for row in rows("rates.csv")}
    rate["USD"] = Decimal(1)
    for subject, row in prices():
        if row["amount"]:
            count = 1 if row["per"] == "gpu_hour" else Decimal(str(known(subject, "gpu_count")))
            usd = Decimal(row["amount"]) * rate[row["currency"]] / count
            assert Decimal("0.05") < usd < Decimal(60), row


def test_nvlink_and_infiniband_on_demand_is_a_real_choice() -> None:
    found = [
        row
        for subject, row in prices()
        if row["price_model"] == "on_demand"
        and row["amount"]
        and known(subject, "scale_up") in NVLINK
        and known(subject, "fabric") == "infiniband"
    ]
    assert len(found) >= 60
    assert len({row["provider"] for row in found}) >= 5


@pytest.mark.parametrize(
    ("key", "amount"),
    [
        (("aws", "p5.48xlarge", "us-east-1", "", "on_demand"), "55.04"),
        (("azure", "Standard_ND96isr_H100_v5", "eastus", "", "on_demand"), "98.32"),
        (("gcp", "a3-megagpu-8g", "us-central1", "", "on_demand"), "93.4007"),
        (("oci", "BM.GPU.H100.8", "", "", "on_demand"), "10"),  # per GPU
        (("coreweave", "gb200-4x", "", "", "on_demand"), "42"),  # four GPUs, not a rack
        (("sakura", "高火力 VRT/24Core-240GB-H100x1", "is1a", "", "on_demand"), "990"),  # JPY
        (("runpod", "NVIDIA H100 80GB HBM3", "", "secure", "on_demand"), "3.99"),
        (("runpod", "NVIDIA H100 80GB HBM3", "", "community", "on_demand"), "2.69"),
    ],
)
def test_a_known_price_is_there(key: tuple[str, ...], amount: str) -> None:
    identity = ("provider", "instance_type", "region", "tier", "price_model")
    (row,) = [row for row in rows("prices.csv") if tuple(row[name] for name in identity) == key]
    assert row["amount"] == amount


def test_a_price_not_published_is_not_nothing() -> None:
    quotes = [row for row in rows("prices.csv") if row["price_model"] == "quote"]
    assert quotes
    assert all(row["amount"] == "" and row["note"] for row in quotes)


# --- Places and money ---------------------------------------------------------------------------


def test_regions_have_a_country_and_a_continent_and_are_listed_once() -> None:
    seen = Counter((row["provider"], row["region"]) for row in rows("regions.csv"))
    assert max(seen.values()) == 1
    for row in rows("regions.csv"):
        assert re.fullmatch(r"[A-Z]{2}", row["country"])
        assert row["continent"] in CONTINENTS
    for provider, least in {"azure": 50, "aws": 30, "gcp": 40, "oci": 38}.items():
        assert sum(row["provider"] == provider for row in rows("regions.csv")) >= least


def test_every_currency_of_a_price_has_a_dated_rate() -> None:
    rates = {row["currency"]: row for row in rows("rates.csv")}
    assert {row["currency"] for row in rows("prices.csv")} <= {"", "USD", *rates}
    for row in rates.values():
        assert Decimal(row["usd_per_unit"]) > 0
        assert date.fromisoformat(row["day"]) <= TODAY

"""Clusters from the catalog's fields: rates, unknowns, and errors that name the field."""

import math
from decimal import Decimal

import pytest

from scoring import (
    Cluster,
    FieldError,
    best,
    cluster,
    cluster_fields,
    clusters,
    gpu,
    job,
    unknown_facts,
)
from scoring.algorithms import nic_rate
from scoring.collectives import bus_bytes_per_s, collective_time, fastest_algorithm, group
from scoring.constants import LINKS
from scoring.gpus import gpus

H100 = {
    "gpu": "h100-sxm5-80gb",
    "gpu_count": 8,
    "scale_up": "nvswitch",
    "scale_up_gbytes_per_s": 450,
    "scale_up_domain_gpus": 8,
    "fabric": "infiniband",
    "fabric_nics": 8,
    "fabric_gbits_per_s_per_nic": 400,
    "gpudirect": "yes",
}


def test_the_cliff_of_an_hgx_h100_with_eight_ndr_nics_is_nine():
    assert Cluster.from_fields(H100).cliff == 9.0


def test_every_reference_cluster_builds_and_is_known_whole():
    assert len(clusters()) >= 9
    for slug in clusters():
        assert not cluster(slug).unknown, slug


def test_every_gpu_has_memory_peak_source_and_kernels():
    for part in gpus().values():
        assert part.memory_bytes > 0
        assert part.memory_bytes_per_s > 1e11
        assert part.flop_per_s["bf16" if "bf16" in part.flop_per_s else "fp16"] > 1e13
        assert set(part.flop_per_s) - {"tf32", "fp64"} <= set(part.family.gemm)


def test_peaks_are_dense():
    assert gpu("h100-sxm5-80gb").flop_per_s["bf16"] == 989.5e12
    assert gpu("l40s-pcie-48gb").flop_per_s["bf16"] == 362e12


def test_a_gpu_without_the_precision_runs_in_the_next_wider_one():
    assert gpu("v100-sxm2-32gb").precision("bf16") == "fp16"
    assert gpu("a100-sxm4-80gb").precision("fp8") == "bf16"
    assert gpu("h100-sxm5-80gb").precision("nvfp4") == "fp8"


def test_an_unknown_fabric_is_a_stated_range_and_a_warning():
    unknown = Cluster.from_fields({**H100, "fabric": None, "fabric_nics": None, "gpudirect": None})
    assert unknown.unknown
    assert any("fabric" in note for note in unknown.assumptions)
    assert unknown.warnings
    low, high = unknown.pessimistic, unknown.optimistic
    rates = [c.nic_effective_bytes_per_s for c in (low, unknown, high)]
    assert rates == sorted(rates)
    assert rates[0] < rates[2] / 10


def test_unknown_gpudirect_is_read_both_ways():
    unknown = Cluster.from_fields({**H100, "gpudirect": None})
    assert unknown.pessimistic.gpudirect is False
    assert unknown.optimistic.gpudirect is True


def test_sockets_and_host_bounces_cost_what_they_are_known_to():
    bounced = Cluster.from_fields({**H100, "gpudirect": "no"})
    ethernet = Cluster.from_fields({**H100, "fabric": "ethernet"})
    direct = Cluster.from_fields(H100)
    assert bounced.nic_effective_bytes_per_s == 0.83 * direct.nic_effective_bytes_per_s
    assert ethernet.nic_effective_bytes_per_s * 8 == 6e9


def test_the_generation_of_nvlink_decides_and_its_rate_scales():
    h800 = Cluster.from_fields({"gpu": "h800-sxm5-80gb", "gpu_count": 8, "fabric": "none"})
    h100 = Cluster.from_fields({"gpu": "h100-sxm5-80gb", "gpu_count": 8, "fabric": "none"})
    assert h800.link is h100.link  # NVLink 4 at 200 of 450 GB/s
    g, size = group(h800, 8.0), 2.0**33
    assert fastest_algorithm(h800, "all_reduce", size, g) == "nvls"
    slow, fast = (collective_time(c, "all_reduce", size, g) for c in (h800, h100))
    assert slow == pytest.approx(fast * 450 / 200, rel=0.02)
    assert bus_bytes_per_s("all_reduce", size, 8, float(slow)) == pytest.approx(215e9, rel=0.05)


@pytest.mark.parametrize(
    ("said", "link"), [(None, "nvlink4"), (3, "nvlink3"), (5, "nvlink5"), (6, "nvlink5")]
)
def test_a_stated_generation_of_nvlink_comes_before_the_gpus_own(said, link):
    assert Cluster.from_fields({**H100, "nvlink_generation": said}).link_name == link


def test_peer_to_peer_that_nobody_states_is_a_trait_of_the_gpu():
    for slug, part in gpus().items():
        one = Cluster.from_fields({"gpu": slug, "gpu_count": 4, "scale_up": "pcie"})
        assert (one.pcie is LINKS["pcie_p2p"]) == part.pcie_p2p, slug


def test_a_mesh_pair_has_one_link_only():
    mi300x = cluster("mi300x-8")
    assert (mi300x.scale_up_bytes_per_s, mi300x.pair_bytes_per_s) == (448e9, 64e9)


def test_a_fraction_of_a_gpu_is_a_smaller_gpu():
    quarter = Cluster.from_fields({"gpu": "a10-pcie-24gb", "gpu_count": 0.25})
    assert quarter.gpu.memory_gb == 6
    assert quarter.gpu_count == 1


def test_a_whole_offer_of_the_catalog_is_accepted():
    offer = dict.fromkeys(
        ("provider", "region", "tier", "fabric_generation", "nvlink_domain_gpus", "sharp", "cliff")
    )
    for price in ("31.60", Decimal("31.60"), 31.6):
        assert Cluster.from_fields({**H100, **offer, "usd_per_hour": price}).usd_per_hour == 31.6


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gpu", "h100"),
        ("gpu", None),
        ("gpu_count", 0),
        ("gpu_count", 2.5),
        ("gpu_count", math.nan),
        ("gpu_count", True),
        ("scale_up", "magic"),
        ("scale_up_gbytes_per_s", math.inf),
        ("scale_up_gbytes_per_s", -1),
        ("scale_up_pair_gbytes_per_s", 900),
        ("fabric", "wet string"),
        ("fabric_gbits_per_s", "fast"),
        ("fabric_gbits_per_s", 1600),  # contradicts 8 × 400
        ("fabric_gbits_per_s", 1e12),
        ("gpudirect", "perhaps"),
        ("oversubscription", 0.5),
        ("usd_per_hour", "NaN"),
        ("gpu_cuont", 8),
    ],
)
def test_bad_input_names_its_field(field, value):
    with pytest.raises(FieldError) as caught:
        Cluster.from_fields({**H100, field: value})
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")


def test_an_unknown_field_is_told_the_near_one():
    with pytest.raises(FieldError, match="did you mean gpu_count"):
        Cluster.from_fields({**H100, "gpu_cuont": 8})


# ------------------------------------------------------------------ each fact reaches an estimate


def times(changed, ranks=64, kind="all_reduce"):
    """Seconds of a short and of a long collective on an H100 node with some fields changed."""
    where = Cluster.from_fields({**H100, **changed})
    g = group(where, float(ranks))
    return [float(collective_time(where, kind, size, g)) for size in (1e4, 1e9)]


def test_a_power_cap_slows_products_by_5_to_15_percent_and_memory_not_at_all():
    capped = Cluster.from_fields({**H100, "gpu_power_watts": 500})
    whole = Cluster.from_fields(H100)
    assert capped.gpu.flop_per_s["bf16"] / whole.gpu.flop_per_s["bf16"] == pytest.approx(
        0.874, 0.01
    )
    assert capped.gpu.memory_bytes_per_s == whole.gpu.memory_bytes_per_s
    slow, fast = (best(c, job("llama3-8b-pretrain"), 8).step_time_s for c in (capped, whole))
    assert 1.05 < slow / fast < 1.15


@pytest.mark.parametrize(("slug", "watts"), [("h100-sxm5-80gb", 1000), ("v100-pcie-16gb", 200)])
def test_a_power_cap_above_the_rating_or_without_one_is_refused(slug, watts):
    with pytest.raises(FieldError, match=r"^gpu_power_watts: "):
        Cluster.from_fields({"gpu": slug, "gpu_power_watts": watts})


def test_a_nic_is_no_faster_than_the_pcie_lanes_of_its_gpu():
    old, new = (Cluster.from_fields({**H100, "pcie_generation": g}) for g in (4, 5))
    assert old.nic_effective_bytes_per_s == 27.5e9
    assert new.nic_effective_bytes_per_s == 0.96 * 50e9
    # a superchip's NICs hang on its CPU: 800 Gbit/s reach it, 96 GB/s measured (NVIDIA/nccl#1579)
    gh200 = Cluster.from_fields(
        {
            "gpu": "gh200-superchip-96gb",
            "fabric": "infiniband",
            "fabric_nics": 4,
            "fabric_gbits_per_s_per_nic": 200,
            "gpudirect": "yes",
        }
    )
    assert gh200.nic_effective_bytes_per_s == pytest.approx(96e9, rel=0.01)


def test_fewer_nics_are_shared_by_the_gpus_of_a_node():
    full, half = (Cluster.from_fields({**H100, "fabric_nics": n}) for n in (8, 4))
    assert half.nic_effective_bytes_per_s == full.nic_effective_bytes_per_s / 2
    assert times({"fabric_nics": 4})[1] > 1.75 * times({})[1]


def test_peer_to_peer_over_pcie_is_worth_a_factor_on_four_cards():
    fields = {"gpu": "l40s-pcie-48gb", "gpu_count": 8, "scale_up": "pcie", "fabric": "none"}
    on, off = (Cluster.from_fields({**fields, "pcie_p2p": word}) for word in ("yes", "no"))
    g = group(on, 4.0)
    assert collective_time(off, "all_reduce", 1e8, g) > 2 * collective_time(
        on, "all_reduce", 1e8, g
    )


def test_a_bounce_through_the_host_costs_rate_and_latency():
    direct, bounced = times({}), times({"gpudirect": "no"})
    assert bounced[0] > direct[0] + 15e-6
    assert bounced[1] == pytest.approx(direct[1] / 0.83, rel=0.03)


def test_each_fabric_has_its_floor():
    floors = {
        fabric: times({"fabric": fabric}, ranks=16)[0]
        for fabric in ("infiniband", "omni_path", "efa", "gpudirect_tcpx", "ethernet")
    }
    assert list(floors.values()) == sorted(floors.values())
    assert 55e-6 < floors["efa"] < 110e-6  # 65 to 95 us on two p5, AWS nccl-tests README
    assert floors["ethernet"] > 3 * floors["infiniband"]
    # the same cards: 57 us on two A4, 45 us on two H200 over RoCE, 31 us on two H100 over IB
    roce = times({"fabric": "roce"}, ranks=16)[0]
    assert roce == pytest.approx(floors["infiniband"], rel=0.05)


def test_oversubscription_divides_the_rate_and_leaves_the_floor():
    one, two = times({}), times({"oversubscription": 2})
    assert two[0] < 1.1 * one[0]
    assert two[1] > 1.8 * one[1]


def test_hashed_flows_meet_in_a_network_of_many_tiers():
    def rate(changed, ranks):
        where = Cluster.from_fields({**H100, **changed})
        return nic_rate(where, group(where, float(ranks))) / where.nic_bytes_per_s

    roce = {"fabric": "roce"}
    assert rate(roce, 256) == 0.87
    assert rate(roce, 10_240) == pytest.approx(0.70, abs=0.02)
    for spread in ({"adaptive_routing": "yes"}, {"rail_optimised": "yes"}):
        assert rate({**roce, **spread}, 10_240) > 0.81
    assert rate({}, 10_240) > 0.9


SITES = {"site_gpus": 512, "site_link_gbits_per_s": 800, "site_round_trip_ms": 10}


def test_a_link_between_data_centres_sets_the_pace_of_what_crosses_it():
    assert times(SITES, ranks=512) == times({}, ranks=512)
    inside, across = times({}, ranks=1024), times(SITES, ranks=1024)
    assert across[0] == pytest.approx(inside[0] + 10e-3, rel=0.01)  # there and back once each way
    assert across[1] == pytest.approx(2e9 / 100e9 + 10e-3, rel=0.01)
    one, two = (
        best(Cluster.from_fields({**H100, **more}), job("gpt3-175b-pretrain"), 1024)
        for more in ({}, SITES)
    )
    assert two.step_time_s > 1.05 * one.step_time_s


def test_groups_side_by_side_share_the_link_between_data_centres():
    where = Cluster.from_fields({**H100, **SITES})
    alone, beside = (
        collective_time(where, "all_gather", 1e9, group(where, 1024.0 / n, n)) for n in (1.0, 8.0)
    )
    assert beside - 5e-3 == pytest.approx(8 * (alone - 5e-3), rel=0.01)


@pytest.mark.parametrize("missing", SITES)
def test_half_a_link_between_data_centres_is_refused(missing):
    with pytest.raises(FieldError, match=r"^site_"):
        Cluster.from_fields({**H100, **SITES, missing: None})


def test_part_of_a_rack_that_a_provider_guarantees_is_the_domain():
    rack = Cluster.from_fields(
        {**cluster_fields("gb200-nvl72"), "scale_up_domain_guaranteed_gpus": 36}
    )
    assert rack.domain_gpus == 36
    assert group(rack, 72.0).domains == 2.0


def test_each_unknown_that_moves_an_estimate_has_a_low_and_a_high():
    bare = {"gpu": "h100-sxm5-80gb", "gpu_count": 8}
    assert unknown_facts(bare) == {
        "fabric": ("ethernet", "infiniband"),
        "fabric_gbits_per_s": (25, 3200),
    }
    assert unknown_facts(bare | {"fabric": "infiniband"}) == {
        "fabric_gbits_per_s": (100, 3200),
        "gpudirect": ("no", "yes"),
    }
    assert unknown_facts(H100) == {}


@pytest.mark.parametrize("field", ["fabric", "fabric_gbits_per_s", "gpudirect"])
def test_what_an_unknown_may_be_is_what_the_interval_reaches_over(field):
    known = {"fabric": "infiniband", "fabric_gbits_per_s": 3200, "gpudirect": "yes"}
    given = {"gpu": "h100-sxm5-80gb", "gpu_count": 8, **known}
    del given[field]
    low, high = unknown_facts(given)[field]
    assert (
        Cluster.from_fields(given).pessimistic.bare()
        == Cluster.from_fields(given | {field: low}).bare()
    )
    assert (
        Cluster.from_fields(given).optimistic.bare()
        == Cluster.from_fields(given | {field: high}).bare()
    )

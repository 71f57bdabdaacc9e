"""Clusters from the catalog's fields: rates, unknowns, and errors that name the field."""

import math
from decimal import Decimal

import pytest

from scoring import Cluster, FieldError, cluster, clusters, gpu
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

"""What moving bytes costs: values by hand, limits that must hold, and the figures of the field."""

from dataclasses import replace
from math import log, log2

import numpy as np
import pytest

from scoring.algorithms import crossing_s, expert_exchange, ring_all_gather, ring_all_reduce
from scoring.collectives import (
    ALGORITHMS,
    KINDS,
    Group,
    bus_bytes_per_s,
    bus_factor,
    collective_time,
    domain_rate,
    expected_bus,
    fastest_algorithm,
    group,
    legal_times,
)
from scoring.constants import data_file
from scoring.curves import correction
from scoring.hardware import Cluster, cluster, clusters

SIZES = 2.0 ** np.arange(10, 36, 0.5)
SELENE, H100 = cluster("selene-a100"), cluster("dgx-h100-ndr")


def bus(slug: str, kind: str, size: float, ranks: int) -> float:
    """Bus bandwidth of a lone group on a reference cluster. [GB/s]"""
    where = cluster(slug)
    took = float(collective_time(where, kind, size, group(where, float(ranks), alone=True)))
    return bus_bytes_per_s(kind, size, ranks, took) / 1e9


def test_a_ring_all_reduce_of_one_gigabyte_by_hand():
    # rate = 300 GB/s · .82 · 8/(8 + .28) = 237.681 GB/s; x = 2·7/8 · 1e9 / rate = 7.36280 ms
    # latency = 9.4 µs + 14 · .84 µs; ramp = √(14 · 4 µs · x) = .642119 ms
    took = ring_all_reduce(SELENE, 1e9, group(SELENE, 8.0))
    assert took == pytest.approx(7.36280e-3 + 21.16e-6 + 0.642119e-3, rel=1e-5)


def test_between_nodes_the_ring_runs_at_the_lanes_of_a_node_by_hand():
    # 2 nodes of 8: min(237.7, 8 lanes · 25 GB/s · .96 = 192) GB/s; 15 steps, of them 2 crossings
    # latency = 9.4 + (13 · .84 + 2 · 16) · 1.4 µs = 69.488 µs; x = 15/16 · 1e9 / 192e9; no ramp
    took = ring_all_gather(SELENE, 1e9, group(SELENE, 16.0))
    assert took == pytest.approx(69.488e-6 + 15 / 16 * 1e9 / 192e9, rel=1e-5)


def test_a_step_of_a_short_message_between_nodes_takes_a_share_of_a_long_one():
    # NVIDIA/nccl#812: rings over two DGX A100, 93 to 94 µs up to 512 B
    short = ring_all_reduce(SELENE, 64.0, group(SELENE, 16.0))
    assert short == pytest.approx(93e-6, rel=0.05)
    assert crossing_s(SELENE, 0.0) < 0.6 * crossing_s(SELENE, 1e-3)
    assert crossing_s(SELENE, 1e-3) == pytest.approx(SELENE.hop_s, rel=1e-3)


@pytest.mark.parametrize("slug", clusters())
@pytest.mark.parametrize("kind", KINDS)
def test_one_rank_is_free(slug, kind):
    where = cluster(slug)
    assert collective_time(where, kind, 1e9, group(where, 1.0)) == 0.0


def test_all_reduce_is_reduce_scatter_and_all_gather():
    for ranks in (2.0, 8.0, 64.0, 512.0):
        g = group(H100, ranks)
        both = ring_all_gather(H100, 1e9, g) * 2 - H100.link.base_s  # one base, not two
        assert ring_all_reduce(H100, 1e9, g) == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ranks", [2, 4, 8, 16, 64, 512])
def test_more_bandwidth_is_never_slower(kind, ranks):
    for slug in clusters():
        where = cluster(slug)
        wider = replace(
            where,
            nic_bytes_per_s=where.nic_bytes_per_s * 2,
            scale_up_bytes_per_s=where.scale_up_bytes_per_s * 2,
            pair_bytes_per_s=where.pair_bytes_per_s * 2,
        )
        for size in (1e3, 1e6, 1e9):
            slow = collective_time(where, kind, size, group(where, float(ranks)))
            assert collective_time(wider, kind, size, group(wider, float(ranks))) <= slow * (
                1 + 1e-12
            )


@pytest.mark.parametrize("kind", KINDS)
def test_more_bytes_are_never_faster(kind):
    g = group(H100, 64.0)
    times = [float(collective_time(H100, kind, 10.0**e, g)) for e in range(1, 11)]
    assert times == sorted(times)


def test_the_choice_is_the_minimum_over_legal_algorithms():
    for ranks in (2.0, 8.0, 16.0, 256.0):
        g = group(H100, ranks)
        times = legal_times(H100, "all_reduce", 1e8, g)
        assert collective_time(H100, "all_reduce", 1e8, g) == min(times.values())
        assert times[fastest_algorithm(H100, "all_reduce", 1e8, g)] == min(times.values())


def test_bus_bandwidth_is_that_of_nccl_tests():
    assert bus_factor("all_reduce", 8.0) == 1.75
    assert bus_factor("all_gather", 8.0) == bus_factor("all_to_all", 8.0) == 0.875
    assert bus_factor("broadcast", 8.0) == bus_factor("send_recv", 8.0) == 1.0


def test_a_shift_among_many_ranks_is_no_faster_than_a_step_of_their_ring():
    two, eight = (bus("selene-a100", "send_recv", 1e9, ranks) for ranks in (2, 8))
    assert eight < two
    assert eight == pytest.approx(domain_rate(SELENE, 8.0) / 1e9, rel=0.01)


@pytest.mark.parametrize(
    ("slug", "kind", "size", "ranks", "gbytes_per_s"),
    [
        # stas00/ml-engineering network/README; NVIDIA/nccl-tests#212
        ("dgx-h100-ndr", "all_reduce", 17.2e9, 8, 480),
        ("dgx-h100-ndr", "all_gather", 17.2e9, 8, 361),
        ("selene-a100", "all_reduce", 17.2e9, 8, 235),
        ("dgx-b200-ndr", "all_reduce", 8.6e9, 8, 838),
        ("mi300x-8", "all_reduce", 4.3e9, 2, 47.7),
        ("mi300x-8", "all_reduce", 4.3e9, 8, 312.9),
        # coreweave/nccl-tests: one rack of NVL72; 64 H100 with SHARP
        ("gb200-nvl72", "all_reduce", 8.6e9, 72, 835),
        ("azure-nd-h100-v5", "all_reduce", 8.6e9, 64, 387),
        # aws-samples: two p5
        ("aws-p5", "all_reduce", 17.2e9, 16, 487),
        # aiconfigurator: L40S without peer to peer; Vidur: H100 NVL pairs
        ("l40s-pcie-8", "all_reduce", 5.4e8, 2, 20.1),
        ("l40s-pcie-8", "all_reduce", 5.4e8, 4, 5.2),
        ("l40s-pcie-8", "all_reduce", 5.4e8, 8, 1.4),
        ("h100-nvl-pairs", "all_reduce", 5.4e8, 2, 191),
        ("h100-nvl-pairs", "all_reduce", 5.4e8, 4, 48.8),
    ],
)
def test_measured_bus_bandwidths_are_met_within_a_sixth(slug, kind, size, ranks, gbytes_per_s):
    assert bus(slug, kind, size, ranks) == pytest.approx(gbytes_per_s, rel=1 / 6)


def test_in_switch_reduction_speeds_all_reduce_alone_and_only_from_five_ranks():
    g8, g4 = group(H100, 8.0), group(H100, 4.0)
    assert fastest_algorithm(H100, "all_reduce", 4e9, g8) == "nvls"
    assert fastest_algorithm(H100, "all_reduce", 4e9, g4) == "ring"
    assert set(ALGORITHMS["all_gather"]) == {"ring", "pat"}


def test_two_nodes_beat_what_a_ring_could_and_many_do_not():
    two, many = bus("aws-p5", "all_reduce", 8e9, 16), bus("aws-p5", "all_reduce", 8e9, 128)
    ring_cap = 8 * cluster("aws-p5").nic_effective_bytes_per_s / 1e9
    assert two > ring_cap > many


def test_sharp_helps_where_it_is_enabled():
    off = replace(cluster("azure-nd-h100-v5"), sharp=False)
    g = group(off, 256.0)
    assert collective_time(cluster("azure-nd-h100-v5"), "all_reduce", 1e8, g) < collective_time(
        off, "all_reduce", 1e8, g
    )


def test_groups_that_straddle_nodes_have_fewer_sure_lanes():
    # 12 ranks on nodes of 8 lie 8 + 4 and 4 + 8: 4 lanes, 3 islands; alone they lie 6 + 6
    assert (group(H100, 12.0).near, group(H100, 12.0).domains) == (4.0, 3.0)
    assert (group(H100, 12.0, alone=True).near, group(H100, 12.0, alone=True).domains) == (6.0, 2.0)
    # data-parallel ranks eight apart each sit in a node of their own
    assert (group(H100, 16.0, 8.0).near, group(H100, 16.0, 8.0).domains) == (1.0, 16.0)
    # 16 ranks in a rack of 72 stay inside it
    assert group(cluster("gb200-nvl72"), 16.0).domains == 1.0


# ------------------------------------------------------------------ measured curves


def measured():
    """Every point of curves.toml: a machine of its kind, collective, ranks, bytes, seconds."""
    for table in data_file("curves.toml")["machine"]:
        where = Cluster.from_fields(table["cluster"])
        for curve in table["curve"]:
            for size, us in zip(curve["bytes"], curve["us"], strict=True):
                yield where, curve["kind"], float(curve["ranks"]), float(size), us * 1e-6


def test_a_curve_is_met_at_its_points():
    off = {}
    for where, kind, ranks, size, seconds in measured():
        g = group(where, ranks, alone=True)
        on_the_grid = size == 2 ** round(log2(size)) and ranks == 2 ** round(log2(ranks))
        off[on_the_grid] = max(
            off.get(on_the_grid, 0.0), abs(log(collective_time(where, kind, size, g) / seconds))
        )
    assert off[True] < 1e-9
    assert off[False] < 0.08  # 72 ranks and sizes between powers of two lie between grid lines


def test_a_curve_is_of_a_kind_of_link_and_not_of_a_product():
    h200 = Cluster.from_fields({"gpu": "h200-sxm5-141gb", "gpu_count": 8, "fabric": "none"})
    g = group(H100, 8.0)
    assert collective_time(h200, "all_reduce", 2e6, g) == collective_time(
        H100, "all_reduce", 2e6, g
    )
    renamed = replace(H100, name="elsewhere", gpu=h200.gpu)
    assert correction(renamed, "all_to_all", 2e6, g) == correction(H100, "all_to_all", 2e6, g) != 1


def test_half_the_bandwidth_halves_a_long_measured_message():
    thin = replace(H100, scale_up_bytes_per_s=H100.scale_up_bytes_per_s / 2)
    g = group(H100, 4.0)
    ratio = collective_time(thin, "all_gather", 1.6e10, g) / collective_time(
        H100, "all_gather", 1.6e10, g
    )
    assert ratio == pytest.approx(2.0, rel=0.03)


def test_curves_end_where_the_fabric_begins():
    two_nodes = group(H100, 16.0)
    assert correction(H100, "all_reduce", 1e8, two_nodes) == 1.0
    assert correction(cluster("mi300x-8"), "all_reduce", 1e8, group(H100, 8.0)) == 1.0


def test_longer_measured_messages_take_longer():
    for where in [Cluster.from_fields(m["cluster"]) for m in data_file("curves.toml")["machine"]]:
        for kind in KINDS:
            for ranks in (2.0, 3.0, 4.0, 6.0, 8.0):
                g = group(where, ranks, alone=True)
                times = collective_time(where, kind, SIZES, columns(g))
                assert (np.diff(times) > -0.02 * times[1:]).all(), (where.gpu.slug, kind, ranks)


def columns(g):
    """The same group for every size."""
    return Group(*(np.full(len(SIZES), value) for value in (g.ranks, g.fast, g.near, g.domains)))


@pytest.mark.parametrize("slug", clusters())
def test_a_column_of_groups_equals_each_of_them(slug):
    where = cluster(slug)
    for kind in KINDS:
        for ranks in (1.0, 2.0, 3.0, 8.0, 72.0, 144.0, 512.0):
            g = group(where, ranks, alone=True)
            column = collective_time(where, kind, SIZES, columns(g))
            one_by_one = [float(collective_time(where, kind, size, g)) for size in SIZES]
            assert column == pytest.approx(one_by_one, rel=1e-12), (kind, ranks)


def test_serving_kernels_beat_nccl_on_short_messages_only():
    g = group(H100, 8.0)

    def gain(size):
        return collective_time(H100, "all_reduce", size, g) / collective_time(
            H100, "custom_all_reduce", size, g
        )

    assert gain(16e3) > 2 > 1.2 > gain(1e9)


def test_a_reduce_is_a_broadcast_run_backwards():
    for ranks in (2.0, 8.0, 64.0):
        g = group(H100, ranks)
        assert collective_time(H100, "reduce", 1e8, g) == collective_time(H100, "broadcast", 1e8, g)


def test_tokens_of_a_mixture_cross_the_fabric_once_a_node():
    # 4,096 tokens of 7,168 with 8 experts each: DeepEP measured 2.6 ms over 2 nodes of H100 and
    # 5.5 ms over 4 (aiconfigurator@095f58a51)
    for ranks, ms in ((16.0, 2.63), (32.0, 5.49)):
        took = expert_exchange(H100, 4096.0, 7168.0, 8.0, group(H100, ranks))
        assert took * 1e3 == pytest.approx(ms, rel=0.12)


def test_what_nccl_tests_should_print_rises_with_the_size_to_what_was_measured():
    found = expected_bus(cluster("dgx-h100-ndr"), 8, (1_048_576, 134_217_728, 8_589_934_592))
    rates = [rate / 1e9 for _size, rate in found]
    assert rates == sorted(rates)
    assert 450 < rates[-1] < 490  # stas00 network/README: 473 to 482 GB/s from 4 GB on

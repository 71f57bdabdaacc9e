"""A run of nccl-tests against line rate, the model, and others; and what NCCL's log shows."""

import json

import pytest

from scoring.cli import main as run_main
from scoring.collectives import bus_bytes_per_s, collective_time, group
from scoring.fields import FieldError
from scoring.hardware import Cluster, cluster_fields
from scoring.nccl_check import FAULTS, _spread, check_run, line_rate
from scoring.nccl_log import read_log
from scoring.nccl_tests import read_run
from scoring.nccl_words import FAULT_WORDS, contradictions, sentences, verdict
from scoring.what_if import SCENARIOS, scenarios, supposing
from tests.scoring.test_nccl_tests import OURS, header, row

SIZES = tuple(1 << power for power in range(20, 34, 2))
DGX = cluster_fields("dgx-h100-ndr")


def printed(fields, ranks=16, hosts=2, test="all_reduce", slower=1.0, log=""):
    """What a cluster of these fields would print, were the model right."""
    cluster = Cluster.from_fields(fields)
    g = group(cluster, float(ranks), alone=True)
    kind = OURS.get(test, test)
    times = [float(collective_time(cluster, kind, float(s), g)) for s in SIZES]
    rows = [row(test, ranks, s, slower * 1e6 * t) for s, t in zip(SIZES, times, strict=True)]
    return read_run("\n".join([f"{test}_perf", header(ranks, hosts, cluster.gpu.slug), log, *rows]))


def codes(held):
    """The codes of its sentences."""
    return [each.code for each in sentences(held)]


def test_a_cluster_that_does_what_is_predicted_is_as_it_should_be():
    held = check_run(printed(DGX), DGX)
    assert held.largest.of_prediction == pytest.approx(1.0, abs=0.01)
    assert not held.slow
    assert (held.looks_like, held.dip) == ((), None)
    assert "as_predicted" in codes(held)


@pytest.mark.parametrize("fault", ["sockets", "half_the_nics"])
@pytest.mark.parametrize("slug", ["dgx-h100-ndr", "selene-a100"])
def test_a_fault_of_the_fabric_is_recognised_by_its_curve(slug, fault):
    fields = cluster_fields(slug)
    sold = Cluster.from_fields(fields)
    run = printed(supposing(fields, scenarios(sold, 64)[fault]), ranks=64, hosts=8)
    held = check_run(run, fields)
    same = {"half_the_nics", "oversubscribed_2_to_1"}  # no all-reduce tells these two apart
    assert set(held.looks_like) == (same if fault in same else {fault})
    assert {"slower", *held.looks_like} <= set(codes(held))
    assert ("alike" in codes(held)) == (fault in same)


def test_the_log_overrules_what_a_curve_looks_like():
    sold = Cluster.from_fields(DGX)
    slow = supposing(DGX, scenarios(sold, 16)["sockets"])
    direct = line("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA")
    assert "sockets" not in check_run(printed(slow, log=direct), DGX).looks_like
    halved = supposing(DGX, scenarios(sold, 16)["half_the_nics"])
    held = check_run(printed(halved, log=line("Using network Socket")), DGX)
    assert held.looks_like == ("sockets",)


def test_links_that_are_off_are_recognised_inside_a_node():
    off = supposing(DGX, {"scale_up": "pcie", "nvlink_generation": None})
    held = check_run(printed(off, ranks=8, hosts=1), DGX)
    assert held.looks_like == ("links_off",)


def named(count, of="IB"):
    """A log in which a node has so many NICs."""
    return line("NET/IB : Using " + " ".join(f"[{n}]mlx5_{n}:1/{of}" for n in range(count)))


@pytest.mark.parametrize(
    ("seen", "faults"),
    [(4, ("fewer_nics",)), (8, ("oversubscribed_2_to_1",))],
)
def test_the_log_tells_missing_nics_from_a_fabric_that_is_shared(seen, faults):
    halved = supposing(DGX, scenarios(Cluster.from_fields(DGX), 16)["half_the_nics"])
    held = check_run(printed(halved, log=named(seen)), DGX)
    assert held.looks_like == faults
    assert ("nics" in codes(held)) == (seen < 8)


def test_channels_without_gpudirect_are_the_likely_cause_of_a_slow_run():
    channels = [line(f"Channel 0{n}/0 : 0[0] -> 8[0] [send] via NET/IB/{n}") for n in range(8)]
    held = check_run(printed(DGX, slower=5.0, log="\n".join(channels)), DGX)
    assert held.looks_like == ("rdma_off",)
    assert {"rdma_off", "bounce"} <= set(codes(held))
    mixed = "\n".join([channels[0] + "/GDRDMA", *channels[1:]])
    held = check_run(printed(DGX, slower=5.0, log=mixed), DGX)
    assert held.looks_like == ("rdma_partly_off",)
    said = {each.code: str(each) for each in sentences(held)}
    assert "7 of 8" in said["mixed"]
    assert "gdr" not in said
    assert verdict(held)["gpudirect_rdma_seen"] is False


SUMMING = {**DGX, "sharp": "yes"}


def test_a_run_that_the_switches_did_not_sum_is_healthy_and_told_why_it_is_no_faster():
    held = check_run(spread(DGX, 16, 16), SUMMING)
    assert (held.slow, held.looks_like) == (False, ("sharp_off",))
    assert {"as_predicted", "sharp_off"} <= set(codes(held))
    assert check_run(spread(SUMMING, 16, 16), SUMMING).looks_like == ()


def spread(fields, ranks, hosts):
    """What ranks print that are spread evenly, were the model right."""
    cluster = Cluster.from_fields(fields)
    g = _spread(cluster, ranks, hosts)
    us = [1e6 * float(collective_time(cluster, "all_reduce", float(s), g)) for s in SIZES]
    rows = [row("all_reduce", ranks, s, t) for s, t in zip(SIZES, us, strict=True)]
    return read_run("\n".join(["all_reduce_perf", header(ranks, hosts), *rows]))


RACK = {
    "gpu": "gb200-superchip-186gb", "gpu_count": 4, "scale_up": "nvswitch",
    "scale_up_gbytes_per_s": 900, "scale_up_domain_gpus": 72, "fabric": "infiniband",
    "fabric_nics": 4, "fabric_gbits_per_s": 1600, "gpudirect_rdma": "yes",
}  # fmt: skip


def rack(fields, log=""):
    """72 GPUs of 18 trays."""
    return printed(fields, ranks=72, hosts=18, log=log)


def test_a_whole_domain_is_judged_inside_though_fewer_gpus_of_it_are_guaranteed():
    held = check_run(rack(RACK), {**RACK, "scale_up_domain_guaranteed_gpus": 64})
    assert (held.across, held.slow, held.line_rate_gbytes_per_s) == (False, False, 900)
    said = {each.code: str(each) for each in sentences(held)}
    assert "links inside" in said["line_rate"]
    assert "gdr_unseen" not in said  # nothing leaves over a NIC
    assert {peer.fabric for peer in held.peers} == {"none"}
    assert (held.peers[0].ranks, held.peers[0].gpu) == (72, RACK["gpu"])


def test_trays_that_meet_over_the_network_alone_are_recognised():
    apart = {**RACK, "scale_up_domain_gpus": 4}
    assert check_run(rack(apart), RACK).looks_like == ("domain_off",)
    direct = line("Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0/GDRDMA")
    held = check_run(rack({**apart, "fabric_gbits_per_s": 400}, log=direct), RACK)
    assert held.looks_like == ("domain_off",)


def test_where_the_links_inside_are_the_narrower_they_are_the_line_rate():
    held = check_run(printed(RACK, ranks=144, hosts=36), RACK)
    assert (held.across, held.line_rate_gbytes_per_s) == (True, 900)
    assert "links inside" in str(next(sentences(held)))


def test_every_fault_has_its_scenario_and_its_words():
    assert set(FAULTS) <= set(SCENARIOS)
    by_the_log = {"rdma_partly_off", "fewer_nics"}
    assert set(FAULT_WORDS) == {*FAULTS, *by_the_log, "links_off", "domain_off", "sharp_off"}


def test_a_run_of_something_else_is_not_explained_away():
    held = check_run(printed(DGX, slower=9.0, ranks=8, hosts=1), DGX)
    assert (held.slow, held.looks_like) == (True, ())
    assert "no_fault" in codes(held)


def test_line_rate_by_hand():
    """8 NICs of 400 Gb/s a node are 400 GB/s; NVLink of an H100 one way is 450."""
    cluster = Cluster.from_fields(DGX)
    across, inside = (group(cluster, float(n), alone=True) for n in (16, 8))
    for kind in ("all_reduce", "all_gather", "reduce_scatter", "broadcast"):
        assert line_rate(cluster, kind, inside) == 450e9
        assert line_rate(cluster, kind, across) == 400e9
    assert line_rate(cluster, "send_recv", across) == 50e9
    # 8 of 15 peers are beyond the node, over 50 GB/s: 50 · 15/8 = 93.75 GB/s of bus bandwidth
    assert line_rate(cluster, "all_to_all", across) == pytest.approx(93.75e9)


def test_an_unknown_fabric_leaves_line_rate_unknown_and_widens_what_is_predicted():
    fields = {key: DGX[key] for key in ("gpu", "gpu_count")}
    held = check_run(printed(DGX), fields)
    assert (held.line_rate_gbytes_per_s, held.of_line_rate) == (None, None)
    assert "line_rate_unknown" in codes(held)
    point = held.largest
    assert point.low_gbytes_per_s < point.predicted_gbytes_per_s < point.high_gbytes_per_s
    said = next(str(each) for each in sentences(held) if each.code == "as_predicted")
    for bound in held.judged_by:
        assert f"{bound:.4g}" in said


def test_twice_a_line_rate_is_another_cluster():
    held = check_run(printed(DGX), cluster_fields("l40s-pcie-8"))
    assert codes(held)[:3] == ["contradicted", "other_gpu", "impossible"]


OF_SPEED = {"line_rate", "over_line_rate", "as_predicted", "slower", "faster", "no_fault", "peers"}


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (" 0\n", " 7\n", "corrupt"),
        ("H100 80GB HBM3", "A100-SXM4-80GB", "other_gpu"),
        ("402.65", "502.65", "busbw"),
        ("# end", "n: Test NCCL failure common.cu:1279 'remote process exited'", "failed"),
    ],
)
def test_of_a_paste_that_contradicts_itself_or_the_type_no_speed_is_judged(old, new, code):
    text = f"all_reduce_perf\n{header(16, 2)}\n{row('all_reduce', 16, 1 << 30, 5000)}\n# end"
    assert old in text
    held = check_run(read_run(text.replace(old, new)), DGX)
    first, *others = codes(held)
    assert first == "contradicted"
    assert not OF_SPEED & set(others)
    assert [each.code for each in contradictions(held)] == [code]
    plain = verdict(held)
    assert (
        plain["of_prediction"] is plain["of_line_rate"] is plain["judged_by_gbytes_per_s"] is None
    )


def test_a_dip_in_the_middle_is_said_though_the_largest_message_is_fine():
    run = printed(DGX)
    middle = run.rows[3]
    slow = row("all_reduce", 16, middle.size, 5 * middle.timings[0].time_us)
    text = [f"{header(16, 2)}", "all_reduce_perf"]
    rows = [row("all_reduce", 16, r.size, r.timings[0].time_us) for r in run.rows]
    rows[3] = slow
    held = check_run(read_run("\n".join([*text, *rows])), DGX)
    assert getattr(held.dip, "size", None) == middle.size
    assert {"as_predicted", "dip"} <= set(codes(held))


def test_peers_are_of_the_same_collective_and_fabric_with_their_source():
    held = check_run(printed(DGX), DGX)
    nearest = held.peers[0]
    assert (nearest.fabric, nearest.ranks, nearest.gbits_per_s_per_gpu) == ("infiniband", 16, 400)
    assert len({peer.source for peer in held.peers}) == len(held.peers) > 1
    alone = check_run(spread(DGX, 16, 16), DGX).peers  # a node each: nobody measured that
    assert not alone
    inside = check_run(printed(DGX, ranks=8, hosts=1), DGX).peers
    assert {(peer.fabric, bool(peer.source)) for peer in inside} == {("none", True)}


@pytest.mark.parametrize(
    ("ranks", "hosts", "nodes", "named"),
    [(1, 1, None, "ranks"), (16, 1, None, "ranks"), (16, 2, 4, "nodes")],
)
def test_what_the_type_cannot_be_is_refused_by_name(ranks, hosts, nodes, named):
    run = read_run(f"all_reduce_perf\n{header(ranks, hosts)}\n{row('all_reduce', ranks, 8192, 90)}")
    with pytest.raises(FieldError) as refused:
        check_run(run, DGX, nodes)
    assert refused.value.field == named


def test_no_fabric_joins_no_nodes():
    with pytest.raises(FieldError, match="no fabric joins"):
        check_run(printed(DGX), {**DGX, **dict.fromkeys(DGX), "gpu": DGX["gpu"], "gpu_count": 8,
                                 "fabric": "none"})  # fmt: skip


def test_one_gpu_of_each_node_has_its_own_nic_alone():
    text = f"all_reduce_perf\n{header(2, 2)}\n{row('all_reduce', 2, 1 << 30, 25_000)}"
    held = check_run(read_run(text), DGX)
    assert (held.across, held.line_rate_gbytes_per_s) == (True, 50)


# --- The log ---------------------------------------------------------------------------------


def signs_of(log, fields=DGX, **more):
    """The signs that a log shows, beside a run that is as it should be."""
    held = check_run(printed(fields, log=log, **more), fields)
    return {each.code: each.line for each in sentences(held)}


def line(text):
    """As NCCL prints it."""
    return f"node-0:41:77 [0] NCCL INFO {text}"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA", "gdr"),
        ("Channel 00/0 : 3[3] -> 8[0] [send] via NET/IB/0(1)/GDRDMA", "gdr"),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IBext_v11/0/GDRDMA", "gdr"),
        ("Channel 03 : 15[a01d0] -> 6[a01c0] [receive] via NET/AWS Libfabric/3/GDRDMA", "gdr"),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0", "bounce"),
        ("Channel 00/0 : 0[0] -> 1[0] [send] via NET/Libfabric/0", "bounce"),
        ("NET/OFI Need to force simple protocol: GDR not supported", "bounce"),
        ("Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0", "sockets"),
        ("Using network Socket", "sockets"),
        ("NET/Socket : Using [0]eth0:100.64.47.75<0>", "sockets"),
        ("NET/OFI Selected Provider is tcp, fabric is 10.201.0.0/16 (found 2 nics)", "sockets"),
        ("Bootstrap : Using eth0:172.17.0.2<0>", "gdr_unseen"),  # how ranks find each other
        ("NCCL_IB_DISABLE set by environment to 1.", "sockets"),
        ("NCCL_NET set by environment to Socket.", "sockets"),
        ("NET/IB : No device found.", "sockets"),
        ("NCCL_NET_GDR_LEVEL set by environment to LOC", "bounce"),
        ("NCCL_IB_DISABLE set by environment to 0.", "gdr_unseen"),
        ("NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]", "nics"),
    ],
)
def test_a_line_of_the_log_shows_how_messages_leave(text, code):
    found = signs_of(line(text))
    assert code in found
    if code not in ("gdr_unseen", "nics"):
        assert found[code] == 22  # behind the test's name and the header's 20 lines


def test_sockets_beside_rdma_only_start_the_ranks():
    both = [line("NET/IB : Using [0]mlx5_0:1/IB"), line("NET/Socket : Using [0]eth0:10.0.0.5<0>")]
    assert not read_log(both).sockets
    assert read_log(both[1:]).sockets
    plugin = [line("NCCL_IB_DISABLE set by environment to 1."), line("NET/IB : No device found."),
              line("NET/OFI Selected Provider is efa")]  # fmt: skip
    assert not read_log(plugin).sockets
    assert read_log(plugin[:1]).sockets


def test_inside_one_node_the_network_is_no_sign():
    found = signs_of(line("Using network Socket"), ranks=8, hosts=1)
    assert not {"sockets", "gdr_unseen"} & set(found)


def test_shared_memory_between_linked_gpus_is_a_bad_sign_and_between_cards_is_none():
    text = line("Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct")
    assert "links_off" in signs_of(text, ranks=8, hosts=1)
    cards = cluster_fields("l40s-pcie-8")
    assert "links_off" not in signs_of(text, cards, ranks=8, hosts=1)


# --- The doors -------------------------------------------------------------------------------


def test_everything_is_plain_and_in_the_units_of_its_names():
    said = json.loads(json.dumps(verdict(check_run(printed(DGX), DGX))))
    last = said["rows"][-1]
    took = last["measured_us"] * 1e-6
    bus = bus_bytes_per_s("all_reduce", last["bytes"], 16, took) / 1e9
    assert last["measured_bus_gbytes_per_s"] == pytest.approx(bus, abs=0.02)
    assert said["gpudirect_rdma_seen"] is None  # nothing in the paste shows it


def test_the_command_says_the_same_of_a_file(tmp_path, capsys):
    text = f"all_reduce_perf\n{header(16, 2)}\n{row('all_reduce', 16, 1 << 33, 33_000)}"
    file = tmp_path / "out.txt"
    file.write_text(text)
    assert run_main(["nccl", str(file), "--cluster", "dgx-h100-ndr", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(
        json.dumps(verdict(check_run(read_run(text), DGX)))
    )
    assert run_main(["nccl", str(file), "--cluster", "dgx-h100-ndr"]) == 0
    assert "line rate" in capsys.readouterr().out
    file.write_text(text.replace("H100 80GB HBM3", "A100-SXM4-80GB"))
    assert run_main(["nccl", str(file), "--cluster", "dgx-h100-ndr"]) == 1
    capsys.readouterr()
    file.write_text("1024 256 float sum -1 1 2")
    assert run_main(["nccl", str(file), "--cluster", "dgx-h100-ndr"]) == 2
    assert "line 1" in capsys.readouterr().err

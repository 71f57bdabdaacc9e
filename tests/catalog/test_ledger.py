"""Which statement speaks, and what follows from it. Pure: no database."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from catalog import ledger
from catalog.known import Spec
from catalog.records import OFFER_KEYS, Basis, Fact, OfferRecord, PriceModel, Value

DAY = date(2026, 11, 1)


def said(attribute: str, value: Value, basis: str = "documented", **more: object) -> Fact:
    return Fact("p/t", attribute, value, Basis(basis), "https://example.com", DAY, **more)


def known(**values: Value) -> Spec:
    return ledger.spec(said(name, value) for name, value in values.items())


def test_eight_sxm_gpus_are_on_one_nvswitch_and_say_by_which_rule():
    board = known(gpu="h100-sxm5-80gb", gpu_count=Decimal(8))
    assert (board["scale_up"], board.nvlink_domain_gpus) == ("nvswitch", 8)
    assert board["scale_up_gbytes_per_s"] == 450  # one way; headlines print 900
    evidence = board.findings["scale_up"].fact
    assert evidence.basis is Basis.DERIVED
    assert "8-GPU SXM board has NVSwitch" in evidence.source


def test_one_gpu_has_no_peer_and_so_no_nvlink_bandwidth():
    single = known(gpu="h100-sxm5-80gb", gpu_count=Decimal(1))
    assert (single["scale_up"], single["scale_up_domain_gpus"]) == ("none", 1)
    assert single["scale_up_gbytes_per_s"] is None
    assert single.cliff is None


def test_two_sxm_gpus_of_nobody_knows_which_board_stay_unknown():
    part = known(gpu="h100-sxm5-80gb", gpu_count=Decimal(2))
    assert part["scale_up"] is None
    assert part.nvlink_domain_gpus is None


def test_a_bare_pcie_card_that_takes_a_bridge_stays_unknown():
    assert known(gpu="h100-pcie-80gb", gpu_count=Decimal(8))["scale_up"] is None


def test_an_nvl_pair_is_not_an_nvl72():
    pair = known(gpu="h100-nvl-94gb", gpu_count=Decimal(2))
    assert (pair["scale_up"], pair.nvlink_domain_gpus) == ("nvlink_bridge", 2)


def test_a_rack_domain_is_larger_than_the_instance():
    tray = known(
        gpu="gb200-superchip-186gb",
        gpu_count=Decimal(4),
        scale_up="nvswitch",
        scale_up_domain_gpus=72,
    )
    assert tray.nvlink_domain_gpus == 72
    assert tray.domain_gpu_memory_gb == 72 * 186


def test_a_mesh_gives_one_link_to_each_peer():
    whole = known(gpu="mi300x-oam-192gb", gpu_count=Decimal(8))
    assert whole["scale_up"] == "infinity_fabric_mesh"
    assert whole["scale_up_gbytes_per_s"] == 448
    assert whole["scale_up_pair_gbytes_per_s"] == 64
    assert whole.nvlink_domain_gpus == 1  # another vendor's links are not NVLink


def test_nics_times_rate_is_the_total_and_the_cliff_is_one_way_against_one_way():
    node = known(
        gpu="h100-sxm5-80gb",
        gpu_count=Decimal(8),
        fabric="infiniband",
        fabric_nics=8,
        fabric_gbits_per_s_per_nic=Decimal(400),
    )
    assert node["fabric_gbits_per_s"] == 3200
    assert node.fabric_gbits_per_s_per_gpu == 400
    assert node.cliff == 9  # 450 GB/s ÷ (400 Gb/s ÷ 8)


def test_on_plain_ethernet_the_front_end_is_what_joins_instances():
    cap = "provisional: the most that is allocated, not promised"
    plain = ledger.spec(
        [
            said("gpu_count", Decimal(4)),
            said("fabric", "ethernet"),
            said("frontend_gbits_per_s", Decimal(80), provisional=True, note=cap),
        ]
    )
    fabric = plain.findings["fabric_gbits_per_s"].fact
    assert (fabric.value, fabric.basis, plain.fabric_gbits_per_s_per_gpu) == (80, "derived", 20)
    assert (fabric.provisional, fabric.note) == (True, cap)  # no more a promise than it was


def test_a_burst_is_no_speed_and_a_front_end_is_no_fabric():
    burst = known(fabric="ethernet", frontend_burst_gbits_per_s=Decimal(25))
    assert burst["fabric_gbits_per_s"] is None
    joined = known(fabric="infiniband", frontend_gbits_per_s=Decimal(80))
    assert joined["fabric_gbits_per_s"] is None
    assert known(frontend_gbits_per_s=Decimal(80))["fabric_gbits_per_s"] is None
    alone = known(fabric="ethernet", multi_node="no", frontend_gbits_per_s=Decimal(80))
    assert alone["fabric_gbits_per_s"] is None


def test_who_says_the_sku_says_the_form_factor_and_an_observation_stands_beside_it():
    one = ledger.spec([said("gpu", "h100-sxm5-80gb"), said("form_factor", "pcie", "measured")])
    assert one["form_factor"] == "sxm5"
    assert {claim.value for claim in one.findings["form_factor"].claims} == {"sxm5", "pcie"}
    seen = ledger.spec([said("gpu", None), said("form_factor", "sxm5", "measured")])
    assert seen["form_factor"] == "sxm5"


def test_gpudirect_rdma_never_follows_from_a_fabric():
    assert known(fabric="infiniband")["gpudirect_rdma"] is None
    assert known(fabric="efa")["gpudirect_rdma"] is None


def test_what_a_kind_of_fabric_is_follows_by_definition():
    assert known(fabric="infiniband")["rdma"] == "yes"
    assert known(fabric="infiniband")["sharp"] is None  # the switch can; is it enabled?
    assert known(fabric="roce")["sharp"] == "no"
    assert known()["sharp"] is None


def test_tcpxo_is_gpudirect_and_not_rdma():
    mega = known(fabric="gpudirect_tcpxo")
    assert (mega["gpudirect"], mega["gpudirect_rdma"]) == ("yes", "no")


def test_the_strongest_basis_speaks_and_the_weaker_claim_is_kept():
    one = ledger.spec([said("fabric_nics", 4, "stated"), said("fabric_nics", 8)])
    assert one["fabric_nics"] == 8
    assert one.disputed == ()
    assert {claim.value for claim in one.findings["fabric_nics"].claims} == {4, 8}


def test_equals_that_differ_are_disputed_and_the_lower_is_used():
    one = ledger.spec([said("fabric_gbits_per_s", 3200), said("fabric_gbits_per_s", 1600)])
    assert one["fabric_gbits_per_s"] == 1600
    assert one.disputed == ("fabric_gbits_per_s",)


@pytest.mark.parametrize(
    ("attribute", "promising", "modest"),
    [
        ("gpudirect_rdma", "yes", "no"),
        ("multi_node", "self_serve", "no"),
        ("scale_up", "nvswitch", "pcie"),
        ("fabric", "infiniband", "ethernet"),
    ],
)
def test_of_two_disputed_words_the_one_that_promises_less_is_used(attribute, promising, modest):
    assert ledger.spec([said(attribute, promising), said(attribute, modest)])[attribute] == modest


def test_a_fact_of_one_region_does_not_speak_for_the_type():
    assert ledger.spec([said("fabric_nics", 8, scope="eu-north1")])["fabric_nics"] is None


def test_looked_and_not_found_is_unknown_not_no():
    one = ledger.spec([said("gpudirect_rdma", None)])
    assert one["gpudirect_rdma"] is None


def test_what_a_listing_withholds_is_not_filled_in_from_the_board():
    board = ledger.spec(
        [
            said("gpu", "h100-sxm5-80gb"),
            said("gpu_count", Decimal(8)),
            said("scale_up", None, note="withheld: bw_nvlink is 0"),
        ]
    )
    assert board["scale_up"] is None
    assert board.nvlink_domain_gpus is None
    assert board["scale_up_gbytes_per_s"] is None


def test_an_offer_has_every_key_and_money_as_text():
    record = OfferRecord(
        provider="p",
        instance_type="t",
        price_model=PriceModel.ON_DEMAND,
        collected_at=datetime(2026, 11, 1, tzinfo=UTC),
        source_url="https://example.com",
        facts=(said("gpu", "h100-sxm5-80gb"), said("gpu_count", Decimal(8))),
        native_amount=Decimal("23.9200"),
        native_currency="USD",
        usd_per_hour=Decimal("23.92"),
        usd_rate=Decimal(1),
    )
    offer = ledger.describe(record)
    assert tuple(offer) == OFFER_KEYS
    assert (offer["usd_per_hour"], offer["usd_per_gpu_hour"]) == ("23.92", "2.99")
    assert offer["native_amount"] == "23.92"
    assert (offer["gpu_count"], offer["fabric"], offer["cliff"]) == (8, None, None)


def test_the_form_factor_says_how_a_whole_board_is_joined_whichever_sku_it_is():
    board = known(form_factor="sxm4", gpu_count=Decimal(8))
    assert (board["scale_up"], board["scale_up_domain_gpus"], board["gpu"]) == ("nvswitch", 8, None)
    assert known(form_factor="sxm4", gpu_count=Decimal(4))["scale_up"] is None
    assert known(form_factor="pcie", gpu_count=Decimal(8))["scale_up"] is None


@pytest.mark.parametrize("count", [2, 4, 8])
def test_amd_modules_are_a_mesh_however_many_of_a_board_are_rented(count: int):
    part = known(gpu="mi325x-oam-256gb", gpu_count=Decimal(count))
    assert (part["scale_up"], part["scale_up_domain_gpus"]) == ("infinity_fabric_mesh", count)


def test_rdma_between_gpus_is_rdma_and_so_is_elastic_rdma():
    assert known(fabric="efa", gpudirect_rdma="yes")["rdma"] == "yes"
    assert known(fabric="efa", gpudirect_rdma="conditional")["rdma"] is None
    assert known(fabric="erdma")["rdma"] == "yes"
    assert known(fabric="erdma")["gpudirect_rdma"] is None


def test_what_follows_is_as_old_as_the_oldest_of_what_it_follows_from():
    old, older = date(2025, 3, 1), date(2024, 1, 1)
    board = ledger.spec(
        [
            said("gpu", "h100-sxm5-80gb"),
            replace(said("gpu_count", Decimal(8)), checked=old),
            said("fabric", "infiniband"),
            replace(said("vcpus", Decimal(96)), checked=older),
        ]
    )
    day = {name: finding.fact.checked for name, finding in board.findings.items()}
    assert day["scale_up"] == day["scale_up_domain_gpus"] == old  # by the count of GPUs
    assert day["rdma"] == DAY  # by the fabric alone: no age of the host's CPUs


def test_what_follows_from_a_dispute_is_disputed_and_says_what_follows_from_each_claim():
    node = ledger.spec(
        [
            said("gpu", "h100-sxm5-80gb"),
            said("gpu_count", Decimal(8)),
            said("fabric", "roce"),
            said("fabric_nics", 16),
            said("fabric_nics", 8),
            said("fabric_gbits_per_s_per_nic", Decimal(200)),
            said("frontend_gbits_per_s", Decimal(100)),
        ]
    )
    assert node.disputed == ("fabric_nics", "fabric_gbits_per_s")
    whole = node.findings["fabric_gbits_per_s"]
    assert (whole.value, {claim.value for claim in whole.claims}) == (1600, {1600, 3200})
    assert not node.findings["rdma"].disputed  # it follows from the fabric, which is not


def test_a_dispute_goes_on_through_every_rule():
    board = ledger.spec(
        [
            said("gpu", "mi300x-oam-192gb"),
            said("gpu_count", Decimal(8)),
            said("scale_up_domain_gpus", 4),
            said("scale_up_domain_gpus", 8),
        ]
    )
    inside = board.findings["scale_up_gbytes_per_s"]  # a link of 64 GB/s to each of 3 or 7 peers
    assert inside.disputed
    assert [claim.value for claim in inside.claims] == [192, 448]
    assert not board.findings["scale_up_pair_gbytes_per_s"].disputed

"""The numbers of `manage.py quality`."""

import json
import re
from dataclasses import replace
from datetime import date
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from catalog.models import QuarantinedRow
from catalog.quality import KINDS, quality
from catalog.records import Basis, Fact, Value
from tests.catalog.conftest import MONDAY, facts, offer, scrape

pytestmark = pytest.mark.django_db
KEYS = {
    "offers", "providers", "coverage", "coverage_in_place", "facts_without_source", "disputes",
    "stale_providers",
    "quarantined", "documented", "spec", "stated", "measured", "derived", "by_provider",
    "provisional", "nvidia_amd", "disputes_by_attribute", "discrepancies", "oldest_checks",
    "facts_past_their_limit", "cross_checks", "price_discrepancies",
}  # fmt: skip


def test_coverage_is_the_share_of_multi_gpu_offers_that_say_it() -> None:
    said = {"fabric": "infiniband", "gpudirect_rdma": "yes"}
    one = facts("acme/one", gpu_count=1)
    scrape(
        [offer("told", facts=facts("acme/told", **said)), offer("silent"), offer("one", facts=one)]
    )
    numbers = quality()
    assert set(numbers) == KEYS
    assert (numbers["offers"], numbers["providers"]) == (3, 1)
    coverage = numbers["coverage"]
    assert (coverage["fabric"], coverage["gpudirect_rdma"], coverage["sharp"]) == (0.5, 0.5, 0)
    assert coverage["scale_up"] == 1  # eight SXM GPUs on a board: derived, by a named rule


def test_what_has_no_place_is_not_asked_for() -> None:
    """Cards on PCIe alone have no link speed, and where no fabric is there are no NICs of one."""
    alone = facts("acme/cards", scale_up="pcie", fabric="none")
    told = facts("acme/told", scale_up="nvswitch", scale_up_gbytes_per_s=450, fabric="roce")
    scrape([offer("cards", facts=alone), offer("told", facts=told), offer("silent")])
    placed, whole = quality()["coverage_in_place"], quality()["coverage"]
    assert (placed["fabric_nics"], whole["fabric_nics"]) == (0, 0)
    known = whole["scale_up_gbytes_per_s"]
    assert placed["scale_up_gbytes_per_s"] == pytest.approx(known * 3 / 2, abs=2e-4)
    assert placed["fabric"] == whole["fabric"]
    said = StringIO()
    call_command("quality", stdout=said)
    assert re.search(r"scale_up_gbytes_per_s .*where it has a place", said.getvalue())


def test_of_a_catalog_without_fabrics_nobody_asks_for_nics(client: Client) -> None:
    scrape([offer("cards", facts=facts("acme/cards", scale_up="pcie", fabric="none"))])
    assert quality()["coverage_in_place"]["fabric_nics"] is None
    [told] = client.get("/api/v1/providers/?fields=slug,coverage").json()["results"]
    assert told["slug"] == "acme"
    shown = client.get("/providers/").content.decode()
    assert f"<b>{100 * told['coverage']:.0f}</b>" in shown


def test_disputes_stale_providers_and_quarantine_are_counted() -> None:
    both = facts("acme/h100x8") + facts("acme/h100x8", gpu_count=4)
    runs = [scrape([offer()]), scrape([offer(facts=both)], days=1)]
    for run in runs:  # the same row in two lists is one question, and of the newest list
        QuarantinedRow.objects.create(run=run, reason="no price", where="offers[0]", key="k")
    numbers = quality()
    assert (numbers["disputes"], numbers["quarantined"]) == (1, 1)
    assert numbers["stale_providers"] == ["acme"]  # of 2026-11-24, three days and more ago
    assert numbers["facts_without_source"] == 0


def test_the_command_tells_it_by_provider() -> None:
    scrape([offer()])
    said = StringIO()
    call_command("quality", "--json", stdout=said)
    numbers = json.loads(said.getvalue())
    assert set(numbers) >= KEYS
    assert numbers["by_provider"]["acme"]["scale_up"] == 1
    call_command("quality", stdout=said)
    assert "share of multi-GPU offers" in said.getvalue()


def test_coverage_is_taken_apart_by_how_a_value_is_known() -> None:
    said = {"fabric": "infiniband", "fabric_gbits_per_s": 3200}
    stated = (replace(fact, basis=Basis.STATED) for fact in facts("acme/b", gpu=None, **said))
    scrape([offer("a", facts=facts("acme/a", **said)),
            offer("b", facts=(*facts("acme/b"), *stated)), offer("c")])  # fmt: skip
    numbers = quality()
    assert numbers["coverage"]["fabric"] == 0.6667
    assert (numbers["documented"]["fabric"], numbers["stated"]["fabric"]) == (0.3333, 0.3333)
    assert numbers["documented"]["fabric_gbits_per_s_per_gpu"] == 0.3333  # as what it comes from
    assert (numbers["derived"]["scale_up"], numbers["documented"]["scale_up"]) == (1, 0)
    for name, share in numbers["coverage"].items():
        assert sum(numbers[kind][name] for kind in KINDS) == pytest.approx(share, abs=3e-4)


def test_the_two_vendors_of_clusters_are_counted_apart_and_an_unnamed_one_with_them() -> None:
    gaudi = facts("acme/gaudi", gpu="gaudi3-oam-128gb")
    scrape([
        offer("h100", facts=facts("acme/h100", fabric="roce")),
        offer("mi300x", facts=facts("acme/mi300x", gpu="mi300x-oam-192gb", fabric="roce")),
        offer("gaudi", facts=gaudi),
        offer("unnamed", facts=facts("acme/unnamed", gpu=None)),
    ])  # fmt: skip
    numbers = quality()
    assert (numbers["coverage"]["fabric"], numbers["nvidia_amd"]["fabric"]) == (0.5, 0.6667)
    assert numbers["nvidia_amd"]["form_factor"] == 0.6667


def test_what_a_source_does_not_promise_is_known_and_said_to_be_provisional() -> None:
    def front(name: str, **more: Any) -> tuple[Fact, ...]:
        said = facts(f"acme/{name}", fabric="ethernet", frontend_gbits_per_s=80)
        return tuple(replace(f, **more) if f.attribute.startswith("front") else f for f in said)

    scrape([offer("sure", facts=front("sure")), offer("cap", facts=front("cap", provisional=True))])
    numbers = quality()
    name = "fabric_gbits_per_s_per_gpu"
    assert (numbers["coverage"][name], numbers["derived"][name]) == (1, 1)
    assert (numbers["provisional"][name], numbers["provisional"]["fabric"]) == (0.5, 0)


def test_stated_software_is_counted_though_no_list_shows_it() -> None:
    scrape([offer("a", facts=facts("acme/a", software_support="NCCL plugin: yes")), offer("b")])
    assert quality()["coverage"]["software_support"] == 0.5


def test_disputes_are_counted_by_attribute() -> None:
    both = {"a": (3200, 1600), "b": (800, 400)}
    scrape([
        offer(name, facts=tuple(f for rate in rates for f in
                                facts(f"acme/{name}", fabric_gbits_per_s=rate)))
        for name, rates in both.items()
    ])  # fmt: skip
    assert quality()["disputes_by_attribute"] == {"fabric_gbits_per_s": 2}


def test_the_checks_of_longest_ago_come_first() -> None:
    old = Fact("acme/b", "sharp", "no", Basis.STATED, "https://old.example", date(2024, 5, 1))
    scrape([offer("a", facts=facts("acme/a", fabric="roce")),
            offer("b", facts=(*facts("acme/b"), old))])  # fmt: skip
    numbers = quality()
    assert numbers["facts_past_their_limit"] == 1
    assert numbers["oldest_checks"][0] == {
        "subject": "acme/b", "attribute": "sharp", "value": "no", "basis": "stated",
        "source": "https://old.example", "checked": "2024-05-01",
    }  # fmt: skip


# --- What was measured against what the ledger says -------------------------------------------


def measured(gbytes_per_s: float, **said: object) -> list[dict[str, Any]]:
    """The discrepancies of a type of which a pair was measured."""
    run = Fact("acme/a", "measured_pair_gbytes_per_s", Decimal(str(gbytes_per_s)), Basis.MEASURED,
               "https://runs.example", MONDAY.date())  # fmt: skip
    scrape([offer("a", facts=(*facts("acme/a", **said), run))])
    return list(quality()["discrepancies"])


def test_a_pair_within_what_its_links_allow_is_no_discrepancy() -> None:
    assert measured(395) == []  # of 450 GB/s, eight H100 behind NVSwitch


def test_a_pair_faster_than_its_links_is_one() -> None:
    (found,) = measured(480)
    assert found == {
        "subject": "acme/a", "attribute": "scale_up_pair_gbytes_per_s", "ledger_value": 450.0,
        "measured_value": 480.0, "source": "https://runs.example",
        "why": "faster than its links can be",
    }  # fmt: skip


def test_a_pair_at_the_speed_of_pcie_denies_nvlink() -> None:
    (found,) = measured(54)
    assert (found["attribute"], found["ledger_value"]) == ("scale_up", "nvswitch")
    assert found["why"] == "slower than NVLink of 450 GB/s a pair"


def test_a_pair_that_beats_pcie_has_some_link() -> None:
    l40s = {"gpu": "l40s-pcie-48gb", "scale_up": "pcie"}  # PCIe 4
    assert measured(25, **l40s) == []
    (found,) = measured(266, **l40s)
    assert (found["attribute"], found["ledger_value"]) == ("scale_up", "pcie")
    assert "faster than PCIe 4 of 31.5 GB/s" in found["why"]


def test_a_mesh_is_as_slow_as_an_even_share_and_as_fast_as_all_its_links() -> None:
    v100 = {"gpu": "v100-sxm2-16gb"}  # 150 GB/s to seven peers: 21.4 each if even
    assert measured(24.2, **v100) == []
    assert [d["attribute"] for d in measured(5, **v100)] == ["scale_up"]


def test_what_was_observed_of_a_machine_is_held_against_the_ledger() -> None:
    def seen(attribute: str, value: Value) -> Fact:
        return Fact("acme/a", attribute, value, Basis.MEASURED, "https://runs.example",
                    MONDAY.date())  # fmt: skip

    scrape([offer("a", facts=(*facts("acme/a"), seen("form_factor", "pcie"),
                              seen("gpu_count", 8), seen("scale_up", "pcie")))])  # fmt: skip
    found = quality()["discrepancies"]
    assert [(d["attribute"], d["ledger_value"], d["measured_value"]) for d in found] == [
        ("form_factor", "sxm5", "pcie"),
    ]  # what is merely derived gives way to what was seen: scale_up is pcie


def test_an_empty_catalog_has_numbers_too() -> None:
    assert quality()["coverage"]["fabric"] == 0

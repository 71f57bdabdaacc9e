"""Fabrics: which types stand on one, and "N GPUs of type X on one fabric of S Gb/s in region R"."""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from django.test import Client

from catalog.fabrics import between_domains
from catalog.models import Fabric, InstanceType
from catalog.placement import gangs, nodes
from catalog.records import Basis, Fact, OfferRecord, PriceModel
from catalog.scopes import regions_of
from tests.catalog.conftest import DAY, MONDAY, facts, offer, scrape

IB = {"fabric": "infiniband", "fabric_gbits_per_s": 3200, "multi_node": "self_serve"}
RACK = {
    "gpu": "gb200-superchip-186gb", "gpu_count": 4, "fabric": "infiniband",
    "fabric_gbits_per_s": 1600, "multi_node": "reservation", "scale_up": "nvswitch",
    "scale_up_domain_gpus": 72, "scale_up_domain_guaranteed_gpus": 64,
    "max_gpus_on_one_fabric": 4096,
}  # fmt: skip


# --- Counting ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "trays", "racks"),
    [
        (24, 16, [12, 12]),
        (16, 16, [16]),
        (17, 16, [9, 8]),
        (36, 16, [12, 12, 12]),
        (1, 16, [1]),
        (33, 16, [11, 11, 11]),
    ],
)
def test_nodes_spread_evenly_over_as_few_racks_as_hold_them(
    count: int, trays: int, racks: list[int]
) -> None:
    assert gangs(count, trays) == racks


def test_no_node_is_lost_and_no_rack_is_overfull() -> None:
    for trays in range(1, 19):
        for count in range(1, 200):
            spread = gangs(count, trays)
            assert sum(spread) == count
            assert max(spread) <= trays
            assert max(spread) - min(spread) <= 1
            assert (len(spread) - 1) * trays < count  # one rack fewer would not hold them


def test_a_rack_of_no_trays_holds_nothing() -> None:
    for bad in ((0, 16), (24, 0)):
        with pytest.raises(ValueError, match="at least 1"):
            gangs(*bad)


def test_as_many_instances_as_hold_the_gpus() -> None:
    assert [nodes(32, 8), nodes(33, 8), nodes(4, 8), nodes(96, 4)] == [4, 5, 1, 24]


# --- The rule ---------------------------------------------------------------------------------


def test_what_is_said_of_a_rack_is_not_said_of_the_fabric_between_racks() -> None:
    assert between_domains("one UltraServer") is None
    assert between_domains("nodes with one id share the NVLink domain; or: one scale set") == (
        "one scale set"
    )
    assert between_domains("one cluster placement group") == "one cluster placement group"
    assert between_domains(None) is None


@pytest.mark.django_db
def test_two_gpus_share_no_fabric_because_their_speeds_are_equal() -> None:
    h200 = facts("acme/b", gpu="h200-sxm5-141gb", **IB)
    scrape([offer("a", facts=facts("acme/a", **IB)), offer("b", facts=h200)])
    assert set(Fabric.objects.values_list("gpu", "multi_node")) == {
        ("h100-sxm5-80gb", "self_serve"),
        ("h200-sxm5-141gb", "self_serve"),
    }


@pytest.mark.django_db
def test_a_fabric_is_as_old_as_what_is_said_of_it_and_no_older() -> None:
    old = Fact("acme/a", "vcpus", 96, Basis.DOCUMENTED, "https://old.example", date(2025, 3, 2))
    scrape([offer("a", facts=(*facts("acme/a", **IB), old))])
    fabric = Fabric.objects.get()
    assert fabric.checked == MONDAY.date()
    assert "https://acme.example/prices" in fabric.source
    assert "https://old.example" not in fabric.source


@pytest.mark.django_db
def test_a_type_of_an_unknown_gpu_stands_alone() -> None:
    scrape([offer(name, facts=facts(f"acme/{name}", gpu=None, **IB)) for name in ("a", "b")])
    assert [fabric.instance_types.count() for fabric in Fabric.objects.all()] == [1, 1]


# --- The question -----------------------------------------------------------------------------


def market() -> None:
    """Four fabrics of two providers: small, large, of unknown size, of unknown speed; and racks."""
    small, large = ({**IB, "max_gpus_on_one_fabric": n} for n in (64, 1024))
    roce = {"fabric": "roce", "multi_node": "self_serve", "max_gpus_on_one_fabric": 512}
    placed = {"same_fabric": "one scale set"}
    acme: list[OfferRecord] = [
        offer("small", "40", facts=facts("acme/small", **small)),
        offer("large", "24", region="tokyo", country="JP",
              facts=facts("acme/large", **large, **placed)),
        offer("large", "28", facts=facts("acme/large", **large, **placed)),
        offer("large", "8", price_model=PriceModel.SPOT,
              facts=facts("acme/large", **large, **placed)),
        offer("unsized", "16", facts=facts("acme/unsized", **IB)),
        offer("unsped", "18", facts=facts("acme/unsped", **roce)),
        offer("rack", None, region=None, country=None, price_note="by quote",
              facts=facts("acme/rack", **RACK)),
        offer("plain", "4", facts=facts("acme/plain", fabric="ethernet", multi_node="self_serve")),
    ]  # fmt: skip
    scrape(acme, days=(datetime.now(UTC) - MONDAY) / DAY)


@pytest.fixture
def ask(client: Client, db: None) -> Any:
    """A query to the names of the types on the fabrics that answer it, and the whole answer."""
    market()

    def get(query: str, status: int = 200) -> tuple[list[str], dict[str, Any]]:
        response = client.get(f"/api/v1/fabrics/?{query}")
        assert response.status_code == status, response.content
        answer = response.json()
        return [t["instance_type"] for row in answer.get("results", ()) for t in
                row["instance_types"]], answer  # fmt: skip

    return get


def test_every_fabric_is_listed_the_lowest_price_first_and_what_has_none_last(ask: Any) -> None:
    names, answer = ask("count=true")
    assert names == ["unsized", "unsped", "large", "small", "rack"]  # 2, 2.25, 3, 5 a GPU-hour
    assert (answer["count"], answer["left_out"]) == (5, 0)
    large = answer["results"][2]
    assert large["lowest_on_demand"] == {
        "usd_per_gpu_hour": "3", "instance_type": "large", "region": "tokyo", "country": "JP",
        "collected_at": large["lowest_on_demand"]["collected_at"], "age_days": 0,
        "stale": False, "outdated": False,
        "native_currency": "USD", "usd_rate": None, "usd_rate_date": None,
    }  # fmt: skip
    assert (large["region"], large["regions"], large["how"]) == (
        None, ["oslo", "tokyo"], "one scale set",
    )  # fmt: skip
    assert answer["results"][-1]["lowest_on_demand"] is None


def test_a_size_or_speed_that_nobody_says_is_left_out_and_counted(ask: Any) -> None:
    names, answer = ask("gpus_min=128&fabric_gbits_per_s_per_gpu_min=400&gpu=h100-sxm5-80gb")
    assert names == ["large"]
    assert answer["results"][0]["nodes"] == 16
    assert (answer["left_out"], answer["left_out_by"]) == (
        2, {"gpus_min": 1, "fabric_gbits_per_s_per_gpu_min": 1},
    )  # fmt: skip


def test_an_unknown_is_let_in_where_asked_marked_and_last(ask: Any) -> None:
    names, answer = ask("gpus_min=128&infiniband=true&include_unknown=max_gpus")
    assert names == ["large", "rack", "unsized"]
    assert [row["unknown"] for row in answer["results"]] == [[], [], ["gpus_min"]]
    assert answer["left_out"] == 0


def test_what_one_instance_holds_needs_no_fabric_of_known_size(ask: Any) -> None:
    names, _ = ask("gpus_min=8&infiniband=true")
    assert set(names) == {"small", "large", "unsized", "rack"}
    names, _ = ask("gpus_min=2000")
    assert names == ["rack"]


def test_a_measured_run_shows_that_so_many_can_be_had(ask: Any) -> None:
    run = Fact("other/run", "max_gpus_on_one_fabric", 512, Basis.MEASURED, "https://runs.example",
               MONDAY.date(), scope="demonstrated run")  # fmt: skip
    gb = {**IB, "gpu": "h200-sxm5-141gb"}
    scrape([offer("run", provider="other", facts=(*facts("other/run", **gb), run))],
           lister="other", days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    names, answer = ask("gpus_min=512&provider=other")
    assert names == ["run"]
    (row,) = answer["results"]
    assert (row["max_gpus"], row["demonstrated_gpus"]) == (None, 512)
    names, answer = ask("gpus_min=513&provider=other")  # more is not known, and not known to fail
    assert (names, answer["left_out"]) == ([], 1)


def test_an_unknown_gpu_is_none_that_its_candidates_exclude(ask: Any) -> None:
    names = ["h100-sxm5-80gb", "h100-pcie-80gb"]
    scrape([offer("some-h100", provider="other", gpu_candidates=tuple(names),
                  facts=facts("other/some-h100", gpu=None, **IB))],
           lister="other", days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    assert ask("provider=other&gpu=h100-sxm5-80gb")[1]["left_out_by"] == {"gpu": 1}
    assert ask("provider=other&gpu=h200-sxm5-141gb")[1]["left_out_by"] == {}


def test_a_type_of_which_nobody_says_how_it_is_joined_is_counted_and_on_no_fabric(ask: Any) -> None:
    lone = {"fabric": "infiniband", "fabric_gbits_per_s": 3200}
    scrape([offer("lone", provider="other", facts=facts("other/lone", **lone)),
            offer("never", provider="other", facts=facts("other/never", multi_node="no", **lone))],
           lister="other", days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    names, answer = ask("gpu=h100-sxm5-80gb&infiniband=true")
    assert "lone" not in names
    assert answer["unplaced_types"] == 1
    for query in ("technology=roce", "infiniband=false", "provider=acme", "gpu=h200-sxm5-141gb"):
        assert ask(query)[1]["unplaced_types"] == 0


def test_racks_take_the_nodes_evenly(ask: Any) -> None:
    _, answer = ask("gpus_min=96&gpu=gb200-superchip-186gb")
    (row,) = answer["results"]
    assert (row["nodes"], row["gangs"]) == (24, [12, 12])
    assert row["instance_types"][0]["guaranteed_trays"] == 16
    assert row["evidence"]["scale_up_domain_guaranteed_gpus"]["value"] == 64  # 16 trays of 4
    _, answer = ask("gpus_min=96&gpu=h100-sxm5-80gb")
    assert answer["results"][0]["gangs"] is None  # nobody guarantees trays of it


def test_a_region_is_that_of_an_offer_and_its_price_that_of_the_region(ask: Any) -> None:
    names, answer = ask("region=oslo&infiniband=true")
    assert names == ["unsized", "large", "small"]
    assert answer["results"][1]["lowest_on_demand"]["usd_per_gpu_hour"] == "3.5"
    assert answer["left_out_by"] == {"region": 1}  # the rack's offer names none
    names, _ = ask("country=JP")
    assert names == ["large"]
    names, answer = ask("region=oslo&country=JP")  # never at one place
    assert names == []


def test_filters_join_and_lists_are_unions(ask: Any) -> None:
    assert ask("technology=roce")[0] == ["unsped"]
    assert ask("infiniband=false")[0] == ["unsped"]
    assert len(ask("technology=roce,infiniband&provider=acme")[0]) == 5


def test_pages_follow_each_other_both_ways(ask: Any, client: Client) -> None:
    every, _ = ask("")
    first, answer = ask("page_size=2")
    assert answer["previous"] is None
    second = client.get(answer["next"]).json()
    back = client.get(second["previous"]).json()
    names = [row["instance_types"][0]["instance_type"] for row in second["results"]]
    assert first + names == every[:4]
    assert back["results"] == answer["results"]
    ask("infiniband=true&cursor=" + answer["next"].split("cursor=")[1], status=400)


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("gpus_min=many", "gpus_min"),
        ("gpus_min=0", "gpus_min"),
        ("gpus_min=8&gpus_min=16", "gpus_min"),
        ("gpu=h900", "gpu"),
        ("technology=string", "technology"),
        ("infiniband=1", "infiniband"),
        ("continent=atlantis", "continent"),
        ("include_unknown=colour", "include_unknown"),
        ("fabric_gbits_per_s_per_gpu_min=fast", "fabric_gbits_per_s_per_gpu_min"),
        ("size=8", "size"),
    ],
)
def test_what_cannot_be_read_is_named(client: Client, db: None, query: str, field: str) -> None:
    response = client.get(f"/api/v1/fabrics/?{query}")
    assert response.status_code == 400
    assert list(response.json()["error"]["fields"]) == [field]


@pytest.mark.django_db
def test_what_is_said_of_a_region_makes_a_fabric_there(client: Client) -> None:
    from catalog.models import Region

    scrape([offer("a", facts=facts("acme/a", **IB))])
    Region.objects.get_or_create(provider_id="acme", region="oslo")
    said = Fact("acme/a", "max_gpus_on_one_fabric", 256, Basis.DOCUMENTED, "https://acme.example",
                MONDAY.date(), scope="oslo")  # fmt: skip
    scrape([offer("a", facts=(*facts("acme/a", **IB), said))], days=1)
    assert InstanceType.objects.get().max_gpus_on_one_fabric is None
    rows = client.get("/api/v1/fabrics/?gpus_min=256&region=oslo").json()["results"]
    assert [(row["region"], row["max_gpus"]) for row in rows] == [("oslo", 256)]


def regional(scope: str, value: object, attribute: str = "multi_node") -> Fact:
    return Fact("acme/a", attribute, value, Basis.DOCUMENTED, "https://acme.example",
                MONDAY.date(), scope=scope)  # fmt: skip


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        ("eu-de", ["eu-de"]),
        ("eu-de (fra04)", ["eu-de"]),
        ("us-east (wdc06, wdc07)", ["us-east"]),
        ("eu-de-2, us-east-3", ["eu-de", "us-east"]),
        ("us-east-1a", ["us-east-1"]),  # the longest name that fits, not us-east
        ("demonstrated run", []),
        ("eu-dense", []),
    ],
)
def test_a_scope_names_regions_by_themselves_or_by_their_zones(
    scope: str, names: list[str]
) -> None:
    assert regions_of(scope, {"eu-de", "us-east", "us-east-1"}) == names


@pytest.mark.django_db
def test_a_region_whose_provider_says_that_none_are_joined_has_no_fabric(client: Client) -> None:
    said = (*facts("acme/a", **IB), regional("bergen (no2)", "no"))
    scrape([offer("a", region=region, facts=said) for region in ("oslo", "bergen")],
           days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    (row,) = client.get("/api/v1/fabrics/").json()["results"]
    assert (row["region"], row["regions"]) == (None, ["oslo"])
    assert client.get("/api/v1/fabrics/?region=bergen").json()["results"] == []
    offers = client.get("/api/v1/offers/?rows=region&sort=region").json()["results"]
    shown = ("region", "multi_node", "fabric", "fabric_gbits_per_s_per_gpu", "cliff")
    assert [tuple(row[name] for name in shown) for row in offers] == [
        ("bergen", "no", None, None, None),
        ("oslo", "self_serve", "infiniband", 400, 9),
    ]
    assert [len(row["warnings"]) for row in offers] == [1, 0]
    named = client.get("/api/v1/offers/?rows=region&fabric=infiniband").json()
    assert [row["region"] for row in named["results"]] == ["oslo"]


@pytest.mark.django_db
def test_where_regions_are_named_the_fabric_is_in_those_alone(client: Client) -> None:
    said = (*facts("acme/a", **IB), regional("oslo-2, tromso", "self_serve"))
    scrape([offer("a", region=region, facts=said) for region in ("oslo", "tromso", "bergen")],
           days=(datetime.now(UTC) - MONDAY) / DAY)  # fmt: skip
    rows = client.get("/api/v1/fabrics/").json()["results"]
    assert sorted(row["region"] for row in rows) == ["oslo", "tromso"]


@pytest.mark.django_db
def test_one_zone_that_has_it_is_enough_and_sources_that_differ_on_a_zone_are_not() -> None:
    zones = regional("oslo-1", "no"), regional("oslo-2", "self_serve")
    differ = regional("bergen-1", "no"), regional("bergen-1", "self_serve")
    scrape([offer("a", region=region, facts=(*facts("acme/a", **IB), *zones, *differ))
            for region in ("oslo", "bergen")])  # fmt: skip
    assert [fabric.region for fabric in Fabric.objects.all()] == ["oslo"]

"""`GET /api/v1/offers/`: an unknown is not a no, and every form of the list is the same list."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from urllib.parse import urlencode

import pytest

from catalog.applies import arises
from catalog.filters import FILTERS
from catalog.models import Offer
from catalog.query import truth
from catalog.records import OFFER_KEYS, OfferRecord
from tests.catalog.conftest import MONDAY, facts, offer, scrape
from tests.catalog.market import open_market


@pytest.fixture
def ask(client):
    """A query string to the answer's JSON; other status codes where they are named."""

    def get(query: str = "", status: int = 200):
        answer = client.get(f"/api/v1/offers/?{query}")
        assert answer.status_code == status, answer.content
        return answer.json()

    return get


@pytest.fixture
def names(ask):
    """A query string to the names of the types listed, in their order."""
    return lambda query: [row["instance_type"] for row in ask(query)["results"]]


@pytest.fixture
def _market():
    open_market(days=-1 / 24)


pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("_market")]


def test_every_row_has_every_key_in_order_and_money_as_text(ask):
    for row in ask("rows=region")["results"]:
        assert tuple(row) == OFFER_KEYS
    cheapest = ask("price_model=on_demand&gpu=h100-sxm5-80gb")["results"][0]
    assert (cheapest["usd_per_hour"], cheapest["usd_per_gpu_hour"]) == ("8", "1")
    assert (cheapest["gpu_count"], cheapest["scale_up_gbytes_per_s"]) == (8, 450)


def test_nvlink_and_infiniband_lists_what_is_known_to_have_both(ask):
    answer = ask("nvlink=true&infiniband=true&price_model=on_demand&rows=region")
    assert [(r["instance_type"], r["region"]) for r in answer["results"]] == [
        ("ib", "oslo"),
        ("ib", "tokyo"),
        ("quoted", "oslo"),  # no price is not free: it stands last
    ]
    assert answer["results"][2]["usd_per_hour"] is None


def test_what_an_unknown_keeps_out_is_counted_and_can_be_let_in(ask, names):
    query = "nvlink=true&infiniband=true&price_model=on_demand"
    answer = ask(query)
    assert answer["left_out"] == 2
    assert answer["left_out_by"] == {"nvlink": 1, "infiniband": 2}
    assert names(f"{query}&include_unknown=fabric") == ["dark", "ib", "quoted"]
    assert names(f"{query}&include_unknown=infiniband") == ["dark", "ib", "quoted"]
    assert ask(f"{query}&include_unknown=fabric")["left_out_by"] == {"nvlink": 1}
    assert ask(f"{query}&include_unknown=fabric,scale_up")["left_out"] == 0


def test_a_type_that_one_region_lists_is_not_left_out_for_another(ask):
    here = {"provider": "third", "facts": facts("third/places")}
    alone = offer("one place", provider="third", region="tokyo", available=None)
    places = [("oslo", True), ("tokyo", None), ("paris", None)]
    offers = [offer("places", region=name, available=free, **here) for name, free in places]
    scrape([*offers, alone], lister="third", days=(datetime.now(UTC) - MONDAY) / timedelta(days=1))
    for rows, listed, left_out in (("type", 1, 1), ("region", 1, 3)):
        query = f"q=place&available=true&count=true&rows={rows}"
        answer = ask(query)
        assert (answer["count"], answer["left_out"]) == (listed, left_out), rows
        assert answer["left_out_by"] == {"available": left_out}
        assert ask(f"{query}&include_unknown=available")["count"] == listed + left_out


@pytest.mark.parametrize("name", ["nvlink", "infiniband"])
def test_no_is_known_too_and_an_unknown_is_in_neither(names, name):
    everything = set(names(""))
    yes, no = set(names(f"{name}=true")), set(names(f"{name}=false"))
    assert yes
    assert no
    assert not yes & no
    assert everything - yes - no  # the unknown


def test_one_row_a_type_shows_its_lowest_region_and_price_models_apart(ask):
    rows = ask("gpu=h100-sxm5-80gb&infiniband=true&sort=usd_per_hour")["results"]
    assert [(r["price_model"], r["usd_per_hour"]) for r in rows] == [
        ("spot", "12"),
        ("on_demand", "24"),
        ("on_demand", None),
    ]


def test_unknown_sorts_last_both_ways(names):
    assert (
        names("price_model=on_demand&sort=cliff")[-4:]
        == names("price_model=on_demand&sort=-cliff")[-4:]
    )
    assert names("infiniband=true&rows=region&sort=-usd_per_hour")[-1] == "quoted"


def test_lists_are_the_union_of_commas_and_repetition(names):
    both = names("fabric=infiniband,roce&price_model=on_demand")
    assert both == names("fabric=infiniband&fabric=roce&price_model=on_demand")
    assert set(both) == {"ib", "quoted", "roce"}


def test_an_empty_parameter_is_absent(names):
    assert names("gpu=&nvlink=") == names("")


@pytest.mark.parametrize(
    ("query", "field", "says"),
    [
        ("nvlink=maybe", "nvlink", "true or false"),
        ("gpu=h100", "gpu", "h100-sxm5-80gb"),  # named: what it may have meant
        ("fabric=ib", "fabric", "infiniband, roce, efa"),
        ("provider=nope", "provider", "acme"),
        ("gpu_vendor=NVIDIA", "gpu_vendor", "amd, intel, nvidia"),
        ("form_factor=zz", "form_factor", "sxm5"),
        ("country=usa", "country", "two capital letters"),
        ("colour=red", "colour", "is not a parameter"),
        ("nvlink=true&nvlink=false", "nvlink", "more than once"),
        ("usd_per_hour_max=NaN", "usd_per_hour_max", "a number"),
        ("usd_per_hour_max=1e1000000", "usd_per_hour_max", "a number"),
        ("usd_per_hour_max=-1", "usd_per_hour_max", "a number"),
        ("gpu_count_min=" + "9" * 5000, "gpu_count_min", "a number"),
        ("page_size=0", "page_size", "from 1 to 500"),
        ("page_size=501", "page_size", "from 1 to 500"),
        ("sort=price", "sort", "usd_per_gpu_hour"),
        ("include_unknown=colour", "include_unknown", "none of"),
        ("cursor=abc", "cursor", "is not a cursor"),
        ("as_of=yesterday", "as_of", "2026-11-29"),
        ("q=%00", "q", "NUL"),
        ("provider=%00", "provider", "NUL"),
        ("facets=colour", "facets", "none of"),
        ("currency=XXX", "currency", "USD"),
    ],
)
def test_a_bad_query_is_a_400_that_names_the_field_and_what_it_may_be(ask, query, field, says):
    error = ask(query, status=400)["error"]
    assert error["code"] == "bad_query"
    assert list(error["fields"]) == [field]
    assert says in error["fields"][field][0]


def test_every_filter_can_be_asked_and_unknown_let_through(ask):
    given = {"gpu": "h100-sxm5-80gb", "provider": "acme", "country": "NO"}
    for name, wanted in FILTERS.items():
        choices = getattr(wanted.read, "choices", ["1"])
        value = given.get(name, "true" if wanted.read is truth else choices[0])
        without = ask(f"{name}={value}&rows=region&page_size=500")
        if name != "q":
            let_in = ask(f"{name}={value}&include_unknown={name}&rows=region&page_size=500")
            assert len(let_in["results"]) - len(without["results"]) == without["left_out"], name


@pytest.mark.parametrize(
    "query",
    [
        "",
        "rows=region&sort=-usd_per_hour",
        "rows=region&sort=region,-gpu_count",
        "sort=-cliff,provider&nvlink=true",
        "q=acme%20oslo",
    ],
)
def test_pages_forth_and_back_show_every_row_once_in_one_order(client, ask, query):
    whole = ask(f"{query}&page_size=500&count=true")
    assert whole["count"] == len(whole["results"])
    forth, address = [], f"/api/v1/offers/?{query}&page_size=2"
    last = None
    while address:
        page = client.get(address).json()
        forth += page["results"]
        last, address = page, page["next"]
    assert forth == whole["results"]
    back = last["results"]
    while last["previous"]:
        last = client.get(last["previous"]).json()
        back = last["results"] + back
    assert back == whole["results"]


@pytest.mark.parametrize("sort", ["provider", "instance_type", "-gpu_count"])
@pytest.mark.parametrize("b_in_oslo", ["25", "35", None])
def test_a_row_keeps_its_place_whichever_region_speaks_for_it(client, ask, sort, b_in_oslo):
    def tiers(a_in_oslo: str) -> list[OfferRecord]:
        prices = [("b", "tokyo", "30"), ("a", "oslo", a_in_oslo), ("a", "tokyo", "20")]
        prices += [("b", "oslo", b_in_oslo)] if b_in_oslo else []
        return [
            offer("n", usd, provider="twin", tier=tier, region=region)
            for tier, region, usd in prices
        ]

    scrape(tiers("30"), lister="twin")
    first = ask(f"provider=twin&page_size=1&sort={sort}")
    scrape(tiers("19.5"), lister="twin", days=0.1)
    seen, page = first["results"], first
    while page["next"]:
        page = client.get(page["next"]).json()
        seen += page["results"]
    assert [row["tier"] for row in seen] == ["a", "b"]


def test_a_cursor_of_another_list_is_refused(client, ask):
    cursor = ask("page_size=2")["next"].split("cursor=")[1]
    assert client.get(f"/api/v1/offers/?page_size=3&cursor={cursor}").status_code == 200
    assert client.get(f"/api/v1/offers/?nvlink=true&cursor={cursor}").status_code == 400
    assert client.get(f"/api/v1/offers/?cursor={cursor[:-1]}").status_code == 400


@pytest.mark.parametrize("query", ["", "rows=region&nvlink=true", "sort=-gpu_count&page_size=3"])
def test_csv_and_ndjson_are_the_rows_of_the_json(client, ask, query):
    rows = ask(query)["results"]
    lines = client.get(f"/api/v1/offers/?{query}&format=ndjson").content.splitlines()
    assert [json.loads(line) for line in lines] == rows
    answer = client.get(f"/api/v1/offers/?{query}&format=csv")
    table = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert answer["Content-Type"].startswith("text/csv")
    assert [list(row) for row in table] == [list(OFFER_KEYS)] * len(rows)
    for line, row in zip(table, rows, strict=True):
        assert line["instance_type"] == row["instance_type"]
        assert line["usd_per_hour"] == (row["usd_per_hour"] or "")
        assert line["nvlink_domain_gpus"] == str(row["nvlink_domain_gpus"] or "")
        assert line["stale"] == str(row["stale"]).lower()


def test_a_cell_that_a_spreadsheet_would_run_is_text(client):
    answer = client.get("/api/v1/offers/?q=cards&format=csv&fields=provider,usd_per_hour")
    assert answer.content.decode() == "provider,usd_per_hour\n'=other,6\n"
    assert "attachment" in answer["Content-Disposition"]


def test_fields_chooses_the_keys(ask):
    row = ask("fields=provider,usd_per_hour&page_size=1")["results"][0]
    assert list(row) == ["provider", "usd_per_hour"]


def test_a_facet_ignores_its_own_filter_and_counts_the_unknown(ask):
    facets = ask("fabric=roce&price_model=on_demand&facets=fabric,gpu")["facets"]
    assert facets["fabric"] == [
        {"value": "infiniband", "count": 2},
        {"value": "ethernet", "count": 1},
        {"value": "roce", "count": 1},
        {"value": None, "count": 3},
    ]
    assert facets["gpu"] == [{"value": "h100-sxm5-80gb", "count": 1}]


@pytest.mark.parametrize("rows", ["type", "region"])
@pytest.mark.parametrize(
    "filters",
    [
        {},
        {"fabric": "roce"},
        {"nvlink": "true", "price_model": "on_demand"},
        {"fabric": "infiniband", "usd_per_gpu_hour_max": "3", "gpu_count_min": "2"},
    ],
)
def test_a_facet_counts_what_is_listed_with_its_value_in_place_of_its_own_filter(
    ask, filters, rows
):
    names = ("gpu", "fabric", "price_model", "usd_per_gpu_hour_max", "gpu_count_min", "nvlink")
    said = {**filters, "rows": rows, "facets": ",".join(names)}
    for name, counted in ask(urlencode(said))["facets"].items():
        for each in counted:
            if each["value"] is not None:
                value = json.dumps(each["value"]).strip('"')
                then = {**filters, "rows": rows, name: value, "page_size": "500"}
                assert len(ask(urlencode(then))["results"]) == each["count"], (name, each)


def test_a_seller_and_a_tier_of_one_name_are_two_rows_in_every_count(ask):
    pair = [
        offer("twin", "4", provider="third", via="gold"),
        offer("twin", None, provider="third", tier="gold", price_note="by quote"),
    ]
    scrape(pair, lister="third")
    answer = ask("provider=third&count=true&facets=gpu")
    assert (answer["count"], len(answer["results"])) == (2, 2)
    assert answer["facets"]["gpu"] == [{"value": "h100-sxm5-80gb", "count": 2}]


def test_a_threshold_facet_counts_what_reaches_it(ask):
    asked = "price_model=on_demand&facets=fabric_gbits_per_s_per_gpu_min"
    counts = ask(asked)["facets"]["fabric_gbits_per_s_per_gpu_min"]
    assert {c["value"]: c["count"] for c in counts} == {
        "800": 0, "400": 2, "200": 3, "100": 3, None: 4,
    }  # fmt: skip


def test_text_is_looked_for_literally(names):
    assert names("q=%25") == []
    assert names("q=_") == []
    assert set(names("q=ACME roce")) == {"roce"}


def test_a_price_too_old_to_rank_stands_after_fresher_ones(ask):
    Offer.objects.filter(instance_type__name="dark").update(
        collected_at=datetime.now(UTC) - timedelta(days=60)
    )
    rows = ask("price_model=on_demand&nvlink=true")["results"]
    assert [(r["instance_type"], r["stale"]) for r in rows[-2:]] == [
        ("dark", True),
        ("quoted", False),  # without a price, so last of all
    ]
    ranked = ask("price_model=on_demand&nvlink=true&include_stale=true")["results"]
    assert ranked[0]["instance_type"] == "dark"


def test_as_of_answers_with_the_price_of_that_day(ask):
    between = datetime.now(UTC) - timedelta(minutes=1)
    open_market(price_in_oslo="30")
    columns = "q=ib&rows=region&fields=usd_per_hour,region"
    then = ask(f"{columns}&as_of={between:%Y-%m-%dT%H:%M}Z")["results"]
    now = ask(columns)["results"]
    assert {"usd_per_hour": "24", "region": "oslo"} in then
    assert {"usd_per_hour": "30", "region": "oslo"} in now


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_an_answer_that_has_not_changed_is_a_304(client, encoding):
    headers = {"Accept-Encoding": encoding}
    first = client.get("/api/v1/offers/?nvlink=true", headers=headers)
    assert first.get("Content-Encoding", "identity") == encoding
    headers["If-None-Match"] = first["ETag"]
    again = client.get("/api/v1/offers/?nvlink=true", headers=headers)
    assert (again.status_code, again.content) == (304, b"")
    scrape([offer("new", "7", provider="third")], lister="third")
    changed = client.get("/api/v1/offers/?nvlink=true", headers=headers)
    assert changed.status_code == 200


def test_a_first_page_takes_few_queries(client, django_assert_max_num_queries):
    client.get("/api/v1/offers/")  # reads the listing's columns
    with django_assert_max_num_queries(3):
        client.get("/api/v1/offers/?nvlink=true&infiniband=true")


# --- What has no place in a row is no unknown ---------------------------------------------------


@pytest.fixture
def _linked_or_not():
    """Of one provider: what is said, what nobody says, and what leaves nothing to say."""
    said = {
        "fast": {"scale_up": "nvswitch", "scale_up_gbytes_per_s": 450, "nvlink_generation": 4,
                 "fabric": "infiniband", "fabric_gbits_per_s": 3200, "gpudirect_rdma": "yes"},
        "dark": {"scale_up": "nvswitch", "fabric": "infiniband"},
        "cards": {"gpu": "t4-pcie-16gb", "scale_up": "pcie", "fabric": "none"},
        "alone": {"gpu": "t4-pcie-16gb", "gpu_count": 1, "scale_up": "none", "fabric": "none"},
        "red": {"gpu": "mi300x-oam-192gb", "scale_up": "infinity_fabric_mesh"},
    }  # fmt: skip
    offers = [
        offer(name, provider="linked", facts=facts(f"linked/{name}", **each))
        for name, each in said.items()
    ]
    scrape(offers, lister="linked", days=(datetime.now(UTC) - MONDAY) / timedelta(days=1))


@pytest.mark.parametrize(
    ("asked", "matching", "unknown"),
    [
        ("scale_up_gbytes_per_s_min=100", {"fast", "dark", "red"}, set()),  # by their GPU
        ("nvlink_generation_min=4", {"fast", "dark"}, set()),  # no NVLink is of a generation
        ("fabric_gbits_per_s_min=100", {"fast"}, {"dark", "red"}),
        ("fabric_gbits_per_s_per_gpu_min=100", {"fast"}, {"dark", "red"}),
        ("gpudirect_rdma=yes", {"fast"}, {"dark", "red"}),
        ("gpudirect_rdma=no", {"cards", "alone"}, {"dark", "red"}),  # what is said, counts
        ("gpudirect=conditional", set(), {"dark", "red"}),
        ("multi_node=reservation,self_serve", set(), {"fast", "dark", "red"}),
        ("max_gpus_on_one_fabric_min=64", set(), {"fast", "dark", "red"}),
    ],
)
@pytest.mark.usefixtures("_linked_or_not")
def test_what_has_no_place_is_neither_listed_nor_left_out(ask, asked, matching, unknown):
    """Cards without links have no link speed, AMD's no NVLink, and no fabric has no NICs."""
    name = asked.partition("=")[0]
    answer = ask(f"provider=linked&{asked}")
    assert {row["instance_type"] for row in answer["results"]} == matching
    assert answer["left_out"] == len(unknown)
    let_in = ask(f"provider=linked&{asked}&include_unknown={name}")
    assert {row["instance_type"] for row in let_in["results"]} == matching | unknown


@pytest.mark.usefixtures("_linked_or_not")
def test_a_facet_counts_as_unknown_what_could_be_known(ask):
    names = ("gpudirect", "fabric_gbits_per_s_per_gpu_min", "multi_node")
    facets = ask(f"provider=linked&facets={','.join(names)}")["facets"]
    unknown = {name: {f["value"]: f["count"] for f in facets[name]}[None] for name in names}
    assert unknown == {"gpudirect": 2, "fabric_gbits_per_s_per_gpu_min": 2, "multi_node": 3}
    bridged = ask("provider=linked&fabric=none&facets=fabric_gbits_per_s_per_gpu_min")["facets"]
    assert all(each["count"] == 0 for each in bridged["fabric_gbits_per_s_per_gpu_min"])


@pytest.mark.usefixtures("_linked_or_not")
def test_the_table_of_what_has_a_place_says_the_same_to_rows_and_to_sql(ask):
    """Every null of a row is either unknown, as the filter counts it, or has no place."""
    rows = ask("provider=linked")["results"]
    for name in ("scale_up_gbytes_per_s", "nvlink_generation", "fabric_gbits_per_s",
                 "fabric_gbits_per_s_per_gpu", "max_gpus_on_one_fabric"):  # fmt: skip
        unknown = sum(row[name] is None and arises(name, row) for row in rows)
        assert ask(f"provider=linked&{name}_min=1")["left_out"] == unknown, name

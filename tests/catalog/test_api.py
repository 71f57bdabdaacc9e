"""The other doors of the API, over the bundled catalog: facts with evidence, estimates, errors."""

import csv
import html
import io
import json

import pytest
from django.core.management import call_command
from django.db import transaction

from catalog.api_docs import doors
from catalog.records import OFFER_KEYS

PRESET = {"nvlink": True, "infiniband": True, "price_model": "on_demand"}


@pytest.fixture(scope="module")
def _bundled(django_db_setup, django_db_blocker):
    """The bundled catalog, loaded once for this file and gone after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("load_catalog", verbosity=0)
        yield
        transaction.set_rollback(True)


pytestmark = [pytest.mark.usefixtures("_bundled"), pytest.mark.django_db]


@pytest.fixture
def get(client):
    """An address below /api/v1/ to its JSON."""

    def ask(address, status=200):
        answer = client.get(f"/api/v1/{address}")
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask


@pytest.fixture
def post(client):
    """A body to the answer of estimates/."""

    def ask(body, status=200):
        text = body if isinstance(body, str) else json.dumps(body)
        answer = client.post("/api/v1/estimates/", text, content_type="application/json")
        assert answer.status_code == status, answer.content
        return answer.json()

    return ask


def test_the_preset_finds_at_least_twenty_rows_each_with_price_source_and_date(get):
    rows = get(
        "offers/?nvlink=true&infiniband=true&price_model=on_demand&rows=region"
        "&sort=usd_per_gpu_hour&page_size=500"
    )["results"]
    priced = [row for row in rows if row["usd_per_gpu_hour"] is not None]
    assert len(priced) >= 20
    for row in priced:
        assert row["nvlink_domain_gpus"] > 1
        assert row["fabric"] == "infiniband"
        assert row["source_url"]
        assert row["collected_at"] < "2027"
    assert [row["usd_per_hour"] for row in rows[len(priced) :]] == [None] * (
        len(rows) - len(priced)
    )


def test_a_type_is_shown_with_the_evidence_of_every_fact(get):
    shown = get("instance-types/azure/Standard_ND96isr_H100_v5/")
    assert (shown["gpu"], shown["gpu_count"], shown["fabric"]) == (
        "h100-sxm5-80gb",
        8,
        "infiniband",
    )
    facts = {fact["attribute"]: fact for fact in shown["facts"]}
    assert facts["fabric_gbits_per_s"]["value"] == 3200
    for fact in shown["facts"]:
        if fact["value"] is not None:
            assert fact["basis"]
            assert fact["source"]
            assert fact["checked"]
    assert {row["region"] for row in shown["prices"]} > {"eastus"}
    unknown = [question for question in shown["checklist"] if not question["known"]]
    assert all(question["ask"].endswith("?") for question in unknown)


def test_a_dispute_shows_both_claims_and_uses_the_lower(get):
    shown = get("instance-types/aws/p6e-gb200.36xlarge/")
    (fact,) = (f for f in shown["facts"] if f["attribute"] == "fabric_gbits_per_s")
    assert fact["disputed"]
    assert (fact["value"], shown["fabric_gbits_per_s_per_gpu"]) == (1600, 400)
    assert {claim["value"] for claim in fact["claims"]} >= {"1600", "3200"}
    assert "fabric_gbits_per_s" in shown["disputed"]


def test_a_type_that_was_never_there_is_a_404_in_the_one_shape(get):
    error = get("instance-types/azure/Standard_Nothing/", status=404)["error"]
    assert error["code"] == "not_found"
    assert "Standard_Nothing" in error["message"]
    assert get("nowhere/", status=404)["error"]["code"] == "not_found"


LISTS = ["instance-types", "gpus", "providers", "fabrics", "facts", "prices"]


@pytest.mark.parametrize("door", LISTS)
def test_each_list_is_paged_and_refuses_what_it_does_not_know(get, client, door):
    first = get(f"{door}/?page_size=3")
    assert 0 < len(first["results"]) <= 3
    if first["next"]:
        second = client.get(first["next"]).json()
        assert second["results"][0] not in first["results"]
    for query, field in {
        "colour=red": "colour",
        "page_size=0": "page_size",
        "page_size=x": "page_size",
        "cursor=abc": "cursor",
    }.items():
        assert list(get(f"{door}/?{query}", status=400)["error"]["fields"]) == [field]


@pytest.mark.parametrize("door", LISTS)
def test_a_cursor_is_good_for_its_own_list_alone(get, client, door):
    following = get(f"{door}/?page_size=3")["next"]
    if following is None:
        pytest.skip("one page")
    cursor = following.split("cursor=")[1]
    assert following.startswith("/api/v1/")  # no host: a header could name it
    other = "gpus" if door != "gpus" else "facts"
    for address in (
        f"{door}/?cursor={cursor[:-2]}",
        f"{door}/?cursor=cD01MA==",  # p=50, as it was before cursors were signed
        f"{door}/?cursor=cD0lMDA=",
        f"{other}/?cursor={cursor}",
    ):
        assert list(get(address, status=400)["error"]["fields"]) == ["cursor"]
    assert client.get(following).status_code == 200


@pytest.mark.parametrize(
    ("address", "field", "says"),
    [
        ("facts/?attribute=speed", "attribute", "is none of"),
        ("facts/?basis=rumour", "basis", "measured, documented"),
        ("facts/?live=perhaps", "live", "true or false"),
        ("prices/?provider=nobody", "provider", "is not a provider"),
        ("prices/?price_model=free", "price_model", "on_demand"),
        ("prices/?since=yesterday", "since", "2026-11-29"),
        ("gpus/?gpu_vendor=intelligent", "gpu_vendor", "nvidia"),
        ("providers/?country=usa", "country", "two capital letters"),
        ("instance-types/?gpu=h100", "gpu", "h100-sxm5-80gb"),
        ("instance-types/?sort=evidence", "sort", "cliff"),
        ("instance-types/?fields=gpu,colour", "fields", "gpu_count"),
        ("gpus/?format=xml", "format", "ndjson"),
        ("fabrics/?provider=nobody", "provider", "is not a provider"),
        ("fabrics/?country=usa", "country", "two capital letters"),
    ],
)
def test_a_word_that_a_list_does_not_have_is_a_400_with_those_it_has(get, address, field, says):
    fields = get(address, status=400)["error"]["fields"]
    assert list(fields) == [field]
    assert says in fields[field][0]


@pytest.mark.parametrize(
    "sort", ["fabric_gbits_per_s_per_gpu", "-fabric_gbits_per_s_per_gpu", "gpu_count,-provider"]
)
def test_a_list_is_walked_in_any_order_to_its_end_and_back(client, sort):
    """Each row once, the unknown last both ways, and the way back the way there turned round."""
    at, there = f"/api/v1/instance-types/?page_size=100&count=true&sort={sort}", []
    while at:
        last = client.get(at).json()
        there.append([(row["provider"], row["instance_type"]) for row in last["results"]])
        back, at = last["previous"], last["next"]
    rows = [row for page in there for row in page]
    assert len(rows) == len(set(rows)) == last["count"] > 100
    for page in reversed(there[:-1]):
        last = client.get(back).json()
        assert [(row["provider"], row["instance_type"]) for row in last["results"]] == page
        back = last["previous"]
    assert back is None


def test_unknown_sorts_last_both_ways_in_a_list_too(get):
    for sort in ("cliff", "-cliff"):
        first = get(f"instance-types/?sort={sort}&page_size=500")["results"]
        known = [row["cliff"] for row in first if row["cliff"] is not None]
        assert known == [row["cliff"] for row in first[: len(known)]]
        assert known == sorted(known, reverse=sort.startswith("-"))


def test_a_list_is_written_as_csv_and_ndjson_with_the_keys_asked_for(client):
    address = "/api/v1/gpus/?gpu_vendor=amd&fields=slug,gpu_memory_gb&format="
    rows = client.get(f"{address}json").json()["results"]
    assert [list(row) for row in rows] == [["slug", "gpu_memory_gb"]] * len(rows)
    lines = client.get(f"{address}ndjson").content.decode().splitlines()
    assert [json.loads(line) for line in lines] == rows
    table = list(csv.DictReader(io.StringIO(client.get(f"{address}csv").content.decode())))
    assert [(row["slug"], float(row["gpu_memory_gb"])) for row in table] == [
        (row["slug"], row["gpu_memory_gb"]) for row in rows
    ]


def test_a_list_that_has_not_changed_is_a_304(client):
    first = client.get("/api/v1/facts/")
    again = client.get("/api/v1/facts/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "Content-Type" not in again  # of nothing
    assert client.get("/api/v1/gpus/")["ETag"] != first["ETag"]


def test_prices_are_those_that_began_since(get):
    known = get("prices/?sort=-valid_from&page_size=1")["results"][0]["valid_from"]
    assert get(f"prices/?since={known[:10]}T00:00Z")["results"]
    assert get("prices/?since=2999-01-01")["results"] == []


@pytest.mark.parametrize("address", ["instance-types/aws/%00/", "instance-types/%00/%00/"])
def test_a_nul_in_an_address_names_nothing(get, address):
    assert get(address, status=404)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    "door", ["workloads", "quality", "instance-types/azure/Standard_ND96isr_H100_v5"]
)
def test_no_door_takes_a_parameter_that_it_does_not_know(get, door):
    assert list(get(f"{door}/?colour=red", status=400)["error"]["fields"]) == ["colour"]


def test_an_estimate_shows_of_an_offer_what_everyone_gets(post):
    answer = post({"workload": "llama3-8b-pretrain", "gpus": 64, "filter": PRESET})
    for each in (*answer["results"], *answer["left_out"]):
        assert tuple(each["offer"]) == OFFER_KEYS
    assert isinstance(answer["results"][0]["offer"]["gpu_count"], int)


def test_quality_counts_what_is_known(get):
    said = get("quality/")
    assert said["facts_without_source"] == 0
    assert said["offers"] > 1000
    assert all(0 <= share <= 1 for share in said["coverage"].values())


def test_the_schema_is_openapi_3_1_and_names_every_filter(get):
    schema = get("schema/")
    assert schema["openapi"].startswith("3.1")
    names = {p["name"] for p in schema["paths"]["/api/v1/offers/"]["get"]["parameters"]}
    assert {"nvlink", "infiniband", "include_unknown", "usd_per_gpu_hour_max", "as_of"} <= names
    kinds = schema["components"]["schemas"]
    assert kinds["InstanceType"]["properties"]["by_region"] == {}  # null is no second choice


def test_every_example_of_the_docs_runs(client, get, post):
    page = client.get("/api/v1/docs/").content.decode()
    paths = get("schema/")["paths"]
    assert {door.path for door in doors()} == set(paths) - {"/api/v1/schema/"}
    for door in doors():
        if door.method != "GET" or {} not in paths[door.path]["get"]["security"]:
            continue  # of its owner alone
        if "{" in door.address:
            continue  # of one thing, and there may be none
        assert html.escape(door.address) in page
        answer = get(door.address.removeprefix("/api/v1/"))
        assert answer.get("results", answer), door.address
    assert post(next(door.body for door in doors() if door.path.endswith("/estimates/")))["results"]


def test_an_example_of_the_docs_says_the_method_who_asks_and_the_body(client):
    page = html.unescape(client.get("/api/v1/docs/").content.decode())
    for door in doors():
        assert f"curl {door.call}'http://testserver{door.address}'" in page
        assert (door.method == "GET") is not (f"-X {door.method}" in door.call)
    saved = next(d for d in doors() if d.path == "/api/v1/comparisons/{id}/" and d.method == "PUT")
    assert "Bearer $FABRICSCOUT_TOKEN" in saved.call
    assert saved.body in saved.call
    check = next(door for door in doors() if door.path == "/api/v1/measurements/")
    assert "Bearer" not in check.call
    answer = client.post(check.path, check.body, content_type="application/json").json()
    assert (answer["ranks"], answer["problems"]) == (16, [])


def test_what_has_not_changed_is_not_sent_again_by_any_door_to_read(client):
    read = [d for d in doors() if d.method == "GET" and d.anonymous and "{" not in d.address]
    assert len(read) > 8
    for address in (
        *(door.address for door in read),
        "/api/v1/",
        "/api/v1/schema/",
        "/api/v1/docs/",
    ):
        first = client.get(address)
        again = client.get(address, headers={"If-None-Match": first["ETag"]})
        assert (first.status_code, again.status_code) == (200, 304), address
        assert again.content == b""
        of_head = client.head(address)
        assert (of_head["ETag"], of_head.content) == (first["ETag"], b""), address


def test_the_root_names_every_door_and_leads_to_the_schema(get):
    said = get("")
    assert {each["path"] for each in said["doors"]} == {door.path for door in doors()}
    assert all(each["summary"] for each in said["doors"])
    assert said["schema"] == "/api/v1/schema/"
    assert said["docs"] == "/api/v1/docs/"


def test_at_least_fifteen_workloads_over_all_kinds_each_with_its_source(get):
    workloads = get("workloads/")["results"]
    assert len(workloads) >= 15
    kinds = [workload["kind"] for workload in workloads]
    assert {"train", "finetune_lora", "decode", "custom"} <= set(kinds)
    assert kinds.count("custom") >= 4  # stencil, transform, lattice, frames
    assert all(workload["source"] for workload in workloads)


def test_clusters_are_ranked_by_dollars_per_million_tokens(post):
    answer = post({"workload": "llama3-8b-pretrain", "gpus": 64, "filter": PRESET})
    results = answer["results"]
    assert [r["rank"] for r in results] == list(range(1, len(results) + 1))
    priced = [r["usd_per_mtoken"] for r in results if r["usd_per_mtoken"] is not None]
    assert priced == sorted(priced)  # all of them dated
    for r in results:
        assert r["offer"]["fabric"] == "infiniband"
        assert r["nodes"] * r["offer"]["gpu_count"] >= 64
        assert r["interval"]["low"] <= (r["usd_per_mtoken"] or r["estimate"]["step_time_s"])
        assert r["interval"]["high"] >= (r["usd_per_mtoken"] or r["estimate"]["step_time_s"])
        time = r["estimate"]["time"]
        assert sum(time.values()) == pytest.approx(r["estimate"]["step_time_s"])
    best = results[0]
    per_hour = float(best["offer"]["usd_per_hour"]) * best["nodes"]
    tokens_per_hour = best["estimate"]["tokens_per_s"] * 3600
    assert best["usd_per_mtoken"] == pytest.approx(per_hour / tokens_per_hour * 1e6)
    assert answer["model_version"]
    assert answer["catalog_as_of"]


def test_the_same_question_is_answered_from_what_was_kept(post, django_assert_max_num_queries):
    body = {"workload": "llama3-8b-pretrain", "gpus": 64, "filter": PRESET}
    first = post(body)
    with django_assert_max_num_queries(5):
        assert post(body) == first


def test_sockets_instead_of_rdma_cost_more(post):
    body = {
        "workload": "llama3-70b-pretrain",
        "gpus": 256,
        "filter": PRESET | {"provider": "azure"},
    }
    as_sold = post(body)["results"][0]
    sockets = post(body | {"what_if": {"gpudirect_rdma": "no"}})["results"]
    (same,) = (
        r
        for r in sockets
        if r["offer"]["instance_type"] == as_sold["offer"]["instance_type"]
        and r["offer"]["price_model"] == as_sold["offer"]["price_model"]
        and r["offer"]["tier"] == as_sold["offer"]["tier"]
    )
    assert same["usd_per_mtoken"] > as_sold["usd_per_mtoken"]


def test_a_slower_nic_is_a_slower_fabric(post):
    azure = PRESET | {"provider": "azure", "q": "Standard_ND96isr_H100_v5"}
    body = {"workload": "llama3-70b-pretrain", "gpus": 256, "filter": azure}
    as_sold = post(body)["results"][0]["estimate"]["step_time_s"]
    slower = post(body | {"what_if": {"fabric_gbits_per_s_per_nic": 50}})["results"][0]
    assert slower["estimate"]["step_time_s"] > as_sold


def test_without_a_fabric_instances_talk_over_the_front_end(post):
    one_gpu = {"provider": "azure", "q": "Standard_NC4as_T4_v3", "price_model": "on_demand"}
    results = post({"workload": "llama3-8b-pretrain", "gpus": 64, "filter": one_gpu})["results"]
    (t4,) = (r for r in results if r["offer"]["instance_type"] == "Standard_NC4as_T4_v3")
    assert t4["offer"]["frontend_gbits_per_s"] == 8
    assert t4["estimate"]["exposed_share"] > 0.3


def test_what_cannot_be_ranked_is_left_out_with_its_reason(post):
    left_out = post({"workload": "gpt-1t-pretrain", "gpus": 64, "filter": {"gpu_vendor": "nvidia"}})
    assert left_out["left_out"]
    assert all(each["reason"] for each in left_out["left_out"])


def test_a_job_of_ones_own_can_be_described(post):
    job = {
        "kind": "train",
        "layers": 32,
        "hidden": 4096,
        "ffn_hidden": 11008,
        "heads": 32,
        "vocab": 32000,
        "seq_len": 4096,
        "global_batch": 256,
        "precision": "bf16",
    }
    answer = post({"workload": job, "nodes": 4, "filter": PRESET | {"provider": "azure"}})
    assert answer["results"][0]["nodes"] == 4


@pytest.mark.parametrize(
    ("body", "field", "says"),
    [
        ({"gpus": 8}, "workload", "must be a slug"),
        ({"workload": "gpt-5", "gpus": 8}, "workload", "gpt"),
        ({"workload": "hpc-halo"}, "gpus", "either gpus or nodes"),
        ({"workload": "hpc-halo", "gpus": 8, "nodes": 1}, "gpus", "either gpus or nodes"),
        ({"workload": "hpc-halo", "gpus": 0}, "gpus", "from 1 to"),
        ({"workload": "hpc-halo", "gpus": 1e9}, "gpus", "from 1 to"),
        ({"workload": "hpc-halo", "gpus": True}, "gpus", "from 1 to"),
        ({"workload": "hpc-halo", "gpus": 8, "colour": 1}, "colour", "is not a key"),
        ({"workload": "hpc-halo", "gpus": 8, "objective": "luck"}, "objective", "usd_per_mtoken"),
        ({"workload": "hpc-halo", "gpus": 8, "filter": {"gpu": "h100"}}, "gpu", "is not a GPU"),
        ({"workload": "hpc-halo", "gpus": 8, "filter": 7}, "filter", "must be an object"),
        ({"workload": "hpc-halo", "gpus": 8, "filter": []}, "filter", "must be an object"),
        ({"workload": "hpc-halo", "gpus": 8, "what_if": {"x": 1}}, "what_if", "oversubscription"),
        ({"workload": "hpc-halo", "gpus": 8, "what_if": []}, "what_if", "must be an object"),
        (
            {"workload": "hpc-halo", "gpus": 8, "what_if": {"fabric": "nope"}},
            "what_if.fabric",
            "must be one of",
        ),
        (
            {"workload": "hpc-halo", "gpus": 8, "what_if": {"oversubscription": 0}},
            "what_if.oversubscription",
            "must be",
        ),
        ([], "body", "must be a JSON object"),
    ],
)
def test_a_bad_question_is_a_400_that_names_the_field(post, body, field, says):
    error = post(body, status=400)["error"]
    assert field in error["fields"], error
    assert says in error["fields"][field][0]


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{",
        "[" * 100_000,
        '{"gpus": NaN}',
        '{"gpus": 1e999}',
        '{"gpus": %s}' % ("9" * 5000),
        '{"gpus": 8, "gpus": 9}',
        r'{"workload": "\u0000"}',
        r'{"workload": "\ud800"}',
    ],
)
def test_a_body_that_is_no_json_is_a_400(post, body):
    assert post(body, status=400)["error"]["code"]


def test_too_much_is_a_422_that_names_the_cap(post, monkeypatch):
    monkeypatch.setattr("catalog.candidates.MOST_WORK", 7)
    for asked in ({"gpus": 512}, {"tokens": 1e12, "deadline_hours": 720}):
        error = post({"workload": "gpt3-175b-pretrain", **asked}, status=422)["error"]
        assert error["code"] == "too_much"
        assert "7 are the most of one request: narrow the filter" in error["message"]


def test_a_preset_on_all_that_is_offered_is_not_too_much_and_a_job_of_many_layouts_is(post):
    many = {
        "kind": "train", "layers": 60, "hidden": 7680, "heads": 120, "kv_heads": 8, "vocab": 51200,
        "seq_len": 4096, "global_batch": 61440, "experts": 240, "topk": 8, "ffn_hidden": 2048,
    }  # fmt: skip
    assert post({"workload": "llama3-8b-pretrain", "gpus": 512})["results"]
    assert "layouts" in post({"workload": many, "gpus": 1920}, status=422)["error"]["message"]
    one = {"provider": "coreweave", "gpu": "h100-sxm5-80gb"}
    assert post({"workload": many, "gpus": 1920, "filter": one})["results"]


def test_another_method_is_a_405_in_the_one_shape(client):
    answer = client.delete("/api/v1/offers/")
    assert answer.status_code == 405
    assert answer.json()["error"]["code"] == "method_not_allowed"
    assert answer["Allow"]


def test_fabrics_are_sorted_any_way_with_the_unknown_last_and_walked_to_the_end(client):
    for sort in ("usd_per_gpu_hour", "-usd_per_gpu_hour", "-max_gpus,provider", "-slug"):
        at, walked, pages = f"/api/v1/fabrics/?page_size=25&sort={sort}", [], 0
        while at:
            said = client.get(at).json()
            walked += said["results"]
            at = said["next"]
            pages += 1
        whole = client.get(f"/api/v1/fabrics/?page_size=all&sort={sort}")
        assert json.loads(b"".join(whole.streaming_content))["results"] == walked
        assert len({row["slug"] for row in walked}) == len(walked)
        assert pages > 3
        if "max_gpus" in sort:
            known = [row["max_gpus"] for row in walked if row["max_gpus"] is not None]
            assert known == sorted(known, reverse=True)
            assert known == [row["max_gpus"] for row in walked[: len(known)]]


def test_fabrics_are_written_in_each_form_with_the_fields_asked_for(client):
    address = "/api/v1/fabrics/?fields=slug,max_gpus,instance_types&page_size=5&format="
    rows = client.get(f"{address}json").json()["results"]
    assert [list(row) for row in rows] == [["slug", "max_gpus", "instance_types"]] * 5
    lines = client.get(f"{address}ndjson")
    assert [json.loads(line) for line in lines.content.splitlines()] == rows
    assert 'rel="next"' in lines["Link"]
    table = list(csv.DictReader(io.StringIO(client.get(f"{address}csv").content.decode())))
    assert [row["slug"] for row in table] == [row["slug"] for row in rows]
    assert [json.loads(row["instance_types"]) for row in table] == [
        row["instance_types"] for row in rows
    ]


def test_a_list_of_fabrics_that_has_not_changed_is_a_304(client):
    first = client.get("/api/v1/fabrics/")
    again = client.get("/api/v1/fabrics/", headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")

"""The doors: one's own alone, strict bodies, every verb; what a run answers, and what changed."""

import csv
import io
import json
import uuid
from datetime import date
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from catalog.models import Rate
from comparisons import keeping, runs, schema
from comparisons.models import Comparison, Run
from tests.comparisons.conftest import JOB, PICKS, SMALL

ROOT = "/api/v1/comparisons/"
WORK = {"workload": JOB, "gpus": 64}
BODY = {"name": "Q1", **WORK, "picks": PICKS}


@pytest.fixture
def call(market, as_ada):
    """A request of ada's below comparisons/ to its JSON."""

    def ask(method: str, at: str = "", body: Any = None, status: int = 200, **headers: str) -> Any:
        sent = {} if body is None else {"data": body if isinstance(body, str) else json.dumps(body)}
        answer = getattr(as_ada, method)(
            ROOT + at, content_type="application/json", headers=headers, **sent
        )
        assert answer.status_code == status, answer.content
        if answer.headers.get("Content-Type") == "application/json":
            return answer.json()
        return answer.content.decode()

    return ask


@pytest.fixture
def kept(call):
    """The id of one that is kept and was run."""
    pk = call("post", body=BODY, status=201)["id"]
    call("post", f"{pk}/run/", {}, 201)
    return pk


@pytest.mark.parametrize(
    ("door", "body"),
    [
        ("comparisons/", lambda keys: keys),
        ("comparisons/ID/run/", lambda keys: keys),
        ("comparisons/ID/watches/", lambda keys: keys),
        ("comparisons/", lambda keys: BODY | {"filter": keys}),
        ("comparisons/", lambda keys: BODY | {"filter": {"gpu": ",".join(keys)}}),
        ("comparisons/", lambda keys: BODY | {"picks": list(keys)}),
        ("measurements/", lambda keys: keys),
        ("estimates/", lambda keys: keys),
        ("estimates/", lambda keys: WORK | {"filter": keys}),
        ("estimates/", lambda keys: WORK | {"what_if": keys}),
    ],
)
def test_what_is_said_of_a_body_is_no_larger_than_the_body(as_ada, kept, door, body):
    keys = {f"a{n:05}": 1 for n in range(5000)}
    answer = as_ada.post(
        f"/api/v1/{door.replace('ID', kept)}",
        json.dumps(body(keys)),
        content_type="application/json",
    )
    assert answer.status_code == 400
    assert len(answer.content) < 40_000
    fields = answer.json()["error"]["fields"]
    assert 1 <= len(fields) <= 30
    assert sum(len(said) for said in fields.values()) <= 30


# --- Keeping ----------------------------------------------------------------------------------


def test_a_comparison_is_kept_read_edited_and_deleted(call):
    made = call("post", body=BODY, status=201)
    assert made["workloads"] == [{"workload": JOB, "gpus": 64}]
    assert (made["objective"], made["currency"], made["last_run"]) == (
        "usd_per_mtoken",
        "USD",
        None,
    )
    pk = made["id"]
    assert uuid.UUID(pk).version == 4
    assert call("get", f"{pk}/") == made
    edited = call("patch", f"{pk}/", {"name": "Q2", "notes": "two\nlines"})
    assert (edited["name"], edited["notes"], edited["picks"]) == ("Q2", "two\nlines", PICKS)
    replaced = call("put", f"{pk}/", {"name": "Q3", "picks": PICKS[:2]})
    assert (replaced["workloads"], replaced["notes"]) == ([], "")
    call("delete", f"{pk}/", status=204)
    call("get", f"{pk}/", status=404)


def test_several_workloads_and_a_filter_in_place_of_picks(call):
    body = {
        "name": "two",
        "workloads": [{"workload": JOB, "gpus": 64}, {"workload": SMALL, "nodes": 1}],
        "filter": {"price_model": ["on_demand", "spot"], "nvlink": True},
        "objective": "time",
    }
    pk = call("post", body=body, status=201)["id"]
    answers = call("post", f"{pk}/run/", {}, 201)["results"]["workloads"]
    assert [len(each["results"]) + len(each["left_out"]) for each in answers] == [4, 4]
    times = [each["estimate"]["tokens_per_s"] for each in answers[0]["results"]]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"owner": 1}, "owner"),
        ({"id": str(uuid.uuid4())}, "id"),
        ({"share_token": "x"}, "share_token"),
        ({"is_staff": True}, "is_staff"),
        ({"name": ""}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"name": 7}, "name"),
        ({"notes": "x" * 10_001}, "notes"),
        ({"picks": ["acme"]}, "picks.0"),
        ({"picks": ["acme/ib", "acme/ib"]}, "picks"),
        ({"picks": "acme/ib"}, "picks"),
        ({"picks": [f"acme/{n}" for n in range(101)]}, "picks"),
        ({"baseline": "acme/other"}, "baseline"),
        ({"objective": "beauty"}, "objective"),
        ({"currency": "XXX"}, "currency"),
        ({"currency": 1}, "currency"),
        ({"filter": {"gpus": 1}}, "filter.gpus"),
        ({"filter": {"as_of": "2026-01-01"}}, "filter.as_of"),
        ({"filter": {"usd_per_hour_max": "1e1000000"}}, "filter.usd_per_hour_max"),
        ({"filter": []}, "filter"),
        ({"workload": "nonesuch"}, "workloads.0.workload"),
        ({"gpus": 0}, "workloads.0.gpus"),
        ({"gpus": 64, "nodes": 8}, "workloads.0.gpus"),
        ({"workloads": [{"workload": JOB, "gpus": 64}]}, "workloads"),
    ],
)  # fmt: skip
def test_a_body_that_is_not_of_its_form_is_told_where(call, change, field):
    said = call("post", body={**BODY, **change}, status=400)["error"]
    assert any(name.startswith(field) for name in said["fields"]), said
    assert not Comparison.objects.exists()


@pytest.mark.parametrize(
    "body",
    ["[]", "null", "{", '{"name": "a\\u0000"}', '{"name": "a", "picks": ["acme/\\ud800"]}',
     '{"name": "a", "picks": ["acme/\\u0000"]}', '{"name": "a", "name": "b"}', "[" * 100_000,
     '{"name": "a", "workload": "x", "gpus": 1e999}'],
)  # fmt: skip
def test_a_body_of_a_stranger_is_a_400(call, body):
    call("post", body=body, status=400)


def test_nothing_to_compare_is_refused(call):
    assert "workloads" in call("post", body={"name": "x"}, status=400)["error"]["fields"]


def test_the_list_is_paged_the_last_edited_first(call):
    made = [call("post", body={**BODY, "name": str(n)}, status=201)["id"] for n in range(3)]
    page = call("get", "?page_size=2&count=true&fields=id,name")
    assert ([each["name"] for each in page["results"]], page["count"]) == (["2", "1"], 3)
    rest = call("get", page["next"].removeprefix(ROOT))
    assert [each["id"] for each in rest["results"]] == [made[0]]
    assert call("get", "?sort=name")["results"][0]["name"] == "0"
    call("get", "?owner=1", status=400)
    rows = list(csv.DictReader(io.StringIO(call("get", "?format=csv"))))
    assert rows[0]["name"] == "2"


def test_a_duplicate_has_the_question_and_no_past(call, kept):
    copy = call("post", f"{kept}/duplicate/", {"name": "again"}, 201)
    assert (copy["name"], copy["picks"], copy["last_run"]) == ("again", PICKS, None)
    assert call("post", f"{kept}/duplicate/", status=201)["name"] == "Q1, copy"
    call("post", f"{kept}/duplicate/", {"owner": 2}, 400)


def test_a_request_that_is_sent_again_is_done_once(call):
    first = call("post", body=BODY, status=201, **{"Idempotency-Key": "one"})
    again = call("post", body=BODY, status=201, **{"Idempotency-Key": "one"})
    assert first == again
    assert Comparison.objects.count() == 1


# --- Runs -------------------------------------------------------------------------------------


def test_runs_are_kept_listed_and_read_whole(call, kept):
    (about,) = call("get", f"{kept}/runs/")["results"]
    run = call("get", f"{kept}/runs/{about['id']}/")
    assert run["results"]["offers"][0]["offer"]["usd_per_hour"] == "24"
    assert run["model_version"] == run["results"]["model_version"]
    assert call("get", f"{kept}/")["last_run"] == about
    assert call("get", f"{kept}/export/") == run


def test_a_run_as_csv_has_a_line_an_offer(call, kept):
    (about,) = call("get", f"{kept}/runs/")["results"]
    text = call("get", f"{kept}/runs/{about['id']}/?format=csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    by_key = {row["key"]: row for row in rows}
    assert by_key["acme/ib"]["usd_per_gpu_hour"] == "3"
    assert "fabric" in by_key["acme/dark"]["unknown"].split(";")
    assert by_key["acme/dark"]["fabric"] == ""
    assert call("get", f"{kept}/export/?format=csv") == text


def test_a_run_of_another_day_is_not_what_files_are_of(call, kept):
    """They are of the answer that the page shows."""
    before = [call("get", f"{kept}/{each}/") for each in ("export", "rfq")]
    call("post", f"{kept}/run/", {"as_of": "1990-01-01"}, 201)
    assert [call("get", f"{kept}/{each}/") for each in ("export", "rfq")] == before


def test_in_another_currency_a_file_has_its_amounts_besides(call, kept):
    Rate.objects.create(currency="EUR", usd_per_unit="1.25", day=date(2026, 11, 20), source="ECB")
    assert "eur_per" not in call("get", f"{kept}/export/?format=csv")
    pk = call("post", body=BODY | {"currency": "EUR"}, status=201)["id"]
    call("post", f"{pk}/run/", {}, 201)
    for row in csv.DictReader(io.StringIO(call("get", f"{pk}/export/?format=csv"))):
        for name in ("per_hour", "per_gpu_hour", "per_mtoken", "per_mtoken_high"):
            assert float(row[f"eur_{name}"]) == pytest.approx(float(row[f"usd_{name}"]) / 1.25)


def test_a_baseline_that_contradicts_what_stands_is_a_409(call):
    may = Draft202012Validator(schema.NEW_BODY).is_valid
    alone = {"name": "x", **WORK, "baseline": "acme/ib"}
    assert (may(alone), may(alone | {"picks": PICKS})) == (True, False)  # taken all the same
    pk = call("post", body=alone | {"picks": PICKS}, status=201)["id"]
    for body in ({"baseline": "acme/other"}, {"picks": ["acme/dark"]}):
        assert Draft202012Validator(schema.CHANGED_BODY).is_valid(body)
        error = call("patch", f"{pk}/", body, 409)["error"]
        assert error["fields"] == {"baseline": ["must be one of picks."]}
    both = {"baseline": "acme/other", "picks": ["acme/dark"]}
    for method, body in (("patch", both), ("put", {"name": "x", **both})):
        call(method, f"{pk}/", body, 400)
    call("patch", f"{pk}/", {"baseline": "acme/dark", "picks": ["acme/dark"]})


@pytest.mark.parametrize(("stands", "empties"), [(WORK, "workloads"), ({"picks": PICKS}, "picks")])
def test_to_empty_the_one_list_that_stands_is_a_409_and_both_at_once_a_400(call, stands, empties):
    may = Draft202012Validator(schema.CHANGED_BODY).is_valid
    one, both = {empties: []}, {"workloads": [], "picks": []}
    assert (may(one), may(both)) == (True, False)
    pk = call("post", body={"name": "x"} | stands, status=201)["id"]
    error = call("patch", f"{pk}/", one, 409)["error"]
    assert list(error["fields"]) == ["workloads"]
    assert "workloads" in call("patch", f"{pk}/", both, 400)["error"]["fields"]
    pk = call("post", body={"name": "x", "picks": PICKS} | WORK, status=201)["id"]
    assert call("patch", f"{pk}/", one)[empties] == []


def test_what_the_catalog_no_longer_has_of_a_comparison_is_no_fault_of_a_change(call):
    pk = call("post", body=BODY, status=201)["id"]
    Comparison.objects.filter(pk=pk).update(filter={"provider": "gone"})
    for method, at, body in (
        ("patch", f"{pk}/", {"name": "y"}),
        ("post", f"{pk}/run/", {}),
        ("post", f"{pk}/duplicate/", {}),
    ):
        error = call(method, at, body, 409)["error"]
        assert (error["code"], list(error["fields"])) == ("contradicts", ["filter.provider"])
    assert "name" in call("patch", f"{pk}/", {"name": ""}, 400)["error"]["fields"]
    call("patch", f"{pk}/", {"filter": {"provider": "nor this"}}, 400)
    assert call("patch", f"{pk}/", {"filter": {}})["filter"] == {}


@pytest.mark.parametrize(
    ("most", "at"),
    [("MOST_COMPARISONS", ""), ("MOST_COMPARISONS", "ID/duplicate/"), ("MOST_SHARES", "ID/shares/"),
     ("MOST_RUNS", "ID/run/")],
)  # fmt: skip
def test_one_more_than_may_be_kept_is_a_409_that_says_so(call, kept, monkeypatch, most, at):
    monkeypatch.setattr(runs if most == "MOST_RUNS" else keeping, most, 0)
    error = call("post", at.replace("ID", str(kept)), {} if at else BODY, 409)["error"]
    assert error["code"] == "too_many"
    assert " 0 " in error["message"]


def test_an_integer_of_more_than_64_bits_is_the_number_that_it_is(call):
    flop = 10**20
    job = {"kind": "custom", "flop": flop, "hbm_bytes": 2**63, "memory_gb": 1}
    made = call("post", body={"name": "x", "workload": job, "gpus": 8, "picks": PICKS}, status=201)
    assert made["workloads"][0]["workload"] == job
    assert call("post", f"{made['id']}/run/", {}, 201)["results"]["workloads"][0]["results"]
    assert call("post", f"{made['id']}/duplicate/", {}, 201)["workloads"] == made["workloads"]


def test_formulas_of_a_provider_are_text_in_a_file(call, market):
    pk = call("post", body={"name": "x", "picks": ["acme/ib"]}, status=201)["id"]
    call("post", f"{pk}/run/", {}, 201)
    run = Run.objects.get()
    assert ",=" not in call("get", f"{pk}/runs/{run.pk}/?format=csv")


def test_every_door_writes_a_time_in_one_form(call, kept, as_ada):
    made = call("post", f"{kept}/run/", {}, 201)
    (listed, *_before) = call("get", f"{kept}/runs/")["results"]
    one = call("get", f"{kept}/runs/{made['id']}/")
    (offer, *_others) = as_ada.get("/api/v1/offers/").json()["results"]
    (price, *_rest) = as_ada.get("/api/v1/prices/").json()["results"]
    for name in ("made_at", "catalog_changed_at"):
        assert made[name] == listed[name] == one[name]
    times = [made["made_at"], made["catalog_changed_at"], one["results"]["catalog_changed_at"],
             offer["collected_at"], price["valid_from"]]  # fmt: skip
    assert [time[-6:] for time in times] == ["+00:00"] * 5


def test_a_run_as_of_a_date_and_of_the_future(call, kept, market):
    market(days=2, ib="30")
    now = call("post", f"{kept}/run/", {}, 201)
    then = call("post", f"{kept}/run/", {"as_of": "2026-11-24"}, 201)
    prices = [each["results"]["offers"][0]["offer"]["usd_per_hour"] for each in (now, then)]
    assert prices == ["30", "24"]
    for wrong in ("2999-01-01", "soon", 7, ""):
        assert "as_of" in call("post", f"{kept}/run/", {"as_of": wrong}, 400)["error"]["fields"]
    call("post", f"{kept}/run/", {"when": "now"}, 400)


def test_the_diff_tells_what_changed_in_values_and_words(call, kept, market):
    market(days=1, dark="15", roce=None)
    call("post", f"{kept}/run/", {}, 201)
    diff = call("get", f"{kept}/diff/")
    assert diff["summary"] == "1 price, 1 gone, 2 ranks"
    price = next(each for each in diff["changes"] if each["kind"] == "price")
    assert (price["was"], price["now"], price["delta_percent"]) == ("1", "1.875", 87.5)
    assert price["now_source"]["source"] == "https://acme.example/prices"
    gone = next(each for each in diff["changes"] if each["kind"] == "gone")
    assert (gone["now"], gone["delta_percent"], gone["now_text"]) == (
        None,
        None,
        "no longer listed",
    )
    rows = list(csv.DictReader(io.StringIO(call("get", f"{kept}/diff/?format=csv"))))
    assert {row["kind"] for row in rows} == {"price", "gone", "rank"}
    assert next(row for row in rows if row["kind"] == "gone")["delta_percent"] == ""
    same = f"from={diff['to']['id']}&to={diff['to']['id']}"
    assert call("get", f"{kept}/diff/?{same}")["changes"] == []
    call("get", f"{kept}/diff/?from={uuid.uuid4()}", status=404)
    call("get", f"{kept}/diff/?from=first", status=400)


def test_the_first_run_has_nothing_to_be_held_against(call, kept):
    diff = call("get", f"{kept}/diff/")
    assert (diff["from"], diff["changes"]) == (None, [])


def test_the_questions_to_a_provider_are_made_of_what_matters(call, kept):
    text = call("get", f"{kept}/rfq/")
    assert text.startswith("Q1\n")
    assert "Acme" in text
    assert "dark: Which network joins instances for GPU traffic" in text
    assert "ib: Is GPUDirect RDMA" not in text


def test_of_a_job_on_one_instance_no_network_is_asked_for(call):
    body = {"name": "one", "workload": SMALL, "gpus": 8, "picks": ["acme/dark"]}
    pk = call("post", body=body, status=201)["id"]
    call("get", f"{pk}/rfq/", status=404)  # not answered yet
    call("post", f"{pk}/run/", {}, 201)
    assert "Which network" not in call("get", f"{pk}/rfq/")


# --- Links ------------------------------------------------------------------------------------


def test_a_link_is_made_listed_and_revoked(call, kept):
    made = call("post", f"{kept}/shares/", status=201)
    assert len(made["token"]) >= 22  # 128 bits and more
    (listed,) = call("get", f"{kept}/shares/")["results"]
    assert "token" not in listed
    call("delete", f"{kept}/shares/{made['id']}/", status=204)
    call("delete", f"{kept}/shares/{made['id']}/", status=404)
    assert call("get", f"{kept}/shares/")["results"][0]["revoked_at"] is not None
    call("post", f"{kept}/shares/", {"token": "mine"}, 400)


# --- Whose ------------------------------------------------------------------------------------


def test_what_is_ones_own_is_for_no_cache(call, as_ada, kept):
    for address in (ROOT, f"{ROOT}{kept}/", f"{ROOT}{kept}/runs/"):
        assert "no-store" in as_ada.get(address)["Cache-Control"]


def test_ids_that_are_none_are_404(call):
    for address in ("1/", "x/", f"{uuid.uuid4()}/", f"{uuid.uuid4()}/runs/7/"):
        call("get", address, status=404)


# --- Filters that no offer can pass both ---------------------------------------------------------


def test_filters_that_contradict_each_other_may_be_kept_and_find_nothing(call):
    body = {"name": "none", "filter": {"infiniband": True, "fabric": "efa"}, **WORK}
    pk = call("post", body=body, status=201)["id"]
    results = call("post", f"{pk}/run/", {}, 201)["results"]
    assert (results["offers"], results["workloads"][0]["results"]) == ([], [])
    assert "No offer passes all of these filters." in call("get", f"{pk}/rfq/")


# --- Files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ['=HYPERLINK("http://evil.example")', "+1+1", "-1", "@SUM(1)"])
def test_what_its_owner_typed_is_text_in_every_file(call, text):
    body = {**BODY, "name": text, "notes": text}
    pk = call("post", body=body, status=201)["id"]
    call("post", f"{pk}/run/", {}, 201)
    call("post", f"{pk}/run/", {}, 201)
    for file in (
        "?format=csv",
        *(f"{pk}/{each}/?format=csv" for each in ("export", "runs", "diff")),
    ):
        cells = [cell for row in csv.reader(io.StringIO(call("get", file))) for cell in row]
        assert (f"'{text}" in cells) == (file == "?format=csv"), file  # the one that names it
        assert text not in cells, file


@pytest.mark.parametrize("notes", ["\t=1+1", "\r=1+1", "\n=1+1", " =1+1"])
def test_notes_that_hide_a_formula_behind_a_blank_are_text_too(call, notes):
    call("post", body={**BODY, "notes": notes}, status=201)
    (row,) = csv.DictReader(io.StringIO(call("get", "?format=csv"), newline=""))
    assert row["notes"][0] not in "=+-@\t\r\n"


@pytest.mark.parametrize(("gpus", "said"), [(8, "8 GPUs"), (1, "1 GPU")])
def test_one_is_not_several(call, gpus, said):
    body = {"name": "one", "workload": SMALL, "gpus": gpus, "picks": ["acme/dark"]}
    pk = call("post", body=body, status=201)["id"]
    call("post", f"{pk}/run/", {}, 201)
    assert f"{SMALL}, {said}\n" in call("get", f"{pk}/rfq/")

"""A pasted run of nccl-tests: checked for anyone, kept for users, never in dispute."""

import ast
import json
import re
from pathlib import Path

import pytest
from django.contrib.auth import get_user_model
from django.test import Client
from django.utils import translation
from jsonschema import Draft202012Validator

from catalog.facts import ATTRIBUTES
from catalog.models import CatalogVersion, Fact, InstanceType
from measurements import keeping
from measurements.api import BODY
from measurements.models import Measurement
from scoring import nccl_check, nccl_log, nccl_rows, nccl_tests, nccl_words
from scoring.nccl_tests import NAMES
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND
from tests.scoring.test_nccl_tests import header, paste, row

DOOR, JSON = "/api/v1/measurements/", "application/json"


@pytest.fixture
def rented(db):
    """8 H100 on InfiniBand, as the catalog has them."""
    scrape([offer("ib", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes"))])


@pytest.fixture
def ada(db):
    return get_user_model().objects.create_user("ada", "ada@example.org")


@pytest.fixture
def bob(db):
    return get_user_model().objects.create_user("bob", "bob@example.org")


def run(us=2600.0, **more):
    """1 GiB over two nodes: in 5,000 µs a bus bandwidth of 402.7 GB/s."""
    return f"all_reduce_perf\n{header(16, 2)}\n{row('all_reduce', 16, 1 << 30, us, **more)}"


def ask(client, text, **more):
    """The door's answer to a pasted text."""
    body = {"provider": "acme", "instance_type": "ib", "text": text} | more
    return client.post(DOOR, json.dumps(body), content_type="application/json")


def form(text, **more):
    """The fields of the box."""
    given = {"provider": "acme", "instance_type": "ib", "text": text, "nodes": "", "collective": ""}
    return given | more


def signed_in(user):
    client = Client()
    client.force_login(user)
    return client


# --- Checked ---------------------------------------------------------------------------------


def test_the_door_holds_a_run_against_the_types_own_facts(client, rented):
    answer = ask(client, run(us=5000)).json()
    assert (answer["collective"], answer["ranks"], answer["nodes"]) == ("all_reduce", 16, 2)
    # 8 NICs of 400 Gb/s: 400 GB/s; 2·15/16 · 2³⁰ B / 5 ms = 402.65 GB/s
    assert answer["line_rate_gbytes_per_s"] == 400
    assert answer["of_line_rate"] == pytest.approx(402.65 / 400, abs=1e-4)
    assert answer["problems"] == []
    assert {"line_rate", "as_predicted", "peers", "gdr_unseen"} <= {
        each["code"] for each in answer["verdict"]
    }


def test_what_is_kept_once_under_a_key_is_not_kept_again(rented, ada):
    client, key = signed_in(ada), {"Idempotency-Key": "run-1"}

    def keep_(text, **headers):
        body = {"provider": "acme", "instance_type": "ib", "text": text, "keep": True}
        return client.post(DOOR, json.dumps(body), content_type="application/json", headers=headers)

    first, again = keep_(run(), **key), keep_(run(), **key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again["Idempotency-Replayed"] == "true"
    assert keep_(run(us=5000), **key).status_code == 422
    assert keep_(run(us=5000), **{"Idempotency-Key": "a b"}).status_code == 400
    assert Measurement.objects.count() == 1


def test_the_schema_names_the_collective_whose_figures_tell_the_ranks(client, rented):
    may = Draft202012Validator(BODY).is_valid
    body = {"provider": "acme", "instance_type": "ib"}
    line = row("sendrecv", 16, 1 << 30, 5000)
    for text, status in ((f"{header(16, 2)}\n{line}", 200), (line, 400)):
        asked = {"collective": "send_recv", "text": text}
        assert not may(body | asked)  # one of the two is taken all the same
        answer = client.post(DOOR, body | asked, JSON)
        assert answer.status_code == status, answer.content
    assert may(body | asked | {"collective": "all_reduce"})


def test_the_schema_allows_null_for_what_is_left_out_and_no_nul(client, rented):
    may = Draft202012Validator(BODY).is_valid
    body = {"provider": "acme", "instance_type": "ib", "text": run()}
    for more in ({"collective": None}, {"nodes": None}):
        assert may(body | more)
        assert ask(client, run(), **more).json()["ranks"] == 16
    for name, text in body.items():
        assert not may(body | {name: f"\0{text}"})
        assert not may(body | {name: f"{text}\0"})
        assert client.post(DOOR, body | {name: f"{text}\0"}, JSON).status_code == 400


def test_one_run_more_than_a_user_may_keep_is_a_409(rented, ada, monkeypatch):
    monkeypatch.setattr(keeping, "MOST", 1)
    answers = [ask(signed_in(ada), run(us=us), keep=True) for us in (5000, 5100)]
    assert [answer.status_code for answer in answers] == [201, 409]
    assert list(answers[1].json()["error"]["fields"]) == ["keep"]


def test_an_unreadable_paste_names_its_line(client, rented):
    answer = ask(client, "all_reduce_perf\n\n1024 256 float sum 1.0 oops")
    assert answer.status_code == 400
    assert answer.json()["error"]["fields"]["text"][0].startswith("line 3: ")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"text": " "}, "text"),
        ({"text": 5}, "text"),
        ({"nodes": 0}, "nodes"),
        ({"nodes": True}, "nodes"),
        ({"collective": "all_gather"}, "text"),  # the paste is headed all_reduce
        ({"nodes": 7}, "nodes"),  # the paste lists two hosts
        ({"collective": "hypercube"}, "collective"),
        ({"keep": "yes"}, "keep"),
        ({"frobnicate": 1}, "frobnicate"),
        ({"text": "x" * 700_000}, "text"),
        ({"text": run().replace("node-1", "node-0")}, "ranks"),  # 16 on a node of 8
    ],
)
def test_a_bad_body_is_refused_by_field(client, rented, change, field):
    answer = ask(client, **({"text": run()} | change))
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == [field]


def test_an_unknown_type_is_not_there(client, rented):
    assert ask(client, run(), instance_type="none").status_code == 404
    for provider in ("none", "a\x00", "a/b", "\x00"):
        assert ask(client, run(), provider=provider).status_code in (400, 404)
        given = form(run(), provider=provider)
        assert client.post("/measurements/", given).status_code == 404, provider


def test_more_digits_than_python_reads_are_no_number_of_instances(client, rented):
    assert client.post("/measurements/", form(run(), nodes="9" * 5000)).status_code == 400
    body = json.dumps({"provider": "acme", "instance_type": "ib", "text": run()})
    nodes = (f'{body[:-1]}, "nodes": {"9" * digits}}}' for digits in (30, 5000))
    halves = (body.replace("acme", "\\ud800"), body.replace("sum", "\\ud800"))  # of a character
    for bad in (*nodes, *halves):
        assert client.post(DOOR, bad, content_type="application/json").status_code == 400


def test_the_box_stands_on_the_types_page_and_leads_to_the_verdict(client, rented):
    page = client.get("/instances/acme/ib/").content.decode()
    assert 'name="text"' in page
    assert 'value="ib"' in page
    answer = client.post("/measurements/", form(run(us=5000)))
    assert answer.status_code == 200
    assert "line rate" in answer.content.decode()
    assert "csrftoken" not in answer.cookies


def test_a_bad_paste_is_still_in_the_box(client, rented):
    text = "all_reduce_perf\n1024 256 float sum 1.0 <oops>"
    answer = client.post("/measurements/", form(text))
    said = answer.content.decode()
    assert answer.status_code == 400
    assert "line 2: " in said
    box = re.search(r"<textarea[^>]*>(.*?)</textarea>", said, re.DOTALL)[1]
    assert box.strip() == text.replace("<", "&lt;").replace(">", "&gt;")


def test_the_sentences_are_in_the_readers_language(client, rented):
    said = client.post("/measurements/", form(run(us=5000)), headers={"accept-language": "ja"})
    assert "理論値" in said.content.decode()
    door = ask(Client(headers={"accept-language": "ja"}), run(us=5000)).json()
    assert all(re.search("[ぁ-ん]", each["text"]) for each in door["verdict"])


def test_what_is_wrong_with_a_run_is_in_the_readers_language_too(client, rented):
    crowded = run().replace("node-1", "node-0")  # 16 on a node of 8
    for text, more in ((crowded, {}), (run(), {"nodes": "7"}), (run(), {"collective": "reduce"})):
        page = client.post(
            "/measurements/", form(text, **more), headers={"accept-language": "ja"}
        ).content.decode()
        told = re.search(r'id="paste-problems".*?<li>(.*?)</li>', page, re.DOTALL)[1]
        assert re.search("[ぁ-ん]", told)
        assert not re.search(r"\b(ranks|nodes|hosts|chosen)\b", told), told


def test_what_is_kept_is_told_in_the_readers_language(client, rented, ada):
    text = f"all_reduce_perf\n{header(8)}\n{row('all_reduce', 8, 1 << 30, 5000)}"
    assert ask(signed_in(ada), text, keep=True).status_code == 201
    assert ask(signed_in(ada), run(us=5000), keep=True).status_code == 201
    page = client.get("/instances/acme/ib/").content.decode()
    assert "8 GPUs on 1 node at 1073741824 bytes" in page
    page = client.get("/instances/acme/ib/", headers={"accept-language": "ja"}).content.decode()
    assert "bytes" not in re.findall(r"[^<>]*1073741824[^<>]*", page)[0]
    assert "not verified" not in page


# --- Kept ------------------------------------------------------------------------------------


def test_only_someone_keeps(client, rented):
    answer = ask(client, run(us=5000), keep=True)
    assert answer.status_code in (401, 403)
    assert client.post("/measurements/keep/", form(run(us=5000))).status_code == 302  # to sign in
    assert not Measurement.objects.exists()


def test_a_kept_run_is_a_measured_fact_beside_the_nominal_values(rented, ada):
    before = InstanceType.objects.values().get(name="ib")
    answer = ask(signed_in(ada), run(us=5000), keep=True)
    assert answer.status_code == 201
    fact = Fact.objects.get(attribute="measured_all_reduce_gbytes_per_s")
    assert (fact.subject, fact.basis, fact.value) == ("acme/ib", "measured", "402.65")
    assert fact.scope == "16 GPUs on 2 nodes at 1073741824 bytes"
    assert "not verified" in fact.note
    after = InstanceType.objects.values().get(name="ib")
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"evidence"}  # no column: no filter and no estimate reads it
    assert after["disputed"] == before["disputed"]


def test_it_stands_in_the_table_of_evidence_with_its_raw_text_behind_it(client, rented, ada):
    text = run(us=5000)
    pk = ask(signed_in(ada), text, keep=True).json()["id"]
    page = client.get("/instances/acme/ib/").content.decode()
    assert "measured by a user" in page
    assert f'href="/measurements/{pk}/"' in page
    assert "402.65" in page or "402.7" in page
    kept = client.get(f"/measurements/{pk}/").content.decode()
    assert "NVIDIA H100 80GB HBM3" in kept
    assert "ada" not in kept
    assert client.get(f"{DOOR}{pk}/").json()["text"] == text
    listed = client.get("/api/v1/facts/?basis=measured").json()["results"]
    assert [each["source"] for each in listed] == [f"measurement:{pk}"]


FACTS, TYPES, OFFERS = (f"/api/v1/{door}/" for door in ("facts", "instance-types", "offers"))


def test_what_shows_claims_is_another_and_what_is_filtered_by_is_the_same(client, rented, ada):
    """No price and no estimate follows from what a user keeps: nothing is computed anew."""
    tags = [client.get(door)["ETag"] for door in (FACTS, TYPES, OFFERS)]
    version = CatalogVersion.objects.values().get()
    pk = ask(signed_in(ada), run(us=5000), keep=True).json()["id"]
    kept = [client.get(door)["ETag"] for door in (FACTS, TYPES, OFFERS)]
    signed_in(ada).delete(f"{DOOR}{pk}/")
    gone = [client.get(door)["ETag"] for door in (FACTS, TYPES, OFFERS)]
    for then in zip(tags[:2], kept[:2], gone[:2], strict=True):
        assert len(set(then)) == 3
    assert tags[2] == kept[2] == gone[2]
    assert CatalogVersion.objects.values().get() == version


def test_an_attribute_of_which_every_claim_is_withdrawn_is_not_listed(client, rented, ada):
    def listed():
        found = client.get("/api/v1/instance-types/acme/ib/").json()["facts"]
        return [fact["attribute"] for fact in found]

    before = listed()
    text = f"all_gather_perf\n{header(16, 2)}\n{row('all_gather', 16, 1 << 30, 60_000)}"
    pk = ask(signed_in(ada), text, keep=True).json()["id"]
    assert set(listed()) - set(before) == {"measured_all_gather_gbytes_per_s"}
    signed_in(ada).delete(f"{DOOR}{pk}/")
    assert listed() == before


def test_the_same_run_is_kept_once_and_a_form_keeps_as_the_door_does(rented, ada):
    client, text = signed_in(ada), run(us=5000)
    first = ask(client, text, keep=True).json()["id"]
    log = "node-0:41:77 [0] NCCL INFO NCCL version 2.27.3"
    for same in (text, f"{text}\n", text.replace("\n", "\r\n"), f"\n{text} \n\n", f"{log}\n{text}"):
        assert client.post("/measurements/keep/", form(same)).url == f"/measurements/{first}/"
    assert Measurement.objects.count() == 1
    assert ask(client, run(us=5001), keep=True).json()["id"] != first


def test_keeping_from_another_site_is_refused(rented, ada):
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post("/measurements/keep/", form(run(us=5000))).status_code == 403
    assert strict.post("/measurements/", form(run(us=5000))).status_code == 200  # changes nothing


@pytest.mark.parametrize(
    "text",
    [
        run(us=5000, wrong="3"),
        run(us=5000).replace("402.65", "502.65"),
        run(us=5000).replace("H100 80GB HBM3", "A100-SXM4-80GB"),
        run(us=900),  # five times what the NICs carry
        f"{run(us=5000)}\nn: Test NCCL failure common.cu:1279 'remote process exited'",
    ],
)
def test_a_run_that_does_not_add_up_is_checked_but_never_kept(rented, ada, text):
    client = signed_in(ada)
    assert ask(client, text).status_code == 200
    answer = ask(client, text, keep=True)
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == ["keep"]
    assert "Keep it" not in client.post("/measurements/", form(text)).content.decode()


def test_its_owner_and_an_admin_remove_it_and_nobody_else(rented, ada, bob):
    for remover, status in ((ada, 204), (None, 401), (bob, 403)):
        pk = ask(signed_in(ada), run(us=5000), keep=True).json()["id"]
        client = signed_in(remover) if remover else Client()
        assert client.delete(f"{DOOR}{pk}/").status_code in (status, 403 if status > 300 else 204)
        assert Measurement.objects.exists() == (remover != ada)
    assert signed_in(bob).post(f"/measurements/{pk}/").status_code == 404
    bob.is_staff = True
    bob.save()
    assert signed_in(bob).post(f"/measurements/{pk}/").url == "/instances/acme/ib/"
    assert not Fact.objects.live().filter(attribute__startswith="measured_").exists()
    assert Fact.objects.filter(attribute__startswith="measured_").exists()  # the line is readable


def test_a_users_runs_go_with_their_owner(rented, ada):
    ask(signed_in(ada), run(us=5000), keep=True)
    ada.delete()
    assert not Measurement.objects.exists()
    assert not Fact.objects.live().filter(attribute__startswith="measured_").exists()


def test_the_next_list_of_the_provider_leaves_it_alone(rented, ada):
    ask(signed_in(ada), run(us=5000), keep=True)
    scrape([offer("ib", "21", facts=facts("acme/ib", **INFINIBAND))], days=1)
    assert Fact.objects.live().filter(attribute="measured_all_reduce_gbytes_per_s").count() == 1


def test_each_collective_that_moves_what_jobs_move_can_be_kept(client, rented, ada):
    for test, kind in (("all_gather", "all_gather"), ("reduce_scatter", "reduce_scatter"),
                       ("alltoall", "all_to_all"), ("sendrecv", "send_recv")):  # fmt: skip
        assert kind in NAMES.values()
        assert f"measured_{kind}_gbytes_per_s" in ATTRIBUTES
        slow = "\n".join(paste(test).splitlines()[:-4])
        text = f"{slow}\n{row(test, 16, 1 << 30, 60_000)}"
        answer = ask(signed_in(ada), text, keep=True)
        assert answer.status_code == 201, (test, answer.content)
    page = client.get("/instances/acme/ib/").content.decode()
    assert page.count("measured by a user") == 4


# --- Japanese --------------------------------------------------------------------------------


def test_every_sentence_about_a_run_has_its_japanese():
    """No tool finds them: they stand in `scoring`, which knows no gettext."""
    missing = []
    modules = (nccl_check, nccl_words, nccl_log, nccl_rows, nccl_tests)
    for module in modules:
        tree = ast.parse(Path(module.__file__).read_text())
        sentences = {
            each.value
            for each in ast.walk(tree)
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
            if re.fullmatch(r"[A-Zi%][^\n]* [^\n]*[.:]", each.value)
        }
        with translation.override("ja"):
            missing += [each for each in sentences if translation.gettext(each) == each]
    docstrings = {ast.get_docstring(node) for m in modules
                  for node in ast.walk(ast.parse(Path(m.__file__).read_text()))
                  if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)}  # fmt: skip
    assert not set(missing) - docstrings


# --- What cannot be -------------------------------------------------------------------------------

NONE = row("all_reduce", 16, 1 << 30, 5000)


@pytest.mark.parametrize(
    "text",
    [
        run(us=47.5),  # some 42,384 GB/s
        f"all_reduce_perf\n{header(16, 2)}\n" + re.sub(r"\b\d+\.\d+\b", "0.00", NONE),
        f"all_reduce_perf\n{header(16, 2)}\n" + re.sub(r"\d", "0", NONE),
        f"all_reduce_perf\n{header(16, 2)}\n{NONE.replace('5000', 'nan')}",
        f"all_reduce_perf\n{header(16, 2)}\n{NONE.replace('5000', '1e999')}",
        f"all_reduce_perf\n{header(16, 2)}\n{NONE.replace('5000', '-5000')}",
        f"all_reduce_perf\n{header(16, 2)}\n{NONE.replace(str(1 << 30), '9' * 4000)}",
        "9" * 100_000,
        "all_reduce_perf\n" + "# \n" * 50_000,
        "all_reduce_perf\n" + "(" * 100_000,
    ],
    ids=range(10),
)
def test_what_no_cluster_can_have_measured_is_refused_and_never_kept(rented, ada, text):
    answer = ask(signed_in(ada), text, keep=True)
    assert answer.status_code == 400, answer.content
    assert answer.json()["error"]["fields"]
    assert not Measurement.objects.exists()
    assert signed_in(ada).post("/measurements/keep/", form(text)).status_code == 400


def test_one_row_is_enough(rented, ada):
    text = f"all_reduce_perf\n{header(16, 2)}\n{NONE}"
    assert ask(signed_in(ada), text, keep=True).status_code == 201


def test_a_rate_that_no_link_has_is_named_in_full(rented, ada):
    (said,) = ask(signed_in(ada), run(us=47.5), keep=True).json()["error"]["fields"]["keep"]
    assert "It reaches 42385 GB/s at 1 GiB, and line rate is 400 GB/s" in said

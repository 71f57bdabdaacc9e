"""The API: strict bodies, one owner, a secret that is shown once."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from jsonschema import Draft202012Validator

from accounts.models import Scope, Token
from catalog.query import BadQuery
from comparisons.models import Comparison
from tests.watches.conftest import HOOK, Served, watch_of
from watches import asked, outbox, schema, signing
from watches.models import Delivery, Watch

pytestmark = pytest.mark.django_db
WISH = {"what": "price", "threshold": 10, "channel": "webhook", "url": "https://8.8.8.8/in?k=1"}


class Script:
    """A client with a token."""

    def __init__(self, user: User, scope: Scope = Scope.WRITE) -> None:
        secret = Token.objects.issue(user, "script", scope)[1]
        self.headers = {"Authorization": f"Bearer {secret}"}

    def ask(self, method: str, path: str, body: object = None) -> Any:
        said = "" if body is None else json.dumps(body)
        address = f"/api/v1/{path}"
        return Client().generic(
            method.upper(), address, said, "application/json", headers=self.headers
        )


@pytest.fixture
def script(buyer: User) -> Script:
    return Script(buyer)


def of(comparison: Comparison) -> str:
    return f"comparisons/{comparison.pk}/watches/"


def test_a_watch_is_made_read_changed_and_ended(script: Script, comparison: Comparison) -> None:
    made = script.ask("post", of(comparison), WISH)
    assert made.status_code == 201, made.content
    said = made.json()
    assert {key: said[key] for key in WISH} == WISH
    assert (said["active"], said["stopped"], said["last_delivery"]) == (True, None, None)
    assert said["comparison"] == {"id": str(comparison.pk), "name": "Two clusters"}
    where = made["Location"].removeprefix("/api/v1/")
    assert where == f"watches/{said['id']}/"
    assert script.ask("get", where).json()["threshold"] == 10
    changed = script.ask("patch", where, {"threshold": 2.5, "active": False}).json()
    assert (changed["threshold"], changed["active"], changed["stopped"]) == (2.5, False, "owner")
    assert [w["id"] for w in script.ask("get", "watches/").json()["results"]] == [said["id"]]
    assert len(script.ask("get", of(comparison)).json()["results"]) == 1
    assert script.ask("delete", where).status_code == 204
    assert script.ask("get", where).status_code == 404


def test_a_threshold_of_no_percent_has_no_sign(script: Script, comparison: Comparison) -> None:
    made = script.ask("post", of(comparison), WISH | {"threshold": -0.0})
    assert '"threshold":0.0' in made.content.decode()
    assert asked.changed({"threshold": float("-0")}, Watch(what="price"))["threshold"].hex() == (
        "0x0.0p+0"
    )


def test_a_secret_is_shown_once_and_signs(
    script: Script, comparison: Comparison, receiver: Any
) -> None:
    served: Served = receiver()
    made = script.ask("post", of(comparison), WISH | {"url": f"{HOOK}/in"})
    secret = made.json()["secret"]
    assert made["Cache-Control"] == "no-store"
    where = f"watches/{made.json()['id']}/"
    for path in (where, "watches/", of(comparison), f"{where}deliveries/"):
        assert b"fswh_" not in script.ask("get", path).content
    assert script.ask("post", f"{where}test/").status_code == 202
    assert script.ask("post", f"{where}test/").status_code == 409
    assert outbox.deliver_next()
    asked = served.requests[0]
    now = int(asked.headers["FabricScout-Timestamp"])
    assert signing.verified(secret, asked.headers, asked.body, now)
    other = script.ask("post", f"{where}secret/")
    assert other["Cache-Control"] == "no-store"
    assert other.json()["secret"] not in (secret, "")
    row = Watch.objects.values().get()
    assert secret not in str(row)


def test_a_log_has_every_try_and_sends_again(
    script: Script, comparison: Comparison, receiver: Any
) -> None:
    receiver()
    watch = watch_of(comparison)
    event = outbox.test(watch)
    assert event is not None
    outbox.deliver_next()
    log = script.ask("get", f"watches/{watch.pk}/deliveries/").json()["results"]
    assert (log[0]["id"], log[0]["state"], log[0]["status"]) == (str(event.pk), "delivered", 200)
    assert [each["status"] for each in log[0]["log"]] == [200]
    again = f"deliveries/{event.pk}/send-again/"
    assert script.ask("post", again).status_code == 202
    assert script.ask("post", again).json()["error"]["code"] == "not_now"
    assert script.ask("get", f"watches/{watch.pk}/").json()["last_delivery"]["state"] == "scheduled"
    outbox.deliver_next()
    outbox.stop(watch, "owner")
    assert script.ask("post", again).status_code == 409


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"what": "colour"}, "what"), ({"what": None}, "what"), ({"what": ["price"]}, "what"),
        ({"channel": "sms"}, "channel"), ({"threshold": -1}, "threshold"),
        ({"threshold": 1001}, "threshold"), ({"threshold": "10"}, "threshold"),
        ({"threshold": True}, "threshold"), ({"what": "rank", "threshold": 0.5}, "threshold"),
        ({"what": "rank", "threshold": 0}, "threshold"), ({"what": "spec"}, "threshold"),
        ({"url": "http://8.8.8.8/"}, "url"), ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": ""}, "url"), ({"url": None}, "url"), ({"url": 5}, "url"),
        ({"url": "https://8.8.8.8:6379/"}, "url"), ({"channel": "mail"}, "url"),
        ({"pace": "daily"}, "pace"), ({"owner": 1}, "owner"), ({"id": "0"}, "id"),
        ({"seed": "00"}, "seed"), ({"active": False}, "active"),
    ],
    ids=str,
)  # fmt: skip
def test_a_body_that_is_wrong_is_a_400_that_names_the_field(
    script: Script, comparison: Comparison, change: dict[str, Any], field: str
) -> None:
    answer = script.ask("post", of(comparison), WISH | change)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    assert Watch.objects.count() == 0


@pytest.mark.parametrize("body", [[], "x", 5, {"what": "price"}, {}])
def test_a_body_that_is_none_is_a_400(script: Script, comparison: Comparison, body: object) -> None:
    assert script.ask("post", of(comparison), body).status_code == 400


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"what": "spec"}, "what"), ({"channel": "mail"}, "channel"), ({"active": 1}, "active"),
        ({"url": "https://10.0.0.1/"}, "url"), ({"pace": "hourly"}, "pace"),
        ({"owner": 2}, "owner"), ({"threshold": "5"}, "threshold"),
        ({"pace": "daily", "active": 1}, "pace"), ({"threshold": 1001}, "threshold"),
    ],
    ids=str,
)  # fmt: skip
def test_a_change_that_is_wrong_changes_nothing(
    script: Script, comparison: Comparison, body: dict[str, Any], field: str
) -> None:
    watch = watch_of(comparison)
    answer = script.ask("patch", f"watches/{watch.pk}/", {"threshold": 9} | body)
    assert answer.status_code == 400
    assert field in answer.json()["error"]["fields"]
    assert Watch.objects.get().threshold == 5


@pytest.mark.parametrize(
    ("what", "channel", "body", "says"),
    [
        ("price", "webhook", {"pace": "daily"}, "is for e-mail only."),
        ("price", "mail", {"url": "https://hooks.example.com/in"}, "is for webhooks only."),
        ("rank", "mail", {"threshold": 2.5}, "must be whole places from 1 to 1000."),
        ("spec", "mail", {"threshold": 5}, "is for price and rank only."),
    ],
)
def test_a_change_that_may_be_made_of_another_watch_is_a_409_that_says_why(
    script: Script,
    comparison: Comparison,
    what: str,
    channel: str,
    body: dict[str, Any],
    says: str,
) -> None:
    assert Draft202012Validator(schema.CHANGES).is_valid(body)
    threshold = asked.DEFAULT_THRESHOLD.get(asked.What(what))
    watch = watch_of(comparison, what=what, channel=channel, threshold=threshold)
    answer = script.ask("patch", f"watches/{watch.pk}/", body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "contradicts")
    (name,) = body
    assert answer.json()["error"]["fields"] == {name: [says]}


def test_the_schema_allows_of_each_kind_the_threshold_that_it_takes() -> None:
    may = Draft202012Validator(schema.NEW).is_valid
    for what, taken, refused in (
        ("price", (0, 2.5, 1000, None), (-1, 1001, "5")),
        ("rank", (1, 1000, None), (0, 2.5)),
        ("spec", (None,), (5,)),
        ("availability", (None,), (5,)),
    ):
        said = {"what": what, "channel": "mail"}
        assert may(said)
        for values, is_taken in ((taken, True), (refused, False)):
            for value in values:
                body = said | {"threshold": value}
                assert may(body) == is_taken, body
                if is_taken:
                    asked.created(body)
                else:
                    with pytest.raises(BadQuery):
                        asked.created(body)


def test_another_address_goes_to_another_lane(script: Script, comparison: Comparison) -> None:
    watch = watch_of(comparison)
    script.ask("patch", f"watches/{watch.pk}/", {"url": "https://8.8.4.4:8443/"})
    assert Watch.objects.get().lane == "8.8.4.4:8443"


def test_an_account_has_a_hundred_watches_at_most(
    script: Script, comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asked, "MOST_WATCHES", 1)
    assert script.ask("post", of(comparison), WISH).status_code == 201
    answer = script.ask("post", of(comparison), WISH)
    assert answer.status_code == 409  # it may be asked, and once another is ended it is taken
    assert answer.json()["error"]["fields"]["watch"] == ["An account has at most 1 watches."]
    script.ask("delete", f"watches/{Watch.objects.get().pk}/")
    assert script.ask("post", of(comparison), WISH).status_code == 201


def test_a_list_takes_as_many_queries_however_long(
    script: Script, comparison: Comparison, django_assert_max_num_queries: Any
) -> None:
    for _ in range(4):
        outbox.test(watch_of(comparison))
    with django_assert_max_num_queries(5):
        assert len(script.ask("get", "watches/").json()["results"]) == 4


def test_what_hangs_on_an_account_goes_with_it(comparison: Comparison, buyer: User) -> None:
    outbox.test(watch_of(comparison))
    buyer.delete()
    assert (Watch.objects.count(), Delivery.objects.count()) == (0, 0)


def test_the_doors_are_in_the_schema_with_examples(client: Client) -> None:
    schema = client.get("/api/v1/schema/", headers={"Accept": "application/json"}).json()
    door = schema["paths"]["/api/v1/comparisons/{comparison}/watches/"]["post"]
    assert door["operationId"] == "watch_comparison"
    examples = door["requestBody"]["content"]["application/json"]["examples"]
    assert any(each["value"]["what"] == "price" for each in examples.values())


def test_the_example_of_the_readme_makes_a_watch(script: Script, comparison: Comparison) -> None:
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    [body] = re.findall(r"/watches/ \\\n  -d '(.*?)'", text)
    assert script.ask("post", of(comparison), json.loads(body)).status_code == 201

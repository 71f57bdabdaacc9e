"""A request that is sent again with its `Idempotency-Key` is answered again, and done once."""

import json
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.db.models.functions import Now
from django.http import HttpResponse
from django.test import Client
from django.urls import path
from rest_framework.request import Request
from rest_framework.views import APIView

from accounts import idempotency
from accounts.access import SignedIn
from accounts.idempotency import idempotent
from accounts.models import KeptAnswer, Scope, Token
from catalog import replies

slow = threading.Event()  # set: the door takes its time


class Groups(APIView):
    """A door that writes: each request makes a group of that name, and refuses "no"."""

    permission_classes = (SignedIn,)

    @idempotent
    def post(self, request: Request) -> HttpResponse:
        if slow.is_set():
            with connection.cursor() as cursor:
                cursor.execute("select pg_sleep(0.4)")
        made = Group.objects.create(name=f"{request.data['name']}-{Group.objects.count()}")
        if request.data["name"] == "no":
            return replies.problem(422, "refused", "No.")
        answer = replies.json({"id": made.pk, "name": made.name})
        answer.status_code = 201
        answer["Location"] = f"/groups/{made.pk}/"
        return answer


urlpatterns = [path("groups/", Groups.as_view()), path("others/", Groups.as_view())]
pytestmark = pytest.mark.urls(__name__)


def secret(name: str = "buyer@example.com") -> str:
    user, _ = User.objects.get_or_create(username=name)
    return Token.objects.issue(user, "script", Scope.WRITE)[1]


def post(body, token, key=None, door="/groups/"):
    headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
    return Client().post(door, json.dumps(body), content_type="application/json", headers=headers)


@pytest.mark.django_db
def test_the_same_request_is_answered_again_and_done_once():
    token = secret()
    first = post({"name": "a", "size": 1}, token, "k")
    again = post({"size": 1, "name": "a"}, token, "k")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    assert again["Location"] == first["Location"]
    assert again["Content-Type"] == first["Content-Type"]
    assert ("Idempotency-Replayed" in first, again["Idempotency-Replayed"]) == (False, "true")
    assert Group.objects.count() == 1


@pytest.mark.django_db
def test_without_a_key_each_request_is_one():
    token = secret()
    assert post({"name": "a"}, token).json() != post({"name": "a"}, token).json()
    assert KeptAnswer.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("body", "door"), [({"name": "b"}, "/groups/"), ({"name": "a"}, "/others/")]
)
def test_a_key_of_another_request_is_a_422(body, door):
    token = secret()
    post({"name": "a"}, token, "k")
    refused = post(body, token, "k", door)
    assert refused.status_code == 422
    assert list(refused.json()["error"]["fields"]) == ["Idempotency-Key"]
    assert Group.objects.count() == 1


@pytest.mark.django_db
def test_a_key_is_its_users_own_whatever_token_shows_it():
    first = post({"name": "a"}, secret(), "k")
    assert post({"name": "a"}, secret(), "k").json() == first.json()
    assert post({"name": "a"}, secret("other@example.com"), "k").json() != first.json()


@pytest.mark.django_db
def test_what_was_refused_left_nothing_and_may_be_tried_again():
    token = secret()
    assert post({"name": "no"}, token, "k").status_code == 422
    assert (Group.objects.count(), KeptAnswer.objects.count()) == (0, 0)
    assert post({"name": "yes"}, token, "k").status_code == 201


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["", " ", "k" * 256, "schlüssel", "two words"])
def test_a_key_that_is_none_is_a_400(key):
    headers = {"Authorization": f"Bearer {secret()}", "Idempotency-Key": key}
    answer = Client().post("/groups/", '{"name": "a"}', "application/json", headers=headers)
    assert answer.status_code == 400
    assert list(answer.json()["error"]["fields"]) == ["Idempotency-Key"]


@pytest.mark.django_db
def test_a_key_is_known_for_a_day():
    token = secret()
    first = post({"name": "a"}, token, "k").json()
    KeptAnswer.objects.update(created_at=Now() - idempotency.KEPT + timedelta(minutes=1))
    assert idempotency.forget() == 0
    assert post({"name": "a"}, token, "k").json() == first
    KeptAnswer.objects.update(created_at=Now() - idempotency.KEPT - timedelta(minutes=1))
    assert post({"name": "b"}, token, "k").status_code == 201
    KeptAnswer.objects.update(created_at=Now() - idempotency.KEPT - timedelta(minutes=1))
    assert idempotency.forget() == 1


@pytest.fixture
def _slow_door():
    slow.set()
    yield
    slow.clear()


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_slow_door")
@pytest.mark.parametrize(("patience", "second"), [("5s", 201), ("100ms", 409)])
def test_of_two_that_arrive_at_once_one_is_done(monkeypatch, patience, second):
    """The other waits for the first one's answer, or is told that it is under way."""
    token, answers = secret(), []
    database = connection.settings_dict["OPTIONS"]
    monkeypatch.setitem(database, "options", f"-c lock_timeout={patience}")
    monkeypatch.setitem(database, "pool", False)

    def send() -> None:
        answers.append(post({"name": "a"}, token, "k"))
        connection.close()

    threads = [threading.Thread(target=send) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert sorted(a.status_code for a in answers) == [201] + [second] * 3
    assert len({a.content for a in answers if a.status_code == 201}) == 1
    assert all("Retry-After" in a for a in answers if a.status_code == 409)
    assert Group.objects.count() == 1

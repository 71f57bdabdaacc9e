"""A comparison or a watch is deleted while something is written to it: 404, and nothing is left."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from accounts.models import Scope, Token
from comparisons import asked, keeping
from comparisons.models import Comparison, Run, Share
from tests.accounts.people import PASSWORD
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND
from tests.meanwhile import meanwhile
from tests.watches.conftest import run, watch_of
from watches import looking, orders, outbox
from watches.models import Delivery, Event, Watch

pytestmark = pytest.mark.django_db(transaction=True)
MAIL = {"what": "price", "channel": "mail"}
SAVED = {"name": "Another", "picks": ["acme/ib"]}
Ask = Callable[..., Any]


@pytest.fixture
def comparison(buyer: User) -> Comparison:
    """One that can be answered."""
    scrape([offer("ib", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes"))])
    columns, _question = asked.read(SAVED)
    return keeping.save(buyer.pk, columns)


@pytest.fixture
def ask(buyer: User) -> Ask:
    """The API, with a token of the buyer's."""
    secret = Token.objects.issue(buyer, "script", Scope.WRITE)[1]
    client = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {secret}"})

    def asking(method: str, path: str, body: object = None) -> Any:
        said = "" if body is None else json.dumps(body)
        return client.generic(method, f"/api/v1/{path}", said, "application/json")

    return asking


@pytest.fixture
def page(buyer: User) -> Client:
    """The buyer's browser."""
    client = Client(raise_request_exception=False)
    client.force_login(buyer)
    return client


@pytest.mark.parametrize(
    ("method", "door", "body"),
    [
        ("PUT", "", SAVED),
        ("PATCH", "", {"notes": "new"}),
        ("DELETE", "", None),
        ("POST", "run/", {}),
        ("POST", "shares/", {}),
        ("POST", "watches/", MAIL),
    ],
)
def test_a_comparison_that_is_being_deleted_is_gone_for_who_writes_to_it(
    comparison: Comparison, ask: Ask, method: str, door: str, body: object
) -> None:
    path = f"comparisons/{comparison.pk}/{door}"
    answer = meanwhile(comparison.delete, lambda: ask(method, path, body))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert not Comparison.objects.exists()


@pytest.mark.parametrize(
    ("door", "form"),
    [
        ("comparisons/{}/edit/", {"name": "New"}),
        ("comparisons/{}/run/", {}),
        ("comparisons/{}/share/", {}),
        ("comparisons/{}/delete/", {"sure": "yes"}),
        ("comparisons/{}/watch/", MAIL),
    ],
)
def test_its_pages_are_gone_too(
    comparison: Comparison, page: Client, door: str, form: dict[str, str]
) -> None:
    path = f"/{door.format(comparison.pk)}"
    answer = meanwhile(comparison.delete, lambda: page.post(path, form))
    assert answer.status_code == 404, path
    assert not Comparison.objects.exists()


def _linked(comparison: Comparison) -> None:
    keeping.share(comparison)


def _watched(comparison: Comparison) -> None:
    orders.create(comparison, MAIL, language="en")


def _run(comparison: Comparison) -> None:
    run(comparison, [])


def _tested(comparison: Comparison) -> None:
    outbox.test(comparison.watches.get())


@pytest.mark.parametrize("write", [_linked, _run, _watched, _tested])
def test_what_is_added_while_it_is_being_deleted_goes_with_it(
    comparison: Comparison, ask: Ask, write: Callable[[Comparison], Any]
) -> None:
    watch_of(comparison)
    path = f"comparisons/{comparison.pk}/"
    answer = meanwhile(lambda: write(comparison), lambda: ask("DELETE", path))
    assert answer.status_code == 204
    for model in (Comparison, Run, Share, Watch, Event, Delivery):
        assert not model.objects.exists()


@pytest.mark.parametrize(
    ("method", "door", "body"),
    [
        ("PATCH", "", {"threshold": 3}),
        ("PATCH", "", {"active": False}),
        ("PATCH", "", {"active": True}),
        ("DELETE", "", None),
        ("POST", "test/", None),
        ("POST", "secret/", None),
    ],
)
def test_a_watch_that_is_being_deleted_is_gone_for_who_writes_to_it(
    comparison: Comparison, ask: Ask, method: str, door: str, body: object
) -> None:
    watch = watch_of(comparison)
    if body == {"active": True}:
        ask("PATCH", f"watches/{watch.pk}/", {"active": False})
    path = f"watches/{watch.pk}/{door}"
    answer = meanwhile(watch.delete, lambda: ask(method, path, body))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert not Watch.objects.exists()


@pytest.mark.parametrize("door", ["change", "pause", "resume", "test", "secret", "delete"])
def test_the_pages_of_a_watch_are_gone_too(comparison: Comparison, page: Client, door: str) -> None:
    watch = watch_of(comparison)
    path = f"/account/watches/{watch.pk}/{door}/"
    form = {"threshold": "3", "url": watch.url}
    answer = meanwhile(watch.delete, lambda: page.post(path, form))
    assert answer.status_code == 404, path


def test_an_event_that_comes_while_a_watch_is_being_deleted_goes_with_it(
    comparison: Comparison, ask: Ask, page: Client
) -> None:
    watch = watch_of(comparison)
    path = f"watches/{watch.pk}/"
    answer = meanwhile(lambda: outbox.test(watch), lambda: ask("DELETE", path))
    assert answer.status_code == 204
    assert not Event.objects.exists()


def test_a_delivery_that_is_being_deleted_is_not_sent_again(
    comparison: Comparison, ask: Ask
) -> None:
    watch = watch_of(comparison)
    event = outbox.test(watch)
    assert event is not None
    Delivery.objects.update(state="dead", next_attempt_at=None, failure="refused")
    path = f"deliveries/{event.pk}/send-again/"
    assert meanwhile(watch.delete, lambda: ask("POST", path)).status_code == 404


def test_who_looks_for_changes_leaves_what_is_being_deleted(comparison: Comparison) -> None:
    watch_of(comparison)
    pk = comparison.pk
    assert meanwhile(comparison.delete, lambda: looking.look(pk)) is None
    assert not Comparison.objects.exists()


@pytest.mark.parametrize("write", [_linked, _tested])
def test_an_account_is_deleted_while_something_is_added_to_what_it_has(
    buyer: User, comparison: Comparison, page: Client, write: Callable[[Comparison], Any]
) -> None:
    watch_of(comparison)
    password = {"password": PASSWORD}
    answer = meanwhile(lambda: write(comparison), lambda: page.post("/account/delete/", password))
    assert answer.status_code == 302
    for model in (User, Comparison, Share, Watch, Event):
        assert not model.objects.exists()

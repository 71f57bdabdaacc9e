"""Every door and page of one's own, found by walking the addresses: a hand list misses some."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import Scope, Token
from comparisons import runs
from comparisons.invariants import digest
from comparisons.models import Comparison, Share
from measurements.models import Measurement
from watches import outbox
from watches.models import Event, Watch

ROOMS = ("accounts", "comparisons", "watches", "measurements")
VERBS = ("get", "post", "put", "patch", "delete")
PUBLIC = {"measurements.api.Measurements", "measurements.api.OneMeasurement"}


def walked(found: Any = None, at: str = "/") -> Iterator[tuple[str, Any]]:
    """Each address of these rooms with its view: `<uuid:pk>` stands where a number goes."""
    for each in (found or get_resolver()).url_patterns:
        path = at + str(each.pattern).removeprefix("^")
        if isinstance(each, URLResolver):
            yield from walked(each, path)
        elif isinstance(each, URLPattern) and each.callback.__module__.split(".")[0] in ROOMS:
            yield path, each.callback


def name_of(view: Any) -> str:
    kind = getattr(view, "cls", view)
    return f"{kind.__module__}.{kind.__name__}"


DOORS = [(path, view) for path, view in walked() if path.startswith("/api/v1/")]
PAGES = [(path, view) for path, view in walked() if not path.startswith("/api/v1/")]
OPEN = {
    "/account/password/<uidb64>/<token>/", "/language/<slug:code>/", "/measurements/<int:pk>/",
    "/shared/<str:token>/", "/shared/<str:token>/print/", "/theme/<slug:code>/",
}  # fmt: skip
OF_SOMEBODY = [path for path, _view in PAGES if "<" in path and path not in OPEN]


def doors() -> Iterator[tuple[str, str, Any]]:
    for path, view in DOORS:
        for verb in VERBS:
            if hasattr(view.cls, verb):
                yield verb, path, view


@pytest.fixture
def things(saved, ada) -> dict[str, str]:
    """One of each of ada's, by what an address calls it."""
    comparison = saved()
    run, (share, _token) = runs.make(comparison), Share.make(comparison)
    watch = Watch.objects.create(owner=ada, comparison=comparison, what="price", channel="mail",
                                 threshold=5, pace="daily", lane=f"@{ada.pk}")  # fmt: skip
    event = outbox.test(watch)
    assert event is not None
    token, _secret = Token.objects.issue(ada, "mine", Scope.READ)
    return {
        "<uuid:id>": comparison.pk, "<uuid:pk>": comparison.pk, "<uuid:comparison>": comparison.pk,
        "<uuid:run>": run.pk, "<uuid:share>": share.pk, "<uuid:watch>": watch.pk,
        "<uuid:delivery>": event.pk, "<int:id>": token.pk, "<int:pk>": token.pk,
    }  # fmt: skip


def filled(path: str, things: dict[str, Any]) -> str:
    for name, thing in things.items():
        path = path.replace(name, str(thing))
    return path


def everything() -> tuple[Any, ...]:
    """All that is somebody's, but when a token was used last."""
    rows = [
        {name: value for name, value in row.items() if name != "last_used_at"}
        for table in (Watch, Event, Token, Measurement)
        for row in table.objects.order_by("pk").values()
    ]
    return digest(), rows


def test_the_walk_finds_doors_of_every_room():
    assert {path.split("/")[3] for path, _view in DOORS} >= {
        "comparisons", "watches", "deliveries", "measurements", "tokens", "me",
    }  # fmt: skip
    assert len(list(doors())) > 30
    assert len(PAGES) > 30


def ask(reader: Client, verb: str, address: str, body: Any = None, **headers: str) -> Any:
    sent = {} if verb == "get" else {"data": json.dumps(body or {})}
    return getattr(reader, verb)(address, content_type="application/json", headers=headers, **sent)


def test_no_door_overlooks_a_parameter_that_it_does_not_know(things, as_ada):
    for verb, path, _view in doors():
        answer = ask(as_ada, verb, f"{filled(path, things)}?colour=red")
        assert answer.status_code == 400, (verb, path, answer.content)
        assert "colour" in answer.json()["error"]["fields"], (verb, path)


def test_no_door_overlooks_a_key_that_it_does_not_know(things, as_ada):
    for verb, path, _view in doors():
        if verb not in {"post", "put", "patch"}:
            continue
        answer = ask(as_ada, verb, filled(path, things), {"owner": 1})
        assert answer.status_code == 400, (verb, path, answer.content)
        fields = answer.json()["error"]["fields"]
        assert {"owner", "body"} & set(fields), (verb, path, fields)


def test_another_finds_nothing_of_ones_own_behind_any_door(things, eve):
    reader, before = Client(), everything()
    reader.force_login(eve)
    for verb, path, view in doors():
        if name_of(view) in PUBLIC:
            continue
        if "<" in path:
            answer = ask(reader, verb, filled(path, things))
            assert answer.status_code == 404, (verb, path, answer.content)
            assert answer.json()["error"]["code"] == "not_found"
        elif verb == "get":
            assert not ask(reader, verb, path).json().get("results"), path
    assert everything() == before


def test_nobody_comes_through_any_door_of_ones_own(things):
    before = everything()
    for verb, path, view in doors():
        if name_of(view) not in PUBLIC:
            answer = ask(Client(), verb, filled(path, things))
            assert answer.status_code == 401, (verb, path, answer.content)
    assert everything() == before


def test_a_token_that_may_read_reads_through_every_door_and_writes_through_none(things, ada):
    token = Token.objects.issue(ada, "reader", Scope.READ)[1]
    before = everything()
    for verb, path, view in doors():
        if name_of(view) not in PUBLIC:
            answer = ask(Client(), verb, filled(path, things), Authorization=f"Bearer {token}")
            assert answer.status_code == (200 if verb == "get" else 403), (verb, path)
    assert everything() == before


WANTED = {"name": "stolen", "notes": "", "sure": "yes", "what": "price", "channel": "mail"}


def test_another_finds_nothing_of_ones_own_on_any_page(things, eve):
    reader, before = Client(), everything()
    reader.force_login(eve)
    for path in OF_SOMEBODY:
        address = filled(path, things)
        got = {reader.get(address).status_code, reader.post(address, WANTED).status_code}
        assert got in ({404}, {404, 405}), (path, got)
    for path in ("/comparisons/", "/account/watches/", "/account/"):
        assert b"Q1" not in reader.get(path).content, path
    assert everything() == before


def test_nobody_is_sent_from_any_page_of_ones_own_to_sign_in(things):
    before = everything()
    for path in OF_SOMEBODY:
        address = filled(path, things)
        for answer in (Client().get(address), Client().post(address, WANTED)):
            sent = answer.status_code == 302 and "/sign-in/" in answer["Location"]
            assert sent or answer.status_code == 405, (path, answer.status_code)
    assert everything() == before


def test_a_link_and_a_page_name_the_public_address_whatever_host_is_asked(things, as_ada, settings):
    settings.ALLOWED_HOSTS = ["*"]  # as behind a proxy that lets any name through
    at = f"/comparisons/{things['<uuid:pk>']}/"
    as_ada.post(f"{at}share/", headers={"host": "evil.example"})
    for address in (
        at,
        f"{at}print/",
        f"{at}questions/",
        "/compare/?pick=acme/ib",
        "/comparisons/",
    ):
        answer = as_ada.get(address, headers={"host": "evil.example"})
        assert answer.status_code == 200
        assert b"evil.example" not in answer.content, address
    for door in ("", "shares/", "rfq/", "export/", "runs/"):
        answer = as_ada.get(f"/api/v1{at}{door}", headers={"host": "evil.example"})
        assert b"evil.example" not in answer.content, door
    assert Comparison.objects.count() == 1

"""Every door and page of one's own, found by walking the addresses: a hand list misses some."""

import json
import uuid
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
    token, _secret = Token.objects.issue(ada, "mine", Scope.READ)
    return {
        "comparisons/<uuid:id>": comparison.pk, "comparisons/<uuid:pk>": comparison.pk,
        "<uuid:comparison>": comparison.pk, "<uuid:run>": run.pk, "<uuid:share>": share.pk,
        "<uuid:watch>": watch.pk, "tokens/<int:id>": token.pk, "<int:pk>": token.pk,
        "<int:id>": token.pk,
    }  # fmt: skip


def filled(path: str, things: dict[str, Any]) -> str:
    for name, thing in things.items():
        room, _, place = name.rpartition("/")
        path = path.replace(name, f"{room}/{thing}" if room else str(thing))
    for place in ("<uuid:delivery>", "<int:pk>"):
        path = path.replace(place, str(uuid.uuid4()) if "uuid" in place else "1")
    return path


def everything() -> tuple[Any, ...]:
    tables = (Watch, Event, Token, Measurement)
    return (digest(), *(list(table.objects.order_by("pk").values()) for table in tables))


def test_the_walk_finds_doors_of_every_room():
    assert {path.split("/")[3] for path, _view in DOORS} >= {
        "comparisons", "watches", "deliveries", "measurements", "tokens", "me",
    }  # fmt: skip
    assert len(list(doors())) > 30
    assert len(PAGES) > 30


def test_no_door_overlooks_a_parameter_that_it_does_not_know(things, as_ada):
    for verb, path, _view in doors():
        address = f"{filled(path, things)}?colour=red"
        sent = {} if verb == "get" else {"data": "{}", "content_type": "application/json"}
        answer = getattr(as_ada, verb)(address, **sent)
        assert answer.status_code == 400, (verb, path, answer.content)
        assert "colour" in answer.json()["error"]["fields"], (verb, path)


def test_no_door_overlooks_a_key_that_it_does_not_know(things, as_ada):
    for verb, path, _view in doors():
        if verb not in {"post", "put", "patch"} or "<uuid:delivery>" in path:
            continue
        answer = getattr(as_ada, verb)(
            filled(path, things), data=json.dumps({"owner": 1}), content_type="application/json"
        )
        assert answer.status_code == 400, (verb, path, answer.content)
        fields = answer.json()["error"]["fields"]
        assert {"owner", "body"} & set(fields), (verb, path, fields)


def test_another_finds_nothing_of_ones_own_behind_any_door(things, eve):
    reader, before = Client(), everything()
    reader.force_login(eve)
    for verb, path, view in doors():
        if "<" not in path or name_of(view) in PUBLIC:
            continue
        sent = {} if verb == "get" else {"data": "{}", "content_type": "application/json"}
        answer = getattr(reader, verb)(filled(path, things), **sent)
        assert answer.status_code == 404, (verb, path, answer.content)
    assert everything() == before


def test_nobody_comes_through_any_door_of_ones_own(things):
    reader, before = Client(), everything()
    for verb, path, view in doors():
        if name_of(view) in PUBLIC:
            continue
        sent = {} if verb == "get" else {"data": "{}", "content_type": "application/json"}
        answer = getattr(reader, verb)(filled(path, things), **sent)
        assert answer.status_code in {401, 403}, (verb, path, answer.content)
    assert everything() == before


def test_a_link_and_a_page_name_the_public_address_whatever_host_is_asked(things, as_ada, settings):
    settings.ALLOWED_HOSTS = ["*"]  # as behind a proxy that lets any name through
    at = f"/comparisons/{things['comparisons/<uuid:pk>']}/"
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

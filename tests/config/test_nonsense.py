"""Every door of the schema and of the URLconf: whatever is sent, it is answered as we answer.

Never a 5xx and never a traceback: what is refused is refused in the one error shape. The lists of
doors are walked, not written, so a new door is asked as well.
"""

import gzip
import json
import re
from collections.abc import Iterator
from itertools import cycle, product
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import URLResolver, get_resolver
from jsonschema import Draft202012Validator

from accounts.models import Scope, Token
from catalog.models import Workload
from catalog.schema import ERROR
from comparisons import asked
from comparisons.models import Comparison
from scoring.workload import job_fields, jobs
from tests.catalog.market import open_market

JOB = "llama3-8b-pretrain"
JSON = "application/json"
NOBODYS = "00000000-0000-4000-8000-000000000000"
DEEP = b"[" * 100_000
# What no JSON body may be; each with its content type, and headers.
BODIES = [
    (sent, JSON, {})
    for sent in (
        b"{", b"null", b"[]", b'"x"', b"7", b"NaN", b'{"a":NaN}', b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"gpus":' + b"9" * 5000 + b"}", DEEP, b'{"filter":' + DEEP[:5000] + b"]" * 5000 + b"}",
        b'{"gpus":8,"gpus":9}', rb'{"name":"\ud800"}', rb'{"name":"\u0000"}', b"\xff\xfe{}",
        b'{"a":"' + b"x" * 1_500_000 + b'"}', b'{"a":{"b":[{"c":{"d":NaN}}]}}', b'{"":null}',
    )
] + [
    (b"{}", "text/xml", {}),
    (b"a=1", "application/x-www-form-urlencoded", {}),
    (b"--x", "multipart/form-data; boundary=x", {}),
    (b"--", "multipart/form-data", {}),
    (b"\x00\x01", "application/octet-stream", {}),
    (gzip.compress(b" " * 50_000_000), JSON, {"Content-Encoding": "gzip"}),
]  # fmt: skip
ODD = [None, True, -1, 1e308, 10**29, "", "x" * 3000, "\u202e=1+1", [], {}, [[]], {"a": {}}]
TEXTS = ["%00", "NaN", "1e1000000", "9" * 5000, "%ff", "(" * 2000, "-1", "a&{name}=b"]  # fmt: skip


class Caller:
    """Somebody whose token may write, who keeps a comparison; a fault of ours is answered, too."""

    def __init__(self) -> None:
        self.client = Client(raise_request_exception=False)
        user = User.objects.create_user("buyer@example.com", "buyer@example.com")
        token = Token.objects.issue(user, "nonsense", Scope.WRITE)[1]
        self.bearer = {"Authorization": f"Bearer {token}"}
        empty = {name: said for name, said in asked.EMPTY.items() if name != "notes"}
        kept = Comparison.objects.create(owner=user, name="Q1", **empty | {"picks": ["acme/ib"]})
        self.things = {"id": kept.pk, "comparison": kept.pk, "provider": "acme", "name": "ib"}

    def __call__(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, **headers: str
    ) -> Any:
        return self.client.generic(method, path, body, kind, headers=self.bearer | headers)

    def at(self, path: str) -> str:
        """The address of a path: what we have where it names a thing, else what nobody has."""
        numbered = path.startswith(("/api/v1/tokens/", "/api/v1/measurements/"))
        for name in re.findall(r"{(\w+)}", path):
            thing = 1 if numbered else self.things.get(name, NOBODYS)
            path = path.replace(f"{{{name}}}", str(thing))
        return path

    def operations(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Every method of every address, and what the schema says of it."""
        paths = self("GET", "/api/v1/schema/").json()["paths"]
        return [
            (method.upper(), self.at(path), said)
            for path, item in paths.items()
            for method, said in item.items()
        ]


@pytest.fixture
def caller(db: None) -> Caller:
    for slug in jobs():
        job = dict(job_fields(slug))
        Workload.objects.create(slug=slug, title=slug, kind=job["kind"], job=job)
    open_market()
    return Caller()


def faults(answer: Any) -> Iterator[str]:
    """What is wrong with an answer to nonsense."""
    text = b"".join(answer.streaming_content) if answer.streaming else answer.content
    if answer.status_code >= 500 or b"Traceback" in text:
        yield f"{answer.status_code}: {text[:300]!r}"
    elif answer.status_code >= 400:
        yield from (
            each.message for each in Draft202012Validator(ERROR).iter_errors(json.loads(text))
        )


def test_no_body_is_a_fault_of_ours(caller: Caller) -> None:
    for method, path, said in caller.operations():
        if method in {"GET", "DELETE"}:
            continue
        for body, kind, headers in BODIES:
            answer = caller(method, path, body, kind, **headers)
            assert not list(faults(answer)), (method, path, kind, body[:40])
            if "requestBody" in said:
                assert answer.status_code >= 400, (method, path, kind, body[:40])


def test_no_value_of_a_field_is_a_fault_of_ours(caller: Caller) -> None:
    sensible = {"/api/v1/estimates/": {"workload": JOB, "gpus": 8}}
    for method, path, said in caller.operations():
        content = said.get("requestBody", {}).get("content", {}).get(JSON, {})
        for name in content.get("schema", {}).get("properties", ()):
            for odd in ODD:
                body = json.dumps(sensible.get(path, {}) | {name: odd}).encode()
                answer = caller(method, path, body)
                assert not list(faults(answer)), (method, path, body[:80])


def test_no_query_and_no_path_is_a_fault_of_ours(caller: Caller) -> None:
    for method, path, said in caller.operations():
        if method != "GET":
            continue
        names = [each["name"] for each in said.get("parameters", ()) if each["in"] == "query"]
        some = [*zip(names, cycle(TEXTS)), *product(["colour", "%00", *names[:3]], TEXTS)]
        for name, text in some:
            address = f"{path}?{name}={text.format(name=name)}"
            answer = caller(method, address)
            assert not list(faults(answer)), address[:90]
            if name == "colour":
                assert answer.status_code in {400, 404}, address[:90]
        for text in ("%00", "%ff", "..%2f", "%F0%9F%A6%84" * 50, "a" * 3000):
            for address in (f"{path}{text}/", path.replace("acme", text)):
                assert not list(faults(caller(method, address))), address[:90]


def test_any_verb_and_any_address_is_answered_in_the_one_shape(caller: Caller) -> None:
    addresses = [path for _, path, _ in caller.operations()]
    for path in [*dict.fromkeys(addresses), "/api/v1/nowhere/", "/api/v1/%00/", "/api/v1//offers/"]:
        for verb in ("HEAD", "OPTIONS", "PUT", "PATCH", "PROPFIND"):
            answer = caller(verb, path, b"{}")
            assert answer.status_code < 500, (verb, path)
            if answer.status_code >= 400 and verb != "HEAD":
                assert not list(faults(answer)), (verb, path)
            if answer.status_code == 405:
                assert answer["Allow"], (verb, path)


# --- What a door does not know ----------------------------------------------------------------


def doors(patterns: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every class of a door below /api/v1/, with its address."""
    for each in patterns:
        at = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from doors(each.url_patterns, at)
        elif at.startswith("api/v1/") and hasattr(each.callback, "cls"):
            yield at, each.callback.cls


def test_no_door_of_the_catalog_takes_a_parameter_or_a_field_that_it_does_not_know(
    caller: Caller,
) -> None:
    own = [
        (at, cls)
        for at, cls in doors(get_resolver().url_patterns)
        if cls.__module__.startswith("catalog.")
    ]
    assert len(own) >= 12
    for at, cls in own:
        address = "/" + at.replace("<str:provider>", "acme").replace("<path:name>", "ib")
        needed = f"&workload={JOB}" if at.endswith("networks/") else ""
        for verb in ("get", "post", "put", "patch", "delete"):
            if not hasattr(cls, verb):
                continue
            body = json.dumps({"workload": JOB, "gpus": 8}).encode() if verb != "get" else b""
            answer = caller(verb.upper(), f"{address}?colour=red{needed}", body)
            assert (answer.status_code, list(answer.json()["error"]["fields"])) == (400, ["colour"])
            assert caller(verb.upper(), address + needed.replace("&", "?"), body).status_code == 200
            if verb != "get":
                body = json.dumps({"workload": JOB, "gpus": 8, "colour": "red"}).encode()
                said = caller(verb.upper(), address, body).json()["error"]["fields"]
                assert "There are: workload, gpus" in said["colour"][0]


def test_every_example_of_a_body_is_as_the_schema_says_and_runs(caller: Caller) -> None:
    for method, path, said in caller.operations():
        content = said.get("requestBody", {}).get("content", {}).get(JSON, {})
        for name, example in content.get("examples", {}).items():
            value = example["value"]
            if "instance_type" in value:
                value = value | {"provider": "acme", "instance_type": "ib"}
            wrong = Draft202012Validator(content["schema"]).iter_errors(value)
            assert not list(wrong), (path, name)
            answer = caller(method, path, json.dumps(value).encode())
            here = NOBODYS not in path and "picks" not in value  # of what is in this market
            assert answer.status_code < (300 if here else 500), (path, name, answer.content)

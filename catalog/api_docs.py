"""The OpenAPI schema as JSON and as a page, `docs/`, drawn under the strict policy; `/api/v1/`."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.views import SpectacularJSONAPIView
from rest_framework.renderers import JSONRenderer

from catalog.openapi import OneAtATime
from catalog.schema import Json

METHODS = ("get", "post", "put", "patch", "delete")
OWNERS = ("PUT", "PATCH", "DELETE")  # of a thing that everyone may read, its owner's alone


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter: its type, the words that it takes, and what it does."""

    name: str
    kind: str
    words: tuple[str, ...]
    says: str


@dataclass(frozen=True, slots=True)
class Door:
    """One method of one address."""

    method: str
    path: str
    summary: str
    says: str
    parameters: tuple[Parameter, ...]
    address: str
    body: str
    answers: tuple[tuple[str, str], ...]
    anonymous: bool  # whether it asks nobody who they are

    @property
    def call(self) -> str:
        """What `curl` is told besides the address: the method, who asks, and the body."""
        said = [] if self.method == "GET" else [f"-X {self.method}"]
        if not self.anonymous or self.method in OWNERS:
            said.append('-H "Authorization: Bearer $FABRICSCOUT_TOKEN"')
        if self.body:
            said.append(f"-H 'Content-Type: application/json' -d '{self.body}'")
        return "".join(f"{each} " for each in said)

    @property
    def anchor(self) -> str:
        """Its place on the page."""
        return f"{self.method.lower()}-{self.path.strip('/').replace('/', '-')}"


class Named(JSONRenderer):
    """The schema by its own media type, without the indents, which were four fifths of it."""

    media_type = "application/vnd.oai.openapi+json"


in_json = SpectacularJSONAPIView.as_view(renderer_classes=[Named])


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Every door with its parameters, an example that runs, and what it answers."""
    root = request.build_absolute_uri("/").rstrip("/")
    return render(request, "catalog/api_docs.html", {"room": "api", "doors": doors(), "root": root})


@require_safe
def index(_request: HttpRequest) -> HttpResponse:
    """`GET /api/v1/`: where the schema and its page are, and each door with what it does."""
    return JsonResponse(
        {
            "schema": reverse("api:schema"),
            "docs": reverse("api:docs"),
            "doors": [
                {"method": each.method, "path": each.path, "summary": each.summary}
                for each in doors()
            ],
        }
    )


@lru_cache(maxsize=1)
def doors() -> tuple[Door, ...]:
    """What the schema says, in the order of the addresses. The code does not change under us."""
    schema = OneAtATime().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]
    return tuple(
        _door(method, path, said)
        for path, item in sorted(schema["paths"].items())
        for method, said in item.items()
        if method in METHODS
    )


def _door(method: str, path: str, said: Json) -> Door:
    summary, _, rest = said.get("description", "").partition("\n")
    return Door(
        method=method.upper(),
        path=path,
        summary=summary,
        says=" ".join(rest.split()),
        parameters=tuple(_parameter(each) for each in said.get("parameters", ())),
        address=_address(path, said.get("parameters", ())),
        body=_example(said.get("requestBody", {})),
        answers=tuple(
            (status, answer.get("description", ""))
            for status, answer in sorted(said["responses"].items())
        ),
        anonymous={} in said.get("security", ({},)),
    )


def _parameter(said: Json) -> Parameter:
    schema = said["schema"]
    one = schema.get("items", schema)
    words = tuple(str(word) for word in one.get("enum", ()))
    kind = one.get("format", one.get("type", "string"))
    listed = f"list of {kind}s" if "items" in schema else kind
    return Parameter(said["name"], listed, words, said.get("description", ""))


def _address(path: str, parameters: Iterable[Json]) -> str:
    """The path with the examples of its parameters."""
    asked = []
    for each in parameters:
        for example in each.get("examples", {}).values():
            value = example["value"]
            text = ",".join(value) if isinstance(value, list) else json.dumps(value).strip('"')
            if each["in"] == "path":
                path = path.replace(f"{{{each['name']}}}", text)
            else:
                asked.append((each["name"], text))
    return f"{path}?{urlencode(asked)}" if asked else path


def _example(body: Json) -> str:
    """The first example of a JSON body."""
    content: Any = body.get("content", {}).get("application/json", {})
    for example in content.get("examples", {}).values():
        return json.dumps(example["value"], indent=2)
    return ""

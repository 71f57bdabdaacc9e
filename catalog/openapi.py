"""The last step of the OpenAPI schema: what holds for every door, what only the catalog knows."""

import threading
from collections.abc import Mapping
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from drf_spectacular.generators import SchemaGenerator

from catalog.currency import known
from catalog.models import Provider
from catalog.schema import ERROR, Json, begun


class OneAtATime(SchemaGenerator):
    """The schema, made by one thread at a time: the first loads what knows our kinds of tokens and
    fields, and a second one that found that half loaded would fail."""

    made = threading.Lock()

    def get_schema(self, *args: Any, **named: Any) -> Json:
        """The whole."""
        with self.made:
            return super().get_schema(*args, **named)  # type: ignore[no-any-return, no-untyped-call]


def _refusal(says: str, *headers: str) -> Json:
    named = {name: {"schema": {"type": "string"}} for name in headers}
    return {
        "description": says,
        "headers": named,
        "content": {"application/json": {"schema": ERROR}},
    }


ANY_DOOR: Json = {
    "401": _refusal(
        "The token is unknown or was revoked, or `Authorization` does not read `Bearer <token>`",
        "WWW-Authenticate",
    ),
    "429": _refusal(
        "More requests than a minute has for an address or a token, or too many at once",
        "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
    ),
}  # fmt: skip
ANY_BODY: Json = {
    "408": _refusal("The body did not come in time"),
    "413": _refusal("The body is larger than 1 MB"),
    "415": _refusal("The body is not said to be JSON"),
}


def finished(result: Json, request: HttpRequest | None = None, **_: Any) -> Json:
    """What holds for every door: drf-spectacular's last step.

    Whom and in what money one can ask for, only the catalog knows; without a request (`check
    --deploy`) there may be none, and it is left open. What time is past, only the clock.
    """
    narrower: dict[str, Json] = {"as_of": {"anyOf": begun(datetime.now(UTC).date())}}
    if request:
        narrower |= {
            "provider": {"enum": sorted(Provider.objects.values_list("slug", flat=True))},
            "currency": {"enum": known()},
        }
    for path in result["paths"].values():
        for said in path.values():
            said["responses"] = ANY_DOOR | said["responses"]
            for each in said.get("parameters", ()):
                if each["in"] == "query" and not each.get("required"):
                    each["allowEmptyValue"] = True  # an empty parameter is an absent one
                if each["name"] in narrower:
                    each["schema"] = _narrowed(each["schema"], narrower[each["name"]])
            if "requestBody" in said:
                said["responses"] = ANY_BODY | said["responses"]
            asked = said.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "schema" in asked:
                asked["schema"] = _all_narrowed(asked["schema"], narrower)
                said["requestBody"]["required"] = bool(asked["schema"].get("required"))
    for name, component in result["components"]["schemas"].items():
        if not name.endswith("Page"):
            component.pop("required", None)  # `fields` chooses which keys a row has
        for key, kind in component.get("properties", {}).items():
            if {} in kind.get("oneOf", ()):  # a JSON field is anything, null too, not one of two
                component["properties"][key] = {}
    return result


def _all_narrowed(body: Json, narrower: Mapping[str, Json]) -> Json:
    """The body with what is narrower in its fields, and in those of its objects."""
    fields = {
        name: _narrowed(kind, narrower[name]) if name in narrower else _all_narrowed(kind, narrower)
        for name, kind in body.get("properties", {}).items()
    }
    return body | {"properties": fields} if fields else body


def _narrowed(kind: Json, to: Json) -> Json:
    """The kind with every text of it held to this: a copy, for others share it."""
    kind = deepcopy(kind)
    for each in (kind, kind.get("items", {}), *kind.get("anyOf", ())):
        for form in (each, each.get("items", {})):
            if "string" in form.get("type", ()):
                form.pop("pattern", None)
                form.update(to)
                if "enum" in to and "null" in form["type"]:
                    form["enum"] = [*to["enum"], None]
    return kind

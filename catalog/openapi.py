"""The last step of the OpenAPI schema: what holds for every door, what only the catalog knows."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from django.http import HttpRequest

from catalog.currency import known
from catalog.models import Provider
from catalog.schema import ERROR, Json


def _refusal(says: str, *headers: str) -> Json:
    named = {name: {"schema": {"type": "string"}} for name in headers}
    return {
        "description": says,
        "headers": named,
        "content": {"application/json": {"schema": ERROR}},
    }


ANY_DOOR: Json = {
    "401": _refusal("The token is unknown or was revoked", "WWW-Authenticate"),
    "429": _refusal(
        "More requests than a minute has for an address or a token, or too many at once",
        "Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
    ),
}  # fmt: skip


def finished(result: Json, request: HttpRequest | None = None, **_: Any) -> Json:
    """What holds for every door: drf-spectacular's last step.

    Whom and in what money one can ask for, only the catalog knows; without a request (`check
    --deploy`) there may be none, and it is left open.
    """
    listed = {}
    if request:
        listed = {
            "provider": sorted(Provider.objects.values_list("slug", flat=True)),
            "currency": known(),
        }
    for path in result["paths"].values():
        for said in path.values():
            said["responses"] = ANY_DOOR | said["responses"]
            for each in said.get("parameters", ()):
                if each["in"] == "query" and not each.get("required"):
                    each["allowEmptyValue"] = True  # an empty parameter is an absent one
                if words := listed.get(each["name"]):
                    each["schema"] = _listed(each["schema"], words)
            asked = said.get("requestBody", {}).get("content", {}).get("application/json", {})
            if "schema" in asked:
                asked["schema"] = _all_listed(asked["schema"], listed)
                said["requestBody"]["required"] = bool(asked["schema"].get("required"))
    for name, component in result["components"]["schemas"].items():
        if not name.endswith("Page"):
            component.pop("required", None)  # `fields` chooses which keys a row has
        for key, kind in component.get("properties", {}).items():
            if {} in kind.get("oneOf", ()):  # a JSON field is anything, null too, not one of two
                component["properties"][key] = {}
    return result


def _all_listed(body: Json, listed: Mapping[str, list[str]]) -> Json:
    """The body with what is listed in its fields, and in those of its objects."""
    fields = {
        name: _listed(kind, listed[name]) if name in listed else _all_listed(kind, listed)
        for name, kind in body.get("properties", {}).items()
    }
    return body | {"properties": fields} if fields else body


def _listed(kind: Json, words: list[str]) -> Json:
    """The kind with every text of it one of these words: a copy, for others share it."""
    kind = deepcopy(kind)
    for each in (kind, kind.get("items", {}), *kind.get("anyOf", ())):
        for form in (each, each.get("items", {})):
            if "string" in form.get("type", ()):
                form["enum"] = [*words, None] if "null" in form["type"] else words
                form.pop("pattern", None)
    return kind

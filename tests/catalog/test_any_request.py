"""Every list of the OpenAPI schema, asked at random: what it allows is answered as it says.

What it does not allow is in tests/config/test_nonsense.py.
"""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import transaction
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, FormatChecker

OPEN = (
    "offers", "instance-types", "gpus", "providers", "fabrics", "facts", "prices", "quality",
    "workloads",
)  # fmt: skip
MANY = settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)


@pytest.fixture(scope="module", autouse=True)
def _bundled(django_db_setup, django_db_blocker):
    """The bundled catalog, loaded once for this file and gone after it."""
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("load_catalog", verbosity=0)
        yield
        transaction.set_rollback(True)


@pytest.fixture(scope="module")
def openapi(_bundled) -> Mapping[str, Any]:
    return Client().get("/api/v1/schema/").json()


pytestmark = pytest.mark.django_db


def reads(read: Callable[[str], object]) -> Callable[[str], bool]:
    def does(text: str) -> bool:
        try:
            return bool(read(text))
        except ValueError:
            return False

    return does


FORMS = {"date": reads(date.fromisoformat), "date-time": reads(datetime.fromisoformat)}

# --- What the schema allows -------------------------------------------------------------------


def allowed(schema: Mapping[str, Any]) -> st.SearchStrategy[str]:
    """Texts of a parameter, as its schema has them."""
    if "items" in schema:
        return st.lists(allowed(schema["items"]), min_size=1, max_size=3).map(",".join)
    if "enum" in schema or "const" in schema:
        words = [word for word in schema.get("enum", [schema.get("const")]) if word is not None]
        return st.sampled_from(words).map(str)
    if "anyOf" in schema:
        return st.one_of(*(allowed(each) for each in schema["anyOf"]))
    if "pattern" in schema:
        texts = st.from_regex(re.compile(schema["pattern"], re.ASCII), fullmatch=True)
        return texts.filter(FORMS[schema["format"]]) if "format" in schema else texts
    return {
        "date": st.dates().map(str),
        "date-time": st.datetimes().map(lambda at: f"{at.isoformat()}Z"),
        "boolean": st.sampled_from(["true", "false"]),
        "integer": st.integers(schema.get("minimum"), schema.get("maximum")).map(str),
        "string": st.text("abcXYZ0189.-_ µ日", min_size=1, max_size=20),
    }[schema.get("format", schema.get("type"))]


def queries(door: Mapping[str, Any], values: Any) -> st.SearchStrategy[dict[str, str]]:
    """Some of the parameters of a door; a cursor is good for one list, so none is allowed here."""
    of = {each["name"]: values(each["schema"]) for each in door.get("parameters", ())}
    of.pop("cursor", None)
    chosen = st.sets(st.sampled_from(sorted(of)), max_size=5) if of else st.just(set())
    return chosen.flatmap(lambda names: st.fixed_dictionaries({n: of[n] for n in names}))


def body(answer) -> bytes:
    if not answer.streaming:
        return answer.content
    whole = b"".join(answer.streaming_content)
    for closer in answer._resource_closers:
        closer()
    return whole


def faults(answer, door: Mapping[str, Any], openapi: Mapping[str, Any]) -> list[str]:
    """What an answer has that the schema does not say."""
    text = body(answer)
    said = door["responses"].get(str(answer.status_code))
    if said is None:
        return [f"status {answer.status_code}: {text[:500]!r}"]
    kind = answer["Content-Type"].partition(";")[0]
    if kind not in said["content"]:
        return [f"{kind} is not said of {answer.status_code}"]
    if kind != "application/json":
        return []
    schema = said["content"][kind]["schema"] | {"components": openapi["components"]}
    check = Draft202012Validator(schema, format_checker=FormatChecker())
    return [f"{error.json_path}: {error.message[:200]}" for error in
            check.iter_errors(json.loads(text))]  # fmt: skip


@pytest.mark.parametrize("name", OPEN)
def test_what_the_schema_allows_is_answered_as_the_schema_says(openapi, name):
    door = openapi["paths"][f"/api/v1/{name}/"]["get"]

    @MANY
    @given(query=queries(door, allowed))
    def ask(query):
        answer = Client().get(f"/api/v1/{name}/", query)
        assert (answer.status_code, faults(answer, door, openapi)) == (200, [])

    ask()


def test_a_time_is_allowed_until_its_day_in_utc_is_in_the_future(openapi):
    door = openapi["paths"]["/api/v1/offers/"]["get"]
    (schema,) = (each["schema"] for each in door["parameters"] if each["name"] == "as_of")
    may = Draft202012Validator(schema, format_checker=FormatChecker()).is_valid
    for days, allows in ((-9000, True), (-1, True), (0, True), (1, False), (366, False)):
        day = datetime.now(UTC).date() + timedelta(days=days)
        asked = [str(day), f"{day}T23:59:59Z"]
        assert [may(text) for text in asked] == [allows, allows], day
        assert {Client().get("/api/v1/offers/", {"as_of": text}).status_code for text in asked} == {
            200 if allows else 400
        }

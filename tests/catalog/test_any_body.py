"""Bodies drawn at random from the OpenAPI schema: what it allows of a job or a fact is taken."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from catalog.body_schema import ESTIMATE, SUPPOSED
from catalog.job_schema import CUSTOM, DECODE, WORKLOAD, but
from catalog.query import BadQuery
from catalog.questions import KINDS, SUPPOSABLE, asked, job_of

MANY = settings(
    max_examples=200, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
allows = Draft202012Validator


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """What a schema of plain kinds allows."""
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    if "anyOf" in schema:
        of = {name: said for name, said in schema.items() if name != "anyOf"}
        return st.one_of(*(values(of | each) for each in schema["anyOf"]))
    bounds = schema.get("minimum"), schema.get("maximum")
    match schema["type"]:
        case "integer":
            return st.integers(*bounds)
        case "number":
            return st.floats(*bounds) | st.sampled_from(bounds)
        case "boolean":
            return st.booleans()
        case "string":
            return st.from_regex(schema["pattern"], fullmatch=True).map(lambda text: text[:200])
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
    each = {name: values(kind) for name, kind in schema["properties"].items()}
    needed = {name: each.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=each)


@MANY
@given(job=st.one_of(*(values(each) for each in WORKLOAD["anyOf"])))
def test_each_job_that_the_schema_allows_is_one(job):
    assert allows(WORKLOAD).is_valid(job)
    question = asked({"workload": job, "gpus": 8})
    for amount, without in (("tokens", CUSTOM), ("steps", DECODE)):
        body = {"workload": job, "gpus": 8, amount: 1e9}
        assert allows(but(without)).is_valid(job) == (question.job.kind != without)
        if question.job.kind == without:
            with pytest.raises(BadQuery):
                asked(body)
        else:
            asked(body)


def test_of_jobs_whose_fields_go_together_the_schema_says_less_than_is_taken():
    job = {"kind": "train", "model": "llama3-8b", "seq_len": 8192, "global_batch": 512}
    assert allows(ESTIMATE).is_valid({"workload": job, "gpus": 8})
    more = job | {"micro_batch": 2}
    assert not allows(WORKLOAD).is_valid(more)
    assert job_of(more).micro_batch == 2
    changed = {"slug": next(iter(KINDS)), "seq_len": 4096}
    assert allows(ESTIMATE).is_valid({"workload": changed, "nodes": 2, "tokens": 1e9})


@pytest.mark.parametrize("name", SUPPOSED)
def test_each_fact_that_the_schema_allows_may_be_supposed(name):
    @settings(MANY, max_examples=40)
    @given(value=values(SUPPOSED[name]))
    def suppose(value):
        body = {"workload": "llama3-8b-pretrain", "gpus": 8, "what_if": {name: value}}
        assert allows(ESTIMATE).is_valid(body)
        assert asked(body).what_if == {name: value}

    suppose()


def test_every_fact_of_one_site_may_be_supposed_by_itself():
    assert set(SUPPOSABLE) - set(SUPPOSED) == {
        "site_gpus", "site_link_gbits_per_s", "site_round_trip_ms",  # which go together
    }  # fmt: skip

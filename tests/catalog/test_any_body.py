"""Bodies drawn at random from the OpenAPI schema: what it allows of a job or a fact is taken."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from catalog.body_schema import ESTIMATE, SUPPOSED
from catalog.job_schema import (
    CHANGED_PRESET,
    CUSTOM,
    CUSTOM_JOB,
    DECODE,
    JOB_OF_MODEL,
    JOB_OF_SHAPE,
    MESSAGE,
    WORKLOAD,
    but,
)
from catalog.query import BadQuery
from catalog.questions import KINDS, RELIABILITY, SUPPOSABLE, asked, job_of

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
        return st.one_of(*(values(_both(of, each)) for each in schema["anyOf"]))
    if isinstance(schema["type"], list):
        return st.one_of(*(values({**schema, "type": each}) for each in schema["type"]))
    bounds = schema.get("minimum"), schema.get("maximum")
    match schema["type"]:
        case "integer":
            return st.integers(*bounds)
        case "number":
            return st.floats(*bounds) | st.sampled_from(bounds)
        case "null":
            return st.none()
        case "string":
            assert schema["pattern"] == "^[^\\x00]*$"
            return st.text(st.characters(exclude_characters="\0"), max_size=schema["maxLength"])
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
    each = {name: values(kind) for name, kind in schema["properties"].items()}
    needed = {name: each.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(needed, optional=each)


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """A schema and one that narrows it."""
    if "properties" not in other:
        return {**one, **other}
    needed = [*one["required"], *other["required"]]
    return {**one, "required": needed, "properties": one["properties"] | other["properties"]}


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


# What JSON may hold where something else is asked for; "no" and the like are other spellings.
ANYTHING = (None, "", "0", "8", " 8 ", "1e3", "x", True, False, 0, 1, 8, 8.5, -1, [], {}, ["x"])
MODEL = {"kind": "train", "model": "llama3-8b", "seq_len": 8192, "global_batch": 512}
OF_SHAPE = {"layers": 8, "hidden": 512, "heads": 8, "vocab": 999, "seq_len": 1, "global_batch": 8}
SERVED = {"kind": "decode", "model": "llama3-8b", "seq_len": 8192}
SENT = {"kind": "all_reduce", "bytes": 8}
OF_ANOTHER_KIND = {"kind": CUSTOM, "flop": 1e15, "messages": [SENT]}
MOVED = {"kind": CUSTOM, "hbm_bytes": 1e12}


def bodies():
    """Bodies of estimates/ with anything in one place of a job or of what is supposed."""
    for job, fields in (
        (MODEL, JOB_OF_MODEL), (OF_SHAPE, JOB_OF_SHAPE), (SERVED, JOB_OF_MODEL),
        (OF_ANOTHER_KIND, CUSTOM_JOB), (MOVED, CUSTOM_JOB),
        ({"slug": "llama3-8b-pretrain"}, CHANGED_PRESET),
    ):  # fmt: skip
        for name in job:
            yield {"workload": {k: said for k, said in job.items() if k != name}}
        for name, value in itertools.product(fields["properties"], ANYTHING):
            yield {"workload": job | {name: value}}
    for name, value in itertools.product(MESSAGE["properties"], ANYTHING):
        yield {"workload": OF_ANOTHER_KIND | {"messages": [SENT | {name: value}]}}
    for at, names in (("what_if", SUPPOSED), ("reliability", RELIABILITY)):
        for name, value in itertools.product(names, ANYTHING):
            yield {"workload": "llama3-8b-pretrain", at: {name: value}}


def test_a_job_or_a_fact_is_taken_exactly_where_the_schema_allows_it():
    """A text is no number, and an empty one not nothing: JSON has numbers and null."""
    otherwise = []
    for body in bodies():
        try:
            taken = bool(asked(body | {"gpus": 8}))
        except BadQuery:
            taken = False
        if taken != allows(ESTIMATE).is_valid(body | {"gpus": 8}):
            otherwise.append((taken, body))
    assert not otherwise


@pytest.mark.parametrize(
    "name", ["gpu", "region", "nvlink", "gpu_count_min", "include_unknown", "q"]
)
@pytest.mark.parametrize("value", [*ANYTHING, ["8"], [""], [None], [True], "a,b", [[]], "\0"])
def test_a_filter_is_taken_exactly_where_the_schema_allows_it(name, value):
    body = {"workload": "llama3-8b-pretrain", "gpus": 8, "filter": {name: value}}
    try:
        taken = bool(asked(body))
    except BadQuery:
        taken = False
    if value != "\0":  # which no body can hold
        assert taken == allows(ESTIMATE).is_valid(body)
    else:
        assert not allows(ESTIMATE).is_valid(body)


@pytest.mark.parametrize("said", [{"flop": 5e-324}, {"hbm_bytes": 5e-324}, {"flop": 0}])
def test_a_step_of_less_than_one_operation_is_no_job(said):
    """Its time would be too short to be divided by."""
    with pytest.raises(BadQuery, match="or hbm_bytes must be given, and at least 1"):
        asked({"workload": {"kind": CUSTOM} | said, "gpus": 8})


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

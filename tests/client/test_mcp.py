"""`fabricscout mcp`, asked by the MCP SDK's own client over stdin and stdout."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio
import httpx
import jsonschema
import pytest
from anyio import from_thread
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.client.conftest import CLIENT

H100 = {"provider": "azure", "instance_type": "Standard_ND96isr_H100_v5"}
JOB = "llama3-70b-pretrain"
RANK = {"workload": JOB, "gpus": 8}
PICKS = {"picks": ["/".join(H100.values())]}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def tools(service: str) -> Mapping[str, Any]:
    """What the server says of itself."""

    async def ask(client: Client) -> Mapping[str, Any]:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    return talk(service, ask)


def talk(service: str, ask: Any) -> Any:
    """One conversation with a server of its own."""

    async def conversation() -> Any:
        async with Client(stdio_client(server_of(service))) as client:
            return await ask(client)

    return anyio.run(conversation)


def server_of(service: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "fabricscout", "mcp"],
        env={"FABRICSCOUT_URL": service, "PYTHONPATH": str(CLIENT)},
    )


def call(service: str, *calls: tuple[str, Json]) -> list[tuple[bool, Json]]:
    """Whether each went wrong, and what it answered; text and structure say the same."""

    async def ask(client: Client) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    found = talk(service, ask)
    for answer in found:
        assert json.loads(answer.content[0].text) == answer.structured_content
    return [(answer.is_error, answer.structured_content) for answer in found]


@pytest.fixture(scope="module")
def asked(service: str) -> Iterator[Callable[[str, Json], tuple[bool, Json]]]:
    """One call of a tool; all of a module are one conversation."""
    with from_thread.start_blocking_portal() as portal, portal.wrap_async_context_manager(
        Client(stdio_client(server_of(service)))
    ) as client:  # fmt: skip

        def ask(name: str, arguments: Json) -> tuple[bool, Json]:
            answer = portal.call(client.call_tool, name, arguments)
            assert json.loads(answer.content[0].text) == answer.structured_content
            return answer.is_error, answer.structured_content

        yield ask


def test_its_tools_take_what_the_api_takes(tools, service):
    assert set(tools) == {"offers", "instance_facts", "rank", "compare"}
    first, schema = (httpx.get(f"{service}/api/v1/schema/").json() for _ in range(2))
    assert first == schema  # to ask is not to change it
    wanted = {each["name"] for each in schema["paths"]["/api/v1/offers/"]["get"]["parameters"]}
    offers = tools["offers"].input_schema
    assert set(offers["properties"]) == wanted - {"format"}
    assert offers["properties"]["gpu"]["items"]["enum"]
    assert "enum" not in offers["properties"]["cursor"]
    assert tools["rank"].input_schema["properties"]["filter"] == offers
    for tool in tools.values():
        jsonschema.Draft202012Validator.check_schema(tool.input_schema)
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description


def test_an_answer_has_sources_and_dates_and_leaves_the_unknown_null(service):
    asked = {"gpu": ["h100-sxm5-80gb"], "provider": ["lambda"], "page_size": 2}
    offers, facts, comparison = call(
        service,
        ("offers", asked),
        ("instance_facts", H100),
        ("compare", {"picks": ["/".join(H100.values()), "lambda/gpu_8x_h100_sxm5"]}),
    )
    assert not any(wrong for wrong, _said in (offers, facts, comparison))
    assert len(offers[1]["results"]) == 2
    assert all(row["source_url"] and row["collected_at"] for row in offers[1]["results"])
    assert offers[1]["results"][0]["fabric"] is None
    by_name = {fact["attribute"]: fact for fact in facts[1]["facts"]}
    assert by_name["fabric"]["value"] == "infiniband"
    assert by_name["fabric"]["source"].startswith("https://")
    assert by_name["fabric"]["checked"]
    assert by_name["rail_optimised"]["value"] is None
    assert any("rail-optimised" in ask for ask in facts[1]["still_to_ask"]) or facts[1]["prices"]
    lines = {line["attribute"]: line["cells"] for line in comparison[1]["lines"]}
    assert [cell["value"] for cell in lines["fabric"]] == ["infiniband", None]


def test_a_list_goes_on_where_its_cursor_says(service):
    asked = {"nvlink": True, "page_size": 3, "sort": ["usd_per_gpu_hour"]}
    ((_, first),) = call(service, ("offers", asked))
    ((_, second),) = call(service, ("offers", asked | {"cursor": first["next_cursor"]}))
    both = [json.dumps(row) for row in first["results"] + second["results"]]
    assert len(set(both)) == 6


def test_a_ranking_is_cut_to_its_best_and_says_how_many_there_were(service):
    asked = {"workload": "llama3-70b-pretrain", "gpus": 64, "filter": {"nvlink": True}, "limit": 3}
    ((wrong, said),) = call(service, ("rank", asked))
    assert not wrong
    assert [each["rank"] for each in said["results"]] == [1, 2, 3]
    assert said["ranked"] > 3
    assert said["results"][0]["offer"]["source_url"]
    assert said["model_version"]
    assert said["catalog_as_of"]
    assert all(each["reason"] for each in said["left_out"])


def test_an_impossible_job_is_answered_with_why_in_what_a_model_can_read(service):
    wish = {"deadline_hours": 1, "budget_usd": 10, "tokens": 1e12}
    ((wrong, said),) = call(service, ("rank", {"workload": "llama3-70b-pretrain", **wish}))
    assert not wrong
    assert said["results"] == []
    assert said["wish"]["reason"].startswith("no cluster does it")
    assert len(json.dumps(said)) < 12_000
    counts = [why["count"] for why in said["left_out"]]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) <= said["left_out_offers"]
    assert (sum(counts) < said["left_out_offers"]) == (said["left_out_reasons_cut"] > 0)
    assert all(why["reason"] and "/" in why["for_example"] for why in said["left_out"])


def test_what_is_asked_wrongly_is_answered_in_words(service):
    calls: list[tuple[str, Json]] = [
        ("offers", {"gpu": ["h100"]}),
        ("offers", {"nvlnk": True}),
        ("offers", {"gpu": [1]}),
        ("instance_facts", {"provider": "azure"}),
        ("instance_facts", {"provider": "azure", "instance_type": "none"}),
        ("rank", {"workload": "none", "gpus": 8}),
        ("rank", {"workload": "llama3-8b-pretrain", "gpus": 8, "limit": "all"}),
        ("compare", {"picks": ["h100"]}),
        ("frobnicate", {}),
    ]
    for (wrong, said), asked in zip(call(service, *calls), calls, strict=True):
        assert wrong, asked
        assert said["error"]["message"], asked


@pytest.mark.parametrize(
    ("tool", "arguments", "field", "says"),
    [
        ("offers", {"page_size": "all"}, "page_size", "must be a whole number from 1 to 50."),
        ("offers", {"page_size": 500}, "page_size", "must be a whole number from 1 to 50."),
        ("offers", {"page_size": True}, "page_size", "must be a whole number from 1 to 50."),
        ("offers", {"rows": "rack"}, "rows", "must be one of: type, region."),
        ("offers", {"nvlink": "maybe"}, "nvlink", "must be true or false."),
        ("offers", {"format": "csv"}, "format", "is not an argument of offers."),
        ("instance_facts", H100 | {"provider": 7}, "provider", "must be text."),
        ("instance_facts", {"provider": "azure"}, "instance_type", "is required."),
        ("instance_facts", H100 | {"instance_type": ""}, "instance_type", "is none that the"),
        ("instance_facts", H100 | {"instance_type": "../x?y"}, "instance_type", "is none that the"),
        ("rank", RANK | {"filter": 7}, "filter", "must be an object of parameters of offers."),
        ("rank", RANK | {"limit": -1}, "limit", "must be a whole number from 1 to 20."),
        ("rank", RANK | {"limit": 1000}, "limit", "must be a whole number from 1 to 20."),
        ("rank", RANK | {"limit": True}, "limit", "must be a whole number from 1 to 20."),
        ("rank", RANK | {"gpus": "64"}, "gpus", "must be a whole number from 1 to 131072."),
        ("rank", RANK | {"objective": "luck"}, "objective", "must be one of: usd_per_mtoken, "),
        ("rank", RANK | {"workload": {"kind": "train"}}, "workload.layers", "must be given, or "),
        ("compare", {"picks": "azure/x"}, "picks", "must be a list of texts."),
        ("compare", {"picks": []}, "picks", "must be 1 to 6."),
        ("compare", {"picks": ["/".join(H100.values())] * 7}, "picks", "must be 1 to 6."),
        ("compare", PICKS | {"price_model": "barter"}, "price_model", "must be one of: "),
        ("compare", PICKS | {"gpus": 8}, "workload", "is needed beside gpus: "),
        ("compare", PICKS | {"workload": "hpc-halo"}, "gpus", "is needed beside workload: "),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_named_with_what_it_may_be(asked, tool, arguments, field, says):
    wrong, said = asked(tool, arguments)
    assert wrong
    assert said["error"]["fields"][field][0].startswith(says)
    assert field in said["error"]["message"]
    assert "Traceback" not in json.dumps(said)


@pytest.mark.parametrize(
    ("tool", "arguments", "most"),
    [
        ("offers", {"page_size": 50, "facets": ["region", "provider", "gpu"]}, 60_000),
        ("instance_facts", H100, 40_000),
        ("instance_facts", {"provider": "azure", "instance_type": "Standard_NC4as_T4_v3"}, 40_000),
        ("rank", {"workload": JOB, "gpus": 64, "limit": 20}, 150_000),
        ("compare", {"picks": ["/".join(H100.values())] * 6}, 60_000),
    ],
)
def test_the_longest_answers_are_what_a_model_can_read(asked, tool, arguments, most):
    wrong, said = asked(tool, arguments)
    assert not wrong
    assert len(json.dumps(said)) < most


def test_of_many_prices_the_lowest_are_told_and_how_many_there_are(asked, service):
    name = "azure/Standard_NC4as_T4_v3"
    provider, _, kind = name.partition("/")
    _wrong, said = asked("instance_facts", {"provider": provider, "instance_type": kind})
    every = httpx.get(f"{service}/api/v1/instance-types/{name}/").json()["prices"]
    assert (len(said["prices"]), said["prices_in_all"]) == (40, len(every))
    known = sorted(float(p["usd_per_gpu_hour"]) for p in every if p["usd_per_gpu_hour"])
    assert [float(p["usd_per_gpu_hour"]) for p in said["prices"]] == known[:40]


def test_a_model_is_told_that_unknown_is_not_no(service, tools, asked):
    async def greet(client: Client) -> str:
        return str(client.instructions)

    assert "null is unknown: never zero, never 'no'" in talk(service, greet)
    assert "An unknown satisfies no filter" in tools["offers"].description
    assert "null is unknown, not no" in tools["instance_facts"].description
    kept, with_unknown = (
        asked("offers", {"infiniband": False, "gpu": ["h100-sxm5-80gb"], "page_size": 1} | more)[1]
        for more in ({}, {"include_unknown": ["fabric"]})
    )
    assert kept["left_out_by"]["infiniband"] > 0
    assert with_unknown["left_out_by"].get("infiniband", 0) == 0


def test_without_a_service_a_tool_says_so():
    ((wrong, said),) = call("http://127.0.0.1:9", ("offers", {}))
    assert wrong
    assert "does not answer" in said["error"]["message"]

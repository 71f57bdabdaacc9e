"""`fabricscout mcp`, asked by the MCP SDK's own client over stdin and stdout."""

import json
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import jsonschema
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.client.conftest import CLIENT

H100 = {"provider": "azure", "instance_type": "Standard_ND96isr_H100_v5"}
Json = dict[str, Any]


@pytest.fixture(scope="module")
def tools(service: str) -> Mapping[str, Any]:
    """What the server says of itself."""

    async def ask(client: Client) -> Mapping[str, Any]:
        return {tool.name: tool for tool in (await client.list_tools()).tools}

    return talk(service, ask)


def talk(service: str, ask: Any) -> Any:
    """One conversation with a server of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "fabricscout", "mcp"],
        env={"FABRICSCOUT_URL": service, "PYTHONPATH": str(CLIENT)},
    )

    async def conversation() -> Any:
        async with Client(stdio_client(server)) as client:
            return await ask(client)

    return anyio.run(conversation)


def call(service: str, *calls: tuple[str, Json]) -> list[tuple[bool, Json]]:
    """Whether each went wrong, and what it answered; text and structure say the same."""

    async def ask(client: Client) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments in calls]

    found = talk(service, ask)
    for answer in found:
        assert json.loads(answer.content[0].text) == answer.structured_content
    return [(answer.is_error, answer.structured_content) for answer in found]


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


def test_an_argument_of_another_kind_is_refused_by_its_name(service):
    asked = (
        ("instance_facts", H100 | {"provider": 7}),
        ("rank", {"workload": "llama3-8b-pretrain", "gpus": 8, "filter": 7}),
        ("rank", {"workload": "llama3-8b-pretrain", "gpus": 8, "limit": -1}),
        ("compare", {"picks": "azure/x"}),
    )
    found = call(service, *asked)
    assert all(wrong for wrong, _said in found)
    fields = [next(iter(said["error"]["fields"])) for _wrong, said in found]
    assert fields == ["provider", "filter", "limit", "picks"]


def test_without_a_service_a_tool_says_so():
    ((wrong, said),) = call("http://127.0.0.1:9", ("offers", {}))
    assert wrong
    assert "does not answer" in said["error"]["message"]

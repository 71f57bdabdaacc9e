"""`fabricscout mcp`: offers, facts, ranking and comparison as tools of the Model Context Protocol.

What a tool takes is what the API's own schema says of the door behind it, so both know the same
parameters. Answers are cut to what a model can read, and keep the source and date of each value;
what is unknown stays null.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from fabricscout.client import FabricScout
from fabricscout.errors import ApiError, BadInput, FabricScoutError, NotFound
from fabricscout.reasons import reasons

Json = dict[str, Any]
T = TypeVar("T")
ROWS, MOST_ROWS = 10, 50  # of an answer, where nothing else is asked, and the most
RANKED, MOST_RANKED = 5, 20
PRICES = 40  # of a type, the lowest
MOST_PICKS = 6
REASONS = 10  # why offers are left out of a ranking
INSTRUCTIONS = (
    "Rentable GPU clusters compared by their interconnect. null is unknown: never zero, never "
    "'no'; a price of null is not published, a fact of null with claims is known in some cases "
    "only. Every value has a source and a date: give them with "
    "it, and say where a price is marked stale. Bandwidths are one way."
)
OFFER = (
    "provider", "via", "instance_type", "region", "tier", "price_model", "gpu", "gpu_count",
    "gpu_memory_gb", "scale_up", "scale_up_gbytes_per_s", "nvlink_domain_gpus", "fabric",
    "fabric_gbits_per_s_per_gpu", "gpudirect_rdma", "multi_node", "cliff", "disputed",
    "usd_per_hour", "usd_per_gpu_hour", "price_note", "collected_at", "stale", "source_url",
)  # fmt: skip
PRICE = (
    "region", "country", "tier", "price_model", "available", "usd_per_gpu_hour", "price_note",
    "collected_at", "stale", "source_url",
)  # fmt: skip
NOT_FOR_A_MODEL = ("format",)  # an answer is JSON here


@dataclass(frozen=True, slots=True)
class Door:
    """One tool: what it is for, what it takes, and the function that answers."""

    says: str
    takes: Json
    answer: Callable[[FabricScout, Json], Json]


def serve(scout: FabricScout) -> None:
    """Answer on stdin and stdout until stdin ends."""
    anyio.run(_serve, scout)


async def _serve(scout: FabricScout) -> None:
    tools = cache(partial(doors, scout))  # a service keeps its schema
    one_at_a_time = anyio.CapacityLimiter(1)  # the client is not made for several threads

    async def in_turn(question: Callable[[], T]) -> T:
        return await anyio.to_thread.run_sync(question, limiter=one_at_a_time)

    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=_tools(await in_turn(tools)))

    async def call_tool(
        _context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult:
        return await in_turn(partial(_called, scout, tools, params.name, params.arguments or {}))

    served: Server[Any] = Server(
        "fabricscout", instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )
    async with stdio_server() as (incoming, outgoing):
        await served.run(incoming, outgoing, served.create_initialization_options())


def _tools(found: Mapping[str, Door]) -> list[Tool]:
    return [
        Tool(
            name=name,
            description=door.says,
            input_schema=door.takes,
            annotations=ToolAnnotations(read_only_hint=True),
        )
        for name, door in found.items()
    ]


def _called(
    scout: FabricScout, tools: Callable[[], Mapping[str, Door]], name: str, arguments: Json
) -> CallToolResult:
    """The answer; where there is none, the reason in words, for the model to ask better."""
    try:
        found = tools()
        if name not in found:
            raise _bad("tool", f"is one of: {', '.join(found)}.")
        if strange := sorted(set(arguments) - set(found[name].takes["properties"])):
            raise _bad(strange[0], f"is not an argument of {name}.")
        if missing := [key for key in found[name].takes["required"] if key not in arguments]:
            raise _bad(missing[0], "is required.")
        _of_lists(found[name].takes["properties"], arguments)
        answer = found[name].answer(scout, arguments)
    except FabricScoutError as refused:
        said: Json = {"message": str(refused)}
        if isinstance(refused, ApiError):
            said |= {"code": refused.code, "fields": refused.fields}
        return _result({"error": said}, is_error=True)
    return _result(answer)


def _of_lists(takes: Json, arguments: Json) -> None:
    """Refuse a word that is none of its list, where the service would not be asked about it."""
    for name, value in arguments.items():
        allowed = takes[name].get("enum")
        if allowed and value not in (None, "", *allowed):
            raise _bad(name, f"must be one of: {', '.join(map(str, allowed))}.")


def _result(value: Json, *, is_error: bool = False) -> CallToolResult:
    text = json.dumps(value, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=value, is_error=is_error
    )


def _bad(field: str, said: str) -> BadInput:
    return BadInput(400, "bad_argument", f"{field} {said}", {field: [said]})


# --- What the tools take ----------------------------------------------------------------------


def doors(scout: FabricScout) -> Mapping[str, Door]:
    """The tools, from the service's own schema."""
    schema = scout.connection.get("schema/")
    offers = schema["paths"]["/api/v1/offers/"]["get"]
    estimates = schema["paths"]["/api/v1/estimates/"]["post"]
    filters = {
        each["name"]: {**each["schema"], "description": each.get("description", "")}
        for each in offers["parameters"]
        if each["name"] not in NOT_FOR_A_MODEL
    } | {"page_size": _whole("Rows", MOST_ROWS)}
    question = _resolved(schema, estimates["requestBody"]["content"]["application/json"]["schema"])
    ranking = {
        **question["properties"],
        "filter": _object(filters),
        "limit": _whole("Clusters", MOST_RANKED),
    }
    return {
        "offers": Door(_says(offers), _object(filters), _offers),
        "instance_facts": Door(
            "Everything known of one instance type: each fact with basis, source and date (a value "
            "of null is unknown, not no), its lowest prices by region, and what nobody says.",
            _object(
                {"provider": _text("As in offers"), "instance_type": _text("The provider's name")},
                "provider",
                "instance_type",
            ),
            _instance_facts,
        ),
        "rank": Door(_says(estimates), _object(ranking, "workload"), _rank),
        "compare": Door(
            "Instance types side by side: facts with their evidence, lowest prices, and with a "
            "workload and a count of GPUs an estimate of each.",
            _object(
                {
                    "picks": {
                        "type": "array",
                        "items": {"type": "string"},
                        "minItems": 1,
                        "maxItems": MOST_PICKS,
                        "description": "provider/instance_type each",
                    },
                    "workload": _text("Its slug; the API's workloads/ lists them"),
                    "gpus": _whole("GPUs of the workload"),
                    "price_model": filters["price_model"].get("items", {"type": "string"}),
                },
                "picks",
            ),
            _compare,
        ),
    }


def _resolved(schema: Json, kind: Json) -> Json:
    """A schema, or the one that its $ref names."""
    for name in kind.get("$ref", "#").split("/")[1:]:
        schema = schema[name]
    return schema if "$ref" in kind else kind


def _object(properties: Json, *required: str) -> Json:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _text(says: str) -> Json:
    return {"type": "string", "description": says}


def _whole(says: str, most: int | None = None) -> Json:
    said = {"type": "integer", "minimum": 1, "description": says}
    return said if most is None else said | {"maximum": most}


def _says(door: Json) -> str:
    return " ".join(door.get("description", "").split())


# --- What they answer -------------------------------------------------------------------------


def _offers(scout: FabricScout, asked: Json) -> Json:
    rows = _count(asked, "page_size", ROWS, MOST_ROWS)
    page = scout.connection.get("offers/", {"fields": OFFER, **asked, "page_size": rows})
    following = parse_qs(urlsplit(page.pop("next") or "").query)
    del page["previous"]
    return {**page, "next_cursor": following.get("cursor", [None])[0]}


def _instance_facts(scout: FabricScout, asked: Json) -> Json:
    provider, name = (_given(asked, key, str, "text") for key in ("provider", "instance_type"))
    try:
        found = scout.instance(provider, name)
    except NotFound:
        said = f"is none that the catalog has of {provider[:80]!r}: `offers` names those there are."
        raise _bad("instance_type", said) from None
    return {
        "provider": found["provider"],
        "instance_type": found["instance_type"],
        "facts": [_known(fact) for fact in found["facts"]],
        "prices": _cut(sorted(found["prices"], key=_usd)[:PRICES], PRICE),
        "prices_in_all": len(found["prices"]),
        "still_to_ask": [each["ask"] for each in found["checklist"] if each["open"]],
    }


def _known(fact: Mapping[str, Any]) -> Json:
    """One fact; with its claims only where none of them speaks for the whole type."""
    left = {"group", "withdrawn"} | ({"claims"} if fact["value"] is not None else set())
    return {key: value for key, value in fact.items() if key not in left}


def _rank(scout: FabricScout, asked: Json) -> Json:
    more = {key: value for key, value in asked.items() if key not in {"limit", "filter"}}
    where = _given({"filter": {}, **asked}, "filter", dict, "an object of parameters of offers")
    limit = _count(asked, "limit", RANKED, MOST_RANKED)
    found = scout.rank(**more, where=where)
    why = reasons(found["left_out"])
    return {
        **found,
        "ranked": len(found["results"]),
        "results": [
            {**each, "offer": _cut([each["offer"]], OFFER)[0]} for each in found["results"][:limit]
        ],
        "left_out": why[:REASONS],
        "left_out_offers": len(found["left_out"]),
        "left_out_reasons_cut": len(why[REASONS:]),
    }


def _compare(scout: FabricScout, asked: Json) -> Json:
    picks = _given(asked, "picks", list, "a list of texts")
    if not 1 <= len(picks) <= MOST_PICKS:
        raise _bad("picks", f"must be 1 to {MOST_PICKS}.")
    for pick in picks:
        if "/" not in str(pick):
            raise _bad("picks", f"are provider/instance_type each, not {str(pick)[:80]!r}.")
    together = [name for name in ("workload", "gpus") if asked.get(name) is not None]
    if len(together) == 1:
        (other,) = {"workload", "gpus"} - set(together)
        raise _bad(
            other, f"is needed beside {together[0]}: an estimate is of a job on so many GPUs."
        )
    return dict(scout.compare(**asked))


def _given(asked: Json, name: str, kind: type[T], says: str) -> T:
    """An argument that must be of a kind before it is used here; the service judges the others."""
    value = asked[name]
    if not isinstance(value, kind):
        raise _bad(name, f"must be {says}.")
    return value


def _count(asked: Json, name: str, usual: int, most: int) -> int:
    """A count of rows: an answer is no longer than what a model can read."""
    value = asked.get(name)
    if value is None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise _bad(name, f"must be a whole number from 1 to {most}.")
    return value


def _usd(price: Mapping[str, Any]) -> tuple[bool, bool, float]:
    """Fresh prices first, and those that are not published last."""
    usd = price["usd_per_gpu_hour"]
    return usd is None, price["stale"], float(usd or 0)


def _cut(rows: Sequence[Any], keys: Sequence[str]) -> list[Json]:
    return [{key: row.get(key) for key in keys} for row in rows]

"""The commands of `fabricscout`, with the options that are their own."""

from typing import Any

from fabricscout import lists, rankings, saved
from fabricscout.client import FabricScout
from fabricscout.command import ROWS_OF_A_TABLE, Answer, Asked, Command, bad
from fabricscout.errors import FabricScoutError


def _parameters(scout: FabricScout, asked: Asked) -> Answer:
    """What a door of the API takes, as its schema says."""
    schema = scout.connection.get("schema/")
    doors = {
        path.removeprefix("/api/v1/").strip("/"): door for path, door in schema["paths"].items()
    }
    if asked.own("door") not in doors:
        raise bad("DOOR", f"must be one of: {', '.join(doors)}.")
    rows = []
    for each in doors[asked.own("door")].get("get", {}).get("parameters", ()):
        one = each["schema"].get("items", each["schema"])
        kind = one.get("format", one.get("type", "text"))
        rows.append({
            "parameter": each["name"],
            "kind": f"{kind}s" if "items" in each["schema"] else kind,
            "says": each.get("description", ""),
            "words": one.get("enum", []),
        })  # fmt: skip
    return Answer(rows, ("parameter", "kind", "says", "words"), absent={"says": "-"})


def _mcp(scout: FabricScout, _asked: Asked) -> Answer:
    """Until stdin ends."""
    try:
        from fabricscout import mcp_server  # noqa: PLC0415 -- the SDK is an extra
    except ImportError as missing:
        need = f"mcp needs the MCP SDK ({missing.name} is missing)"
        raise FabricScoutError(f"{need}: pip install './client[mcp]' in a checkout.") from missing
    mcp_server.serve(scout)
    return Answer((), (), code=0)


def count(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise ValueError(text)
    return int(text)


GENERAL: dict[str, dict[str, Any]] = {
    "--json": {"action": "store_true", "help": "the whole answer as JSON"},
    "--csv": {"action": "store_true", "help": "every plain key as CSV"},
    "--limit": {
        "type": count,
        "metavar": "N",
        "help": f"rows at most: {ROWS_OF_A_TABLE} in a table, else all",
    },
    "--url": {"help": "where the service answers"},
    "-f": {
        "action": "append",
        "default": [],
        "dest": "parameters",
        "metavar": "NAME=VALUE",
        "help": "a parameter of the API",
    },
}
WORKLOAD: dict[str, Any] = {"help": "its slug, or @FILE with one of your own as JSON"}
GPUS: dict[str, Any] = {"type": int, "help": "how many GPUs"}
NODES: dict[str, Any] = {"type": int, "help": "how many nodes, instead"}
OBJECTIVE: dict[str, Any] = {"help": "usd_per_mtoken, time, efficiency or gpus"}
KEPT: dict[str, Any] = {"metavar": "NAME", "help": "or the id of a kept comparison"}
OF_OFFERS = {"gpus_min": "gpu_count_min", "gpus_max": "gpu_count_max"}

COMMANDS: dict[str, Command] = {
    "offers": Command(
        "what can be rented, by how its GPUs are joined", lists.offers, words=OF_OFFERS
    ),
    "fabrics": Command(
        "types that can be reserved together on one network", lists.fabrics, door="fabrics"
    ),
    "prices": Command("price periods of offers", lists.prices, door="prices"),
    "changes": Command(
        "what is new, gone or priced otherwise since a day",
        lists.changes,
        {
            "--since": {"required": True, "help": "a day, an ISO time, or 30d: so many days ago"},
            "--until": {"help": "the same; now"},
            "--fail-if-price-rises": {
                "metavar": "SHARE",
                "help": "only prices that rose by more (10%%); exit 4 if there are some",
            },
        },
        OF_OFFERS,
    ),
    "facts": Command(
        "what is known of a type or a GPU, each with basis, source and date",
        lists.facts,
        {"subject": {"metavar": "PROVIDER/TYPE|GPU"}},
        door="facts",
    ),
    "rank": Command(
        "clusters ranked for a workload",
        rankings.rank,
        {
            "--workload": {"required": True, **WORKLOAD},
            "--gpus": GPUS,
            "--nodes": NODES,
            "--objective": OBJECTIVE,
            **{f"--{name.replace('_', '-')}": {"type": float} for name in rankings.AMOUNTS},
            "--what-if": {"help": "a scenario's name, or @FILE with supposed facts as JSON"},
        },
        OF_OFFERS,
    ),
    "compare": Command(
        "types side by side; with a workload, estimates as well",
        rankings.compare,
        {
            "picks": {"nargs": "+", "metavar": "PROVIDER/TYPE"},
            "--workload": WORKLOAD,
            "--gpus": GPUS,
            "--price-model": {"default": "on_demand", "help": "under which prices; on_demand"},
        },
        takes_parameters=False,
    ),
    "save": Command(
        "keep a comparison of picks or of what a filter lets through, and answer it",
        saved.save,
        {
            "name": {"metavar": "NAME"},
            "picks": {"nargs": "*", "metavar": "PROVIDER/TYPE[;PRICE_MODEL[;TIER]]"},
            "--workload": WORKLOAD,
            "--gpus": GPUS,
            "--nodes": NODES,
            "--objective": OBJECTIVE,
            "--baseline": {"help": "the pick that the others are held against"},
        },
        OF_OFFERS,
    ),
    "saved": Command(
        "the comparisons that your account keeps", saved.saved, takes_parameters=False
    ),
    "run": Command(
        "answer a kept comparison again",
        saved.run,
        {"name": KEPT, "--as-of": {"help": "at the prices of a day or an ISO time"}},
        takes_parameters=False,
    ),
    "diff": Command(
        "what changed between two runs of a kept comparison, the last two if none is named",
        saved.diff,
        {"name": KEPT, "--from": {"help": "a run's id"}, "--to": {"help": "a run's id"}},
        takes_parameters=False,
    ),
    "watch": Command(
        "be told when a kept comparison changes; without --what, the watches there are",
        saved.watch,
        {
            "name": {"nargs": "?", **KEPT},
            "--what": {"help": "price, spec, rank or availability"},
            "--threshold": {"type": float, "help": "percent of a price, places of a rank"},
            "--webhook": {"metavar": "URL", "help": "where to; else by mail"},
            "--pace": {"help": "of mails: daily or at_once"},
            "--remove": {"metavar": "ID", "help": "end a watch"},
        },
        takes_parameters=False,
    ),
    "parameters": Command(
        "the parameters of a door of the API",
        _parameters,
        {"door": {"metavar": "DOOR"}},
        takes_parameters=False,
    ),
    "mcp": Command(
        "serve the same as MCP tools over stdin and stdout", _mcp, takes_parameters=False
    ),
}

"""Instance types side by side: what is known of each, what it costs, how it does on a workload."""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any, TypedDict

from fabricscout.answers import Instance, Known, LeftOut, Offer, Ranked, Ranking

OF_A_WORKLOAD = ("step_time_s", "tokens_per_s", "mfu", "exposed_share", "scaling_efficiency")


class Cell(TypedDict):
    """One value of one pick, and how it is known; a value of None is unknown.

    Unless `claims` say it of parts of the type (a region, a size): how many do.
    """

    value: Any
    basis: str | None
    source: str | None
    checked: str | None
    note: str
    claims: int


class Line(TypedDict):
    """One attribute, with a cell for each pick, in their order."""

    attribute: str
    unit: str
    cells: list[Cell]


class Comparison(TypedDict):
    """The picks, as they were given, and what is said of them."""

    picks: list[str]
    workload: str | None
    gpus: int | None
    catalog_as_of: str | None
    lines: list[Line]


def compare(
    instance: Callable[[str, str], Instance],
    rank: Callable[..., Ranking],
    picks: Sequence[str],
    workload: str | None = None,
    gpus: int | None = None,
    *,
    price_model: str = "on_demand",
) -> Comparison:
    """Each attribute of each pick with its evidence, the lowest price, and an estimate if asked.

    Parameters
    ----------
    instance, rank
        A client's methods of these names.
    picks
        `provider/instance_type` each.
    workload, gpus
        What to estimate on all of them.
    price_model
        Under which prices are compared.

    Raises
    ------
    FabricScoutError
        `NotFound` where the catalog has never had a pick.
    """
    types = [instance(*_halves(pick)) for pick in picks]
    lines = [_price(types, price_model), *_facts(types)]
    as_of = None
    if workload is not None:
        providers = sorted({kind["provider"] for kind in types})
        where = {"provider": providers, "price_model": price_model}
        ranking = rank(workload, gpus, where=where)
        as_of = ranking["catalog_as_of"]
        source = f"cost model {ranking['model_version']}"
        found = [_of(kind, ranking["results"]) for kind in types]
        refused = [_of(kind, ranking["left_out"]) for kind in types]
        lines[:0] = _estimates(found, refused, source, as_of)
    return {
        "picks": list(picks),
        "workload": workload,
        "gpus": gpus,
        "catalog_as_of": as_of,
        "lines": lines,
    }


def _halves(pick: str) -> tuple[str, str]:
    provider, _, name = pick.partition("/")
    return provider, name


def _facts(types: Sequence[Instance]) -> Iterable[Line]:
    """Every attribute of which something is known of one of them.

    A type lists those that any type may have, and what was said of it alone.
    """
    of_each = [{fact["attribute"]: fact for fact in kind["facts"]} for kind in types]
    units = {name: fact["unit"] for facts in of_each for name, fact in facts.items()}
    for name, unit in units.items():
        said = [facts.get(name) for facts in of_each]
        if any(fact and (fact["value"] is not None or fact["claims"]) for fact in said):
            cells = [
                _cell(f["value"], f["basis"], f["source"], f["checked"], f["note"], _of_parts(f))
                if f
                else _cell(None, None, None, None, "")
                for f in said
            ]
            yield {"attribute": name, "unit": unit, "cells": cells}


def _of_parts(fact: Known) -> int:
    """How many claims there are where none speaks for the whole type."""
    return len(fact["claims"]) if fact["value"] is None else 0


def _price(types: Sequence[Instance], price_model: str) -> Line:
    """The lowest price of each; a stale one only where there is no fresher."""
    cells = []
    for kind in types:
        offers = [
            offer
            for offer in kind["prices"]
            if offer["price_model"] == price_model and offer["usd_per_gpu_hour"] is not None
        ]
        if not offers:
            cells.append(_cell(None, None, None, None, f"no {price_model} price is published"))
            continue
        best = min(offers, key=lambda o: (o["stale"], Decimal(o["usd_per_gpu_hour"] or 0)))
        note = ", ".join(filter(None, (best["region"], best["tier"], "stale" * best["stale"])))
        cells.append(
            _cell(
                best["usd_per_gpu_hour"], "listed", best["source_url"], best["collected_at"], note
            )
        )
    return {"attribute": "usd_per_gpu_hour", "unit": "USD", "cells": cells}


def _estimates(
    found: Sequence[Ranked | None],
    refused: Sequence[LeftOut | None],
    source: str,
    as_of: str | None,
) -> Iterable[Line]:
    def line(name: str, values: Sequence[Any], unit: str) -> Line:
        cells = [
            _cell(value, "estimated", source, as_of, "" if row or not no else no["reason"])
            for value, row, no in zip(values, found, refused, strict=True)
        ]
        return {"attribute": name, "unit": unit, "cells": cells}

    yield line("usd_per_mtoken", [row and row["usd_per_mtoken"] for row in found], "USD")
    for name in OF_A_WORKLOAD:
        yield line(name, [row and row["estimate"].get(name) for row in found], "")


def _of(kind: Instance, rows: Iterable[Any]) -> Any:
    """The first of the rows that is about an offer of this type."""
    return next((row for row in rows if _same(kind, row["offer"])), None)


def _same(kind: Instance, offer: Offer) -> bool:
    return (kind["provider"], kind["instance_type"]) == (offer["provider"], offer["instance_type"])


def _cell(
    value: Any,
    basis: str | None,
    source: str | None,
    checked: str | None,
    note: str,
    claims: int = 0,
) -> Cell:
    return {
        "value": value,
        "basis": basis,
        "source": source,
        "checked": checked,
        "note": note,
        "claims": claims,
    }

"""Payloads that misled other tools, from the data at hand: the right prices come out."""

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from recorded import parsed, shared

from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import Rate
from scrapers.registry import PROVIDERS

MODELS = {"reserved 1y": "reserved_1y", "reserved 3y": "reserved_3y", "monthly": "reserved_1m"}


def cases() -> list[dict[str, Any]]:
    text = shared("data/cases/listings.jsonl").read_text(encoding="utf-8")
    return [
        case for line in text.splitlines() if (case := json.loads(line))["provider"] in PROVIDERS
    ]


def test_prices_counts_and_memories_of_the_cases_at_hand():
    read = 0
    for case in cases():
        expected = case["expected"].get("offers")
        if not isinstance(expected, list):
            continue
        try:
            result = parsed(case["provider"], case["input"], **_rates(case["input"]))
        except Unreadable:
            continue  # a case about requests or runs, not about one document
        lines = [offer_line(offer) for offer in result.offers]
        for offer in expected:
            assert [line for line in lines if _is(line, offer)], (case["id"], offer, lines)
        if not expected:
            assert lines == [], case["id"]
        read += 1
    assert read >= 10


def _rates(said: object) -> dict[str, Rate]:
    """The rate that a case names beside its payload."""
    if not isinstance(said, dict) or "eur_usd" not in said:
        return {}
    return {"EUR": Rate(Decimal(str(said["eur_usd"])), date(2026, 11, 28))}


def _is(line: dict[str, Any], offer: dict[str, Any]) -> bool:
    """True where everything that the case says of an offer is what the line says."""
    model = "spot" if offer.get("spot") else MODELS.get(offer.get("purchase", ""), "on_demand")
    said = {
        "price": lambda v: _priced(line["usd_per_hour"], v),
        "gpu_count": lambda v: line["gpu_count"] == v,
        "gpu_mem_gb": lambda v: line["gpu_memory_gb"] == v,
        "ram_gb": lambda v: line["ram_gb"] == v,
        "country": lambda v: line["country"] == v,
        "instance": lambda v: line["instance_type"] == v,
        "region": lambda v: line["region"] == v,
        "price_native": lambda v: float(line["native_amount"]) == pytest.approx(v, abs=1e-4),
        "currency": lambda v: line["native_currency"] == v,
        "provider": lambda v: line["provider"] == v,
        "via": lambda v: line["via"] == v,
        "rdma": lambda v: (line["fabric"] == "infiniband") is v,
    }
    return line["price_model"] == model and all(
        test(offer[name]) for name, test in said.items() if name in offer
    )


def _priced(usd: str | None, expected: float | None) -> bool:
    """None: listed without a price."""
    return usd is None if expected is None else float(usd or 0) == pytest.approx(expected, abs=1e-4)

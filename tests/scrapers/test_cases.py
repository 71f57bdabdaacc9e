"""Payloads that misled other tools, from the data at hand: the right prices come out."""

import json
from typing import Any

import pytest
from recorded import parsed, shared

from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.registry import PROVIDERS

MODELS = {"reserved 1y": "reserved_1y", "reserved 3y": "reserved_3y"}


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
            result = parsed(case["provider"], case["input"])
        except Unreadable:
            continue  # a case about requests or runs, not about one document
        lines = [offer_line(offer) for offer in result.offers]
        for offer in expected:
            assert [line for line in lines if _is(line, offer)], (case["id"], offer, lines)
        if not expected:
            assert lines == [], case["id"]
        read += 1
    assert read >= 10


def _is(line: dict[str, Any], offer: dict[str, Any]) -> bool:
    """True where everything that the case says of an offer is what the line says."""
    model = "spot" if offer.get("spot") else MODELS.get(offer.get("purchase", ""), "on_demand")
    said = {
        "price": lambda v: float(line["usd_per_hour"] or 0) == pytest.approx(v, abs=1e-4),
        "gpu_count": lambda v: line["gpu_count"] == v,
        "gpu_mem_gb": lambda v: line["gpu_memory_gb"] == v,
        "ram_gb": lambda v: line["ram_gb"] == v,
        "country": lambda v: line["country"] == v,
        "instance": lambda v: line["instance_type"] == v,
        "region": lambda v: line["region"] == v,
        "rdma": lambda v: (line["fabric"] == "infiniband") is v,
    }
    return line["price_model"] == model and all(
        test(offer[name]) for name, test in said.items() if name in offer
    )

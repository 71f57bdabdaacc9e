"""A page of the API over HTTP, against gpuhunt's query over the same rows in its own process.

20,000 offers, 200 distinct filters that both can say, nothing cached. gpuhunt holds the rows as
Python objects and returns all that match; the service answers with the fifty cheapest, how many
rows an unknown kept out, and the count, from Postgres. Both must find equally many. Beside the
page: all rows that match, as lines.
"""

import random
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import orjson
import psutil

from bench.answers import Meter, granian, postgres
from bench.service import database, populate, web

QUERIES = 200
WHOLE = "page_size=all&format=ndjson&fields=provider,instance_type,region,usd_per_hour"


def main() -> None:
    """Print the figures; exit 1 where the service is the slower."""
    with database():
        populate()
        hunt, asked = catalog(), queries()
        with web() as connection:

            def get(query: str) -> bytes:
                connection.request("GET", f"/api/v1/offers/?{query}")
                return connection.getresponse().read()

            def page(said: dict[str, Any]) -> int:
                found: int = orjson.loads(get(ours(said) + "&count=true"))["count"]
                return found

            def whole(said: dict[str, Any]) -> int:
                return get(f"{ours(said)}&{WHOLE}").count(b"\n")

            def in_process(said: dict[str, Any]) -> int:
                return len(hunt.query(**theirs(said)))

            found = [(in_process(said), page(said), whole(said)) for said in asked]
            assert all(len(set(rows)) == 1 for rows in found), "not the same rows"
            here = Meter([], [psutil.Process()])
            served = Meter([postgres(), *granian()], [psutil.Process()])
            cpu_ms, wall_ms = measured("gpuhunt in process", in_process, asked, here)
            connection.close()  # it was idle for long, and is opened anew
            page_cpu_ms, page_wall_ms = measured("a page over HTTP", page, asked, served)
            measured("all rows over HTTP", whole, asked, served)
    print(f"{sum(rows for rows, *_ in found) / QUERIES:,.0f} rows match in the mean")
    print(f"page to gpuhunt: clock {page_wall_ms / wall_ms:.2f}, CPU {page_cpu_ms / cpu_ms:.2f}")
    if page_wall_ms >= wall_ms:
        raise SystemExit("gpuhunt is faster")


def measured(
    name: str, ask: Callable[[dict[str, Any]], int], asked: list[dict[str, Any]], meter: Meter
) -> tuple[float, float]:
    """CPU time and time by the clock of one query, client and server together. [ms]"""
    began, before = time.perf_counter(), meter.spent_ms()
    for said in asked:
        ask(said)
    cpu_ms = (meter.spent_ms() - before) / len(asked)
    wall_ms = 1000 * (time.perf_counter() - began) / len(asked)
    print(f"{name:20} {wall_ms:6.2f} ms by the clock, {cpu_ms:6.2f} ms of CPU")
    return cpu_ms, wall_ms


def queries() -> list[dict[str, Any]]:
    """200 distinct filters, by the names of the API."""
    dice = random.Random(11)
    filters: dict[str, list[Any]] = {
        "gpu": ["h100-sxm5-80gb", "b200-sxm6-180gb", "a100-sxm4-80gb", "l40s-pcie-48gb"],
        "gpu_count_min": [1, 2, 4, 8],
        "gpu_memory_gb_min": [24, 48, 80, 100],
        "total_gpu_memory_gb_min": [100, 320, 640],
        "usd_per_hour_max": [n / 2 for n in range(4, 120)],
        "price_model": ["on_demand", "spot"],
    }
    found: dict[str, dict[str, Any]] = {}
    while len(found) < QUERIES:
        names = dice.sample(sorted(filters), dice.randint(2, 4))
        said = {name: dice.choice(filters[name]) for name in names}
        found[ours(said)] = said
    return list(found.values())


def ours(said: dict[str, Any]) -> str:
    """A filter as a query string of the API."""
    return urlencode({"rows": "region", **said})


def theirs(said: dict[str, Any]) -> dict[str, Any]:
    """The same in gpuhunt's words."""
    words = {
        "gpu": "gpu_name",
        "gpu_count_min": "min_gpu_count",
        "gpu_memory_gb_min": "min_gpu_memory",
        "total_gpu_memory_gb_min": "min_total_gpu_memory",
        "usd_per_hour_max": "max_price",
    }
    found = {words[name]: value for name, value in said.items() if name in words}
    if "price_model" in said:
        found["spot"] = said["price_model"] == "spot"
    return found


def catalog() -> Any:
    """gpuhunt with the offers of the database in memory, under the providers that it knows."""
    from django.db import connection
    from gpuhunt import Catalog, CatalogItem
    from gpuhunt._internal.catalog import OFFLINE_PROVIDERS, ProviderCatalog

    hunt = Catalog(auto_reload=False)
    items: dict[str, list[CatalogItem]] = {name: [] for name in OFFLINE_PROVIDERS}
    with connection.cursor() as cursor:
        cursor.execute(
            "select instance_type, region, usd_per_hour::float, gpu_count, gpu, "
            "gpu_memory_gb::float, price_model = 'spot', gpu_vendor, instance_type_id "
            "from offer_listing order by usd_per_hour"
        )
        for name, region, price, count, gpu, memory, spot, vendor, number in cursor:
            provider = OFFLINE_PROVIDERS[number % len(OFFLINE_PROVIDERS)]
            items[provider].append(
                CatalogItem(
                    provider, name, region, price, 8, 64.0, count, gpu, memory, spot, None, vendor
                )
            )
    hunt.catalog = {name: ProviderCatalog("", rows) for name, rows in items.items()}
    hunt.loaded_at = time.monotonic()
    return hunt

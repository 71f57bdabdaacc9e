"""A filtered first page of `GET /api/v1/offers/`, against the same SQL run raw through psycopg.

20,000 offers, 2 million price rows, 200 distinct queries, nothing cached. The baseline asks
Postgres for the same rows and counts by SQL alone (`by_sql`), in one psycopg connection, and
fetches them; the service answers over HTTP, through granian, Django and DRF, on a kept-alive
connection, and finds them in the columns that it keeps.
"""

import random
import statistics
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from bench.service import database, populate, web

QUERIES, LARGEST_RATIO = 200, 2.0


def queries() -> list[str]:
    """200 distinct query strings, as buyers ask: none that contradicts itself."""
    from django.http import QueryDict

    from catalog.filters import parse
    from catalog.query import BadQuery

    dice = random.Random(7)
    filters: list[tuple[str, list[str]]] = [
        ("nvlink", ["true", "false"]),
        ("infiniband", ["true", "false"]),
        ("fabric", ["infiniband", "roce", "infiniband,roce", "ethernet"]),
        ("gpu", ["h100-sxm5-80gb", "b200-sxm6-180gb", "a100-sxm4-80gb,h100-sxm5-80gb"]),
        ("gpu_count_min", ["1", "2", "4", "8"]),
        ("fabric_gbits_per_s_per_gpu_min", ["100", "200", "400"]),
        ("usd_per_gpu_hour_max", [f"{n / 4:g}" for n in range(4, 40)]),
        ("continent", ["europe", "asia", "north-america"]),
        ("price_model", ["on_demand", "spot"]),
        ("gpudirect_rdma", ["yes", "no"]),
        ("rows", ["type", "region"]),
    ]
    found: set[str] = set()
    while len(found) < QUERIES:
        chosen = dice.sample(filters, dice.randint(2, 5))
        query = urlencode({name: dice.choice(values) for name, values in chosen})
        with suppress(BadQuery):
            parse(QueryDict(query))
            found.add(query)
    return sorted(found)


def statements(asked: list[str]) -> dict[str, list[tuple[str, list[Any]]]]:
    """The SQL that answers each query: its rows, and how many an unknown keeps out."""
    from django.http import QueryDict

    from bench import by_sql
    from catalog.filters import parse

    read = {text: parse(QueryDict(text)) for text in asked}
    return {text: [by_sql.page(query), by_sql.counts(query)] for text, query in read.items()}


def main() -> None:
    """Print the ratios; exit 1 above the largest that is allowed."""
    import psycopg
    from django.conf import settings

    with database():
        began = time.perf_counter()
        populate()
        print(
            f"catalog: 20,000 offers, 2,000,000 prices, made in {time.perf_counter() - began:.0f} s"
        )
        asked = queries()
        sent = statements(asked)
        from config.home import given

        with psycopg.connect(given()["DATABASE_URL"], autocommit=True) as raw, web() as connection:
            raw.execute("set statement_timeout = 0")

            def by_hand(query: str) -> None:
                for sql, values in sent[query]:
                    raw.execute(sql, values).fetchall()  # type: ignore[call-overload]

            def by_http(query: str) -> None:
                connection.request("GET", f"/api/v1/offers/?{query}")
                connection.getresponse().read()

            report(asked, by_hand, by_http)
    assert settings.configured


def report(
    asked: list[str], baseline: Callable[[str], None], service: Callable[[str], None]
) -> None:
    """Both ways for each query, turn about, three rounds; the least time of each counts."""
    for query in asked[:20]:  # warm both
        baseline(query)
        service(query)
    pairs = [(best(baseline, query), best(service, query)) for query in asked]
    raw, http = (1000 * statistics.mean(side) for side in zip(*pairs, strict=True))
    ratios = sorted(h / r for r, h in pairs)
    print(f"raw psycopg {raw:.2f} ms, over HTTP {http:.2f} ms a query (means of {len(asked)})")
    print(
        f"ratio of the means {http / raw:.2f}; of single queries: median "
        f"{statistics.median(ratios):.2f}, p90 {ratios[len(ratios) * 9 // 10]:.2f} "
        f"(goal: at most {LARGEST_RATIO})"
    )
    if http / raw > LARGEST_RATIO:
        raise SystemExit("the API is slower than the goal")


def best(run: Callable[[str], None], query: str) -> float:
    """The least of three times. [s]"""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        run(query)
        times.append(time.perf_counter() - began)
    return min(times)

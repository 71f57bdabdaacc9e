"""How each figure grows, from 20,000 offers to 1 million: `make bench ARGS=growth`.

    python -m bench.growth [OFFERS PRICES_PER_OFFER]     one size alone

Of every size a catalog of its own in a temporary folder (the largest takes 6 GB, and a quarter of
an hour), and of each answer the CPU time of web and Postgres together, as in `bench.answers`: the
mean over the same distinct queries, nothing cached.

Of 20,000 offers with 2 million prices, on 2026-11-30, on two cores of a third of the usual speed:

    CPU time [ms]
    API page                                     9
    API page as of a time of its own           300
    API page with three facets                  12
    HTML page with eight facets                 22
    prices of a GPU, newest first               21
    API page after a write                     330
    304                                          4

A page is found in columns in memory, and grows by little (25 ms at 200,000 offers); what reads the
listing whole grows with it: as of a time, and the first page after a write (3 s at 200,000).
The larger sizes were last measured whole when lists were still made in SQL: a page then took 1.1 s
at 1 million offers.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from bench.answers import A_WRITE, FACETS, Meter, granian, postgres
from bench.api import queries
from bench.service import database, populate, web

SIZES = ((20_000, 100), (100_000, 20), (1_000_000, 20))  # offers, prices of each
QUERIES, WARM = 20, 2
OFFERS = "/api/v1/offers/"
PRICES = "/api/v1/prices/?gpu=h100-sxm5-80gb&sort=-valid_from&page_size=50"
A_WEEK_AGO = datetime.now(UTC) - timedelta(days=7)
DOORS: Mapping[str, str] = {
    "API page": f"{OFFERS}?{{}}",
    "API page as of a time of its own": f"{OFFERS}?{{}}&as_of={{}}",
    "API page with three facets": f"{OFFERS}?{{}}&{FACETS}",
    "HTML page with eight facets": "/?{}",
    "prices of a GPU, newest first": PRICES,
}


def main() -> None:
    """Measure each size in a process of its own, as Django reads its address once; print all."""
    found = {}
    for offers, periods in SIZES:
        command = [sys.executable, "-m", "bench.growth", str(offers), str(periods)]
        said = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found[f"{offers:,} / {offers * periods:,}"] = json.loads(said)
        print(f"measured: {offers:,} offers, {offers * periods:,} prices", flush=True)
    print(table(found))


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """A line a figure: ms at each size, and how many times the first."""
    first = next(iter(found.values()))
    lines = [f"{'CPU time [ms], offers / prices':<34}" + "".join(f"{size:>24}" for size in found)]
    for name, least in first.items():
        cells = (f"{each[name]:,.1f} ({each[name] / least:.1f}×)" for each in found.values())
        lines.append(f"{name:<34}" + "".join(f"{cell:>24}" for cell in cells))
    return "\n".join(lines)


def figures() -> dict[str, float]:
    """CPU time of each answer over the catalog that stands. [ms]"""
    import psycopg

    from config.home import given

    asked = queries()[:: 200 // QUERIES]
    found = {}
    with web() as connection:
        served = Meter([postgres(), *granian()], [])

        def get(address: str, **headers: str) -> str:
            connection.request("GET", address, headers=headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status in (200, 304), f"{answer.status} of {address}"
            return answer.headers.get("ETag", "")

        def ask(address: str) -> None:
            tags[address] = get(address)

        def unchanged(address: str) -> None:
            get(address, **{"If-None-Match": tags[address]})

        tags: dict[str, str] = {}
        for name, address in DOORS.items():
            each = [address.format(query, as_of(n)) for n, query in enumerate(asked)]
            found[name] = served.per_query(each, ask, WARM)
        pages = [DOORS["API page"].format(query) for query in asked]
        with psycopg.connect(given()["DATABASE_URL"], autocommit=True) as raw:

            def after_a_write(address: str) -> None:
                raw.execute(A_WRITE)
                get(address)

            found["API page after a write"] = served.per_query(pages[:5], after_a_write, 1)
        found["304"] = served.per_query(pages, unchanged, WARM)
    return found


def as_of(n: int) -> str:
    """A time that nobody else asks for."""
    return f"{A_WEEK_AGO - timedelta(minutes=n):%Y-%m-%dT%H:%M:00Z}"


if __name__ == "__main__":
    if sys.argv[1:]:
        size = [int(word) for word in sys.argv[1:3]]
        with database():
            populate(*size)
            print(json.dumps(figures()))
    else:
        main()

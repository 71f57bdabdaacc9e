"""What else the API answers: in CPU time, web and Postgres together.

    python -m bench.answers [OFFERS PRICES_PER_OFFER]

For each of 200 distinct queries, uncached: a page against raw SQL that says the same; the 304
of whoever has it already; the same page with three facets; the page of a browser; the first page
after a write, for which the columns are read anew; then the whole list as NDJSON, with the memory
of the web process before, at its peak, and its time to the first byte. CPU time is counted and not
the clock, for others may be at work on the machine: the raw baseline is Postgres and the psycopg
client, the service is Postgres, granian and Django; the HTTP client is in neither.
"""

import http.client
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bench.api import queries, statements
from bench.service import database, populate, web

PAGE_RATIO, UNCHANGED_RATIO, FACETS_MS, HTML_MS = 1.5, 0.4, 5.0, 8.0  # the goals, at most
FACETS = "facets=gpu,fabric,provider"
# What triggers do where the listing is written to.
A_WRITE = "update catalog_catalogversion set revision = gen_random_uuid()"


@dataclass
class Meter:
    """Processes, with what they have started; of `alone`, that process and nothing it started."""

    trees: list[psutil.Process]
    alone: list[psutil.Process]

    def spent_ms(self) -> float:
        """CPU time since they began, and of what they started and has ended. [ms]"""
        times = [process.cpu_times() for process in self._all()]
        ended = [process.cpu_times() for process in self.trees]
        spent = sum(t.user + t.system for t in times)
        return 1000 * (spent + sum(t.children_user + t.children_system for t in ended))

    def rss_mb(self) -> float:
        """Resident memory of all together. [MB]"""
        return sum(process.memory_info().rss for process in self._all()) / 1e6

    def _all(self) -> Iterator[psutil.Process]:
        yield from self.alone
        for process in self.trees:
            yield process
            yield from process.children(recursive=True)

    def per_query(self, asked: list[str], ask: Callable[[str], None], warm: int = 20) -> float:
        """CPU time of one, when the first few were asked before. [ms]"""
        for query in asked[:warm]:
            ask(query)
        before = self.spent_ms()
        for query in asked:
            ask(query)
        return (self.spent_ms() - before) / len(asked)


def main() -> None:
    """Print the figures; exit 1 above the largest that is allowed."""
    offers, periods = (int(word) for word in (sys.argv[1:] or ["20000", "100"]))
    with database():
        began = time.perf_counter()
        populate(offers, periods)
        made = time.perf_counter() - began
        print(f"{offers:,} offers, {offers * periods:,} prices, made in {made:.0f} s")
        print("load of the machine:", *(f"{load:.1f}" for load in psutil.getloadavg()))
        asked = queries()
        failed = measure(asked, statements(asked))
    if failed:
        raise SystemExit(f"beyond the goal: {', '.join(failed)}")


def measure(asked: list[str], sent: dict[str, list[tuple[str, list[Any]]]]) -> list[str]:
    """Print each figure; the names of those beyond their goal."""
    import psycopg

    from config.home import given

    url = given()["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as raw, web() as connection:
        raw.execute("set statement_timeout = 0")
        served = Meter([postgres(), *granian()], [])
        by_hand = Meter([postgres()], [psutil.Process()])
        tags: dict[str, str] = {}

        def run(query: str) -> None:
            for sql, values in sent[query]:
                raw.execute(sql, values).fetchall()  # type: ignore[call-overload]

        def page(query: str, more: str = "", **headers: str) -> None:
            connection.request("GET", f"/api/v1/offers/?{query}{more}", headers=headers)
            answer = connection.getresponse()
            tags[query] = answer.headers.get("ETag", "")
            answer.read()

        def html(query: str) -> None:
            connection.request("GET", f"/?{query}", headers={"Accept-Encoding": "gzip"})
            connection.getresponse().read()

        sql_ms = by_hand.per_query(asked, run)
        connection.close()  # it was idle for long, and is opened anew
        page_ms = served.per_query(asked, page)
        known = dict(tags)
        unchanged_ms = served.per_query(
            asked, lambda query: page(query, **{"If-None-Match": known[query]})
        )
        faceted_ms = served.per_query(asked, lambda query: page(query, f"&{FACETS}"))
        print(f"raw SQL {sql_ms:.2f} ms, a page {page_ms:.2f} ms: ratio {page_ms / sql_ms:.2f}")
        print(f"304 {unchanged_ms:.2f} ms: {unchanged_ms / page_ms:.2f} of a page")
        print(f"with {FACETS} {faceted_ms:.2f} ms: {faceted_ms - page_ms:.2f} ms more")
        html_ms = served.per_query(asked, html)
        print(f"as HTML, with eight facets {html_ms:.2f} ms")

        def after_a_write(query: str) -> None:
            raw.execute(A_WRITE)
            page(query)

        written_ms = served.per_query(asked[:20], after_a_write, warm=2)
        print(f"the first page after something was written {written_ms:.0f} ms")
        whole(connection, Meter(list(granian()), []))
    goals = {
        "page": page_ms / sql_ms > PAGE_RATIO,
        "304": unchanged_ms / page_ms > UNCHANGED_RATIO,
        "facets": faceted_ms - page_ms > FACETS_MS,
        "HTML": html_ms > HTML_MS,
    }
    return [name for name, beyond in goals.items() if beyond]


def postgres() -> psutil.Process:
    """The embedded Postgres of this bench."""
    note = Path(os.environ["FABRICSCOUT_HOME"]) / "postgres" / "postmaster.pid"
    return psutil.Process(int(note.read_text().split()[0]))


def granian() -> Iterator[psutil.Process]:
    """The web server that this process started."""
    for child in psutil.Process().children():
        if "granian" in " ".join(child.cmdline()):
            yield child


def whole(connection: http.client.HTTPConnection, web_server: Meter) -> None:
    """The whole list as lines: rows, time, and what memory it takes."""
    before = web_server.rss_mb()
    with peak(web_server.rss_mb) as highest:
        began = time.perf_counter()
        connection.request("GET", "/api/v1/offers/?page_size=all&format=ndjson&rows=region")
        answer = connection.getresponse()
        first = time.perf_counter() - began
        rows = length = 0
        while block := answer.read(1 << 16):
            rows += block.count(b"\n")
            length += len(block)
        took = time.perf_counter() - began
    print(
        f"all as NDJSON: {answer.status}, {rows:,} rows, {length / 1e6:.0f} MB in {took:.1f} s, "
        f"the first byte after {first:.1f} s; web server {before:.0f} MB before, "
        f"{max(highest):.0f} MB at most"
    )


@contextmanager
def peak(read: Callable[[], float]) -> Iterator[list[float]]:
    """What is read again and again until the block ends."""
    seen, over = [read()], threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            seen.append(read())

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        over.set()
        watcher.join()


if __name__ == "__main__":
    main()

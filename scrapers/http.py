"""One polite client: it names itself, keeps its pace, waits when told to, and knows when to stop.

It goes to public addresses only, by https only, and checks at the moment of connecting: the name
is resolved, each address judged, and the connection made to that very address, with the name kept
for TLS and Host. So neither a redirect nor a changing DNS answer leads inside. Proxies from the
environment are not used.

A test lets a provider answer from loopback with `Http(stand_ins={origin: origin})`; nothing else
on loopback can be reached then. `connections.stand_ins_from`
reads the same from FABRICSCOUT_STAND_INS.
"""

import json
import random
import socket
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

import httpx

from catalog.connections import (
    BROKEN,
    CONNECT_SECONDS,
    READ_SECONDS,
    Door,
    Refused,
    StandIns,
    TooLate,
    Transport,
    origin,
    retry_after,
)
from scrapers.listing import Document

AGENT = "FabricScout/0.1 (reads public price lists a few times a day)"
DEADLINE_SECONDS = 120.0
BUDGET_SECONDS = 480.0
TRIES = 5
FIRST_WAIT, LONGEST_WAIT = 1.0, 20.0  # [s] between tries, where the server names none
SIZE = 64 * 2**20  # [B] of a body, decompressed
STEP = 2**18  # [B] inflated at once
HOPS = 5
PACE_SECONDS = 1.0
RETRIED = {408, 429, 500, 502, 503, 504}
REDIRECTS = {301, 302, 303, 307, 308}
KEEPS_METHOD = {307, 308}


Keep = Callable[[Iterator[bytes]], bytes]


class FetchFailed(Exception):
    """An answer that could not be had, in one sentence."""


class TooLarge(FetchFailed):
    """More than SIZE bytes: stopped while it streamed."""


class TryLater(FetchFailed):
    """The server asks to come back: the scheduler waits, not the worker. `after` [s]."""

    def __init__(self, reason: str, after: float) -> None:
        super().__init__(reason)
        self.after = after


class _Again(Exception):
    """This try failed in a way that another may not; `wait` [s] is the server's own wish."""

    def __init__(self, reason: str, wait: float | None = None, *, busy: bool = False) -> None:
        super().__init__(reason)
        self.wait = wait
        self.busy = busy


class Http:
    """A client for one scrape. Use as a context, so that its connections end with it.

    Parameters
    ----------
    stand_ins
        Origins that answer in the place of others: the only way to loopback.
    deadline
        For one document, its tries, waits and redirects together. [s]
    budget
        For all documents of the scrape together, from the making of the client. [s]
    pace
        Shortest time between two requests to one host. [s]
    size
        Largest body, decompressed. [B]
    sleep
        What waits; a test may count instead.
    """

    def __init__(
        self,
        *,
        stand_ins: Mapping[str, str] | None = None,
        deadline: float = DEADLINE_SECONDS,
        budget: float = BUDGET_SECONDS,
        pace: float = PACE_SECONDS,
        size: int = SIZE,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._stand_ins = StandIns(stand_ins or {})
        self._door = Door(self._stand_ins.doors)
        self._client = httpx.Client(
            transport=Transport(self._door),
            trust_env=False,
            headers={"User-Agent": AGENT, "Accept-Encoding": "gzip"},
            timeout=httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        )
        self._deadline, self._pace, self._size, self._sleep = deadline, pace, size, sleep
        self._ends = time.monotonic() + budget
        self._next_at: dict[str, float] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(
        self, url: str, headers: Mapping[str, str] | None = None, keep: Keep = b"".join
    ) -> Document:
        """The answer to a GET.

        Parameters
        ----------
        keep
            What of a long answer is kept, from its pieces as they come: the rest is never held.

        Raises
        ------
        FetchFailed, TooLarge, TryLater
        """
        return self._fetch("GET", url, headers or {}, None, keep)

    def post_json(
        self, url: str, payload: object, headers: Mapping[str, str] | None = None
    ) -> Document:
        """The answer to a POST of `payload` as JSON."""
        body = json.dumps(payload, default=str).encode()
        return self._fetch(
            "POST", url, {"Content-Type": "application/json"} | dict(headers or {}), body
        )

    def _fetch(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        keep: Keep = b"".join,
    ) -> Document:
        """Up to TRIES tries within the deadline, waiting longer each time, or as long as asked."""
        ends = min(time.monotonic() + self._deadline, self._ends)
        self._door.ends = ends
        for attempt in range(1, TRIES + 1):
            try:
                return self._follow(method, httpx.URL(url), dict(headers), body, keep)
            except _Again as failure:
                wait = _back_off(attempt) if failure.wait is None else failure.wait
                if failure.wait is not None and wait > min(LONGEST_WAIT, ends - time.monotonic()):
                    raise TryLater(f"{failure}; it asks to wait {wait:.0f} s", wait) from None
                if attempt == TRIES and failure.busy:
                    raise TryLater(f"{failure}, {TRIES} times", max(wait, 60.0)) from None
                if attempt == TRIES or time.monotonic() + wait >= ends:
                    raise FetchFailed(f"{failure}, {attempt} times") from None
                self._sleep(wait)
        raise AssertionError("unreachable")

    def _follow(
        self, method: str, url: httpx.URL, headers: dict[str, str], body: bytes | None, keep: Keep
    ) -> Document:
        """One try, over at most HOPS redirects; the caller's headers go to the first host only."""
        asked = url
        for _ in range(HOPS + 1):
            answer = self._ask(method, url, headers, body, keep)
            if isinstance(answer, bytes):
                return Document(str(asked), answer, datetime.now(UTC))
            status, target = answer.status_code, _target(url, answer)
            if method == "POST" and status not in KEEPS_METHOD:
                raise FetchFailed(f"{url.host} redirects a POST ({status})")
            if origin(target) != origin(url):
                headers = {k: v for k, v in headers.items() if k.lower() == "content-type"}
            url = target
        raise FetchFailed(f"{asked.host} redirects more than {HOPS} times")

    def _ask(
        self,
        method: str,
        url: httpx.URL,
        headers: Mapping[str, str],
        body: bytes | None,
        keep: Keep,
    ) -> bytes | httpx.Response:
        """The body of a 200, or the answer itself where it redirects."""
        self._keep_pace(url.host)
        request = self._client.build_request(
            method, self._address(url), headers=headers, content=body
        )
        try:
            answer = self._client.send(request, stream=True, follow_redirects=False)
            try:
                if answer.status_code in REDIRECTS:
                    return answer
                _check_status(url, answer)
                return keep(_bounded(answer, self._size, self._door))
            finally:
                answer.close()
                self._client.cookies.clear()
        except Refused as refusal:
            raise FetchFailed(f"{url.host}: {refusal}") from None
        except TooLate:
            raise self._too_late(url) from None
        except (httpx.HTTPError, *BROKEN) as problem:
            if time.monotonic() >= self._door.ends:
                raise self._too_late(url) from None
            raise _Again(f"{url.host}: {_said(problem)}") from None
        except httpx.InvalidURL as problem:
            raise FetchFailed(f"not an address: {problem}") from None

    def _too_late(self, url: httpx.URL) -> FetchFailed:
        if time.monotonic() >= self._ends:
            return FetchFailed(f"{url.host}: all its pages take longer than may be")
        return FetchFailed(f"{url.host} takes longer than {self._deadline:.0f} s")

    def _address(self, url: httpx.URL) -> httpx.URL:
        if stand_in := self._stand_ins.address(url):
            return stand_in
        if url.scheme != "https" or url.userinfo:
            raise FetchFailed(f"{url.scheme}://{url.host} is not an https address")
        return url

    def _keep_pace(self, host: str) -> None:
        now = time.monotonic()
        wait = self._next_at.get(host, now) - now
        if wait > 0:
            self._sleep(wait)
        self._next_at[host] = max(now, self._next_at.get(host, now)) + self._pace


def _back_off(attempt: int) -> float:
    """Twice as long each time, ± half, so that many clients do not come back together. [s]"""
    jitter: float = random.uniform(0.5, 1.5)  # noqa: S311
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (attempt - 1)) * jitter


def _target(url: httpx.URL, answer: httpx.Response) -> httpx.URL:
    try:
        target = url.join(answer.headers.get("Location", ""))
    except httpx.InvalidURL:
        raise FetchFailed(f"{url.host} redirects to no address") from None
    if target.scheme != url.scheme or target.userinfo:
        raise FetchFailed(f"{url.host} redirects to {target.scheme}://{target.host}")
    return target


def _check_status(url: httpx.URL, answer: httpx.Response) -> None:
    status = answer.status_code
    if status == httpx.codes.OK:
        return
    reason = f"{url.host} answers {status}"
    if status not in RETRIED:
        raise FetchFailed(reason)
    asked = answer.headers.get("Retry-After") if status in (429, 503) else None
    raise _Again(reason, retry_after(asked), busy=status == httpx.codes.TOO_MANY_REQUESTS)


# --- A body, bounded --------------------------------------------------------------------------


def _bounded(answer: httpx.Response, size: int, door: Door) -> Iterator[bytes]:
    """The decompressed body, never more than `size` of it and never STEP at once."""
    coding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "", "gzip", "x-gzip"):
        raise FetchFailed(f"the answer is coded as {coding[:20]}, which was not asked for")
    raw = answer.iter_raw(STEP)
    got = 0
    for piece in _inflated(raw) if "gzip" in coding else raw:
        door.check()
        got += len(piece)
        if got > size:
            raise TooLarge(f"the answer is larger than {size // 2**20} MB")
        yield piece


LONGEST_LINE = 2**16  # [B]


def counted(
    pages: Iterable[Document], count: Callable[[Document], tuple[int, int]]
) -> Iterator[Document]:
    """Pages until the rows they have are the total they name; `count` reads both off a page.

    Raises
    ------
    FetchFailed
        They end with fewer or more.
    """
    read = total = 0
    for document in pages:
        yield document
        rows, total = count(document)
        read += rows
        if read >= total or not rows:
            break
    if read != total:
        raise FetchFailed(f"the list has {total} rows by its own count, and its pages {read}")


def lines_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a body that comes in pieces, with their ends; a last one without stands too.

    Raises
    ------
    TooLarge
        A line does not end.
    """
    rest = b""
    for piece in pieces:
        lines = (rest + piece).splitlines(keepends=True)
        rest = lines.pop() if lines and not lines[-1].endswith(b"\n") else b""
        if len(rest) > LONGEST_LINE:
            raise TooLarge(f"a line is longer than {LONGEST_LINE // 2**10} KB")
        yield from lines
    if rest:
        yield rest


def _inflated(raw: Iterable[bytes]) -> Iterator[bytes]:
    unzip = zlib.decompressobj(wbits=31)
    for piece in raw:
        rest = piece
        while rest and not unzip.eof:
            try:
                yield unzip.decompress(rest, STEP)
            except zlib.error:
                raise _Again("the answer is broken gzip") from None
            rest = unzip.unconsumed_tail
    if not unzip.eof:
        raise _Again("the answer is gzip cut short")


def _said(problem: Exception) -> str:
    if isinstance(problem, socket.gaierror):
        return "the host's name could not be looked up"
    name = type(problem).__name__
    return f"{name}: {str(problem)[:120]}" if str(problem) else name

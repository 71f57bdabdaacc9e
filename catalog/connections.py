"""The way out: connections to public addresses only, none of which outlives the deadline.

httpcore asks a `NetworkBackend` for each connection, so the address that was judged is the address
that is used, and TLS and Host keep the name. A `Door` also ends every wait at the deadline, which
socket timeouts alone do not (one byte a second keeps them content), nor does the resolver.
"""

import email.utils
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache

import httpcore
import httpx

from catalog.addresses import is_public

CONNECT_SECONDS = 10.0
READ_SECONDS = 20.0

# Names that do not resolve, sockets that break, and what httpcore makes of them.
BROKEN = (
    OSError,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.TimeoutException,
    httpcore.UnsupportedProtocol,
)


class Refused(Exception):
    """An address that must not be contacted."""


class TooLate(Exception):
    """The deadline has passed."""


class TooLong(Exception):
    """More bytes than may be came in."""


# --- Where to ---------------------------------------------------------------------------------


class StandIns:
    """Origins that answer in the place of others, for tests: the only way to loopback."""

    def __init__(self, pairs: Mapping[str, str]) -> None:
        self._of = {origin(httpx.URL(a)): httpx.URL(b) for a, b in pairs.items()}
        self.doors = {(url.host, port(url)) for url in self._of.values()}

    def address(self, url: httpx.URL) -> httpx.URL | None:
        """The same address at the stand-in of its origin, or None: it has none."""
        other = self._of.get(origin(url))
        return other and url.copy_with(scheme=other.scheme, host=other.host, port=other.port)


def stand_ins_from(environ: Mapping[str, str]) -> dict[str, str]:
    """FABRICSCOUT_STAND_INS, for tests only: `https://console.vast.ai=http://127.0.0.1:8001,...`."""
    pairs = environ.get("FABRICSCOUT_STAND_INS", "").split(",")
    return dict(pair.strip().split("=", 1) for pair in pairs if "=" in pair)


def port(url: httpx.URL) -> int:
    """The port, said or meant."""
    said = url.port
    return {"http": 80, "https": 443}.get(url.scheme, 0) if said is None else said


def origin(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port."""
    return (url.scheme, url.host, port(url))


def looked_up(host: str, port: int, seconds: float) -> list[str]:
    """Every address of a name, in the resolver's order. It has no deadline; we have.

    Raises
    ------
    OSError
        There is no such name, or nobody says in time.
    """
    said: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as problem:
            said.put(problem)
        except UnicodeError:  # a label that is empty, or longer than 63
            said.put(socket.gaierror(socket.EAI_NONAME, "not a name"))
        else:
            said.put(list(dict.fromkeys(str(entry[4][0]) for entry in found)))

    threading.Thread(target=ask, name=f"resolve {host}", daemon=True).start()
    try:
        answer = said.get(timeout=seconds)
    except queue.Empty:
        raise socket.gaierror(socket.EAI_AGAIN, "nobody answers in time") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


# --- Connections ------------------------------------------------------------------------------


class Door(httpcore.NetworkBackend):
    """Opens connections to public addresses and to stand-ins.

    Parameters
    ----------
    stand_ins
        Hosts and ports that may be on loopback.
    most
        Of all that comes in through it, heads and bodies. [B]
    """

    def __init__(self, stand_ins: set[tuple[str, int]], most: int | None = None) -> None:
        self._stand_ins = stand_ins
        self._opens = httpcore.SyncBackend()
        self._left = most
        self.ends = 0.0

    def check(self) -> float:
        """Seconds left; raises when there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TooLate
        return left

    def count(self, piece: bytes) -> bytes:
        """The piece that came in; raises when it is one too many."""
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise TooLong
        return piece

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        problem: Exception | None = None
        for address in self._addresses(host, port):
            try:
                stream = self._opens.connect_tcp(
                    address, port, min(timeout or CONNECT_SECONDS, self.check()), local_address
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as failure:
                problem = failure
            else:
                return _Timed(stream, self)
        raise problem or httpcore.ConnectError(f"{host} has no address")

    def _addresses(self, host: str, port: int) -> list[str]:
        """At most three addresses of a name; none of them, where one is not public."""
        if (host, port) in self._stand_ins:
            return [host]
        addresses = looked_up(host, port, self.check())
        if not all(is_public(address) for address in addresses):
            raise Refused("its address is not public")
        return addresses[:3]

    def connect_unix_socket(
        self,
        path: str,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore.NetworkStream:
        raise Refused("a socket of this machine")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Timed(httpcore.NetworkStream):
    """A connection whose every wait ends at the deadline: one byte a second does not stretch it."""

    def __init__(self, stream: httpcore.NetworkStream, door: Door) -> None:
        self._stream, self._door = stream, door

    def _wait(self, timeout: float | None) -> float:
        return min(READ_SECONDS if timeout is None else timeout, self._door.check())

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._door.count(self._stream.read(max_bytes, self._wait(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._wait(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        inner = self._stream.start_tls(ssl_context, server_hostname, self._wait(timeout))
        return _Timed(inner, self._door)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


@lru_cache(maxsize=1)
def trusted() -> ssl.SSLContext:
    """Whose certificates are believed; reading them takes 20 ms."""
    return httpx.create_ssl_context(trust_env=False)


class Transport(httpx.BaseTransport):
    """httpx over a pool that opens its connections through the door."""

    def __init__(self, door: Door) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=trusted(),
            max_connections=4,
            keepalive_expiry=5.0,
            network_backend=door,
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        url = request.url
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Stream(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        self._pool.close()


class _Stream(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


# --- When to come again ----------------------------------------------------------------------

FLOOR, CAP = 1.0, 3600.0  # [s] of a Retry-After


def retry_after(asked: str | None, now: datetime | None = None, cap: float = CAP) -> float | None:
    """Seconds to wait by a Retry-After header, between FLOOR and `cap`; None: it says nothing.

    RFC 9110, 10.2.3: seconds, or a date. A negative number or a word is no answer.
    """
    if asked is None:
        return None
    asked = asked.strip()
    if asked.isascii() and asked.isdigit():
        return min(cap, max(FLOOR, float(asked[:9])))
    try:
        when = email.utils.parsedate_to_datetime(asked)
    except (ValueError, IndexError):
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return min(cap, max(FLOOR, (when - (now or datetime.now(UTC))).total_seconds()))

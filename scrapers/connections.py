"""The way out: connections to public addresses only, none of which outlives the deadline.

httpcore asks a `NetworkBackend` for each connection, so the address that was judged is the address
that is used, and TLS and Host keep the name. A `Door` also ends every wait at the deadline, which
socket timeouts alone do not (one byte a second keeps them content).
"""

import socket
import ssl
import time
from collections.abc import Iterable, Iterator

import httpcore
import httpx

from scrapers.addresses import is_public

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


class Door(httpcore.NetworkBackend):
    """Opens connections to public addresses and to stand-ins."""

    def __init__(self, stand_ins: set[tuple[str, int]]) -> None:
        self._stand_ins = stand_ins
        self._opens = httpcore.SyncBackend()
        self.ends = 0.0

    def check(self) -> float:
        """Seconds left; raises when there are none."""
        left = self.ends - time.monotonic()
        if left <= 0:
            raise TooLate
        return left

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
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
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
        return self._stream.read(max_bytes, self._wait(timeout))

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


class Transport(httpx.BaseTransport):
    """httpx over a pool that opens its connections through the door."""

    def __init__(self, door: Door) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
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

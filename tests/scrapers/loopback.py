"""A provider on loopback: a real HTTP server that answers by a script.

    with serve([Answer.json({"offers": []})]) as provider:
        http = provider.http("https://console.vast.ai")
        documents = list(vast.fetch(http))

Each request takes the next answer; the last one stays. A mapping answers by path, else 404.
`provider.requests` has what was asked.
A process of its own reaches it with FABRICSCOUT_STAND_INS="https://console.vast.ai=<provider.url>".
"""

import gzip
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

from scrapers.http import Http


@dataclass(frozen=True)
class Answer:
    """One answer of the script.

    `pieces` are sent one by one, `pause` seconds apart, in the place of `body`; `length` is the
    Content-Length to declare where it is not the body's own.
    """

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    pause: float = 0.0
    length: int | None = None

    @classmethod
    def json(cls, value: object, status: int = 200, **headers: str) -> Self:
        return cls(json.dumps(value).encode(), status, headers)

    @classmethod
    def zipped(cls, body: bytes) -> Self:
        return cls(gzip.compress(body), headers={"Content-Encoding": "gzip"})


@dataclass
class Request:
    """What was asked."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass
class Served:
    """The provider while it is up."""

    url: str
    requests: list[Request]
    waits: list[float] = field(default_factory=list)

    def http(self, *origins: str, **settings: object) -> Http:
        """A client whose requests to these origins come here. Waits are counted, not waited."""
        settings.setdefault("sleep", self.waits.append)
        stand_ins = dict.fromkeys(origins or ("https://provider.example",), self.url)
        return Http(stand_ins=stand_ins, pace=0.0, **settings)  # type: ignore[arg-type]


@contextmanager
def serve(script: Sequence[Answer] | Mapping[str, Answer]) -> Iterator[Served]:
    """A provider that answers by the script, on a free port of 127.0.0.1."""
    by_path = script if isinstance(script, Mapping) else None
    answers = [] if by_path is not None else list(script)
    requests: list[Request] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            asked = Request(self.command, self.path, dict(self.headers), self.rfile.read(size))
            requests.append(asked)
            if by_path is not None:
                answer = by_path.get(self.path, Answer(status=404))
            else:
                answer = answers.pop(0) if len(answers) > 1 else answers[0]
            with suppress(OSError):
                self._answer(answer)

        do_POST = do_GET  # noqa: N815

        def _answer(self, answer: Answer) -> None:
            self.send_response(answer.status)
            size = answer.length if answer.length is not None else len(answer.body)
            if not answer.pieces:
                self.send_header("Content-Length", str(size))
            for name, value in answer.headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.close_connection = True
            self.send_header("Connection", "close")
            self.end_headers()
            for piece in answer.pieces or [answer.body]:
                self.wfile.write(piece)
                self.wfile.flush()
                time.sleep(answer.pause)

        def log_message(self, *said: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Served(f"http://127.0.0.1:{server.server_port}", requests)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

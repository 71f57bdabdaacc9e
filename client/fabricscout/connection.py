"""One connection to a service: waits as it is told to, asks by ETag, raises what is wrong.

A GET that was answered before is asked again with its ETag, so a poll of what has not changed
costs a 304. A POST carries an Idempotency-Key, the same on each try: it is never done twice. Only
what answers a secret takes none, for the service keeps no such answer.
"""

import json
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from fabricscout.errors import OF_STATUS, ApiError, Unreachable

Value = str | int | float | bool | date | datetime | Iterable[str]
Parameters = Mapping[str, Value | None]

DOOR = "/api/v1/"
REMEMBERED = 16  # answers, of up to a megabyte each
SHORTEST_PAUSE_S = 0.5  # a "Retry-After: 0" is no leave to hammer


class Connection:
    """Requests to one service.

    Parameters
    ----------
    base_url
        Where the service answers; the API is below `/api/v1/` of it.
    token
        From the account page; None reads as anyone may.
    timeout_s
        That one answer may take. [s]
    patience_s
        That one request may wait, in all, where the service says "later". [s]
    """

    def __init__(
        self, base_url: str, token: str | None, *, timeout_s: float, patience_s: float
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.patience_s = patience_s
        self._known: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._http = httpx.Client(
            headers={"Accept": "application/json", "User-Agent": "fabricscout-client/0.1"}
            | ({"Authorization": f"Bearer {token}"} if token else {}),
            timeout=timeout_s,
        )

    def close(self) -> None:
        """Close its sockets."""
        self._http.close()

    def get(self, path: str, parameters: Parameters | None = None) -> Any:
        """What a door answers.

        Raises
        ------
        Unreachable, ApiError
            Or the kind of it that fits.
        """
        request = self._request("GET", path, params=written(parameters or {}))
        address = str(request.url)
        if known := self._known.get(address):
            request.headers["If-None-Match"] = known[0]
        answer = self._sent(request)
        if known and answer.status_code == httpx.codes.NOT_MODIFIED:
            self._known.move_to_end(address)
            return json.loads(known[1])
        read = self._read(answer)
        if tag := answer.headers.get("ETag"):
            self._known[address] = (tag, answer.content)
            if len(self._known) > REMEMBERED:
                self._known.popitem(last=False)
        return read

    def send(self, method: str, path: str, body: object = None, *, secret: bool = False) -> Any:
        """What a door answers to a body; None where it answers nothing. Raises as `get` does."""
        keyed = method == "POST" and not secret
        headers = {"Idempotency-Key": str(uuid.uuid4())} if keyed else {}
        return self._read(self._sent(self._request(method, path, json=body, headers=headers)))

    def _request(self, method: str, path: str, **more: Any) -> httpx.Request:
        try:
            return self._http.build_request(method, f"{self.base_url}{DOOR}{path}", **more)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{self.base_url!r} is not an address: {error}.") from None

    def _sent(self, request: httpx.Request) -> httpx.Response:
        """The answer, after the pauses that the service asked for."""
        waited_s = 0.0
        while True:
            try:
                answer = self._http.send(request)
            except (httpx.TransportError, httpx.UnsupportedProtocol) as error:
                raise Unreachable(
                    f"FabricScout does not answer at {self.base_url} ({error})."
                ) from error
            pause_s = _pause_s(answer)
            if pause_s is None or waited_s + pause_s > self.patience_s:
                return answer
            time.sleep(pause_s)
            waited_s += pause_s

    def _read(self, answer: httpx.Response) -> Any:
        """The JSON of an answer."""
        if answer.status_code == httpx.codes.NO_CONTENT:
            return None
        try:
            said = answer.json()
        except ValueError:
            said = None
        if answer.is_success and said is not None:
            return said
        match said:
            case {"error": {"code": str(code), "message": str(message), "fields": dict(fields)}}:
                kind = OF_STATUS.get(answer.status_code, ApiError)
                raise kind(answer.status_code, code, message, fields)
        raise Unreachable(
            f"What answers at {self.base_url} is no FabricScout: HTTP {answer.status_code} "
            f"without its JSON at {answer.request.url.path}."
        )


def written(parameters: Parameters) -> dict[str, str]:
    """Parameters as a query string has them: lists with commas, `true`, ISO dates; no None."""
    return {name: _text(value) for name, value in parameters.items() if value is not None}


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date):  # a datetime, too
        return value.isoformat()
    if isinstance(value, str | int | float):
        return str(value)
    return ",".join(map(str, value))


def _pause_s(answer: httpx.Response) -> float | None:
    """How long the service asks to wait (429, 503): seconds, or until a date. None: not to."""
    asked = answer.headers.get("Retry-After")
    if answer.status_code not in {429, 503} or asked is None:
        return None
    try:
        until = parsedate_to_datetime(asked) if not asked.isdecimal() else None
    except ValueError:
        return None
    pause_s = float(asked) if until is None else (until - datetime.now(UTC)).total_seconds()
    return max(pause_s, SHORTEST_PAUSE_S)

"""One request to a webhook, and what came of it.

Ten seconds for all of it, the resolver included; to the very address that was judged; no redirect
is followed and no proxy asked. Of the answer its status and its Retry-After are read: the body
stays where it is, so there is nothing of it that could be shown, unpacked or waited for.
"""

import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

import httpcore
import httpx

from catalog.connections import (
    BROKEN,
    Door,
    Refused,
    TooLate,
    TooLong,
    Transport,
    retry_after,
)
from watches import targets

SECONDS = 10.0
MOST_BYTES = 2**16  # of the answer, its head included
LONGEST_ASKED_WAIT = 6 * 3600.0  # [s]
AGENT = "FabricScout-Webhook/1"


class Failure(StrEnum):
    """Why a request was not a delivery."""

    REFUSED = "refused"  # the address is not public, or not one that is called
    NO_NAME = "no_name"
    NO_CONNECTION = "no_connection"
    NO_TRUST = "no_trust"  # of its certificate
    SLOW = "slow"
    TOO_LONG = "too_long"
    BROKEN = "broken"  # no HTTP
    STATUS = "status"  # any but 2xx
    GONE = "gone"  # 410: it wants no more
    NO_ADDRESS = "no_address"  # of a mail
    NO_POST = "no_post"  # the mail server did not take it
    FAULT = "fault"  # ours


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one try. `failure` is None when it was delivered."""

    failure: Failure | None
    status: int | None = None
    wait_s: float | None = None  # what the receiver asks for
    elapsed_s: float = 0.0


def post(address: str, headers: Mapping[str, str], body: bytes) -> Outcome:
    """POST the body once. Raises nothing that a receiver could cause."""
    began = time.monotonic()
    failure, status, wait = _posted(address, headers, body, began + SECONDS)
    return Outcome(failure, status, wait, time.monotonic() - began)


def _posted(
    address: str, headers: Mapping[str, str], body: bytes, ends: float
) -> tuple[Failure | None, int | None, float | None]:
    stand_ins = targets.stand_ins()
    door = Door(stand_ins.doors, MOST_BYTES)
    door.ends = ends
    try:
        url = targets.read(address)
        with (
            httpx.Client(transport=Transport(door), trust_env=False, timeout=SECONDS) as client,
            client.stream(
                "POST",
                stand_ins.address(url) or url,
                headers={
                    **headers,
                    "Host": url.netloc.decode("ascii"),
                    "User-Agent": AGENT,
                    "Accept": "*/*",
                    "Accept-Encoding": "identity",
                    "Connection": "close",
                    "Content-Type": "application/json",
                },
                content=body,
                follow_redirects=False,
            ) as answer,
        ):
            return _read(answer)
    except (Refused, targets.Refused):
        return Failure.REFUSED, None, None
    except TooLong:
        return Failure.TOO_LONG, None, None
    except TooLate:
        return Failure.SLOW, None, None
    except (*BROKEN, httpx.HTTPError, httpx.InvalidURL) as problem:
        return _why(problem, late=time.monotonic() >= ends), None, None


def _read(answer: httpx.Response) -> tuple[Failure | None, int, float | None]:
    status = answer.status_code
    if HTTPStatus(200) <= status < HTTPStatus(300):
        return None, status, None
    if status == HTTPStatus.GONE:
        return Failure.GONE, status, None
    asked = retry_after(answer.headers.get("Retry-After"), cap=LONGEST_ASKED_WAIT)
    return Failure.STATUS, status, asked


def _why(problem: Exception, *, late: bool) -> Failure:
    if late or isinstance(problem, httpcore.TimeoutException):
        return Failure.SLOW
    # httpcore raises its own "from None", which leaves the context alone.
    if isinstance(problem.__context__, ssl.SSLError):
        return Failure.NO_TRUST
    if isinstance(problem, socket.gaierror):
        return Failure.NO_NAME
    if isinstance(problem, httpcore.NetworkError | OSError):
        return Failure.NO_CONNECTION
    return Failure.BROKEN

"""How often someone may do something: counted in Redis, or here while Redis does not answer.

A window begins with the first request and ends `seconds` later. Redis is given a quarter of a
second; after one failure this process counts by itself until Redis answers again, which it tries
aside, every five seconds. So a dead or frozen Redis makes no request fail, none slow but those that
find out, and none unlimited: `n` processes together then let through `n` times the limit at most.
"""

import hashlib
import ipaddress
import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import redis
from django.conf import settings
from django.http import HttpRequest
from redis.backoff import NoBackoff
from redis.retry import Retry
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from accounts.models import Token

T = TypeVar("T")
log = logging.getLogger(__name__)
PATIENCE_S = 0.25  # that Redis is given for an answer
SKIPPED_S = 5.0  # that Redis is left alone after a failure, and between attempts
KEPT_HERE = 10_000  # callers that one process counts at most, the newest
PREFIX = "limit"  # of our keys in Redis
COUNT = """
local used = redis.call('INCRBY', KEYS[1], ARGV[1])
local left = redis.call('PTTL', KEYS[1])
if left < 0 then
    left = tonumber(ARGV[2])
    redis.call('PEXPIRE', KEYS[1], left)
end
return {used, left}
"""
COUNT_SHA = hashlib.sha1(COUNT.encode(), usedforsecurity=False).hexdigest()


@dataclass(frozen=True, slots=True)
class Limit:
    """So many times in so many seconds. The name keeps its counts apart from those of others."""

    name: str
    most: int
    seconds: int = 60


@dataclass(frozen=True, slots=True)
class Standing:
    """Where someone stands within a limit."""

    limit: Limit
    used: int
    resets_in_s: int  # until the window ends, rounded up

    @property
    def remaining(self) -> int:
        """How often one still may."""
        return max(self.limit.most - self.used, 0)

    @property
    def is_over(self) -> bool:
        """Whether this time was once too often."""
        return self.used > self.limit.most

    @property
    def headers(self) -> dict[str, str]:
        """What an answer says of it: the three fields of draft-ietf-httpapi-ratelimit-headers-06.

        Whoever is over the limit also reads when to come again. [s]
        """
        said = {
            "RateLimit-Limit": str(self.limit.most),
            "RateLimit-Remaining": str(self.remaining),
            "RateLimit-Reset": str(self.resets_in_s),
        }
        return said | ({"Retry-After": str(self.resets_in_s)} if self.is_over else {})


# --- Counting ---------------------------------------------------------------------------------


def take(limit: Limit, who: str, times: int = 1) -> Standing:
    """Count so many times of `who`, and say where that leaves them; `times=0` only looks."""
    used, left_s = _counted(_key(limit, who), times, limit.seconds)
    return Standing(limit, used, max(math.ceil(left_s), 1))


def forget(limit: Limit, who: str) -> None:
    """Begin anew for `who`: a login that succeeded forgives those that did not."""
    key = _key(limit, who)
    _here.forget(key)
    _asked(lambda: _client().delete(key))


def _key(limit: Limit, who: str) -> str:
    return f"{PREFIX}:{limit.name}:{who}"


def _counted(key: str, times: int, seconds: int) -> tuple[int, float]:
    """Uses within the window, and seconds until it ends."""
    found = _asked(lambda: _client().evalsha(COUNT_SHA, 1, key, times, seconds * 1000))
    if found is None:
        return _here.take(key, times, seconds)
    used, left_ms = found
    return used, left_ms / 1000


# --- Redis, while it answers ------------------------------------------------------------------


def _asked(question: Callable[[], T]) -> T | None:
    """What Redis answers; None where it does not, or did not a moment ago."""
    if _breaker.is_open:
        return None
    try:
        try:
            answer = question()
        except redis.exceptions.NoScriptError:  # it was started anew
            _client().script_load(COUNT)
            answer = question()
    except redis.RedisError as problem:
        _breaker.trip()
        log.warning("Redis does not answer, and limits are counted here: %s", problem)
        return None
    return answer


@lru_cache(maxsize=1)
def _client() -> redis.Redis:
    return client_of(settings.REDIS_URL)


def client_of(url: str) -> redis.Redis:
    """A client that gives up after PATIENCE_S, and does not try again by itself."""
    return redis.Redis.from_url(
        url,
        socket_timeout=PATIENCE_S,
        socket_connect_timeout=PATIENCE_S,
        retry=Retry(NoBackoff(), 0),
    )


class _Breaker:
    """Whether Redis is worth asking. After a failure it is asked aside until it answers again, so
    that no request but the one that finds out waits for it.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.is_open = False

    def trip(self) -> None:
        with self.lock:
            if self.is_open:
                return
            self.is_open = True
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while self.is_open:
            time.sleep(SKIPPED_S)
            with suppress(redis.RedisError):
                self.is_open = not _client().ping()


class _Here:
    """The counts of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.windows: dict[str, tuple[int, float]] = {}  # uses, and when the window ends

    def take(self, key: str, times: int, seconds: int) -> tuple[int, float]:
        now = time.monotonic()
        with self.lock:
            used, ends = self.windows.pop(key, (0, 0.0))
            if ends <= now:
                used, ends = 0, now + seconds
            self.windows[key] = used + times, ends
            if len(self.windows) > KEPT_HERE:
                del self.windows[next(iter(self.windows))]  # whoever was not here for longest
            return used + times, ends - now

    def forget(self, key: str) -> None:
        with self.lock:
            self.windows.pop(key, None)


_breaker, _here = _Breaker(), _Here()


# --- Who --------------------------------------------------------------------------------------


def source_of(request: HttpRequest) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Where a request comes from; None where nobody says.

    It is the other end of the connection. What `X-Forwarded-For` says counts only behind a proxy
    that is trusted (TRUST_PROXY), and of it only the last word, which that proxy wrote itself: all
    before it is the caller's own claim.
    """
    text = request.META.get("REMOTE_ADDR", "")
    if settings.TRUST_PROXY:
        text = request.headers.get("X-Forwarded-For", text).rpartition(",")[2].strip()
    try:
        source = ipaddress.ip_address(text)
    except ValueError:
        return None
    return getattr(source, "ipv4_mapped", None) or source


def address_of(request: HttpRequest) -> str:
    """The same as limits know it: of IPv6 the network, since whoever has one address has 2**64."""
    source = source_of(request)
    if isinstance(source, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((source, 64), strict=False))
    return str(source or "unknown")


# --- The API's own limits ---------------------------------------------------------------------


def anonymous(request: HttpRequest) -> Standing:
    """Count a request that no token stands for, by its address."""
    return take(Limit("anonymous", settings.API_PER_MINUTE_ANONYMOUS), address_of(request))


def by_token(token: Token) -> Standing:
    """Count a request of a token."""
    return take(Limit("token", settings.API_PER_MINUTE_TOKEN), str(token.pk))


class TokenThrottle(BaseThrottle):
    """The limit of a token, once DRF knows whose it is; the rest is `config.doors.RateLimits`."""

    standing: Standing

    def allow_request(self, request: Request, view: object) -> bool:  # noqa: ARG002 -- DRF's
        """Whether it may go on. Where it stands is left on the request, for the headers."""
        if not isinstance(request.auth, Token):
            return True
        self.standing = request._request.standing = by_token(request.auth)  # type: ignore[attr-defined]  # noqa: SLF001
        return not self.standing.is_over

    def wait(self) -> float:
        """Until the window ends. [s]"""
        return self.standing.resets_in_s

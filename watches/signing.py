"""How a receiver knows that a message is ours, whole, and of now.

Every request carries

    FabricScout-Id         the event; a repeat carries the same
    FabricScout-Timestamp  when this request was made, in seconds since 1970
    FabricScout-Signature  v1=HEX, or v1=HEX,v1=HEX in the day after the secret was changed

where HEX is HMAC-SHA256 of `id.timestamp.body` under the secret. `verified` is what a receiver
does; docs/webhooks.md has it to copy.

A secret is derived from the service's SECRET_KEY and a random number kept with the watch, so that
who reads the tables can sign nothing; it is shown once, when it is made.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping

from django.conf import settings

PREFIX = "fswh_"
WINDOW_SECONDS = 300  # how old or how early a request may be
BOTH_VALID_HOURS = 24
SEED_BYTES = 16


def new_seed() -> str:
    """What is kept of a secret that is not made yet."""
    return secrets.token_hex(SEED_BYTES)


def secret(seed: str) -> str:
    """The secret of a seed."""
    key = f"watches.signing:{settings.SECRET_KEY}".encode()
    return PREFIX + hmac.new(key, seed.encode(), hashlib.sha256).hexdigest()


def signature(secret: str, event: str, timestamp: int, body: bytes) -> str:
    """`v1=` and the HMAC-SHA256 of `id.timestamp.body`, in hex."""
    text = f"{event}.{timestamp}.".encode() + body
    return f"v1={hmac.new(secret.encode(), text, hashlib.sha256).hexdigest()}"


def headers(seeds: Iterable[str], event: str, timestamp: int, body: bytes) -> dict[str, str]:
    """What signs a request: one signature for each secret that is valid now."""
    signed = [signature(secret(seed), event, timestamp, body) for seed in seeds]
    return {
        "FabricScout-Id": event,
        "FabricScout-Timestamp": str(timestamp),
        "FabricScout-Signature": ",".join(signed),
    }


def verified(secret: str, headers: Mapping[str, str], body: bytes, now: float) -> bool:
    """True for a request of ours, unchanged, and at most WINDOW_SECONDS from `now`."""
    event = headers.get("FabricScout-Id", "")
    timestamp = headers.get("FabricScout-Timestamp", "")
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) < 12):
        return False
    if abs(now - int(timestamp)) > WINDOW_SECONDS:
        return False
    wanted = signature(secret, event, int(timestamp), body)
    given = headers.get("FabricScout-Signature", "").split(",")
    return any(hmac.compare_digest(wanted.encode(), each.strip().encode()) for each in given)

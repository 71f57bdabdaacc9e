"""The signature, as a receiver checks it: by the recipe of the docs, and by our own function."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from watches import signing

SEED = "00112233445566778899aabbccddeeff"
EVENT, AT, BODY = "5b1d7a6e-5f4c-4bb4-9d9e-5f0d8f2f1c11", 1_780_000_000, b'{"a":1}'
DOCS = Path(__file__).parents[2] / "docs/webhooks.md"
Check = Callable[[str, dict[str, str], bytes, float], bool]


def recipe() -> Check:
    """The function of the docs, run as it is printed there."""
    code = re.search(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert code
    names: dict[str, Any] = {}
    exec(code[1], names)  # noqa: S102 -- our own page
    return names["is_from_fabricscout"]


CHECKS = pytest.mark.parametrize("check", [signing.verified, recipe()], ids=["ours", "docs"])


def signed(*seeds: str) -> dict[str, str]:
    return signing.headers(seeds or (SEED,), EVENT, AT, BODY)


def test_the_signature_is_hmac_sha256_of_id_time_and_body() -> None:
    """By another hand: printf 'e.1.{}' | openssl dgst -sha256 -hmac fswh_1."""
    by_openssl = "bd3f30390bb6a6639fd2835a9f594b1068d4f6a5e5f68f857457c62f902f07bb"
    assert signing.signature("fswh_1", "e", 1, b"{}") == f"v1={by_openssl}"


@CHECKS
def test_a_message_of_ours_is_known(check: Check) -> None:
    assert check(signing.secret(SEED), signed(), BODY, AT)
    assert check(signing.secret(SEED), signed(), BODY, AT + 300)
    assert check(signing.secret(SEED), signed(), BODY, AT - 300)


@CHECKS
@pytest.mark.parametrize(
    "forged",
    [
        {"body": b'{"a":2}'}, {"body": b'{"a":1} '}, {"FabricScout-Id": "another"},
        {"FabricScout-Timestamp": str(AT + 1)}, {"FabricScout-Timestamp": f"{AT}.0"},
        {"FabricScout-Timestamp": "x"}, {"FabricScout-Timestamp": ""},
        {"FabricScout-Timestamp": "9" * 400}, {"FabricScout-Signature": ""},
        {"FabricScout-Signature": "v1="}, {"FabricScout-Signature": "v1=é"}, {"now": AT + 301},
        {"now": AT - 301}, {"secret": signing.secret("00" * 16)},
    ],
    ids=str,
)  # fmt: skip
def test_what_was_changed_is_old_or_is_of_another_is_refused(
    check: Check, forged: dict[str, Any]
) -> None:
    given = dict(forged)
    secret = given.pop("secret", signing.secret(SEED))
    body, now = given.pop("body", BODY), given.pop("now", AT)
    assert not check(secret, signed() | given, body, now)


@CHECKS
def test_a_missing_header_is_refused(check: Check) -> None:
    for name in signed():
        assert not check(
            signing.secret(SEED), {k: v for k, v in signed().items() if k != name}, BODY, AT
        )


@CHECKS
def test_in_the_day_after_a_change_either_secret_will_do(check: Check) -> None:
    other = "ff" * 16
    both = signed(other, SEED)
    assert both["FabricScout-Signature"].count("v1=") == 2
    assert check(signing.secret(SEED), both, BODY, AT)
    assert check(signing.secret(other), both, BODY, AT)


def test_secrets_differ_by_watch_and_by_service(settings: Any) -> None:
    seeds = {signing.new_seed() for _ in range(50)}
    assert len({signing.secret(seed) for seed in seeds}) == 50
    before = signing.secret(SEED)
    assert len(before) == len("fswh_") + 64
    settings.SECRET_KEY = "another"
    assert signing.secret(SEED) != before

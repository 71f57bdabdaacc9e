"""What a person may rule on, and the name that a ruling goes by. Pure: the parser's child reads it.

A gate doubts a row; a person may let it through, or refuse it for good. The ruling is remembered
under a key made of what was doubted (this price of this type, these words of it), so that it holds
in the next list, in every region and in a replay, whatever else of the row has changed.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.ledger import plain
from catalog.records import Gate, Identity, OfferRecord

Words = Mapping[tuple[str, str], str]
DOUBTS = frozenset(Gate) - {Gate.UNREADABLE, Gate.UNFIT}  # that a person may let through


@dataclass(frozen=True, slots=True)
class Judgement:
    """What people have decided: the keys they let through, and the words they taught.

    `gpus` and `regions` are by (provider, or "" for all; the words as they were printed).
    """

    accepted: frozenset[str] = frozenset()
    gpus: Words = field(default_factory=dict)
    regions: Words = field(default_factory=dict)


NOTHING = Judgement()
TYPE = 3  # first parts of an identity: whose, through whom, which type


def price_key(offer: OfferRecord) -> str:
    """Of this price of this type, wherever it is asked and whichever gate doubts it."""
    amount = None if offer.native_amount is None else plain(offer.native_amount)
    return _key("price", offer.identity[:TYPE], amount, offer.native_currency)


def doubt_key(gate: Gate, identity: Identity, about: str) -> str:
    """Of what a gate doubts in a type, other than its price."""
    return _key(gate, identity[:TYPE], about)


def row_key(gate: Gate, reason: str, row: str) -> str:
    """Of a row that is no offer: the same words refused for the same reason."""
    return _key(gate, reason, row)


def _key(*parts: object) -> str:
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()

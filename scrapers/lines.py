"""An offer as one line of JSON, the same for a payload and for a text."""

from collections.abc import Iterable

from catalog.ledger import describe
from catalog.records import Fact, OfferRecord


def offer_line(record: OfferRecord, ledger: Iterable[Fact] = ()) -> dict[str, object]:
    """Every key of DESIGN 7. How stale it is, only a catalog can say."""
    return {"kind": "offer"} | describe(record, ledger) | {"stale": None}

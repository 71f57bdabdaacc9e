"""The last door before the tables, the same for every list: what they can take, and why not.

Cleaning (`scrapers.normalise`) has refused what is wrong for its provider; this refuses what a
column would, row by row, so that one row never spoils a list. What passes is written as the text
that COPY reads, in the parser's process: no row is made again beside the database. Pure.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal

from catalog.ledger import unfit
from catalog.records import Fact, Gate, Normalised, OfferRecord, Rejected
from catalog.staging import copy_text

_LONGEST = {
    "provider": 64, "instance_type": 200, "via": 64, "region": 120, "tier": 120, "price_note": 400,
    "price_includes": 400, "source_url": 1000, "native_currency": 3, "country": 2,
}  # fmt: skip
_CURRENCY, _COUNTRY = re.compile("[A-Z]{3}"), re.compile("[A-Z]{2}")
_LEAST, _MOST = Decimal("0.001"), Decimal(10) ** 9
_LONGEST_MINIMUM = 1e6  # [h]


@dataclass(frozen=True, slots=True)
class Sieved:
    """The offers that the tables can take, and the rows that they cannot."""

    offers: list[OfferRecord] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Ready:
    """A list as the tables take it, each row of it accounted for.

    `offers` is the text of `staging.INCOMING`, in blocks; `facts` are what they say of their types,
    once for the offers that share them; `newest` is when the latest row was read.
    """

    offers: list[bytes]
    accepted: int
    facts: list[Fact]
    rejected: list[Rejected]
    ignored: Counter[str]
    partial: str
    newest: datetime | None

    @property
    def rows(self) -> int:
        """All that was read: nothing is dropped in silence."""
        return self.accepted + len(self.rejected) + self.ignored.total()


def ready(normalised: Normalised) -> Ready:
    """Sieve a list and write down what passes."""
    sieved = sieve(normalised)
    shared = {id(offer.facts): offer.facts for offer in sieved.offers}  # by the offers of a type
    return Ready(
        offers=list(copy_text(incoming(sieved.offers))),
        accepted=len(sieved.offers),
        facts=[fact for facts in shared.values() for fact in facts],
        rejected=sieved.rejected,
        ignored=normalised.ignored,
        partial=normalised.partial,
        newest=max((offer.collected_at for offer in normalised.offers), default=None),
    )


def incoming(offers: Iterable[OfferRecord]) -> Iterator[tuple[object, ...]]:
    """The rows of `staging.INCOMING`, in key order."""
    ordered = sorted(offers, key=lambda o: [part or "" for part in o.identity])
    for n, o in enumerate(ordered):
        yield (
            n, o.provider, o.via or "", o.instance_type, o.region or "", o.tier or "",
            o.price_model, o.country, o.available, o.native_amount, o.native_currency,
            o.usd_per_hour, o.usd_rate, o.usd_rate_date, o.price_note, o.price_includes,
            o.minimum_hours, o.collected_at, o.source_url,
            tuple(warning[:400] for warning in o.warnings),
            tuple(name[:64] for name in o.gpu_candidates),
            o.where,
        )  # fmt: skip


def sieve(normalised: Normalised) -> Sieved:
    """Part the offers that the tables can take from those they cannot, each with its reason."""
    sieved = Sieved(rejected=list(normalised.rejected))
    seen: set[object] = set()
    complaints: dict[object, str | None] = {}  # the offers of a type share its facts
    for offer in normalised.offers:
        identity, said = offer.identity, (id(offer.facts), offer.subject)
        if said not in complaints:
            complaints[said] = _unfit_fact(offer)
        reason = "the same offer stands in the list twice" if identity in seen else None
        if reason := reason or _unfit_column(offer) or complaints[said]:
            place = "|".join(str(part or "") for part in identity)
            where = offer.where or offer.source_url
            sieved.rejected.append(Rejected(reason, where, place, Gate.UNFIT))
        else:
            seen.add(identity)
            sieved.offers.append(offer)
    return sieved


def refusal(offer: OfferRecord) -> str | None:
    """Why an offer cannot be kept, or None."""
    return _unfit_column(offer) or _unfit_fact(offer)


def _unfit_fact(offer: OfferRecord) -> str | None:
    for fact in offer.facts:
        if fact.subject != offer.subject:
            return f"a fact of {fact.subject} stands with {offer.subject}"
        if reason := unfit(fact):
            return reason
    return None


def _unfit_column(offer: OfferRecord) -> str | None:
    return next(filter(None, _refusals(offer)), None)


def _refusals(offer: OfferRecord) -> Iterable[str | None]:
    for name, longest in _LONGEST.items():
        text = getattr(offer, name)
        if text is not None and (len(text) > longest or "\x00" in text):
            yield f"{name} is longer than {longest} characters, or no text"
    if not offer.instance_type or not offer.source_url:
        yield "it has no name or no source"
    if offer.country is not None and not _COUNTRY.fullmatch(offer.country):
        yield f"country: {offer.country!r} is not two capital letters"
    if offer.minimum_hours is not None and not 0 <= offer.minimum_hours <= _LONGEST_MINIMUM:
        yield f"minimum_hours: {offer.minimum_hours} is no time to rent for"
    if "\x00" in "".join((*offer.warnings, *offer.gpu_candidates)):
        yield "a warning or a GPU's name is no text"
    yield _money(offer)


def _money(offer: OfferRecord) -> str | None:
    amount = offer.native_amount
    for name, value in (("native_amount", amount), ("usd_per_hour", offer.usd_per_hour)):
        if value is not None and not (value.is_finite() and _LEAST <= value < _MOST):
            return f"{name}: {value} is not a price"
    if amount is not None and not _CURRENCY.fullmatch(offer.native_currency or ""):
        return f"native_currency: {offer.native_currency!r} is not a currency"
    if amount is None and offer.usd_per_hour is not None:
        return "usd_per_hour is given without the amount it comes from"
    return None

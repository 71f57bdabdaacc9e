"""Listings to offers: pure, and it guesses nothing.

`offers` reads what a provider's `parse` makes of its documents, settles each listing (GPU, count,
memory, price an hour), passes it through the gates of DESIGN 4 and leaves one offer an identity.
A row that fails is a `Rejected` with its reason and place; the others go on.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal

from catalog.judgement import NOTHING, Judgement, doubt_key, price_key
from catalog.records import (
    Basis,
    Fact,
    Gate,
    Identity,
    Normalised,
    OfferRecord,
    Rejected,
)
from scrapers.gpu_names import Named, UnknownGpu, chip_of, identify, share_of
from scrapers.list_gates import doubted, more_for_less, once, one_an_identity, spot_checked
from scrapers.listed_facts import (
    Contradiction,
    Inconsistent,
    check_equations,
    check_figures,
    facts_of,
)
from scrapers.listing import (
    Document,
    Evidence,
    Ignored,
    Listing,
    Parsed,
    Partial,
    Price,
    Provider,
    Unreadable,
)
from scrapers.prices import outside_band
from scrapers.quantities import UnknownUnit, gigabytes
from scrapers.regions import named_country
from scrapers.registry import provider_module
from scrapers.sellers import seller

__all__ = ["Rate", "Unreadable", "offers", "settle"]

EXPECTED = (Inconsistent, UnknownUnit)
DOUBTS = {UnknownGpu: Gate.UNKNOWN_GPU, Contradiction: Gate.FIGURES}


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars for one unit of a currency, and the day it is of."""

    usd: Decimal
    day: date


Rates = Mapping[str, Rate]


def offers(
    provider: Provider,
    documents: Sequence[Document],
    rates: Rates,
    collected_at: datetime | None = None,
    judgement: Judgement = NOTHING,
) -> Normalised:
    """Everything the documents of one fetch say is on sale, and all that could not be taken.

    Parameters
    ----------
    rates
        By currency. Without one, the native price is kept and the US dollars stay unknown.
    collected_at
        Of every offer; else the day and time of the document that prices it.
    judgement
        What people have let through and taught.

    Raises
    ------
    Unreadable
        A document cannot be read at all.
    """
    parsed = provider_module(provider.slug).parse(documents)
    return settle(provider, parsed, rates, collected_at, judgement)


def settle(
    provider: Provider,
    parsed: Parsed,
    rates: Rates,
    collected_at: datetime | None = None,
    judgement: Judgement = NOTHING,
) -> Normalised:
    """Listings to offers, one an identity."""
    result = Normalised()
    desk = _Desk(provider, rates, collected_at, judgement)
    taken: list[tuple[OfferRecord, Listing]] = []
    for item in parsed:
        if isinstance(item, Ignored):
            result.ignored[item.reason] += 1
        elif isinstance(item, Partial):
            result = replace(result, partial=item.reason)
        elif isinstance(item, Rejected):
            result.rejected.append(item)
        elif isinstance(settled := desk.settled(item), Rejected):
            result.rejected.append(settled)
        else:
            taken.append((settled, item))
    unique, twice = one_an_identity(taken, result.ignored, judgement.accepted)
    result.rejected.extend(twice)
    if provider.market:
        kept = [offer for offer, _ in unique]
    else:
        kept, inverted = more_for_less(unique, judgement.accepted)
        result.rejected.extend(inverted)
    result.rejected[:] = once(result.rejected)
    if not result.partial and any(row.nameless for row in result.rejected):
        result = replace(result, partial=NAMELESS)
    result.offers.extend(spot_checked(kept))
    return result


NAMELESS = "a row is no object, and which offer it was is not known"


# --- One listing ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Kind:
    """What the listings of one type have in common, in every region: settled once."""

    owner: str  # who runs the machine
    via: str | None  # through whom it is sold
    facts: tuple[Fact, ...]
    candidates: tuple[str, ...]
    chips: frozenset[str]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where the listings of one provider are settled, one by one."""

    provider: Provider
    rates: Rates
    collected_at: datetime | None
    judgement: Judgement
    kinds: dict[object, _Kind] = field(default_factory=dict)

    def settled(self, listing: Listing) -> OfferRecord | Rejected:
        """The offer, or why it is none. What a gate doubts passes where a person let it through."""
        listing = self._shared(self._taught(listing))
        waived: set[Gate] = set()
        while True:
            try:
                kind = self._kind(listing, waived)
                return self._priced_well(self._offer(listing, kind), listing, kind.chips)
            except tuple(DOUBTS) as doubt:
                gate = DOUBTS[type(doubt)]
                about = str(listing.gpu) if gate is Gate.UNKNOWN_GPU else str(doubt)
                identity = self._identity(listing)
                key = doubt_key(gate, identity, about)
                if key not in self.judgement.accepted:
                    return Rejected(
                        str(doubt),
                        listing.where,
                        listing.shown,
                        gate,
                        key,
                        about[:200],
                        (identity,),
                    )
                waived.add(gate)
            except EXPECTED as problem:
                return Rejected(str(problem), listing.where, listing.shown)
            except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
                reason = f"cannot be settled: {type(problem).__name__}: {str(problem)[:120]}"
                return Rejected(reason, listing.where, listing.shown)

    def _taught(self, listing: Listing) -> Listing:
        """With the region's name that people taught for the provider's word."""
        words, taught = listing.region, self.judgement.regions
        name = taught.get((self.provider.slug, words or ""))
        return listing if name is None else replace(listing, region=name)

    def _shared(self, listing: Listing) -> Listing:
        """With the share of a card that its memory tells, where a count of 0 says it is one."""
        if listing.gpu_count != 0:
            return listing
        share = None
        if listing.gpu and listing.gpu_memory:
            with suppress(UnknownGpu, UnknownUnit):
                named = identify(listing.gpu, None, self.provider.slug, self.judgement.gpus)
                share = share_of(named, gigabytes(*listing.gpu_memory))
        rule = Evidence(Basis.DERIVED, f"rule: the slice's memory by the card's; {listing.url}")
        return replace(listing, gpu_count=share, evidence={**listing.evidence, "gpu_count": rule})

    def _whose(self, listing: Listing) -> tuple[str, str | None]:
        """Who runs the machine, and through whom it is sold."""
        slug = self.provider.slug
        owner = seller(listing.provider) if listing.provider else slug
        return owner, slug if owner != slug else listing.via

    def _identity(self, listing: Listing) -> Identity:
        owner, via = self._whose(listing)
        return owner, via, listing.instance, listing.region, listing.tier, listing.price_model

    def _kind(self, listing: Listing, waived: Collection[Gate]) -> _Kind:
        said = listing.of_its_type, tuple(waived)
        if (kind := self.kinds.get(said)) is None:
            kind = self.kinds[said] = self._new_kind(listing, waived)
        return kind

    def _new_kind(self, listing: Listing, waived: Container[Gate]) -> _Kind:
        gpu, warnings = self._gpu(listing, waived)
        owner, via = self._whose(listing)
        if Gate.FIGURES in waived:
            warnings.append(FIGURES_PASSED)
        else:
            check_figures(listing, gpu)
        facts = tuple(facts_of(owner, via, listing, gpu, self.collected_at))
        if Gate.FIGURES not in waived:
            check_equations(facts)
        candidates = gpu.candidates if gpu else ()
        slugs = (*candidates, gpu.slug) if gpu and gpu.slug else candidates
        chips = frozenset(chip_of(slug) for slug in slugs)
        return _Kind(owner, via, facts, candidates, chips, tuple(warnings))

    def _offer(self, listing: Listing, kind: _Kind) -> OfferRecord:
        native, hourly_warnings = _native_per_hour(listing)
        rate = None if native is None else _rate(native[1], self.rates)
        converted = native is not None and native[1] != "USD"
        return OfferRecord(
            provider=kind.owner,
            via=kind.via,
            instance_type=listing.instance,
            price_model=listing.price_model,
            collected_at=self.collected_at or listing.fetched_at,
            source_url=listing.url,
            facts=kind.facts,
            region=listing.region,
            country=listing.country or named_country(listing.region),
            tier=listing.tier,
            available=listing.available,
            gpu_candidates=kind.candidates,
            native_amount=native and native[0],
            native_currency=native and native[1],
            usd_per_hour=None if native is None or rate is None else round(native[0] * rate.usd, 6),
            usd_rate=rate.usd if converted and rate else None,
            usd_rate_date=rate.day if converted and rate else None,
            price_note=listing.price_note,
            price_includes=listing.price_includes,
            minimum_hours=listing.minimum_hours,
            warnings=(*listing.warnings, *kind.warnings, *hourly_warnings),
            where=listing.where,
        )

    def _gpu(self, listing: Listing, waived: Container[Gate]) -> tuple[Named | None, list[str]]:
        """The GPU that the words name. Words of our own tables may be unknown without harm."""
        if listing.gpu is None:
            return None, []
        whole = listing.gpu_count is None or listing.gpu_count >= 1
        memory = gigabytes(*listing.gpu_memory) if listing.gpu_memory and whole else None
        try:
            named = identify(listing.gpu, memory, self.provider.slug, self.judgement.gpus)
        except UnknownGpu as problem:
            if "gpu" not in listing.evidence and Gate.UNKNOWN_GPU not in waived:
                raise
            return None, [str(problem)]
        return named, []

    def _priced_well(
        self, offer: OfferRecord, listing: Listing, chips: frozenset[str]
    ) -> OfferRecord | Rejected:
        """Gate: the price is one that such a GPU has, or a person let it through."""
        if offer.native_amount is None:
            return offer
        currency = offer.native_currency if offer.usd_per_hour is None else None
        amount = offer.native_amount if offer.usd_per_hour is None else offer.usd_per_hour
        reason = outside_band(amount, currency, chips, listing.gpu_count)
        if reason is None:
            return offer
        if price_key(offer) in self.judgement.accepted:
            return replace(offer, warnings=(*offer.warnings, PRICE_PASSED))
        return doubted(offer, listing, Gate.PRICE_BAND, reason)


PRICE_PASSED = "the price is outside what others ask; a person let it through"
FIGURES_PASSED = "its figures contradict each other; a person let it through"


# --- Its price --------------------------------------------------------------------------------


def _native_per_hour(listing: Listing) -> tuple[tuple[Decimal, str] | None, list[str]]:
    """Of one instance and one hour, in its own currency; and what was done to get there."""
    price = listing.price
    if price is None:
        return None, []
    if not price.amount.is_finite() or price.hours <= 0:
        raise Inconsistent("the price is not a number")
    if price.amount == 0:
        raise Inconsistent("price 0: a placeholder, or not sold so")
    if price.amount < 0:
        raise Inconsistent(f"the price {price.amount} is below 0")
    currency = price.currency.upper()
    if len(currency) != 3 or not currency.isalpha():
        raise Inconsistent(f"{price.currency[:10]!r} is not a currency")
    amount = price.amount / price.hours * _instances(price, listing)
    return (round(amount, 6), currency), _unit_warning(price, listing)


def _instances(price: Price, listing: Listing) -> Decimal:
    if not price.per_gpu:
        return Decimal(1)
    if listing.gpu_count is None:
        raise Inconsistent("a price per GPU without a number of GPUs")
    return listing.gpu_count


def _unit_warning(price: Price, listing: Listing) -> list[str]:
    if price.hours == 1 or listing.price_model.startswith("reserved"):
        return []
    return [f"the price is for {price.hours} hours and was divided"]


def _rate(currency: str, rates: Rates) -> Rate | None:
    if currency == "USD":
        return Rate(Decimal(1), date.min)
    rate = rates.get(currency)
    return rate if rate is not None and rate.usd > 0 else None

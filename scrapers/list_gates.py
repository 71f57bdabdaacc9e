"""Gates that need the whole list: one offer an identity, spot beside on demand, more GPUs for less.

What proves that a price is wrong is held; what is only odd is kept, and says so in a warning. A
warning names no figure of another row: the offer is the same as long as its own row is.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from statistics import median

from catalog.judgement import price_key
from catalog.ledger import plain
from catalog.records import Gate, Identity, OfferRecord, PriceModel, Rejected
from scrapers.listing import Listing
from scrapers.quantities import gigabytes

Taken = tuple[OfferRecord, Listing]


# --- One offer an identity --------------------------------------------------------------------


def one_an_identity(
    taken: Sequence[Taken], ignored: Counter[str], accepted: Collection[str]
) -> tuple[list[Taken], list[Rejected]]:
    """Of several rows for one identity the cheapest stands; the order of rows does not matter.

    But for one whose price a person has `accepted`: that one stands.
    """
    standing: dict[object, Taken] = {}
    rejected: list[Rejected] = []
    for row in taken:
        identity = row[0].identity
        other = standing.get(identity)
        if other is None:
            standing[identity] = row
            continue
        (kept, at), (left, again) = sorted([other, row], key=lambda p: _order(p[0], accepted))
        if kept.native_amount == left.native_amount:
            ignored["the same offer at the same price again"] += 1
            warnings = dict.fromkeys((*kept.warnings, *left.warnings))
        else:
            two = f"two prices for one offer: {_plain(left)} at {again.where}"
            if accepted and price_key(kept) in accepted:
                ignored["another price than the one that a person chose"] += 1
            else:
                reason = f"{two} beside {_plain(kept)} at {at.where}; the lower stands"
                rejected.append(doubted(left, again, Gate.TWO_PRICES, reason))
            warnings = dict.fromkeys((*kept.warnings, f"{two} too"))
        standing[identity] = replace(kept, warnings=tuple(warnings)), at
    return list(standing.values()), rejected


def _plain(offer: OfferRecord) -> str:
    return "none" if offer.native_amount is None else plain(offer.native_amount)


def _order(offer: OfferRecord, accepted: Collection[str]) -> tuple[bool, bool, bool, Decimal]:
    """A person's choice, priced before unpriced, to be had before rented out, cheap before dear."""
    chosen = bool(accepted) and price_key(offer) in accepted
    price = offer.native_amount
    return (not chosen, price is None, not offer.available, price or Decimal(0))


def doubted(offer: OfferRecord, listing: Listing, gate: Gate, reason: str) -> Rejected:
    """An offer whose price a gate doubts."""
    key, about = price_key(offer), _plain(offer)
    return Rejected(reason, listing.where, listing.shown, gate, key, about, (offer.identity,))


def once(rejected: Iterable[Rejected]) -> list[Rejected]:
    """A row that is sold in several ways, and wrong for one reason, is rejected once."""
    identities: dict[Rejected, list[Identity]] = {}
    for row in rejected:
        identities.setdefault(row, []).extend(row.identities)
    return [replace(row, identities=tuple(every)) for row, every in identities.items()]


# --- Spot beside on demand --------------------------------------------------------------------


def spot_checked(offers: Sequence[OfferRecord]) -> list[OfferRecord]:
    """Spot above on demand is kept, and never looks like a saving."""
    on_demand = {
        offer.identity[:-1]: offer.native_amount
        for offer in offers
        if offer.price_model is PriceModel.ON_DEMAND
    }
    return [_warned(offer, on_demand.get(offer.identity[:-1])) for offer in offers]


def _warned(offer: OfferRecord, on_demand: Decimal | None) -> OfferRecord:
    spot = offer.native_amount if offer.price_model is PriceModel.SPOT else None
    if spot is None or on_demand is None or spot < on_demand:
        return offer
    compared = "above" if spot > on_demand else "the same as"
    return replace(offer, warnings=(*offer.warnings, f"spot is {compared} on demand"))


# --- More GPUs for less -----------------------------------------------------------------------

ODD = "more of the same GPU cost less here, in {}"
CHEAP = "fewer of the same GPU cost more here, in {}: one of the two prices may be wrong"


@dataclass(frozen=True, slots=True)
class Priced:
    """What the comparison asks of an offer. Money is for one instance and one hour."""

    offer: OfferRecord
    listing: Listing
    kind: object  # the SKU, or all those it may be
    gpus: Decimal
    amount: Decimal
    host: tuple[Decimal | None, Decimal | None]  # vCPUs, memory

    @property
    def place(self) -> tuple[object, ...]:
        """What two prices must share to be compared: all but the instance type."""
        provider, via, _, region, tier, model = self.offer.identity
        return provider, via, region, tier, model, self.kind, self.offer.native_currency


def more_for_less(
    taken: Sequence[Taken], accepted: Container[str]
) -> tuple[list[OfferRecord], list[Rejected]]:
    """Gate: 8 GPUs do not cost less than 4 of the same, beside them, on a host no larger.

    One of two such prices is wrong where a provider sets them (a price per GPU read as per
    instance, or the reverse): the one that is farther from what the rest of its list asks for such
    a GPU is held, and where nothing tells, the lower one, for it would be sold as a bargain. It is
    only odd, and said, where a market of spot prices made them, where the smaller one stands on the
    larger host, or where the list does not say which GPU or host it is.
    """
    priced = [found for row in taken if (found := _priced(*row)) is not None]
    inverted = list(_inverted(priced))
    if not inverted:
        return [offer for offer, _ in taken], []
    usual = _per_gpu(priced)
    odd: dict[object, str] = {}
    held: dict[object, Rejected] = {}
    for low, high in inverted:
        wrong = _wrong(low, high, usual) if _proof(low, high) else None
        if wrong is None or price_key(wrong.offer) in accepted:
            odd[high.offer.identity] = ODD.format(low.offer.instance_type)
            odd[low.offer.identity] = CHEAP.format(high.offer.instance_type)
        else:
            reason = _sentence(low, high)
            held[wrong.offer.identity] = doubted(
                wrong.offer, wrong.listing, Gate.PRICE_ORDER, reason
            )
    kept = [offer for offer, _ in taken if offer.identity not in held]
    return [_noted(offer, odd.get(offer.identity)) for offer in kept], list(held.values())


def _noted(offer: OfferRecord, warning: str | None) -> OfferRecord:
    return replace(offer, warnings=(*offer.warnings, warning)) if warning else offer


def _priced(offer: OfferRecord, listing: Listing) -> Priced | None:
    gpu = next((fact.value for fact in offer.facts if fact.attribute == "gpu"), None)
    kind = gpu or offer.gpu_candidates
    if not kind or listing.gpu_count is None or offer.native_amount is None:
        return None
    ram = None if listing.ram is None else gigabytes(*listing.ram)
    host = listing.vcpus, ram
    return Priced(offer, listing, kind, listing.gpu_count, offer.native_amount, host)


def _inverted(priced: Sequence[Priced]) -> Iterator[tuple[Priced, Priced]]:
    """Pairs (low, high) at one place: low has more GPUs than high, for less.

    Each count is held against the next smaller one that is there, its cheapest against the other's.
    """
    places: dict[object, dict[Decimal, Priced]] = defaultdict(dict)
    for each in priced:
        counts = places[each.place]
        cheapest = counts.get(each.gpus)
        if cheapest is None or each.amount < cheapest.amount:
            counts[each.gpus] = each
    for counts in places.values():
        for fewer, more in pairwise(sorted(counts)):
            if counts[more].amount < counts[fewer].amount:
                yield counts[more], counts[fewer]


def _proof(low: Priced, high: Priced) -> bool:
    """The provider set both prices, the GPUs are known to be the same, and no host explains it."""
    hosts = zip(high.host, low.host, strict=True)
    larger = all(a is not None and b is not None and a <= b for a, b in hosts)
    return isinstance(low.kind, str) and low.offer.price_model is not PriceModel.SPOT and larger


def _per_gpu(priced: Sequence[Priced]) -> dict[object, list[tuple[object, Decimal]]]:
    """For each kind of GPU, model and currency of one seller: who asks how much for one GPU."""
    asked: dict[object, list[tuple[object, Decimal]]] = defaultdict(list)
    for each in priced:
        asked[_market(each)].append((each.offer.identity, each.amount / each.gpus))
    return asked


def _market(each: Priced) -> object:
    provider, via, *_, model, kind, currency = each.place
    return provider, via, model, kind, currency


def _wrong(low: Priced, high: Priced, asked: dict[object, list[tuple[object, Decimal]]]) -> Priced:
    pair = {low.offer.identity, high.offer.identity}
    others = [price for identity, price in asked[_market(low)] if identity not in pair]
    if not others:
        return low
    usual = median(others)
    return max((low, high), key=lambda each: abs((each.amount / each.gpus / usual).ln()))


def _sentence(low: Priced, high: Priced) -> str:
    unit = low.offer.native_currency
    return (
        f"held: {unit} {plain(low.amount)} an hour for {plain(low.gpus)} GPUs "
        f"({low.offer.instance_type}) is less than {unit} {plain(high.amount)} for "
        f"{plain(high.gpus)} of the same ({high.offer.instance_type}), at one place and on a host "
        "no larger: one of the two is wrong"
    )

"""Listings to offers: pure, and it guesses nothing.

`offers` reads what a provider's `parse` makes of its documents, settles each listing (GPU, count,
memory, price an hour), passes it through the gates of DESIGN 4 and leaves one offer an identity.
A row that fails is a `Rejected` with its reason and place; the others go on.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal

from catalog.facts import ATTRIBUTES, BadFact
from catalog.ledger import plain
from catalog.records import (
    Basis,
    Fact,
    Normalised,
    OfferRecord,
    PriceModel,
    Rejected,
    ScaleUp,
    Value,
)
from scrapers.fields import Row
from scrapers.gpu_names import Named, UnknownGpu, chip_of, form_of, identify, memory_of
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
from scrapers.prices import PriceHeld, check_band
from scrapers.quantities import UnknownUnit, distance_from_nominal, gigabytes
from scrapers.registry import provider_module
from scrapers.sellers import seller

__all__ = ["Rate", "Unreadable", "offers", "settle"]

CENTS = Decimal("0.000001")
TOTAL_TOLERANCE = Decimal("0.02")


class Inconsistent(ValueError):
    """Two figures of one row that contradict each other, or one that cannot be."""


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
) -> Normalised:
    """Everything the documents of one fetch say is on sale, and all that could not be taken.

    Parameters
    ----------
    rates
        By currency. Without one, the native price is kept and the US dollars stay unknown.
    collected_at
        Of every offer; else the day and time of the document that prices it.

    Raises
    ------
    Unreadable
        A document cannot be read at all.
    """
    return settle(provider, provider_module(provider.slug).parse(documents), rates, collected_at)


def settle(
    provider: Provider, parsed: Parsed, rates: Rates, collected_at: datetime | None = None
) -> Normalised:
    """Listings to offers, one an identity."""
    result = Normalised()
    taken: list[tuple[OfferRecord, Listing]] = []
    for item in parsed:
        if isinstance(item, Ignored):
            result.ignored[item.reason] += 1
        elif isinstance(item, Partial):
            result = replace(result, partial=item.reason)
        elif isinstance(item, Rejected):
            result.rejected.append(item)
        else:
            try:
                taken.append((_offer(provider, item, rates, collected_at), item))
            except EXPECTED as problem:
                result.rejected.append(Rejected(str(problem), item.where, _shown(item)))
            except (ArithmeticError, LookupError, TypeError, ValueError) as problem:
                reason = f"cannot be settled: {type(problem).__name__}: {str(problem)[:120]}"
                result.rejected.append(Rejected(reason, item.where, _shown(item)))
    unique = _one_an_identity(taken, result.ignored)
    result.rejected.extend(row for row in unique if isinstance(row, Rejected))
    # a row sold two ways and wrong for one reason is rejected once
    result.rejected[:] = dict.fromkeys(result.rejected)
    result.offers.extend(_spot_checked([row for row in unique if isinstance(row, OfferRecord)]))
    return result


def _shown(listing: Listing) -> str:
    return listing.row.shown if isinstance(listing.row, Row) else listing.row


# --- One listing ------------------------------------------------------------------------------


def _offer(
    provider: Provider, listing: Listing, rates: Rates, collected_at: datetime | None
) -> OfferRecord:
    gpu, gpu_warnings = _gpu(provider, listing)
    _check_memory(listing)
    _check_links(listing)
    native, hourly_warnings = _native_per_hour(listing)
    rate = None if native is None else _rate(native[1], rates)
    usd = None if native is None or rate is None else round(native[0] * rate.usd, 6)
    if native is not None:
        check_band(
            usd if usd is not None else native[0], usd is None, _chips(gpu), listing.gpu_count
        )
    owner = seller(listing.provider) if listing.provider else provider.slug
    via = provider.slug if owner != provider.slug else listing.via
    converted = native is not None and native[1] != "USD"
    return OfferRecord(
        provider=owner,
        via=via,
        instance_type=listing.instance,
        price_model=listing.price_model,
        collected_at=collected_at or listing.fetched_at,
        source_url=listing.url,
        facts=tuple(_facts(owner, via, listing, gpu, collected_at)),
        region=listing.region,
        country=listing.country,
        tier=listing.tier,
        available=listing.available,
        gpu_candidates=gpu.candidates if gpu else (),
        native_amount=native and native[0],
        native_currency=native and native[1],
        usd_per_hour=usd,
        usd_rate=rate.usd if converted and rate else None,
        usd_rate_date=rate.day if converted and rate else None,
        price_note=listing.price_note,
        price_includes=listing.price_includes,
        minimum_hours=listing.minimum_hours,
        warnings=(*listing.warnings, *gpu_warnings, *hourly_warnings),
    )


def _gpu(provider: Provider, listing: Listing) -> tuple[Named | None, list[str]]:
    """The GPU that the words name. Words of our own tables may be unknown without harm."""
    if listing.gpu is None:
        return None, []
    whole = listing.gpu_count is None or listing.gpu_count >= 1
    memory = gigabytes(*listing.gpu_memory) if listing.gpu_memory and whole else None
    try:
        named = identify(listing.gpu, memory, provider.slug)
    except UnknownGpu as problem:
        if "gpu" not in listing.evidence:
            raise
        return None, [str(problem)]
    return named, [named.note] if named.note else []


def _chips(gpu: Named | None) -> set[str]:
    if gpu is None:
        return set()
    return {chip_of(slug) for slug in ((gpu.slug,) if gpu.slug else gpu.candidates)}


def _check_memory(listing: Listing) -> None:
    """Gate: count × memory = total."""
    each, total, count = listing.gpu_memory, listing.total_gpu_memory, listing.gpu_count
    if each is None or total is None or count is None or count < 1:
        return
    counted, printed = count * gigabytes(*each), gigabytes(*total)
    if abs(counted - printed) > printed * TOTAL_TOLERANCE:
        raise Inconsistent(
            f"the total GPU memory, {total[0]} {total[1]}, is not {count} x {each[0]} {each[1]}: "
            "a mixed machine, or a wrong count"
        )


def _check_links(listing: Listing) -> None:
    """Gate: NICs × rate = the instance's total."""
    names = ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
    nics, each, total = (listing.said.get(name) for name in names)
    if nics is None or each is None or total is None:
        return
    counted = Decimal(str(nics)) * Decimal(str(each))
    if abs(counted - Decimal(str(total))) > counted * TOTAL_TOLERANCE:
        raise Inconsistent(f"{nics} NICs x {each} Gb/s is not {total} Gb/s")


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


# --- Its facts --------------------------------------------------------------------------------


def _facts(
    owner: str,
    via: str | None,
    listing: Listing,
    gpu: Named | None,
    collected_at: datetime | None,
) -> Iterator[Fact]:
    """What the listing says of the type, each with its evidence. An aggregator's is `stated`."""
    day = (collected_at or listing.fetched_at).date()
    said: dict[str, tuple[Value, str]] = {}
    if gpu and gpu.slug:
        said["gpu"] = gpu.slug, f"printed as {listing.gpu}"
    if listing.gpu_count is not None:
        said["gpu_count"] = listing.gpu_count, ""
    if (memory := _memory(listing, gpu)) is not None:
        said["gpu_memory_gb"] = memory
    if listing.vcpus is not None:
        said["vcpus"] = round(listing.vcpus, 2), ""
    if listing.ram is not None:
        said["ram_gb"] = round(gigabytes(*listing.ram), 2), f"{listing.ram[0]} {listing.ram[1]}"
    said |= {name: (value, "") for name, value in listing.said.items()}
    usual = Evidence(Basis.STATED if via else Basis.DOCUMENTED, listing.url)
    for name, (value, note) in said.items():
        yield _fact(owner, listing, name, _checked(name, value), note, day, usual)
    if "scale_up" not in said:
        yield from _measured_links(owner, listing, gpu, day)


def _checked(name: str, value: Value) -> Value:
    """The value in its attribute's own type, or the row is refused."""
    if value is None:
        return None
    try:
        return ATTRIBUTES[name].read(str(value))
    except BadFact as problem:
        raise Inconsistent(f"{name} {problem}") from None


def _fact(
    owner: str, listing: Listing, name: str, value: Value, note: str, day: date, usual: Evidence
) -> Fact:
    evidence = listing.evidence.get(name, usual)
    return Fact(
        subject=f"{owner}/{listing.instance}",
        attribute=name,
        value=value,
        basis=evidence.basis,
        source=evidence.source or listing.url,
        checked=evidence.checked or day,
        note=evidence.note or note,
    )


def _memory(listing: Listing, gpu: Named | None) -> tuple[Decimal, str] | None:
    """Of one GPU, or of the slice, in nominal GB, with the printed figure beside it."""
    count, printed = listing.gpu_count, listing.gpu_memory
    note = f"printed as {printed[0]} {printed[1]}" if printed else ""
    if count is not None and count < 1:
        if printed is not None:
            return Decimal(round(gigabytes(*printed))), note
        whole = memory_of(gpu.slug) if gpu and gpu.slug else None
        return None if whole is None else (round(whole * count, 2), f"{count} of {whole} GB")
    if gpu and gpu.slug and printed:
        return Decimal(memory_of(gpu.slug)), note
    if printed is None:
        sizes = {memory_of(slug) for slug in gpu.candidates} if gpu else set()
        return (Decimal(sizes.pop()), "of each that it may be") if len(sizes) == 1 else None
    gb = gigabytes(*printed)
    nominal = min(NOMINAL_GB, key=lambda nominal: distance_from_nominal(gb, nominal))
    near = distance_from_nominal(gb, nominal) < Decimal("0.03")
    return (Decimal(nominal) if near else round(gb, 1)), note


# Memories that cards are sold with. [GB]
NOMINAL_GB = (
    4, 6, 8, 10, 11, 12, 16, 20, 24, 32, 40, 48, 64, 80, 94, 96, 128, 141, 180, 186, 192, 256, 288,
)  # fmt: skip

# NVLink on the edge of a PCIe card joins two by a bridge (four for H200 NVL): the vendor's cards.
BRIDGED = {"a100", "a800", "a30", "a40", "h100", "h200", "rtx3090", "rtxa5000", "rtxa6000"}
BOARD_GPUS = 8


def _measured_links(owner: str, listing: Listing, gpu: Named | None, day: date) -> Iterator[Fact]:
    """NVLink that was measured between the GPUs: by a bridge, or by the switch of a board of 8."""
    if listing.said.get("measured_pair_gbytes_per_s") is None or gpu is None or not gpu.slug:
        return
    form, chip = form_of(gpu.slug), chip_of(gpu.slug)
    if form in ("pcie", "nvl") and chip in BRIDGED:
        value, rule = ScaleUp.NVLINK_BRIDGE, "NVLink measured between PCIe cards is a bridge"
    elif form in ("sxm4", "sxm5", "sxm6") and listing.board_gpus == BOARD_GPUS:
        value, rule = ScaleUp.NVSWITCH, "NVLink measured on a part of an 8-GPU SXM board"
    else:
        return
    subject = f"{owner}/{listing.instance}"
    yield Fact(
        subject, "scale_up", value.value, Basis.DERIVED, f"rule: {rule} ({listing.url})", day
    )


EXPECTED = (Inconsistent, UnknownGpu, UnknownUnit, PriceHeld)


# --- All of them ------------------------------------------------------------------------------


def _one_an_identity(
    taken: Sequence[tuple[OfferRecord, Listing]], ignored: Counter[str]
) -> list[OfferRecord | Rejected]:
    """Of several rows for one identity the cheapest stands; the order of rows does not matter."""
    standing: dict[object, tuple[OfferRecord, Listing]] = {}
    rejected: list[Rejected] = []
    for offer, listing in taken:
        other = standing.get(offer.identity)
        if other is None:
            standing[offer.identity] = offer, listing
            continue
        (cheap, at), (dear, again) = sorted([other, (offer, listing)], key=lambda p: _order(p[0]))
        if cheap.native_amount == dear.native_amount:
            ignored["the same offer at the same price again"] += 1
            warnings = dict.fromkeys((*cheap.warnings, *dear.warnings))
        else:
            two = f"two prices for one offer: {_plain(dear)} at {again.where}"
            reason = f"{two} beside {_plain(cheap)} at {at.where}; the lower stands"
            rejected.append(Rejected(reason, again.where, _shown(again)))
            warnings = dict.fromkeys((*cheap.warnings, f"{two} too"))
        standing[offer.identity] = replace(cheap, warnings=tuple(warnings)), at
    return [*(offer for offer, _ in standing.values()), *rejected]


def _plain(offer: OfferRecord) -> str:
    return "none" if offer.native_amount is None else plain(offer.native_amount)


def _order(offer: OfferRecord) -> tuple[bool, bool, Decimal]:
    """Priced before unpriced, to be had before rented out, cheap before dear."""
    return (offer.native_amount is None, not offer.available, offer.native_amount or Decimal(0))


def _spot_checked(offers: list[OfferRecord]) -> list[OfferRecord]:
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

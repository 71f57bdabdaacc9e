"""What `bench.ingest` measures: the same offers through `catalog.offer_rows`, through the whole
publication, and through the ORM. Imported when Django is set up."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction

from catalog.ingest import publish
from catalog.models import InstanceType, Lease, Offer, Price, Provider, ScrapeRun
from catalog.offer_rows import add_places, write_offers
from catalog.records import Basis, Fact, Normalised, OfferRecord, PriceModel
from catalog.sieve import incoming
from catalog.staging import INCOMING, copy_text, stage_text

MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
REGIONS = 10
BASELINE = "baseline: bulk_create(update_conflicts)"
URL = "https://acme.example/prices"


def facts(subject: str) -> tuple[Fact, ...]:
    """What a listing says of its type, as most do."""
    said = {
        "gpu": "h100-sxm5-80gb",
        "gpu_count": 8,
        "vcpus": 224,
        "ram_gb": 2048,
        "fabric": "infiniband",
        "fabric_nics": 8,
        "fabric_gbits_per_s_per_nic": 400,
    }
    return tuple(
        Fact(subject, name, value, Basis.DOCUMENTED, URL, MONDAY.date())
        for name, value in said.items()
    )


def offers(count: int) -> list[OfferRecord]:
    """`count` offers, ten regions a type."""
    return [
        OfferRecord(
            provider="acme",
            instance_type=f"type-{n // REGIONS}",
            region=f"region-{n % REGIONS}",
            price_model=PriceModel.ON_DEMAND,
            native_amount=Decimal(20),
            native_currency="USD",
            usd_per_hour=Decimal(20),
            collected_at=MONDAY,
            source_url=URL,
            facts=facts(f"acme/type-{n // REGIONS}"),
        )
        for n in range(count)
    ]


def dearer(records: list[OfferRecord], days: int) -> list[OfferRecord]:
    """The same some days later, each a little dearer."""
    price, at = Decimal(20 + days), MONDAY + timedelta(days=days)
    return [replace(r, native_amount=price, usd_per_hour=price, collected_at=at) for r in records]


def rate(rows: int, work: Callable[[], object]) -> float:
    """Rows a second."""
    began = time.perf_counter()
    work()
    return rows / (time.perf_counter() - began)


def alone(records: list[OfferRecord]) -> None:
    """Offers and prices, without facts, gates and run."""
    run = begin()
    with transaction.atomic(), connection.cursor() as cursor:
        stage_text(cursor, "incoming", INCOMING, copy_text(incoming(records)))
        add_places(cursor)
        write_offers(cursor, "acme", run.pk, records[0].collected_at)


def whole(records: list[OfferRecord]) -> None:
    """The publishing transaction."""
    run = begin()
    run.collected_at = records[0].collected_at
    publish(run, Normalised(records), run.epoch)
    if run.state not in ("published", "unchanged"):
        raise SystemExit(run.reason)


def begin(slug: str = "acme") -> ScrapeRun:
    """A run under the provider's lease; the one before it is over."""
    Provider.objects.get_or_create(slug=slug, defaults={"title": slug.title()})
    lease, _ = Lease.objects.get_or_create(provider_id=slug)
    ScrapeRun.objects.filter(state="running").update(state="failed", finished_at=MONDAY)
    return ScrapeRun.objects.create(provider_id=slug, epoch=lease.epoch, started_at=MONDAY)


def orm(records: list[OfferRecord]) -> None:
    """The baseline: offers and prices through the ORM."""
    types = dict(InstanceType.objects.values_list("name", "id"))
    columns = ["country_id", "usd_per_hour", "usd_per_gpu_hour", "native_amount", "native_currency",
               "collected_at", "source_url"]  # fmt: skip
    with transaction.atomic():
        Offer.objects.bulk_create(
            [
                Offer(
                    instance_type_id=types[r.instance_type],
                    region=r.region,
                    price_model=r.price_model.value,
                    listed_by_id="acme",
                    usd_per_hour=r.usd_per_hour,
                    usd_per_gpu_hour=r.usd_per_hour / 8 if r.usd_per_hour else None,
                    native_amount=r.native_amount,
                    native_currency=r.native_currency,
                    collected_at=r.collected_at,
                    source_url=r.source_url,
                    first_seen=r.collected_at,
                )
                for r in records
            ],
            batch_size=1000,
            update_conflicts=True,
            unique_fields=["instance_type", "via", "region", "tier", "price_model"],
            update_fields=[name.removesuffix("_id") for name in columns],
        )
        orm_prices(records)


def orm_prices(records: list[OfferRecord]) -> None:
    """Close and open periods where the price changed."""
    ids = {
        (name, region): pk
        for pk, name, region in Offer.objects.values_list("id", "instance_type__name", "region")
    }
    open_at = dict(Price.objects.filter(valid_to=None).values_list("offer_id", "native_amount"))
    changed = [
        (pk, r)
        for r in records
        if open_at.get(pk := ids[r.instance_type, r.region]) != r.native_amount
    ]
    Price.objects.filter(offer__in=[pk for pk, _ in changed], valid_to=None).update(
        valid_to=records[0].collected_at
    )
    Price.objects.bulk_create(
        [
            Price(
                offer_id=pk,
                native_amount=r.native_amount,
                native_currency=r.native_currency,
                usd_per_hour=r.usd_per_hour,
                valid_from=r.collected_at,
                source_url=r.source_url,
            )
            for pk, r in changed
        ],
        batch_size=1000,
    )


def measured(write: Callable[[list[OfferRecord]], None], count: int) -> tuple[float, float, float]:
    """Rows a second: inserted, unchanged, all changed. On empty tables of offers."""
    with connection.cursor() as cursor:
        cursor.execute("truncate catalog_offer, catalog_price, catalog_fact cascade")
    Provider.objects.update(published_run=None)
    records = offers(count)
    later = dearer(records, 1)
    return (
        rate(count, lambda: write(records)),
        rate(count, lambda: write(records)),
        rate(count, lambda: write(later)),
    )


def table(count: int) -> None:
    """Measure and print."""
    alone(offers(count))  # types, regions and warm caches
    rates = {
        "offers and prices (COPY, then one upsert)": measured(alone, count),
        "the whole publication (facts, gates, run)": measured(whole, count),
        BASELINE: measured(orm, count),
    }
    print(f"{count} offers, rows/s{'inserted':>32}{'unchanged':>18}{'all changed':>18}")
    for name, figures in rates.items():
        pairs = zip(figures, rates[BASELINE], strict=True)
        cells = (f"{figure:>9,.0f} ({figure / base:4.1f}×)" for figure, base in pairs)
        print(f"{name:<44}" + "".join(f"{cell:>18}" for cell in cells))

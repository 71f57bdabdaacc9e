"""The whole arrow, against a bare COPY and upsert of the same rows. Imported when Django is set up.

A list of Azure's form with so many rows goes through the parser's child, the gates and the
publishing transaction, as the service does it: first, again unchanged, then with every price
changed. The baseline has the rows ready, and does COPY into a temporary table and one
`insert … on conflict do update`: into the offers alone, and with the periods of their prices, which
the arrow writes too.
"""

import json
import resource
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from django.db import connection, transaction

from bench.ingest_rows import begin
from catalog.ingest import publish_ready
from catalog.models import Provider
from catalog.records import OfferRecord
from catalog.staging import stage
from scrapers.reading import Task, normalised, read

MONDAY = datetime(2026, 11, 23, 12, tzinfo=UTC)
URL = "https://prices.azure.com/api/retail/prices"
SIZES = {
    "ND96isr_H100_v5": 98, "ND96isr_H200_v5": 110, "ND96isr_MI300X_v5": 60, "ND96asr_v4": 27,
    "ND96amsr_A100_v4": 32, "NC24ads_A100_v4": 3, "NC48ads_A100_v4": 7, "NC96ads_A100_v4": 14,
    "NC40ads_H100_v5": 6, "NC80adis_H100_v5": 13, "NC4as_T4_v3": 1, "NC8as_T4_v3": 1,
    "NC16as_T4_v3": 1, "NC64as_T4_v3": 4, "NV36adms_A10_v5": 4, "NV72ads_A10_v5": 6,
    "ND40rs_v2": 22, "NC6s_v3": 3, "NC12s_v3": 6, "NC24s_v3": 12,
}  # fmt: skip


def payload(rows: int, dearer: Decimal) -> bytes:
    """Sizes x regions x (on demand, spot), each price `dearer` by so many dollars."""
    return json.dumps(
        {
            "Items": [_row(n, dearer) for n in range(rows)],
            "NextPageLink": None,
            "Count": rows,
        }
    ).encode()


def _row(n: int, dearer: Decimal) -> dict[str, object]:
    size = tuple(SIZES)[n % len(SIZES)]
    place, spot = divmod(n // len(SIZES), 2)
    price = (SIZES[size] + dearer) / (2 if spot else 1)
    name = size.replace("_", " ") + (" Spot" if spot else "")
    return {
        "currencyCode": "USD", "tierMinimumUnits": 0.0, "retailPrice": float(price),
        "unitPrice": float(price), "armRegionName": f"region{place}", "location": f"Place {place}",
        "effectiveStartDate": "2026-10-01T00:00:00Z", "meterId": f"{n:08d}-0000-0000-0000",
        "meterName": name, "productName": f"Virtual Machines {size[:2]} Series", "skuName": name,
        "serviceName": "Virtual Machines", "serviceFamily": "Compute", "unitOfMeasure": "1 Hour",
        "type": "Consumption", "isPrimaryMeterRegion": True, "armSkuName": f"Standard_{size}",
    }  # fmt: skip


def arrow(body: bytes, at: datetime) -> dict[str, float]:
    """Seconds of each step."""
    began = time.perf_counter()
    found = read(Task("azure", [(URL, body, at)], {}, None))
    parsed = time.perf_counter()
    run = begin("azure")
    run.collected_at = at
    publish_ready(run, found, run.epoch)
    if run.state not in ("published", "unchanged"):
        raise SystemExit(run.reason)
    ended = time.perf_counter()
    return {"read": parsed - began, "publish": ended - parsed, "all": ended - began}


# --- The baseline -----------------------------------------------------------------------------

ROW = {
    "type_id": "bigint", "region": "text", "price_model": "text", "native_amount": "numeric(20, 8)",
    "native_currency": "text", "usd_per_hour": "numeric(18, 8)", "collected_at": "timestamptz",
    "source_url": "text",
}  # fmt: skip
UPSERT = """
insert into catalog_offer as o (instance_type_id, region, price_model, listed_by_id, native_amount,
    native_currency, usd_per_hour, collected_at, source_url, first_seen, warnings, cross_check)
select type_id, region, price_model, 'azure', native_amount, native_currency, usd_per_hour,
    collected_at, source_url, collected_at, '{}', false from bare
on conflict (instance_type_id, via, region, tier, price_model) do update set
    native_amount = excluded.native_amount, native_currency = excluded.native_currency,
    usd_per_hour = excluded.usd_per_hour, collected_at = excluded.collected_at,
    source_url = excluded.source_url
"""
CLOSE = """
update catalog_price p set valid_to = o.collected_at from catalog_offer o
where p.offer_id = o.id and p.valid_to is null and p.native_amount <> o.native_amount
"""
OPEN = """
insert into catalog_price
    (offer_id, native_amount, native_currency, usd_per_hour, source_url, valid_from)
select o.id, o.native_amount, o.native_currency, o.usd_per_hour, o.source_url, o.collected_at
from catalog_offer o
where not exists (select from catalog_price p where p.offer_id = o.id and p.valid_to is null)
"""


def bare(offers: list[OfferRecord], *also: str) -> float:
    """Seconds."""
    with connection.cursor() as cursor:
        cursor.execute("select name, id from catalog_instancetype where provider_id = 'azure'")
        ids = dict(cursor.fetchall())
    began = time.perf_counter()
    with transaction.atomic(), connection.cursor() as cursor:
        rows = (
            (
                ids[o.instance_type], o.region, o.price_model.value, o.native_amount,
                o.native_currency, o.usd_per_hour, o.collected_at, o.source_url,
            )
            for o in offers
        )  # fmt: skip
        stage(cursor, "bare", ROW, rows)
        for statement in (UPSERT, *also):
            cursor.execute(statement)
    return time.perf_counter() - began


# --- The table --------------------------------------------------------------------------------


def table(rows: int) -> None:
    """Measure and print."""
    days = [MONDAY, MONDAY + timedelta(hours=1), MONDAY + timedelta(days=1)]
    bodies = [payload(rows, Decimal(more)) for more in ("0", "0", "0.25")]
    lists = list(zip(bodies, days, strict=True))
    arrow(payload(20 * len(SIZES), Decimal(0)), MONDAY - timedelta(days=1))  # types, warm caches
    _empty()
    steps = [arrow(body, at) for body, at in lists]
    records = [normalised(Task("azure", [(URL, body, at)], {}, None)).offers for body, at in lists]
    baselines: dict[str, Callable[[list[OfferRecord]], float]] = {
        "COPY + upsert": bare,
        "COPY + upsert, and periods": lambda offers: bare(offers, CLOSE, OPEN),
    }
    print(f"{rows} rows, rows/s{'inserted':>37}{'unchanged':>18}{'all changed':>18}")
    for name in steps[0]:
        cells = "".join(f"{rows / step[name]:>18,.0f}" for step in steps)
        print(f"{'the arrow: ' + name:<40}{cells}")
    for name, baseline in baselines.items():
        _empty()
        seconds = [baseline(offers) for offers in records]
        cells = "".join(
            f"{rows / taken:>10,.0f} ({taken / step['all']:4.2f}×)"
            for taken, step in zip(seconds, steps, strict=True)
        )
        print(f"{'baseline: ' + name:<40}{cells}")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"× is the arrow's speed in that of the baseline; peak of the child {peak:,.0f} MB")


def _empty() -> None:
    Provider.objects.update(published_run=None)
    with connection.cursor() as cursor:
        cursor.execute("update catalog_scraperun set collected_at = null")
        cursor.execute("truncate catalog_offer, catalog_price, catalog_quarantinedrow cascade")

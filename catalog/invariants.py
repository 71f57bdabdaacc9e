"""What must hold after every fault (reference/reliability.md, 2): for tests and operators."""

import zlib

from django.db import connection

from catalog.models import RawPayload
from catalog.payloads import digest

CHECKS = {
    "I1 an offer has one open price at most": """
        select count(*) from (select offer_id from catalog_price where valid_to is null
        group by offer_id having count(*) > 1) twice""",
    "I1 price periods never overlap": """
        select count(*) from (select valid_from, lag(coalesce(valid_to, 'infinity'))
        over (partition by offer_id order by valid_from) as before from catalog_price) periods
        where valid_from < before""",
    "I1 price periods run forward": """
        select count(*) from catalog_price where valid_to <= valid_from""",
    "I1 a listed offer has its price as an open period": """
        select count(*) from catalog_offer o left join catalog_price p
        on p.offer_id = o.id and p.valid_to is null where (o.ended_at is null) <> (p.id is not null)
        or o.ended_at is null and (p.native_amount, p.native_currency)
        is distinct from (o.native_amount, o.native_currency)""",
    "I2 every row of a run is accounted for": """
        select count(*) from catalog_scraperun where rows_in <> accepted + quarantined + ignored""",
    "I2 quarantined rows have a reason and a place": """
        select count(*) from catalog_quarantinedrow where reason = ''""",
    "I2 no run goes on without its lease": """
        select count(*) from catalog_scraperun r left join catalog_lease l
        on l.provider_id = r.provider_id and l.part = r.part
        where r.state = 'running' and (l.epoch is null
        or coalesce(l.expires_at, r.started_at) < clock_timestamp() - interval '90 seconds')""",
    "I2 one running run a provider": """
        select count(*) from (select provider_id from catalog_scraperun where state = 'running'
        group by provider_id, part having count(*) > 1) twice""",
    # Kept with its age: of a list that was not whole, or beside a row that could not be read.
    "I4 what a scrape listed is of its provider's published run, or kept": """
        select count(*) from catalog_offer o join catalog_provider l on l.slug = o.listed_by_id
        left join catalog_scraperun r on r.id = l.published_run_id
        where o.ended_at is null and o.run_id is not null
        and not exists (select from catalog_lease p where p.provider_id = l.slug and p.part <> '')
        and o.run_id is distinct from l.published_run_id
        and o.collected_at <= coalesce(r.collected_at, now())
        and coalesce(r.quarantined, 0) = 0 and coalesce(r.reason, '') = ''""",
    "I7 no price is 0, negative, NaN or infinite": """
        select count(*) from catalog_price where native_amount <= 0 or native_amount >= 'Infinity'
        or usd_per_hour <= 0 or usd_per_hour >= 'Infinity'""",
    "I7 every fact has its source, basis and day": """
        select count(*) from catalog_fact where source = '' or basis = '' or checked is null""",
}
PAYLOADS = "I3 every payload that a run names hashes to its name"


def broken(*, payloads: bool = True) -> dict[str, int]:
    """How many rows break each invariant; empty when all hold. Hashing `payloads` takes longest."""
    found = {name: _count(sql) for name, sql in CHECKS.items()}
    if payloads:
        found[PAYLOADS] = _bad_payloads()
    return {name: rows for name, rows in found.items() if rows}


def _count(sql: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return int(cursor.fetchone()[0])


def _bad_payloads() -> int:
    named = RawPayload.objects.filter(documents__isnull=False).distinct()
    return sum(not _sound(payload) for payload in named.iterator(chunk_size=20))


def _sound(payload: RawPayload) -> bool:
    try:
        return digest(zlib.decompress(bytes(payload.body))) == payload.sha256
    except zlib.error:
        return False

"""What is let go, and when: payloads and estimates after 30 days, quarantined rows after 90.

The payloads of the runs that offers stand on, and of runs that wait for a person, stay however
old they are. Facts, prices and runs stay for good.
"""

from datetime import timedelta

from django.db import connection, transaction

PAYLOADS = timedelta(days=30)
QUARANTINE = timedelta(days=90)
ESTIMATES = timedelta(days=30)  # they cost a second to make again


@transaction.atomic
def forget() -> tuple[int, int]:
    """How many payloads and quarantined rows went. A run no longer names what is gone."""
    with connection.cursor() as cursor:
        cursor.execute(
            "delete from catalog_runpayload d using catalog_scraperun r "
            "where r.id = d.run_id and r.started_at < statement_timestamp() - %s::interval "
            "and r.state not in ('running', 'held') and not exists "
            "(select from catalog_provider p where p.published_run_id = r.id) and not exists "
            "(select from catalog_offer o where o.run_id = r.id and o.ended_at is null)",
            [str(PAYLOADS)],
        )
        cursor.execute(
            "create temporary table gone on commit drop as select sha256 from catalog_rawpayload y "
            "where fetched_at < statement_timestamp() - %s::interval "
            "and not exists (select from catalog_runpayload d where d.payload_id = y.sha256)",
            [str(PAYLOADS)],
        )
        cursor.execute(
            "update catalog_quarantinedrow set payload_id = null "
            "where payload_id in (select sha256 from gone)"
        )
        cursor.execute("delete from catalog_rawpayload where sha256 in (select sha256 from gone)")
        payloads = int(cursor.rowcount)
        cursor.execute(
            "delete from catalog_estimate where computed_at < statement_timestamp() - %s::interval",
            [str(ESTIMATES)],
        )
        cursor.execute(
            "delete from catalog_quarantinedrow q using catalog_scraperun r "
            "where r.id = q.run_id and r.started_at < statement_timestamp() - %s::interval",
            [str(QUARANTINE)],
        )
        return payloads, int(cursor.rowcount)

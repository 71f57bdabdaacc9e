"""Figures of the service for its operators, read from the database when they are asked for.

A room that stands on this one adds its own where its app gets ready:

    gauges.add(Gauge("fabricscout_outbox", "Events on their way", ("state",), lambda: [("due", 3)]))
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.models import QuarantinedRow
from catalog.sql import rows_of


@dataclass(frozen=True, slots=True)
class Gauge:
    """A figure, or one for each combination of labels: what is read are labels, the value last."""

    name: str
    says: str
    labels: tuple[str, ...]
    read: Callable[[], Iterable[Sequence[Any]]]


GAUGES: dict[str, Gauge] = {}


def add(*gauges: Gauge) -> None:
    """Make figures some of those that `/metrics` tells."""
    GAUGES.update({gauge.name: gauge for gauge in gauges})


def _sql(statement: str) -> Callable[[], Iterable[Sequence[Any]]]:
    return lambda: rows_of(statement, [])


add(
    Gauge(
        "fabricscout_offers",
        "Offers on the list",
        ("provider",),
        _sql("select listed_by_id, count(*) from catalog_offer where ended_at is null group by 1"),
    ),
    Gauge(
        "fabricscout_catalog_age_seconds",
        "Since the newest price of a provider was collected",
        ("provider",),
        _sql(
            "select listed_by_id, extract(epoch from clock_timestamp() - max(collected_at)) "
            "from catalog_offer where ended_at is null group by 1"
        ),
    ),
    Gauge(
        "fabricscout_scrape_runs_last_day",
        "Runs that began within 24 hours",
        ("provider", "state"),
        _sql(
            "select provider_id, state, count(*) from catalog_scraperun "
            "where started_at > clock_timestamp() - interval '1 day' group by 1, 2"
        ),
    ),
    Gauge(
        "fabricscout_quarantined_rows",
        "Rows that wait for a person",
        ("provider",),
        lambda: QuarantinedRow.objects.open().by_provider().items(),
    ),
    Gauge(
        "fabricscout_queue_due",
        "Lists that are due and that nobody reads yet",
        (),
        _sql(
            "select count(*) from catalog_lease where due_at <= clock_timestamp() "
            "and (expires_at is null or expires_at < clock_timestamp())"
        ),
    ),
)

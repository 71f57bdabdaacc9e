"""What an aggregator says of a seller that is read directly, against the seller's own price.

The direct price is the one that is listed. Another that is more than APART_PERCENT away from it is
flagged: one of the two is late, or is of something else under the same name.
"""

from decimal import Decimal
from typing import Any

from django.db import connection

APART_PERCENT = 2

# Of the seller's own offers of the same GPUs, sold in the same way: of the type of the same name
# if there is one, in the same tier and region if they are, and else the nearest in price.
_BESIDE_DIRECT = """
select t.provider_id as provider, o.via, t.name as instance_type, o.region, o.tier, o.price_model,
    o.usd_per_gpu_hour, o.collected_at, d.name as direct_instance_type, d.region as direct_region,
    d.usd_per_gpu_hour as direct_usd_per_gpu_hour, d.collected_at as direct_collected_at,
    round(100 * (o.usd_per_gpu_hour / d.usd_per_gpu_hour - 1), 1) as percent
from catalog_offer o
join catalog_instancetype t on t.id = o.instance_type_id
cross join lateral (
    select s.name, e.region, e.usd_per_gpu_hour, e.collected_at
    from catalog_offer e join catalog_instancetype s on s.id = e.instance_type_id
    where s.provider_id = t.provider_id and s.gpu = t.gpu and s.gpu_count = t.gpu_count
      and e.price_model = o.price_model and e.via is null and e.run_id is not null
      and e.ended_at is null and e.usd_per_gpu_hour > 0
    order by s.name <> t.name, e.tier is distinct from o.tier, e.region is distinct from o.region,
        abs(e.usd_per_gpu_hour - o.usd_per_gpu_hour), e.id
    limit 1
) d
where o.cross_check and o.ended_at is null and o.usd_per_gpu_hour is not null
order by 1, 2, 3, 4, 5, 6
"""


def cross_checked() -> tuple[int, list[dict[str, Any]]]:
    """How many prices were held against the seller's own, and those that are too far from it.

    `percent` is how much dearer the aggregator says it is.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE_DIRECT)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return len(rows), [_plain(row) for row in rows if abs(row["percent"]) > APART_PERCENT]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """Money as the text of a decimal, as everywhere; the rest as JSON has it."""
    return {
        name: float(value)
        if name == "percent"
        else f"{value.normalize():f}"
        if isinstance(value, Decimal)
        else value
        for name, value in row.items()
    }

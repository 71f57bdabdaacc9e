"""What an aggregator says of a seller that is read directly, against the seller's own price.

The direct price is the one that is listed. Another that is more than APART_PERCENT away from it is
flagged: one of the two is late, or is of something else under the same name.
"""

from decimal import Decimal
from typing import Any

from django.db import connection

APART_PERCENT = 2

# Like is held against like: of the seller's own offers of the same GPUs, sold in the same way,
# those of the type of the same name if there is one; in the same region where both name regions.
# Where one of them names none, the lowest price of each is compared. A region that the other list
# does not have is held against nothing. Of what is left, the same tier, then the nearest in price.
_BESIDE_DIRECT = """
with checks as materialized (
    select t.provider_id as provider, o.via, t.name as instance_type, t.gpu, t.gpu_count, o.region,
        o.tier, o.price_model, o.usd_per_gpu_hour, o.collected_at
    from catalog_offer o join catalog_instancetype t on t.id = o.instance_type_id
    where o.cross_check and o.ended_at is null and o.usd_per_gpu_hour is not null
), direct as materialized (
    select s.provider_id as provider, s.name, s.gpu, s.gpu_count, e.region, e.tier, e.price_model,
        e.usd_per_gpu_hour, e.collected_at
    from catalog_offer e join catalog_instancetype s on s.id = e.instance_type_id
    where e.via is null and e.run_id is not null and e.ended_at is null and e.usd_per_gpu_hour > 0
      and s.provider_id in (select provider from checks)
)
select c.provider, c.via, c.instance_type, c.region, c.tier, c.price_model, c.usd_per_gpu_hour,
    c.collected_at, d.name as direct_instance_type, d.region as direct_region,
    d.usd_per_gpu_hour as direct_usd_per_gpu_hour, d.collected_at as direct_collected_at,
    round(100 * (c.usd_per_gpu_hour / d.usd_per_gpu_hour - 1), 1) as percent
from checks c cross join lateral (
    select d.* from direct d
    where d.provider = c.provider and d.gpu = c.gpu and d.gpu_count = c.gpu_count
      and d.price_model = c.price_model and coalesce(d.region = c.region, true)
      and (d.name = c.instance_type or not exists (
        select from direct n where n.provider = c.provider and n.name = c.instance_type
          and n.price_model = c.price_model))
    order by d.tier is distinct from c.tier, d.region is distinct from c.region,
        case when d.region is distinct from c.region and d.name = c.instance_type
          then d.usd_per_gpu_hour else abs(d.usd_per_gpu_hour - c.usd_per_gpu_hour) end,
        d.name, d.region
    limit 1
) d
order by c.provider, c.via, c.instance_type, c.price_model, c.tier, c.usd_per_gpu_hour, c.region
"""
SAME_REGION, LOWEST = "same region", "lowest of both"


def cross_checked() -> tuple[int, list[dict[str, Any]]]:
    """How many prices were held against the seller's own, and what is too far from it.

    What is too far is told once for each type and way of selling: in how many `regions`, and the
    widest gap, whose `percent` is how much dearer the aggregator says it is. `compared` says
    whether the two prices are of the same region or the lowest of both lists.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE_DIRECT)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    compared = _like_with_like(rows)
    far = [row for row in compared if abs(row["percent"]) > APART_PERCENT]
    groups: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for row in far:
        key = tuple(row[name] for name in ("provider", "via", "instance_type", "price_model"))
        groups.setdefault(key, []).append(row)
    told = [_widest(group) for group in groups.values()]
    return len(compared), sorted(told, key=lambda row: -abs(row["percent"]))


def _like_with_like(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each with how it was compared; where one list names no region, the lowest alone."""
    kept: list[dict[str, Any]] = []
    seen = set()
    for row in rows:  # the lowest of a type, way of selling and tier comes first
        if row["region"] == row["direct_region"]:
            kept.append(row | {"compared": SAME_REGION})
            continue
        what = tuple(row[n] for n in ("provider", "via", "instance_type", "price_model", "tier"))
        if what not in seen:
            seen.add(what)
            kept.append(row | {"compared": LOWEST})
    return kept


def _widest(group: list[dict[str, Any]]) -> dict[str, Any]:
    regions = {row["region"] for row in group}
    return _plain(max(group, key=lambda row: abs(row["percent"]))) | {"regions": len(regions)}


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

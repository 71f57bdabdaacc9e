"""Offers and their prices, set-wise: from the staged table `incoming` into the tables.

Every statement writes only rows that differ, in key order. An offer newer than the incoming row
(a live price against a bundled, dated one) is left alone.
"""

# ruff: noqa: S608 -- only names of our own are written into SQL; every value is a parameter

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from catalog.freshness import LIMITS
from catalog.records import Identity, PriceModel
from catalog.staging import IDENTITY, IN_SCOPE, CursorWrapper, stage
from catalog.statements import add_types

# So many new rows that the planner must know of them before the next list: it would else believe
# the tables empty until the next autovacuum, and join them row by row (measured: 36 s, not 1).
MANY = 1000


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the offers of one list."""

    new: int = 0
    changed: int = 0
    ended: int = 0
    unchanged: int = 0
    written: int = 0  # rows of offers and prices that were touched at all


def add_places(cursor: CursorWrapper) -> None:
    """The providers, types, countries and regions that the incoming rows name."""
    add_types(cursor, "incoming")
    cursor.execute(
        "insert into catalog_country (code) select distinct country from incoming "
        "where country is not null order by 1 on conflict do nothing"
    )
    cursor.execute(
        "insert into catalog_region (provider_id, region, country, continent, source) "
        f"select provider, region, min(country), {_CONTINENT}, min(source_url) "
        "from incoming where region <> '' "
        "group by 1, 2 order by 1, 2 on conflict (provider_id, region) do update "
        "set country = coalesce(catalog_region.country, excluded.country), "
        "continent = coalesce(catalog_region.continent, excluded.continent) "
        "where (catalog_region.country is null and excluded.country is not null) "
        "or (catalog_region.continent is null and excluded.continent is not null)"
    )


# Of a region whose country nobody says, by the words that its name begins with.
CONTINENTS = {
    "africa": "africa", "asia": "asia", "europe|eu": "europe", "oceania": "oceania",
    "north[- ]?america": "north-america", "south[- ]?america": "south-america",
}  # fmt: skip
_CONTINENT = "case {} end".format(
    " ".join(f"when region ~* '^({words})\\M' then '{name}'" for words, name in CONTINENTS.items())
)


def write_offers(
    cursor: CursorWrapper,
    lister: str | None,
    run: UUID | None,
    at: datetime,
    scope: list[str] | None = None,
    *,
    whole: bool = True,
    kept: Iterable[Identity] = (),
) -> Counts:
    """Make the incoming rows what `lister` lists. With neither run nor lister: the bundled list.

    Of a list that is not whole, what is missing has not ended; nor has what lies outside its
    `scope`, nor those that are `kept`: a row of theirs is there, and a gate doubts it.
    """
    cursor.execute(_MATCHED)
    _candidates(cursor)
    cursor.execute(
        "select count(*) filter (where fresh), "
        "count(*) filter (where differs and not older), count(*) from matched"
    )
    new, changed, total = cursor.fetchone()
    written = sum(_run(cursor, sql, run=run, lister=lister) for sql in (_UPDATE, _INSERT))
    written += _reprice(cursor, run)
    stage(cursor, "kept", IDENTITY, (tuple(part or "" for part in each) for each in kept))
    ended = _end(cursor, lister, run, at, scope) if whole else 0
    _mark_cross_checks(cursor)
    if new > MANY:
        cursor.execute("analyze catalog_offer, catalog_price")
    return Counts(new, changed, ended, total - new - changed, written + ended)


def _run(cursor: CursorWrapper, sql: str, **values: UUID | str | None) -> int:
    cursor.execute(sql, values)
    return int(cursor.rowcount)


def _candidates(cursor: CursorWrapper) -> None:
    """Which SKUs a type may be, where its listing does not say which it is."""
    cursor.execute(
        "update catalog_instancetype t set gpu_candidates = m.said from ("
        "  select type_id, coalesce(array_agg(distinct c order by c) filter (where c is not null),"
        "  '{}') as said from matched left join unnest(gpu_candidates) c on true group by type_id"
        ") m where t.id = m.type_id and t.gpu_candidates::text[] is distinct from m.said"
    )


# Each incoming row beside the offer that it continues, or, where it is `fresh`, under the number
# that its offer will have. A new exchange rate alone is no change.
_MATCHED = """
drop table if exists pg_temp.matched;
create temporary table matched on commit drop as
select i.*, t.id as type_id, o.id is null as fresh,
    coalesce(o.id, nextval('catalog_offer_id_seq')) as offer_id,
    round(i.usd_per_hour / t.gpu_count::numeric, 6) as usd_per_gpu_hour,
    coalesce(o.collected_at > i.collected_at, false) as older,
    o.id is not null and (o.ended_at is not null or (
        o.native_amount, o.native_currency, o.usd_per_hour is null, o.available, o.country::text,
        o.price_note, o.price_includes, o.minimum_hours, o.warnings::text[]
    ) is distinct from (
        i.native_amount, i.native_currency, i.usd_per_hour is null, i.available, i.country,
        i.price_note, i.price_includes, i.minimum_hours, i.warnings
    )) as differs
from incoming i
join catalog_instancetype t on t.provider_id = i.provider and t.name = i.name
left join catalog_offer o on o.instance_type_id = t.id and coalesce(o.via, '') = i.via
    and coalesce(o.region, '') = i.region and coalesce(o.tier, '') = i.tier
    and o.price_model = i.price_model;
analyze matched (type_id, offer_id)
"""

_VALUES = (
    "country", "available", "usd_per_hour", "usd_per_gpu_hour", "native_amount",
    "native_currency", "usd_rate", "usd_rate_date", "price_note", "price_includes",
    "minimum_hours", "collected_at", "source_url", "warnings",
)  # fmt: skip
_LISTER = "coalesce(%(lister)s, nullif(m.via, ''), m.provider)"
_INSERT = f"""
insert into catalog_offer (id, instance_type_id, via, region, tier, price_model, listed_by_id,
    {", ".join(_VALUES)}, first_seen, run_id)
select offer_id, type_id, nullif(via, ''), nullif(region, ''), nullif(tier, ''), price_model,
    {_LISTER}, {", ".join(_VALUES)}, collected_at, %(run)s
from matched m where fresh order by n
"""
_STANDING = [f"o.{name}" + ("::text[]" if name == "warnings" else "") for name in _VALUES]
# What is known to be there is updated by its key: twice as fast as `on conflict`.
_UPDATE = f"""
update catalog_offer o set {", ".join(f"{name} = m.{name}" for name in _VALUES)},
    listed_by_id = {_LISTER}, run_id = coalesce(%(run)s, o.run_id), ended_at = null
from matched m where m.offer_id = o.id and not m.older
    and ((o.ended_at, o.listed_by_id, {", ".join(_STANDING)})
        is distinct from (null, {_LISTER}, {", ".join(f"m.{name}" for name in _VALUES)})
        or (o.run_id is null and %(run)s::uuid is not null))
"""
_OF_THIS_RUN = """
update catalog_offer o set run_id = %(run)s from matched m
where m.offer_id = o.id and not m.older and o.run_id <> %(run)s
"""


def _reprice(cursor: CursorWrapper, run: UUID | None) -> int:
    """Close and open periods where the price changed; answers the rows written."""
    cursor.execute(_REPRICED)
    return sum(_run(cursor, sql, run=run) for sql in (_CORRECT, _CLOSE, _OPEN))


# A price is its amount and currency. One that is stated for the very moment at which the open
# period began corrects that period: a replayed payload, a bug that was fixed.
_REPRICED = """
drop table if exists pg_temp.repriced;
create temporary table repriced on commit drop as
select m.*, p.id as open_id, coalesce(p.valid_from >= m.collected_at, false) as corrects
from matched m left join catalog_price p on p.offer_id = m.offer_id and p.valid_to is null
where not m.older and (p.id is null
    or (p.native_amount, p.native_currency, p.usd_per_hour is null)
    is distinct from (m.native_amount, m.native_currency, m.usd_per_hour is null))
"""
_PRICE = (
    "native_amount", "native_currency", "usd_per_hour", "usd_rate", "usd_rate_date", "source_url",
)  # fmt: skip
_CORRECT = f"""
update catalog_price p set {", ".join(f"{name} = r.{name}" for name in _PRICE)}, run_id = %(run)s
from repriced r where p.id = r.open_id and r.corrects
"""
_CLOSE = """
update catalog_price p set valid_to = r.collected_at
from repriced r where p.id = r.open_id and not r.corrects
"""
# It opens where the one before was closed, which no other outlasts; or where none was open, as of
# an offer that comes back, not before the last one ended.
_OPEN = f"""
insert into catalog_price (offer_id, {", ".join(_PRICE)}, valid_from, run_id)
select offer_id, {", ".join(_PRICE)}, case
        when fresh or open_id is not null then collected_at
        else greatest(collected_at,
            (select max(q.valid_to) from catalog_price q where q.offer_id = r.offer_id))
    end, %(run)s
from repriced r where open_id is null or not corrects order by offer_id
"""


_KEPT = """o.instance_type_id = t.id and coalesce(o.via, '') = k.via
  and coalesce(o.region, '') = k.region and coalesce(o.tier, '') = k.tier
  and o.price_model = k.price_model"""


_NAMELESS = """exists (
    select from catalog_quarantinedrow q
    where q.run_id = %(run)s and q.gate = 'unreadable'
      and not exists (
        select from catalog_offer l join catalog_instancetype n on n.id = l.instance_type_id
        where l.listed_by_id = %(lister)s and l.ended_at is null and position(n.name in q.row) > 0)
      and not exists (
        select from catalog_quarantinedrow p join catalog_scraperun r on r.id = p.run_id
        where r.provider_id = %(lister)s and p.run_id <> q.run_id and p.key = q.key))"""


def _end(
    cursor: CursorWrapper,
    lister: str | None,
    run: UUID | None,
    at: datetime,
    scope: list[str] | None,
) -> int:
    """Offers that are listed no more: ended, not deleted, and their open period closed.

    A scrape ends what scrapes have listed; the bundled list, what only it has listed. So a live
    list that covers less than the bundled one leaves the rest standing, with its date. Nor does an
    offer end that is `kept`, or whose type stands in a row that could not be read: that row may be
    the offer. A row that names nothing we list, and was not there before, may be any of them: then
    none ends until the next list.
    """
    whose = "o.listed_by_id = %(lister)s and o.run_id is not null" if run else "o.run_id is null"
    cursor.execute(
        "with gone as (update catalog_offer o set ended_at = %(at)s "
        f"where o.ended_at is null and {whose} and {IN_SCOPE} "
        "and not exists (select from matched m where m.offer_id = o.id) "
        "and not exists (select from kept k join catalog_instancetype t "
        f"on t.provider_id = k.provider and t.name = k.name where {_KEPT}) "
        "and not exists (select from catalog_quarantinedrow q join catalog_instancetype t "
        "on position(t.name in q.row) > 0 "
        "where q.run_id = %(run)s and t.id = o.instance_type_id) "
        f"and not {_NAMELESS} returning o.id), "
        "closed as (update catalog_price p set "
        "valid_to = greatest(%(at)s, p.valid_from + interval '1 microsecond') "
        "from gone where p.offer_id = gone.id and p.valid_to is null) select count(*) from gone",
        {"lister": lister, "at": at, "run": run, "scope": scope},
    )
    return int(cursor.fetchone()[0])


# The direct price wins unless the aggregator has seen the seller so much later: a direct list that
# is no longer read must not hide what others still see.
FALLEN_BEHIND = LIMITS[PriceModel.ON_DEMAND].stale


def _mark_cross_checks(cursor: CursorWrapper) -> None:
    """An aggregator fills in what the seller's own list does not have; of what it has, it checks.

    By price model and by what is sold: the type of the same name, or the same GPUs under another.
    What the seller's own list has let go of stays out, as long as that list is read.
    """
    _run(cursor, _CROSS_CHECKS, behind=str(FALLEN_BEHIND))


_CROSS_CHECKS = """
with through as materialized (
    select o.id, o.price_model, o.collected_at, o.cross_check, t.provider_id,
        t.id as type, t.gpu, t.gpu_count
    from catalog_offer o join catalog_instancetype t on t.id = o.instance_type_id
    where o.via is not null and o.ended_at is null
      and t.provider_id in (select provider from incoming)
), direct as materialized (
    select t.provider_id, o.price_model, t.id as type, t.gpu, t.gpu_count,
        max(max(o.collected_at) filter (where o.ended_at is null))
          over (partition by t.provider_id, o.price_model) as seen
    from catalog_offer o join catalog_instancetype t on t.id = o.instance_type_id
    where o.via is null and o.run_id is not null
      and o.native_amount is not null and t.provider_id in (select provider_id from through)
    group by t.provider_id, o.price_model, t.id
), checked as materialized (
    select h.id, exists (
        select from direct d
        where d.provider_id = h.provider_id and d.price_model = h.price_model
          and (d.type = h.type or d.gpu = h.gpu and d.gpu_count = h.gpu_count)
          and d.seen > h.collected_at - %(behind)s::interval
      ) as checks
    from through h
)
update catalog_offer o set cross_check = c.checks from checked c
where o.id = c.id and o.cross_check <> c.checks
"""


def adopt(cursor: CursorWrapper, run: UUID) -> None:
    """All that a list confirms is of its run, once it has changed anything at all."""
    _run(cursor, _OF_THIS_RUN, run=run)


def reprice_types(cursor: CursorWrapper, types: list[int]) -> None:
    """Dollars per GPU again, where a corrected count of GPUs changes them."""
    cursor.execute(
        "update catalog_offer o set usd_per_gpu_hour = "
        "round(o.usd_per_hour / t.gpu_count::numeric, 6) from catalog_instancetype t "
        "where t.id = o.instance_type_id and t.id = any(%s) and o.usd_per_gpu_hour "
        "is distinct from round(o.usd_per_hour / t.gpu_count::numeric, 6)",
        [types],
    )

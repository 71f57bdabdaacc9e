"""The listing: one wide row an offer, under the names of DESIGN 7, as SQL.

`offer_listing` is what is listed now; `offer_listing_at(as_of)` has the same columns with the
price of the period that holds `as_of`. Both are made from the one text below.

Of the past only prices are kept, so `offer_listing_at` answers the same next year: `available` is
null there, `collected_at` is the last scrape before `as_of` that confirmed the price, and what is
known of the hardware is what is known today. Amounts keep their column's scale (2.00000000):
print them with `trim_scale`.

A change of this text or of `catalog.freshness.LIMITS` needs a migration that runs CREATE again
(`tests/catalog/test_models.py` says so when it is missing).
"""

from datetime import timedelta

from catalog.freshness import LIMITS, MISSED_INTERVALS, UNPRICED, Limit
from catalog.records import NO_PRICE_FOUND, OFFER_KEYS
from catalog.scopes import REGIONAL

NOT_JOINED = "its provider says that instances are not joined in this region"
# Keys that are not columns of the instance type (t): of the offer (o), of its price (h).
_OFFER = {
    "provider": "t.provider_id::text",
    "via": "o.via::text",
    "instance_type": "t.name::text",
    "region": "o.region::text",
    "country": "coalesce(o.country, r.country)::text",
    "tier": "o.tier::text",
    "price_model": "o.price_model::text",
    "available": "{available}",
    "gpu_candidates": "t.gpu_candidates::text[]",
    "disputed": "t.disputed::text[]",
    "usd_per_hour": "h.usd_per_hour",
    "usd_per_gpu_hour": "{usd_per_gpu_hour}",
    "native_amount": "h.native_amount",
    "native_currency": "h.native_currency::text",
    "usd_rate": "h.usd_rate",
    "usd_rate_date": "h.usd_rate_date",
    "price_note": "o.price_note::text",
    "price_includes": "o.price_includes::text",
    "minimum_hours": "o.minimum_hours",
    "collected_at": "{collected_at}",
    "stale": "{stale}",
    "source_url": "h.source_url::text",
    "warnings": "o.warnings::text[] || case when t.by_region->o.region->>'multi_node' = 'no' "
    f"then array['{NOT_JOINED}'] else '{{{{}}}}' end",
}
_HELPERS = {
    "provider_title": "p.title::text",
    "continent": "coalesce(c.continent, r.continent)::text",
    "scale_up_domain_guaranteed_gpus": "t.scale_up_domain_guaranteed_gpus",
    "frontend_burst_gbits_per_s": "t.frontend_burst_gbits_per_s",
    "rdma": "t.rdma",
    "rail_optimised": "t.rail_optimised",
    "adaptive_routing": "t.adaptive_routing",
    "oversubscription": "t.oversubscription",
    "same_fabric": "t.same_fabric",
    "total_gpu_memory_gb": "t.gpu_count * t.gpu_memory_gb",
    "measured_pair_gbytes_per_s": "t.measured_pair_gbytes_per_s",
    "checked": "t.checked",
    "evidence": "t.evidence",
    "outdated": "{outdated}",
    "ended_at": "o.ended_at",
}
# What may be other in a region (`catalog.scopes`): its value there stands before the type's.
_REGIONAL = dict.fromkeys(REGIONAL, "text") | {
    "fabric_nics": "integer",
    "max_gpus_on_one_fabric": "integer",
    "fabric_gbits_per_s_per_nic": "double precision",
    "fabric_gbits_per_s": "double precision",
    "fabric_gbits_per_s_per_gpu": "double precision",
    "oversubscription": "double precision",
    "cliff": "double precision",
}
COLUMNS = ("offer_id", "instance_type_id", *OFFER_KEYS, *_HELPERS)

# Providers are joined as if some had none, so that a list that asks for nothing of theirs (a title,
# whether it is stale) leaves them unread.
_FROM = """
  from catalog_offer o
  {prices}
  join catalog_instancetype t on t.id = o.instance_type_id
  left join catalog_provider p on p.slug = t.provider_id
  left join catalog_provider l on l.slug = o.listed_by_id
  left join catalog_region r on r.provider_id = t.provider_id and r.region = o.region
  left join catalog_country c on c.code = coalesce(o.country, r.country)"""

# The period that holds as_of, found by one index probe an offer; and when its list, or the part of
# it that the offer stands in, was read last by then.
_PERIOD = """join lateral (
    select * from catalog_price q
    where q.offer_id = o.id and q.valid_from <= as_of order by q.valid_from desc limit 1
  ) h on h.valid_to is null or h.valid_to > as_of
  left join catalog_scraperun w on w.id = h.run_id
  left join (
    select provider_id, part, max(collected_at) as seen from catalog_scraperun
    where state in ('published', 'unchanged') and collected_at <= as_of group by 1, 2
  ) s on s.provider_id = o.listed_by_id and s.part = w.part"""


# A type of which no price was found is listed as such, but not beside an offer of it.
_GIVES_WAY = f"""(o.price_note is distinct from '{NO_PRICE_FOUND}' or not exists (
    select from catalog_offer q
    where q.instance_type_id = o.instance_type_id and q.id <> o.id and q.ended_at is null
      and not q.cross_check
  ))"""

# An offer of no region says nothing beside one of the same thing in a region: what a list calls
# its price anywhere, or a dated price, gives way to what is read of the regions.
_NOWHERE = """(o.region is not null or not exists (
    select from catalog_offer q
    where q.instance_type_id = o.instance_type_id and q.region is not null
      and q.via is not distinct from o.via and q.tier is not distinct from o.tier
      and q.price_model = o.price_model and q.native_amount is not null and not q.cross_check
      and (q.run_id is not null or o.run_id is null) and {listed}
  ))"""

# An aggregator's offer is listed where its seller was not read directly at the time.
_OF_THEN = """(not o.cross_check or not exists (
    select from catalog_offer d join catalog_instancetype s on s.id = d.instance_type_id
    where s.provider_id = t.provider_id and d.price_model = o.price_model
      and d.via is null and d.run_id is not null and d.first_seen <= as_of
  ))"""


def create() -> str:
    """The statements that make the view and the function anew."""
    return f"{DROP}\n{_view()}\n{_function()}"


DROP = "drop function if exists offer_listing_at(timestamptz); drop view if exists offer_listing;"


def _view() -> str:
    now = {
        "at": "now()",
        "available": "o.available",
        "collected_at": "o.collected_at",
        "usd_per_gpu_hour": "o.usd_per_gpu_hour",
    }
    select = _select(now, prices="").replace("h.", "o.")
    nowhere = _NOWHERE.format(listed="q.ended_at is null")
    listed = f"o.ended_at is null and not o.cross_check and {_GIVES_WAY} and {nowhere}"
    return f"create view offer_listing as {select}\n  where {listed};"


def _function() -> str:
    then = {
        "at": "as_of",
        "available": "null::boolean",
        "collected_at": "greatest(h.valid_from, s.seen)",
        "usd_per_gpu_hour": "round(h.usd_per_hour / t.gpu_count::numeric, 6)",
    }
    nowhere = _NOWHERE.format(listed="q.first_seen <= as_of and coalesce(q.ended_at > as_of, true)")
    return (
        "create function offer_listing_at(as_of timestamptz) returns setof offer_listing "
        f"language sql stable as $$ {_select(then, prices=_PERIOD)}\n"
        f"  where {_OF_THEN} and {nowhere} $$;"
    )


def _select(words: dict[str, str], prices: str) -> str:
    age = f"({words['at']} - {words['collected_at']})"
    words = words | {"stale": _stale(age), "outdated": _older(age, "outdated")}
    columns = {"offer_id": "o.id", "instance_type_id": "t.id"}
    columns |= {key: _OFFER.get(key) or _of_type(key) for key in OFFER_KEYS}
    helpers = {name: _of_type(name) if name in _REGIONAL else sql for name, sql in _HELPERS.items()}
    listed = ",\n    ".join(
        f"{expression.format_map(words)} as {name}"
        for name, expression in (columns | helpers).items()
    )
    return f"select\n    {listed}{_FROM.format(prices=prices)}"


def _of_type(name: str) -> str:
    if name not in _REGIONAL:
        return f"t.{name}"
    here = "t.by_region->o.region"
    there = f"({here}->>'{name}')::{_REGIONAL[name]}"
    return f"case when {here} ? '{name}' then {there} else t.{name} end"


def _stale(age: str) -> str:
    """Older than its limit, or than three intervals of a listing that is fetched live."""
    missed = f"{age} > {MISSED_INTERVALS} * l.interval"
    return (
        f"({_older(age, 'stale')} or "
        f"(o.run_id is not null and l.fetched_live_at is not null and {missed}))"
    )


def _older(age: str, limit: str) -> str:
    def interval(of: Limit) -> str:
        value: timedelta = getattr(of, limit)
        return f"interval '{int(value.total_seconds())} seconds'"

    cases = " ".join(f"when '{model}' then {interval(of)}" for model, of in LIMITS.items())
    return (
        f"({age} > case when h.usd_per_hour is null and h.native_amount is null "
        f"then {interval(UNPRICED)} else case o.price_model {cases} end end)"
    )

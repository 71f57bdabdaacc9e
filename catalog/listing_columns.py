"""What the columns of the listing are made of, as SQL over the tables.

Of an offer (o), its instance type (t), its provider (p), where it is (r, c) and who lists it (l).
Where a price stands (h) is the offer itself, or the period of a time. The words in braces differ
between now and a time: `listing_sql` fills them.
"""

from datetime import timedelta

from catalog.freshness import LIMITS, MISSED_INTERVALS, UNPRICED, Limit
from catalog.records import NO_PRICE_FOUND, OFFER_KEYS
from catalog.scopes import REGIONAL

MONEY = frozenset({"usd_per_hour", "usd_per_gpu_hour", "native_amount", "usd_rate"})
NUMBERS = MONEY | {
    "gpu_count", "gpu_memory_gb", "vcpus", "ram_gb", "nvlink_generation", "scale_up_gbytes_per_s",
    "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus", "nvlink_domain_gpus",
    "domain_gpu_memory_gb", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s",
    "fabric_gbits_per_s_per_gpu", "frontend_gbits_per_s", "max_gpus_on_one_fabric", "cliff",
    "minimum_hours",
}  # fmt: skip
NOT_JOINED = "its provider says that instances are not joined in this region"
# Keys that are not columns of the instance type.
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
    "usd_per_hour": "{price}.usd_per_hour",
    "usd_per_gpu_hour": "{usd_per_gpu_hour}",
    "native_amount": "{price}.native_amount",
    "native_currency": "{price}.native_currency::text",
    "usd_rate": "{price}.usd_rate",
    "usd_rate_date": "{price}.usd_rate_date",
    "price_note": "o.price_note::text",
    "price_includes": "o.price_includes::text",
    "minimum_hours": "o.minimum_hours",
    "collected_at": "{collected_at}",
    "stale": "({at} > {stale_at})",
    "source_url": "{price}.source_url::text",
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
    "outdated": "({at} > {outdated_at})",
    "outdated_at": "{outdated_at}",
    "stale_at": "{stale_at}",
    "ended_at": "o.ended_at",
    # A number for what is one row of a list of types: of one type, sold in one way.
    "row_key": "hashtextextended(concat_ws('|', coalesce(o.via, ''), coalesce(o.tier, ''), "
    "o.price_model), t.id)",
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
NOW = {
    "price": "o",
    "at": "now()",
    "available": "o.available",
    "collected_at": "o.collected_at",
    "usd_per_gpu_hour": "o.usd_per_gpu_hour",
}
THEN = {
    "price": "h",
    "at": "as_of",
    "available": "null::boolean",
    "collected_at": "greatest(h.valid_from, s.seen)",
    "usd_per_gpu_hour": "round(h.usd_per_hour / t.gpu_count::numeric, 6)",
}


def expressions(words: dict[str, str]) -> dict[str, str]:
    """Every column by its SQL, at NOW or THEN."""
    price, read = words["price"], words["collected_at"]
    words = words | {
        "stale_at": _stale_at(read, price),
        "outdated_at": f"({read} + {_limit('outdated', price)})",
    }
    columns = {"offer_id": "o.id", "instance_type_id": "t.id"}
    columns |= {key: _OFFER.get(key) or _of_type(key) for key in OFFER_KEYS}
    columns |= {
        name: _of_type(name) if name in _REGIONAL else sql for name, sql in _HELPERS.items()
    }
    return {name: sql.format_map(words) for name, sql in columns.items()}


def _of_type(name: str) -> str:
    if name not in _REGIONAL:
        return f"t.{name}"
    here = "t.by_region->o.region"
    there = f"({here}->>'{name}')::{_REGIONAL[name]}"
    return f"case when {here} ? '{name}' then {there} else t.{name} end"


def _stale_at(read: str, price: str) -> str:
    """When it is past its limit, or past three intervals of a listing that is fetched live."""
    live = "o.run_id is not null and l.fetched_live_at is not null"
    missed = f"case when {live} then {read} + {MISSED_INTERVALS} * l.interval end"
    return f"least({read} + {_limit('stale', price)}, {missed})"


def _limit(of: str, price: str) -> str:
    """How old it may be until it is `stale`, or `outdated`."""

    def interval(limit: Limit) -> str:
        value: timedelta = getattr(limit, of)
        return f"interval '{int(value.total_seconds())} seconds'"

    cases = " ".join(f"when '{model}' then {interval(limit)}" for model, limit in LIMITS.items())
    return (
        f"case when {price}.usd_per_hour is null and {price}.native_amount is null "
        f"then {interval(UNPRICED)} else case o.price_model {cases} end end"
    )


# --- Which offers are listed ------------------------------------------------------------------

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

LISTED_NOW = (
    f"o.ended_at is null and not o.cross_check and {_GIVES_WAY} and "
    f"{_NOWHERE.format(listed='q.ended_at is null')}"
)
LISTED_THEN = f"{_OF_THEN} and " + _NOWHERE.format(
    listed="q.first_seen <= as_of and coalesce(q.ended_at > as_of, true)"
)

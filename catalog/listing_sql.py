"""The listing: one wide row an offer, under the names of DESIGN 7, as SQL.

`offer_listing` is what is listed now; `offer_listing_at(as_of)` has the same columns with the price
of the period that holds `as_of`.

Of the past only prices are kept, so `offer_listing_at` answers the same next year: `available` is
null there, `collected_at` is the last scrape before `as_of` that confirmed the price, and what is
known of the hardware is what is known today. Amounts keep their column's scale (2.00000000):
print them with `trim_scale`.

`offer_listing_of(offers)` has rows of now by their numbers. Its plan is kept by each connection: to
plan a row's ninety columns takes longer than to read fifty rows.

Whatever writes to the tables that the listing is made of gives it another *revision*, in the same
transaction: who has read columns of it knows by that whether they still hold (`columnar`). The row
of the revision is locked before the first row is written, so one writes at a time, and two who do
cannot lock each other out; publishing takes that lock first of all (`lock_catalog`).

A change of these texts or of `catalog.freshness.LIMITS` needs a migration that runs CREATE again
(`tests/catalog/test_models.py` says so when it is missing).
"""

import re
from collections.abc import Iterator

from catalog.listing_columns import COLUMNS, LISTED_NOW, LISTED_THEN, NOW, THEN, expressions

_TABLES = ("offer", "instancetype", "region", "country")
_TOUCHED = {"insert": "new", "update": "new", "delete": "old"}
_REVISE = "update catalog_catalogversion set revision = gen_random_uuid()"
# What is only shown of a type changes no list: as when a user keeps a measurement.
_ONLY_SHOWN = {"id", "evidence", "checked", "measured_pair_gbytes_per_s"}
_OF_A_TYPE = sorted(
    set(re.findall(r"\bt\.(\w+)", " ".join(expressions(NOW).values()))) - _ONLY_SHOWN
)


def create() -> str:
    """The statements that make the view, the functions and the triggers anew."""
    return "\n".join([DROP, _view(), _function(), _BY_NUMBER, _REVISION, *_triggers()])


DROP = """
drop function if exists offer_listing_of(bigint[]);
drop function if exists offer_listing_at(timestamptz);
drop view if exists offer_listing cascade;
drop function if exists lock_catalog();
drop function if exists one_writes_at_a_time() cascade;
drop function if exists revise_where_touched() cascade;
drop function if exists revise_where_listed_otherwise() cascade;
drop function if exists revise_listing() cascade;
"""
_BY_NUMBER = """
create function offer_listing_of(offers bigint[]) returns setof offer_listing
language plpgsql stable rows 50 as $$
begin
  return query select * from offer_listing where offer_id = any(offers);
end $$;"""


def _columns(row: str) -> str:
    return ", ".join(f"{row}.{name}" for name in _OF_A_TYPE)


_REVISION = f"""
alter table catalog_catalogversion add column if not exists revision uuid;
{_REVISE};
create function lock_catalog() returns void language plpgsql set search_path from current as $$
begin
  perform from catalog_catalogversion where id = 1 for update;
  if not found then
    insert into catalog_catalogversion (id, version, bundle_digest) values (1, 0, '')
    on conflict (id) do nothing;
    perform from catalog_catalogversion where id = 1 for update;
  end if;
end $$;
create function one_writes_at_a_time() returns trigger
language plpgsql set search_path from current as $$
begin
  perform lock_catalog();
  return null;
end $$;
create function revise_listing() returns trigger
language plpgsql set search_path from current as $$
begin
  {_REVISE};
  return null;
end $$;
create function revise_where_touched() returns trigger
language plpgsql set search_path from current as $$
begin
  if exists (select from touched) then
    {_REVISE};
  end if;
  return null;
end $$;
create function revise_where_listed_otherwise() returns trigger
language plpgsql set search_path from current as $$
begin
  if exists (
    select from after join before using (id)
    where ({_columns("after")}) is distinct from ({_columns("before")})
  ) then
    {_REVISE};
  end if;
  return null;
end $$;
create trigger listing_waits
  before delete or update of title, interval, fetched_live_at on catalog_provider
  for each statement execute function one_writes_at_a_time();
create trigger listing_is_revised_delete after delete on catalog_provider
  for each row execute function revise_listing();
create trigger listing_is_revised after update of title, interval, fetched_live_at
  on catalog_provider for each row
  when ((old.title, old.interval, old.fetched_live_at is null)
    is distinct from (new.title, new.interval, new.fetched_live_at is null))
  execute function revise_listing();"""


def _triggers() -> Iterator[str]:
    for table in _TABLES:
        yield f"""
create trigger listing_waits before insert or update or delete or truncate on catalog_{table}
  for each statement execute function one_writes_at_a_time();
create trigger listing_is_revised_truncate after truncate on catalog_{table}
  for each statement execute function revise_listing();"""
        for statement, rows in _TOUCHED.items():
            seen, revise = f"{rows} table as touched", "revise_where_touched"
            if (table, statement) == ("instancetype", "update"):
                seen = "old table as before new table as after"
                revise = "revise_where_listed_otherwise"
            yield f"""
create trigger listing_is_revised_{statement} after {statement} on catalog_{table}
  referencing {seen} for each statement execute function {revise}();"""


def _view() -> str:
    return f"""create view offer_listing as {_select(expressions(NOW))}
  from catalog_offer o
  join catalog_instancetype t on t.id = o.instance_type_id
  left join catalog_provider p on p.slug = t.provider_id
  left join catalog_provider l on l.slug = o.listed_by_id
  left join catalog_region r on r.provider_id = t.provider_id and r.region = o.region
  left join catalog_country c on c.code = coalesce(o.country, r.country)
  where {LISTED_NOW};"""


def _function() -> str:
    # The period that holds as_of is found by one index probe an offer; beside it, when its list,
    # or the part of it that the offer stands in, was read last by then.
    return f"""create function offer_listing_at(as_of timestamptz) returns setof offer_listing
language sql stable as $$ {_select(expressions(THEN))}
  from catalog_offer o
  join lateral (
    select * from catalog_price q
    where q.offer_id = o.id and q.valid_from <= as_of order by q.valid_from desc limit 1
  ) h on h.valid_to is null or h.valid_to > as_of
  left join catalog_scraperun w on w.id = h.run_id
  left join (
    select provider_id, part, max(collected_at) as seen from catalog_scraperun
    where state in ('published', 'unchanged') and collected_at <= as_of group by 1, 2
  ) s on s.provider_id = o.listed_by_id and s.part = w.part
  join catalog_instancetype t on t.id = o.instance_type_id
  left join catalog_provider p on p.slug = t.provider_id
  left join catalog_provider l on l.slug = o.listed_by_id
  left join catalog_region r on r.provider_id = t.provider_id and r.region = o.region
  left join catalog_country c on c.code = coalesce(o.country, r.country)
  where {LISTED_THEN} $$;"""


def _select(read: dict[str, str]) -> str:
    return "select\n    " + ",\n    ".join(f"{read[name]} as {name}" for name in COLUMNS)

"""The narrow table behind the listing: of each offer that is listed now, what lists are made by.

A list of 20,000 offers is narrowed, sorted and counted in these columns alone; the rest of a row
is joined where it is shown. Triggers keep the table, for every writer and inside his transaction:
when a statement ends, the rows of the types that it touched are what the tables say again. So that
they are what the tables of others say too, one writes at a time (`lock_catalog`). The invariants
compare the two.
"""

import re
from dataclasses import dataclass

from catalog.listing_columns import LISTED_NOW, NOW, expressions

# Of fixed width first: what stands behind a text is found by reading the text.
COLUMNS = (
    "offer_id", "instance_type_id", "row_key", "outdated_at", "available",
    "gpu_count", "gpu_memory_gb", "total_gpu_memory_gb", "domain_gpu_memory_gb",
    "nvlink_domain_gpus", "scale_up_domain_gpus", "nvlink_generation", "scale_up_gbytes_per_s",
    "fabric_gbits_per_s", "fabric_gbits_per_s_per_gpu", "max_gpus_on_one_fabric",
    "price_model", "usd_per_gpu_hour", "usd_per_hour", "gpu", "scale_up", "fabric",
    "gpudirect_rdma", "provider", "country", "continent", "region", "tier", "via",
    "gpu_vendor", "form_factor", "gpudirect", "sharp", "multi_node", "instance_type",
)  # fmt: skip

_READ = expressions(NOW)
_FROM = """
  from catalog_offer o
  join catalog_instancetype t on t.id = o.instance_type_id
  left join catalog_region r on r.provider_id = t.provider_id and r.region = o.region
  left join catalog_country c on c.code = coalesce(o.country, r.country)"""
# What the table should hold.
CONTENT = (
    f"select {', '.join(f'{_READ[name]} as {name}' for name in COLUMNS)}{_FROM}\n"
    f"  where {LISTED_NOW}"
)


_TABLE = f"""
create table catalog_listing as {CONTENT} order by o.id;
alter table catalog_listing add primary key (offer_id);
create index catalog_listing_by_type on catalog_listing (instance_type_id);
analyze catalog_listing;
"""

# Of who writes to what lists are made of, one at a time, until his transaction ends: two could
# each leave out what the other has not committed. Publishing raises the version that is locked.
_LOCK = """
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
"""
_NAMES = ", ".join(COLUMNS)
# Planned anew each time (`execute`): a plan that is kept from a list of ten rows reads the tables
# whole for each type, and of the next list's thousands takes minutes.
_BRING_UP_TO_DATE = f"""
create function bring_listing_up_to_date(types bigint[]) returns void
language plpgsql set search_path from current as $$
begin
execute $delete$
delete from catalog_listing s where s.instance_type_id = any($1) and not exists (
  select{_FROM} where o.id = s.offer_id and {LISTED_NOW})
$delete$ using types;
execute $write$
insert into catalog_listing as s ({_NAMES})
{CONTENT} and t.id = any($1) order by o.id
on conflict (offer_id) do update set ({_NAMES}) = ({", ".join(f"excluded.{n}" for n in COLUMNS)})
where ({", ".join(f"s.{n}" for n in COLUMNS)})
  is distinct from ({", ".join(f"excluded.{n}" for n in COLUMNS)})
$write$ using types;
end $$;
"""

# --- How it follows ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """A table that the listing is made of.

    `types` has the instance types that are listed otherwise when rows of it are `touched`: when one
    comes or goes, or one of the columns that are looked at (`reads`) has changed. Of a row that is
    touched there is the column `by` which it is found, as it was and as it is. `confirm` is what an
    update does besides, of all rows at once.
    """

    table: str
    key: str
    by: str
    reads: tuple[str, ...]
    types: str
    confirm: str = ""


_SOURCES = (
    Source(
        "offer",
        "id",
        "instance_type_id",
        ("instance_type_id", "via", "region", "country", "tier", "price_model", "available",
         "usd_per_hour", "usd_per_gpu_hour", "native_amount is null", "run_id is null",
         "ended_at is null", "cross_check", "price_note"),
        "select instance_type_id from touched",
        # Each reading of a list confirms all of it, and changes little else.
        f"update catalog_listing s set outdated_at = {_READ['outdated_at']} from after o "
        f"where o.id = s.offer_id and s.outdated_at <> {_READ['outdated_at']};",
    ),
    Source(
        "instancetype",
        "id",
        "id",
        ("provider_id", "name", "by_region",
         *(name for name in COLUMNS if re.search(rf"t\.{name}\b", _READ[name]))),
        "select id from touched",
    ),
    Source(
        "region",
        "id",
        "provider_id",
        ("provider_id", "region", "country", "continent"),
        "select t.id from catalog_instancetype t join touched using (provider_id)",
    ),
    Source(
        "country",
        "code",
        "code",
        ("code", "continent"),
        "select o.instance_type_id from catalog_offer o left join catalog_region r "
        "on r.region = o.region join touched on touched.code in (o.country, r.country)",
    ),
)  # fmt: skip
_TRANSITIONS = {
    "insert": "new table as after",
    "update": "old table as before new table as after",
    "delete": "old table as before",
}


def _follows(source: Source) -> str:
    """The triggers around each statement that writes a table; what it touched is made anew."""
    then, now = (", ".join(f"{row}.{name}" for name in source.reads) for row in ("before", "after"))
    touched = {
        "insert": f"select {source.by} from after",
        "update": f"select unnest(array[before.{source.by}, after.{source.by}]) "
        f"from after full join before using ({source.key}) where ({now}) is distinct from ({then})",
        "delete": f"select {source.by} from before",
    }
    branches = "\n  els".join(
        f"if tg_op = '{statement.upper()}' then {source.confirm if statement == 'update' else ''}\n"
        f"    with touched({source.by}) as ({rows}) select array_agg(distinct id) into types\n"
        f"    from ({source.types}) listed(id);"
        for statement, rows in touched.items()
    )
    triggers = "\n".join(
        f"create trigger listing_follows_{statement} after {statement} on catalog_{source.table} "
        f"referencing {tables} for each statement "
        f"execute function listing_follows_{source.table}();"
        for statement, tables in _TRANSITIONS.items()
    )
    return f"""
create function listing_follows_{source.table}() returns trigger
language plpgsql set search_path from current as $$
declare types bigint[];
begin
  {branches}
  end if;
  if types is not null then
    perform bring_listing_up_to_date(types);
  end if;
  return null;
end $$;
create trigger listing_waits before insert or update or delete on catalog_{source.table}
  for each statement execute function one_writes_at_a_time();
{triggers}
create trigger listing_follows_truncate after truncate on catalog_{source.table}
  for each statement execute function listing_follows_truncate();
"""


# `truncate` has no rows to tell of: all is made anew.
_EMPTIED = """
create function listing_follows_truncate() returns trigger
language plpgsql set search_path from current as $$
begin
  perform lock_catalog();
  perform bring_listing_up_to_date(array(select instance_type_id from catalog_listing));
  return null;
end $$;
"""

# --- The whole --------------------------------------------------------------------------------

DROP = """
drop table if exists catalog_listing;
drop function if exists bring_listing_up_to_date(bigint[]);
drop function if exists lock_catalog();
drop function if exists one_writes_at_a_time() cascade;
drop function if exists listing_is_emptied() cascade;
drop function if exists listing_follows_truncate() cascade;
""" + "\n".join(
    f"drop function if exists listing_follows_{source.table}() cascade;" for source in _SOURCES
)


def create() -> str:
    """The statements that make the table, fill it, and have it follow the tables it is made of."""
    return "\n".join([DROP, _LOCK, _TABLE, _BRING_UP_TO_DATE, _EMPTIED, *map(_follows, _SOURCES)])

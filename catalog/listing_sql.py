"""The listing: one wide row an offer, under the names of DESIGN 7, as SQL.

`offer_listing` is what is listed now: the narrow table that lists are made by, and what else there
is to tell of an offer, joined as if some had none, so that what is not asked for stays unread.
`offer_listing_at(as_of)` has the same columns with the price of the period that holds `as_of`.

Of the past only prices are kept, so `offer_listing_at` answers the same next year: `available` is
null there, `collected_at` is the last scrape before `as_of` that confirmed the price, and what is
known of the hardware is what is known today. Amounts keep their column's scale (2.00000000):
print them with `trim_scale`.

`offer_listing_of(offers)` has rows of now by their numbers. Its plan is kept by each connection: to
plan a row's ninety columns takes longer than to read fifty rows.

A change of these texts or of `catalog.freshness.LIMITS` needs a migration that runs CREATE again
(`tests/catalog/test_models.py` says so when it is missing).
"""

from catalog import listing_table
from catalog.listing_columns import COLUMNS, LISTED_THEN, NOW, THEN, expressions


def create() -> str:
    """The statements that make the table, the view and the function anew."""
    return f"{DROP}\n{listing_table.create()}\n{_view()}\n{_function()}\n{_BY_NUMBER}"


DROP = (
    "drop function if exists offer_listing_of(bigint[]); "
    "drop function if exists offer_listing_at(timestamptz); drop view if exists offer_listing;"
    f"{listing_table.DROP}"
)
_BY_NUMBER = """
create function offer_listing_of(offers bigint[]) returns setof offer_listing
language plpgsql stable rows 50 as $$
begin
  return query select * from offer_listing where offer_id = any(offers);
end $$;"""


def _view() -> str:
    read = expressions(NOW) | {name: f"s.{name}" for name in listing_table.COLUMNS}
    read["outdated"] = "(now() > s.outdated_at)"
    return f"""create view offer_listing as {_select(read)}
  from catalog_listing s
  left join catalog_offer o on o.id = s.offer_id
  left join catalog_instancetype t on t.id = s.instance_type_id
  left join catalog_provider p on p.slug = s.provider
  left join catalog_provider l on l.slug = o.listed_by_id;"""


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

"""The offers API by SQL alone: what its answers cost without the service, and what they say.

The conditions of the filters stand here a second time, in SQL's own three-valued logic, so that the
service is measured against what a person would send to Postgres, and tests can ask both.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from catalog.applies import arises_sql
from catalog.filters import FILTERS, OfferQuery, Rows
from catalog.records import NVLINK

Statement = tuple[str, list[Any]]

LINKED = ", ".join(f"'{word}'" for word in NVLINK)
SEARCHED = "concat_ws(' ', provider_title, provider, instance_type, gpu, region, fabric, tier)"
YES = {
    "nvlink": f"scale_up in ({LINKED}) or nvlink_domain_gpus > 1",
    "infiniband": "fabric = 'infiniband'",
    "available": "available",
}
# The region that speaks for its type: a price too old to rank, or none, where there is no other.
LOWEST = "usd_per_gpu_hour is null, outdated, usd_per_gpu_hour, region nulls last, offer_id"
TEXTS = ("provider", "instance_type", "via", "tier", "price_model", "region", "gpu", "fabric")


def page(query: OfferQuery) -> Statement:
    """The first page: an object of the asked fields a row, in order."""
    where, values = _where(query)
    order = ", ".join(_order(query))
    sorted_by = (name for name, _ in query.sort)
    needed = ", ".join(dict.fromkeys(["offer_id", "outdated", *sorted_by, *_apart(query)]))
    if query.rows is Rows.TYPE:
        listed = (
            f"select distinct on (row_key) {needed}, count(*) over (partition by row_key) "
            f"as regions from offer_listing where {where} order by row_key, {LOWEST}"
        )
    else:
        listed = f"select {needed}, 1 as regions from offer_listing where {where}"
    sql = (
        "with page as materialized (select offer_id, regions, "
        f"row_number() over (order by {order}) as place from ({listed}) l "
        f"order by place limit {query.page_size}) "
        f"select offer_id, regions, (select row_to_json(r)::text from "
        f"(select {', '.join(query.fields)}) r) from page join offer_listing using (offer_id) "
        "where offer_id = any(array(select offer_id from page)) order by place"
    )
    return sql, values


def counts(query: OfferQuery) -> Statement:
    """How many rows the list has, and how many an unknown keeps out of it."""
    where, values = _where(query)
    row = "offer_id" if query.rows is Rows.REGION else "row_key"
    sql = (
        "select count(*) filter (where listed), count(*) filter (where unsaid and not listed) "
        "from (select coalesce(bool_or(holds), false) as listed, bool_or(holds is null) as unsaid "
        f"from (select {row} as row, ({where}) as holds from offer_listing) l group by row) rows"
    )
    return sql, values


def facet(query: OfferQuery, name: str) -> Statement:
    """The rows of each value of a column that a filter looks at, were it not for that filter."""
    others, values = _where(query, but=name)
    arises = _arises(name)
    row = "offer_id" if query.rows is Rows.REGION else "row_key"
    column = f"({YES[name]})::text" if name in YES else FILTERS[name].fields[0]
    sql = (
        f"select {column}, count(distinct {row}) from offer_listing "
        f"where ({others}) and {arises} group by 1"
    )
    return sql, values


def _where(query: OfferQuery, but: str = "") -> Statement:
    conditions, values = ["true"], list[Any]()
    for name, value in query.filters.items():
        if name != but:
            condition, filled = _condition(query, name, value)
            conditions.append(condition)
            values += filled
    return " and ".join(conditions), values


def _condition(query: OfferQuery, name: str, value: Any) -> Statement:
    if name in YES:
        sql, filled = f"({YES[name]})" if value else f"(not ({YES[name]}))", []
    elif name == "q":
        sql, filled = f"{SEARCHED} ilike all(%s)", [[f"%{word}%" for word in value]]
    elif FILTERS[name].many:
        sql, filled = f"{FILTERS[name].fields[0]} = any(%s)", [list(value)]
    else:
        compare = "<=" if name.endswith("_max") else ">="
        sql, filled = f"{FILTERS[name].fields[0]} {compare} %s::numeric", [value]
    sql = f"(({sql}) and {_arises(name)})"
    return f"({sql} is not false)" if query.lets_unknown_through(FILTERS[name]) else sql, filled


def _arises(name: str) -> str:
    return " and ".join(filter(None, map(arises_sql, FILTERS[name].fields))) or "true"


def _order(query: OfferQuery) -> Iterator[str]:
    for n, (name, descending) in enumerate(query.sort):
        yield f"{name} is null"
        if n == 0 and query.sorts_by_price:
            yield "outdated"
        yield f"{_text(name)} {'desc' if descending else 'asc'}"
    yield from map(_text, _apart(query))


def _apart(query: OfferQuery) -> Iterable[str]:
    apart = ("via", "tier", "price_model") if query.rows is Rows.TYPE else ("offer_id",)
    return ("provider", "instance_type", *apart)


def _text(name: str) -> str:
    return f"coalesce({name}, '') collate \"C\"" if name in TEXTS else name

"""What stops a list, or a price of it, at the door: beside what is published, it cannot be right.

A whole list waits for a person when it is too empty, too full or too different:
`manage.py scrape SLUG --approve RUN`, or the admin. One price that jumps waits for the next list:
if that says the same the price is real, and if a person accepts it, sooner; until then the last
good price stands, with its age. Rows that are wrong in themselves never come here: see
`scrapers.normalise` and `scrapers.list_gates`.
"""

# ruff: noqa: S608 -- only names and conditions of our own are written into SQL

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from catalog.judgement import price_key
from catalog.ledger import plain
from catalog.records import Gate, OfferRecord, Rejected
from catalog.staging import IN_SCOPE, CursorWrapper

LOST_PERCENT = 30  # of the offers that the provider lists; exactly so many may go
MOVED_PERCENT = 20  # of its prices may move by more than MOVE_PERCENT
MOVE_PERCENT = 50
SEVERAL = 3  # fewer moves are judged one by one, so that a provider of two offers can change one
FLOOD = 5  # times as many as are listed, and
MORE = 10  # more than so many in addition: of two offers, ten are no flood
# A price that is more than so many times the last one, or so small a part of it, is a jump. A
# price per GPU where one per node was is 8; a cut of half is not. Spot prices move by more.
JUMP = 2
SPOT_JUMP = 4
SAME_PERCENT = 20  # so near to a price that was held, the next list confirms it


def compare(
    cursor: CursorWrapper, lister: str, scope: list[str] | None = None, *, whole: bool = True
) -> None:
    """Each offer that `lister` has listed, beside the row of `incoming` that continues it.

    Of a list with a `scope` of regions: those that are listed there. Of one that is not `whole`:
    those of its sellers, since one file of an aggregator is no measure of the next.
    """
    cursor.execute("drop table if exists pg_temp.beside")
    cursor.execute(_BESIDE, {"lister": lister, "scope": scope, "whole": whole})


# Only offers that a scrape has listed are a measure: bundled, dated ones may cover more or less.
_BESIDE = f"""
create temporary table beside on commit drop as
select o.id as offer_id, o.native_amount as last_amount, o.native_currency as last_currency,
    o.collected_at as last_seen, i.n, i.native_amount, i.native_currency, i.price_model,
    i.collected_at
from catalog_offer o
join catalog_instancetype t on t.id = o.instance_type_id
left join incoming i on i.provider = t.provider_id and i.name = t.name
    and i.via = coalesce(o.via, '') and i.region = coalesce(o.region, '')
    and i.tier = coalesce(o.tier, '') and i.price_model = o.price_model
where o.listed_by_id = %(lister)s and o.ended_at is null and o.run_id is not null
    and {IN_SCOPE}
    and (%(whole)s or t.provider_id in (select provider from incoming))
"""


# --- A whole list -----------------------------------------------------------------------------


def swollen(rows: int, last: int | None) -> str | None:
    """Why a list of so many rows cannot be the one that had `last` when it was read before.

    Rows that repeat each other come to no more offers, and yet no such list is as it should be.
    """
    if last and rows > max(FLOOD * last, last + MORE):
        return f"{rows} rows came where {last} were read before, more than {FLOOD} times."
    return None


def held(
    cursor: CursorWrapper, scope: list[str] | None = None, *, whole: bool = True
) -> str | None:
    """Why the staged rows must not be published as they are, in one sentence; after `compare`.

    Of a list that is not `whole`, what is missing is no loss. One with a `scope` of regions may be
    empty where nothing is listed.
    """
    cursor.execute(_COUNTED, {"move": MOVE_PERCENT})
    incoming, listed, lost, priced, moved = cursor.fetchone()
    if not incoming and (listed or scope is None):
        return "The list is empty."
    if whole and 100 * lost > LOST_PERCENT * listed:
        return f"{lost} of {listed} listed offers are gone, more than {LOST_PERCENT} %."
    if listed and incoming > max(FLOOD * listed, listed + MORE):
        return f"{incoming} offers came where {listed} are listed, more than {FLOOD} times."
    if moved >= SEVERAL and 100 * moved > MOVED_PERCENT * priced:
        return (
            f"{moved} of {priced} prices moved by more than {MOVE_PERCENT} %; "
            f"at most {MOVED_PERCENT} % may."
        )
    return None


_COUNTED = """
with priced as (
    select abs(native_amount - last_amount) * 100 > %(move)s * last_amount
           or native_currency <> last_currency as moved
    from beside where last_amount is not null and native_amount is not null
)
select (select count(*) from incoming), count(*), count(*) filter (where n is null),
       (select count(*) from priced), (select count(*) from priced where moved)
from beside
"""


# --- One price --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Jump:
    """A price that waits: the row that brings it, and the offer whose last good price stands."""

    offer_id: int
    record: OfferRecord
    rejected: Rejected


def take_jumps(
    cursor: CursorWrapper,
    lister: str,
    accepted: Container[str],
    *,
    replay: bool,
) -> list[Jump]:
    """Take out of `incoming` each price that jumps and is not confirmed; after `compare`.

    Parameters
    ----------
    accepted
        Keys of prices that a person let through.
    replay
        The payload of the last good price is read again: what differs now is no jump, but mended.
    """
    limits = {"jump": JUMP, "spot": SPOT_JUMP, "same": SAME_PERCENT}
    cursor.execute(_JUMPS, limits | {"lister": lister, "replay": replay})
    jumps = {}
    for n, offer_id, amount, currency, seen, *values in cursor.fetchall():
        record = OfferRecord(**dict(zip(_RECORD, values, strict=True)))
        if price_key(record) not in accepted:
            jumps[n] = Jump(offer_id, record, _doubted(record, amount, currency, seen))
    cursor.execute("delete from incoming where n = any(%s)", [list(jumps)])
    return list(jumps.values())


# What is asked of an offer whose price jumps, and where `incoming` has it.
_RECORD = {
    "provider": "i.provider", "via": "nullif(i.via, '')", "instance_type": "i.name",
    "region": "nullif(i.region, '')", "tier": "nullif(i.tier, '')", "price_model": "i.price_model",
    "collected_at": "i.collected_at", "source_url": "i.source_url",
    "native_amount": "i.native_amount", "native_currency": "i.native_currency", "where": "i.place",
}  # fmt: skip


_JUMPS = f"""
select b.n, b.offer_id, b.last_amount, b.last_currency, b.last_seen, {", ".join(_RECORD.values())}
from beside b join incoming i on i.n = b.n
where b.native_amount is not null and b.last_amount is not null
  and b.last_seen <= b.collected_at and not (%(replay)s and b.last_seen = b.collected_at)
  and (b.native_currency <> b.last_currency
    or greatest(b.native_amount, b.last_amount) > least(b.native_amount, b.last_amount)
       * case when b.price_model = 'spot' then %(spot)s else %(jump)s end)
  and not exists (
    select from catalog_quarantinedrow q
    where q.offer_id = b.offer_id and q.gate = 'price_jump'
      and q.native_currency = b.native_currency
      and abs(q.native_amount - b.native_amount) * 100 <= %(same)s * q.native_amount
      and q.collected_at < b.collected_at and q.collected_at >= b.last_seen
      and not exists (select from catalog_ruling r where r.provider_id = %(lister)s
        and r.key = q.key and r.verdict = 'rejected'))
order by b.n
"""


def _doubted(offer: OfferRecord, last: Decimal, currency: str, seen: datetime) -> Rejected:
    now = offer.native_amount or Decimal(0)
    times = max(now, last) / min(now, last)
    compared = f"{times:.1f} times {'the' if now > last else 'below the'}"
    if currency != offer.native_currency:
        compared = "in another currency than the"
    reason = (
        f"held: {offer.native_currency} {plain(now)} an hour is {compared} {currency} "
        f"{plain(last)} of {seen:%Y-%m-%d %H:%M} UTC, which stands until the next list says the "
        "same or a person accepts it"
    )
    key = price_key(offer)
    return Rejected(reason, offer.where, "", Gate.PRICE_JUMP, key, plain(now), (offer.identity,))

"""What stops a whole list at the door: too empty, too different, or older than what is published.

A held list keeps its payload and waits for a person: `manage.py scrape SLUG --approve RUN`.
"""

from catalog.staging import CursorWrapper

LOST_PERCENT = 30  # of the offers that the provider lists; exactly so many may go
MOVED_PERCENT = 20  # of its prices may move by more than MOVE_PERCENT
MOVE_PERCENT = 50
FLOOD = 5  # times as many as are listed
FEW = 10  # fewer listed offers than this are no measure of a flood


def held(cursor: CursorWrapper, lister: str, *, whole: bool = True) -> str | None:
    """Why the rows staged in `incoming` must not be published as they are, in one sentence.

    Of a list that is not `whole`, what is missing is no loss.
    """
    cursor.execute(_AGAINST_LISTED, {"lister": lister, "move": MOVE_PERCENT})
    incoming, listed, lost, priced, moved = cursor.fetchone()
    if not incoming:
        return "The list is empty."
    if whole and 100 * lost > LOST_PERCENT * listed:
        return f"{lost} of {listed} listed offers are gone, more than {LOST_PERCENT} %."
    if listed >= FEW and incoming > FLOOD * listed:
        return f"{incoming} offers came where {listed} are listed, more than {FLOOD} times."
    if 100 * moved > MOVED_PERCENT * priced:
        return (
            f"{moved} of {priced} prices moved by more than {MOVE_PERCENT} %; "
            f"at most {MOVED_PERCENT} % may."
        )
    return None


# Only offers that a scrape has listed are a measure: bundled, dated ones may cover more or less.
_AGAINST_LISTED = """
with listed as (
    select o.native_amount, o.native_currency, i.n, i.native_amount as now_amount,
           i.native_currency as now_currency
    from catalog_offer o
    join catalog_instancetype t on t.id = o.instance_type_id
    left join incoming i on i.provider = t.provider_id and i.name = t.name
        and i.via = coalesce(o.via, '') and i.region = coalesce(o.region, '')
        and i.tier = coalesce(o.tier, '') and i.price_model = o.price_model
    where o.listed_by_id = %(lister)s and o.ended_at is null and o.run_id is not null
), priced as (
    select abs(now_amount - native_amount) * 100 > %(move)s * native_amount
           or now_currency <> native_currency as moved
    from listed where native_amount is not null and now_amount is not null
)
select (select count(*) from incoming), count(*), count(*) filter (where n is null),
       (select count(*) from priced), (select count(*) from priced where moved)
from listed
"""

"""What must hold of the outbox after every fault (reference/reliability.md, I6); how full it is."""

from catalog.gauges import Gauge
from catalog.sql import rows_of

_COUNTED = """
select case when state <> 'scheduled' then state
when next_attempt_at <= clock_timestamp() then 'due' else 'scheduled' end, count(*)
from watches_delivery where state <> 'delivered' group by 1"""
OUTBOX = Gauge(
    "fabricscout_outbox",
    "Messages of watches that are not delivered",
    ("state",),
    lambda: rows_of(_COUNTED, []),
)
CHECKS = {
    "I6 every event has its delivery": """
        select count(*) from watches_event e
        left join watches_delivery d on d.event_id = e.id where d.event_id is null""",
    "I6 what waits belongs to a watch that is active": """
        select count(*) from watches_delivery d join watches_event e on e.id = d.event_id
        join watches_watch w on w.id = e.watch_id where d.state = 'scheduled' and not w.active
        and e.kind <> 'test' and d.next_attempt_at < clock_timestamp() - interval '1 minute'""",
    "I6 what was given up has its reason and its tries": """
        select count(*) from watches_delivery d where d.state = 'dead' and (d.failure = ''
        or not exists (select from watches_attempt a where a.delivery_id = d.event_id))""",
    "I6 the events of a watch are numbered without a gap": """
        select count(*) from (select w.last_number, count(e.id) as events,
        coalesce(min(e.number) - 1, w.last_number) as before
        from watches_watch w left join watches_event e on e.watch_id = w.id
        group by w.id) counted where events <> last_number - before""",
}

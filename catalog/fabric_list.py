"""Lists of fabrics: "N GPUs of type X on one fabric of at least S Gb/s per GPU in region R".

Fabrics are few, so all are read (three queries) and the question is put to each in Python, in
three values: yes, no, and None, unknown. A fabric is listed where every answer is yes;
`include_unknown` lets an unknown pass, and the row names it; a fabric that an unknown alone kept
out is counted. That a type is on offer in a region is no promise that all of them are on one
fabric there: the provider's own way of placing says that.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from django.db import connection
from django.db.models import Q

from catalog import placement
from catalog.fabric_query import PLACE, FabricQuery, Key, order
from catalog.fabrics import apart
from catalog.models import Fabric, InstanceType
from catalog.paging import Cursor
from catalog.records import Basis, FabricKind, MultiNode

Answer = bool | None
UNJOINED = {FabricKind.ETHERNET, FabricKind.NONE}  # without RDMA or GPUDirect: no fabric here
# What the evidence of a row tells: of the fabric, its speed, its size, the way onto it, and of the
# trays that are guaranteed in a rack, or where was looked for them in vain.
EVIDENCE = (
    "fabric", "fabric_gbits_per_s", "max_gpus_on_one_fabric", "same_fabric", "multi_node",
    "scale_up_domain_guaranteed_gpus",
)  # fmt: skip


# --- What is there ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Place:
    """Where a type is on offer, and its lowest on-demand price there, if one is published."""

    instance_type: str | None = None
    region: str | None = None
    country: str | None = None
    continent: str | None = None
    usd_per_gpu_hour: Decimal | None = None
    collected_at: datetime | None = None
    stale: bool = False
    outdated: bool = False
    native_currency: str | None = None
    usd_rate: Decimal | None = None
    usd_rate_date: date | None = None

    @property
    def by_price(self) -> tuple[bool, bool, Decimal]:
        """What is not published last, what is too old to be called lowest after all fresher."""
        price = self.usd_per_gpu_hour
        return price is None, self.outdated, price or Decimal(0)


@dataclass(frozen=True, slots=True)
class Standing:
    """A fabric with its types, the largest first, and the places where they are on offer."""

    fabric: Fabric
    types: Sequence[InstanceType]
    places: Sequence[Place]

    @property
    def largest_instance(self) -> float:
        """GPUs of the largest type on it."""
        return max((kind.gpu_count or 0 for kind in self.types), default=0)

    @property
    def demonstrated(self) -> int | None:
        """GPUs of the largest run that somebody measured on it; None where nobody did."""
        runs = (
            int(claim["value"])
            for kind in self.types
            for claim in kind.evidence.get("max_gpus_on_one_fabric", {}).get("claims", ())
            if claim["basis"] == Basis.MEASURED and claim["value"] is not None
        )
        return max(runs, default=None)


_PLACES = """
select distinct on (instance_type_id, region, country, continent)
    instance_type_id, instance_type, region, country, continent,
    case when price_model = 'on_demand' then trim_scale(usd_per_gpu_hour) end,
    collected_at, stale, outdated, native_currency, usd_rate, usd_rate_date
from offer_listing where instance_type_id = any(%s)
order by instance_type_id, region, country, continent, price_model <> 'on_demand',
    usd_per_gpu_hour is null, outdated, usd_per_gpu_hour, offer_id
"""


def everything() -> list[Standing]:
    """Every fabric of the catalog."""
    fabrics = Fabric.objects.select_related("provider").prefetch_related("instance_types")
    found = [(fabric, list(fabric.instance_types.all())) for fabric in fabrics.order_by("slug")]
    places = _places({kind.pk for _, kinds in found for kind in kinds})
    standing = [
        Standing(
            fabric,
            sorted(kinds, key=lambda kind: (-(kind.gpu_count or 0), kind.name)),
            [place for kind in kinds for place in _at(fabric, kind, places[kind.pk])],
        )
        for fabric, kinds in found
    ]
    # Where its types are sold only in regions that have another network, or none, it is nowhere.
    return [
        each for each in standing if each.places or not any(places[kind.pk] for kind in each.types)
    ]


def _places(types: Iterable[int]) -> dict[int, list[Place]]:
    found: dict[int, list[Place]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, [sorted(types)])
        for kind, *columns in cursor.fetchall():
            found[kind].append(Place(*columns))
    return found


def _at(fabric: Fabric, kind: InstanceType, places: Iterable[Place]) -> Iterator[Place]:
    """Of the places where a type is on offer, those of the fabric."""
    if fabric.region is None:
        others = apart(kind)
        yield from (place for place in places if place.region not in others)
        return
    there = [place for place in places if place.region == fabric.region]
    yield from there or [Place(region=fabric.region)]


# --- The question -----------------------------------------------------------------------------


def both(answers: Iterable[Answer]) -> Answer:
    """All of them: no where one is no, else unknown where one is unknown."""
    answers = set(answers)
    return False if False in answers else None if None in answers else True


def either(answers: Iterable[Answer]) -> Answer:
    """One of them: yes where one is yes; of none nothing is known."""
    answers = set(answers)
    return True if True in answers else None if None in answers or not answers else False


def among(value: str | None, wanted: Sequence[str]) -> Answer:
    """Whether a value is one of those wanted; yes where nothing is."""
    return True if not wanted else None if value is None else value in wanted


def answers(standing: Standing, query: FabricQuery) -> dict[str, Answer]:
    """What is known of a fabric, for each filter that is given."""
    fabric = standing.fabric
    speed, least = fabric.gbits_per_s_per_gpu, query.fabric_gbits_per_s_per_gpu_min
    said: dict[str, Answer] = {
        "provider": among(fabric.provider_id, query.provider),
        "gpu": of_gpu(standing, query.gpu),
        "technology": among(fabric.technology, query.technology),
    }
    if query.infiniband is not None:
        said["infiniband"] = (fabric.technology == FabricKind.INFINIBAND) == query.infiniband
    if query.gpus_min is not None:
        said["gpus_min"] = large_enough(standing, query.gpus_min)
    if least is not None:
        said["fabric_gbits_per_s_per_gpu_min"] = None if speed is None else speed >= least
    if where := next((name for name in PLACE if getattr(query, name)), None):
        said[where] = either(_there(place, query) for place in standing.places)
    return said


def large_enough(standing: Standing, gpus: int) -> Answer:
    """Whether it joins so many; what one instance holds needs no fabric.

    A run that somebody measured shows that so many can be had, whatever is said of the most.
    """
    if gpus <= max(standing.largest_instance, standing.demonstrated or 0):
        return True
    return None if standing.fabric.max_gpus is None else gpus <= standing.fabric.max_gpus


def of_gpu(standing: Standing, wanted: Sequence[str]) -> Answer:
    """Whether its types have one of these GPUs; no where none of their candidates is."""
    candidates = {slug for kind in standing.types for slug in kind.gpu_candidates}
    if standing.fabric.gpu is None and candidates and wanted:
        return None if candidates & set(wanted) else False
    return among(standing.fabric.gpu, wanted)


def _there(place: Place, query: FabricQuery) -> Answer:
    return both(among(getattr(place, name), getattr(query, name)) for name in PLACE)


def _lets_through(query: FabricQuery, name: str) -> bool:
    """Whether an unknown passes this filter: a place is asked for by any of its three names."""
    names = set(PLACE) if name in PLACE else {name}
    return not names.isdisjoint(query.include_unknown)


# --- The answer -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Found:
    """One page of fabrics, and what an unknown kept out of the list.

    `unplaced` types have such a network, but nobody says how several are joined on it: they stand
    on no fabric, and are not said to have none.
    """

    rows: list[dict[str, Any]]
    count: int
    next: str | None = None
    previous: str | None = None
    left_out: int = 0
    left_out_by: Mapping[str, int] = field(default_factory=dict)
    unplaced: int = 0


def find(query: FabricQuery) -> Found:
    """The fabrics that answer the question, the lowest price first; let in by an unknown, last.

    Raises
    ------
    BadQuery
        Where the cursor was not given out for this very list.
    """
    listed: list[tuple[Key, dict[str, Any]]] = []
    left_out: dict[str, int] = defaultdict(int)
    total = 0
    for standing in everything():
        said = answers(standing, query)
        unknown = [name for name, answer in said.items() if answer is None]
        if False in said.values():
            continue
        if kept_out := [name for name in unknown if not _lets_through(query, name)]:
            total += 1
            for name in kept_out:
                left_out[name] += 1
            continue
        listed.append(_keyed(standing, query, unknown))
    found = _page(query, sorted(listed, key=lambda pair: order(query, pair[0])))
    return replace(found, left_out=total, left_out_by=dict(left_out), unplaced=unplaced(query))


def unplaced(query: FabricQuery) -> int:
    """Types of this kind on an RDMA network of which nobody says how several are joined on it."""
    types = InstanceType.objects.filter(fabrics=None, fabric__in=set(FabricKind) - UNJOINED)
    asked = {"provider__in": query.provider, "gpu__in": query.gpu, "fabric__in": query.technology}
    types = types.filter(**{lookup: words for lookup, words in asked.items() if words})
    if query.infiniband is not None:
        infiniband = Q(fabric=FabricKind.INFINIBAND)
        types = types.filter(infiniband if query.infiniband else ~infiniband)
    return types.exclude(multi_node=MultiNode.NO).count()


def _page(query: FabricQuery, listed: Sequence[tuple[Key, dict[str, Any]]]) -> Found:
    """The rows after the cursor, or before it."""
    keys = [order(query, key) for key, _ in listed]
    size = len(listed) if query.whole else query.page_size
    start, end = 0, size
    if cursor := Cursor.read(query.cursor, query.identity):
        at = order(query, cursor.values)
        past = bisect_left(keys, at) if cursor.backward else bisect_right(keys, at)
        end = past if cursor.backward else past + size
        start = max(end - size, 0)
    shown = listed[start:end]
    return Found(
        rows=[row for _, row in shown],
        count=len(listed),
        next=_cursor(query, shown[-1][0]) if shown and end < len(listed) else None,
        previous=_cursor(query, shown[0][0], backward=True) if shown and start else None,
    )


def _cursor(query: FabricQuery, key: Key, *, backward: bool = False) -> str:
    values = [str(value) if isinstance(value, Decimal) else value for value in key]
    return Cursor(values, backward).write(query.identity)


def _keyed(
    standing: Standing, query: FabricQuery, unknown: list[str]
) -> tuple[Key, dict[str, Any]]:
    """A row and what it is sorted by: let in by an unknown last, then as asked, then by name."""
    lowest = min(_asked_for(standing, query), key=lambda place: place.by_price, default=Place())
    row = _row(standing, query, unknown, lowest)
    key: Key = [bool(unknown)]
    for name, _ in query.sort:
        if name == "usd_per_gpu_hour":
            key += lowest.by_price
        else:
            key += [row[name] is None, row[name]]
    return [*key, standing.fabric.slug], row


def _asked_for(standing: Standing, query: FabricQuery) -> list[Place]:
    """The places that were asked for; those of an unknown region where there is no other."""
    said = [(place, _there(place, query)) for place in standing.places]
    known = [place for place, answer in said if answer]
    return known or [place for place, answer in said if answer is None]


def _row(
    standing: Standing, query: FabricQuery, unknown: list[str], lowest: Place
) -> dict[str, Any]:
    fabric = standing.fabric
    kinds = [_type(kind, query.gpus_min) for kind in standing.types]
    return {
        "slug": fabric.slug,
        "provider": fabric.provider_id,
        "provider_title": fabric.provider.title,
        "region": fabric.region,
        "regions": sorted({place.region for place in standing.places if place.region}),
        "technology": fabric.technology,
        "generation": fabric.generation,
        "gpu": fabric.gpu,
        "gbits_per_s_per_gpu": fabric.gbits_per_s_per_gpu,
        "max_gpus": fabric.max_gpus,
        "demonstrated_gpus": standing.demonstrated,
        "multi_node": fabric.multi_node,
        "how": fabric.how,
        "instance_types": kinds,
        "nodes": kinds[0]["nodes"] if kinds else None,
        "gangs": kinds[0]["gangs"] if kinds else None,
        "lowest_on_demand": _price(lowest),
        "disputed": sorted({name for kind in standing.types for name in kind.disputed}),
        "unknown": unknown,
        "evidence": _evidence(standing.types),
        "source": fabric.source,
        "checked": fabric.checked.isoformat(),
    }


def _evidence(types: Sequence[InstanceType]) -> dict[str, Any]:
    """How the fabric is known: by what is said of its largest type."""
    return {name: types[0].evidence[name] for name in EVIDENCE if name in types[0].evidence}


def _type(kind: InstanceType, gpus: int | None) -> dict[str, Any]:
    """A type, and for a number of GPUs the instances that hold them and how racks take these."""
    nodes = placement.nodes(gpus, kind.gpu_count) if gpus and kind.gpu_count else None
    trays = guaranteed_trays(kind)
    return {
        "instance_type": kind.name,
        "gpu": kind.gpu_id,
        "gpu_count": kind.gpu_count,
        "scale_up_domain_gpus": kind.scale_up_domain_gpus,
        "guaranteed_trays": trays,
        "nodes": nodes,
        "gangs": placement.gangs(nodes, trays) if nodes and trays else None,
    }


def guaranteed_trays(kind: InstanceType) -> int | None:
    """Instances that one NVLink domain is guaranteed to hold; None where nobody guarantees any."""
    guaranteed, domain, each = (
        kind.scale_up_domain_guaranteed_gpus, kind.scale_up_domain_gpus, kind.gpu_count,
    )  # fmt: skip
    if not guaranteed or not each or (domain is not None and domain <= each):
        return None
    return int(guaranteed // each) or None


def _price(lowest: Place) -> dict[str, Any] | None:
    """The lowest on-demand price, where it is, and how old; None where none is published."""
    if lowest.usd_per_gpu_hour is None or lowest.collected_at is None:
        return None
    return {
        "usd_per_gpu_hour": lowest.usd_per_gpu_hour,
        "native_currency": lowest.native_currency,
        "usd_rate": lowest.usd_rate,
        "usd_rate_date": lowest.usd_rate_date,
        "instance_type": lowest.instance_type,
        "region": lowest.region,
        "country": lowest.country,
        "collected_at": lowest.collected_at.isoformat(),
        "age_days": max((datetime.now(UTC) - lowest.collected_at).days, 0),
        "stale": lowest.stale,
        "outdated": lowest.outdated,
    }

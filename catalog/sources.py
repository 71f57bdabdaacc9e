"""Where the catalog comes from, provider by provider: how fresh, how complete, what was refused."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any

from django.db import connection
from django.db.models import Count, F, Max, Min, Q
from django.utils import timezone
from django.utils.translation import gettext

from catalog.applies import NO_PLACE
from catalog.freshness import MISSED_INTERVALS
from catalog.models import (
    InstanceType,
    Lease,
    Offer,
    Provider,
    QuarantinedRow,
    RunState,
    ScrapeRun,
)

# What decides whether a cluster keeps its GPUs busy.
FIELDS = (
    "scale_up", "scale_up_gbytes_per_s", "scale_up_domain_gpus", "fabric", "fabric_nics",
    "fabric_gbits_per_s_per_gpu", "gpudirect_rdma", "multi_node",
)  # fmt: skip


# A type without a price is as old as its facts, and says nothing of how fresh a list is.
PRICED = Q(native_amount__isnull=False)
AGES = {"newest": Max("collected_at", filter=PRICED), "oldest": Min("collected_at", filter=PRICED)}


@dataclass(frozen=True, slots=True)
class State:
    """How a provider is read, in words; whether that is as it should be, and if not, why."""

    words: str
    good: bool = False
    why: str = ""  # as the run says it, in English
    missing: tuple[str, ...] = ()  # the environment variables of its keys, where one is not set


class Origin(StrEnum):
    """What a provider's listed offers are known by."""

    LIVE = "live"
    FILE = "file"
    AGGREGATOR = "aggregator"
    DESK = "desk"  # no list is published: each of its offers asks for a quote
    BUNDLED = "bundled"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Source:
    """One provider as its row on the page shows it."""

    provider: Provider
    state: State
    origin: Origin
    offers: int
    types: int
    newest: datetime | None  # of its data, not of the attempt
    oldest: datetime | None  # of its prices that are listed
    quarantined: int  # rows that wait for a person
    coverage: float | None  # of FIELDS, over its types of several GPUs, where each has a place
    fields: Mapping[str, tuple[int, int]]  # of FIELDS, types that it is known and asked of
    disputes: int
    due: datetime | None
    via: int  # offers of its own list that another provider runs
    cross_checks: int  # those of them that check a seller which is read directly

    @property
    def age_hours(self) -> float | None:
        """Of its newest price."""
        return _hours(timezone.now() - self.newest) if self.newest else None

    @property
    def interval_hours(self) -> float | None:
        """Between two fetches; None of a seller that nobody scrapes."""
        return _hours(self.provider.interval) if self.provider.has_scraper else None


def _hours(span: timedelta) -> float:
    return round(span / timedelta(hours=1), 2)


@dataclass(frozen=True, slots=True)
class Runs:
    """The runs that speak of a provider; a file that is read between two fetches hides neither."""

    tried: ScrapeRun | None = None  # the last fetch
    failed: ScrapeRun | None = None  # the last fetch that failed
    read: ScrapeRun | None = None  # the last list, of a fetch, a file or a replay

    @property
    def held(self) -> bool:
        """Whether the last list waits for a person."""
        return self.read is not None and self.read.state == RunState.HELD


READ = (RunState.PUBLISHED, RunState.UNCHANGED, RunState.HELD, RunState.REJECTED)
NO_RUN = Runs()


def sources() -> list[Source]:
    """Every provider, those with most offers first."""
    offers, listed, types, through = _offers(), _listed(), _types(), _through()
    quarantined = QuarantinedRow.objects.open().by_provider()
    runs, leases = _runs(), _leases()
    parts = _parts(runs)
    providers = list(Provider.objects.select_related("published_run").order_by("title"))
    origins = {p.slug: _origin(p, offers.get(p.slug), p.slug in through) for p in providers}
    found = [
        _source(
            p,
            origins[p.slug],
            offers.get(p.slug, {}),
            listed.get(p.slug, {}),
            types.get(p.slug, {}),
            quarantined.get(p.slug, 0),
            _state(
                p,
                runs.get((p.slug, ""), NO_RUN),
                leases.get(p.slug),
                through.get(p.slug, ()),
                origin=origins[p.slug],
                parts=parts.get(p.slug, ()),
            ),
            leases.get(p.slug),
        )
        for p in providers
    ]
    return sorted(found, key=lambda source: -source.offers)


def not_live(found: Sequence[Source]) -> list[tuple[str, list[str]]]:
    """Sources that were never fetched live: what each is known by instead, and their titles."""
    words = {
        Origin.FILE: gettext("read from a file"),
        Origin.AGGREGATOR: gettext("through an aggregator's list"),
        Origin.BUNDLED: gettext("bundled catalog, with the date when it was read"),
        Origin.DESK: gettext("by desk, no list is published"),
        Origin.NOTHING: gettext("nothing listed now"),
    }
    titles = {origin: [s.provider.title for s in found if s.origin == origin] for origin in words}
    return [(words[origin], titles[origin]) for origin in words if titles[origin]]


def _origin(provider: Provider, offers: Mapping[str, Any] | None, through: bool) -> Origin:
    if provider.fetched_live_at:
        return Origin.LIVE
    if provider.published_run:
        return Origin.FILE
    if not offers:
        return Origin.NOTHING
    if through:
        return Origin.AGGREGATOR
    if offers["quotes"] == offers["offers"] and not provider.has_scraper:
        return Origin.DESK
    return Origin.BUNDLED


def _source(
    provider: Provider,
    origin: Origin,
    offers: Mapping[str, Any],
    listed: Mapping[str, Any],
    types: Mapping[str, Any],
    quarantined: int,
    state: State,
    lease: Lease | None,
) -> Source:
    fields = {
        name: (types.get(f"known_{name}", 0), types.get(f"asked_{name}", 0)) for name in FIELDS
    }
    known, asked = (sum(counts) for counts in zip(*fields.values(), strict=True))
    return Source(
        provider=provider,
        state=state,
        origin=origin,
        offers=offers.get("offers", 0),
        types=types.get("types", 0),
        newest=listed.get("newest") or offers.get("newest"),
        oldest=listed.get("oldest") or offers.get("oldest"),
        quarantined=quarantined,
        coverage=round(known / asked, 4) if asked else None,
        fields=fields,
        disputes=types.get("disputes", 0),
        due=lease.due_at if lease else None,
        via=listed.get("of_others", 0),
        cross_checks=listed.get("checks", 0),
    )


def _state(
    provider: Provider,
    runs: Runs,
    lease: Lease | None,
    through: Sequence[str],
    *,
    origin: Origin,
    parts: Sequence["Part"] = (),
) -> State:
    if runs.tried and runs.tried.state == RunState.SKIPPED:
        names = {"names": gettext(", ").join(provider.credentials)}
        words = gettext("skipped: %(names)s is not set") % names
        known = origin in (Origin.FILE, Origin.AGGREGATOR)
        words = f"{_known_by(provider, through, origin)}; {words}" if known else words
        return State(words, missing=tuple(provider.credentials))
    if runs.failed and lease and lease.failures:
        day = {"day": runs.failed.started_at.date().isoformat()}
        return State(gettext("failing, last try %(day)s") % day, why=runs.failed.reason)
    if runs.read and runs.held:
        return State(gettext("held: a person must look"), why=runs.read.reason)
    if provider.fetched_live_at is None:
        needs = gettext("needs %(names)s") % {"names": gettext(", ").join(provider.credentials)}
        words = _known_by(provider, through, origin)
        words = gettext(": ").join((words, needs)) if provider.credentials else words
        return State(words, missing=tuple(provider.credentials))
    if timezone.now() - provider.fetched_live_at > MISSED_INTERVALS * provider.interval:
        return State(gettext("stale"), why=runs.tried.reason if runs.tried else "")
    return _state_of_parts(parts) if parts else State(gettext("fresh"), good=True)


@dataclass(frozen=True, slots=True)
class Part:
    """A region of a list that is read in parts, and the runs of it."""

    name: str
    failing: bool
    runs: Runs


def _state_of_parts(parts: Sequence[Part]) -> State:
    """How many regions are as they should be, and which are not."""
    failing = [part for part in parts if part.failing]
    held = [part for part in parts if not part.failing and part.runs.held]
    unread = [part for part in parts if not part.failing and part.runs == NO_RUN]
    bad = (
        (gettext("failing: %(regions)s"), failing),
        (gettext("held, a person must look: %(regions)s"), held),
        (gettext("not read yet: %(regions)s"), unread),
    )
    good = len(parts) - sum(len(which) for _, which in bad)
    counted = gettext("%(n)d of %(all)d regions fresh") % {"n": good, "all": len(parts)}
    told = [
        words % {"regions": ", ".join(part.name for part in which)} for words, which in bad if which
    ]
    spoke = [(p, p.runs.failed) for p in failing] + [(p, p.runs.read) for p in held]
    why = " ".join(f"{part.name}: {run.reason}" for part, run in spoke if run)
    return State("; ".join([counted, *told]), good=not told, why=why)


def _known_by(provider: Provider, through: Sequence[str], origin: Origin) -> str:
    """What the offers of one that was never fetched live are known by instead."""
    if run := provider.published_run:
        read = run.collected_at or run.started_at
        return gettext("read from a file of %(day)s") % {"day": read.date().isoformat()}
    if origin == Origin.AGGREGATOR:
        return gettext("through %(names)s") % {"names": gettext(", ").join(through)}
    if origin == Origin.DESK:
        return gettext("by desk: it publishes no list, each offer is a quote")
    if origin == Origin.BUNDLED:
        return gettext("bundled data, never fetched live")
    if provider.has_scraper or provider.credentials:
        return gettext("never fetched live, nothing of it is listed")
    return gettext("nothing of it was read yet")


def _through() -> dict[str, list[str]]:
    """The aggregators in whose lists a provider's offers stand, by their titles."""
    rows = Offer.objects.listed().exclude(via=None)
    pairs = rows.values_list("instance_type__provider", "listed_by__title").distinct()
    found: dict[str, list[str]] = {}
    for slug, title in sorted(pairs):
        found.setdefault(slug, []).append(title)
    return found


def _offers() -> dict[str, dict[str, Any]]:
    """Offers that are listed now, by who runs the machines."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select provider, count(*), count(*) filter (where price_model = 'quote'), "
            "max(collected_at) filter (where native_amount is not null), "
            "min(collected_at) filter (where native_amount is not null) "
            "from offer_listing group by provider"
        )
        return {
            slug: {"offers": offers, "quotes": quotes, "newest": newest, "oldest": oldest}
            for slug, offers, quotes, newest, oldest in cursor.fetchall()
        }


def _listed() -> dict[str, dict[str, Any]]:
    """All that a list has, by whose it is; and how much of it is of others, or only a check."""
    rows = Offer.objects.filter(ended_at=None).values(slug=F("listed_by"))
    of_others = Count("id", filter=~Q(listed_by=F("instance_type__provider")))
    checks = Count("id", filter=Q(cross_check=True))
    return _by_slug(rows.annotate(of_others=of_others, checks=checks, **AGES))


def _by_slug(rows: Iterable[Any]) -> dict[str, dict[str, Any]]:
    return {row["slug"]: row for row in rows}


def _has_place(name: str) -> Q:
    """What can be asked of a type at all; a value that stands there counts."""
    none = (Q(**{f"{other}__in": values}) for other, values in NO_PLACE.get(name, {}).items())
    return Q(**{f"{name}__isnull": False}) | ~reduce(or_, none, Q(pk__isnull=True))


def _types() -> dict[str, dict[str, Any]]:
    """Types that are listed now: how many, how many of several GPUs, and what is known of those."""
    listed = InstanceType.objects.filter(
        offers__ended_at=None, offers__cross_check=False, offers__isnull=False
    )
    several = Q(gpu_count__gt=1)
    known = {
        f"known_{name}": Count(
            "id", filter=several & Q(**{f"{name}__isnull": False}), distinct=True
        )
        for name in FIELDS
    } | {
        f"asked_{name}": Count("id", filter=several & _has_place(name), distinct=True)
        for name in FIELDS
    }
    rows = listed.values(slug=F("provider")).annotate(
        types=Count("id", distinct=True),
        disputes=Count("id", filter=~Q(disputed=[]), distinct=True),
        **known,
    )
    return _by_slug(rows)


def _runs() -> Mapping[tuple[str, str], Runs]:
    """By provider and part; of one in parts, the whole is the run that asks which there are."""
    tried, failed = _last(live=True), _last(live=True, state=RunState.FAILED)
    read = _last(state__in=READ)
    keys = tried.keys() | read.keys()
    return {key: Runs(tried.get(key), failed.get(key), read.get(key)) for key in keys}


def _last(**which: Any) -> dict[tuple[str, str], ScrapeRun]:
    ended = ScrapeRun.objects.filter(**which).exclude(state=RunState.RUNNING)
    runs = ended.order_by("provider", "part", "-started_at").distinct("provider", "part")
    return {(run.provider_id, run.part): run for run in runs}


def _leases() -> dict[str, Lease]:
    return {lease.provider_id: lease for lease in Lease.objects.filter(part="")}


def _parts(runs: Mapping[tuple[str, str], Runs]) -> dict[str, list[Part]]:
    """By provider; none of those whose list is read as a whole."""
    found: dict[str, list[Part]] = {}
    for lease in Lease.objects.exclude(part="").order_by("provider", "part"):
        run = runs.get((lease.provider_id, lease.part), NO_RUN)
        found.setdefault(lease.provider_id, []).append(Part(lease.part, lease.failures > 0, run))
    return found

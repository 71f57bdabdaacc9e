"""Where the catalog comes from, provider by provider: how fresh, how complete, what was refused."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, F, Max, Q
from django.utils import timezone
from django.utils.translation import gettext

from catalog.freshness import MISSED_INTERVALS
from catalog.models import InstanceType, Lease, Offer, Provider, ScrapeRun

# What decides whether a cluster keeps its GPUs busy.
FIELDS = (
    "scale_up", "scale_up_gbytes_per_s", "scale_up_domain_gpus", "fabric", "fabric_nics",
    "fabric_gbits_per_s_per_gpu", "gpudirect_rdma", "multi_node",
)  # fmt: skip


# A type without a price is as old as its facts, and says nothing of how fresh a list is.
NEWEST = Max("collected_at", filter=Q(native_amount__isnull=False))


@dataclass(frozen=True, slots=True)
class Source:
    """One provider as its row on the page shows it."""

    provider: Provider
    state: str
    good: bool
    offers: int
    types: int
    newest: datetime | None  # of its data, not of the attempt
    quarantined: int
    coverage: float | None  # of FIELDS, over its types of several GPUs
    disputes: int
    due: datetime | None
    via: int  # offers of its own list that another provider runs


def sources() -> list[Source]:
    """Every provider, those with most offers first."""
    offers, listed, types = _offers(), _listed(), _types()
    runs, leases = _last_runs(), {lease.provider_id: lease for lease in Lease.objects.all()}
    found = [
        _source(p, offers.get(p.slug, {}), listed.get(p.slug, {}), types.get(p.slug, {}),
                runs.get(p.slug), leases.get(p.slug))
        for p in Provider.objects.order_by("title")
    ]  # fmt: skip
    return sorted(found, key=lambda source: -source.offers)


def older_than(days: int) -> bool:
    """Whether the whole list has no price that was seen in the last so many days."""
    since = timezone.now() - timedelta(days=days)
    priced = Offer.objects.listed().exclude(usd_per_hour=None)
    return not priced.filter(collected_at__gt=since).exists()


def _source(
    provider: Provider,
    offers: Mapping[str, Any],
    listed: Mapping[str, Any],
    types: Mapping[str, Any],
    run: ScrapeRun | None,
    lease: Lease | None,
) -> Source:
    state, good = _state(provider, run, lease)
    several = types.get("several", 0)
    known = sum(types.get(f"known_{name}", 0) for name in FIELDS)
    return Source(
        provider=provider,
        state=state,
        good=good,
        offers=offers.get("offers", 0),
        types=types.get("types", 0),
        newest=listed.get("newest") or offers.get("newest"),
        quarantined=run.quarantined if run else 0,
        coverage=known / (several * len(FIELDS)) if several else None,
        disputes=types.get("disputes", 0),
        due=lease.due_at if lease else None,
        via=max(listed.get("offers", 0) - offers.get("offers", 0), 0),
    )


def _state(provider: Provider, run: ScrapeRun | None, lease: Lease | None) -> tuple[str, bool]:
    """In words, and whether it is as it should be."""
    if lease and lease.failures:
        since = run.started_at.date().isoformat() if run else ""
        return gettext("failing, last try %(day)s") % {"day": since}, False
    if run and run.state == "held":
        return gettext("held: a person must look"), False
    if provider.fetched_live_at is None:
        if not provider.has_scraper:
            return gettext("never fetched live: bundled data"), False
        if provider.credentials:
            return gettext("never fetched live: needs credentials"), False
        return gettext("never fetched live"), False
    if timezone.now() - provider.fetched_live_at > MISSED_INTERVALS * provider.interval:
        return gettext("stale"), False
    return gettext("fresh"), True


def _offers() -> dict[str, dict[str, Any]]:
    """Offers that are listed now, by who runs the machines."""
    rows = Offer.objects.listed().values(slug=F("instance_type__provider"))
    return _by_slug(rows.annotate(offers=Count("id"), newest=NEWEST))


def _listed() -> dict[str, dict[str, Any]]:
    """The same, by whose list they stand in."""
    rows = Offer.objects.listed().values(slug=F("listed_by"))
    return _by_slug(rows.annotate(offers=Count("id"), newest=NEWEST))


def _by_slug(rows: Iterable[Any]) -> dict[str, dict[str, Any]]:
    return {row["slug"]: row for row in rows}


def _types() -> dict[str, dict[str, Any]]:
    """Types that are listed now: how many, how many of several GPUs, and what is known of those."""
    listed = InstanceType.objects.filter(offers__ended_at=None, offers__isnull=False)
    several = Q(gpu_count__gt=1)
    known = {
        f"known_{name}": Count(
            "id", filter=several & Q(**{f"{name}__isnull": False}), distinct=True
        )
        for name in FIELDS
    }
    rows = listed.values(slug=F("provider")).annotate(
        types=Count("id", distinct=True),
        several=Count("id", filter=several, distinct=True),
        disputes=Count("id", filter=~Q(disputed=[]), distinct=True),
        **known,
    )
    return _by_slug(rows)


def _last_runs() -> dict[str, ScrapeRun]:
    runs = ScrapeRun.objects.order_by("provider", "-started_at").distinct("provider")
    return {run.provider_id: run for run in runs}

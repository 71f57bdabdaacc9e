"""The bundled catalog into the tables: all files in one transaction, or nothing of any."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from catalog import bundled
from catalog.facts import DATA
from catalog.ingest import Bundle, publish_bundle
from catalog.models import CatalogVersion, Country, Provider, Rate, Region, Workload
from catalog.offer_rows import Counts
from scoring.workload import job_fields, jobs

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load did; `skipped`: the files are those that were loaded last."""

    skipped: bool = False
    counts: Counts = field(default_factory=Counts)


def load(folder: Path = DATA, *, force: bool = False, say: Say = lambda _line: None) -> Loaded:
    """Load every file, unless the same files are loaded already.

    Raises
    ------
    catalog.facts.BadFact
        A line is wrong: it names the file and the line, and what was loaded before stands.
    """
    digest = bundled.digest(folder)
    if not force and CatalogVersion.objects.filter(bundle_digest=digest).exists():
        return Loaded(skipped=True)
    say("reading the files…")
    data = bundled.read(folder)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("set local lock_timeout = '60s'")
        _write_places(data)
        facts = sum(map(len, data.facts.values()))
        say(f"writing {facts} facts and {len(data.offers)} prices…")
        counts = publish_bundle(cursor, Bundle(data.offers, data.facts, timezone.now()))
        _write_workloads()
        CatalogVersion.objects.filter(id=1).update(bundle_digest=digest)
    return Loaded(counts=counts)


def _write_places(data: bundled.Data) -> None:
    _write_providers(data)
    continents = {line["country"]: line["continent"] for line in data.regions if line["country"]}
    Country.objects.bulk_create(
        [Country(code=code, continent=name or None) for code, name in sorted(continents.items())],
        update_conflicts=True,
        unique_fields=["code"],
        update_fields=["continent"],
    )
    regions = {(line["provider"], line["region"]): line for line in data.regions}
    Region.objects.bulk_create(
        [_region(line) for _, line in sorted(regions.items())],
        update_conflicts=True,
        unique_fields=["provider", "region"],
        update_fields=["country", "continent", "source"],
    )
    rates = {(rate.currency, rate.day): rate for rate in data.rates}
    Rate.objects.bulk_create(
        [Rate(currency=r.currency, usd_per_unit=r.usd, day=r.day, source=r.source)
         for r in rates.values()],
        update_conflicts=True,
        unique_fields=["currency", "day"],
        update_fields=["usd_per_unit", "source"],
    )  # fmt: skip


def _region(line: bundled.Line) -> Region:
    return Region(
        provider_id=line["provider"],
        region=line["region"],
        country_id=line["country"] or None,
        continent=line["continent"] or None,
        source=line["source"],
    )


def _write_providers(data: bundled.Data) -> None:
    """Those of providers.csv, and by their slug alone those that only a region names."""
    lines = {line["slug"]: line for line in data.providers}
    Provider.objects.bulk_create(
        [_provider(line) for line in lines.values()],
        update_conflicts=True,
        unique_fields=["slug"],
        update_fields=["title", "homepage", "country", "also_known_as", "source"],
    )
    named = {line["provider"] for line in data.regions} - set(lines)
    Provider.objects.bulk_create(
        [Provider(slug=slug, title=slug) for slug in sorted(named)], ignore_conflicts=True
    )


def _provider(line: bundled.Line) -> Provider:
    names = line["also_known_as"].replace("|", ";").split(";")
    return Provider(
        slug=line["slug"],
        title=line["title"],
        homepage=line["homepage"],
        country=line["country"] or None,
        also_known_as=[name.strip() for name in names if name.strip()],
        source=line["source"],
    )


def _write_workloads() -> None:
    """The reference jobs of the cost model, each with its source."""
    Workload.objects.bulk_create(
        [
            Workload(
                slug=slug,
                title=str(job.get("title") or slug),
                kind=str(job.get("kind") or "train"),
                job=job,
                source=str(job.get("source") or "scoring/jobs.toml"),
            )
            for slug, job in ((slug, dict(job_fields(slug))) for slug in jobs())
        ],
        update_conflicts=True,
        unique_fields=["slug"],
        update_fields=["title", "kind", "job", "source"],
    )

"""How much is known, and how much is doubtful: the numbers of `manage.py quality` and its door."""

# ruff: noqa: S608 -- only names of our own are written into SQL

from typing import Any

from django.db import connection
from django.utils import timezone

from catalog.applies import arises_sql
from catalog.cross_checks import cross_checked
from catalog.discrepancies import discrepancies
from catalog.facts import STRENGTH
from catalog.freshness import FACTS
from catalog.models import Fact, QuarantinedRow
from catalog.models.hardware import FactQuerySet
from catalog.statements import INTERCONNECT

# What a buyer asks of several GPUs: whether each offer of more than one says it, with a source.
FIELDS = (
    "form_factor",
    "scale_up",
    "scale_up_gbytes_per_s",
    "scale_up_domain_gpus",
    "nvlink_domain_gpus",
    "fabric",
    "fabric_generation",
    "fabric_nics",
    "fabric_gbits_per_s",
    "fabric_gbits_per_s_per_gpu",
    "gpudirect",
    "gpudirect_rdma",
    "sharp",
    "multi_node",
    "max_gpus_on_one_fabric",
    "software_support",
)

# Whose coverage is asked for: offers of several GPUs; and among them those of the two vendors that
# clusters are built of, where a vendor that nobody names counts as one of them.
SEVERAL = "gpu_count > 1"
NVIDIA_AMD = f"{SEVERAL} and coalesce(gpu_vendor, 'nvidia') in ('nvidia', 'amd')"

# Columns that are computed have the evidence of what they are computed from.
EVIDENCE = {
    "nvlink_domain_gpus": ("scale_up_domain_gpus", "scale_up"),
    "fabric_gbits_per_s_per_gpu": ("fabric_gbits_per_s",),
}
KINDS = STRENGTH  # every basis, the strongest first
OLDEST = 20  # checks that are listed

Coverage = dict[str, float]
NOTHING: Coverage = dict.fromkeys(FIELDS, 0.0)


def quality() -> dict[str, Any]:
    """DESIGN 7, `quality/`: its keys first; then coverage taken apart, and what is in doubt."""
    by_provider = coverage()
    offers, providers, disputes = _counts()
    cross_checks, apart = cross_checked()
    return {
        "offers": offers,
        "providers": providers,
        "coverage": by_provider.pop(None, NOTHING),
        "coverage_in_place": coverage_in_place(),
        "facts_without_source": Fact.objects.live().filter(source="").count(),
        "disputes": disputes,
        "stale_providers": _stale_providers(),
        "quarantined": sum(quarantine_by_provider().values()),
        **coverage_by_basis(),
        "nvidia_amd": coverage(NVIDIA_AMD).get(None, NOTHING),
        "by_provider": by_provider,
        "disputes_by_attribute": disputes_by_attribute(),
        "discrepancies": discrepancies(),
        "cross_checks": cross_checks,
        "price_discrepancies": apart,
        "oldest_checks": oldest_checks(),
        "facts_past_their_limit": _facts_past_their_limit(),
    }


def coverage(population: str = SEVERAL) -> dict[str | None, Coverage]:
    """By provider, and for all of them under None: the share of the offers that say it."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"select provider, sum(offers), {', '.join(map(_known, FIELDS))} {_types(population)} "
            "group by grouping sets ((provider), ()) having sum(offers) > 0 "
            "order by provider nulls first"
        )
        return {
            provider: {
                name: round(float(said / offers), 4)
                for name, said in zip(FIELDS, counts, strict=True)
            }
            for provider, offers, *counts in cursor.fetchall()
        }


def coverage_in_place() -> dict[str, float | None]:
    """Coverage over the offers of which a field can be asked at all; null where that is none.

    A PCIe card has no link speed, and what no fabric joins no NICs of one: `applies` says which.
    """
    placed = (arises_sql(name) or "true" for name in FIELDS)
    asked = [f"coalesce(sum(offers) filter (where {where}), 0)" for where in placed]
    with connection.cursor() as cursor:
        cursor.execute(f"select {', '.join([*map(_known, FIELDS), *asked])} {_types(SEVERAL)}")
        counts = cursor.fetchone()
    pairs = zip(FIELDS, counts[: len(FIELDS)], counts[len(FIELDS) :], strict=True)
    return {name: round(float(said / all_), 4) if all_ else None for name, said, all_ in pairs}


def coverage_by_basis() -> dict[str, Coverage]:
    """Coverage by how a value is known: a map a basis; together they are the whole.

    And `provisional`: the part of the whole of which its source says that it is no promise.
    """
    ways = [(str(kind), f"= '{kind}'", "basis") for kind in KINDS]
    ways.append(("provisional", "= 'true'", "provisional"))
    columns = [_known(name, said, key) for _, said, key in ways for name in FIELDS]
    with connection.cursor() as cursor:
        cursor.execute(f"select sum(offers), {', '.join(columns)} {_types(SEVERAL)}")
        offers, *counts = cursor.fetchone()
    shares = iter(round(float(said / offers), 4) if offers else 0.0 for said in counts)
    return {way: {name: next(shares) for name in FIELDS} for way, *_ in ways}


def _types(population: str) -> str:
    """SQL: the types on offer, each once with the number of its offers; what is known is theirs."""
    return (
        "from (select instance_type_id, provider, count(*) as offers from offer_listing "
        f"where {population} group by 1, 2) o "
        "join catalog_instancetype t on t.id = o.instance_type_id"
    )


def _known(name: str, said: str = "", key: str = "basis") -> str:
    """SQL that counts the offers of which a field is known; where `said`, only if so known."""
    speaks = (f"t.evidence->'{fact}'->>'{key}'" for fact in EVIDENCE.get(name, (name,)))
    how = f" and coalesce({', '.join(speaks)}) {said}" if said else ""
    return f"coalesce(sum(offers) filter (where t.{name} is not null{how}), 0)"


def disputes_by_attribute() -> dict[str, int]:
    """Types whose strongest claims differ, by attribute, the most disputed first."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select d.attribute, count(*) from catalog_instancetype t "
            "cross join lateral unnest(t.disputed) as d(attribute) "
            "group by d.attribute order by count(*) desc, d.attribute"
        )
        return {str(name): int(types) for name, types in cursor.fetchall()}


def oldest_checks() -> list[dict[str, Any]]:
    """Interconnect facts that were not checked for longest."""
    rows = _interconnect_facts().order_by("checked", "subject", "attribute", "id")
    columns = ("subject", "attribute", "value", "basis", "source", "checked")
    return [row | {"checked": row["checked"].isoformat()} for row in rows.values(*columns)[:OLDEST]]


def _facts_past_their_limit() -> int:
    day = timezone.now().date() - FACTS
    return _interconnect_facts().filter(checked__lt=day).count()


def _interconnect_facts() -> FactQuerySet:
    return Fact.objects.live().filter(attribute__in=INTERCONNECT, subject__contains="/")


def _counts() -> tuple[int, int, int]:
    """Offers, their providers, disputed values of their types."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*), count(distinct provider), "
            "(select coalesce(sum(cardinality(disputed)), 0) from catalog_instancetype) "
            "from offer_listing"
        )
        offers, providers, disputes = cursor.fetchone()
    return int(offers), int(providers), int(disputes)


def _stale_providers() -> list[str]:
    """Providers none of whose prices is fresh."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select provider from offer_listing where native_amount is not null "
            "group by provider having bool_and(stale) "
            "order by provider"
        )
        return [provider for (provider,) in cursor.fetchall()]


def quarantine_by_provider() -> dict[str, int]:
    """Rows that wait for a person, by the provider whose newest list holds them."""
    return QuarantinedRow.objects.open().by_provider()

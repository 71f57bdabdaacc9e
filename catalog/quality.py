"""How much is known, and how much is doubtful: the numbers of `manage.py quality` and its door."""

from typing import Any

from django.db import connection

from catalog.models import Fact

# What a buyer asks of several GPUs: whether each offer of more than one says it, with a source.
FIELDS = (
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
)

Coverage = dict[str, float]


def quality() -> dict[str, Any]:
    """DESIGN 7, `quality/`: exactly its keys."""
    by_provider = coverage()
    offers, providers, disputes, quarantined = _counts()
    return {
        "offers": offers,
        "providers": providers,
        "coverage": by_provider.get(None, dict.fromkeys(FIELDS, 0.0)),
        "facts_without_source": Fact.objects.live().filter(source="").count(),
        "disputes": disputes,
        "stale_providers": _stale_providers(),
        "quarantined": quarantined,
    }


def coverage() -> dict[str | None, Coverage]:
    """By provider, and for all of them under None: the share of multi-GPU offers that say it."""
    known = ", ".join(f"count({name})" for name in FIELDS)
    with connection.cursor() as cursor:
        cursor.execute(
            f"select provider, count(*), {known} from offer_listing "  # noqa: S608 -- our names
            "where gpu_count > 1 group by grouping sets ((provider), ()) having count(*) > 0 "
            "order by provider nulls first"
        )
        return {
            provider: {
                name: round(said / offers, 4) for name, said in zip(FIELDS, counts, strict=True)
            }
            for provider, offers, *counts in cursor.fetchall()
        }


def _counts() -> tuple[int, int, int, int]:
    """Offers, their providers, disputed values of their types, rows in quarantine."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select count(*), count(distinct t.provider_id), "
            "(select coalesce(sum(cardinality(disputed)), 0) from catalog_instancetype), "
            "(select count(*) from catalog_quarantinedrow) "
            "from catalog_offer o join catalog_instancetype t on t.id = o.instance_type_id "
            "where o.ended_at is null"
        )
        offers, providers, disputes, quarantined = cursor.fetchone()
    return int(offers), int(providers), int(disputes), int(quarantined)


def _stale_providers() -> list[str]:
    """Providers of which nothing that is listed is fresh."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select provider from offer_listing group by provider having bool_and(stale) "
            "order by provider"
        )
        return [provider for (provider,) in cursor.fetchall()]


def quarantine_by_provider() -> dict[str, int]:
    """Rows in quarantine, by the provider whose run could not take them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "select r.provider_id, count(*) from catalog_quarantinedrow q "
            "join catalog_scraperun r on r.id = q.run_id group by 1 order by 1"
        )
        return {str(provider): int(rows) for provider, rows in cursor.fetchall()}

"""The pages of providers: whence the catalog comes, how fresh, how complete, what is refused."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import exchange, freshness, wording
from catalog.models import InstanceType, QuarantinedRow, ScrapeRun
from catalog.presets import link
from catalog.quality import quality
from catalog.records import Gate
from catalog.sources import Origin, not_live, sources

RUNS = 20  # of a provider, the newest first
ROWS = 100  # refused ones that are shown


@require_safe
def providers(request: HttpRequest) -> HttpResponse:
    """Every provider in a row, the limits of age, what is known, and what is in doubt."""
    found, known = sources(), quality()
    context = {
        "room": "providers",
        "sources": found,
        "live": sum(each.origin == Origin.LIVE for each in found),
        "not_live": not_live(found),
        "limits": [
            (wording.word("price_model", model), limit) for model, limit in freshness.LIMITS.items()
        ],
        "unpriced": freshness.UNPRICED,
        "facts_days": freshness.FACTS.days,
        "missed": freshness.MISSED_INTERVALS,
        "rates": exchange.standing(),
        "quality": known,
        "fields": [
            (wording.title(name), name, share, known["coverage"][name],
             known["documented"][name], known["derived"][name])
            for name, share in known["coverage_in_place"].items()
        ],
    }  # fmt: skip
    return render(request, "catalog/providers.html", context)


@require_safe
def provider(request: HttpRequest, slug: str) -> HttpResponse:
    """One provider: its state, what is known of its types, what was refused, its last runs."""
    source = next((each for each in sources() if each.provider.slug == slug), None)
    if source is None:
        raise Http404
    refused = QuarantinedRow.objects.open().filter(run__provider=slug)
    runs = ScrapeRun.objects.filter(provider=slug).order_by("-started_at")
    disputed = InstanceType.objects.filter(provider=slug).exclude(disputed=[]).order_by("name")
    context = {
        "room": "providers",
        "source": source,
        "refused": [_refused(row) for row in _newest(refused)[:ROWS]],
        "refused_all": source.quarantined,
        "runs": [(run, run_title(run)) for run in runs[:RUNS]],
        "disputed": [(kind, [wording.title(name) for name in kind.disputed]) for kind in disputed],
        "fields": [
            (wording.title(name), known, asked, known / asked if asked else None)
            for name, (known, asked) in source.fields.items()
        ],
        "links": {"offers": link("/", {"provider": slug})},
    }
    return render(request, "catalog/provider.html", context)


def _newest(rows: Any) -> Any:
    return rows.select_related("run").order_by("-run__started_at", "id")


def _refused(row: QuarantinedRow) -> dict[str, Any]:
    """A row that was refused: why, where it stands in which payload, and the row itself."""
    return {
        "gate": gate_title(Gate(row.gate)),
        "reason": row.reason,
        "where": row.where,
        "payload": row.payload_id,
        "row": row.row,
        "seen": row.collected_at or row.run.started_at,
    }


def gate_title(gate: Gate) -> str:
    """Why a row was refused, in words."""
    return {
        Gate.PRICE_BAND: gettext("price outside what such a GPU costs"),
        Gate.PRICE_JUMP: gettext("price far from its last one"),
        Gate.PRICE_ORDER: gettext("prices in the wrong order"),
        Gate.TWO_PRICES: gettext("two prices for one offer"),
        Gate.UNKNOWN_GPU: gettext("GPU that nobody knows"),
        Gate.FIGURES: gettext("figures that cannot be true"),
        Gate.UNREADABLE: gettext("row that cannot be read"),
        Gate.UNFIT: gettext("row that no table takes"),
    }[gate]


def run_title(run: ScrapeRun) -> str:
    """What became of a run, in words."""
    return {
        "running": gettext("running"),
        "published": gettext("published"),
        "unchanged": gettext("read, nothing new"),
        "held": gettext("held: a person must look"),
        "rejected": gettext("refused by a person"),
        "skipped": gettext("skipped, its key is not set"),
        "failed": gettext("failed"),
        "superseded": gettext("overtaken"),
    }[run.state]

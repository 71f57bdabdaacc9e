"""`/metrics`: what Prometheus reads. Requests as they were answered, and figures of the database.

Several processes serve, and any of them may be asked: each keeps its counts in a file of the folder
PROMETHEUS_MULTIPROC_DIR, and whoever is asked adds up all files. `make serve` empties that folder
at its start; elsewhere the unit that starts the web server does. Without it a process tells of its
own requests alone.

It is nobody's business but the operator's: it answers a caller on this very machine, and who shows
METRICS_TOKEN; to all others there is nothing here.
"""

import hmac
import os
import time
from collections.abc import Callable, Iterator

from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from accounts.limits import source_of
from catalog.gauges import GAUGES

Answer = Callable[[HttpRequest], HttpResponse]
METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
REQUESTS = Counter(
    "fabricscout_requests", "Requests by door and status", ("door", "method", "status")
)
LATENCY = Histogram(
    "fabricscout_request_seconds", "Until the answer began", ("door",), buckets=SECONDS
)


def counted(get_response: Answer) -> Answer:
    """Count each request under the pattern of its address, of which there are few."""

    def answer(request: HttpRequest) -> HttpResponse:
        began = time.perf_counter()
        response = get_response(request)
        match = request.resolver_match
        door = "none" if match is None else f"/{match.route}"  # refused before it had a door
        method = request.method if request.method in METHODS else "other"
        REQUESTS.labels(door, method, response.status_code).inc()
        LATENCY.labels(door).observe(time.perf_counter() - began)
        return response

    return answer


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Every figure, in Prometheus' text format."""
    if not _may_read(request):
        raise Http404
    registry = CollectorRegistry()
    if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    else:
        registry = REGISTRY
    text = generate_latest(registry) + generate_latest(_Database())
    return HttpResponse(text, content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    kind, _, shown = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer" and settings.METRICS_TOKEN:
        return hmac.compare_digest(shown.encode(), settings.METRICS_TOKEN.encode())
    if not settings.TRUST_PROXY and "X-Forwarded-For" in request.headers:
        return False  # through a proxy of this machine, for someone who is not on it
    source = source_of(request)
    return source is not None and source.is_loopback


class _Database(Collector):
    """The gauges of all rooms; without a database, that there is none."""

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Each gauge with its values of now."""
        up = 1.0
        for gauge in GAUGES.values():
            family = GaugeMetricFamily(gauge.name, gauge.says, labels=gauge.labels)
            try:
                for *labels, value in gauge.read():
                    family.add_metric([str(label) for label in labels], float(value))
            except (DatabaseError, InterfaceError):
                up = 0.0
                break
            yield family
        yield GaugeMetricFamily("fabricscout_database_up", "Whether it answers", value=up)

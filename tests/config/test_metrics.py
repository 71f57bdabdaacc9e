"""What Prometheus reads: requests over all processes, figures of the database, and for whom."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import OperationalError
from prometheus_client.parser import text_string_to_metric_families

from tests.catalog.conftest import offer, scrape

ROOT = Path(__file__).parents[2]


def figures(text):
    """Each sample's name and labels, in the order of theirs, to its value."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def read(client):
    def ask(status=200, **how):
        answer = client.get("/metrics", **how)
        assert answer.status_code == status
        return figures(answer.content.decode()) if status == 200 else None

    return ask


@pytest.mark.django_db
def test_requests_are_counted_by_door_and_status(client, read):
    door = "/api/v1/instance-types/<str:provider>/<path:name>/"
    before = read().get(("fabricscout_requests_total", door, "GET", "404"), 0)
    client.get("/api/v1/instance-types/nobody/nothing/")
    client.get("/api/v1/instance-types/nobody/else/")
    after = read()
    assert after["fabricscout_requests_total", door, "GET", "404"] == before + 2
    assert after["fabricscout_request_seconds_count", door] >= 2


@pytest.mark.django_db
def test_runs_ages_and_offers_are_told_by_provider(read):
    scrape([offer("a", "10"), offer("b", "20")])
    found = read()
    assert found["fabricscout_offers", "acme"] == 2
    assert found["fabricscout_scrape_runs_last_day", "acme", "published"] == 1
    assert found["fabricscout_catalog_age_seconds", "acme"] > 0
    assert found["fabricscout_queue_due",] >= 0
    assert found["fabricscout_database_up",] == 1


@pytest.mark.django_db
def test_without_a_database_it_says_so_and_still_counts(read, monkeypatch):
    def gone(*_args, **_kwargs):
        raise OperationalError("connection refused")

    monkeypatch.setattr("django.db.backends.utils.CursorWrapper.execute", gone)
    found = read()
    assert found["fabricscout_database_up",] == 0
    assert any(name == "fabricscout_requests_total" for name, *_ in found)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("how", "status"),
    [
        ({"REMOTE_ADDR": "127.0.0.1"}, 200),
        ({"REMOTE_ADDR": "::1"}, 200),
        ({"REMOTE_ADDR": "192.0.2.1"}, 404),
        ({"REMOTE_ADDR": "127.0.0.1", "headers": {"X-Forwarded-For": "192.0.2.1"}}, 404),
        ({"REMOTE_ADDR": "127.0.0.1", "headers": {"X-Forwarded-For": "127.0.0.1"}}, 404),
        ({"REMOTE_ADDR": "192.0.2.1", "headers": {"Authorization": "Bearer right"}}, 200),
        ({"REMOTE_ADDR": "192.0.2.1", "headers": {"Authorization": "Bearer wrong"}}, 404),
        ({"REMOTE_ADDR": "192.0.2.1", "headers": {"Authorization": "Bearer "}}, 404),
    ],
)
def test_only_this_machine_and_the_token_read_it(read, settings, how, status):
    settings.METRICS_TOKEN = "right"
    read(status, **how)


@pytest.mark.django_db
def test_no_token_opens_it_where_none_is_set(read, settings):
    settings.METRICS_TOKEN = ""
    read(404, REMOTE_ADDR="192.0.2.1", headers={"Authorization": "Bearer "})


def test_the_counts_of_all_processes_are_added_up(tmp_path):
    """Two processes count, a third tells."""
    script = (
        "import os; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'config.settings')\n"
        "import django; django.setup()\n"
        "from config import metrics\n"
        "{}"
    )
    count = "metrics.REQUESTS.labels('/x', 'GET', 200).inc(2)"
    tell = (
        "from django.test import RequestFactory\n"
        "metrics.GAUGES.clear()\n"
        "print(metrics.metrics(RequestFactory().get('/metrics')).content.decode())"
    )
    environment = os.environ | {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}

    def run(what):
        return subprocess.run(
            [sys.executable, "-c", script.format(what)],
            cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip

    run(count)
    run(count)
    assert figures(run(tell))["fabricscout_requests_total", "/x", "GET", "200"] == 4

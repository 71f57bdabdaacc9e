"""The numbers of `manage.py quality`."""

import json
from io import StringIO

import pytest
from django.core.management import call_command

from catalog.models import QuarantinedRow
from catalog.quality import quality
from tests.catalog.conftest import facts, offer, scrape

pytestmark = pytest.mark.django_db
KEYS = {
    "offers", "providers", "coverage", "facts_without_source", "disputes", "stale_providers",
    "quarantined",
}  # fmt: skip


def test_coverage_is_the_share_of_multi_gpu_offers_that_say_it() -> None:
    said = {"fabric": "infiniband", "gpudirect_rdma": "yes"}
    one = facts("acme/one", gpu_count=1)
    scrape(
        [offer("told", facts=facts("acme/told", **said)), offer("silent"), offer("one", facts=one)]
    )
    numbers = quality()
    assert set(numbers) == KEYS
    assert (numbers["offers"], numbers["providers"]) == (3, 1)
    coverage = numbers["coverage"]
    assert (coverage["fabric"], coverage["gpudirect_rdma"], coverage["sharp"]) == (0.5, 0.5, 0)
    assert coverage["scale_up"] == 1  # eight SXM GPUs on a board: derived, by a named rule


def test_disputes_stale_providers_and_quarantine_are_counted() -> None:
    QuarantinedRow.objects.create(run=scrape([offer()]), reason="no price", where="offers[0]")
    scrape([offer(facts=facts("acme/h100x8") + facts("acme/h100x8", gpu_count=4))], days=1)
    numbers = quality()
    assert (numbers["disputes"], numbers["quarantined"]) == (1, 1)
    assert numbers["stale_providers"] == ["acme"]  # of 2026-11-24, three days and more ago
    assert numbers["facts_without_source"] == 0


def test_the_command_tells_it_by_provider() -> None:
    scrape([offer()])
    said = StringIO()
    call_command("quality", "--json", stdout=said)
    numbers = json.loads(said.getvalue())
    assert set(numbers) >= KEYS
    assert numbers["by_provider"]["acme"]["scale_up"] == 1
    call_command("quality", stdout=said)
    assert "share of multi-GPU offers" in said.getvalue()


def test_an_empty_catalog_has_numbers_too() -> None:
    assert quality()["coverage"]["fabric"] == 0

"""Storage and egress: a line of their own with its source, unknown where nobody says."""

from unittest.mock import patch

import pytest

from catalog import estimates, extras
from catalog.facts import DATA, BadFact
from catalog.models import Workload
from scoring.workload import job_fields
from tests.catalog.market import open_market

JOB = "llama3-8b-pretrain"


@pytest.fixture
def lines(tmp_path):
    """Other lines than those of the file; call it with them."""
    header = "provider,what,usd,of,basis,source,checked\n"

    def write(*rows):
        (tmp_path / "extras.csv").write_text(header + "\n".join(rows))
        extras._all.cache_clear()

    with patch.object(extras, "DATA", tmp_path):
        yield write
    extras._all.cache_clear()


def test_what_nobody_says_is_null_and_what_is_free_is_0(lines):
    lines("acme,egress_usd_per_gb,0,free,documented,https://acme.example,2026-11-29")
    said = extras.extras("acme")
    assert (said["storage_usd_per_gb_month"], said["egress_usd_per_gb"]) == (None, 0.0)
    assert [each["source"] for each in said["said"]] == ["https://acme.example"]
    assert extras.extras("nobody") == {
        "storage_usd_per_gb_month": None, "egress_usd_per_gb": None, "said": [],
    }  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "acme,parking_usd,1,x,stated,https://a.example,2026-11-29",
        "acme,egress_usd_per_gb,90,x,stated,https://a.example,2026-11-29",
        "acme,egress_usd_per_gb,1,x,guessed,https://a.example,2026-11-29",
        "acme,egress_usd_per_gb,1,x,stated,,2026-11-29",
        "acme,egress_usd_per_gb,1,x,stated,https://a.example,soon",
    ],
)
def test_a_line_without_source_unit_or_day_does_not_load(lines, line):
    lines(line)
    with pytest.raises(BadFact):
        extras.extras("acme")


def test_the_file_loads_and_no_provider_pays_less_for_it(db, lines):
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    open_market()
    ask = {"workload": JOB, "gpus": 64}
    dear = "acme,egress_usd_per_gb,9,x,stated,https://a.example,2026-11-29"
    lines()
    free = estimates._ranked(estimates.asked(ask))["results"]
    lines(dear)
    paid = estimates._ranked(estimates.asked(ask))["results"]
    assert [each["usd_per_mtoken"] for each in free] == [each["usd_per_mtoken"] for each in paid]
    known = {each["offer"]["provider"]: each["besides"]["egress_usd_per_gb"] for each in paid}
    assert known["acme"] == 9


def test_every_line_of_the_file_has_its_source():
    extras._all.cache_clear()
    assert (DATA / "extras.csv").exists()
    assert all(line["source"] for said in extras._all().values() for line in said.values())

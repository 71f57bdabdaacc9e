"""The bundled files: whole or not at all, quickly, and never over a newer live price."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from catalog.facts import DATA
from catalog.filters import OfferQuery
from catalog.invariants import broken
from catalog.loading import load
from catalog.models import (
    CatalogVersion,
    Fact,
    Gpu,
    InstanceType,
    Offer,
    Price,
    Provider,
    Region,
    Workload,
)
from catalog.offers import cheapest
from catalog.records import NO_PRICE_FOUND
from tests.catalog.conftest import offer, scrape

pytestmark = pytest.mark.django_db
FACTS = "subject,attribute,value,unit,basis,source,checked,scope,note\n"
LINES = {
    "providers.csv": "slug,title,homepage,country,also_known_as,source\n"
    "acme,Acme,https://acme.example,NO,Acme Cloud;Acme AI,https://acme.example\n",
    "regions.csv": "provider,region,country,continent,source\n"
    "acme,oslo,NO,Europe,https://acme.example\n",
    "rates.csv": "currency,usd_per_unit,day,source\n"
    "EUR,1.10,2026-11-01,https://bank.example\nEUR,1.20,2026-11-20,https://bank.example\n",
    "instances.csv": FACTS
    + "acme/h100x8,gpu,h100-sxm5-80gb,,documented,https://acme.example,2026-11-10,,\n"
    + "acme/h100x8,gpu_count,8,GPUs,documented,https://acme.example,2026-11-10,,\n",
    "prices.csv": "provider,instance_type,region,tier,price_model,amount,currency,per,"
    "minimum_hours,includes,note,source,checked\n"
    "acme,h100x8,oslo,,on_demand,2.5,EUR,gpu,,,,https://acme.example,2026-11-10\n"
    "acme,h100x8,,,quote,,,,,,ask for it,https://acme.example,2026-11-10\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bundled catalog of one type."""
    for name, text in LINES.items():
        (tmp_path / name).write_text(text)
    shutil.copy(DATA / "gpus.csv", tmp_path)
    (tmp_path / "fabrics.csv").write_text(FACTS)
    return tmp_path


@pytest.fixture
def edit(folder: Path) -> Callable[[str, str, str], None]:
    """Replace a piece of one of its files."""

    def replace(name: str, old: str, new: str) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return replace


def rows() -> tuple[int, ...]:
    return tuple(m.objects.count() for m in (Provider, Region, Fact, InstanceType, Offer, Price))


def test_a_dated_price_per_gpu_is_told_for_the_instance_in_dollars_of_its_day(folder: Path) -> None:
    load(folder)
    priced = Offer.objects.get(price_model="on_demand")
    assert (priced.native_amount, priced.native_currency) == (20, "EUR")
    assert (priced.usd_per_hour, priced.usd_per_gpu_hour) == (22, Decimal("2.75"))
    assert priced.usd_rate_date.isoformat() == "2026-11-01"
    assert priced.collected_at == datetime(2026, 11, 10, tzinfo=UTC)
    assert Offer.objects.get(price_model="quote").price_note == "ask for it"
    assert Provider.objects.get(slug="acme").also_known_as == ["Acme Cloud", "Acme AI"]
    assert Region.objects.get().country.continent == "Europe"
    assert broken() == {}


def test_the_same_files_are_skipped_and_forced_they_change_nothing(folder: Path) -> None:
    load(folder)
    before, version = rows(), CatalogVersion.objects.get().version
    assert load(folder).skipped
    assert CatalogVersion.objects.get().version == version
    again = load(folder, force=True)
    assert (again.skipped, again.counts.written, rows()) == (False, 0, before)


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("prices.csv", "2.5,EUR", "0,EUR", "prices.csv line 2: amount: '0'"),
        ("prices.csv", "2.5,EUR", "1e999,EUR", "prices.csv line 2: amount: '1e999'"),
        ("prices.csv", "on_demand", "hourly", "prices.csv line 2: price_model: 'hourly'"),
        ("prices.csv", "ask for it,https://acme.example", "ask,", "prices.csv line 3: source"),
        ("prices.csv", "gpu,,", "kilo,,", "prices.csv line 2: per: 'kilo'"),
        ("regions.csv", "NO,", "Norway,", "regions.csv line 2: country"),
        ("rates.csv", "2026-11-20", "soon", "rates.csv line 3: day: 'soon'"),
        ("prices.csv", "2026-11-10", "2126-11-10", "prices.csv line 2: checked: 2126-11-10 has"),
        ("instances.csv", "2026-11-10", "2126-11-10", "instances.csv line 2: checked: 2126"),
        ("instances.csv", "8,GPUs", "8,cards", "instances.csv line 3: unit"),
        ("instances.csv", "h100-sxm5-80gb", "h900", "instances.csv"),
        ("providers.csv", "acme,Acme,", "acme,,", "providers.csv line 2: title"),
        ("providers.csv", "slug,title", "slug,name", "providers.csv line 1: the columns"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_is_lost(
    folder: Path, edit: Callable[..., None], name: str, old: str, new: str, told: str
) -> None:
    load(folder)
    before = rows()
    edit(name, old, new)
    with pytest.raises(CommandError, match="Nothing was loaded") as problem:
        call_command("load_catalog", "--from", str(folder), stdout=StringIO())
    assert told in str(problem.value)
    assert rows() == before
    edit(name, new, old)
    assert load(folder).skipped  # what is in the tables is what was loaded before


@pytest.mark.parametrize("name", ["prices.csv", "regions.csv", "instances.csv", "gpus.csv"])
def test_a_file_or_a_folder_that_is_not_there_empties_nothing(folder: Path, name: str) -> None:
    load(folder)
    before = rows()
    (folder / name).unlink()
    with pytest.raises(CommandError, match=f"{name} is not there. Nothing was loaded"):
        call_command("load_catalog", "--from", folder)
    with pytest.raises(CommandError, match=r"is not there\. Nothing was loaded"):
        call_command("load_catalog", "--from", folder / "mistyped")
    assert rows() == before
    assert Offer.objects.listed().count() == 2


def test_bytes_that_are_no_text_are_one_sentence(folder: Path) -> None:
    (folder / "prices.csv").write_bytes(b"\xff\xfe")
    with pytest.raises(CommandError, match="is not UTF-8 text"):
        call_command("load_catalog", "--from", folder)


def test_a_line_that_is_gone_is_superseded_and_its_offer_ends(
    folder: Path, edit: Callable[..., None]
) -> None:
    load(folder)
    edit("instances.csv", LINES["instances.csv"].splitlines()[2] + "\n", "")
    edit("prices.csv", LINES["prices.csv"].splitlines()[2] + "\n", "")
    edit("prices.csv", ",gpu,", ",instance,")
    load(folder)
    assert Fact.objects.exclude(superseded_at=None).get().attribute == "gpu_count"
    assert InstanceType.objects.get().gpu_count is None
    assert Offer.objects.exclude(ended_at=None).get().price_model == "quote"
    assert broken() == {}


def test_a_newer_live_price_stands_and_the_dated_one_is_its_past(folder: Path) -> None:
    load(folder)
    scrape([offer(usd="30")])  # collected on 2026-11-23
    load(folder, force=True)
    live = Offer.objects.get(price_model="on_demand")
    assert (live.usd_per_hour, live.first_seen.day) == (30, 10)
    assert [p.native_amount for p in live.prices.order_by("valid_from")] == [20, 30]
    assert Offer.objects.listed().count() == 2
    assert broken() == {}


def test_a_corrected_gpu_count_corrects_the_price_of_one_gpu(
    folder: Path, edit: Callable[..., None]
) -> None:
    edit("prices.csv", "2.5,EUR,gpu", "20,EUR,instance")
    load(folder)
    edit("instances.csv", "gpu_count,8", "gpu_count,4")
    load(folder)
    assert Offer.objects.get(price_model="on_demand").usd_per_gpu_hour == Decimal("5.5")


def test_a_changed_rule_is_applied_to_facts_that_are_loaded_already(folder: Path) -> None:
    load(folder)
    InstanceType.objects.update(scale_up=None)  # as an older rule had left it
    load(folder, force=True)
    assert InstanceType.objects.get().scale_up == "nvswitch"


def test_a_known_type_without_a_price_is_listed_until_an_offer_of_it_is(
    folder: Path, edit: Callable[..., None]
) -> None:
    for line in LINES["prices.csv"].splitlines()[1:]:
        edit("prices.csv", line + "\n", "")
    load(folder)
    (listed,) = cheapest(OfferQuery())
    assert (listed["instance_type"], listed["usd_per_hour"]) == ("h100x8", None)
    assert listed["price_note"] == NO_PRICE_FOUND
    scrape([offer(usd="30")])
    (listed,) = cheapest(OfferQuery())
    assert (listed["price_model"], listed["usd_per_hour"]) == ("on_demand", "30")


def test_the_bundled_catalog_loads_whole_and_once() -> None:
    said = StringIO()
    call_command("load_catalog", stdout=said)
    assert "offers new" in said.getvalue()
    assert Gpu.objects.count() > 30
    assert Workload.objects.exclude(source="").count() >= 10
    assert broken() == {}
    call_command("load_catalog", stdout=said)
    assert "is loaded already" in said.getvalue()

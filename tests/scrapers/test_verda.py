"""What is odd about Verda: prices as text, memory of all GPUs together, places that come and go."""

from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.http import FetchFailed
from scrapers.lines import offer_line
from scrapers.normalise import offers
from scrapers.providers import verda
from scrapers.registry import PROVIDERS

ORIGIN = "https://api.verda.com"


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["verda"], [recorded("verda")], {})


@pytest.fixture(scope="module")
def placed() -> Normalised:
    both = [recorded("verda"), recorded("verda_availability")]
    return offers(PROVIDERS["verda"], both, {})


def test_prices_are_text_and_of_the_whole_instance(types):
    node = one(types, "8H100.80S.176V")
    assert node.usd_per_hour == Decimal("23.2")
    assert offer_line(node)["usd_per_gpu_hour"] == "2.9"
    assert one(types, "8H100.80S.176V", "spot").usd_per_hour == Decimal("8.1")


def test_memory_is_of_all_gpus_together(types):
    assert fact(one(types, "2A6000.20V"), "gpu_memory_gb").value == 48


def test_262_gb_by_name_and_262_5_by_count_are_the_288_of_a_b300(types):
    line = offer_line(one(types, "4B300.120V", "spot"))
    assert (line["gpu"], line["gpu_memory_gb"]) == ("b300-sxm6-288gb", 288)


def test_null_and_empty_text_are_not_sold_so(types):
    sold = {(o.instance_type, o.price_model) for o in types.offers}
    assert ("4B300.120V", "on_demand") not in sold
    assert ("2A6000.20V", "spot") not in sold


def test_a_type_without_any_price_is_listed_without_one(types):
    offer = one(types, "1H200.141S.44V")
    assert (offer.usd_per_hour, offer.price_note) == (None, "no price in the list")


def test_its_own_currency_is_kept(types):
    offer = one(types, "1V100.6V")
    assert (offer.native_amount, offer.native_currency) == (Decimal("0.21"), "EUR")
    assert offer.usd_per_hour is None
    assert "225 GB of local disk" in offer.price_includes


def test_a_v100_without_a_form_stays_two_candidates(types):
    assert set(one(types, "1V100.6V").gpu_candidates) == {"v100-pcie-16gb", "v100-sxm2-16gb"}


def test_p2p_is_shown_and_is_no_figure_of_ours(types):
    node = one(types, "8H100.80S.176V")
    assert any("900GB/s" in warning for warning in node.warnings)
    assert not [f for f in node.facts if f.attribute == "scale_up_pair_gbytes_per_s"]


def test_machines_without_gpus_are_counted(types):
    assert types.ignored == {"no GPU": 1}


def test_without_the_availability_nothing_is_said_of_place_or_stock(types):
    assert {(o.region, o.available) for o in types.offers} == {(None, None)}


def test_an_empty_place_is_sold_out_and_an_unnamed_one_is_no_more(placed):
    at = {o.region: o.available for o in placed.offers if o.instance_type == "2A6000.20V"}
    assert at == {"FIN-01": True, "FIN-02": False, "ICE-01": False}
    assert {o.country for o in placed.offers} == {"FI", "IS"}


def test_a_place_with_no_list_is_rejected_alone():
    stock = [
        {"location_code": "FIN-01", "availabilities": None},
        {"location_code": "FIN-03", "availabilities": ["1L4.8V"]},
    ]
    kind = {"instance_type": "1L4.8V", "name": "L4 24GB", "price_per_hour": "0.5"}
    result = parsed("verda", [kind | {"gpu": {"number_of_gpus": 1}}], stock)
    assert [(o.region, o.available) for o in result.offers] == [("FIN-03", True)]
    assert reasons(result) == {"[0].availabilities": "is not a list"}


def test_an_empty_list_is_a_list():
    assert parsed("verda", []).rows == 0


# --- Fetch ------------------------------------------------------------------------------------


def test_without_a_key_the_types_are_read(monkeypatch):
    monkeypatch.delenv("VERDA_CLIENT_ID", raising=False)
    with serve([Answer.json([])]) as api:
        assert len(list(verda.fetch(api.http(ORIGIN)))) == 1


def test_the_token_is_asked_for_and_not_kept(monkeypatch):
    monkeypatch.setenv("VERDA_CLIENT_ID", "me")
    monkeypatch.setenv("VERDA_CLIENT_SECRET", "hush")
    script = [Answer.json([]), Answer.json({"access_token": "t0"}), Answer.json([])]
    with serve(script) as api:
        documents = list(verda.fetch(api.http(ORIGIN)))
    assert [document.url for document in documents] == [verda.TYPES, verda.AVAILABILITY]
    assert api.requests[2].headers["Authorization"] == "Bearer t0"
    assert not [d for d in documents if b"t0" in d.body or b"hush" in d.body]


def test_a_refused_token_fails_the_fetch(monkeypatch):
    monkeypatch.setenv("VERDA_CLIENT_ID", "me")
    monkeypatch.setenv("VERDA_CLIENT_SECRET", "hush")
    script = [Answer.json([]), Answer.json({"code": "unauthorized"})]
    with serve(script) as api, pytest.raises(FetchFailed, match="without a token"):
        list(verda.fetch(api.http(ORIGIN)))


def test_a_real_list():
    real = parsed("verda", shared("data/payloads/verda/instance_types.json").read_bytes())
    assert (len(real.offers), len(real.rejected), real.ignored) == (6, 0, {"no GPU": 1})
    assert one(real, "1H100.80S.30V", "spot").usd_per_hour == Decimal("1.7")

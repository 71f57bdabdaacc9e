"""Gates that look at the whole list, and what a person's ruling changes of them."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from recorded import FETCHED

from catalog.judgement import Judgement
from catalog.records import Gate, Normalised, PriceModel
from scrapers.gpu_names import alias_key
from scrapers.listing import Listing, Price
from scrapers.normalise import settle
from scrapers.registry import PROVIDERS

LIST, MARKET = PROVIDERS["lambda"], PROVIDERS["vast"]


def sold(gpus: int, usd: str, **changes: Any) -> Listing:
    """So many H100 SXM on a host that grows with them."""
    whole = {
        "where": f"rows[{gpus}]",
        "url": "https://provider.example/list",
        "fetched_at": FETCHED,
        "instance": f"h100x{gpus}",
        "price_model": PriceModel.ON_DEMAND,
        "region": "r1",
        "gpu": "H100 SXM",
        "gpu_count": Decimal(gpus),
        "vcpus": Decimal(26 * gpus),
        "ram": (Decimal(225 * gpus), "GiB"),
        "price": Price(Decimal(usd)),
        "row": f'{{"gpus": {gpus}}}',
    }
    return Listing(**(whole | changes))


def settled(*items: Listing, provider: Any = LIST, **judgement: Any) -> Normalised:
    return settle(provider, iter(items), {}, None, Judgement(**judgement))


def names(result: Normalised) -> set[str]:
    return {offer.instance_type for offer in result.offers}


# --- More GPUs for less -----------------------------------------------------------------------


def test_eight_for_less_than_four_are_held_with_both_prices_in_the_sentence() -> None:
    result = settled(sold(4, "12"), sold(8, "3.20"))
    assert names(result) == {"h100x4"}
    (row,) = result.rejected
    assert (row.gate, row.where, row.row) == (Gate.PRICE_ORDER, "rows[8]", '{"gpus": 8}')
    assert "USD 3.2 an hour for 8 GPUs (h100x8) is less than USD 12 for 4" in row.reason


def test_the_rest_of_the_list_tells_which_of_the_two_is_wrong() -> None:
    right = [sold(1, "3"), sold(2, "6"), sold(8, "24")]
    assert names(settled(*right, sold(4, "96"))) == {"h100x1", "h100x2", "h100x8"}
    low = [sold(1, "3"), sold(2, "6"), sold(4, "12")]
    assert names(settled(*low, sold(8, "3"))) == {"h100x1", "h100x2", "h100x4"}


@pytest.mark.parametrize(
    "changes",
    [
        {"vcpus": Decimal(4)},  # the smaller one stands on the larger host
        {"vcpus": None},  # nobody says
        {"gpu": "H100"},  # PCIe or SXM: two products
        {"price_model": PriceModel.SPOT},
    ],
    ids=["host", "unknown host", "unknown form", "spot"],
)
def test_what_is_only_odd_is_kept_and_said(changes: dict[str, Any]) -> None:
    small = {name: value for name, value in changes.items() if name != "vcpus"}
    result = settled(sold(4, "12", **small), sold(8, "3.20", **changes))
    said = {offer.instance_type: offer.warnings for offer in result.offers}
    assert "more of the same GPU cost less here, in h100x8" in said["h100x4"]
    bargain = "fewer of the same GPU cost more here, in h100x4: one of the two prices may be wrong"
    assert bargain in said["h100x8"]
    assert not result.rejected


@pytest.mark.parametrize(
    "changes",
    [{"region": "r2"}, {"tier": "secure"}, {"gpu": "A100 SXM4 80GB"}],
    ids=["region", "tier", "gpu"],
)
def test_prices_of_two_places_or_products_are_not_compared(changes: dict[str, Any]) -> None:
    result = settled(sold(4, "12"), sold(8, "6", **changes))
    assert len(result.offers) == 2
    assert not any(offer.warnings for offer in result.offers)


def test_in_a_market_each_price_is_another_owners() -> None:
    result = settled(sold(4, "12"), sold(8, "6"), provider=MARKET)
    assert (len(result.offers), result.offers[0].warnings) == (2, ())


def test_more_for_less_than_a_dear_twin_is_nothing_odd() -> None:
    dear = replace(sold(4, "30"), instance="h100x4-infiniband")
    assert not settled(sold(4, "12"), dear, sold(8, "24")).rejected


# --- What a person has ruled ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "gate"),
    [
        ([sold(8, "0.80")], Gate.PRICE_BAND),
        ([sold(4, "12"), sold(8, "3.20")], Gate.PRICE_ORDER),
        ([sold(8, "24"), sold(8, "25", where="rows[9]")], Gate.TWO_PRICES),
        ([sold(8, "24", gpu="H900 Ultra")], Gate.UNKNOWN_GPU),
        (
            [sold(8, "24", gpu_memory=(Decimal(80), "GB"), total_gpu_memory=(Decimal(320), "GB"))],
            Gate.FIGURES,
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Gate) else "",
)
def test_what_a_gate_doubts_is_an_offer_once_a_person_lets_it_through(
    rows: list[Listing], gate: Gate
) -> None:
    (row,) = settled(*rows).rejected
    assert row.gate is gate
    after = settled(*rows, accepted=frozenset({row.key}))
    assert set(row.identities) <= {offer.identity for offer in after.offers}
    assert row.identities
    assert not after.rejected, "and nothing else is asked"


def test_a_row_that_sells_one_type_in_many_places_is_one_question() -> None:
    rows = [sold(8, "24", gpu="H900", region=region, where="rows[0]") for region in ("r1", "r2")]
    (row,) = settled(*rows).rejected
    assert [identity[3] for identity in row.identities] == ["r1", "r2"]
    assert len(settled(*rows, accepted=frozenset({row.key})).offers) == 2


def test_another_price_of_the_same_offer_is_judged_anew() -> None:
    (row,) = settled(sold(8, "0.80")).rejected
    (again,) = settled(sold(8, "0.81"), accepted=frozenset({row.key})).rejected
    assert again.key != row.key


def test_a_price_of_no_such_gpu_says_so_with_its_limits() -> None:
    (row,) = settled(sold(8, "0.80")).rejected
    assert row.reason == (
        "held: US$ 0.1000 an hour for one H100 is below all prices seen, US$ 0.4 to 40"
    )


def test_words_that_were_taught_are_read_in_the_next_list() -> None:
    strange = sold(8, "24", gpu="HGX Hopper-8", region="EU (Oslo 1)")
    assert settled(strange).rejected[0].about == "HGX Hopper-8"
    taught = settled(
        strange,
        gpus={alias_key("lambda", "hgx  HOPPER-8"): "h100-sxm5-80gb"},
        regions={("lambda", "EU (Oslo 1)"): "oslo"},
    )
    (offer,) = taught.offers
    assert offer.region == "oslo"
    assert {f.value for f in offer.facts if f.attribute == "gpu"} == {"h100-sxm5-80gb"}


def test_words_of_another_script_mean_only_what_they_were_taught() -> None:
    taught = {"gpus": {alias_key("", "显卡"): "h100-sxm5-80gb"}}
    assert len(settled(sold(8, "24", gpu="显卡"), **taught).offers) == 1
    for other in ("另一个", "显卡 2", "!"):
        assert settled(sold(8, "24", gpu=other), **taught).rejected[0].gate is Gate.UNKNOWN_GPU

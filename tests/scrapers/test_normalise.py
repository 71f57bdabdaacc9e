"""From words to an offer: which GPU, whose memory, what an hour costs, and what is held."""

import time
from collections.abc import Iterable
from datetime import date
from decimal import Decimal

import pytest
from recorded import FETCHED, fact, reasons

from catalog.facts import gpus
from catalog.ledger import spec
from catalog.records import Basis, Normalised, PriceModel, Rejected
from scrapers.fields import Row
from scrapers.gpu_names import UnknownGpu, aliases, identify, skus_of
from scrapers.listing import Evidence, Ignored, Listing, Price
from scrapers.normalise import Rate, settle
from scrapers.quantities import UnknownUnit, bandwidths, count, fold, gigabytes
from scrapers.regions import named_country
from scrapers.registry import PROVIDERS


def listing(**changes: object) -> Listing:
    whole: dict[str, object] = {
        "where": "rows[0]",
        "url": "https://provider.example/list",
        "fetched_at": FETCHED,
        "instance": "h100x8",
        "price_model": PriceModel.ON_DEMAND,
        "region": "r1",
        "gpu": "H100 SXM",
        "gpu_count": Decimal(8),
        "price": Price(Decimal(20)),
    }
    return Listing(**(whole | changes))  # type: ignore[arg-type]


def settled(*items: Listing | Rejected | Ignored, **rates: Rate) -> Normalised:
    return settle(PROVIDERS["vast"], iter(items), rates)


def refused(**changes: object) -> str:
    """Why a listing is rejected."""
    result = settled(listing(**changes))
    assert (len(result.offers), len(result.rejected)) == (0, 1)
    return result.rejected[0].reason


# --- Which GPU --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "slug"),
    [
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),  # the driver's name of the SXM part
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("H100 SXM", "h100-sxm5-80gb"),
        ("H100_PCIE_80GB", "h100-pcie-80gb"),
        ("h100-sxm5-80gb", "h100-sxm5-80gb"),
        ("HGX H100", "h100-sxm5-80gb"),
        ("8x H100 (80 GB SXM5)", "h100-sxm5-80gb"),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm4-40gb"),
        ("A100 (80 GB SXM4)", "a100-sxm4-80gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("NVIDIA H200", "h200-sxm5-141gb"),
        ("NVIDIA GeForce RTX 4090", "rtx4090-pcie-24gb"),
        ("RTX4090", "rtx4090-pcie-24gb"),
        ("RTX A6000", "rtxa6000-pcie-48gb"),
        ("A6000", "rtxa6000-pcie-48gb"),
        ("RTX 6000 Ada Generation", "rtx6000ada-pcie-48gb"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtxpro6000-pcie-96gb"),
        ("RTX PRO Server 6000", "rtxpro6000-pcie-96gb"),
        ("B200 (180 GB SXM6)", "b200-sxm6-180gb"),
        ("B200 192GB", "b200-sxm6-180gb"),
        ("NVIDIA HGX B300", "b300-sxm6-288gb"),
        ("B300 SXM6 262GB", "b300-sxm6-288gb"),  # GiB printed as GB
        ("Tesla V100-FHHL-16GB", "v100-pcie-16gb"),
        ("geforcertx4090-pcie-24gb", "rtx4090-pcie-24gb"),
        ("GB200 NVL72", "gb200-superchip-186gb"),
        ("AMD Instinct MI300X OAM", "mi300x-oam-192gb"),
        ("L40S", "l40s-pcie-48gb"),
        ("NVIDIA L4", "l4-pcie-24gb"),
        ("A10G", "a10g-pcie-24gb"),
        ("A10", "a10-pcie-24gb"),
    ],
)
def test_words_name_a_sku(words, slug):
    assert identify(words).slug == slug


@pytest.mark.parametrize(
    ("words", "candidates"),
    [
        ("H100", ("h100-nvl-94gb", "h100-pcie-80gb", "h100-sxm5-80gb")),
        ("NVIDIA H100 80GB", ("h100-pcie-80gb", "h100-sxm5-80gb")),
        ("A100 SXM4", ("a100-sxm4-40gb", "a100-sxm4-80gb")),
        ("V100 16GB", ("v100-pcie-16gb", "v100-sxm2-16gb")),
    ],
)
def test_words_that_leave_it_open_keep_the_candidates(words, candidates):
    named = identify(words)
    assert (named.slug, named.candidates) == (None, candidates)


@pytest.mark.parametrize(
    ("words", "gb", "slug"),
    [
        ("H100", 95830, "h100-nvl-94gb"),
        ("A100 PCIE", 40960, "a100-pcie-40gb"),
        ("A100 SXM4", 81920, "a100-sxm4-80gb"),
        ("L4", 22888, "l4-pcie-24gb"),
        ("L40S", 45776, "l40s-pcie-48gb"),
        ("RTX 4090", 23028, "rtx4090-pcie-24gb"),
        ("RTX 4090", 24564, "rtx4090-pcie-24gb"),
        ("H200 SXM", 144384, "h200-sxm5-141gb"),
        ("B200", 183359, "b200-sxm6-180gb"),
        ("B300", 275040, "b300-sxm6-288gb"),
        ("B300", 268800, "b300-sxm6-288gb"),  # 262.5 GiB
    ],
)
def test_usable_mebibytes_tell_the_nominal_part(words, gb, slug):
    assert identify(words, gigabytes(Decimal(gb), "MiB")).slug == slug


def test_a_memory_that_no_such_card_has_leaves_it_open_and_says_so():
    named = identify("RTX 4090", gigabytes(Decimal(49140), "MiB"))  # a card made over to 48 GB
    assert (named.slug, named.candidates) == (None, ("rtx4090-pcie-24gb",))
    assert "52 GB" in named.note
    assert identify("B200 (108 GB SXM6)").slug is None


@pytest.mark.parametrize(
    "words",
    ["RTX 4090 Laptop", "RTX 4090 D", "A100X", "GTX 1070", "H100 SXM9", "NVIDIA", "", "8", "RTX"],
)
def test_a_name_that_is_not_understood_is_unknown(words):
    with pytest.raises(UnknownGpu):
        identify(words)


@pytest.mark.parametrize(
    "words",
    [
        "\u041d100 \u0405\u0425\u041c",  # Cyrillic Н, Ѕ, Х, М
        "\uff28\uff11\uff10\uff10\u3000\uff33\uff38\uff2d",  # wide letters
        "H\u200b1\u200d00\u00a0S\u2060XM",  # invisible ones
        "\u202eH100 SXM\u202c",
        "h100   sxm",
    ],
)
def test_letters_that_look_alike_are_the_same(words):
    assert identify(words).slug == "h100-sxm5-80gb"


@pytest.mark.parametrize("letter", ["1", " ", "(", "x", "8 x ", "H100 ", "-"])
def test_long_names_cost_no_more_than_their_length(letter):
    started = time.perf_counter()
    with pytest.raises(UnknownGpu):
        identify(letter * (100_000 // len(letter)) + " nonsense")
    bandwidths(fold(letter * 100_000))
    count(letter * 100_000)
    assert time.perf_counter() - started < 0.2


def test_every_alias_leads_to_a_gpu_of_the_list():
    for (provider, words), target in aliases().items():
        named = identify(target)
        assert named.slug or named.candidates, (provider, words)
    assert {sku.slug for sku in skus_of(gpus())} == set(gpus())


def test_a_bare_h100_is_an_offer_without_a_gpu():
    offer = settled(listing(gpu="H100")).offers[0]
    assert len(offer.gpu_candidates) == 3
    assert not [f for f in offer.facts if f.attribute == "gpu"]


def test_an_unknown_gpu_is_quarantined_unless_the_words_are_our_own():
    assert "unknown GPU name 'Q900'" in refused(gpu="Q900")
    ours = {"gpu": Evidence(Basis.DERIVED, "rule: our table")}
    offer = settled(listing(gpu="Q900", evidence=ours)).offers[0]
    assert "unknown GPU name 'Q900'" in offer.warnings[0]


# --- Quantities -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "links", "each", "up_to"),
    [
        ("8 x 2 x 200 Gbps RDMA", 16, 200, False),
        ("4x 100 Gigabit", 4, 100, False),
        ("Up to 25 Gigabit", 1, 25, True),
        ("3200 Gigabit", 1, 3200, False),
        ("100GbE", 1, 100, False),
        ("1.6 Tb/s", 1, 1600, False),
        ("400 GB/s", 1, 3200, False),  # bytes
        ("400 Gb/s", 1, 400, False),
        ("80,000 Mbps", 1, 80, False),
        ("8×400 Gbit/s", 8, 400, False),
    ],
)
def test_bandwidths_in_bits_and_bytes(text, links, each, up_to):
    (rate,) = bandwidths(fold(text))
    assert (rate.links, rate.gbits_per_s, rate.up_to) == (links, each, up_to)
    assert rate.total == links * each


@pytest.mark.parametrize(
    ("text", "number"),
    [("8", 8), ("1/6", Decimal("0.1667")), ("0.25", Decimal("0.25")), ("1/0", None), ("8x", None)],
)
def test_counts_and_shares(text, number):
    assert count(text) == number


def test_an_unknown_unit_is_refused():
    with pytest.raises(UnknownUnit):
        gigabytes(Decimal(80), "Gb")
    assert "not a unit of memory" in refused(gpu_memory=(Decimal(80), "Gb"))


@pytest.mark.parametrize(
    ("printed", "nominal"),
    [((81559, "MiB"), 80), ((80, "GB"), 80), ((80, "GiB"), 80), ((85, "GB"), 80)],
)
def test_memory_is_nominal_with_the_printed_figure_beside(printed, nominal):
    offer = settled(listing(gpu_memory=(Decimal(printed[0]), printed[1]))).offers[0]
    memory = fact(offer, "gpu_memory_gb")
    assert (memory.value, memory.note) == (nominal, f"printed as {printed[0]} {printed[1]}")


def test_a_fraction_has_the_slices_memory():
    quarter = listing(gpu="A10", gpu_count=Decimal("0.25"), price=Price(Decimal("0.3")))
    assert fact(settled(quarter).offers[0], "gpu_memory_gb").value == 6


@pytest.mark.parametrize(
    ("gpu", "mib", "count", "gb"),
    [("L4", 2861, "0.125", 3), ("L4", 5722, "0.25", 6), ("A10G", 12288, "0.5", 12)],
)
def test_a_count_of_0_is_the_share_that_its_memory_tells(gpu, mib, count, gb):
    slice_ = listing(gpu=gpu, gpu_count=Decimal(0), gpu_memory=(Decimal(mib), "MiB"), price=None)
    offer = settled(slice_).offers[0]
    assert fact(offer, "gpu_count").value == Decimal(count)
    assert fact(offer, "gpu_count").basis is Basis.DERIVED
    assert fact(offer, "gpu_memory_gb").value == gb


def test_a_count_of_0_of_a_card_of_two_memories_stays_open():
    slice_ = listing(gpu="A100", gpu_count=Decimal(0), gpu_memory=(Decimal(10), "GB"), price=None)
    assert "gpu_count" not in {f.attribute for f in settled(slice_).offers[0].facts}


# --- Gates ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpu", "count", "gb", "right"),
    [
        ("H100", 4, 320, "4 × 80 or 94 GB of H100"),  # the total in the field of one
        ("H100 80GB", 8, 94, "8 × 80 GB of H100 80GB"),  # the name says which
        ("H100 PCIe", 1, 94, "1 × 80 GB of H100 PCIe"),  # the form says which
        ("A100 SXM4 40GB", 8, 80, "8 × 40 GB of A100 SXM4 40GB"),
        ("H200", 8, 17.6, "8 × 141 GB of H200"),  # near to a card's, but to no H200's
    ],
)
def test_a_memory_that_no_sku_of_that_name_and_form_has_is_held(gpu, count, gb, right):
    said = {"gpu": gpu, "gpu_count": Decimal(count), "gpu_memory": (Decimal(str(gb)), "GB")}
    assert refused(**said) == f"count × memory = total: {count} × {gb} GB is not {right}"


def test_a_slice_has_no_more_memory_than_its_card():
    half = {"gpu": "L4", "gpu_count": Decimal("0.5"), "price": None}
    assert settled(listing(**half, gpu_memory=(Decimal(12), "GB"))).offers
    reason = refused(**half, gpu_memory=(Decimal(48), "GB"))
    assert reason == "a part of the memory ≤ the whole: 48 GB is more than a L4 has"


def test_the_memory_of_a_gpu_without_a_name_is_as_printed():
    offer = settled(listing(gpu=None, gpu_memory=(Decimal("17.6"), "GB"))).offers[0]
    assert fact(offer, "gpu_memory_gb").value == Decimal("17.6")


def test_count_times_memory_is_the_total():
    good = {"gpu_memory": (Decimal(80), "GB"), "total_gpu_memory": (Decimal(640), "GB")}
    assert settled(listing(**good)).offers
    bad = good | {"total_gpu_memory": (Decimal(80), "GB")}
    assert "is not 8 x 80 GB" in refused(**bad)


def test_nics_times_rate_is_the_total():
    good = {"fabric_nics": 8, "fabric_gbits_per_s_per_nic": 400, "fabric_gbits_per_s": 3200}
    assert settled(listing(said=good)).offers
    assert "8 × 400 Gb/s is 3200 Gb/s, not 400" in refused(said=good | {"fabric_gbits_per_s": 400})


def test_a_rate_printed_both_ways_is_refused_by_what_one_gpu_has():
    board = {"scale_up": "nvswitch", "scale_up_gbytes_per_s": 900}
    said = refused(gpu="H100 80GB SXM5", said=board)
    assert "has 450 GB/s one way, not 900 GB/s (that is both ways)" in said


@pytest.mark.parametrize(
    ("price", "reason"),
    [
        (Price(Decimal(0)), "price 0"),
        (Price(Decimal(-1)), "below 0"),
        (Price(Decimal("NaN")), "not a number"),
        (Price(Decimal("Infinity")), "not a number"),
        (Price(Decimal(2000)), "held"),  # a hundred times too much
        (Price(Decimal("2.5")), "held"),  # of one GPU, where the node's was
        (Price(Decimal(20), "dollars"), "not a currency"),
        (Price(Decimal(20), hours=Decimal(0)), "not a number"),
    ],
)
def test_prices_that_cannot_be_are_held_or_refused(price, reason):
    assert reason in refused(price=price)


def test_a_price_per_gpu_is_multiplied_and_needs_a_count():
    offer = settled(listing(price=Price(Decimal("2.5"), per_gpu=True))).offers[0]
    assert offer.usd_per_hour == 20
    assert "without a number of GPUs" in refused(
        price=Price(Decimal("2.5"), per_gpu=True), gpu_count=None
    )


def test_no_price_is_null_and_never_0():
    offer = settled(listing(price=None, price_note="reservation only")).offers[0]
    assert (offer.native_amount, offer.usd_per_hour, offer.price_note) == (
        None,
        None,
        "reservation only",
    )


def test_another_currency_needs_a_rate_and_keeps_it():
    euros = listing(price=Price(Decimal(20), "eur"))
    plain = settled(euros).offers[0]
    assert (plain.native_amount, plain.native_currency, plain.usd_per_hour) == (20, "EUR", None)
    rate = Rate(Decimal("1.1"), date(2026, 11, 28))
    changed = settled(euros, EUR=rate).offers[0]
    assert (changed.usd_per_hour, changed.usd_rate, changed.usd_rate_date) == (
        22,
        Decimal("1.1"),
        date(2026, 11, 28),
    )
    assert settled(euros, EUR=Rate(Decimal(0), date(2026, 11, 28))).offers[0].usd_per_hour is None
    dollars = settled(listing(), EUR=rate).offers[0]
    assert (dollars.usd_rate, dollars.usd_rate_date) == (None, None)


def test_an_attribute_out_of_its_bounds_is_refused():
    assert "fabric 'token ring' is none of" in refused(said={"fabric": "token ring"})
    assert "ram_gb" in refused(ram=(Decimal(10) ** 9, "GB"))


def test_spot_above_on_demand_is_kept_and_never_a_saving():
    spot = listing(price_model=PriceModel.SPOT, price=Price(Decimal(24)), where="rows[1]")
    result = settled(listing(), spot)
    warned = [o for o in result.offers if o.price_model is PriceModel.SPOT]
    assert warned[0].warnings == ("spot is above on demand",)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_prices_the_lower_stands_whatever_their_order(order):
    rows = [listing(), listing(where="rows[1]", price=Price(Decimal(22)))][::order]
    result = settled(*rows)
    assert [o.usd_per_hour for o in result.offers] == [20]
    assert "the lower stands" in reasons(result)["rows[1]"]
    assert "two prices for one offer: 22 at rows[1]" in result.offers[0].warnings[0]


def test_the_same_row_twice_is_one_offer_and_counted():
    result = settled(listing(), listing(where="rows[1]"))
    assert (len(result.offers), len(result.rejected), result.rows) == (1, 0, 2)


def test_regions_tiers_and_models_are_offers_of_their_own():
    rows = [
        listing(),
        listing(region="r2"),
        listing(tier="secure"),
        listing(price_model=PriceModel.RESERVED_1Y),
    ]
    assert len(settled(*rows).offers) == 4


def test_rows_in_are_offers_and_rejected_and_ignored():
    rows: Iterable[object] = [
        listing(),
        listing(gpu="Q900", instance="q"),
        Rejected("no", "rows[2]"),
        Ignored("Windows"),
    ]
    assert settled(*rows).rows == 4  # type: ignore[arg-type]


def test_an_aggregator_names_whose_instance_it_is():
    offer = settled(listing(provider="lambda")).offers[0]
    assert (offer.provider, offer.via) == ("lambda", "vast")
    assert offer.subject == "lambda/h100x8"


def test_facts_name_their_document_and_day():
    gpu = fact(settled(listing()).offers[0], "gpu")
    assert (gpu.basis, gpu.source, gpu.checked) == (
        Basis.DOCUMENTED,
        "https://provider.example/list",
        FETCHED.date(),
    )


def test_measured_nvlink_on_a_card_without_links_proves_nothing():
    said = {"measured_pair_gbytes_per_s": Decimal(20)}
    offer = settled(listing(gpu="L40S", gpu_count=Decimal(8), said=said)).offers[0]
    assert not [f for f in offer.facts if f.attribute == "scale_up"]


def test_rows_know_their_place():
    page = Row({"offers": [{"a": {"b": 1}}]}, "")
    inner = page.rows("offers")[0].row("a")
    assert inner is not None
    assert inner.where == "offers[0].a"


@pytest.mark.parametrize(
    ("region", "country"),
    [
        ("us-east-3", "US"),
        ("UTAH_USA", "US"),
        ("kansascity-usa-1", "US"),
        ("FINLAND", "FI"),
        ("eu-north1", None),
        ("usual-2", None),
        (None, None),
    ],
)
def test_a_word_of_a_regions_name_may_be_its_country(region, country):
    assert named_country(region) == country


def test_a_form_factor_that_every_sku_it_may_be_has_is_known_and_with_it_the_board() -> None:
    (offer,) = settled(listing(gpu="A100 SXM4")).offers
    assert offer.gpu_candidates == ("a100-sxm4-40gb", "a100-sxm4-80gb")
    known = spec(offer.facts)
    assert (known["gpu"], known["form_factor"], known["scale_up"]) == (None, "sxm4", "nvswitch")
    (offer,) = settled(listing(gpu="A100")).offers
    assert spec(offer.facts)["form_factor"] is None

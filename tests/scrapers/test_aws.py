"""What is odd about Amazon: many rows of one price, $0, fractions, EFA, and very long lists."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from decimal import Decimal
from itertools import count

import pytest
from loopback import Answer, serve
from recorded import PAYLOADS, document, fact, one, parsed, reasons, recorded, shared

from catalog.records import Basis, Normalised
from scrapers import aws_lists
from scrapers.http import FetchFailed, TooLarge
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import aws
from scrapers.regions import aws_country
from scrapers.registry import PROVIDERS

REGION = (PAYLOADS / "aws_region.csv").read_bytes()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the machine that runs the tests has."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)


@pytest.fixture(scope="module")
def types() -> Normalised:
    return offers(PROVIDERS["aws"], [recorded("aws")], {})


@pytest.fixture(scope="module")
def prices() -> Normalised:
    return parsed("aws", REGION)


@pytest.fixture(scope="module")
def joined() -> Normalised:
    return offers(PROVIDERS["aws"], [document(REGION), recorded("aws")], {})


# --- Prices -----------------------------------------------------------------------------------


def test_a_price_is_of_the_instance_on_linux_and_shared_hardware(prices):
    node = one(prices, "p5.48xlarge")
    assert (node.region, node.country, node.usd_per_hour) == ("us-east-1", "US", Decimal("51.25"))


def test_the_other_rows_of_a_type_are_counted_by_what_they_are(prices):
    assert prices.ignored == {
        "another system than Linux": 1,
        "dedicated hardware": 1,
        "a reservation's own accounting": 2,
        "software in the price": 1,
        "another way to pay for a reservation": 2,
        "no GPU type": 1,
    }


def test_a_reservation_without_upfront_is_by_the_hour_for_its_whole_term(prices):
    year, three = (
        one(prices, "p5.48xlarge", "reserved_1y"),
        one(prices, "p5.48xlarge", "reserved_3y"),
    )
    assert (year.usd_per_hour, year.minimum_hours) == (Decimal("33.5"), 8760)
    assert (three.usd_per_hour, three.minimum_hours) == (Decimal("22.25"), 3 * 8760)


def test_a_capacity_block_at_0_is_never_free(prices):
    assert list(reasons(prices).values()) == [
        "price 0: a capacity block is priced when it is booked"
    ]


def test_a_type_at_0_is_listed_without_a_price(prices):
    node = one(prices, "p5e.48xlarge")
    assert (node.usd_per_hour, node.region) == (None, "us-east-2")
    assert "reservation or capacity block only" in node.price_note


def test_gpus_that_the_list_does_not_name_are_the_familys(prices):
    line = offer_line(one(prices, "p3.8xlarge"))
    assert (line["gpu"], line["gpu_count"], line["ram_gb"]) == ("v100-sxm2-16gb", 4, 261.99)
    assert fact(one(prices, "p3.8xlarge"), "gpu").basis is Basis.DERIVED


def test_a_fraction_whose_count_is_0(prices, types):
    for result in (prices, types):
        line = offer_line(one(result, "g6f.large"))
        assert (line["gpu"], line["gpu_count"], line["gpu_memory_gb"]) == ("l4-pcie-24gb", 0.125, 3)


def test_a_local_zone_is_a_region_of_its_own_that_may_lie_in_another_country(prices):
    assert one(prices, "g4dn.xlarge").region == "us-west-2-lax-1"
    assert aws_country("us-east-1-zzz-1") is None


def test_index_json_and_get_products_say_the_same():
    attributes = {"instanceType": "g5.xlarge", "vcpu": "4", "regionCode": "eu-west-1", "gpu": "1"}
    term = {
        "T": {"priceDimensions": {"R": {"unit": "Hrs", "pricePerUnit": {"USD": "1.1230000000"}}}}
    }
    product = {"sku": "X", "attributes": attributes}
    bulk = {"products": {"X": product}, "terms": {"OnDemand": {"X": term}}}
    item = {"product": product, "terms": {"OnDemand": term}}
    for payload in (bulk, item, {"PriceList": [item]}, {"PriceList": [json.dumps(item)]}):
        (offer,) = parsed("aws", payload).offers
        assert (offer.region, offer.usd_per_hour) == ("eu-west-1", Decimal("1.123"))


def test_a_price_of_another_unit_is_rejected():
    term = {"T": {"priceDimensions": {"R": {"unit": "Quantity", "pricePerUnit": {"USD": "9"}}}}}
    item = {"product": {"attributes": {"instanceType": "g5.xlarge"}}, "terms": {"OnDemand": term}}
    assert "is not an hour" in next(iter(reasons(parsed("aws", item)).values()))


def test_of_spot_the_newest_price_of_the_lowest_zone_stands():
    rows = [
        ("us-east-1a", "9.5", "2026-11-29T01:00:00Z"),
        ("us-east-1a", "11.5", "2026-11-29T02:00:00Z"),
        ("us-east-1b", "10.5", "2026-11-29T02:00:00Z"),
    ]
    history = [
        {"InstanceType": "p5.48xlarge", "AvailabilityZone": z, "SpotPrice": p, "Timestamp": t}
        | {"ProductDescription": "Linux/UNIX"}
        for z, p, t in rows
    ]
    result = parsed("aws", {"SpotPriceHistory": history})
    spot = one(result, "p5.48xlarge", "spot")
    assert (spot.region, spot.usd_per_hour) == ("us-east-1", Decimal("10.5"))
    assert result.rows == 3


def test_a_capacity_block_has_one_fee_for_its_instances_and_hours():
    block = {
        "CapacityBlockOfferingId": "cb-1", "InstanceType": "p5.48xlarge", "InstanceCount": 4,
        "AvailabilityZone": "us-east-2a", "StartDate": "2026-12-01T11:30:00Z",
        "CapacityBlockDurationHours": 72, "UpfrontFee": "9000.00", "CurrencyCode": "USD",
    }  # fmt: skip
    dearer = block | {"UpfrontFee": "9900.00"}
    result = parsed(
        "aws", {"CapacityBlockOfferings": [dearer, block, block | {"InstanceCount": 0}]}
    )
    offer = one(result, "p5.48xlarge", "capacity_block")
    assert (offer.region, offer.usd_per_hour, offer.minimum_hours) == (
        "us-east-2", Decimal("31.25"), 72,
    )  # fmt: skip
    assert offer_line(offer)["usd_per_gpu_hour"] == "3.90625"
    assert "a block of 4 from 2026-12-01" in offer.price_note
    assert len(result.rejected) == 2


# --- Types ------------------------------------------------------------------------------------


def test_types_are_joined_to_their_prices_and_those_without_are_listed(joined):
    node = offer_line(one(joined, "p5.48xlarge"))
    assert (node["usd_per_hour"], node["vcpus"], node["fabric_nics"]) == ("51.25", 192, 32)
    assert one(joined, "p4d.24xlarge").price_note == "no price in this document"
    assert joined.ignored["a type whose price is listed"] == 3


def test_efa_interfaces_are_the_nics_and_the_performance_is_the_fabrics(types):
    p5, p4 = offer_line(one(types, "p5.48xlarge")), offer_line(one(types, "p4d.24xlarge"))
    assert (p5["gpu"], p5["fabric"], p5["fabric_gbits_per_s"]) == ("h100-sxm5-80gb", "efa", 3200)
    assert (p4["fabric_nics"], p4["fabric_gbits_per_s"]) == (4, 400)  # "4x 100 Gigabit"
    assert p5["gpudirect_rdma"] is None  # EFA alone does not say it


def test_up_to_is_a_burst_and_without_efa_there_is_ethernet(types):
    small = one(types, "g4dn.xlarge")
    assert fact(small, "frontend_burst_gbits_per_s").value == 25
    assert offer_line(small)["fabric"] == "ethernet"


def test_an_unknown_gpu_is_held_and_trainium_is_no_gpu(types):
    assert "unknown GPU name" in reasons(types)["InstanceTypes[4]"]
    assert types.ignored == {"no GPU type": 1}


@pytest.mark.parametrize("value", [{}, [], {"products": []}, b'"SKU","Instance Type"\n'])
def test_what_is_no_list_of_ec2_is_unreadable(value):
    with pytest.raises(Unreadable):
        parsed("aws", value)


def test_a_line_cut_short_is_rejected_alone():
    lines = REGION.splitlines(keepends=True)
    cut = parsed("aws", b"".join([*lines[:9], lines[9][:-40] + b"\n", *lines[10:]]))
    assert reasons(cut)["line 10"] == "the line is cut short"
    assert len(cut.offers) == len(parsed("aws", REGION).offers)


# --- Fetch ------------------------------------------------------------------------------------

INDEX = {"regions": {"us-east-1": {"currentVersionUrl": "/offers/v1.0/aws/x/us-east-1/index.json"}}}


def test_a_regions_list_is_streamed_and_its_gpu_rows_kept_as_they_stand():
    pieces = [REGION[n : n + 700] for n in range(0, len(REGION), 700)]
    with serve([Answer.json(INDEX), Answer(pieces=pieces)]) as api:
        (document,) = aws.fetch_part(api.http(aws.ORIGIN), "us-east-1")
    assert api.requests[1].path == "/offers/v1.0/aws/x/us-east-1/index.csv"
    lines = document.body.splitlines(keepends=True)
    assert f'"Whole SHA-256","{hashlib.sha256(REGION).hexdigest()}"\n'.encode() in lines
    assert f'"Whole Length","{len(REGION)}"\n'.encode() in lines
    rows = [line for line in lines if line.startswith(b'"SKU0')]
    assert len(rows) == 13
    assert all(line in REGION for line in rows)
    kept, whole = parsed("aws", document.body), parsed("aws", REGION)
    assert [o.identity for o in kept.offers] == [o.identity for o in whole.offers]


def test_a_list_without_a_header_is_no_list():
    script = [Answer.json(INDEX), Answer(b"<html>maintenance</html>")]
    with serve(script) as api, pytest.raises(FetchFailed, match="no header"):
        list(aws.fetch_part(api.http(aws.ORIGIN), "us-east-1"))


def test_the_parts_are_the_regions_of_the_index():
    with serve([Answer.json(INDEX)]) as api:
        assert aws.parts(list(aws.fetch(api.http(aws.ORIGIN)))) == ["us-east-1"]


def test_a_region_that_the_index_no_longer_names_lists_nothing():
    with serve([Answer.json(INDEX)]) as api:
        assert list(aws.fetch_part(api.http(aws.ORIGIN), "us-east-9")) == []


def gzipped(body: bytes) -> Answer:
    return Answer(gzip.compress(body), headers={"Content-Encoding": "gzip"})


def endless() -> Iterator[bytes]:
    yield REGION
    while True:
        yield b'"SKU","a","row","of","no","GPU"\n' * 100


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (gzipped(REGION + b'"x","y"\n' * 2**19), "larger than 2 MB"),
        (Answer(pieces=endless()), "larger than 2 MB"),
        (Answer(pieces=endless(), pause=0.01), "longer than 0 s"),
        (Answer(pieces=(b"x" * 2**12 for _ in count())), "a line is longer"),
        (Answer(pieces=(b"x\n" * 2**12 for _ in count())), "larger than 2 MB"),
    ],
    ids=["bomb", "endless", "slow", "no line", "no header"],
)
def test_a_list_that_does_not_end_is_stopped(answer, problem):
    with (
        serve([Answer.json(INDEX), answer]) as api,
        pytest.raises(FetchFailed, match=problem),
        api.http(aws.ORIGIN, size=2 * 2**20, deadline=0.4 if answer.pause else 30) as http,
    ):
        list(aws.fetch_part(http, "us-east-1"))


def test_rows_beyond_measure_are_not_held_in_memory(monkeypatch):
    monkeypatch.setattr(aws_lists, "MOST_KEPT", len(REGION) + 1000)
    row = next(line for line in REGION.splitlines(keepends=True) if b"p5.48" in line)
    aws_lists.gpu_rows([REGION])
    with pytest.raises(TooLarge, match="GPU rows"):
        aws_lists.gpu_rows([REGION, *[row] * 20])


def test_an_index_that_leads_elsewhere_is_not_followed():
    index = {"regions": {"x": {"currentVersionUrl": "//evil.example/index.json"}}}
    with serve([Answer.json(index)]) as api, pytest.raises(FetchFailed, match="not its own"):
        aws.parts(list(aws.fetch(api.http(aws.ORIGIN))))


# --- The data at hand -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_the_real_prices(kind):
    real = parsed("aws", shared(f"data/payloads/aws/bulk_index_gpu.{kind}").read_bytes())
    assert (len(real.offers), real.rejected) == (147, [])


def test_the_real_types():
    path = shared("data/payloads/aws/describe_instance_types_accelerators.json")
    real = parsed("aws", path.read_bytes())
    assert (len(real.offers), len(real.rejected), real.ignored.total()) == (65, 0, 20)
    assert offer_line(one(real, "p6-b300.48xlarge"))["fabric_gbits_per_s"] == 6400


# --- NetworkCards beside NetworkPerformance ----------------------------------------------------


def carded(name: str, total: str, cards: list[int], efas: int) -> Normalised:
    """A type with the recorded H100, and these cards."""
    network = {
        "EfaSupported": True,
        "NetworkPerformance": total,
        "EfaInfo": {"MaximumEfaInterfaces": efas},
        "NetworkCards": [{"BaselineBandwidthInGbps": rate} for rate in cards],
    }
    gpus = [{"Name": "H100", "Count": 8, "MemoryInfo": {"SizeInMiB": 81920}}]
    gpu = {} if name.startswith("p6") else {"GpuInfo": {"Gpus": gpus}}
    return parsed("aws", {"InstanceTypes": [{"InstanceType": name, "NetworkInfo": network} | gpu]})


@pytest.mark.parametrize(
    ("name", "total", "cards", "efas"),
    [
        ("p5.48xlarge", "3200 Gigabit", [100] * 32, 32),
        ("p5x.24xlarge", "200 Gigabit", [200, 200], 2),  # each card can have all of it
        ("p5x.48xlarge", "6400 Gigabit", [350] + [400] * 16, 16),  # one card without EFA
        ("p6-b200.48xlarge", "3200 Gigabit", [200] * 8, 8),  # printed as ENA; EFA has 400
    ],
)
def test_cards_that_have_the_rate_together_or_each(name, total, cards, efas):
    result = carded(name, total, cards, efas)
    assert not result.rejected
    (offer,) = result.offers
    rate = float(total.split()[0])
    assert fact(offer, "fabric_gbits_per_s").value == rate


@pytest.mark.parametrize(
    ("total", "cards", "efas", "printed"),
    [
        ("400 Gigabit", [50] * 4, 4, "4 × 50 Gb/s"),
        ("400 Gigabit", [200] * 4, 4, "4 × 200 Gb/s"),
        ("3200 Gigabit", [200] * 8, 8, "8 × 200 Gb/s"),  # of no family that prints ENA
        ("3200 Gigabit", [100] * 32, 5, "5 × 100 Gb/s"),
    ],
)
def test_cards_that_are_not_the_rate_are_held_with_the_equation(total, cards, efas, printed):
    (held,) = carded("p5x.48xlarge", total, cards, efas).rejected
    wrong = f"{printed} of NetworkCards is not {total.split()[0]} Gb/s"
    assert held.reason == f"NICs × rate = total: {wrong}"

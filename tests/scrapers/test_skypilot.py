"""SkyPilot's catalogs: whose a file is, prices by zone, parts that are added, memory of all."""

from decimal import Decimal
from pathlib import Path

import pytest
from recorded import fact, one, parsed, reasons, recorded, shared

from catalog.records import Normalised
from scrapers.http import FetchFailed, Http
from scrapers.listing import Unreadable
from scrapers.normalise import offers
from scrapers.providers import skypilot
from scrapers.registry import PROVIDERS
from scrapers.sky_files import cloud_of
from tests.scrapers.loopback import Answer, serve

HEADER = (
    "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region"
)
ZONED = f"{HEADER},AvailabilityZone"


def catalog(*lines: str, header: str = HEADER) -> Normalised:
    """What a file of these lines comes to; in types of Lambda's naming where nothing else is."""
    return parsed("skypilot", "\n".join([header, *lines]).encode())


def info(mib: int, count: int = 1) -> str:
    """GpuInfo as most files have it."""
    literal = f"{{'Gpus': [{{'Count': {count}, 'MemoryInfo': {{'SizeInMiB': {mib}}}}}]}}"
    return f'"{literal}"'


# --- Prices -----------------------------------------------------------------------------------


def test_a_price_is_of_the_instance_and_belongs_to_the_cloud() -> None:
    result = offers(PROVIDERS["skypilot"], [recorded("skypilot")], {})
    eight = [o for o in result.offers if o.instance_type == "gpu_8x_h100_sxm5"]
    assert {(o.provider, o.via, o.price_model, o.usd_per_hour) for o in eight} == {
        ("lambda", "skypilot", "on_demand", Decimal("24.64")),
        ("lambda", "skypilot", "spot", Decimal("9.5")),
    }
    assert result.ignored == {"no GPU": 1}
    assert "hyperstack" in result.partial  # one cloud's catalog is not the whole list


def test_empty_and_zero_are_no_price_and_the_type_is_listed_once() -> None:
    result = catalog(
        f"gpu_1x_a10,A10,1,30,200,{info(24576)},0.0,,here-1",
        f"gpu_1x_a10,A10,1,30,200,{info(24576)},,0.00,here-2",
    )
    (offer,) = result.offers
    assert (offer.usd_per_hour, offer.region) == (None, None)
    assert offer.price_note == "no price in the catalog"


def test_spot_alone_is_sold_as_spot_alone() -> None:
    result = catalog(f"gpu_2x_b300,B300,2,60,550,{info(268800)},,4.893,FIN-03")
    assert [(o.price_model, o.usd_per_hour) for o in result.offers] == [("spot", Decimal("4.893"))]


def test_the_lowest_zone_of_a_region_is_its_price_and_nothing_is_lost() -> None:
    line = "g9.12xlarge,L4,1,48,192,L4,{price},{spot},eu-west-9,euw9-az{zone}"
    result = catalog(
        line.format(price=6, spot=2.5, zone=1),
        line.format(price=5, spot=2.75, zone=2),
        line.format(price=0.0, spot="", zone=3),
        header=ZONED,
    )
    assert one(result, "g9.12xlarge").usd_per_hour == 5
    assert one(result, "g9.12xlarge", "spot").usd_per_hour == Decimal("2.5")
    assert result.ignored.total() == 2  # of each price model, the zone that is no cheaper


def test_spot_above_on_demand_is_kept_and_said() -> None:
    result = catalog(f"gpu_1x_a10,A10,1,30,200,{info(24576)},0.75,0.9,here-1")
    assert any("spot" in warning for warning in one(result, "gpu_1x_a10", "spot").warnings)


def test_no_price_passes_as_fresh_without_a_word() -> None:
    result = catalog(f"gpu_1x_a10,A10,1,30,200,{info(24576)},0.75,,here-1")
    assert "does not say when" in one(result, "gpu_1x_a10").warnings[0]


# --- Host and GPU -----------------------------------------------------------------------------

HOST = "{name},24,170,,,,{region},{region}-{zone},{price},{spot}"
PART = ",,,{gpu},{count},,{region},{region}-{zone},{price},{spot}"
GOOGLE = (
    "InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,GpuInfo,Region,"
    "AvailabilityZone,Price,SpotPrice"
)


def google(*lines: str) -> Normalised:
    return catalog(*lines, header=GOOGLE)


def host(zone: str, price: str, spot: str = "", name: str = "a2-highgpu-2g") -> str:
    return HOST.format(name=name, region="us-test1", zone=zone, price=price, spot=spot)


def part(zone: str, price: str, spot: str = "", gpu: str = "A100", count: int = 2) -> str:
    return PART.format(gpu=gpu, count=count, region="us-test1", zone=zone, price=price, spot=spot)


def test_googles_host_and_gpus_are_added_in_a_zone_before_the_lowest_is_taken() -> None:
    result = google(host("a", "1"), part("a", "9", "3"), host("b", "4"), part("b", "5"))
    (offer,) = result.offers
    assert offer.usd_per_hour == 9  # 4 + 5 in b; never 1 of a and 5 of b
    assert (offer.provider, offer.instance_type) == ("gcp", "a2-highgpu-2g")
    assert (offer.region, offer.country) == ("us-test1", "US")
    assert fact(offer, "gpu").value == "a100-sxm4-40gb"


def test_gpus_without_their_host_are_no_price_of_anything() -> None:
    result = google(host("a", "1"), part("b", "9"), part("a", "2", gpu="T4", count=1))
    assert not result.offers
    assert reasons(result) == {
        "line 3": "the price of A100 alone: no host of it in us-test1-b is priced",
        "line 4": "1 T4 alone: no machine that we know is made of them",
    }


def test_one_price_of_gpus_prices_each_host_they_may_stand_in() -> None:
    small, large = "g2-standard-4", "g2-standard-16"
    hosts = host("a", "0.2", name=small), host("a", "0.6", name=large)
    result = google(*hosts, part("a", "0.5", gpu="L4", count=1))
    assert one(result, small).usd_per_hour == Decimal("0.7")
    assert one(result, large).usd_per_hour == Decimal("1.1")


def test_tpus_are_none_of_our_business() -> None:
    assert google(part("a", "5", gpu="tpu-v9-8", count=1)).ignored.total() == 1


# --- GPUs and their memory --------------------------------------------------------------------


def test_the_form_stands_in_the_types_name() -> None:
    result = offers(PROVIDERS["skypilot"], [recorded("skypilot")], {})
    assert fact(one(result, "gpu_1x_h100_pcie"), "gpu").value == "h100-pcie-80gb"


def test_a_small_figure_is_in_gb_whatever_its_name_says() -> None:
    result = offers(PROVIDERS["skypilot"], [recorded("skypilot")], {})
    assert fact(one(result, "gpu_1x_a6000"), "gpu_memory_gb").value == 48


def test_a_file_that_prints_totals_is_known_by_its_single_gpus() -> None:
    result = catalog(
        f"1x-RTX_4090-8-64,RTX4090,1,8,64,{info(24564)},0.4,,here",
        f"4x-RTX_4090-8-64,RTX4090,4,8,64,{info(98256, 4)},1.6,,here",
        f"2x-RTX_A6000-8-64,RTXA6000,2,8,64,{info(98304, 2)},0.9,,here",  # of no single one
    )
    memories = {o.instance_type: fact(o, "gpu_memory_gb").value for o in result.offers}
    assert memories == {"1x-RTX_4090-8-64": 24, "4x-RTX_4090-8-64": 24, "2x-RTX_A6000-8-64": 48}


def test_more_than_any_gpu_has_is_of_several() -> None:
    result = catalog(f"8x-H200-8-64,H200,8,8,64,{info(1150184, 8)},20,,here")
    assert fact(result.offers[0], "gpu_memory_gb").value == 141


def test_a_share_of_a_gpu_that_azure_calls_one_is_a_share() -> None:
    result = catalog("Standard_NV6ads_A10_v5,A10,1,6,55,A10,0.454,,westus9")
    assert round(float(str(fact(result.offers[0], "gpu_count").value)), 3) == 0.167


# --- Files ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "cloud"),
    [
        ("catalogs/v8/paperspace/vms.csv", "paperspace"),
        ("paperspace.csv", "paperspace"),
        ("aws.csv", "aws"),
    ],
)
def test_a_file_is_of_the_cloud_that_it_or_its_folder_is_named_for(name: str, cloud: str) -> None:
    assert cloud_of(PROVIDERS["skypilot"].source_of(Path(name)), []) == cloud


def test_a_file_that_cannot_be_told_is_not_read() -> None:
    with pytest.raises(Unreadable, match=r"name the file as its cloud, as in lambda\.csv"):
        catalog("H100x8,H100,8,128,640,H100,47.6,,East Coast (NY2)")


def test_an_unquoted_comma_in_the_last_column_stays_there() -> None:
    header = f"{HEADER},Generation"
    result = catalog("Standard_NC12s_v3,V100,2,12,224,V100,8.4,1.5,here,V1,V2\r", header=header)
    assert one(result, "Standard_NC12s_v3").usd_per_hour == Decimal("8.4")


def test_a_line_that_cannot_be_read_is_named_by_its_number_and_spoils_no_other() -> None:
    good = f"gpu_1x_a10,A10,1,30,200,{info(24576)},0.75,,here-1"
    result = catalog(
        f"gpu_1x_a10,A10,1,30,200,{info(24576)},0.75,,here-2,more,still more",
        'gpu_1x_a10,"A10,1,30,200,A10,0.75,,here-3',
        "gpu_1x_a10,A10,1,30,200,A10,dear,,here-4",
        "gpu_1x_a10,A10,-1,30,200,A10,0.75,,here-5",
        "gpu_1x_zz9,ZZ9,1,30,200,ZZ9,0.75,,here-6",
        good,
    )
    assert [o.region for o in result.offers] == ["here-1"]
    assert reasons(result) == {
        "line 2": "has 11 fields, where the header has 9",
        "line 3": "is not CSV: unexpected end of data",
        "line 4.Price": "'dear' is not a number",
        "line 5.AcceleratorCount": "is missing",
        "line 6": "unknown GPU name 'ZZ9'",
    }


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("InstanceType,AcceleratorName,Region", 'no column "Price"'),
        (f"{HEADER},Price", 'two columns "Price"'),
        ('"InstanceType', "first line is not CSV"),
    ],
)
def test_a_file_of_another_header_is_not_read(header: str, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        catalog("gpu_1x_a10", header=header)


def fetched(monkeypatch: pytest.MonkeyPatch, *script: Answer) -> tuple[list[bytes], list[str]]:
    """What is fetched of two clouds, and what was asked for."""
    monkeypatch.setattr(skypilot, "FETCHED", ("lambda", "nebius"))
    hosts = ("raw.githubusercontent.com", "skypilot-catalog.s3.us-east-1.amazonaws.com")
    with serve(script) as there:
        stand_ins = {f"https://{host}": there.url for host in hosts}
        with Http(stand_ins=stand_ins, pace=0, sleep=lambda _s: None) as http:
            bodies = [document.body for document in skypilot.fetch(http)]
    return bodies, [request.path.rpartition("/v8/")[2] for request in there.requests]


def test_the_mirror_is_asked_where_github_will_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies, asked = fetched(monkeypatch, Answer(status=404), Answer(b"one"), Answer(b"two"))
    assert bodies == [b"one", b"two"]
    assert asked == ["lambda/vms.csv", "lambda/vms.csv", "nebius/vms.csv"]


def test_a_cloud_that_is_nowhere_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Answer(status=404)
    assert fetched(monkeypatch, gone, gone, Answer(b"two"))[0] == [b"two"]
    with pytest.raises(FetchFailed, match="answers 404"):
        fetched(monkeypatch, gone)


# --- The files at hand ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cloud", "least", "rejected"),
    [
        ("aws", 460, 0), ("azure", 1600, 0), ("fluidstack", 23, 0), ("hyperstack", 25, 0),
        ("jarvislabs", 16, 0), ("lambda", 370, 17), ("nebius", 29, 0), ("paperspace", 11, 3),
        ("vast", 60, 0), ("verda", 33, 0),
    ],
)  # fmt: skip
def test_real_catalogs_are_read_and_every_line_is_accounted_for(
    cloud: str, least: int, rejected: int
) -> None:
    file = shared(f"data/prices/{cloud}.csv")
    lines = file.read_text().splitlines()[1:]
    result = parsed("skypilot", file.read_bytes()) if cloud != "paperspace" else named(file)
    assert {o.provider for o in result.offers} == {cloud}
    assert len(result.offers) >= least
    assert len(result.rejected) == rejected
    assert result.rows >= len(lines) - 270  # zones of AWS that have no price


def named(file: Path) -> Normalised:
    """A file read under its own name."""
    provider = PROVIDERS["skypilot"]
    return offers(
        provider,
        [
            skypilot.Document(
                provider.source_of(file), file.read_bytes(), recorded("aws").fetched_at
            )
        ],
        {},
    )


def test_real_rows_of_google_without_hosts_are_all_refused_with_their_line() -> None:
    result = parsed("skypilot", shared("data/prices/gcp.csv").read_bytes())
    assert not result.offers
    assert all(row.where.startswith("line ") for row in result.rejected)

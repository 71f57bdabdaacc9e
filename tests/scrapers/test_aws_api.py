"""Signed as Amazon's own example is, paged to the end, and read in the shape of its JSON."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from loopback import Answer, serve
from recorded import document, one, parsed

from scrapers.aws_api import Keys, from_xml, keys_from, pages, query_of, signed
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.providers import aws

EXAMPLE = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")
AT = datetime(2015, 8, 30, 12, 36, tzinfo=UTC)
EC2 = "https://ec2.us-east-1.amazonaws.com"


def xml(name: str, inside: str) -> bytes:
    space = "http://ec2.amazonaws.com/doc/2016-11-15/"
    return f'<?xml version="1.0"?>\n<{name} xmlns="{space}">{inside}</{name}>'.encode()


TYPES = xml(
    "DescribeInstanceTypesResponse",
    "<requestId>r</requestId><instanceTypeSet><item><instanceType>p5.48xlarge</instanceType>"
    "<vCpuInfo><defaultVCpus>192</defaultVCpus></vCpuInfo>"
    "<memoryInfo><sizeInMiB>2097152</sizeInMiB></memoryInfo>"
    "<gpuInfo><gpus><item><name>H100</name><count>8</count>"
    "<memoryInfo><sizeInMiB>81920</sizeInMiB></memoryInfo></item></gpus></gpuInfo>"
    "<networkInfo><networkPerformance>3200 Gigabit</networkPerformance>"
    "<efaSupported>true</efaSupported><efaInfo><maximumEfaInterfaces>32</maximumEfaInterfaces>"
    "</efaInfo></networkInfo></item></instanceTypeSet>",
)
SPOT = xml(
    "DescribeSpotPriceHistoryResponse",
    "<spotPriceHistorySet><item><instanceType>p5.48xlarge</instanceType>"
    "<productDescription>Linux/UNIX</productDescription><spotPrice>17.250000</spotPrice>"
    "<timestamp>2026-11-29T11:00:00.000Z</timestamp>"
    "<availabilityZone>us-east-1b</availabilityZone></item></spotPriceHistorySet><nextToken/>",
)


def test_the_signature_of_amazons_example():
    headers = signed(EXAMPLE, "example.amazonaws.com", "", "us-east-1", AT, "service")
    assert headers["authorization"].endswith(
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"
    )


def test_a_query_is_in_the_order_that_is_signed():
    assert query_of({"B": "p*", "A": "x y/z"}) == "A=x%20y%2Fz&B=p%2A"


def test_a_session_token_is_signed_and_no_key_is_shown():
    keys = keys_from(
        {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s3", "AWS_SESSION_TOKEN": "t0"}
    )
    assert signed(keys, "h", "", "r", AT)["x-amz-security-token"] == "t0"
    assert "s3" not in repr(keys)
    assert keys_from({"AWS_ACCESS_KEY_ID": "a"}) is None


def test_types_and_spot_in_xml_are_read_as_in_json():
    result = parsed("aws", TYPES, SPOT)
    spot = one(result, "p5.48xlarge", "spot")
    assert (spot.region, spot.usd_per_hour) == ("us-east-1", Decimal("17.25"))
    line = offer_line(spot)
    assert (line["gpu"], line["fabric_nics"], line["vcpus"]) == ("h100-sxm5-80gb", 32, 192)


def test_pages_to_the_last():
    script = [Answer(SPOT.replace(b"<nextToken/>", b"<nextToken>n/2</nextToken>")), Answer(SPOT)]
    with serve(script) as api:
        found = list(pages(api.http(EC2), EXAMPLE, "us-east-1", "DescribeSpotPriceHistory", {}))
    assert len(found) == 2
    assert "NextToken=n%2F2" in api.requests[1].path
    assert "Signature=" in api.requests[1].headers["authorization"]


def test_with_keys_types_and_spot_come_before_the_list(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    regions = xml(
        "DescribeRegionsResponse",
        "<regionInfo><item><regionName>us-east-1</regionName></item></regionInfo>",
    )
    index = {"regions": {"us-east-1": {"currentVersionUrl": "/offers/x/index.json"}}}
    csv = b'"FormatVersion","v1.0"\n"SKU","Instance Type"\n'
    script = [Answer.json(index), Answer(TYPES), Answer(regions), Answer(SPOT), Answer(csv)]
    with serve(script) as api:
        documents = list(aws.fetch_part(api.http(EC2, aws.ORIGIN), "us-east-1"))
    assert [d.body[:5] for d in documents[:2]] == [b"<?xml", b"<?xml"]
    assert len(documents) == 3
    assert [r.path.partition("Action=")[2].partition("&")[0] for r in api.requests[1:4]] == [
        "DescribeInstanceTypes", "DescribeRegions", "DescribeSpotPriceHistory",
    ]  # fmt: skip
    assert not any("Signature" in d.url for d in documents)


@pytest.mark.parametrize(
    "body",
    [
        TYPES[:-40],
        TYPES.replace(b"<requestId>", b"<!DOCTYPE x [<!ENTITY a 'b'>]><requestId>"),
        xml("R", "<a>" * 40 + "</a>" * 40),
    ],
)
def test_xml_that_is_cut_or_hurts_is_unreadable(body):
    with pytest.raises(Unreadable):
        from_xml(document(body))


def test_another_document_is_no_xml_of_ec2():
    assert from_xml(document({"InstanceTypes": []})) is None
    assert from_xml(document(b"<html></html>")) is None

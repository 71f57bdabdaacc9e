"""Asking the EC2 API with an account's keys, and its XML in the shape of its JSON.

Signature: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
Answers:   https://docs.aws.amazon.com/AWSEC2/latest/APIReference/ (both read 2026-11-29)
"""

import hashlib
import hmac
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from urllib.parse import quote
from xml.etree import ElementTree as ET

from scrapers.fields import Row, Unreadable, read_json
from scrapers.http import FetchFailed, Http
from scrapers.listing import Document

VERSION = "2016-11-15"
MOST_PAGES = 200
Parameters = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Keys:
    """An account's, from the environment; `token` where they are for a session."""

    identifier: str
    secret: str = field(repr=False)
    token: str = field(default="", repr=False)


def keys_from(environ: Mapping[str, str]) -> Keys | None:
    """None: the public list alone is read."""
    identifier, secret = environ.get("AWS_ACCESS_KEY_ID"), environ.get("AWS_SECRET_ACCESS_KEY")
    if not identifier or not secret:
        return None
    return Keys(identifier, secret, environ.get("AWS_SESSION_TOKEN", ""))


# --- Asking -----------------------------------------------------------------------------------


def pages(
    http: Http, keys: Keys, region: str, action: str, parameters: Parameters
) -> Iterator[Document]:
    """Every page of an answer, to the last."""
    host, token = f"ec2.{region}.amazonaws.com", ""
    for _ in range(MOST_PAGES):
        asked = {"Action": action, "Version": VERSION} | dict(parameters)
        query = query_of(asked | ({"NextToken": token} if token else {}))
        headers = signed(keys, host, query, region, datetime.now(UTC))
        document = http.get(f"https://{host}/?{query}", headers)
        yield document
        answer = from_xml(document)
        token = str((answer.fields.get("NextToken") if answer else None) or "")
        if not token:
            return
    raise FetchFailed(f"{host}: the pages of {action} do not end within {MOST_PAGES}")


def query_of(parameters: Parameters) -> str:
    """In the order and spelling that is signed."""
    pairs = sorted((quote(k, safe="-_.~"), quote(v, safe="-_.~")) for k, v in parameters.items())
    return "&".join(f"{name}={value}" for name, value in pairs)


def signed(
    keys: Keys, host: str, query: str, region: str, at: datetime, service: str = "ec2"
) -> dict[str, str]:
    """The headers of a GET of `/?query`, by Signature Version 4."""
    moment = at.strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": host, "x-amz-date": moment}
    headers |= {"x-amz-security-token": keys.token} if keys.token else {}
    names = ";".join(sorted(headers))
    lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
    request = f"GET\n/\n{query}\n{lines}\n{names}\n{hashlib.sha256(b'').hexdigest()}"
    scope = f"{moment[:8]}/{region}/{service}/aws4_request"
    digest = hashlib.sha256(request.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}"
    key = f"AWS4{keys.secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    signature = hmac.digest(key, to_sign.encode(), "sha256").hex()
    authorization = (
        f"AWS4-HMAC-SHA256 Credential={keys.identifier}/{scope}, SignedHeaders={names}, "
        f"Signature={signature}"
    )
    return {n: v for n, v in headers.items() if n != "host"} | {"authorization": authorization}


HOME = "us-east-1"
FAMILIES = {f"Filter.1.Value.{n}": kind for n, kind in enumerate(("p*", "g*", "dl1*"), 1)}


def types_and_spot(http: Http, keys: Keys, part: str) -> Iterator[Document]:
    """What the price list does not say: the GPUs of a type, and spot where the account has it."""
    chosen = {"Filter.1.Name": "instance-type"} | FAMILIES
    yield from pages(http, keys, HOME, "DescribeInstanceTypes", chosen)
    for document in pages(http, keys, HOME, "DescribeRegions", {}):
        answer = from_xml(document)
        now = document.fetched_at.strftime("%Y-%m-%dT%H:%M:%SZ")
        spot = chosen | {"ProductDescription.1": "Linux/UNIX", "StartTime": now}
        regions = answer.rows("Regions") if answer else ()
        if any(region.fields.get("RegionName") == part for region in regions):
            yield from pages(http, keys, part, "DescribeSpotPriceHistory", spot)


# --- Its answers ------------------------------------------------------------------------------

LISTS = {
    "InstanceTypeSet": "InstanceTypes",
    "SpotPriceHistorySet": "SpotPriceHistory",
    "RegionInfo": "Regions",
    "CapacityBlockOfferingSet": "CapacityBlockOfferings",
}
DEEPEST = 30


def from_xml(document: Document) -> Row | None:
    """An answer as the JSON that the command line has of it; None: it is no XML of EC2."""
    head = document.body[:400]
    if not head.lstrip().startswith(b"<") or b"ec2.amazonaws.com/doc/" not in head:
        return None
    if b"<!DOCTYPE" in document.body or b"<!ENTITY" in document.body:
        raise Unreadable("the XML declares entities")
    try:
        root = ET.fromstring(document.body)  # noqa: S314 -- no entities, seen to above
    except (ET.ParseError, ValueError) as problem:
        raise Unreadable(f"the answer is no XML: {str(problem)[:100]}") from None
    value = _value(root, 0)
    fields = value if isinstance(value, dict) else {}
    return Row({LISTS.get(name, name): item for name, item in fields.items()}, "")


def _value(element: ET.Element, depth: int) -> object:
    if depth > DEEPEST:
        raise Unreadable("the XML is nested too deeply")
    if not len(element):
        return _scalar(element.text or "")
    if all(_name(child) == "Item" for child in element):
        return [_value(child, depth + 1) for child in element]
    return {_name(child): _value(child, depth + 1) for child in element}


def _name(element: ET.Element) -> str:
    """`{namespace}vCpuInfo` → VCpuInfo."""
    name = element.tag.rpartition("}")[2]
    return name[:1].upper() + name[1:]


def _scalar(text: str) -> object:
    """Numbers and truths as JSON has them, with its bounds."""
    word = text.strip()
    if word in ("true", "false") or re.fullmatch(r"-?[0-9]+(?:\.[0-9]+)?", word):
        return read_json(word.encode()) if not re.match(r"-?0[0-9]", word) else word
    return word or None

"""The files of SkyPilot's catalogs: their lines by the header, and whose catalog a file is."""

import csv
import re
from collections.abc import Iterator, Sequence

from catalog.records import Rejected
from scrapers.fields import Row, Unreadable
from scrapers.listing import Document

CLOUDS = {
    "aws", "azure", "cudo", "do", "fluidstack", "gcp", "hyperbolic", "hyperstack", "ibm",
    "jarvislabs", "lambda", "lium", "mithril", "nebius", "oci", "paperspace", "runpod", "scaleway",
    "seeweb", "spheron", "vast", "verda", "yotta",
}  # fmt: skip
# How a cloud names its types, where nothing names the cloud. The first column is not enough for
# Google's, whose GPU rows have none: there a zone is.
NAMING = {
    "aws": r"[a-z][a-z0-9-]*\.(?:metal|[a-z0-9]*large)\b.*",
    "azure": r"(?:Standard|Basic)_\w+",
    "fluidstack": r"\w+::\d+",
    "hyperstack": r"n\d-[\w-]+x\d+",
    "jarvislabs": r"\d+x_\w+_\d+V_\d+G",
    "lambda": r"gpu_\d+x_\w+",
    "nebius": r"(?:gpu|cpu)-[\w-]+_(?:\d+gpu-)?\d+vcpu-\d+gb",
    "runpod": r"\d+x_[\w-]+_(?:SECURE|COMMUNITY)",
    "vast": r"\d+x-[\w-]+-\d+-\d+",
    "verda": r"(?:CPU|\d+[A-Z][A-Z0-9]*)\.[\w.]+",
}
GOOGLE_ZONE = re.compile(r"[a-z]+-[a-z]+\d+-[a-z]")
NEEDED = ("InstanceType", "AcceleratorName", "Price", "Region")
READ = {
    *NEEDED, "AcceleratorCount", "vCPUs", "MemoryGiB", "GpuInfo", "SpotPrice", "AvailabilityZone",
}  # fmt: skip


def lines_of(document: Document) -> Iterator[Row | Rejected]:
    """The lines of a file by its header; one of a wrong length or of broken quotes is rejected."""
    try:
        lines = document.body.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise Unreadable("the catalog is not UTF-8") from None
    header = _header(lines[0])
    for number, line in enumerate(lines[1:], 2):
        where = f"line {number}"
        try:
            fields = _fields(line)
        except csv.Error as problem:
            yield Rejected(f"is not CSV: {problem}", where, line[:1000])
            continue
        if len(fields) > len(header) and header[-1] not in READ:
            fields = [*fields[: len(header) - 1], ",".join(fields[len(header) - 1 :])]
        if len(fields) == len(header):
            yield Row(dict(zip(header, fields, strict=True)), where)
        elif fields:
            reason = f"has {len(fields)} fields, where the header has {len(header)}"
            yield Rejected(reason, where, line[:1000])


def _fields(line: str) -> list[str]:
    """Of one line alone: a quote that is not closed spoils no other."""
    return next(csv.reader([line.rstrip("\r")], strict=True), [])


def _header(line: str) -> list[str]:
    try:
        header = [name.strip() for name in _fields(line)]
    except csv.Error as problem:
        raise Unreadable(f"the catalog's first line is not CSV: {problem}") from None
    if missing := [name for name in NEEDED if name not in header]:
        raise Unreadable(f'the catalog has no column "{missing[0]}"')
    if twice := [name for name in header if header.count(name) > 1]:
        raise Unreadable(f'the catalog has two columns "{twice[0]}"')
    return header


def cloud_of(url: str, rows: Sequence[Row]) -> str:
    """Whose catalog it is: by a part of its address, else by how its types are named."""
    named = {part for part in re.split(r"[^a-z0-9]+", url.lower()) if part in CLOUDS}
    if len(named) == 1:
        return named.pop()
    if any(GOOGLE_ZONE.fullmatch(str(row.get("AvailabilityZone") or "")) for row in rows[:50]):
        return "gcp"
    names = [str(row.get("InstanceType")) for row in rows if row.get("AcceleratorName")]
    for cloud, naming in NAMING.items():
        if names and sum(bool(re.fullmatch(naming, name)) for name in names) > 0.9 * len(names):
            return cloud
    raise Unreadable(
        "whose catalog it is cannot be told: name the file as its cloud, as in lambda.csv"
    )

"""Readers of what joins instances: the technology, links × rate, the front end apart.

Each knows a *kind* of wording, never an instance.
"""

import re
from decimal import Decimal

from catalog.records import FabricKind, MultiNode
from scrapers.quantities import Bandwidth, bandwidths
from scrapers.text_reading import Reading, number_of


def _fabric_kind(reading: Reading) -> None:
    """The technology by name; a NO beside it counts, and NCCL_IB_* is no sign of InfiniBand."""
    if reading.has(r"NCCL_IB_GID_INDEX ?= ?[0-9]"):
        why = (
            "a GID index is set, which RoCE needs: NCCL_IB_* and mlx5 names do not mean InfiniBand"
        )
        return reading.say("fabric", FabricKind.ROCE.value, why)
    for words, kind in _FABRICS:
        found = re.search(words, reading.text, re.IGNORECASE)
        if found and not re.match(_NO, reading.text[found.end() :], re.IGNORECASE):
            return reading.say("fabric", kind.value, f'"{found[0]}" names {kind.value}')
        if found and kind is FabricKind.INFINIBAND:
            return reading.say("fabric", FabricKind.ETHERNET.value, "InfiniBand is not supported")
    return None


_NO = r'"?\W{0,3}(?:not supported|no\b|false|none|0\b)'
_FABRICS = (
    (r"RoCE(?:v2)?", FabricKind.ROCE),
    (r"(?:Quantum-(?:2|X)\S* )?InfiniBand|(?<![A-Za-z])ib(?![A-Za-z])", FabricKind.INFINIBAND),
    (r"TCPXO", FabricKind.GPUDIRECT_TCPXO),
    (r"TCPX(?!O)", FabricKind.GPUDIRECT_TCPX),
    (r"eRDMA", FabricKind.ERDMA),
    (r'(?:vpc\.amazonaws\.com/)?efa(?:Supported|s)?"?:? ?(?=true|[1-9])', FabricKind.EFA),
)
_GENERATION = re.compile(r"(?<![A-Za-z])(SDR|DDR|QDR|FDR|EDR|HDR|NDR|XDR)(?:[0-9]{3})?(?![A-Za-z])")
PORT_GBITS = {"FDR": 56, "EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}


def _generation(reading: Reading) -> None:
    found = _GENERATION.search(reading.text)
    if found and reading.said.get("fabric") == FabricKind.INFINIBAND.value:
        reading.say("fabric_generation", found[1], f'"{found[0]}" is a generation of InfiniBand')


def _efa(reading: Reading) -> None:
    """EFA interfaces are the fabric's NICs; all cards, or the whole bandwidth, are not."""
    nics = number_of(
        reading, "MaxEfaInterfaces", "MaximumEfaInterfaces", r"(?:vpc\.amazonaws\.com/)?efa"
    )
    if not nics:
        return
    why = f"{nics} EFA interfaces are its fabric NICs, however many cards it has"
    reading.say("fabric", FabricKind.EFA.value, "EFA interfaces are named")
    reading.say("fabric_nics", int(nics), why)
    total = _megabits(reading)
    if total:
        why = f"{total * 1000:.0f} is in Mb/s: {total} Gb/s for the instance"
        reading.say("fabric_gbits_per_s", total, why)


def _megabits(reading: Reading) -> Decimal | None:
    """A bare number of Mb/s: "instance-network-bandwidth: 3200000", or alone. [Gb/s]"""
    stated = number_of(reading, "instance-network-bandwidth")
    for part in reading.parts:
        if stated is None and re.fullmatch(r"[0-9]{5,8}", part):
            stated = Decimal(part)
    return None if stated is None else stated / 1000


def _products(reading: Reading) -> None:
    """Links × rate, part by part: RDMA is the fabric; what has no such word, the front end."""
    for part in reading.parts:
        rates = [rate for rate in bandwidths(part) if not _inside(part)]
        for rate in rates:
            _one_rate(reading, part, _in_bits(reading, part, rate))


def _inside(part: str) -> bool:
    """Words of the links inside an instance, or of memory and disks."""
    inside = r"NVLink|Infinity Fabric|internal|on.package|HBM|memory|disk|MI[23][0-9]{2}X"
    return re.search(inside, part, re.IGNORECASE) is not None


def _in_bits(reading: Reading, part: str, rate: Bandwidth) -> Bandwidth:
    """Bytes written for bits: "200 GB/s HDR" is a port of 200 Gb/s."""
    found = _GENERATION.search(part)
    if not rate.bytes_written or found is None:
        return rate
    reading.warnings.append(f"bytes written for bits: {found[1]} has no such rate in bytes")
    return Bandwidth(rate.links, rate.gbits_per_s / 8, rate.up_to)


def _one_rate(reading: Reading, part: str, rate: Bandwidth) -> None:
    shown = f"{rate.links} x {rate.gbits_per_s} Gb/s" if rate.links > 1 else f"{rate.total} Gb/s"
    fabric = reading.said.get("fabric")
    per_link = PORT_GBITS.get(str(reading.said.get("fabric_generation")))
    joined = fabric not in (None, FabricKind.ETHERNET.value)
    if rate.up_to:
        reading.say("frontend_burst_gbits_per_s", rate.total, f"up to {shown}: not a promise")
    elif re.search(r"RDMA|scale.?out", part, re.IGNORECASE) or (rate.links > 1 and joined):
        reading.say("fabric_nics", rate.links, f"{shown} is {rate.total} Gb/s in all")
        reading.say("fabric_gbits_per_s_per_nic", rate.gbits_per_s, f"{shown}: the rate of one")
        reading.say("fabric_gbits_per_s", rate.total, f"{shown}: links × rate")
    elif per_link and rate.total == per_link:
        reading.say("fabric_gbits_per_s_per_nic", rate.total, f"{shown} is one port of its fabric")
    elif fabric == FabricKind.EFA.value or (joined and rate.total > FASTEST_PORT):
        reading.say(
            "fabric_gbits_per_s", rate.total, f"{shown} is more than a port: the instance's"
        )
    elif not joined and rate.total <= FASTEST_FRONT_END:
        reading.say("frontend_gbits_per_s", rate.total, f"{shown} with no word of RDMA: front end")
    else:
        reading.why.append(f"{shown}: of which network, and of what, is not said")


FASTEST_PORT = 800  # [Gb/s], XDR
FASTEST_FRONT_END = 400  # [Gb/s]


def _number_of_nics(reading: Reading) -> None:
    """Total ÷ rate, where it is whole."""
    total = reading.said.get("fabric_gbits_per_s")
    each = reading.said.get("fabric_gbits_per_s_per_nic")
    if isinstance(total, Decimal) and isinstance(each, Decimal) and total % each == 0:
        nics = int(total / each)
        reading.say("fabric_nics", nics, f"{total} Gb/s by {each} Gb/s is {nics} NICs")


def _support(reading: Reading) -> None:
    """Yes and no beside GPUDirect RDMA, SHARP, clusters; never from the presence of a fabric."""
    for words, attribute in _SUPPORTS:
        found = re.search(words + _ANSWER, reading.text, re.IGNORECASE)
        if found:
            answer = "yes" if found[1].lower() in ("yes", "true", "supported", "enabled") else "no"
            reading.say(attribute, answer, f'"{found[0]}"')
    cluster = re.search(r"cluster network capable" + _ANSWER, reading.text, re.IGNORECASE)
    if cluster and cluster[1].lower() not in ("yes", "true", "supported"):
        reading.say("multi_node", MultiNode.NO.value, f'"{cluster[0]}"')


_ANSWER = r'"?\W{1,3}(yes|true|supported|enabled|not supported|no|false|disabled)(?![A-Za-z])'
_SUPPORTS = (
    (r"GPU ?Direct[- ]?RDMA", "gpudirect_rdma"),
    (r"SHARP(?:v[0-9])?", "sharp"),
    (r"(?<!Direct )(?<!Direct-)(?<!Direct)RDMA(?: ?Enabled)?", "rdma"),
)


_SCALE_OUT = r"scale.?out[^0-9(]{0,20}\(Gbps\) ?([0-9]{1,2}) ?x ?([0-9]{2,4})"


def _headings(reading: Reading) -> None:
    """Columns with their unit in the heading: "Max Bandwidth (Mbps) 80000", "(Gbps) 4x800"."""
    scale_out = re.search(_SCALE_OUT, reading.text, re.IGNORECASE)
    if scale_out:
        links, each = int(scale_out[1]), Decimal(scale_out[2])
        reading.say("fabric_nics", links, f"scale-out: {links} links")
        reading.say("fabric_gbits_per_s_per_nic", each, f"scale-out: {each} Gb/s a link")
    front = re.search(
        r"(?:max )?(?:front.?end |network )?bandwidth \(Mb(?:ps|/s)\) ?([0-9]{2,7})",
        reading.text,
        re.IGNORECASE,
    )
    if front is None:
        return
    megabits = Decimal(front[1])
    if megabits < 1000:
        reading.warnings.append(
            f"{megabits} under Mbps would be {megabits / 1000} Gb/s: read as Gb/s"
        )
        megabits *= 1000
    why = f"{front[0]!r}: the front end; an InfiniBand fabric is not in this column"
    reading.say("frontend_gbits_per_s", megabits / 1000, why)


NETWORK_READERS = (
    _fabric_kind,
    _generation,
    _efa,
    _headings,
    _products,
    _number_of_nics,
    _support,
)

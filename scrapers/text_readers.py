"""The readers of a pasted listing: each knows a *kind* of wording, never an instance.

A product of links, megabits under a heading, bytes written for bits, a "no" after the word, both
ways printed for one: see `scrapers.text` for what becomes of it.
"""

import re
from dataclasses import dataclass, field
from decimal import Decimal

from catalog.facts import ATTRIBUTES, BadFact, gpus
from catalog.records import FabricKind, ScaleUp, Value
from scrapers.azure_sizes import is_rdma_capable, size
from scrapers.gpu_names import Named, UnknownGpu, identify
from scrapers.quantities import Bandwidth, bandwidths, count, gigabytes
from scrapers.text_gpus import gpu_in, memory_in


@dataclass(slots=True)
class Reading:
    """One listing in a text: its parts, what was read in them, and why."""

    provider: str
    instance: str
    text: str
    parts: tuple[str, ...]
    known: bool = False  # bundled facts speak before the text
    said: dict[str, Value] = field(default_factory=dict)
    why: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    gpu: Named | None = None

    def say(self, attribute: str, value: Value, why: str) -> None:
        """Keep the first that is said of an attribute, and the reason."""
        if attribute in self.said or value is None:
            return
        try:
            ATTRIBUTES[attribute].read(str(value))
        except BadFact as problem:
            self.warnings.append(f"{attribute} {problem}")
            return
        self.said[attribute] = value
        self.why.append(why)

    def has(self, words: str) -> bool:
        return re.search(words, self.text, re.IGNORECASE) is not None


_BEFORE = r"(?<![A-Za-z0-9])"
_AFTER = r'"?(?: ?\([^()]{0,12}\))? ?[:=]? ?"?([0-9A-Za-z./][^"|;,]{0,40})'


def _value_of(reading: Reading, *names: str) -> str | None:
    """What stands after a heading: `efa: 32`, `"num_gpus": 8`, `Max NICs (Qty.) 8`."""
    for name in names:
        found = re.search(_BEFORE + name + _AFTER, reading.text, re.IGNORECASE)
        if found:
            return found[1].strip()
    return None


def _number_of(reading: Reading, *names: str) -> Decimal | None:
    value = _value_of(reading, *names)
    found = re.match(r"[0-9]{1,9}(?:\.[0-9]{1,3})?(?![0-9x])", value) if value else None
    return Decimal(found[0]) if found else None


def _azure_size(reading: Reading) -> None:
    """A size of a known Azure family says its GPU, and how many by its vCPUs."""
    found = size(reading.instance) if reading.provider == "azure" else None
    if found is None:
        return
    why = f"{reading.instance}: {found.gpu}, by the table of its family ({found.source})"
    reading.say("gpu_count", found.gpu_count, why)
    reading.gpu = identify(found.gpu)
    reading.say("scale_up", found.scale_up, "PCIe cards of this family are bridged in pairs")
    if is_rdma_capable(reading.instance):
        reading.say("fabric", FabricKind.INFINIBAND.value, "r in an Azure name is RDMA: InfiniBand")


def _counts(reading: Reading) -> None:
    """How many GPUs: a heading, "8x H100", "l40s x8", "1/6"; 0 is a share, by its memory."""
    written = _value_of(
        reading, "instance-gpu-count", "num_gpus", "gpu_count", "number_of_gpus",
        "accelerators", "gpus", "count",
    )  # fmt: skip
    found = re.match(r"[0-9]{1,4}(?:/[0-9]{1,2}|\.[0-9]{1,4})?", written) if written else None
    stated = count(found[0]) if found else None
    if stated:
        reading.say("gpu_count", stated, f"{found[0] if found else stated} GPUs by its heading")
    words = gpu_in(reading.text)
    vm = re.search(r"(?<![0-9A-Za-z])([0-9]{1,2})-?gpu(?![0-9])", reading.text, re.IGNORECASE)
    if vm:
        reading.say("gpu_count", Decimal(vm[1]), f'"{vm[0]}" is {vm[1]} GPUs')
    if words and words.count and stated != 0:
        reading.say("gpu_count", Decimal(words.count), f'"{words.printed}" is {words.count} GPUs')


def _gpu(reading: Reading) -> None:
    """Which GPU: driver's names whole, else chip, form and memory wherever they stand."""
    if reading.gpu is not None:
        return _named(reading, reading.gpu)
    stated = _value_of(reading, "gpu_name", "instance-gpu-name", "gpu-name")
    for whole in filter(None, (stated, reading.text)):
        try:
            reading.gpu = identify(whole, None, reading.provider)
            break
        except UnknownGpu:
            continue
    memory = memory_in(reading.text, reading.said.get("gpu_count"))
    if reading.gpu is None and (words := gpu_in(reading.text)):
        try:
            reading.gpu = identify(words.name, None, reading.provider)
            if reading.gpu.slug is None and memory is not None:
                reading.gpu = identify(words.name, memory, reading.provider)
        except UnknownGpu as unknown:
            reading.warnings.append(str(unknown))
    return _named(reading, reading.gpu)


def _named(reading: Reading, named: Named | None) -> None:
    if named is None:
        return
    if named.slug:
        reading.say("gpu", named.slug, f"its words name {named.slug}")
    else:
        reading.why.append(f"the GPU may be {', '.join(named.candidates)}: not said which")
    if named.note:
        reading.warnings.append(named.note)


def _share(reading: Reading) -> None:
    """Count 0 or none with less memory than the card has: a share of one."""
    stated = _number_of(reading, "instance-gpu-memory", "accelerator-memory", "gpu_ram")
    if stated is None or not reading.gpu or not reading.gpu.slug:
        return
    whole = Decimal(reading.gpu.slug.rsplit("-", 1)[1].removesuffix("gb"))
    gb = gigabytes(stated, "MiB" if stated > 1000 else "GB")
    share = reading.said.get("gpu_count")
    if share is None and 0 < gb < whole * Decimal("0.7"):
        parts = round(whole / gb)
        reading.say(
            "gpu_count", round(Decimal(1) / parts, 4), f"{gb:.0f} GB is 1/{parts} of a card"
        )
        reading.say("gpu_memory_gb", round(whole / parts), "the slice's own memory")
    elif isinstance(share, Decimal) and share < 1:
        reading.say("gpu_memory_gb", round(gb), "the slice's own memory")


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
    nics = _number_of(
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
    stated = _number_of(reading, "instance-network-bandwidth")
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
    if rate.up_to:
        reading.say("frontend_burst_gbits_per_s", rate.total, f"up to {shown}: not a promise")
    elif re.search(r"RDMA|scale.?out", part, re.IGNORECASE) or (rate.links > 1 and fabric):
        reading.say("fabric_nics", rate.links, f"{shown} is {rate.total} Gb/s in all")
        reading.say("fabric_gbits_per_s_per_nic", rate.gbits_per_s, f"{shown}: the rate of one")
        reading.say("fabric_gbits_per_s", rate.total, f"{shown}: links × rate")
    elif per_link and rate.total == per_link:
        reading.say("fabric_gbits_per_s_per_nic", rate.total, f"{shown} is one port of its fabric")
    elif fabric in (None, FabricKind.ETHERNET.value):
        reading.say("frontend_gbits_per_s", rate.total, f"{shown} with no word of RDMA: front end")


_SCALE_OUT = re.compile(
    r"scale.?out[^0-9(]{0,20}\(Gbps\) ?([0-9]{1,2}) ?x ?([0-9]{2,4})", re.IGNORECASE
)


def _headings(reading: Reading) -> None:
    """Columns with their unit in the heading: "Max Bandwidth (Mbps) 80000", "(Gbps) 4x800"."""
    scale_out = re.search(
        r"scale.?out[^0-9(]{0,20}\(Gbps\) ?([0-9]{1,2}) ?x ?([0-9]{2,4})",
        reading.text,
        re.IGNORECASE,
    )
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


def _nvlink(reading: Reading) -> None:
    """NVLink by word: of PCIe cards a bridge; both ways is halved; NO, or 0, is not NVLink."""
    slug = reading.gpu.slug if reading.gpu else None
    card = slug is not None and slug.split("-")[1] in ("pcie", "nvl")
    several = (reading.said.get("gpu_count") or 0) != 1
    measured = re.search(r'bw_nvlink"?: ?([0-9]+)', reading.text)
    if measured and int(measured[1]) == 0:
        reading.warnings.append("bw_nvlink is 0: not measured, or no NVLink; unknown")
        reading.said["scale_up"] = None
    elif reading.has(r"NVLink[^|;:]{0,24}: ?\"?(?:no\b|not supported|false)") and several:
        reading.say("scale_up", ScaleUp.PCIE.value, "NVLink: no")
    elif reading.has(r"NVLink Ring"):
        reading.say("scale_up", ScaleUp.NVLINK_MESH.value, "a ring of NVLink, not all to all")
        _generation_of_links(reading)
    elif card and several and reading.has("NVLink"):
        reading.say(
            "scale_up", ScaleUp.NVLINK_BRIDGE.value, "NVLink of PCIe cards is a bridge: pairs"
        )
    if reading.has(r"vms_enabled\"?: ?true"):
        reading.warnings.append("in a virtual machine of this host NVLink may be missing: ask")
    _one_way(reading, slug)


# Per GPU and one way, all links together. [GB/s]
NVLINK_ONE_WAY = {1: 80, 2: 150, 3: 300, 4: 450, 5: 900, 6: 1800}


def _generation_of_links(reading: Reading) -> None:
    """NVLink's generation goes with the architecture: V100 2, A100 3, H100 4, B200 5."""
    named = reading.gpu
    slugs = () if named is None else (named.slug,) if named.slug else named.candidates
    chips = {slug.split("-")[0] for slug in slugs}
    for generation, of in NVLINK_CHIPS.items():
        if chips and chips <= of:
            reading.say(
                "nvlink_generation", generation, f"NVLink of this chip is generation {generation}"
            )


NVLINK_CHIPS = {
    1: {"p100"},
    2: {"v100"},
    3: {"a100", "a800"},
    4: {"h100", "h200", "h800", "h20", "gh200"},
    5: {"b200", "b300", "gb200", "gb300"},
}


def _rated(reading: Reading) -> Decimal | None:
    """One way per GPU, where every part that the GPU may be, and that has links, says the same."""
    named = reading.gpu
    slugs = () if named is None else (named.slug,) if named.slug else named.candidates
    rates = {
        Decimal(str(fact.value))
        for slug in slugs
        if (fact := gpus()[slug].get("scale_up_gbytes_per_s")) is not None
    }
    return rates.pop() if len(rates) == 1 else None


def _one_way(reading: Reading, slug: str | None) -> None:
    """A printed NVLink rate: half of it, where it is the both-ways figure of the part."""
    generation = re.search(r"NVLink ?([1-6])(?![0-9])", reading.text, re.IGNORECASE)
    by_generation = NVLINK_ONE_WAY[int(generation[1])] if generation else None
    rated = _rated(reading)
    one_way = rated or (Decimal(by_generation) if by_generation else None)
    if one_way is None and not reading.has("NVLink"):
        return
    printed = [r for r in bandwidths(reading.text) if r.bytes_written and r.gbits_per_s < 40000]
    for rate in printed:
        gbytes = rate.gbits_per_s / 8
        if one_way and gbytes in (one_way, 2 * one_way):
            ways = "both ways, halved" if gbytes != one_way else "one way"
            if reading.said.get("gpu_count") not in (None, Decimal(8)):
                continue
            reading.say("scale_up_gbytes_per_s", one_way, f"{gbytes} GB/s is {ways}: {one_way}")
    if slug and one_way and rated and "gpu_count" not in reading.said and not reading.known:
        reading.say(
            "scale_up_gbytes_per_s", one_way, f"{slug}: {one_way} GB/s one way, by its data"
        )


def _mesh(reading: Reading) -> None:
    """AMD's modules meet over Infinity Fabric however many of a board are rented."""
    slug, gpus_rented = reading.gpu.slug if reading.gpu else None, reading.said.get("gpu_count")
    if slug and slug.startswith("mi") and "-oam-" in slug and (gpus_rented or 0) != 1:
        reading.say("scale_up", ScaleUp.INFINITY_FABRIC_MESH.value, "OAM modules are a mesh")


READERS = (
    _azure_size,
    _counts, _gpu, _share, _fabric_kind, _generation, _efa, _headings, _products, _mesh, _nvlink,
)  # fmt: skip

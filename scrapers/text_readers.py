"""Readers of what is inside an instance: which GPUs, how many, and how they are joined.

Each knows a *kind* of wording, never an instance: counts before and after, a share of a card, both
ways printed for one, a "no" after the word.
"""

import re
from decimal import Decimal

from catalog.facts import gpus
from catalog.records import FabricKind, ScaleUp
from scrapers.azure_sizes import is_rdma_capable, size
from scrapers.gpu_names import Named, UnknownGpu, identify
from scrapers.quantities import bandwidths, count, gigabytes
from scrapers.text_gpus import gpu_in, memory_in
from scrapers.text_reading import Reading, number_of, value_of


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
    written = value_of(
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
    stated = value_of(reading, "gpu_name", "instance-gpu-name", "gpu-name")
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
    stated = number_of(reading, "instance-gpu-memory", "accelerator-memory", "gpu_ram")
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


def _rack(reading: Reading) -> None:
    """NVL72 is one domain of 72, however few of its GPUs an instance has."""
    rack = re.search(r"NVL(36|72|144)(?![0-9])", reading.text)
    if rack:
        reading.say("scale_up", ScaleUp.NVSWITCH.value, f"{rack[0]} is one rack of NVSwitch")
        reading.say("scale_up_domain_gpus", int(rack[1]), f"{rack[0]} is {rack[1]} GPUs")


GPU_READERS = (_azure_size, _counts, _gpu, _share)
LINK_READERS = (_mesh, _rack, _nvlink)

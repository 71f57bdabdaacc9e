"""Readers of how the GPUs of one instance are joined: NVLink by word, by rate, by rack.

A "no" after or before the word, both ways printed for one, a bridge of cards told from a switch.
"""

import re
from collections.abc import Iterable
from decimal import Decimal

from catalog.facts import gpus
from catalog.records import ScaleUp
from scrapers.gpu_names import chip_of, form_of
from scrapers.listed_facts import BRIDGED
from scrapers.quantities import Bandwidth, bandwidths
from scrapers.text_claims import Stance, claim, clauses
from scrapers.text_fabrics import JOINING
from scrapers.text_reading import Reading


def _several(reading: Reading) -> bool:
    return reading.gpu_count is None or reading.gpu_count > 1


def _rack(reading: Reading) -> None:
    """NVL72 is one domain of 72, however few of its GPUs an instance has; an NVL4 has no switch."""
    rack = re.search(r"NVL(2|4|8|32|36|72|144|576)(x2)?(?![0-9])", reading.text, re.IGNORECASE)
    boards = {form_of(slug) for slug in reading.slugs} <= {"superchip", "sxm5", "sxm6"}
    count = reading.said.get("gpu_count")
    if rack is None or not boards or (isinstance(count, Decimal) and count < 1):
        return
    size = int(rack[1]) * (2 if rack[2] else 1)
    dies = size == 144 and any(slug.startswith("vr") for slug in reading.slugs)
    domain = 72 if dies else size
    why = f'"{rack[0]}" is one domain of {domain} GPUs' + (", counted by its dies" * dies)
    reading.say("scale_up_domain_gpus", domain, why)
    if domain > 4:
        reading.say("scale_up", ScaleUp.NVSWITCH.value, f'"{rack[0]}": joined by NVSwitch')
    _generation_of_links(reading)


def _nvlink(reading: Reading) -> None:
    """NVLink by word: of PCIe cards a bridge; NO, or 0, is not NVLink; optional is not known."""
    if reading.has(r'bw_nvlink"?: ?0(?!\.?[0-9]*[1-9])'):
        why = "bw_nvlink is 0: not measured, or no NVLink"
        reading.warnings.append(f"{why}; unknown")
        reading.withhold("scale_up", why)
        return
    if reading.has(r"vms_enabled\"?: ?true"):
        reading.warnings.append("in a virtual machine of this host NVLink may be missing: ask")
    switch = claim(reading.text, "NVSwitch")
    link = claim(reading.text, r"(?<!bw_)NVLink(?![- ]?C2C)|NV-Link")
    cards = any(form_of(slug) in ("pcie", "nvl") for slug in reading.slugs)
    named = switch is not None and switch.stance in (Stance.NAMED, Stance.YES)
    if switch and named and not cards and _several(reading):
        reading.say("scale_up", ScaleUp.NVSWITCH.value, f'"{switch.clause}" names NVSwitch')
    if link is None or not _several(reading):
        return
    if link.stance is Stance.NO:
        reading.say("scale_up", ScaleUp.PCIE.value, f'"{link.clause}": no NVLink')
    elif link.stance is Stance.MAYBE:
        reading.withhold("scale_up", f'"{link.clause}" promises no NVLink')
    elif re.search(r"NVLink Ring", reading.text, re.IGNORECASE):
        reading.say("scale_up", ScaleUp.NVLINK_MESH.value, "a ring of NVLink, not all to all")
        _generation_of_links(reading)
    else:
        _bridge(reading, link.clause)


def _bridge(reading: Reading, clause: str) -> None:
    """NVLink of PCIe cards is a bridge of two; an H200 NVL's may join four."""
    slugs = reading.slugs
    cards = bool(slugs) and all(form_of(slug) in ("pcie", "nvl") for slug in slugs)
    bridged = cards and {chip_of(slug) for slug in slugs} <= BRIDGED
    if cards and not bridged:
        reading.warnings.append(f'"{clause}": the {chip_of(slugs[0]).upper()} has no NVLink')
    elif bridged or (not slugs and re.search("NVLink[- ]bridge", clause, re.IGNORECASE)):
        why = f'"{clause}": NVLink of PCIe cards is a bridge'
        reading.say("scale_up", ScaleUp.NVLINK_BRIDGE.value, why)
        if ways := re.search(r"([24])-way", reading.text):
            reading.say("scale_up_domain_gpus", int(ways[1]), f'"{ways[0]}" bridge')
        elif any(slug.startswith("h200") for slug in slugs):
            reading.withhold("scale_up_domain_gpus", "a bridge of H200 NVL joins two or four")
    else:
        reading.unknown(
            "scale_up", f'"{clause}": through a switch, a bridge or neither is not said'
        )


def _mesh(reading: Reading) -> None:
    """AMD's modules meet over Infinity Fabric however many of a board are rented."""
    slugs = reading.slugs
    if slugs and slugs[0].startswith("mi") and "-oam-" in slugs[0] and _several(reading):
        reading.say(
            "scale_up", ScaleUp.INFINITY_FABRIC_MESH.value, "it names OAM modules, which are a mesh"
        )


# --- Its rate ---------------------------------------------------------------------------------

# Per GPU and one way, all links together. [GB/s]
NVLINK_ONE_WAY = {1: 80, 2: 150, 3: 300, 4: 450, 5: 900, 6: 1800}
NVLINK_CHIPS = {
    1: {"p100"},
    2: {"v100"},
    3: {"a100", "a800"},
    4: {"h100", "h200", "h800", "h20", "gh200"},
    5: {"b200", "b300", "gb200", "gb300"},
    6: {"vr200"},
}


def _generation_of_links(reading: Reading) -> None:
    """NVLink's generation goes with the architecture: V100 2, A100 3, H100 4, B200 5."""
    chips = {slug.split("-")[0] for slug in reading.slugs}
    for generation, of in NVLINK_CHIPS.items():
        if chips and chips <= of:
            why = f"it names a chip whose NVLink is generation {generation}"
            reading.say("nvlink_generation", generation, why)


def _rated(reading: Reading) -> Decimal | None:
    """One way per GPU, where every part that the GPU may be, and that has links, says the same."""
    rates = {
        Decimal(str(fact.value))
        for slug in reading.slugs
        if (fact := gpus()[slug].get("scale_up_gbytes_per_s")) is not None
    }
    return rates.pop() if len(rates) == 1 else None


def _one_way(reading: Reading) -> None:
    """A printed NVLink rate: half of it, where it is the both-ways figure of the part."""
    generation = re.search(r"NVLink ?([1-6])(?![0-9])", reading.text, re.IGNORECASE)
    by_generation = Decimal(NVLINK_ONE_WAY[int(generation[1])]) if generation else None
    rated = _rated(reading)
    one_way = rated or by_generation
    if one_way is None or not _several(reading):
        return
    if reading.said.get("scale_up") in ("pcie", "none"):
        return
    count = reading.said.get("gpu_count")
    slugs = reading.slugs
    for rate in bandwidths(reading.text):
        _printed(reading, rate, one_way)
    alone = len(slugs) == 1 and not slugs[0].startswith("gh200")  # may have no peer
    if alone and rated and "gpu_count" not in reading.said and not reading.known:
        why = f"{slugs[0]} has {rated} GB/s one way, by its data"
        reading.say("scale_up_gbytes_per_s", rated, why)
    if count is not None and "scale_up_gbytes_per_s" in reading.said:
        _generation_of_links(reading)


def _printed(reading: Reading, rate: Bandwidth, one_way: Decimal) -> None:
    """Of one GPU both ways or one, or of all together; in bits it is a slip, and not read."""
    around = reading.text[max(0, rate.start - 40) : rate.end + 40]
    links = re.search(r"NVLink|NVSwitch|GPU.to.GPU", around, re.IGNORECASE)
    gbytes = rate.gbits_per_s / 8
    if re.search("C2C", around):  # joins a GPU and its CPU
        return
    if not rate.bytes_written:
        if links and rate.total in (one_way, 2 * one_way):
            slip = f"NVLink of {rate.total:f} Gb/s would be {gbytes:f} GB/s: bytes must be meant"
            reading.warnings.append(slip)
        return
    count = reading.said.get("gpu_count")
    mesh = any("-oam-" in slug for slug in reading.slugs)
    if gbytes in (one_way, 2 * one_way) and not (mesh and count not in (None, Decimal(8))):
        ways = "both ways, halved" if gbytes != one_way else "one way"
        why = f"{gbytes:f} GB/s is {ways}: {one_way} GB/s"
        reading.say("scale_up_gbytes_per_s", one_way, why)
    elif links and re.search("NVLink", around[:40], re.IGNORECASE) and gbytes < one_way:
        reading.warnings.append(f"NVLink of {gbytes:f} GB/s: this GPU has {2 * one_way} both ways")


_LINKED = re.compile(
    r"nvlink|nvswitch|interconnect|gpu.to.gpu|p2p|peer|xgmi|infinity fabric", re.IGNORECASE
)
_NOT_LINKED = re.compile(rf"C2C|hbm|memory|bisection|{JOINING}", re.IGNORECASE)
_OF_ONE = re.compile(r"p2p|peer|(?:per|/) ?v?gpu", re.IGNORECASE)  # not of all together
LATEST_PCIE = 6


def _impossible(reading: Reading) -> None:
    """A rate between GPUs that neither one of them has, both ways, nor all of them together."""
    if not reading.slugs or (most := _both_ways(reading)) is None:
        return
    domain = reading.said.get("scale_up_domain_gpus")
    together = max(reading.gpu_count or 1, Decimal(domain) if isinstance(domain, int) else 1)
    for clause in clauses(reading.text):
        if not _LINKED.search(clause) or _NOT_LINKED.search(clause):
            continue
        for rate in bandwidths(clause):
            gbytes = rate.total / 8
            sums = () if _OF_ONE.search(clause) else (together * most, together * most / 2)
            if rate.bytes_written and gbytes > most and not _about(gbytes, sums):
                whose = " or ".join(reading.slugs)
                has = f"{whose} has at most {most / 2:f} GB/s one way, {most:f} both ways"
                printed = clause.strip('"{} ')
                reading.warnings.append(f'"{printed}": {gbytes:f} GB/s cannot be: {has}')


def _both_ways(reading: Reading) -> Decimal | None:
    """Of all links of one GPU; of a card without, of its 16 lanes of PCIe. [GB/s]"""
    if (one_way := _rated(reading)) is not None:
        return 2 * one_way
    if any(form_of(slug) != "pcie" or chip_of(slug) in BRIDGED for slug in reading.slugs):
        return None
    said = (gpus()[slug].get("pcie_generation") for slug in reading.slugs)
    generations = [int(str(fact.value)) if fact else LATEST_PCIE for fact in said]
    return Decimal(4 * 2 ** max(generations))  # 32 GB/s of generation 3, then twice as much


def _about(gbytes: Decimal, sums: Iterable[Decimal]) -> bool:
    return any(abs(gbytes - total) <= total / 50 for total in sums)


LINK_READERS = (_mesh, _rack, _nvlink, _one_way, _impossible)

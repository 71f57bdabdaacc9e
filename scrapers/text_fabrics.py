"""Readers of the fabric's technology, its generation, and what a text says that it can do."""

import re

from catalog.facts import gpus
from catalog.records import FabricKind, MultiNode
from scrapers.text_claims import Stance, claim, claims
from scrapers.text_reading import Reading

_IB = (
    r"InfiniBand|(?<![A-Za-z])(?<!NCCL_)ib(?![A-Za-z])|Quantum-?(?:2|X|8)"
    r"|(?-i:(?<![A-Za-z])[NX]DR(?![A-Za-z]))"
)
_EFA = (
    r'(?:vpc\.amazonaws\.com/)?efa(?:Supported|s)?"?:? ?(?=true|[1-9])|Elastic Fabric Adapter'
    r"|(?<![A-Za-z])EFA(?:v[1-4])?(?![A-Za-z])(?!\"?:? ?(?:false|no|0))"
)
_FABRICS = (
    (r"RoCE(?:v2)?|Spectrum-?X", FabricKind.ROCE),
    (_IB, FabricKind.INFINIBAND),
    (r"TCPXO", FabricKind.GPUDIRECT_TCPXO),
    (r"TCPX(?!O)", FabricKind.GPUDIRECT_TCPX),
    (r"eRDMA", FabricKind.ERDMA),
    (r"Omni-?Path", FabricKind.OMNI_PATH),
    (r"Slingshot", FabricKind.SLINGSHOT),
    (_EFA, FabricKind.EFA),
)
JOINING = (
    rf"RDMA|{_IB}|RoCE|Spectrum-?X|(?<![A-Za-z])EFA|Elastic Fabric|TCPX|Omni-?Path|Slingshot"
    r"|scale.?out|back.?end|(?:compute|cluster|gpu) (?:network|fabric)|east.west"
    r"|(?-i:(?<![A-Za-z])[EHNX]DR(?![A-Za-z]))|(?<!infinity )(?<!elastic )fabric"
)
# A provider's own word for its one RDMA network, and where it says so (read 2026-11-29).
_OCI = "https://docs.oracle.com/en-us/iaas/Content/Compute/References/computeshapes.htm"
_RDMA_OF = {"oci": (FabricKind.ROCE, f"RDMA of Oracle's shapes is RoCE v2 ({_OCI})")}
_STORED = r"storage|nvme|file ?system"  # a network of disks joins no GPUs


def _fabric_kind(reading: Reading) -> None:
    """The technology by name; a NO beside it counts, and NCCL_IB_* is no sign of InfiniBand."""
    if reading.has(r"NCCL_IB_GID_INDEX ?= ?[0-9]"):
        why = (
            "a GID index is set, which RoCE needs: NCCL_IB_* and mlx5 names do not mean InfiniBand"
        )
        return reading.say("fabric", FabricKind.ROCE.value, why)
    if reading.provider == "oci" and re.search(r"(?i)-nc(?![a-z])", reading.instance):
        reading.say("fabric", FabricKind.ETHERNET.value, "NC in an OCI name: no cluster network")
        reading.say("multi_node", MultiNode.NO.value, "NC in an OCI name: no cluster network")
    named: dict[FabricKind, str] = {}
    for words, kind in _FABRICS:
        said = [
            claim
            for claim in claims(reading.text, words)
            if not re.search(_STORED, claim.clause, re.IGNORECASE)
        ]
        stances = {claim.stance for claim in said}
        if Stance.YES in stances or stances == {Stance.NAMED}:
            named[kind] = f'"{said[0].word}" names {kind.value}'
        elif maybe := next((claim for claim in said if claim.stance is Stance.MAYBE), None):
            reading.unknown("fabric", f'"{maybe.clause}" promises nothing')
        elif said and Stance.NAMED in stances:
            reading.unknown("fabric", f'"{said[0].word}" is named and denied')
    if len(named) > 1:
        return reading.unknown("fabric", f"the text names {' and '.join(named)}")
    for kind, why in named.items():
        return reading.say("fabric", kind.value, why)
    return _no_fabric(reading)


def _no_fabric(reading: Reading) -> None:
    """ "InfiniBand: not supported" under its heading; RDMA that is one provider's one network."""
    if reading.has(r'InfiniBand"?: ?"?(?:not supported|no|none|false)(?![a-z])'):
        reading.say("fabric", FabricKind.ETHERNET.value, "InfiniBand is not supported")
    rdma = claim(reading.text, r"(?<!direct )(?<!direct-)(?<!direct)RDMA")
    if rdma is None:
        return
    if rdma.stance is Stance.NO and reading.has("ethernet"):
        reading.say("fabric", FabricKind.ETHERNET.value, f'"{rdma.clause}": Ethernet without RDMA')
    elif rdma.stance in (Stance.NAMED, Stance.YES) and reading.provider in _RDMA_OF:
        kind, why = _RDMA_OF[reading.provider]
        reading.say("fabric", kind.value, why)


# --- Its generation ---------------------------------------------------------------------------

_GENERATION = re.compile(
    r"(?<![A-Za-z])(SDR|DDR|QDR|FDR|EDR|HDR|NDR|XDR)([0-9]{3})?(?![A-Za-z0-9])"
)
PORT_GBITS = {"FDR": 56, "EDR": 100, "HDR": 200, "NDR": 400, "XDR": 800}
_QUANTUM = {"quantum-x": "XDR", "quantum-2": "NDR", "quantum-8": "XDR"}


def port_of(text: str) -> int | None:
    """What a port of the generation that is named has: "NDR" 400, "HDR100" 100. [Gb/s]"""
    found = _GENERATION.search(text)
    if found and found[2]:
        return int(found[2])
    return PORT_GBITS.get(found[1]) if found else _of_the_switch(text)


def _of_the_switch(text: str) -> int | None:
    found = re.search(r"Quantum-?(?:2|X|8)", text, re.IGNORECASE)
    return PORT_GBITS[_QUANTUM[f"quantum-{found[0][-1].lower()}"]] if found else None


FASTEST_PORT = 800  # [Gb/s], XDR
NICS_PER_GPU = 2  # at most, of a generation that fills the GPU's own lanes
_PORT_BY_PCIE = {3: 100, 4: 200, 5: 400}  # the fastest port that 16 lanes feed [Gb/s]
LARGEST_NODE = 16  # GPUs


def most_per_gpu(reading: Reading, port: int | None) -> int:
    """What the fabric can have for each GPU: the fastest NICs of its lanes, or named. [Gb/s]"""
    lanes = filter(None, (gpus()[slug].get("pcie_generation") for slug in reading.slugs))
    ports = [_PORT_BY_PCIE.get(int(str(fact.value)), FASTEST_PORT) for fact in lanes]
    fastest = min(port or FASTEST_PORT, max(ports, default=FASTEST_PORT))
    return min(FASTEST_PORT, NICS_PER_GPU * fastest)


def _generation(reading: Reading) -> None:
    if reading.said.get("fabric") != FabricKind.INFINIBAND.value:
        if reading.has(r"RoCE ?v2"):
            reading.say("fabric_generation", "RoCEv2", '"RoCE v2" is its version')
        return
    found = _GENERATION.search(reading.text)
    switch = re.search(r"Quantum-?(?:2|X|8)", reading.text, re.IGNORECASE)
    if found:
        reading.say("fabric_generation", found[1], f'"{found[0]}" is a generation of InfiniBand')
    elif switch:
        generation = _QUANTUM[f"quantum-{switch[0][-1].lower()}"]
        reading.say("fabric_generation", generation, f'"{switch[0]}" switches are {generation}')


# --- What it can do ---------------------------------------------------------------------------

_GPUDIRECT = r"GPU ?Direct[- ]?RDMA"
_SUPPORTS = (
    (_GPUDIRECT, "gpudirect_rdma"),
    (r"SHARP(?:v[0-9])?", "sharp"),
    (r"(?<!Direct )(?<!Direct-)(?<!Direct)(?<!e)RDMA(?: ?Enabled)?", "rdma"),
)


def _support(reading: Reading) -> None:
    """Yes and no beside GPUDirect RDMA, SHARP, clusters; never from the presence of a fabric."""
    for words, attribute in _SUPPORTS:
        said = claim(reading.text, words)
        if said is None:
            continue
        whole = re.fullmatch(rf"{words}", said.clause.strip('" '), re.IGNORECASE)
        if said.stance is Stance.YES or (said.stance is Stance.NAMED and whole):
            reading.say(attribute, "yes", f'"{said.clause}"')
        elif said.stance is Stance.NO:
            reading.say(attribute, "no", f'"{said.clause}"')
        else:
            reading.unknown(attribute, f'"{said.clause}" does not say yes or no')
    if re.search(r"(?<=[0-9m])gdr(?![a-z])", reading.instance, re.IGNORECASE):
        why = "gdr in its name is GPUDirect RDMA; what it needs is not said"
        reading.say("gpudirect_rdma", "conditional", why)
    cluster = claim(reading.text, "cluster network capable")
    if cluster and cluster.stance is Stance.NO:
        reading.say("multi_node", MultiNode.NO.value, f'"{cluster.clause}"')


FABRIC_READERS = (_fabric_kind, _generation, _support)

"""What Google's GPU machine types are made of, and the meters that price the parts.

Machines: https://docs.cloud.google.com/compute/docs/gpus
          https://docs.cloud.google.com/compute/docs/disks/local-ssd (fixed local SSD)
Meters:   descriptions of the Cloud Billing catalog, https://cloud.google.com/skus (read 2026-11-29)
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

READ = date(2026, 11, 29)
PAGE = "https://docs.cloud.google.com/compute/docs/gpus"
SSD_GIB = 375  # of one local SSD


@dataclass(frozen=True, slots=True)
class Machine:
    """`host` and `gpu` name the meters; a host of None is inside the GPU's own price.

    `spot_only`: "you must create instances by using Spot VMs or Flex-start VMs" (PAGE), whatever
    the meters ask.
    """

    name: str
    host: str | None
    vcpus: int
    ram_gib: int
    gpu: str
    gpu_count: int
    ssds: int = 0
    spot_only: bool = False


# What the GPU meters sell, as our list names it.
GPUS = {
    "a100-40": "A100 SXM4 40GB",
    "a100-80": "A100 SXM4 80GB",
    "h100": "H100 SXM5",
    "h100-plus": "H100 SXM5",
    "h200": "H200 SXM5",
    "b200": "B200",
    "gb200": "GB200",
    "gb300": "GB300",
    "l4": "L4",
    "rtxpro6000": "RTX PRO 6000",
}


def _series(
    name: str, host: str, gpu: str, sizes: str, ssds: int = 0, *, spot_only: bool = False
) -> list[Machine]:
    """ "1g:12/85/1" is 12 vCPUs, 85 GiB and 1 GPU, each with `ssds` local SSDs."""
    machines = []
    for size in sizes.split():
        suffix, _, amounts = size.partition(":")
        vcpus, ram, count = (int(amount) for amount in amounts.split("/"))
        own = (vcpus, ram, gpu, count, ssds * count, spot_only)
        machines.append(Machine(f"{name}-{suffix}", host, *own))
    return machines


_A2 = "1g:12/85/1 2g:24/170/2 4g:48/340/4 8g:96/680/8"
_A2_ULTRA = "1g:12/170/1 2g:24/340/2 4g:48/680/4 8g:96/1360/8"
_A3_PARTS = "1g:26/234/1 2g:52/468/2 4g:104/936/4"
_G2 = "4:4/16/1 8:8/32/1 12:12/48/1 16:16/64/1 24:24/96/2 32:32/128/1 48:48/192/4 96:96/384/8"
_G4 = "48:48/180/1 96:96/360/2 192:192/720/4 384:384/1440/8"
MACHINES = (
    *_series("a2-highgpu", "a2", "a100-40", _A2),
    *_series("a2-megagpu", "a2", "a100-40", "16g:96/1360/16"),
    *_series("a2-ultragpu", "a2", "a100-80", _A2_ULTRA, 1),
    *_series("a3-highgpu", "a3", "h100", _A3_PARTS, 2, spot_only=True),
    *_series("a3-highgpu", "a3", "h100", "8g:208/1872/8", 2),
    *_series("a3-megagpu", "a3plus", "h100-plus", "8g:208/1872/8", 2),
    *_series("a3-ultragpu", "a3ultra", "h200", "8g:224/2952/8", 4),
    *_series("g2-standard", "g2", "l4", _G2),
    *_series("g4-standard", "g4", "rtxpro6000", _G4),
    # "1 gpu slice" is a GPU with its share of the host and its local SSD
    Machine("a4-highgpu-8g", None, 224, 3968, "b200", 8),
    Machine("a4x-highgpu-4g", None, 140, 884, "gb200", 4),
    Machine("a4x-maxgpu-4g-metal", None, 144, 960, "gb300", 4),
)


@dataclass(frozen=True, slots=True)
class Meter:
    """What one price of the billing catalog is for: ("gpu", "h100"), ("cpu", "a3"), ("ssd", "")."""

    part: str
    of: str


_HOST = re.compile(r"(A2|A3|A3Plus|A3Mega|A3Ultra|G2|G4) (?:Instance )?(Core|Cpu|Ram)")
_GPU = (
    (r"(?:Nvidia )?(?:Tesla )?A100 80GB GPU", "a100-80"),
    (r"(?:Nvidia )?(?:Tesla )?A100 GPU", "a100-40"),
    (r"(?:Nvidia )?H100 (?:80GB (?:Mega|Plus)|Mega 80GB) GPU", "h100-plus"),
    (r"(?:Nvidia )?H100 80GB GPU", "h100"),
    (r"(?:Nvidia )?H200 141GB GPU", "h200"),
    (r"(?:Nvidia )?L4 GPU", "l4"),
    (r"(?:Nvidia )?RTX (?:PRO )?6000(?: 96GB)?(?: GPU)?", "rtxpro6000"),
    (r"(?:A4 )?(?:Nvidia )?B200 \(1 gpu slice\)", "b200"),
    (r"(?:A4X )?(?:Nvidia )?GB200 \(1 gpu slice\)", "gb200"),
    (r"(?:A4X ?Max )?(?:Nvidia )?GB300 \(1 gpu slice\)", "gb300"),
)
_SSD = re.compile(r"(?:SSD backed Local Storage|Local SSD)")
# "... running in Americas", "... in Americas for 1 Year", "attached to Spot Preemptible VMs ..."
_PLACE = re.compile(
    r"(.+?)(?: attached to Spot Preemptible VMs)?(?: running)?(?: in .+)?", re.IGNORECASE
)


def meter(description: str) -> Meter | None:
    """The part that a meter's description names; None: no part of a GPU machine."""
    body = re.sub(r"^(?:Commitment v1: |Spot Preemptible )+", "", description)
    found = _PLACE.fullmatch(body)
    body = found[1] if found else body
    if _SSD.fullmatch(body):
        return Meter("ssd", "")
    if host := _HOST.fullmatch(body):
        name = host[1].lower().replace("a3mega", "a3plus")
        return Meter("ram" if host[2] == "Ram" else "cpu", name)
    for words, name in _GPU:
        if re.fullmatch(words, body, re.IGNORECASE):
            return Meter("gpu", name)
    return None


def is_spot(description: str) -> bool:
    """What the usage type may not say."""
    return "spot" in description.lower() or "preemptible" in description.lower()


# GPUs that are attached to hosts of any size: no type of their own.
_ATTACHED = re.compile(r"Tesla (?:K80|P4|P100|V100|T4)\b", re.IGNORECASE)


def is_attached(description: str) -> bool:
    return bool(_ATTACHED.search(description))


def amounts(machine: Machine) -> dict[Meter, Decimal]:
    """How much of each meter a machine takes: cores, GiB, GPUs, GiB of SSD."""
    parts = {Meter("gpu", machine.gpu): Decimal(machine.gpu_count)}
    if machine.host:
        parts[Meter("cpu", machine.host)] = Decimal(machine.vcpus)
        parts[Meter("ram", machine.host)] = Decimal(machine.ram_gib)
    if machine.ssds:
        parts[Meter("ssd", "")] = Decimal(machine.ssds * SSD_GIB)
    return parts

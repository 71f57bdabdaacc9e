"""What Azure's GPU sizes hold: a line a family, the GPUs by the vCPUs in the size's name.

Sources are the size pages of https://github.com/MicrosoftDocs/azure-compute-docs, under
articles/virtual-machines/sizes/gpu-accelerated/ (read 2026-11-29). A family that is not here has
no known GPU; vCPUs that are not here have no known count.
"""

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache

from catalog.records import ScaleUp
from scrapers.quantities import count

READ = date(2026, 11, 29)
PAGES = (
    "https://github.com/MicrosoftDocs/azure-compute-docs/blob/main/articles/virtual-machines/"
    "sizes/gpu-accelerated/"
)


@dataclass(frozen=True, slots=True)
class Size:
    """One size: the GPU's words, how many (1/6: a share of one), its slice's memory. [GB]"""

    gpu: str
    gpu_count: Decimal | None
    memory_gb: Decimal | None
    source: str
    scale_up: str | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Sizes whose names, without `Standard_` and `_Promo`, match `name`: group 1 is the vCPUs."""

    name: str
    gpu: str
    page: str
    by_vcpus: str  # "24:1 48:2 96:4"
    slice_gb: str = ""  # of fractions: "6:4 12:8"
    links: ScaleUp | None = None  # of two GPUs and more


FAMILIES = (
    Family(
        r"NCC?(\d+)adi?s_H100_v5",
        "H100 NVL",
        "ncadsh100v5-series.md",
        "40:1 80:2",
        links=ScaleUp.NVLINK_BRIDGE,
    ),
    # "NVIDIA NVLink Interconnect: Supported", of PCIe cards: in pairs
    Family(
        r"NC(\d+)ads_A100_v4",
        "A100 PCIe 80GB",
        "nca100v4-series.md",
        "24:1 48:2 96:4",
        links=ScaleUp.NVLINK_BRIDGE,
    ),
    Family(r"NC(\d+)as_T4_v3", "T4", "ncast4v3-series.md", "4:1 8:1 16:1 64:4"),
    Family(r"NC(\d+)ads_A10_v4", "A10", "ncadsa10v4-series.md", ""),
    Family(
        r"NC(\d+)l?ds(?:_xl)?_RTXPRO6000BSE_v6",
        "RTX PRO 6000 Blackwell Server Edition",
        "nc-rtxpro6000-bse-v6-series.md",
        "128:1 256:2 320:2",
    ),
    Family(r"NC(\d+)r?s_v3", "V100 16GB", "ncv3-series.md", "6:1 12:2 24:4"),
    Family(r"NC(\d+)r?s_v2", "P100 PCIe 16GB", "ncv2-series.md", "6:1 12:2 24:4"),
    Family(r"NC(\d+)r?", "K80", "nc-series.md", "6:1 12:2 24:4"),
    Family(r"ND(\d+)a?m?i?s?r?f?_NDR_GB200_v6", "GB200", "nd-gb200-v6-series.md", "128:4"),
    Family(
        r"ND(\d+)is(?:rf?)?(?:G5)?(?:_NDR)?_GB200_v6", "GB200", "nd-gb200-v6-series.md", "128:4"
    ),
    Family(r"ND(\d+)is(?:rf?)?(?:G5)?_GB300_v6", "GB300", "nd-gb300-v6-series.md", "128:4"),
    Family(
        r"ND(\d+)i?s(?:rf?|f)?(?:_[a-zA-Z]+)?_H100_v5", "H100 SXM5", "ndh100v5-series.md", "96:8"
    ),
    Family(
        r"ND(\d+)i?s(?:rf?|f)?(?:_[a-zA-Z]+)?_H200_v5", "H200 SXM5", "nd-h200-v5-series.md", "96:8"
    ),
    Family(
        r"ND(\d+)i?s(?:rf?|f)?(?:_[a-zA-Z]+)?_MI300X_v5", "MI300X", "ndmi300xv5-series.md", "96:8"
    ),
    Family(r"ND(\d+)amsr?_A100_v4", "A100 SXM4 80GB", "ndma100v4-series.md", "96:8"),
    Family(r"ND(\d+)asr?(?:_A100)?_v4", "A100 SXM4 40GB", "ndasra100v4-series.md", "96:8"),
    Family(r"ND(\d+)r?s_v2", "V100 SXM2 32GB", "ndv2-series.md", "40:8"),
    Family(r"ND(\d+)r?s", "P40 24GB", "nd-series.md", "6:1 12:2 24:4"),
    Family(
        r"NV(\d+)adm?s_A10_v5",
        "A10",
        "nvadsa10v5-series.md",
        "6:1/6 12:1/3 18:1/2 36:1 72:2",
        "6:4 12:8 18:12",
    ),
    Family(
        r"NV(\d+)adm?s_V710_v5",
        "V710 24GB",
        "nvadsv710-v5-series.md",
        "4:1/6 8:1/3 12:1/2 24:1 28:1",
        "4:4 8:8 12:12",
    ),
    Family(
        r"NV(\d+)as_v4", "MI25 16GB", "nvv4-series.md", "4:1/8 8:1/4 16:1/2 32:1", "4:2 8:4 16:8"
    ),
    Family(r"NV(\d+)s_v3", "M60", "nvv3-series.md", "12:1 24:2 48:4"),
    Family(r"NV(\d+)(?:s_v2)?", "M60", "nv-series.md", "6:1 12:2 24:4"),
    Family(
        r"NG(\d+)adm?s_V620(?:_v1)?",
        "V620 32GB",
        "ngadsv620-series.md",
        "8:1/4 16:1/2 32:1",
        "8:8 16:16",
    ),
)
# FPGAs (NP, NM's MA35D are for video): accelerators, and no GPUs.
_OTHER = re.compile(r"Standard_N[PM]\d")


@lru_cache(2**12)
def is_other_accelerator(name: str) -> bool:
    return _OTHER.match(name) is not None


@lru_cache(2**12)
def is_rdma_capable(name: str) -> bool:
    """True where the letters after the vCPUs hold an r, RDMA capable: Standard_ND96isr_H100_v5."""
    letters = name.removeprefix("Standard_").split("_")[0].lstrip("NCDVG").lstrip("0123456789")
    return letters.islower() and "r" in letters


@lru_cache(2**12)
def size(name: str, vcpus: Decimal | None = None) -> Size | None:
    """What a size holds, or None where its family is not known."""
    if len(name) > 80:
        return None
    bare = name.removeprefix("Standard_").removesuffix("_Promo")
    for family in FAMILIES:
        if found := re.fullmatch(family.name, bare):
            key = found[1] if vcpus is None or found[1] in _pairs(family.by_vcpus) else str(vcpus)
            gpus, slice_gb = _pairs(family.by_vcpus).get(key), _pairs(family.slice_gb).get(key)
            held = count(gpus) if gpus else None
            return Size(
                family.gpu,
                held,
                Decimal(slice_gb) if slice_gb else None,
                PAGES + family.page,
                family.links if held and held > 1 else None,
            )
    return None


def _pairs(text: str) -> dict[str, str]:
    return dict(pair.split(":", 1) for pair in text.split())

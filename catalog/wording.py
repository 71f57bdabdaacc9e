"""The words that people read for the words that the catalog keeps: no HTML, no numbers.

Product names stay as they are in every language; all else goes through gettext.
"""

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

from django.http import HttpResponse
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from catalog.records import NVLINK, Basis, FabricKind, MultiNode, PriceModel, ScaleUp, Support

Speak = TypeVar("Speak", bound=Callable[..., Any])
Asked = ParamSpec("Asked")


# Of the page that is being written: Django's own answer takes 4 µs, and a page has 300 words.
_language: ContextVar[str | None] = ContextVar("language", default=None)


def language() -> str | None:
    """The reader's."""
    return _language.get() or translation.get_language()


def once_a_language(speak: Speak) -> Speak:
    """Remember what is said: a page says some 600 words, most of them in every row."""
    said = lru_cache(maxsize=4096)(lambda _language, *words: speak(*words))

    @wraps(speak)
    def again(*words: object) -> Any:
        return said(language(), *words)

    return again  # type: ignore[return-value]


def in_one_language(view: Callable[Asked, HttpResponse]) -> Callable[Asked, HttpResponse]:
    """Ask for the reader's language once: nothing that the view does may change it."""

    @wraps(view)
    def answer(*asked: Asked.args, **named: Asked.kwargs) -> HttpResponse:
        before = _language.set(translation.get_language())
        try:
            return view(*asked, **named)
        finally:
            _language.reset(before)

    return answer


@once_a_language
def gettext(text: str) -> str:
    """Django's own."""
    return translation.gettext(text)


@once_a_language
def pgettext(context: str, text: str) -> str:
    """Django's own."""
    return translation.pgettext(context, text)


@once_a_language
def ngettext(one: str, several: str, count: int) -> str:
    """Django's own."""
    return translation.ngettext(one, several, count)


WORDS: Mapping[str, Mapping[str, object]] = {
    "scale_up": {
        ScaleUp.NVSWITCH: "NVSwitch",
        ScaleUp.NVLINK_MESH: _("NVLink mesh"),
        ScaleUp.NVLINK_BRIDGE: _("NVLink bridge"),
        ScaleUp.PCIE: _("PCIe only"),
        ScaleUp.INFINITY_FABRIC_MESH: _("Infinity Fabric mesh"),
        ScaleUp.GAUDI_MESH: _("Gaudi mesh"),
        ScaleUp.NONE: _("none"),
    },
    "fabric": {
        FabricKind.INFINIBAND: "InfiniBand",
        FabricKind.ROCE: "RoCE",
        FabricKind.EFA: "EFA",
        FabricKind.ERDMA: "eRDMA",
        FabricKind.GPUDIRECT_TCPX: "GPUDirect-TCPX",
        FabricKind.GPUDIRECT_TCPXO: "GPUDirect-TCPXO",
        FabricKind.OMNI_PATH: "Omni-Path",
        FabricKind.SLINGSHOT: "Slingshot",
        FabricKind.ETHERNET: "Ethernet",
        FabricKind.NONE: _("none"),
    },
    "multi_node": {
        MultiNode.SELF_SERVE: _("self-serve"),
        MultiNode.RESERVATION: _("by reservation"),
        MultiNode.NO: _("no"),
    },
    "price_model": {
        PriceModel.ON_DEMAND: _("on demand"),
        PriceModel.SPOT: _("spot"),
        PriceModel.RESERVED_1M: _("reserved 1 month"),
        PriceModel.RESERVED_1Y: _("reserved 1 year"),
        PriceModel.RESERVED_3Y: _("reserved 3 years"),
        PriceModel.CAPACITY_BLOCK: _("capacity block"),
        PriceModel.QUOTE: _("by quote"),
    },
    "continent": {
        "africa": _("Africa"),
        "asia": _("Asia"),
        "europe": _("Europe"),
        "north-america": _("North America"),
        "oceania": _("Oceania"),
        "south-america": _("South America"),
    },
    "job": {
        "train": _("training"),
        "finetune": _("fine-tuning"),
        "finetune_lora": _("fine-tuning, LoRA"),
        "decode": _("serving"),
        "custom": _("custom job"),
    },
    "gpu_vendor": {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"},
}
SUPPORT: Mapping[str, object] = {
    Support.YES: _("yes"),
    Support.NO: _("no"),
    Support.CONDITIONAL: _("conditional"),
}
LINKS: Mapping[str, object] = {
    ScaleUp.INFINITY_FABRIC_MESH: "Infinity Fabric",
    ScaleUp.GAUDI_MESH: _("Gaudi links"),
}
BASIS = {
    Basis.DOCUMENTED: _("documented"),
    Basis.MEASURED: _("measured"),
    Basis.SPEC: _("vendor spec"),
    Basis.STATED: _("third party"),
    Basis.DERIVED: _("derived"),
}
# What a chip calls its filter.
FILTERED = {
    "provider": _("Provider"),
    "gpu": _("GPU"),
    "gpu_vendor": _("GPU vendor"),
    "form_factor": _("Form factor"),
    "gpu_count_min": _("GPUs"),
    "gpu_count_max": _("GPUs"),
    "gpu_memory_gb_min": _("GB per GPU"),
    "total_gpu_memory_gb_min": _("GB in all"),
    "scale_up": _("How the GPUs are joined"),
    "nvlink": "NVLink",
    "nvlink_generation_min": _("NVLink generation"),
    "nvlink_domain_gpus_min": _("NVLink domain"),
    "scale_up_domain_gpus_min": _("Scale-up domain"),
    "domain_gpu_memory_gb_min": _("GB in one domain"),
    "scale_up_gbytes_per_s_min": _("Links GB/s"),
    "fabric": _("Fabric"),
    "infiniband": "InfiniBand",
    "fabric_gbits_per_s_min": _("Fabric Gb/s"),
    "fabric_gbits_per_s_per_gpu_min": _("Fabric Gb/s per GPU"),
    "gpudirect": "GPUDirect",
    "gpudirect_rdma": "GPUDirect RDMA",
    "sharp": "SHARP",
    "multi_node": _("Several instances together"),
    "max_gpus_on_one_fabric_min": _("Largest cluster"),
    "region": _("Region"),
    "country": _("Country"),
    "continent": _("Continent"),
    "price_model": _("Sold as"),
    "tier": _("Tier"),
    "usd_per_hour_max": _("$ per instance-hour"),
    "usd_per_gpu_hour_max": _("$ per GPU-hour"),
    "available": _("Available now"),
    "q": _("Text"),
}
# What an attribute is called where its table does not say the rest.
TITLES = {
    "gpu": _("GPU"),
    "gpu_count": _("GPUs in the instance"),
    "gpu_memory_gb": _("Memory of one GPU"),
    "gpu_vendor": _("GPU vendor"),
    "form_factor": _("Form factor"),
    "vcpus": _("vCPUs"),
    "ram_gb": _("Host memory"),
    "scale_up": _("How the GPUs are joined"),
    "nvlink_generation": _("NVLink generation"),
    "scale_up_gbytes_per_s": _("Links per GPU, one way"),
    "scale_up_pair_gbytes_per_s": _("Between two GPUs, one way"),
    "scale_up_domain_gpus": _("Scale-up domain"),
    "scale_up_domain_guaranteed_gpus": _("Guaranteed of the domain"),
    "fabric": _("Fabric"),
    "fabric_generation": _("Fabric generation"),
    "fabric_nics": _("Fabric NICs"),
    "fabric_gbits_per_s_per_nic": _("Rate of one fabric NIC"),
    "fabric_gbits_per_s": _("Fabric of one instance"),
    "fabric_gbits_per_s_per_gpu": _("Fabric per GPU"),
    "gpudirect": _("GPUDirect, no bounce through the host"),
    "gpudirect_rdma": _("GPUDirect RDMA"),
    "rdma": _("RDMA"),
    "sharp": _("SHARP in the switches"),
    "rail_optimised": _("Rail-optimised wiring"),
    "adaptive_routing": _("Adaptive routing"),
    "oversubscription": _("Oversubscription"),
    "multi_node": _("Several instances together"),
    "same_fabric": _("Same fabric, how"),
    "max_gpus_on_one_fabric": _("Largest cluster"),
    "software_support": _("Software that is stated"),
    "frontend_gbits_per_s": _("Front end"),
    "frontend_burst_gbits_per_s": _("Front end, up to"),
    "measured_pair_gbytes_per_s": _("Measured between two GPUs"),
    "measured_all_reduce_gbytes_per_s": _("Measured all-reduce"),
    "measured_all_gather_gbytes_per_s": _("Measured all-gather"),
    "measured_reduce_scatter_gbytes_per_s": _("Measured reduce-scatter"),
    "measured_all_to_all_gbytes_per_s": _("Measured all-to-all"),
    "measured_send_recv_gbytes_per_s": _("Measured send and receive"),
}
# What is said in a sentence: "their fabric speed is unknown".
UNKNOWN_OF = {
    "scale_up": _("way of joining GPUs"),
    "nvlink": "NVLink",
    "nvlink_domain_gpus": _("NVLink domain"),
    "fabric": _("fabric"),
    "fabric_generation": _("fabric generation"),
    "infiniband": _("fabric"),
    "fabric_gbits_per_s": _("fabric speed"),
    "fabric_gbits_per_s_per_gpu": _("fabric speed"),
    "gpudirect": "GPUDirect",
    "gpudirect_rdma": "GPUDirect RDMA",
    "gpu": _("exact GPU"),
    "gpu_count": _("number of GPUs"),
    "continent": _("region"),
    "country": _("region"),
    "gpus": _("largest cluster"),
    "max_gpus": _("largest cluster"),
    "gbits_per_s_per_gpu": _("fabric speed"),
    "region": _("region"),
    "usd_per_gpu_hour": _("price"),
    "usd_per_hour": _("price"),
    "max_gpus_on_one_fabric": _("largest cluster"),
    "available": _("availability"),
    "provider": _("provider"),
    "gpu_vendor": _("GPU vendor"),
    "form_factor": _("form factor"),
    "gpu_memory_gb": _("memory of a GPU"),
    "total_gpu_memory_gb": _("memory of all GPUs"),
    "domain_gpu_memory_gb": _("memory of one domain"),
    "nvlink_generation": _("NVLink generation"),
    "scale_up_domain_gpus": _("scale-up domain"),
    "scale_up_gbytes_per_s": _("speed of the links"),
    "sharp": "SHARP",
    "multi_node": _("way of renting several together"),
    "price_model": _("way of paying"),
    "tier": _("tier"),
    "technology": _("fabric"),
}
# The parts of a GPU's slug that are not simply capitals.
PARTS = {"superchip": "", "pcie": "PCIe", "oam": "", "gaudi2": "Gaudi 2", "gaudi3": "Gaudi 3"}
SEVERAL_FORMS = {"a100", "h100", "v100", "p100", "a800", "v100s"}  # else "PCIe" says nothing
CARDS = re.compile(r"(quadro)?rtx(pro|a)?(\d+)(ada)?")  # rtxpro6000, rtxa6000, rtx6000ada, rtx4090


@once_a_language
def word(field: str, value: object) -> str:
    """A value of a closed list as people write it; anything else as it stands."""
    words: Mapping[str, object] = WORDS.get(field, SUPPORT)
    return str(words.get(str(value), value))


def links(scale_up: str | None) -> str:
    """What the links between GPUs are called: NVLink, another vendor's, or links where unknown."""
    if scale_up in list(NVLINK):
        return "NVLink"
    return str(LINKS.get(scale_up or "", _("links")))


def fabric(technology: str, generation: str | None) -> str:
    """InfiniBand NDR; a generation that says its technology (EFAv2) is not said twice."""
    name, version = word("fabric", technology), generation or ""
    return version if version.startswith(name) else f"{name} {version}".strip()


@once_a_language
def title(attribute: str) -> str:
    """What an attribute is called."""
    return str(TITLES.get(attribute, attribute.replace("_", " ")))


@once_a_language
def filter_title(name: str) -> str:
    """What a filter is called."""
    return str(FILTERED.get(name, name))


@once_a_language
def basis(name: str | None) -> str:
    """How a value is known, as a word."""
    return str(BASIS[Basis(name)]) if name in list(Basis) else ""


@once_a_language
def unknown_of(filter_name: str) -> str:
    """What is not known of a row that this filter left out, for the middle of a sentence."""
    name = filter_name.removesuffix("_min").removesuffix("_max")
    return str(UNKNOWN_OF.get(name, name.replace("_", " ")))


@lru_cache(maxsize=512)
def gpu(slug: str, *, memory: bool = False) -> str:
    """`h100-sxm5-80gb` as "H100 SXM5", or with its memory "H100 SXM5 80 GB"."""
    *parts, size = slug.split("-") if "-" in slug else (slug, "")
    if parts[0] not in SEVERAL_FORMS:
        parts = [part for part in parts if part != "pcie"]
    name = " ".join(text for part in parts if (text := _part(part)))
    if memory and size.endswith("gb"):
        return f"{name} {size.removesuffix('gb')} GB"
    return name


def _part(part: str) -> str:
    if card := CARDS.fullmatch(part):
        quadro, line, number, ada = card.groups()
        names = ("Quadro" if quadro else "", "RTX", "PRO" if line == "pro" else "",
                 ("A" if line == "a" else "") + number, "Ada" if ada else "")  # fmt: skip
        return " ".join(filter(None, names))
    return PARTS.get(part, part.upper())

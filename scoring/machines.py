"""The machine and the software that a measured row names: a cluster and a profile of the model."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from scoring.fields import FieldError
from scoring.gpus import gpus
from scoring.hardware import Cluster

# Columns that hold whole numbers.
COUNTS = frozenset(
    (
        *("layers", "hidden", "ffn_hidden", "heads", "kv_heads", "vocab", "experts", "topk"),
        *("seq_len", "micro_batch", "global_batch", "num_gpus", "gpus_per_node"),
        *("scale_up_domain_gpus", "tp", "pp", "dp", "cp", "ep", "vp"),
    )
)


SPLITS = frozenset(("tp", "pp", "dp", "cp", "ep", "vp"))  # 0 says no more than a blank


class CannotPredict(Exception):
    """Why a row has no prediction; one short reason, so that reasons can be counted."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A value in the row's own metric, whether it is a rate, and what it rests on."""

    value: float
    is_rate: bool
    assumed: bool  # something that the row leaves open was taken for granted
    kind: str
    curve: bool = False  # drawn by a measured curve of curves.toml
    warnings: tuple[str, ...] = ()


def pairs_of(row: Mapping[str, str]) -> dict[str, str]:
    """What the column `extra` says as key=value."""
    pairs = (part.partition("=") for part in row.get("extra", "").split(";"))
    return {key.strip(): value.strip() for key, _, value in pairs if value}


def leading(text: str | None) -> float | None:
    """The leading number, of bytes where a binary unit follows: "4GiB"."""
    found = re.match(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,2})?)\s*([KMG]?)", text or "")
    if not found:
        return None
    return float(found[1]) * {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30}[found[2]]


def number(row: Mapping[str, str], column: str) -> float | None:
    text = row.get(column, "").strip().replace(",", "").split(" (", maxsplit=1)[0]
    if text.lower() in ("", "n/a", "-"):
        return None
    try:
        value = float(text)
    except ValueError:
        raise FieldError(column, f"must be a number, not {text[:40]!r}.") from None
    if not math.isfinite(value) or not 0 <= value <= 1e18:
        raise FieldError(column, f"must be a finite number of 0 or more, not {text[:40]!r}.")
    if column in COUNTS and value != int(value):
        raise FieldError(column, f"must be a whole number, not {text[:40]!r}.")
    return None if column in SPLITS and not value else value


# A measured row's words for a GPU → our slug; the first that matches, tested in this order.
GPU_WORDS = (
    (r"gh200", "gh200-superchip-96gb"),
    (r"gb300|ultra.*gb300", "gb300-superchip-288gb"),
    (r"gb200", "gb200-superchip-186gb"),
    (r"b300", "b300-sxm6-288gb"),
    (r"b200", "b200-sxm6-180gb"),
    (r"h200.*nvl", "h200-nvl-141gb"),
    (r"h200", "h200-sxm5-141gb"),
    (r"h100.*nvl", "h100-nvl-94gb"),
    (r"h100.*pcie", "h100-pcie-80gb"),
    (r"h100", "h100-sxm5-80gb"),
    (r"h800", "h800-sxm5-80gb"),
    (r"h20\b", "h20-sxm5-96gb"),
    (r"a100.*pcie.*40", "a100-pcie-40gb"),
    (r"a100.*pcie|a100.*pair", "a100-pcie-80gb"),
    (r"a100.*40gb", "a100-sxm4-40gb"),
    (r"a100", "a100-sxm4-80gb"),
    (r"mi355", "mi355x-oam-288gb"),
    (r"mi325", "mi325x-oam-256gb"),
    (r"mi300", "mi300x-oam-192gb"),
    (r"l40s", "l40s-pcie-48gb"),
    (r"\bl40\b", "l40-pcie-48gb"),
    (r"\bl4\b", "l4-pcie-24gb"),
    (r"rtx pro 6000", "rtxpro6000-pcie-96gb"),
    (r"6000 ada", "rtx6000ada-pcie-48gb"),
    (r"a6000", "rtxa6000-pcie-48gb"),
    (r"5090", "rtx5090-pcie-32gb"),
    (r"4090", "rtx4090-pcie-24gb"),
    (r"3090", "rtx3090-pcie-24gb"),
    (r"\ba40\b", "a40-pcie-48gb"),
    (r"\ba10g\b", "a10g-pcie-24gb"),
    (r"\ba10\b", "a10-pcie-24gb"),
    (r"\bt4\b", "t4-pcie-16gb"),
    (r"\ba30\b", "a30-pcie-24gb"),
    (r"v100.*pcie", "v100-pcie-16gb"),
    (r"v100.*16 ?gb", "v100-sxm2-16gb"),
    (r"v100", "v100-sxm2-32gb"),
    (r"gaudi ?2|hl-225", "gaudi2-oam-96gb"),
    (r"gaudi ?3|hl-325", "gaudi3-oam-128gb"),
)


def gpu_slug(row: Mapping[str, str]) -> str | None:
    text = row.get("gpu_model", "").lower().replace(" - ", "-")
    return next((slug for pattern, slug in GPU_WORDS if re.search(pattern, text)), None)


def machine(row: Mapping[str, str]) -> Cluster:
    """The machine of a row: its GPU, node, domain and fabric."""
    slug = gpu_slug(row)
    if slug is None or slug not in gpus():
        name = row.get("gpu_model", "")
        unsaid = not name or "not stated" in name
        raise CannotPredict("GPU not stated" if unsaid else "GPU not known to the model")
    count = int(number(row, "num_gpus") or 1)
    node = int(number(row, "gpus_per_node") or min(count, 8))
    domain = int(number(row, "scale_up_domain_gpus") or 0) or None
    given: dict[str, object] = {"gpu": slug, "gpu_count": node}
    part = gpus()[slug]
    links = f"{row.get('gpu_model', '')} {row.get('intra_link', '')}".lower()
    if re.search(r"pair|bridge", links) and "no nvlink" not in links:
        bridged = {"scale_up": "nvlink_bridge", "scale_up_domain_gpus": 2, "pcie_p2p": "yes"}
        given |= bridged if node > 1 else {"scale_up": "none"}
    elif part.scale_up in ("pcie", "nvlink_bridge", "none"):
        given["scale_up"] = "pcie" if node > 1 else "none"
    else:
        given["scale_up"] = part.scale_up
        given["scale_up_domain_gpus"] = domain or min(node, part.domain_gpus)
    if "p2p" in links:
        given["pcie_p2p"] = "no" if re.search(r"\b(no|without) p2p", links) else "yes"
    given |= _fabric(row, node, count)
    said = re.search(r"\b(\d{2,4}) ?w\b", row.get("gpu_model", "").lower())  # "...-HBM2e-500W"
    if said and part.tdp_watts and float(said[1]) < part.tdp_watts:
        given["gpu_power_watts"] = float(said[1])
    return Cluster.from_fields(given, name=slug)


def _fabric(row: Mapping[str, str], node: int, count: int) -> dict[str, object]:
    text = row.get("inter_link", "").lower()
    rate = number(row, "inter_gbps_per_gpu")
    words = {
        "efa": "efa",
        "roce": "roce",
        "omni-path": "omni_path",
        "tcpxo": "gpudirect_tcpxo",
        "tcpx": "gpudirect_tcpx",
        " ib": "infiniband",
        "infiniband": "infiniband",
        "ndr": "infiniband",
        "connectx": "infiniband",
        "800g": "infiniband",
        "rdma": "infiniband",
        "ethernet": "ethernet",
    }
    fabric = next((name for word, name in words.items() if word in text), "infiniband")
    if fabric == "roce" and "infiniband" in text:
        fabric = "infiniband"
    if rate is None:
        # "1x Ethernet 100Gb/s, 8x ConnectX-7 IB NDR 400Gb/s": the widest group is the fabric
        lanes = re.findall(r"(\d+)\s*x\s*(?:[^,;:]*?\b)?(\d+)\s*g", text)
        rate = max((float(n) * float(g) / node for n, g in lanes), default=None)
    if rate is None and count > node:
        # The reference design of the GPU's generation: a 400G NIC each from Hopper on.
        rate = (
            400.0 if re.search(r"h100|h200|b200|b300|gb|mi3", row["gpu_model"].lower()) else 200.0
        )
        fabric = "infiniband"
    return {
        "fabric": fabric,
        "fabric_gbits_per_s": (rate or 400.0) * node,
        "gpudirect": "no" if fabric in ("ethernet", "omni_path") else "yes",
        "sharp": "yes" if re.search(r"(?<!no )(?<!without )sharp", text) else "no",
    }

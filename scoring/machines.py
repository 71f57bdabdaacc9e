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
    across: bool = False  # a collective that leaves its domain and node over the fabric
    warnings: tuple[str, ...] = ()


def pairs_of(row: Mapping[str, str]) -> dict[str, str]:
    """What the column `extra` says as key=value."""
    pairs = (part.partition("=") for part in row.get("extra", "").split(";"))
    return {key.strip(): value.strip() for key, _, value in pairs if value}


def leading(text: str | None) -> float | None:
    """The leading number, of bytes where a binary unit follows: "4GiB"."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", text or "")  # "1,073,741,824"
    found = re.match(r"(\d+(?:\.\d*)?(?:[eE][+-]?\d{1,2})?)\s*([KMG]?)", plain)
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
    (r"gh200.*144", "gh200-superchip-144gb"),
    (r"gh200", "gh200-superchip-96gb"),
    (r"gb300|ultra.*gb300", "gb300-superchip-288gb"),
    (r"gb200", "gb200-superchip-186gb"),
    (r"b300", "b300-sxm6-288gb"),
    (r"b200", "b200-sxm6-180gb"),
    (r"h200.*nvl", "h200-nvl-141gb"),
    (r"h200", "h200-sxm5-141gb"),
    (r"h100.*(nvl|\b94 ?g)", "h100-nvl-94gb"),
    (r"h100.*pcie", "h100-pcie-80gb"),
    (r"h100", "h100-sxm5-80gb"),
    (r"h800", "h800-sxm5-80gb"),
    (r"h20\b", "h20-sxm5-96gb"),
    (r"a100.*pcie.*\b40 ?g", "a100-pcie-40gb"),
    (r"a100.*pcie|a100.*pair", "a100-pcie-80gb"),
    (r"a100.*\b40 ?g", "a100-sxm4-40gb"),
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
    (r"v100.*\b16 ?g", "v100-sxm2-16gb"),
    (r"v100", "v100-sxm2-32gb"),
    (r"gaudi ?2|hl-225", "gaudi2-oam-96gb"),
    (r"gaudi ?3|hl-325", "gaudi3-oam-128gb"),
)


def gpu_slug(row: Mapping[str, str]) -> str | None:
    text = re.sub(r"[\s_-]+", " ", row.get("gpu_model", "").lower())
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
    near = max(node, int(str(given.get("scale_up_domain_gpus", 1))))
    given |= _fabric(row, node, near, count)
    said = re.search(r"\b(\d{2,4}) ?w\b", row.get("gpu_model", "").lower())  # "...-HBM2e-500W"
    if said and part.tdp_watts and float(said[1]) < part.tdp_watts:
        given["gpu_power_watts"] = float(said[1])
    return Cluster.from_fields(given, name=slug)


# A measured row's words for what joins its nodes → our fabric; the first that matches, in this
# order: a list of several networks names the fastest, but sockets say how a fast card was used.
FABRIC_WORDS = (
    (r"tcp-?xo|fastrak", "gpudirect_tcpxo"),
    (r"tcp-?x", "gpudirect_tcpx"),
    (r"\btcp\b|sockets?\b|gvnic|\bena\b", "ethernet"),
    (r"\befa", "efa"),
    (r"\berdma\b|elastic rdma", "erdma"),
    (r"slingshot", "slingshot"),
    (r"omni-? ?path|\bopa\b", "omni_path"),
    (r"infiniband|\bib\b|\b[efhnx]dr\d*\b|quantum-?\d?\b", "infiniband"),
    (r"roce|spectrum-?x|connectx-?\d ?[dl]x", "roce"),
    (r"ethernet|gigabit|\d ?gbe\b", "ethernet"),
    (r"\brdma\b", "roce"),  # of a kind that is not said: the slower of the two usual ones
    (r"connectx|bluefield|\bbf ?\d\b|\bcx-?\d|\[mt|\bmt\d", "infiniband"),
)
UNSAID = r"^[\W_]*(n/?a)?[\W_]*$|not stated|not said|unknown"
# What may stand around a rate that names no network: "4x200G per node".
RATE_ONLY = r"[\d\W_]|x|per|gpu|node|tray|nic|gb(it)?|gbps|g|s"
SOCKETS = ("ethernet", "omni_path")  # without GPUDirect


def fabric_named(text: str) -> str | None:
    """The fabric that some words name, "none" where they say so; None where nothing is said.

    Raises
    ------
    CannotPredict
        Where the words name something that the model does not know.
    """
    said = re.sub(r"\b(no|without|not|non)[ -](an? )?\w+", " ", text.lower())
    named = next((name for word, name in FABRIC_WORDS if re.search(word, said)), None)
    if named or re.search(UNSAID, text.lower()):
        return named
    if re.fullmatch(r"\W*(none|no (fabric|network|interconnect))\W*", text.lower()):
        return "none"
    if re.fullmatch(rf"({RATE_ONLY})*", text.lower()):
        return None
    raise CannotPredict("fabric between nodes not known to the model")


def sums_in_fabric(text: str) -> bool:
    """True where a row says that the switches sum (SHARP), and not that this is off."""
    off = r"\b(no|without|non)[ -]sharp|sharp\W*(is )?(off|no\b|disabled|0)|disabled? sharp"
    return "sharp" in text.lower() and not re.search(off, text.lower())


def _rate(row: Mapping[str, str]) -> float | None:
    """Gbit/s of a GPU: "400", "400G", "400 Gb/s"."""
    said = row.get("inter_gbps_per_gpu", "")
    bare = re.sub(r"(?i)\s*g(b|bit)?(/s|ps)?$", "", said.strip())
    return number({"inter_gbps_per_gpu": bare}, "inter_gbps_per_gpu")


def _fabric(row: Mapping[str, str], node: int, near: int, count: int) -> dict[str, object]:
    """The fields of a cluster that say what joins the nodes of a row."""
    text, rate = row.get("inter_link", ""), _rate(row)
    if count <= near:
        return {"fabric": "none"}
    fabric = fabric_named(text)
    if fabric == "none":
        raise CannotPredict("no fabric joins the nodes")
    if rate is None:
        # "1x Ethernet 100Gb/s, 8x ConnectX-7 IB NDR 400Gb/s": the widest group is the fabric
        lanes = re.findall(r"(\d+)\s*x\s*(?:[^,;:]*?\b)?(\d+)\s*g", text.lower())
        rate = max((float(n) * float(g) / node for n, g in lanes), default=None)
    if rate is None:
        # The reference design of the GPU's generation: a 400G NIC each from Hopper on.
        newer = r"h100|h200|b200|b300|gb|mi3"
        rate = 400.0 if re.search(newer, row["gpu_model"].lower()) else 200.0
    fabric = fabric or "infiniband"
    return {
        "fabric": fabric,
        "fabric_gbits_per_s": rate * node,
        "gpudirect": "no" if fabric in SOCKETS else "yes",
        "sharp": "yes" if sums_in_fabric(text) else "no",
    }

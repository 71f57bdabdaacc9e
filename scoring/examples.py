"""A complete cluster and a complete job: what a file of either may hold."""

from collections.abc import Mapping

from scoring.hardware import cluster_fields
from scoring.workload import job_fields


def complete(kind: str) -> Mapping[str, object]:
    """A complete file: a reference with the fields that it leaves to defaults written out."""
    if kind == "cluster":
        more = {
            "pcie_generation": 5,
            "pcie_p2p": "yes",
            "oversubscription": 1,
            "adaptive_routing": "yes",
            "rail_optimised": "yes",
            "gpu_power_watts": 700,
            "max_gpus_on_one_fabric": 16384,
            "usd_per_hour": 31.6,
        }
        return {**cluster_fields("dgx-h100-ndr"), **more}
    written = {k: v for k, v in job_fields("llama3-70b-pretrain").items() if k != "model"}
    shape = {
        "layers": 80,
        "hidden": 8192,
        "ffn_hidden": 28672,
        "heads": 64,
        "kv_heads": 8,
        "vocab": 128256,
        "gated": True,
        "experts": 0,
        "topk": 0,
    }
    return {**written, **shape, "micro_batch": 1, "activation_recompute": "none"}

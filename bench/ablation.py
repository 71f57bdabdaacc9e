"""Does each term of the training model earn its place? Each is switched off in turn.

    python -m bench.ablation

A term that changes neither the median nor the 90th percentile of the error over published rows
would be no loss. Nothing is refitted: the figures say what a term carries, not what another could
take over.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from bench.accuracy import errors, forget_layouts, training_rows
from scoring.constants import KERNEL_FAMILIES, KERNELS, SOFTWARE, TRAINING

USUAL_MULTIPLIER = median(software.multiplier for software in SOFTWARE.values())
NO_EDGE = {"bf16": 0.0}
WIDE_EDGE = {"bf16": 90.0}
# Term → the constants that switch it off, by the table that holds them.
TERMS: dict[str, Mapping[str, Any]] = {
    "edges of narrow products": {"kernels": {"gemm_k_half": NO_EDGE, "gemm_n_half": NO_EDGE}},
    "longer edges of fp8 and nvfp4": {
        "kernels": {"gemm_k_half": WIDE_EDGE, "gemm_n_half": WIDE_EDGE}
    },
    "few rows of an expert": {"kernels": {"expert_m_half": {"bf16": KERNELS.gemm_m_half}}},
    "local widths off the tile": {"kernels": {"misaligned_factor": 1.0}},
    "short rows of attention": {"kernels": {"attention_s_half": 0.0}},
    "narrow heads": {"family": {"attention_d_half": 0.0}},
    "backward attention at a lower rate": {"training": {"attention_backward": 2.5}},
    "passes over memory": {"training": {"elementwise_hidden": 0.0, "routed_copies": 0.0}},
    "copies of routed tokens": {"training": {"routed_copies": 0.0}},
    "scores written and read": {"training": {"softmax_reads": 0.0}},
    "gaps between kernels": {"training": {"kernels_per_layer": 0.0}},
    "experts launched by the host": {"training": {"expert_kernels": 0.0, "mixture_kernels": 0.0}},
    "the loss over the vocabulary": {"training": {"logit_bytes": 0.0}},
    "the optimizer": {"training": {"optimizer_bytes": 0.0}},
    "stragglers": {"training": {"jitter_per_doubling": 0.0}},
    "recomputing stops early": {"software": {"early_stop": False}},
    "weights sent by broadcasts": {"software": {"sends_weights": "all_gather"}},
    "launches that wait for the host": {"software": {"layer_wait_ms": 0.0}},
    "sums by all-reduce": {"software": {"reduces": "reduce_scatter"}},
    "every second layer recomputed": {"software": {"selective_layers": 0.0}},
    "passes of state spaces": {"training": {"ssm_passes": 0.0}},
    "tensor-parallel overlap": {"software": {"tp_overlap": 0.0}},
    "expert-parallel overlap": {"software": {"ep_overlap": 0.0}},
    "data-parallel overlap": {"software": {"dp_overlap": 0.0}},
    "kernel generations (all flash2)": {"software": {"attention": "flash2"}},
    "a multiplier of each profile": {"software": {"multiplier": USUAL_MULTIPLIER}},
}


def main() -> None:
    """One line a term: the median and the 90th percentile without it, and the change."""
    rows = training_rows()
    base = _figures(errors(rows))
    print(f"all terms                            median {base[0]:6.1%}  p90 {base[1]:6.1%}")
    for term, off in TERMS.items():
        with _without(off):
            found = _figures(errors(rows))
        print(
            f"without {term:35s} median {found[0]:6.1%} ({found[0] - base[0]:+.1%})  "
            f"p90 {found[1]:6.1%} ({found[1] - base[1]:+.1%})"
        )


def _figures(found: list[float]) -> tuple[float, float]:
    sizes = np.abs(found)
    return float(median(sizes)), float(np.quantile(sizes, 0.9))


@contextmanager
def _without(off: Mapping[str, Any]) -> Iterator[None]:
    """The model with some constants replaced; they are frozen for everyone else."""
    records: dict[str, list[Any]] = {
        "kernels": [KERNELS],
        "training": [TRAINING],
        "family": list(KERNEL_FAMILIES.values()),
    }
    kept: list[tuple[Any, str, Any]] = []
    profiles = dict(SOFTWARE)
    for table, values in off.items():
        for record in records.get(table, ()):
            for name, value in values.items():
                kept.append((record, name, getattr(record, name)))
                object.__setattr__(record, name, value)
    changed = off.get("software", {})
    SOFTWARE.update({name: replace(s, **changed) for name, s in profiles.items()})
    forget_layouts()
    try:
        yield
    finally:
        for record, name, value in kept:
            object.__setattr__(record, name, value)
        SOFTWARE.update(profiles)
        forget_layouts()


if __name__ == "__main__":
    main()

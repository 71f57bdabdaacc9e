"""How long a GPU computes: matrix products, attention, and passes over memory.

Each kernel is its flop over the dense peak times an efficiency that was measured on the GPU family
and falls off for small shapes, or its bytes over a share of the memory's rate.
"""

from collections.abc import Mapping

from scoring.constants import KERNELS
from scoring.gpus import Gpu
from scoring.units import Value, where


def gemm_flop_per_s(gpu: Gpu, precision: str) -> float:
    """Plateau of a large matrix product: peak · e of the family. [flop/s]"""
    plateau = gpu.family.gemm.get(precision, gpu.family.gemm.get("bf16", 0.7))
    return gpu.flop_per_s[precision] * plateau


def padded_product(k: Value, n: Value, precision: str) -> Value:
    """(K + k_half)(N + n_half): the work of a product per row, with what small edges waste.

    From K N (1 + k_half/K)(1 + n_half/N), the measured fall of efficiency for narrow matrices. The
    faster the arithmetic, the longer a product must be to hide how it starts and ends.
    """
    return (k + edge(KERNELS.gemm_k_half, precision)) * (n + edge(KERNELS.gemm_n_half, precision))


def edge(halves: Mapping[str, float], precision: str) -> float:
    """The width at which a product of a precision runs at half its plateau. [elements]"""
    return halves.get(precision, halves["bf16"])


def misaligned(width: Value) -> Value:
    """Time of a product whose local width is no multiple of 64, over one that is. [1]

    Tensor cores work on tiles; bigscience measured 94 against 120 TFLOP/s for a hidden size of
    14,400 against 13,824 at tp 8, all else equal (chronicles-prequel.md).
    """
    return where(width % KERNELS.tile == 0, 1.0, KERNELS.misaligned_factor)


def padded_rows(m: Value) -> Value:
    """M + m_half: the rows of a product with what a short one wastes."""
    return m + KERNELS.gemm_m_half


def attention_flop_per_s(gpu: Gpu, kernel: str, seq_len: Value, head_dim: float) -> Value:
    """Rate of the causal forward kernel on rows of bf16 or fp16. [flop/s]

    e · s/(s + s_half) · d/(d + d_half), by kernel generation: none, flash1, flash2, flash3; e is
    the plateau for heads of 128. Each score takes one exponential however wide its head is, so
    narrow heads wait for exponentials: most where products outgrew them, on Blackwell.
    """
    family, usual = gpu.family, 128.0
    heads = (1.0 + family.attention_d_half / usual) / (1.0 + family.attention_d_half / head_dim)
    rows = seq_len / (seq_len + KERNELS.attention_s_half)
    return gpu.flop_per_s[gpu.precision("bf16")] * family.attention[kernel] * rows * heads


def stream_bytes_per_s(gpu: Gpu) -> float:
    """Rate of kernels that read and write long arrays. [B/s]"""
    return gpu.memory_bytes_per_s * KERNELS.memory_efficiency

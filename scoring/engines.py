"""How serving software behaves: floors of its kernels, what a step costs beside them, its formats.

The figures stand in serving.toml, each with its source.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from scoring.constants import data_file, record
from scoring.gpus import Gpu
from scoring.units import GIGA


@dataclass(frozen=True, slots=True)
class ServingKernels:
    """Floors and shares that all families have in common; serving.toml says what each counts."""

    product_us: Mapping[str, float]  # by format of the weights
    attention_us: float
    layer_us: float
    router_us: float
    state_us: float
    index_us: float
    index_bytes: float
    cache_reading: float
    expert_widened: Mapping[str, float]  # by format of the weights; others read at full rate
    expert_efficiency: float
    stage_wait: float
    exchange_us: float
    prompt_layer_us: float
    chunk_tokens: float


@dataclass(frozen=True, slots=True)
class Engine:
    """One serving engine: what a step costs beside its kernels, and how they fall short."""

    title: str
    prefixes: tuple[str, ...]
    step_ms: float
    read_gbytes_per_s: float = 1e9  # what its kernels read at most, whatever the memory's rate
    prompt: float = 1.0  # time of a prompt over that of the best kernels


_TABLES = data_file("serving.toml")

SERVING = record(ServingKernels, _TABLES["kernels"])
ENGINES: Mapping[str, Engine] = {
    name: record(Engine, table) for name, table in _TABLES["engine"].items()
}
READING: Mapping[str, float] = _TABLES["reading"]
EXPERT_US: Mapping[str, float] = _TABLES["expert_us"]


def reading_bytes_per_s(gpu: Gpu, engine: str) -> float:
    """Rate at which a product of few rows reads its weights, beyond its floor. [B/s]"""
    share = READING.get(gpu.family_name, READING["other"])
    return min(gpu.memory_bytes_per_s * share, ENGINES[engine].read_gbytes_per_s * GIGA)


def expert_us(gpu: Gpu) -> float:
    """Floor of the fused experts of one layer. [us]"""
    return EXPERT_US.get(gpu.family_name, EXPERT_US["other"])


def engine_of(framework: str) -> str:
    """The engine of the longest prefix that a framework's name has."""
    lengths = {
        name: max((len(p) for p in engine.prefixes if framework.startswith(p)), default=-1)
        for name, engine in ENGINES.items()
    }
    return max(lengths, key=lambda name: lengths[name])

"""The calibrated constants: read once from constants.toml, checked, and frozen into typed tables.

Nothing else in the package holds a calibrated number; each stands in the file beside its source.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib import resources
from typing import Any, TypeVar

from scoring.units import GIGA, MICRO

T = TypeVar("T")


def data_file(name: str) -> dict[str, Any]:
    """A TOML file of this package, parsed."""
    return tomllib.loads(resources.files("scoring").joinpath(name).read_text(encoding="utf-8"))


def record(kind: type[T], table: Mapping[str, Any]) -> T:
    """A dataclass from the keys of a table that it knows; the rest of the table is for readers."""
    return kind(**{f.name: table[f.name] for f in fields(kind) if f.name in table})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class KernelFamily:
    """Plateau efficiencies of one GPU family: shares of the dense peak."""

    gemm: Mapping[str, float]  # by precision of the inputs
    attention: Mapping[str, float]  # causal forward, of the bf16 peak, by kernel generation
    attention_d_half: float = 50.0  # head width at which exponentials take as long as products


@dataclass(frozen=True, slots=True)
class Kernels:
    """Shapes of the efficiency curves that all families share."""

    gemm_m_half: float
    expert_m_half: Mapping[str, float]
    gemm_n_half: Mapping[str, float]  # by precision; wider ones share bf16's
    gemm_k_half: Mapping[str, float]
    tile: float
    misaligned_factor: float
    attention_s_half: float
    memory_efficiency: float
    optimizer_memory_efficiency: float
    launch_us: float
    power_exponent: float


@dataclass(frozen=True, slots=True)
class LinkConstants:
    """How one kind of link behaves: see the head of constants.toml for the form."""

    efficiency: float
    base_us: float
    hop_us: float
    ramp_us: float
    channel_ranks: float = 0.0
    share_exponent: float = 0.0
    nvls: float = 0.0
    nvls_us: float = 0.0
    nvls_min_ranks: float = 5.0

    @property
    def base_s(self) -> float:
        """Latency of any collective on it. [s]"""
        return self.base_us * MICRO

    @property
    def hop_s(self) -> float:
        """Latency of one step. [s]"""
        return self.hop_us * MICRO

    @property
    def ramp_s(self) -> float:
        """Time constant of the approach to line rate, per step. [s]"""
        return self.ramp_us * MICRO


@dataclass(frozen=True, slots=True)
class FabricConstants:
    """How one fabric technology behaves between nodes."""

    efficiency: float
    hop_us: float
    ramp_us: float  # of a ring, for each crossing
    tree_ramp_us: float  # of a tree, whatever its depth
    first_node_gbits: float = 0.0  # nodes of at most this rate have its first generation of cards
    first_hop_us: float = 0.0


@dataclass(frozen=True, slots=True)
class Network:
    """What no single link says: host bounces, sockets, all-to-all, SHARP."""

    tier_nodes: float
    spread_loss: float
    hash_loss: float
    host_bounce_us: float
    host_bounce_efficiency: float
    socket_node_gbytes_per_s: float
    ring_hop_factor: float
    short_hop_share: float
    protocol_us: float
    tree_efficiency: float
    nvls_rank_loss: float
    pat_efficiency: float
    pat_rank_us: float
    rack_ring_efficiency: float
    one_shot_us: float
    one_shot_meeting_us: float
    one_shot_efficiency: float
    sharp_efficiency: float
    all_to_all_us: float
    host_launch_us: float
    slow_host_launch_us: float
    expert_us: float
    expert_node_us: float
    expert_copy_gbytes_per_s: float
    all_to_all_efficiency: float
    send_recv_efficiency: float
    send_recv_us: float
    unknown_fabric: str
    unknown_gbits_per_s_per_gpu: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Training:
    """Constants of one training step; the comments of the file say what each counts."""

    plain_backward: float
    attention_backward: float
    kernels_per_layer: float
    elementwise_hidden: float
    elementwise_backward: float
    softmax_reads: float
    logit_bytes: float
    selective_passes: float
    expert_kernels: float
    mixture_kernels: float
    routed_copies: float
    ssm_passes: float
    optimizer_bytes: float
    step_ms: float
    jitter_per_doubling: float
    moe_gemm_efficiency: float
    expert_imbalance: float


@dataclass(frozen=True, slots=True)
class Software:
    """One generation of a training framework: one multiplier, two overlaps, and facts of it."""

    title: str
    multiplier: float
    tp_overlap: float
    dp_overlap: float
    attention: str
    sequence_parallel: bool
    gradient_bytes: float
    pp_overlap: float
    ep_overlap: float = 0.0
    family: str = ""  # generations of one framework share it; "" is any that is not known
    names: tuple[str, ...] = ()  # of the family, as they stand in a row's, in small letters
    since: float = 0.0  # year and its part
    usual: bool = False  # the generation where no date is stated
    kernels: tuple[str, ...] = ()  # GPU families that it was written for; all where none is named
    selective_layers: float = 0.0  # share of layers that selective recompute repeats; 0: of none
    recompute: str = "selective"  # where a run does not say: or full, or block by block
    interleaves: bool = False  # a run that does not say how deep has several chunks a stage
    frozen_bytes: float = 1.0  # least of a frozen weight: held as it is multiplied, or wider
    early_stop: bool = False  # recomputing a layer ends before its last product
    pieces: float = 1.0  # collectives that ZeRO-3 takes to gather one layer
    fused_sums: bool = True  # a product adds to the summed gradient, and leaves none of its own
    sends_weights: str = "all_gather"  # how ZeRO-1 hands out new weights: or a broadcast a rank
    reduces: str = "reduce_scatter"  # how ZeRO-1 sums gradients: or all_reduce, of all to all
    layer_wait_ms: float = 0.0  # for the host, of each layer and pass, where launches do not queue


@dataclass(frozen=True, slots=True)
class Memory:
    """What a GPU's memory holds beside the job."""

    overhead_gb: float
    fragmentation: float
    hbm_usable: float
    gddr_usable: float

    @property
    def overhead_bytes(self) -> float:
        """Context, communication buffers and workspaces. [B]"""
        return self.overhead_gb * GIGA


@dataclass(frozen=True, slots=True)
class Unsaid:
    """What stands in where a measured row leaves something open; the file says what each is."""

    ran_anyway: float
    held_anyway: float
    chunks: int
    encoder_fill: float
    encoder_masked: float
    in_flight: float


@dataclass(frozen=True, slots=True)
class Interval:
    """p10 and p90 of the residuals, as natural logarithms, by kind of job."""

    train: Mapping[str, Mapping[str, float]]  # by stratum: a generation of GPUs, or moe
    decode: Mapping[str, Mapping[str, float]]  # dense, or mixture
    custom: Mapping[str, Mapping[str, float]]  # by span: inside a domain or node, or across
    generations: Mapping[str, str]  # kernel family → stratum
    unmeasured_factor: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """How often a cluster stops a job, and what each stop costs."""

    failures_per_gpu_hour: float
    spot_interruptions_per_instance_hour: float
    checkpoint_s: float
    restart_s: float


_TABLES = data_file("constants.toml")

MODEL_VERSION: str = _TABLES["version"]
KERNELS = record(Kernels, _TABLES["kernels"])
KERNEL_FAMILIES = {
    name: record(KernelFamily, table) for name, table in _TABLES["kernels"]["family"].items()
}
LINKS = {name: record(LinkConstants, table) for name, table in _TABLES["link"].items()}
FABRICS = {name: record(FabricConstants, table) for name, table in _TABLES["fabric"].items()}
PCIE_X16_BYTES_PER_S = {
    int(generation): rate * GIGA for generation, rate in _TABLES["pcie"]["x16_gbytes_per_s"].items()
}
NETWORK = record(Network, _TABLES["network"])
TRAINING = record(Training, _TABLES["training"])
SOFTWARE = {name: record(Software, table) for name, table in _TABLES["software"].items()}
MEMORY = record(Memory, _TABLES["memory"])
UNSAID = record(Unsaid, _TABLES["unsaid"])
INTERVAL = record(Interval, _TABLES["interval"])
GOODPUT = record(Reliability, _TABLES["goodput"])
GOODPUT_SOURCES: Mapping[str, str] = _TABLES["goodput"]["sources"]

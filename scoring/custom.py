"""A code that is no transformer: flop, bytes and messages of one step, spread evenly over GPUs.

    t = max(flop / (n · rate), bytes / (n · memory rate)) + Σ count · message

Messages are not overlapped: codes that hide them state fewer.
"""

from dataclasses import dataclass

from scoring.collectives import collective_time, group
from scoring.constants import TRAINING
from scoring.hardware import Cluster
from scoring.kernels import gemm_flop_per_s, stream_bytes_per_s
from scoring.traffic import Traffic
from scoring.units import GIGA, Value, log2, maximum
from scoring.workload import Job, Message


@dataclass(frozen=True, slots=True)
class CustomTime:
    """Seconds of one step by where they go; broadcast over GPU counts."""

    compute: Value
    exposed: Value
    jitter: Value
    traffic: tuple[Traffic, ...] = ()

    @property
    def total(self) -> Value:
        """The step. [s]"""
        return self.compute + self.exposed + self.jitter


def custom_step(cluster: Cluster, job: Job, gpus: Value) -> CustomTime:
    """One step of a custom job on a number of GPUs, or a column of numbers. [s]"""
    gpu = cluster.gpu
    rate = gemm_flop_per_s(gpu, gpu.precision(job.precision)) if job.flop else 1.0
    compute = maximum(job.flop / (gpus * rate), job.hbm_bytes / (gpus * stream_bytes_per_s(gpu)))
    g = group(cluster, gpus)
    exposed: Value = 0.0
    traffic = []
    for message in job.messages:
        size = message.bytes * shrink(message, gpus)
        time = collective_time(cluster, message.kind, size, g)
        exposed = exposed + message.count * time
        traffic.append(Traffic("message", message.kind, size, g, time, message.count * time))
    doublings = log2(maximum(gpus / 8.0, 1.0))
    jitter = (compute + exposed) * TRAINING.jitter_per_doubling * doublings
    return CustomTime(compute, exposed, jitter, tuple(traffic))


def shrink(message: Message, gpus: Value) -> Value:
    """How a message of the whole problem falls with the pieces: 1, 1/n, or n^(−2/3)."""
    exponent = {"fixed": 0.0, "volume": -1.0, "surface": -2.0 / 3.0}[message.scaling]
    return gpus**exponent


def custom_bytes_per_gpu(job: Job, gpus: Value) -> Value:
    """Memory of one GPU's piece. [B]"""
    return job.memory_gb * GIGA / gpus

"""In which format a served model is stored, its weights and its cache, and in which multiplied."""

from scoring.gpus import Gpu
from scoring.memory import BF16
from scoring.workload import WEIGHT_BYTES, WEIGHT_ONLY_BYTES, Job


def stored(job: Job) -> str:
    """Format of the bulk of the weights."""
    return job.weights or job.precision


def weight_bytes(kind: str) -> float:
    """Bytes of one weight, its share of the scales included."""
    return WEIGHT_ONLY_BYTES.get(kind) or WEIGHT_BYTES[kind]


def maths(gpu: Gpu, kind: str) -> str:
    """The precision in which a GPU multiplies weights of a format.

    Their own where it has it. Else they are widened on the way in and the product is of 16 bits:
    4-bit weights on Hopper, 8-bit ones on Ampere. That saves reading and no arithmetic.
    """
    if kind in gpu.flop_per_s:
        return kind
    return gpu.precision("bf16" if weight_bytes(kind) < BF16 else kind)


def multiplied(gpu: Gpu, job: Job) -> str:
    """The precision in which the bulk of a job's products runs on a GPU."""
    return maths(gpu, stored(job)) if job.kind == "decode" else gpu.precision(job.precision)


def attention_format(job: Job) -> str:
    """Format of the weights beside the routed experts.

    Mixtures that are published in four bits keep attention, shared experts and the router wide:
    quantization_config of openai/gpt-oss-120b, moonshotai/Kimi-K2.5 and nvidia/DeepSeek-R1-FP4.
    """
    kind = stored(job)
    return "bf16" if job.transformer.experts and weight_bytes(kind) < 1.0 else kind


def cache_bytes(gpu: Gpu, job: Job) -> float:
    """Bytes of one cached number: 1 where the job is of 8 bits or less and the GPU has them."""
    narrow = job.weights is None and weight_bytes(job.precision) <= 1.0
    return 1.0 if narrow and "fp8" in gpu.flop_per_s else BF16

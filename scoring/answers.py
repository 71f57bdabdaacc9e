"""The answers: an estimate of a job on a cluster, or why it does not fit; and what they cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scoring.constants import INTERVAL, MODEL_VERSION
from scoring.hardware import Cluster
from scoring.layout import Layout
from scoring.units import SECONDS_PER_HOUR
from scoring.workload import Job


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job does on a cluster. Seconds, tokens per second, bytes in GB; fields as in JSON."""

    cluster: str
    job: str
    kind: str
    gpus: int
    nodes: int
    layout: Layout
    step_time_s: float
    tokens_per_s: float | None
    model_tflops_per_gpu: float
    mfu: float
    precision: str
    memory_gb_per_gpu: float
    memory: str
    time: dict[str, float]
    exposed_share: float
    scaling_efficiency: float
    scaling: str
    fabric_efficiency: float
    limited_by: str
    low_s: float
    high_s: float
    scaling_from: dict[str, Any] | None = None  # the smallest count that holds it, and its layout
    collectives: tuple[dict[str, Any], ...] = field(default=(), repr=False)
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    tpot_ms: float | None = None
    ttft_ms: float | None = None
    usd_per_hour: float | None = None  # of all nodes together

    fits = True
    reasons: tuple[str, ...] = ()

    @property
    def tokens_per_s_per_gpu(self) -> float | None:
        """Tokens per second of one GPU; None for a job without tokens."""
        return None if self.tokens_per_s is None else self.tokens_per_s / self.gpus

    @property
    def usd_per_mtoken(self) -> float | None:
        """Dollars for a million tokens at the cluster's price; None without price or tokens."""
        return usd_per_mtoken(self.usd_per_hour, self.tokens_per_s)

    @property
    def usd_lost_to_waiting_per_hour(self) -> float | None:
        """Dollars an hour paid while GPUs wait for messages or for the pipeline."""
        return usd_lost_to_waiting_per_hour(self.usd_per_hour, self.exposed_share)

    def to_json(self) -> dict[str, Any]:
        """Plain values under the public names."""
        decoding = {"tpot_ms": self.tpot_ms, "ttft_ms": self.ttft_ms}
        return {
            "model_version": MODEL_VERSION,
            "cluster": self.cluster,
            "job": self.job,
            "gpus": self.gpus,
            "nodes": self.nodes,
            "step_time_s": self.step_time_s,
            "tokens_per_s": self.tokens_per_s,
            "tokens_per_s_per_gpu": self.tokens_per_s_per_gpu,
            "model_tflops_per_gpu": self.model_tflops_per_gpu,
            "mfu": self.mfu,
            "precision": self.precision,
            "memory_gb_per_gpu": self.memory_gb_per_gpu,
            "memory": self.memory,
            "fits": True,
            "reasons": [],
            "layout": self.layout.as_json(),
            "time": self.time,
            "exposed_share": self.exposed_share,
            "scaling_efficiency": self.scaling_efficiency,
            "scaling": self.scaling,
            "scaling_from": self.scaling_from,
            "fabric_efficiency": self.fabric_efficiency,
            "limited_by": self.limited_by,
            "collectives": list(self.collectives),
            "interval": {"low": self.low_s, "high": self.high_s, "of": "step_time_s"},
            "assumptions": list(self.assumptions),
            "warnings": list(self.warnings),
            "usd_per_hour": self.usd_per_hour,
            "usd_per_mtoken": self.usd_per_mtoken,
            "usd_lost_to_waiting_per_hour": self.usd_lost_to_waiting_per_hour,
            **(decoding if self.kind == "decode" else {}),
        }


@dataclass(frozen=True, slots=True)
class DoesNotFit:
    """Why a job cannot run on a number of GPUs of a cluster, in sentences."""

    cluster: str
    job: str
    gpus: int
    reasons: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    nearest_gpus: tuple[int, ...] = ()  # counts on which it fits

    fits = False

    def to_json(self) -> dict[str, Any]:
        """Plain values; every key of an estimate is there, null where there is no answer."""
        absent = dict.fromkeys(
            (
                "step_time_s",
                "tokens_per_s",
                "tokens_per_s_per_gpu",
                "model_tflops_per_gpu",
                "mfu",
                "memory_gb_per_gpu",
                "layout",
                "time",
                "exposed_share",
                "scaling_efficiency",
                "scaling_from",
                "fabric_efficiency",
                "limited_by",
                "interval",
            )
        )
        return {
            "model_version": MODEL_VERSION,
            "cluster": self.cluster,
            "job": self.job,
            "gpus": self.gpus,
            **absent,
            "collectives": [],
            "fits": False,
            "reasons": list(self.reasons),
            "nearest_gpus": list(self.nearest_gpus),
            "assumptions": list(self.assumptions),
            "warnings": list(self.warnings),
        }


def usd_per_mtoken(usd_per_hour: float | None, tokens: float | None) -> float | None:
    """Dollars for 10⁶ tokens, from dollars an hour and tokens a second; None where unknown."""
    if usd_per_hour is None or not tokens:
        return None
    return usd_per_hour / SECONDS_PER_HOUR / tokens * 1e6


def usd_lost_to_waiting_per_hour(usd_per_hour: float | None, share: float) -> float | None:
    """Dollars an hour times the share of it that is exposed communication and bubble."""
    return None if usd_per_hour is None else usd_per_hour * share


def interval_stratum(cluster: Cluster, job: Job) -> str:
    """Whose residuals stand for a training answer: mixtures', or those of a GPU generation."""
    if job.transformer.experts:
        return "moe"
    return INTERVAL.generations.get(cluster.gpu.family_name, "other")


def residuals(cluster: Cluster, job: Job, *, crosses: bool) -> Mapping[str, float]:
    """p10 and p90 of ln(measured / predicted) for jobs of this kind on GPUs of this kind.

    A custom job's are wider where it `crosses` the fabric.
    """
    if job.trains:
        return INTERVAL.train[interval_stratum(cluster, job)]
    if job.kind == "decode":
        return INTERVAL.decode["mixture" if job.transformer.experts else "dense"]
    return INTERVAL.custom["across" if crosses else "inside"]

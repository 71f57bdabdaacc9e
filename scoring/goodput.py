"""Goodput: the share of rented time that makes progress, where GPUs fail and spot is taken back.

It stands beside the time of a step and is never folded into it. A job whose GPUs wait for one
another stops when any of them does: it returns to its last checkpoint. With interruptions at a
constant rate 1/M, a checkpoint that takes δ written every τ, and R to start again,

    goodput = τ / (M · e^(R/M) · (e^((τ+δ)/M) − 1)),    τ = √(2 δ M)

Replicas and tasks that do not wait for one another lose only their own time: M / (M + R).

References
----------
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps," Future
Generation Computer Systems, 22(3), 2006. doi:10.1016/j.future.2004.11.016
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from scoring.constants import GOODPUT, GOODPUT_SOURCES, Reliability
from scoring.fields import Fields
from scoring.units import SECONDS_PER_HOUR
from scoring.workload import Job

LIMITS = {
    "failures_per_gpu_hour": 1.0,
    "spot_interruptions_per_instance_hour": 10.0,
    "checkpoint_s": 86_400.0,
    "restart_s": 86_400.0,
}


@dataclass(frozen=True, slots=True)
class Goodput:
    """A share from 0 to 1, and what it rests on. Seconds; interruptions of what stops together."""

    share: float
    gpus_that_stop_together: float
    interruptions_per_hour: float
    checkpoint_every_s: float | None  # None where nothing is written
    spot: bool
    assumed: Reliability

    def as_json(self) -> dict[str, Any]:
        """Plain values, with the source of each assumption that was not given."""
        assumed = {name: getattr(self.assumed, name) for name in LIMITS}
        if not self.spot:
            del assumed["spot_interruptions_per_instance_hour"]
        standard = {name for name in assumed if getattr(GOODPUT, name) == assumed[name]}
        return {
            "share": self.share,
            "gpus_that_stop_together": self.gpus_that_stop_together,
            "interruptions_per_hour": self.interruptions_per_hour,
            "checkpoint_every_s": self.checkpoint_every_s,
            "assumed": assumed,
            "sources": {
                name: GOODPUT_SOURCES[name] if name in standard else "as asked" for name in assumed
            },
        }


def reliability(given: Mapping[str, object], *, typed: bool = False) -> Reliability:
    """The standard assumptions with some of them as given.

    Raises
    ------
    FieldError
        Naming the field: unknown, not a number, or out of range.
    """
    f = Fields(given, typed=typed)
    said = {name: f.number(name, 0, most) for name, most in LIMITS.items()}
    f.finish()
    return replace(GOODPUT, **{name: value for name, value in said.items() if value is not None})


def goodput(
    job: Job,
    gpus: float,
    gpus_per_instance: float,
    *,
    replica_gpus: float = 1.0,
    spot: bool = False,
    assumed: Reliability = GOODPUT,
) -> Goodput:
    """The share of the time of so many GPUs that makes progress.

    Parameters
    ----------
    gpus, gpus_per_instance
        Of the job, and of what is rented and taken back as one.
    replica_gpus
        GPUs of one copy of a served model; copies do not wait for one another.
    spot
        Whether the provider may take instances back.
    """
    together = gpus
    if job.kind == "decode":
        together = min(replica_gpus, gpus)
    elif job.kind == "custom" and not job.messages:
        together = 1.0
    rate = together * assumed.failures_per_gpu_hour
    if spot:
        instances = math.ceil(together / gpus_per_instance)
        rate += instances * assumed.spot_interruptions_per_instance_hour
    apart = together < gpus or job.kind == "decode"
    between_s = SECONDS_PER_HOUR / rate if rate else math.inf
    if apart or math.isinf(between_s):
        share, every = 1.0 / (1.0 + assumed.restart_s / between_s), None
    else:
        share, every = _checkpointed(between_s, assumed)
    return Goodput(share, together, rate, every, spot, assumed)


def _checkpointed(between_s: float, assumed: Reliability) -> tuple[float, float]:
    """Daly's share, and the interval of checkpoints. [1], [s]"""
    write = max(assumed.checkpoint_s, 1e-3)
    every = math.sqrt(2.0 * write * between_s)
    lost = (assumed.restart_s / between_s, (every + write) / between_s)
    if sum(lost) > 500:  # e^500: nothing is ever finished
        return 0.0, every
    return every / (between_s * math.exp(lost[0]) * math.expm1(lost[1])), every

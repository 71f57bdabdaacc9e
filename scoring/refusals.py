"""What no answer is given to, whichever door asks: reasons that need no physics."""

from scoring.fields import FieldError, Fields
from scoring.hardware import Cluster
from scoring.workload import Job

MAX_GPUS = 1_000_000


def refused(cluster: Cluster, job: Job, gpus: int) -> tuple[str, ...]:
    """Why the cluster cannot give the job so many GPUs at all; empty where it can.

    Raises
    ------
    FieldError
        For `gpus` that is no whole number from 1 to `MAX_GPUS`, or no whole nodes.
    """
    counted("gpus", gpus, MAX_GPUS)
    if gpus > cluster.gpu_count and gpus % cluster.gpu_count:
        raise FieldError("gpus", f"{gpus} is not whole nodes of {cluster.gpu_count} GPUs.")
    apart = unjoined(cluster, gpus)
    if apart:
        return (apart,)
    if job.precision == "fp64" and "fp64" not in cluster.gpu.flop_per_s:
        return (f"the fp64 rate of {cluster.gpu.slug} is not known",)
    return ()


def unjoined(cluster: Cluster, gpus: int) -> str | None:
    """Why so many GPUs cannot reach one another, or None where they can."""
    if cluster.fabric == "none" and gpus > cluster.near_gpus:
        nodes = -(-gpus // cluster.near_gpus)
        return f"{gpus} GPUs need {nodes} nodes, and no fabric joins them"
    if cluster.max_gpus is not None and gpus > cluster.max_gpus:
        return f"at most {cluster.max_gpus} GPUs can be had on one fabric"
    return None


def counted(field: str, given: object, most: int) -> int:
    """A whole number from 1 to `most`; a FieldError where it is anything else."""
    number = Fields({field: given}).whole(field, 1, most)
    if number is None:
        raise FieldError(field, "must be given.")
    return number

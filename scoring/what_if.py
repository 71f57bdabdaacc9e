"""What if: the same job on the same GPUs with another network, and what the better one is worth.

A scenario is a change of a cluster's fields. What it changes is held against the cluster as it is:
time, and the price of a GPU-hour at which both would cost the same for a unit of work,

    break-even = price · (time as it is / time then)

so for a better network the difference is the premium that it is worth, and for a worse one the
discount that it must come with.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.answers import DoesNotFit
from scoring.cluster_facts import DIRECT_FABRICS
from scoring.estimate import best
from scoring.fields import FieldError
from scoring.hardware import Cluster
from scoring.units import BITS_PER_BYTE, GIGA
from scoring.workload import Job

# What follows from a field: supposing another, it is no longer known but follows anew.
FOLLOWS = {
    "gpudirect_rdma": ("gpudirect",),
    "fabric_nics": ("fabric_gbits_per_s",),
    "fabric_gbits_per_s_per_nic": ("fabric_gbits_per_s",),
    "fabric_gbits_per_s": ("fabric_nics", "fabric_gbits_per_s_per_nic"),
    "scale_up": ("scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s", "scale_up_domain_gpus"),
    "scale_up_gbytes_per_s": ("scale_up_pair_gbytes_per_s",),
    "scale_up_domain_gpus": ("scale_up_domain_guaranteed_gpus",),
}
# Two halves of a job in two data centres some 1,000 km apart: light in fibre takes 10 ms there and
# back, and the link that is leased between them is this project's assumption.
SITE_ROUND_TRIP_MS, SITE_LINK_GBITS_PER_S = 10.0, 1_600.0
BIG_DOMAIN, BOX = 72, 8
Changes = dict[str, Any]


def supposing(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a cluster with some of them supposed to be others."""
    undone = {name for supposed in changes for name in FOLLOWS.get(supposed, ())}
    return dict(fields) | dict.fromkeys(undone) | dict(changes)


@dataclass(frozen=True, slots=True)
class Changed:
    """A scenario beside the cluster as it is. Seconds, ratios of then to now, dollars."""

    scenario: str
    changes: Mapping[str, Any]
    step_time_s: float | None  # None where the job would not fit
    time_ratio: float | None
    break_even_usd_per_gpu_hour: float | None
    premium_usd_per_gpu_hour: float | None

    def as_json(self) -> dict[str, Any]:
        """Plain values under these names."""
        return {name: getattr(self, name) for name in self.__slots__}


def scenarios(cluster: Cluster, gpus: int) -> dict[str, Changes]:
    """The changes that make sense of this cluster, by name."""
    found = {name: change(cluster, gpus) for name, change in SCENARIOS.items()}
    return {name: changes for name, changes in found.items() if changes}


def what_if(
    fields: Mapping[str, Any], job: Job, gpus: int, usd_per_gpu_hour: float | None = None
) -> list[Changed]:
    """Every scenario of a cluster, held against it as it is; empty where the job does not fit.

    Parameters
    ----------
    fields
        Of the cluster, as `Cluster.from_fields` takes them.
    gpus
        As `estimate` takes them.
    usd_per_gpu_hour
        What a GPU costs now; None leaves the money out.

    Raises
    ------
    FieldError
        As `Cluster.from_fields` and `estimate`.
    """
    cluster = Cluster.from_fields(fields)
    now = _seconds_of_work(cluster, job, gpus)
    if now is None:
        return []
    found = []
    for name, changes in scenarios(cluster, gpus).items():
        try:
            supposed = Cluster.from_fields(supposing(fields, changes))
        except FieldError:  # a domain that this node does not divide
            continue
        then = _seconds_of_work(supposed, job, gpus)
        found.append(changed(name, changes, now, then, usd_per_gpu_hour))
    return found


def changed(
    name: str,
    changes: Mapping[str, Any],
    now_s: float,
    then_s: float | None,
    usd_per_gpu_hour: float | None,
) -> Changed:
    """A scenario, from the seconds that a unit of work takes now and then."""
    if then_s is None:
        return Changed(name, changes, None, None, None, None)
    even = None if usd_per_gpu_hour is None else usd_per_gpu_hour * now_s / then_s
    premium = None if usd_per_gpu_hour is None or even is None else even - usd_per_gpu_hour
    return Changed(name, changes, then_s, then_s / now_s, even, premium)


def _seconds_of_work(cluster: Cluster, job: Job, gpus: int) -> float | None:
    """Seconds of a step, or of a token that is served."""
    found = best(cluster, job, gpus)
    if isinstance(found, DoesNotFit):
        return None
    if job.kind == "decode" and found.tokens_per_s:
        return 1.0 / found.tokens_per_s
    return found.step_time_s


# ------------------------------------------------------------------ the scenarios


def _without_rdma(cluster: Cluster) -> Changes:
    direct = cluster.fabric in DIRECT_FABRICS and cluster.gpudirect
    return {"gpudirect": "no", "gpudirect_rdma": "no"} if direct else {}


def _sockets(cluster: Cluster) -> Changes:
    if cluster.fabric == "ethernet":
        return {}
    return {"fabric": "ethernet", "gpudirect": "no", "gpudirect_rdma": "no"}


def _fabric_times(factor: float) -> Callable[[Cluster], Changes]:
    def changes(cluster: Cluster) -> Changes:
        node = cluster.nic_bytes_per_s * cluster.gpu_count * BITS_PER_BYTE / GIGA
        return {"fabric_gbits_per_s": factor * node}

    return changes


def _infiniband(cluster: Cluster) -> Changes:
    if cluster.fabric == "infiniband":
        return {}
    return {"fabric": "infiniband", "gpudirect": "yes", "gpudirect_rdma": "yes"}


def _big_domain(cluster: Cluster) -> Changes:
    switched = cluster.scale_up == "nvswitch" and cluster.domain_gpus < BIG_DOMAIN
    return {"scale_up_domain_gpus": BIG_DOMAIN} if switched else {}


def _box(cluster: Cluster) -> Changes:
    split = cluster.domain_gpus > BOX >= cluster.gpu_count
    return {"scale_up_domain_gpus": BOX} if split else {}


def _across_the_fabric(change: Callable[[Cluster], Changes]) -> Callable[[Cluster, int], Changes]:
    """The change, where the job leaves domain and node at all, over a fabric that there is."""

    def changes(cluster: Cluster, gpus: int) -> Changes:
        crosses = gpus > cluster.near_gpus and cluster.fabric != "none"
        return change(cluster) if crosses else {}

    return changes


def _second_site(cluster: Cluster, gpus: int) -> Changes:
    half = gpus // 2 // cluster.near_gpus * cluster.near_gpus
    if not half or cluster.site_gpus is not None:
        return {}
    return {
        "site_gpus": half,
        "site_link_gbits_per_s": SITE_LINK_GBITS_PER_S,
        "site_round_trip_ms": SITE_ROUND_TRIP_MS,
    }


SCENARIOS: Mapping[str, Callable[[Cluster, int], Changes]] = {
    "rdma_off": _across_the_fabric(_without_rdma),
    "sockets": _across_the_fabric(_sockets),
    "oversubscribed_2_to_1": _across_the_fabric(
        lambda cluster: {"oversubscription": 2 * cluster.oversubscription}
    ),
    "half_the_nics": _across_the_fabric(_fabric_times(0.5)),
    "twice_the_fabric": _across_the_fabric(_fabric_times(2.0)),
    "roce": _across_the_fabric(
        lambda cluster: {"fabric": "roce"} if cluster.fabric == "infiniband" else {}
    ),
    "infiniband": _across_the_fabric(_infiniband),
    "domain_72": lambda cluster, gpus: _big_domain(cluster) if gpus > cluster.domain_gpus else {},
    "domain_8": lambda cluster, gpus: _box(cluster) if gpus > BOX else {},
    "second_site": _second_site,
}

"""InfiniBand or Ethernet: the same GPUs on each network, at several counts, and what the better is
worth.

The rates of the links are the same; what differs is what the model knows of each: the share of line
rate that its transport reaches, the latency of a step, and what large networks lose where flows
meet. Break-even is the price of a GPU-hour at which both cost the same for a unit of work:

    price on Ethernet · (time on Ethernet / time on InfiniBand)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from scoring.accuracy import measured_errors
from scoring.answers import DoesNotFit, Estimate
from scoring.estimate import best
from scoring.hardware import Cluster
from scoring.what_if import supposing
from scoring.workload import Job

NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "infiniband": {"fabric": "infiniband", "gpudirect": "yes", "gpudirect_rdma": "yes"},
    # Ethernet with RDMA whose switches spread flows over all paths, as Spectrum-X does.
    "roce_adaptive": {"fabric": "roce", "gpudirect": "yes", "gpudirect_rdma": "yes",
                      "adaptive_routing": "yes"},
    # The same with paths chosen by a hash (ECMP): large flows meet.
    "roce": {"fabric": "roce", "gpudirect": "yes", "gpudirect_rdma": "yes",
             "adaptive_routing": "no", "rail_optimised": "no"},
    "ethernet": {"fabric": "ethernet", "gpudirect": "no", "gpudirect_rdma": "no"},
}  # fmt: skip
FIRST = "infiniband"
NEAR, TRIED = 0.1, 8  # counts so near the wanted one are as good; so many of them are tried


@dataclass(frozen=True, slots=True)
class Choice:
    """One network at one count.

    It is decided against InfiniBand where they differ by more than the model errs on collectives
    of a source that it never saw, on the share of the time that is spent waiting for them.
    """

    network: str
    gpus: int
    wanted: int  # GPUs asked for
    estimate: Estimate | DoesNotFit
    time_ratio: float | None  # of a unit of work, over that on InfiniBand; None: it does not fit

    def as_json(self, usd_per_gpu_hour: float | None = None) -> dict[str, Any]:
        """Plain values; dollars where the GPU-hour's price on this network is given."""
        found, ratio = self.estimate, self.time_ratio
        said: dict[str, Any] = {"network": self.network, "gpus": self.gpus, "fits": found.fits}
        said["gpus_wanted"] = self.wanted
        if isinstance(found, DoesNotFit):
            return said | {"reasons": list(found.reasons)}
        premium = None if ratio is None else ratio - 1
        blur = float(measured_errors()["collective_across"]["unseen_source_median"])
        decided = premium is not None and abs(premium) > blur * found.exposed_share
        usd = None if premium is None or usd_per_gpu_hour is None else premium * usd_per_gpu_hour
        return said | {
            "step_time_s": found.step_time_s,
            "low_s": found.low_s,
            "high_s": found.high_s,
            "tokens_per_s_per_gpu": found.tokens_per_s_per_gpu,
            "exposed_share": found.exposed_share,
            "fabric_efficiency": found.fabric_efficiency,
            "layout": found.layout.as_json(),
            "time_ratio": ratio,
            "decided": decided or self.network == FIRST,
            "infiniband_is_worth_share": premium,
            "infiniband_is_worth_usd_per_gpu_hour": usd,
        }


def choices(fields: Mapping[str, Any], job: Job, wanted: Iterable[int]) -> list[Choice]:
    """Each network at each count, InfiniBand first.

    Parameters
    ----------
    fields
        Of the cluster, as `Cluster.from_fields` takes them; its own fabric and its limit of GPUs
        are set aside.
    wanted
        GPUs, in whole nodes; where the job does not run on so many, the count within 10 % on which
        it runs best.

    Raises
    ------
    FieldError
        As `Cluster.from_fields` and `estimate`.
    """
    free = dict(fields) | {"max_gpus_on_one_fabric": None, "sharp": None}
    clusters = {
        name: Cluster.from_fields(supposing(free, changes)) for name, changes in NETWORKS.items()
    }
    found = []
    for count in wanted:
        gpus = workable(clusters[FIRST], job, count)
        answers = {name: best(cluster, job, gpus) for name, cluster in clusters.items()}
        first = _seconds(answers[FIRST], job)
        for name, answer in answers.items():
            then = _seconds(answer, job)
            ratio = then / first if then and first else None
            found.append(Choice(name, gpus, count, answer, ratio))
    return found


def workable(cluster: Cluster, job: Job, wanted: int) -> int:
    """So many GPUs, where the job runs on them, or about as many: of the counts of whole nodes that
    divide best the fastest per GPU.

    1,000 nodes of 8 split into fewer layouts than 1,024 do, and nobody needs exactly so many.
    """
    node = cluster.gpu_count
    if wanted % node == 0 and best(cluster, job, wanted).fits:
        return wanted
    low, high = int(wanted * (1 - NEAR)), int(wanted * (1 + NEAR))
    near = range(max(-(-low // node), 1) * node, high + 1, node) or (max(wanted // node, 1) * node,)
    smooth = sorted(near, key=lambda n: (-_twos(n), abs(n - wanted)))[:TRIED]
    timed = {n: _seconds(best(cluster, job, n), job) for n in smooth}
    fitting = {n: n * seconds for n, seconds in timed.items() if seconds}
    return min(fitting, key=lambda n: fitting[n]) if fitting else smooth[0]


def _twos(count: int) -> int:
    """How often it can be halved."""
    return (count & -count).bit_length()


def _seconds(answer: Estimate | DoesNotFit, job: Job) -> float | None:
    """Of a unit of work: a step, or a token that is served."""
    if isinstance(answer, DoesNotFit):
        return None
    if job.kind == "decode" and answer.tokens_per_s:
        return 1.0 / answer.tokens_per_s
    return answer.step_time_s

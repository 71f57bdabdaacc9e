"""Measured rows of collectives as questions to the model: which one, how large, how timed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from scoring.algorithms import expert_exchange
from scoring.collectives import (
    ALGORITHMS,
    KINDS,
    bus_bytes_per_s,
    bus_factor,
    collective_time,
    group,
)
from scoring.constants import NETWORK
from scoring.curves import correction
from scoring.hardware import Cluster
from scoring.machines import CannotPredict, Prediction, leading, machine, number, pairs_of
from scoring.units import BITS_PER_BYTE, GIGA, MEGA, MICRO, MILLI, MOST_BYTES

# "all-reduce", "AllReduce" and "allreduce" are all_reduce: letters alone tell.
NAMES = {kind.replace("_", ""): kind for kind in KINDS}
EXPERTS = "ep_all_to_all dispatch+combine"
SIZES = ("bytes", "size", "message_bytes", "message_size")  # of `extra`
SECONDS = {"s": 1.0, "ms": MILLI, "us": MICRO, "µs": MICRO}
FORCED_RING = r"\(ring\)|NVLS_ENABLE=0|algo=ring\b"
COPIES = ("host_to_device", "device_to_host", "p2p copy unidirectional")


@dataclass(frozen=True, slots=True)
class Metric:
    """What a row reports of a collective, and how many seconds or B/s one of it is."""

    reports: str  # time, bus bandwidth or algorithm bandwidth: time, bus, algorithm
    unit: float

    def value(self, kind: str, size: float, ranks: float, took_s: float) -> float:
        """The metric of a collective that took some time."""
        if self.reports == "time":
            return took_s / self.unit
        whole = bus_bytes_per_s(kind, size, ranks, took_s)
        return (whole if self.reports == "bus" else size / took_s) / self.unit

    def seconds(self, kind: str, size: float, ranks: float, value: float) -> float:
        """The time behind a value of the metric. [s]"""
        if self.reports == "time":
            return value * self.unit
        factor = float(bus_factor(kind, ranks)) if self.reports == "bus" else 1.0
        return factor * size / (value * self.unit)


def metric_of(name: str) -> Metric:
    """The metric of a name: "busbw_GB/s", "bus bandwidth GBps", "algbw Gb/s", "time_ms".

    Raises
    ------
    CannotPredict
        Where it is none of a collective's.
    """
    time = re.fullmatch(r"(?:avg_|mean_)?(?:time|latency)[ _(]*(s|ms|us|µs)\W*", name.lower())
    if time:
        return Metric("time", SECONDS[time[1]])
    rate = re.search(r"(bus|alg).*?[ _(](G|g|M|m)(b|B|bit)(?:/s|ps)", name)
    if not rate:
        raise CannotPredict(f"metric {name} is not modelled")
    # "Gb/s" is bits; "gb/s" is a careless GB/s.
    bits = rate[3] == "bit" or (rate[3] == "b" and rate[2].isupper())
    unit = (GIGA if rate[2] in "Gg" else MEGA) / (BITS_PER_BYTE if bits else 1.0)
    return Metric("bus" if rate[1] == "bus" else "algorithm", unit)


@dataclass(frozen=True, slots=True)
class Question:
    """One measured collective: what was asked, and how its time was taken."""

    kind: str
    size: float  # as nccl-tests counts it [B]
    ranks: float
    algorithm: str | None  # set by the tester; None where the library chose
    timed: str  # device, launched (each call waits for the host), called (host and device in turn)

    def seconds(self, cluster: Cluster) -> float:
        """The model's time of it. [s]"""
        g = group(cluster, self.ranks, alone=True)
        if self.algorithm:
            time = float(ALGORITHMS[self.kind][self.algorithm](cluster, self.size, g))
        else:
            time = float(collective_time(cluster, self.kind, self.size, g))
        launch = host_launch_s(cluster)
        return {"device": time, "launched": max(time, launch), "called": time + launch}[self.timed]

    def rests_on_curve(self, cluster: Cluster) -> bool:
        """True where a measured curve drew the prediction."""
        g = group(cluster, self.ranks, alone=True)
        drawn = float(correction(cluster, self.kind, self.size, g)) != 1.0
        return drawn and self.algorithm is None


def host_launch_s(cluster: Cluster) -> float:
    """What the host takes to launch one operation: older hosts and Grace take twice as long. [s]"""
    slow = cluster.gpu.pcie_generation < 5 or cluster.gpu.is_superchip
    return (NETWORK.slow_host_launch_us if slow else NETWORK.host_launch_us) * MICRO


def predict_collective(row: Mapping[str, str]) -> Prediction:
    """The model's value for a row of collectives, in the row's own metric.

    Raises
    ------
    CannotPredict
        With the reason.
    """
    name, metric = row.get("model_name", "").split(" (")[0], row["metric_name"]
    if name in COPIES and metric == "GB/s":
        return _copy(row, name)
    cluster = _machine(row)
    if name == EXPERTS:
        return _experts(row, cluster)
    asked = question(row)
    took = asked.seconds(cluster)
    report = metric_of(metric)
    return Prediction(
        report.value(asked.kind, asked.size, asked.ranks, took),
        is_rate=report.reports != "time",
        assumed=False,
        kind=f"nccl {asked.kind}",
        curve=asked.rests_on_curve(cluster),
        across=asked.ranks > cluster.near_gpus,
    )


def question(row: Mapping[str, str]) -> Question:
    """What a row asks of a collective.

    Raises
    ------
    CannotPredict
        Where it names no collective of ours, or no size.
    """
    full, extra = row.get("model_name", ""), row.get("extra", "")
    letters = re.sub(r"[^a-z]", "", full.split(" (")[0].lower())
    kind = NAMES.get(letters.removeprefix("nccl").removeprefix("rccl").removesuffix("perf"))
    if kind is None:
        raise CannotPredict(f"{full} in {row['metric_name']} is not modelled")
    said = re.search(r"([0-9.]+) GB message", extra)
    pairs = pairs_of(row)
    stated = next((pairs[key] for key in SIZES if key in pairs), None)
    size = float(said[1]) * GIGA if said else leading(stated)
    count = int(number(row, "num_gpus") or 0)
    if size is None or not count:
        raise CannotPredict("message size or GPU count not stated")
    if count == 1:
        raise CannotPredict("a collective of one GPU")
    if not 1.0 <= size <= MOST_BYTES:
        raise CannotPredict(f"a message of less than one byte or more than {MOST_BYTES:g}")
    ring = re.search(FORCED_RING, f"{full} {extra}", re.IGNORECASE)
    framework = row.get("framework", "")
    timed = "launched" if "eager" in framework else "device"
    if "all_reduce_bench" in framework:
        timed = "called"
    return Question(kind, size, float(count), "ring" if ring else None, timed)


def measured_seconds(row: Mapping[str, str], asked: Question) -> float:
    """The time that a row reports. [s]"""
    value = number(row, "metric_value") or 0.0
    return metric_of(row["metric_name"]).seconds(asked.kind, asked.size, asked.ranks, value)


def _machine(row: Mapping[str, str]) -> Cluster:
    count = int(number(row, "num_gpus") or 0)
    cluster = machine(row)
    link = row.get("inter_link", "")
    unsaid = "not stated" in link or not (link or number(row, "inter_gbps_per_gpu"))
    if count > cluster.near_gpus and unsaid:
        raise CannotPredict("fabric between nodes not stated")
    bounced = re.search(r"no GDR|without GDR", row.get("extra", ""))
    return replace(cluster, gpudirect=False) if bounced else cluster


def _copy(row: Mapping[str, str], name: str) -> Prediction:
    """A copy between a GPU and its host, or between two GPUs of one domain."""
    cluster = machine(row)
    peers = cluster.pair_bytes_per_s * NETWORK.send_recv_efficiency
    rate = peers if name.startswith("p2p") else cluster.pcie_bytes_per_s
    if not rate:
        raise CannotPredict("no direct link between the two GPUs")
    return Prediction(rate / GIGA, is_rate=True, assumed=False, kind=f"nccl {name}")


def _experts(row: Mapping[str, str], cluster: Cluster) -> Prediction:
    """Dispatch and combine of a mixture's tokens."""
    tokens = leading(pairs_of(row).get("tokens_per_rank"))
    hidden, topk = number(row, "hidden"), number(row, "topk")
    if not (tokens and hidden and topk) or row["metric_name"] != "latency_us":
        raise CannotPredict("tokens, hidden size or experts of a token not stated")
    g = group(cluster, float(int(number(row, "num_gpus") or 0)), alone=True)
    took = float(expert_exchange(cluster, tokens, hidden, topk, g))
    return Prediction(took / MICRO, is_rate=False, assumed=False, kind="nccl expert_exchange")

"""Offers as clusters, and the time of a job on each, kept by the facts that it rests on.

Time depends on hardware alone, so clusters of equal hardware are computed once and kept in the
table `Estimate` under a digest of the model's version, the job, the facts and the count.
"""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Any

from django.utils import timezone

import scoring
from catalog import offers
from catalog.models import Estimate
from catalog.questions import MOST_GPUS, PHYSICS, Asked
from catalog.sizes import Sizes, sizes
from scoring.estimate import layouts_considered
from scoring.gpus import gpus as modelled_gpus

OF_THE_FABRIC = frozenset((
    "fabric", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s", "gpudirect",
    "gpudirect_rdma", "sharp", "oversubscription",
))  # fmt: skip
# What one request may cost, in searches: one for each kind of cluster, about 3 ms of a quiet core,
# and one more for so many layouts; a count that is looked for takes as many searches more.
MOST_WORK = 1200
LAYOUTS_OF_A_SEARCH = 18_000
SEARCHES_FOR_A_COUNT = 2
TYPICAL_NODES = 64  # of a count that is not known yet


class TooMuch(Exception):
    """An estimate that would cost more than is allowed; the message names the cap."""


class TooMany(TooMuch):
    """As much is kept as may be: of what stands, not of what is asked."""


class Unfinished(Exception):
    """The time that an answer may take is over; what was computed is kept for the next asking."""

    def __init__(self, done: int, of: int) -> None:
        super().__init__(f"{done} of {of} clusters")
        self.done, self.of = done, of


class Unfit(Exception):
    """Why an offer cannot be estimated, in words."""


@dataclass(frozen=True, slots=True)
class Machine:
    """An offer, the facts that decide its time, and the cluster that they describe."""

    offer: dict[str, Any]
    fields: Mapping[str, Any]
    cluster: scoring.Cluster

    @property
    def spot(self) -> bool:
        """Whether the provider may take it back."""
        return bool(self.offer["price_model"] == "spot")

    @property
    def most_gpus(self) -> int:
        """That can be had together, as far as is known."""
        alone = self.offer["multi_node"] == "no" or self.cluster.fabric == "none"
        most = self.cluster.near_gpus if alone else MOST_GPUS
        return min(most, self.cluster.max_gpus or most, self.sold.most or most)

    @property
    def sold(self) -> Sizes:
        """The sizes of a cluster for which its price holds."""
        return sizes(self.offer["tier"], self.cluster.gpu_count)

    @property
    def disputed(self) -> dict[str, list[Any]]:
        """Facts of which equal sources differ: what the others say; the lower one is in use."""
        others = {}
        for name in set(self.offer["disputed"]) & set(self.fields):
            said = self.offer["evidence"].get(name) or {}
            peers = [c for c in said.get("claims", ()) if c["basis"] == said["basis"]]
            values = {c["value"] for c in peers if not c["scope"]} - {None, self.fields[name]}
            if values and self.fields[name] == self.offer[name]:
                others[name] = sorted(values, key=str)
        return others

    @property
    def open_facts(self) -> dict[str, tuple[Any, ...]]:
        """Facts that are disputed, or unknown and move an estimate: the values each may have."""
        unknown = scoring.unknown_facts(self.fields)
        disputed = {n: (self.fields[n], *others) for n, others in self.disputed.items()}
        return disputed | dict(unknown)

    def supposing(self, what_if: Mapping[str, Any]) -> "Machine":
        """The same offer with some of its facts known to be others.

        Raises
        ------
        scoring.FieldError
            Where they contradict the rest.
        """
        fields = scoring.supposing(self.fields, what_if)
        return Machine(self.offer, fields, _cluster(tuple(fields.items())))

    def on(self, gpus: int, job: scoring.Job) -> "Candidate":
        """So many of its GPUs, in whole nodes.

        Raises
        ------
        Unfit
            Where so many cannot be had.
        """
        if gpus > MOST_GPUS or (gpus := scoring.whole_nodes(self.cluster, gpus)) > MOST_GPUS:
            raise Unfit(f"more than {MOST_GPUS} GPUs")
        if gpus > self.cluster.near_gpus and self.offer["multi_node"] == "no":
            raise Unfit("several of it cannot be had on one fabric")
        if gpus < self.sold.least:
            raise Unfit(f"its price is for {self.sold.least} GPUs at least")
        if self.sold.most and gpus > self.sold.most:
            raise Unfit(f"its price is for {self.sold.most} GPUs at most")
        return Candidate(self, gpus, _digest(self._deciding(gpus), gpus, job))

    def _deciding(self, gpus: int) -> Mapping[str, Any]:
        """The facts that the time on so many GPUs rests on: the fabric only where they need it."""
        if gpus > self.cluster.surely_near_gpus:
            return self.fields
        return {name: fact for name, fact in self.fields.items() if name not in OF_THE_FABRIC}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A machine, so many of its GPUs, and the digest of what the time on them rests on."""

    machine: Machine
    gpus: int
    digest: str

    @property
    def offer(self) -> dict[str, Any]:
        """What is rented."""
        return self.machine.offer

    @property
    def cluster(self) -> scoring.Cluster:
        """What it is built like."""
        return self.machine.cluster

    @property
    def nodes(self) -> int:
        """Instances that are rented."""
        return -(-self.gpus // self.cluster.gpu_count)


def gpu_of(one: Machine | Candidate) -> tuple[float, str]:
    """By this those that share layouts come one after another: few tables of them are kept."""
    return one.cluster.gpu.memory_bytes, one.cluster.gpu.slug


def machines(asked: Asked) -> tuple[list[Machine], list[dict[str, Any]]]:
    """The offers that can be estimated, and those that cannot with the reason."""
    found, without = [], []
    for offer in offers.cheapest(asked.query):
        try:
            found.append(_supposed(machine(offer), asked))
        except Unfit as reason:
            without.append(left_out(offer, str(reason)))
        except scoring.FieldError as problem:
            without.append(left_out(offer, f"its facts contradict each other: {problem}"))
    return found, without


def machine(offer: dict[str, Any]) -> Machine:
    """An offer as a cluster.

    Raises
    ------
    Unfit
        Where the model knows too little of it.
    scoring.FieldError
        Where its facts contradict each other.
    """
    if offer["gpu"] is None:
        among = ", ".join(offer["gpu_candidates"])
        raise Unfit("nobody says which GPU it has" + (f": one of {among}" if among else ""))
    if offer["gpu"] not in modelled_gpus():
        raise Unfit(f"the cost model has no figures of {offer['gpu']}")
    if offer["gpu_count"] is None:
        raise Unfit("nobody says how many GPUs it has")
    fields = {name: offer[name] for name in PHYSICS}
    return Machine(offer, fields, _cluster(tuple(fields.items())))


@lru_cache(maxsize=4096)
def _cluster(fields: tuple[tuple[str, Any], ...]) -> scoring.Cluster:
    """Offers of one type differ in price and place: their hardware is read once."""
    return scoring.Cluster.from_fields(dict(fields))


def otherwise(candidate: Candidate, job: scoring.Job) -> list[Candidate]:
    """The candidate as each disputed fact would have it, one at a time."""
    found = []
    for name, values in candidate.machine.disputed.items():
        for value in values:
            with suppress(scoring.FieldError, Unfit):
                found.append(candidate.machine.supposing({name: value}).on(candidate.gpus, job))
    return found


def widened(estimate: dict[str, Any], others: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """An estimate whose interval reaches over what it would be, were disputed facts otherwise."""
    reach = [each["interval"] for each in (estimate, *others) if each["fits"]]
    if not reach or not estimate["fits"]:
        return estimate
    low, high = min(each["low"] for each in reach), max(each["high"] for each in reach)
    if (low, high) == (reach[0]["low"], reach[0]["high"]):
        return estimate
    return estimate | {
        "interval": estimate["interval"] | {"low": low, "high": high},
        "warnings": [*estimate["warnings"], "a fact is disputed: the interval spans both claims"],
    }


def _supposed(as_sold: Machine, asked: Asked) -> Machine:
    """With the facts that the question supposes; as sold where its scenario makes no sense."""
    what_if = asked.what_if
    if not isinstance(what_if, str):
        return as_sold.supposing(what_if) if what_if else as_sold
    gpus = asked.gpus or (asked.nodes or 1) * as_sold.cluster.gpu_count
    with suppress(scoring.FieldError):  # a domain that this node does not divide, or too many
        changes = scoring.scenarios(as_sold.cluster, gpus).get(what_if)
        return as_sold.supposing(changes) if changes else as_sold
    return as_sold


def left_out(offer: dict[str, Any], reason: str) -> dict[str, Any]:
    """An offer that is not ranked, and why."""
    return {"offer": offer, "reason": reason}


def _digest(fields: Mapping[str, Any], gpus: int, job: scoring.Job) -> str:
    """What the time rests on: the model, the job, the facts, and how many GPUs."""
    return _digest_of(job, gpus, tuple(sorted(fields.items())))


@lru_cache(maxsize=65_536)
def _digest_of(job: scoring.Job, gpus: int, fields: tuple[tuple[str, Any], ...]) -> str:
    text = repr((scoring.MODEL_VERSION, job, gpus, list(fields)))
    return hashlib.sha256(text.encode()).hexdigest()


def estimates(asked: Asked, candidates: Iterable[Candidate]) -> dict[str, dict[str, Any]]:
    """The estimate of each digest: from the table, or computed now and kept there.

    Raises
    ------
    TooMuch
        Over the cap of one request.
    Unfinished
        Where the question has a moment to be answered by, and it is past.
    """
    wanted = {candidate.digest: candidate for candidate in candidates}
    known = dict(Estimate.objects.filter(digest__in=wanted).values_list("digest", "result"))
    missing = [candidate for digest, candidate in wanted.items() if digest not in known]
    _refuse(asked.job, [candidate.gpus for candidate in missing])
    fresh = []
    for candidate in sorted(missing, key=gpu_of):
        fresh.append(_computed(candidate, asked))
        if asked.until is not None and time.monotonic() > asked.until:
            break
    Estimate.objects.bulk_create(fresh, ignore_conflicts=True)
    if len(fresh) < len(missing):
        raise Unfinished(len(known) + len(fresh), len(wanted))
    return known | {estimate.digest: estimate.result for estimate in fresh}


def timed(asked: Asked, found: Sequence[Candidate]) -> Iterator[tuple[Candidate, dict[str, Any]]]:
    """Each candidate with its estimate, whose interval spans what is disputed."""
    others = {each.digest: otherwise(each, asked.job) for each in found if each.offer["disputed"]}
    times = estimates(asked, [*found, *(other for each in others.values() for other in each)])
    for candidate in found:
        disputed = [times[other.digest] for other in others.get(candidate.digest, ())]
        yield candidate, widened(times[candidate.digest], disputed)


def refuse_too_much(asked: Asked, found: Sequence[Machine]) -> None:
    """Refuse to look for the counts of so many kinds of cluster, before any is looked for.

    Raises
    ------
    TooMuch
        Over the cap of one request.
    """
    if asked.counts:
        kinds = {(m.cluster.bare(), m.most_gpus): m for m in found}.values()
        sizes = [min(m.most_gpus, TYPICAL_NODES * ceil(m.cluster.gpu_count)) for m in kinds]
        _refuse(asked.job, [max(1, size) for size in sizes], searches=1 + SEARCHES_FOR_A_COUNT)


def _refuse(job: scoring.Job, counts: Sequence[int], searches: int = 1) -> None:
    layouts = sum(layouts_considered(job, gpus) for gpus in counts)
    work = searches * (len(counts) + layouts // LAYOUTS_OF_A_SEARCH)
    if work > MOST_WORK:
        raise TooMuch(
            f"this asks for {work:,} searches ({len(counts):,} kinds of cluster, {layouts:,} "
            f"layouts), and {MOST_WORK:,} are the most of one request: narrow the filter to fewer "
            "providers or GPUs, or fix more of the job."
        )


def _computed(candidate: Candidate, asked: Asked) -> Estimate:
    try:
        result = scoring.best(candidate.cluster, asked.job, candidate.gpus).to_json()
    except scoring.FieldError as problem:  # a figure that the model lacks, of this GPU alone
        result = {"fits": False, "reasons": [str(problem)]}
    return Estimate(
        digest=candidate.digest,
        workload_id=asked.workload if isinstance(asked.workload, str) else None,
        gpus=candidate.gpus,
        model_version=scoring.MODEL_VERSION,
        result=result,
        computed_at=timezone.now(),
    )

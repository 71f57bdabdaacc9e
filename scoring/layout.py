"""How a job is split over GPUs: every tp × pp × cp × ep × dp that divides, with its schedule.

A `Layout` holds one split, or columns of them: the search builds one row per candidate and the
equations of `memory` and `training` broadcast over the rows. Recompute is the innermost index, so
that the least recompute which fits is found by looking at neighbours.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.fields import FieldError, Fields
from scoring.transformers import Transformer
from scoring.units import Value, same, where
from scoring.workload import Job

RECOMPUTE = ("none", "selective", "full")
MAX_TP = 64  # beyond any scale-up domain that a tensor-parallel group has been seen on
MAX_CP = 64
MAX_EP = 256
MIN_TOKENS_PER_CP_RANK = 2048  # shorter pieces leave nothing to hide a ring step behind
MAX_VIRTUAL_STAGES = 12
MAX_MICRO_BATCH_TOKENS = 65_536
LAYOUT_FIELDS = ("tp", "pp", "dp", "cp", "ep", "micro_batch", "virtual_stages", "zero_stage")
COLUMNS = (*LAYOUT_FIELDS, "recompute")
KINDS = ("inside", "between", "along")


@dataclass(frozen=True, slots=True)
class Layout:
    """One split, or a column of splits. tp · pp · cp · dp GPUs; ep lies within tp · cp · dp.

    recompute: 0 none, 1 selective (the attention core), 2 full. zero_group: ranks that share
    sharded states; 0 = the whole data-parallel group. Experts are cut by ep, or by tp at ep = 1.
    """

    tp: Value = 1.0
    pp: Value = 1.0
    dp: Value = 1.0
    cp: Value = 1.0
    ep: Value = 1.0
    micro_batch: Value = 1.0
    virtual_stages: Value = 1.0
    zero_stage: Value = 0.0
    recompute: Value = 0.0
    zero_group: float = 0.0
    # Of the candidates of a search: which rows are alike inside a layer (tp, cp, ep, micro_batch,
    # recompute), in what replicas exchange (the split and zero_stage), and in what stages pass
    # on (the split but for ep, and micro_batch).
    inside: "Kinds | None" = None
    between: "Kinds | None" = None
    along: "Kinds | None" = None

    @property
    def gpus(self) -> Value:
        """GPUs that it takes."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def shard_ranks(self) -> Value:
        """Ranks that hold copies of the same non-expert weights: dp · cp."""
        return self.dp * self.cp

    @property
    def expert_shard_ranks(self) -> Value:
        """Ranks that hold copies of the same routed experts."""
        return self.tp * self.cp * self.dp / where(self.ep > 1, self.ep, self.tp)

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Layout":
        """The chosen rows of a layout of columns."""
        columns: dict[str, Any] = {n: np.asarray(getattr(self, n))[chosen] for n in COLUMNS}
        for name in KINDS:
            kinds: Kinds | None = getattr(self, name)
            columns[name] = None if kinds is None else kinds.rows(chosen)
        return replace(self, **columns)

    def one_of_each(self, kinds: "Kinds | None") -> tuple["Layout", Callable[[Value], Value]]:
        """A row of each kind, and what spreads values of these over all rows again."""
        return (self, same) if kinds is None else (kinds.few, kinds.over)

    def row(self, index: int) -> "Layout":
        """One row of a layout of columns, as plain numbers."""
        numbers: dict[str, Any] = {n: float(np.asarray(getattr(self, n))[index]) for n in COLUMNS}
        return replace(self, **numbers, inside=None, between=None, along=None)

    def __len__(self) -> int:
        """Rows of a layout of columns; 1 for a single layout."""
        return np.size(self.tp)

    def as_json(self) -> dict[str, int | str]:
        """The split under its public names; recompute as a word."""
        numbers: dict[str, int | str] = {n: int(getattr(self, n)) for n in LAYOUT_FIELDS}
        return {**numbers, "recompute": RECOMPUTE[int(self.recompute)]}

    @classmethod
    def parse(cls, text: str, job: Job, gpus: int) -> "Layout":
        """A layout from `tp=8,pp=2,dp=4,...`; dp is what is left where it is not given.

        Raises
        ------
        FieldError
            Naming what is unknown, not a number, or does not divide.
        """
        pairs = [part.partition("=") for part in text.split(",") if part.strip()]
        given: dict[str, object] = {}
        for key, _, value in pairs:
            if key.strip() in given:
                raise FieldError(f"layout.{key.strip()}"[:80], "is given twice.")
            given[key.strip()] = value.strip()
        return cls.from_fields(given, job, gpus)

    @classmethod
    def from_fields(cls, given: Mapping[str, object], job: Job, gpus: int) -> "Layout":
        """A layout from its public names, checked against the job and the GPU count."""
        f = Fields(given, where="layout")
        value = {
            name: f.whole(
                name, 0 if name == "zero_stage" else 1, 3 if name == "zero_stage" else 10**7
            )
            for name in LAYOUT_FIELDS
        }
        word = f.text("recompute", RECOMPUTE)
        f.finish()
        inner = (value["tp"] or 1) * (value["pp"] or 1) * (value["cp"] or 1)
        dp = value["dp"] or max(gpus // inner, 1)
        if job.kind == "custom":
            raise FieldError("layout", "has no meaning for a custom job.")
        if inner * dp != gpus:
            raise FieldError("layout", f"tp · pp · cp · dp is {inner * dp}, not {gpus} GPUs.")
        groups = dp * (value["pp"] or 1)
        in_flight = -(-(job.global_batch or 1) // groups) if job.kind == "decode" else 1
        micro = value["micro_batch"] or job.micro_batch or in_flight
        zero = value["zero_stage"]
        layout = cls(
            tp=float(value["tp"] or 1),
            pp=float(value["pp"] or 1),
            dp=float(dp),
            cp=float(value["cp"] or 1),
            ep=float(value["ep"] or 1),
            micro_batch=float(micro),
            virtual_stages=float(value["virtual_stages"] or 1),
            zero_stage=float((1 if dp > 1 else 0) if zero is None else zero),
            recompute=float(RECOMPUTE.index(word or job.recompute or "none")),
        )
        why = objection(layout, job)
        if why:
            raise FieldError("layout", why)
        return layout


@dataclass(frozen=True, slots=True)
class Kinds:
    """Rows of a layout that agree in a few columns, so that what hangs on these is costed once.

    What depends on a few columns takes few values: 10,000 candidates share some 200 layers.
    """

    few: Layout  # a row of each kind
    place: NDArray[np.intp]  # of each row, its kind's among the few

    @classmethod
    def of(cls, rows: Layout, numbers: NDArray[np.intp]) -> "Kinds":
        """The kinds of rows that have equal numbers."""
        first, place = _first_of_each(numbers)
        return cls(rows.rows(first), place)

    def rows(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> "Kinds":
        """The kinds of the chosen rows, without those that none of them is of."""
        numbers = self.place[chosen]
        first, place = _first_of_each(numbers)
        return Kinds(self.few.rows(numbers[first]), place)

    def over(self, value: Value) -> Value:
        """Of each row the value of its kind; a number stands for all."""
        return value[self.place] if isinstance(value, np.ndarray) else value


def _first_of_each(numbers: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where each number that occurs stands first, by the numbers; and of each its place there."""
    first = np.full(int(numbers.max(initial=-1)) + 1, -1)
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]
    there = first >= 0
    return first[there], (np.cumsum(there) - 1)[numbers]


def checked(layout: Layout, job: Job, gpus: int) -> Layout:
    """A layout that was built by hand, if it divides the job over the GPUs.

    Raises
    ------
    FieldError
        As `Layout.from_fields`.
    """
    level = Fields({"recompute": layout.recompute}, where="layout").whole("recompute", 0, 2)
    given = {name: getattr(layout, name) for name in LAYOUT_FIELDS}
    same = Layout.from_fields({**given, "recompute": RECOMPUTE[level or 0]}, job, gpus)
    return replace(same, zero_group=layout.zero_group)


def objection(layout: Layout, job: Job) -> str | None:
    """Why one split cannot run the job, or None where it divides."""
    model = job.transformer
    tp, pp, dp = int(layout.tp), int(layout.pp), int(layout.dp)
    cp, ep = int(layout.cp), int(layout.ep)
    if model.heads % tp:
        return f"tp = {tp} does not divide {model.heads} heads."
    if pp > model.layers:
        return f"pp = {pp} exceeds {model.layers} layers."
    if ep > 1 and (not model.experts or model.experts % ep):
        return f"ep = {ep} does not divide {model.experts} experts."
    if (tp * dp * cp) % ep:
        return f"ep = {ep} does not divide tp · cp · dp."
    if job.trains:
        return _objection_to_training(layout, job)
    if cp > 1 or layout.virtual_stages > 1:
        return "cp and virtual_stages have no meaning in decoding."
    return None


def _objection_to_training(layout: Layout, job: Job) -> str | None:
    """What training asks of a split beyond what decoding does: sequence, chunks and batch divide.

    A rank of a causal ring holds two pieces of a sequence, an early and a late one.
    """
    pp, chunks = int(layout.pp), int(layout.virtual_stages)
    cp, share = int(layout.cp), int(layout.dp) * int(layout.micro_batch)
    if cp > 1 and job.seq_len % (2 * cp):
        return f"cp = {cp} does not divide seq_len {job.seq_len} into two pieces a rank."
    if chunks > 1 and pp == 1:
        return f"virtual_stages = {chunks} needs a pipeline, pp > 1."
    if not chunks_divide(job.transformer, pp, chunks):
        layers = job.transformer.layers
        return f"virtual_stages = {chunks} does not divide the {layers} layers on pp = {pp}."
    if (job.global_batch or 0) % share:
        return f"dp · micro_batch = {share} does not divide global_batch {job.global_batch}."
    return None


def chunks_divide(model: Transformer, pp: int, chunks: int) -> bool:
    """True where each of pp stages comes in so many chunks.

    Even stages are cut evenly. Where the layers divide over no count (61 of DeepSeek-V3) they are
    laid out by hand, and each chunk only needs a layer; the head and the layers of multi-token
    prediction are some.
    """
    if chunks > 1 and stages_divide(model, pp):
        return stage_layers(model, pp) % chunks == 0
    return chunks == 1 or pp * chunks <= model.layers + 2 + model.mtp_layers


def stage_layers(model: Transformer, pp: int) -> int:
    """Layers of one of pp even stages, counting embedding and head where they must be."""
    return model.layers // pp if model.layers % pp == 0 else (model.layers + 2) // pp


def stages_divide(model: Transformer, pp: int) -> bool:
    """True where pp stages are equal, counting embedding and head as layers where they must be."""
    return pp <= model.layers and (model.layers % pp == 0 or (model.layers + 2) % pp == 0)


@lru_cache(maxsize=4096)
def divisors(number: int, limit: int) -> tuple[int, ...]:
    """Divisors of a number up to a limit, ascending."""
    return tuple(d for d in range(1, min(number, limit) + 1) if number % d == 0)


@lru_cache(maxsize=64)
def candidates(job: Job, gpus: int) -> Layout:
    """Every training layout that divides the job over the GPUs, one row each; may have no rows.

    tp divides the heads; pp the layers; cp the sequence; ep the experts; dp · micro_batch the
    batch. Interleaving needs whole rounds of micro-batches; sharded weights and gradients (ZeRO 2
    and 3) need one stage. Recompute is the innermost index.
    """
    splits = list(_splits(job, gpus))
    schedules = [list(_schedules(job, *split)) for split in splits]
    table = np.array([row for each in schedules for row in each], dtype=np.float64).reshape(-1, 8)
    levels = (RECOMPUTE.index(job.recompute),) if job.recompute else (0, 1, 2)
    columns = np.repeat(table, len(levels), axis=0).T
    recompute = np.tile(np.array(levels, dtype=np.float64), len(table))
    rows = Layout(**dict(zip(COLUMNS, (*columns, recompute), strict=True)))
    counts = np.array([len(each) * len(levels) for each in schedules], dtype=np.intp)
    split = np.repeat(np.arange(len(splits)), counts)
    sizes, size = np.unique(rows.micro_batch, return_inverse=True)
    layers = _numbered((tp, cp, ep) for tp, _, _, cp, ep in splits)[split] * len(sizes) + size
    inside = layers * len(RECOMPUTE) + np.asarray(rows.recompute, dtype=np.intp)
    between = split * 4 + np.asarray(rows.zero_stage, dtype=np.intp)
    along = _numbered(each[:4] for each in splits)[split] * len(sizes) + size
    return replace(
        rows,
        inside=Kinds.of(rows, inside),
        between=Kinds.of(rows, between),
        along=Kinds.of(rows, along),
    )


def _numbered(keys: Iterable[tuple[int, ...]]) -> NDArray[np.intp]:
    """Numbers of the keys, the same for the same."""
    known: dict[tuple[int, ...], int] = {}
    return np.array([known.setdefault(key, len(known)) for key in keys], dtype=np.intp)


def _splits(job: Job, gpus: int) -> Iterator[tuple[int, int, int, int, int]]:
    """tp, pp, dp, cp, ep of every split that divides."""
    model = job.transformer
    cps = [
        cp
        for cp in (1, 2, 4, 8, 16, 32, MAX_CP)
        if job.seq_len % (2 * cp) == 0 and job.seq_len // cp >= MIN_TOKENS_PER_CP_RANK
    ] or [1]
    for tp in divisors(model.heads, MAX_TP):
        for cp in {1, *cps}:
            if gpus % (tp * cp):
                continue
            for pp in divisors(gpus // (tp * cp), model.layers):
                dp = gpus // (tp * cp * pp)
                if not stages_divide(model, pp) or (job.global_batch or 0) % dp:
                    continue
                for ep in divisors(model.experts, MAX_EP) or (1,):
                    if (tp * cp * dp) % ep == 0:
                        yield tp, pp, dp, cp, ep


def _schedules(
    job: Job, tp: int, pp: int, dp: int, cp: int, ep: int
) -> Iterator[tuple[int, int, int, int, int, int, int, int]]:
    """The split with every micro-batch, interleave and ZeRO stage that goes with it."""
    model = job.transformer
    share = (job.global_batch or 0) // dp
    limit = max(MAX_MICRO_BATCH_TOKENS // job.seq_len, 8)
    micros = (job.micro_batch,) if job.micro_batch else divisors(share, limit)
    zeros = (0,) if dp * cp == 1 else (0, 1, 2, 3) if pp == 1 else (0, 1)
    for micro in micros:
        if share % micro:
            continue
        rounds = share // micro
        interleaves = (
            divisors(stage_layers(model, pp), MAX_VIRTUAL_STAGES)
            if pp > 1 and rounds % pp == 0
            else (1,)
        )
        for virtual in interleaves:
            for zero in zeros:
                yield tp, pp, dp, cp, ep, micro, virtual, zero

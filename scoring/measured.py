"""One row of published measurements as a question to the model, and the model's value for it.

A prediction reads the columns of shape, run and machine; never the row's id, its source or its
result. Where the layout, the micro-batch or the recompute is not stated, the model's best (or the
framework's habit) stands in and the prediction says that it was assumed.
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace

from scoring.constants import SOFTWARE, UNSAID
from scoring.fields import Fields
from scoring.hardware import Cluster
from scoring.layout import RECOMPUTE, Layout, divisors, objection
from scoring.machines import (
    CannotPredict,
    Prediction,
    machine,
    number,
)
from scoring.measured_collectives import predict_collective
from scoring.measured_runs import (
    Metric,
    metric_of,
    recompute_of,
    says,
    zero_group,
    zero_stage,
)
from scoring.measured_serving import predict_serving
from scoring.measured_shapes import is_encoder, precision_of_row, shape_of_row
from scoring.measured_software import counts_whole_attention, software_of_row
from scoring.memory import training_memory
from scoring.refusals import MAX_GPUS
from scoring.search import fastest_layouts
from scoring.training import training_step
from scoring.workload import MAX_BATCH, MAX_SEQ_LEN, Job


def predict(row: Mapping[str, str]) -> Prediction:
    """The model's value in the row's own metric.

    Raises
    ------
    CannotPredict
        With the reason, one of a closed list.
    FieldError
        For a column that holds what it cannot.
    """
    kinds = {"train": _train, "infer": predict_serving, "nccl": predict_collective}
    kind = row.get("kind", "")
    if kind not in kinds:
        raise CannotPredict("kind is not train, infer or nccl")
    return kinds[kind](row)


def _train(row: Mapping[str, str]) -> Prediction:
    metric = metric_of(row["metric_name"])
    count = _gpus(row)
    cluster = machine(row)
    job, assumed = _training_job(row)
    layout, guessed = _training_layout(row, cluster, job, count)
    why = objection(layout, job)
    if why:
        raise CannotPredict(f"the stated layout does not divide: {why}")
    seconds = _step_seconds(cluster, job, layout)
    amounts = {
        "seconds": seconds**2,
        "tokens": job.tokens,
        "samples": float(job.global_batch or 0),
        "flop": _counted_flop(row, job, metric),
        "utilisation": _counted_flop(row, job, metric) / _peak_flop_per_s(cluster, job),
    }
    value = amounts[metric.counts] / seconds / metric.unit
    if metric.per_gpu or metric.counts == "utilisation":
        value /= count
    return Prediction(
        value,
        is_rate=metric.is_rate,
        assumed=assumed or guessed,
        kind="train",
        warnings=software_of_row(row).warnings,
    )


def _peak_flop_per_s(cluster: Cluster, job: Job) -> float:
    """Dense peak that a utilisation is of: of bf16, or of fp8 where products run in it. [flop/s]"""
    gpu = cluster.gpu
    precision = gpu.precision(job.precision)
    return gpu.flop_per_s[precision if precision == "fp8" else gpu.precision("bf16")]


def _recompute_levels(job: Job) -> tuple[float, ...]:
    """What a run that does not say may have recomputed: nothing, or what its software does."""
    return {"selective": (0.0, 1.0), "full": (0.0, 2.0), "always": (2.0,), "block": (0.0,)}[
        SOFTWARE[job.software].recompute
    ]


def training_question(row: Mapping[str, str]) -> tuple[Cluster, Job, Layout]:
    """The cluster, the job and the layout that a training row is about."""
    cluster = machine(row)
    job, _ = _training_job(row)
    return cluster, job, _training_layout(row, cluster, job, _gpus(row))[0]


def _gpus(row: Mapping[str, str]) -> int:
    count = _whole(row, "num_gpus", MAX_GPUS)
    if not count:
        raise CannotPredict("GPU count not stated")
    return count


def _whole(row: Mapping[str, str], column: str, most: int) -> int | None:
    """A count of a row, from 1 to what any job may have; None where it is not stated."""
    return Fields({column: number(row, column)}).whole(column, 1, most)


def _step_seconds(cluster: Cluster, job: Job, layout: Layout) -> float:
    """The step, with as many layers fully recomputed as the rest needs to fit. [s]

    Only where the row leaves recompute open and the software's habit is to recompute by blocks.
    """
    seconds = float(training_step(cluster, job, layout).total)
    if job.recompute or SOFTWARE[job.software].recompute != "block":
        return seconds
    full = replace(layout, recompute=2.0)
    held, least = (float(training_memory(job, x).total) for x in (layout, full))
    over = held - cluster.gpu.memory_bytes
    share = min(max(over / max(held - least, 1.0), 0.0), 1.0)
    return seconds + share * (float(training_step(cluster, job, full).total) - seconds)


def _counted_flop(row: Mapping[str, str], job: Job, metric: Metric) -> float:
    """The flop of a step as the source of a rate counts them; times are never touched."""
    if "HARDWARE" in row.get("extra", ""):
        return _hardware_flop(job)
    flop = job.model_flop
    if counts_whole_attention(row.get("framework", "")):
        model = job.transformer
        width = model.heads * (model.head_dim + model.v_head_dim)
        flop += 3.0 * job.tokens * model.layers * job.seq_len * width
    return flop * (4.0 / 3.0 if metric.hardware and job.recompute == "full" else 1.0)


def _hardware_flop(job: Job) -> float:
    """96 B s l h² (1 + s/6h + V/16lh): four passes, unmasked attention; arXiv:2104.04473, eq. 3."""
    m, s = job.transformer, job.seq_len
    inner = 1.0 + s / (6.0 * m.hidden) + m.vocab / (16.0 * m.layers * m.hidden)
    return 96.0 * (job.global_batch or 0) * s * m.layers * float(m.hidden) ** 2 * inner


def _training_job(row: Mapping[str, str]) -> tuple[Job, bool]:
    batch: float | None = _whole(row, "global_batch", MAX_BATCH)
    micro = _whole(row, "micro_batch", MAX_BATCH)
    dp = number(row, "dp") or _ranks_left(row)
    assumed = False
    if not batch:
        if not (micro and dp):
            raise CannotPredict("batch not stated")
        batch = micro * dp  # no gradient accumulation is mentioned
        assumed = True
    precision, stated = precision_of_row(row)
    task = f"{row.get('model_name', '')}; {row.get('extra', '')}"
    kind = "finetune_lora" if says("q?lora", task) else "train"
    encoder = is_encoder(row)
    software = software_of_row(row)
    recompute = recompute_of(row.get("activation_recompute", ""))
    seq_len: float | None = _whole(row, "seq_len", MAX_SEQ_LEN)
    if not seq_len:
        raise CannotPredict("sequence length not stated")
    if encoder:
        # Submissions run without padding; a sample of MLPerf's Wikipedia fills half of 512.
        seq_len, assumed = UNSAID.encoder_fill * seq_len, True
    job = Job(
        name="row",
        kind=kind,
        precision=precision,
        model=shape_of_row(row),
        seq_len=int(seq_len),
        global_batch=int(batch),
        micro_batch=micro,
        recompute=recompute,
        software=software.profile,
        lora_rank=16 if kind == "finetune_lora" else 0,
        expert_imbalance=1.0 if says("force-balanced", row.get("extra", "")) else None,
        scored_share=UNSAID.encoder_masked if encoder else 1.0,
    )
    guessed = recompute is None or bool(software.warnings)
    return job, assumed or not stated or guessed


def _ranks_left(row: Mapping[str, str]) -> float | None:
    """Data-parallel ranks that the other splits leave; None where they are not stated."""
    tp, pp, count = (number(row, name) for name in ("tp", "pp", "num_gpus"))
    if not (tp and pp and count):
        return None
    return count // (tp * pp * (number(row, "cp") or 1.0)) or None


def _training_layout(
    row: Mapping[str, str], cluster: Cluster, job: Job, count: int
) -> tuple[Layout, bool]:
    """The stated layout, completed by the best that the model finds; True where it had to guess."""
    stated = {name: number(row, name) for name in ("tp", "pp", "cp", "ep", "dp", "vp")}
    zero = zero_stage(row.get("fsdp_zero_stage", ""))
    group_ranks = zero_group(row.get("fsdp_zero_stage", ""), cluster.gpu_count)
    micro = job.micro_batch
    guessed = micro is None or stated["tp"] is None or stated["pp"] is None
    if stated["tp"] is None or stated["pp"] is None:
        rows = fastest_layouts(cluster, replace(job, recompute=None), count)
        if not rows:
            raise CannotPredict("layout not stated, and none that divides fits")
        return rows[0], True
    tp, pp, cp = stated["tp"], stated["pp"], stated["cp"] or 1.0
    if count % int(tp * pp * cp):
        raise CannotPredict("the stated layout does not divide the GPUs")
    dp = float(count // int(tp * pp * cp))
    share = (job.global_batch or 1) / dp
    if share < 1:  # MLPerf counts dp without cp in some submissions
        dp, cp = float(job.global_batch or 1), count / (tp * pp * (job.global_batch or 1))
        share = 1.0
        if cp != int(cp):
            raise CannotPredict("the stated layout does not divide the batch")
    # Recipes of pipelines keep micro-batches small, to fill the pipeline.
    open_sizes = (1.0,) if pp > 1 else (1.0, 2.0, 4.0, 8.0)
    sizes = open_sizes if micro is None else (float(micro),)
    word = job.recompute
    levels = _recompute_levels(job) if word is None else (float(RECOMPUTE.index(word)),)
    chunks: tuple[float, ...] = (stated["vp"] or 1.0,)
    if stated["vp"] is None and pp > 1 and SOFTWARE[job.software].interleaves:
        # Interleaving is the framework's habit; the row does not say how deep.
        per_stage = max(job.transformer.layers // int(pp), 1)
        chunks = tuple(
            float(v) for v in divisors(per_stage, UNSAID.chunks) if v == 1 or share % pp == 0
        )
        guessed = True
    best: tuple[float, Layout] | None = None
    for size, level, virtual in itertools.product(sizes, levels, chunks):
        if micro is None and share % size:
            continue
        layout = Layout(
            tp=tp,
            pp=pp,
            dp=dp,
            cp=cp,
            ep=stated["ep"] or 1.0,
            micro_batch=size,
            virtual_stages=virtual,
            zero_stage=zero if zero is not None else (1.0 if dp * cp > 1 else 0.0),
            recompute=level,
            zero_group=group_ranks,
        )
        if len(sizes) * len(levels) * len(chunks) == 1:
            return layout, guessed
        # It did run: what the model counts as slightly too much is taken for fitting.
        over = float(training_memory(job, layout).total) / (
            UNSAID.ran_anyway * cluster.gpu.memory_bytes
        )
        seconds = float(training_step(cluster, job, layout).total)
        merit = seconds * (1e6 * over if over > 1 else 1.0)
        if best is None or merit < best[0]:
            best = merit, layout
    if best is None:
        raise CannotPredict("no micro-batch divides the batch")
    return best[1], guessed


# ------------------------------------------------------------------ columns


def measured_value(row: Mapping[str, str]) -> float:
    value = number(row, "metric_value")
    if value is None or value <= 0:
        raise CannotPredict("no measured value")
    return value

"""One row of measured serving as a question to the model: time per token, throughput, first token.

A prediction reads the columns of shape, run and machine; never the row's id, its source or any of
its results. A row states how many requests are in flight; where it says that they were as many as
fit, the model says how many that is.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from scoring.constants import LINKS, UNSAID
from scoring.decode import decode_memory, most_sequences, token_time, tokens_per_s
from scoring.engines import engine_of
from scoring.hardware import Cluster
from scoring.layout import Layout, objection
from scoring.machines import CannotPredict, Prediction, leading, machine, number, pairs_of
from scoring.measured_shapes import precision_of_row, shape_of_row
from scoring.prefill import prefill_time
from scoring.workload import Job

POOL = re.compile(r"(\d+)x\(tp(\d+),dp(\d+)(?:,bs(\d+))?\)")
RATES = (
    "decode_tokens/s (batch 1)",
    "output_tokens/s (system)",
    "output_tokens/s/GPU",
    "prefill_tokens/s (1024 prompt)",
)
TIMES = ("tpot_ms", "1st_token_latency_ms")


def predict_serving(row: Mapping[str, str]) -> Prediction:
    """The model's value in the row's own metric.

    Raises
    ------
    CannotPredict
        With the reason.
    """
    metric = row["metric_name"]
    if metric not in (*RATES, *TIMES):
        raise CannotPredict(f"metric {metric} is not modelled")
    pooled = pairs_of(row).get("mode") == "disagg"
    layout, in_flight = _decode_pool(row) if pooled else _one_pool(row)
    cluster = _machine(row, layout)
    job = replace(_job(row, pooled=pooled), global_batch=int(in_flight) if in_flight else None)
    why = objection(layout, job)
    if why:
        raise CannotPredict("the stated layout does not divide the model")
    value = _value(cluster, job, _filled(cluster, job, layout, in_flight), metric)
    kind = "infer mixture" if job.transformer.experts else "infer dense"
    return Prediction(value, is_rate=metric in RATES, assumed=True, kind=kind)


def _machine(row: Mapping[str, str], layout: Layout) -> Cluster:
    """The machine of one replica. Who splits a model over PCIe cards has peer to peer on."""
    cluster = machine({**row, "num_gpus": str(int(layout.gpus))})
    if cluster.domain_gpus > 1 or cluster.gpu_count == 1:
        return cluster
    return replace(cluster, pcie=LINKS["pcie_p2p"])


def _value(cluster: Cluster, job: Job, layout: Layout, metric: str) -> float:
    if metric == "1st_token_latency_ms":
        return float(prefill_time(cluster, job, layout)) * 1e3
    if metric.startswith("prefill_tokens/s"):
        return job.prompt_len / float(prefill_time(cluster, job, layout))
    token = float(token_time(cluster, job, layout).total)
    if metric == "tpot_ms":
        return token * 1e3
    rate = float(tokens_per_s(job, layout, token))
    return rate / float(layout.gpus) if metric.endswith("/GPU") else rate


def _job(row: Mapping[str, str], *, pooled: bool) -> Job:
    """What is served. Prompts share the decoding steps, except in pools and for single users."""
    prompt, outputs = _lengths(row)
    weights = _weight_only(row)
    precision = "bf16" if weights else precision_of_row(row)[0]
    alone = pooled or "batch 1" in row["metric_name"]
    return Job(
        name="row",
        kind="decode",
        precision=precision,
        weights=weights,
        model=shape_of_row(row),
        seq_len=int(prompt + 0.5 * outputs),
        prompt_len=int(prompt),
        output_len=0 if alone else int(outputs),
        engine=engine_of(row.get("framework", "")),
    )


def _lengths(row: Mapping[str, str]) -> tuple[float, float]:
    """Tokens of a prompt and of an answer."""
    extra = pairs_of(row)
    both = re.match(r"(\d+)/(\d+)", extra.get("ISL/OSL", ""))
    if both:
        return float(both[1]), float(both[2])
    outputs = leading(extra.get("osl")) or leading(extra.get("output_len")) or 0.0
    return number(row, "seq_len") or 1024.0, outputs


def _weight_only(row: Mapping[str, str]) -> str | None:
    """The format of weights that alone are narrow."""
    text = row.get("precision", "").lower()
    return {"int4": "int4", "int8": "int8", "q4_k_m": "q4_k_m"}.get(text)


# ------------------------------------------------------------------ layouts


def _one_pool(row: Mapping[str, str]) -> tuple[Layout, float | None]:
    """The stated layout of a server that reads prompts and decodes, and its requests in flight."""
    extra = pairs_of(row)
    tp, pp = number(row, "tp") or 1.0, number(row, "pp") or 1.0
    ep, moe_tp = number(row, "ep") or 1.0, leading(extra.get("moe_tp")) or 1.0
    count = number(row, "num_gpus") or 0.0
    # Attention and experts run on the same GPUs, so one tells the other's data-parallel ranks.
    stated = number(row, "dp") or max(count / pp, ep * moe_tp) / tp
    tp, dp, ep = _counted_once(tp, max(stated, 1.0), ep, moe_tp)
    shares = dp > 1 and ep * moe_tp > tp
    layout = Layout(tp=tp, pp=pp, dp=dp, ep=tp * dp if shares else min(ep, tp))
    if "max-load" in row.get("extra", ""):
        return layout, None
    if row["metric_name"] not in ("tpot_ms", "output_tokens/s/GPU"):
        return layout, 1.0
    batch = leading(extra.get("concurrency")) or number(row, "micro_batch")
    if not batch:
        raise CannotPredict("batch not stated")
    return layout, batch


def _counted_once(tp: float, dp: float, ep: float, moe_tp: float) -> tuple[float, float, float]:
    """tp, dp, ep of a group that a table counts twice, as k · k GPUs.

    Engines name the group once, "tp k, ep k"; aiconfigurator's table holds many such runs both as
    k GPUs and, with the same times to the last digit, as k² of them.
    """
    if ep == moe_tp > 1 and tp * dp == ep * moe_tp:
        return (1.0, ep, ep) if dp > tp else (ep, 1.0, ep)
    if tp == dp > 1 and ep == tp * dp and moe_tp == 1:
        return tp, 1.0, tp
    return tp, dp, ep


def _decode_pool(row: Mapping[str, str]) -> tuple[Layout, float]:
    """One worker of the decoding pool, and its part of the requests."""
    extra = pairs_of(row)
    pool = POOL.match(extra.get("decode", ""))
    requests = leading(extra.get("concurrency"))
    if not pool or not pool[4] or not requests:
        raise CannotPredict("disaggregated serving without its pools")
    workers, tp, dp, most = (float(pool[n]) for n in (1, 2, 3, 4))
    layout = Layout(tp=tp, dp=dp, ep=tp * dp if dp > 1 else 1.0)
    return layout, min(requests / workers, most * dp)


def _filled(cluster: Cluster, job: Job, layout: Layout, in_flight: float | None) -> Layout:
    """The layout with its sequences: those stated, but never more than the cache holds."""
    full = job.prompt_len + job.output_len  # room for whole answers, where none is ever evicted
    whole = replace(job, seq_len=full) if in_flight is None else job
    empty = decode_memory(cluster.gpu, job, replace(layout, micro_batch=0.0))
    if float(empty.total) > UNSAID.held_anyway * cluster.gpu.memory_bytes:
        raise CannotPredict("the stated layout does not hold the model")
    most = max(float(most_sequences(cluster.gpu, whole, layout)), 1.0)
    groups = layout.dp * layout.pp
    wanted = UNSAID.in_flight if in_flight is None else in_flight / groups
    return replace(layout, micro_batch=max(min(wanted, most), 1.0))

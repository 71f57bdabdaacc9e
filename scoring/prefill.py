"""Reading a prompt: how long until its cache is written, alone on a replica or beside decoding.

    prompt = Σ over chunks of Σ over operators of max(bytes / memory rate, flop / rate) + attention
             of the square of the prompt + messages

Long prompts pass in chunks, so that others decode between them; each chunk reads the weights anew.

References
----------
A. Agrawal et al., "Taming throughput-latency tradeoff in LLM inference with Sarathi-Serve," OSDI
2024. arXiv:2403.02310: chunked prefill beside decoding.
"""

from scoring.algorithms import expert_exchange
from scoring.collectives import collective_time, group
from scoring.engines import ENGINES, SERVING, reading_bytes_per_s
from scoring.formats import attention_format, maths, stored, weight_bytes
from scoring.hardware import Cluster
from scoring.kernels import attention_flop_per_s, gemm_flop_per_s, padded_rows, stream_bytes_per_s
from scoring.layout import Layout
from scoring.memory import BF16
from scoring.units import MICRO, Value, ceil, maximum, minimum, where
from scoring.workload import Job

PASSES = 20.0  # reads and writes of a token's hidden vector in a layer: norms, residuals, rotary


def prefill_time(cluster: Cluster, job: Job, layout: Layout, *, alone: bool = True) -> Value:
    """Time to read one prompt of job.prompt_len tokens. [s]

    Parameters
    ----------
    alone
        True: on an idle replica, until the first token. False: what it adds to steps that decode
        as well, where the weights are read anyway and the host schedules once.
    """
    model, gpu, tp = job.transformer, cluster.gpu, layout.tp
    tokens = float(max(job.prompt_len, 1))
    chunks = float(ceil(tokens / SERVING.chunk_tokens))
    rows = tokens / chunks
    reading = reading_bytes_per_s(gpu, job.engine)
    rate = gemm_flop_per_s(gpu, maths(gpu, stored(job)))

    def product(parameters: Value, kind: str) -> Value:
        """Every chunk through matrices of so many local weights. [s]"""
        flop = 2.0 * padded_rows(rows) * parameters / gemm_flop_per_s(gpu, maths(gpu, kind))
        read = parameters * weight_bytes(kind) / reading if alone else 0.0
        return chunks * maximum(flop, read)

    dense = attention_format(job)
    layers = product(model.layers * model.attention_parameters / tp, dense)
    layers = layers + product(model.dense_layers * model.dense_mlp_parameters / tp, dense)
    layers = layers + product(model.moe_layers * model.shared_parameters / tp, dense)
    if model.moe_layers:
        # Ranks of attention that share experts read prompts side by side: each adds a share.
        flop = 2.0 * tokens * model.moe_layers * model.topk * model.expert_parameters / tp
        held = model.routed_parameters / maximum(layout.ep, tp) * weight_bytes(stored(job))
        experts = flop / (rate * SERVING.expert_efficiency)
        layers = layers + maximum(experts, chunks * held / reading if alone else 0.0)
    width = model.heads * (model.head_dim + model.v_head_dim) / tp
    seen = model.whole_layers * tokens + (model.layers - model.whole_layers) * model.window
    scores = tokens * seen * width
    kernel = attention_flop_per_s(gpu, "flash3", tokens, (model.head_dim + model.v_head_dim) / 2)
    passes = model.layers * tokens * BF16 * PASSES * model.hidden / tp / stream_bytes_per_s(gpu)
    local = layers + scores / kernel + passes
    if alone:
        local = local + chunks * model.layers * SERVING.prompt_layer_us * MICRO
        local = local + chunks * ENGINES[job.engine].step_ms * 1e-3
    return ENGINES[job.engine].prompt * local + chunks * _messages(cluster, job, layout, rows)


def _messages(cluster: Cluster, job: Job, layout: Layout, rows: Value) -> Value:
    """What one chunk of so many tokens sends: sums of tp, experts' tokens, hops of pp. [s]"""
    model, tp = job.transformer, layout.tp
    size = BF16 * rows * model.hidden
    spread = layout.ep > tp
    dense = 1.0 - model.moe_layers / model.layers
    blocks = model.layers * where(spread, 1.0 + dense, 2.0)
    sent = blocks * collective_time(cluster, "all_reduce", size, group(cluster, tp))
    if model.moe_layers:
        g, h, k = group(cluster, layout.ep), float(model.hidden), float(model.topk)
        routed = (1.0 + BF16) / 2 * rows / tp * k * h
        plain = 2.0 * collective_time(cluster, "all_to_all", routed, g)
        once = expert_exchange(cluster, rows / tp, h, k, g)  # a copy for each node, not expert
        sent = sent + where(spread, model.moe_layers * minimum(plain, once), 0.0)
    hop = group(cluster, layout.pp, tp * layout.dp)
    send = collective_time(cluster, "send_recv", size, hop)
    return sent + where(layout.pp > 1, (layout.pp - 1) * send, 0.0)

"""An estimate in words: why this layout, what leaves the domain, what limits, what to do.

Sentences are made of the numbers of the estimate alone; nothing here computes time.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext

MUCH, LITTLE = 0.10, 0.02  # shares of a step from which waiting is worth an answer, and is none
SIZES = (1 << 20, 1 << 26, 1 << 32)  # of a buffer that nccl-tests is run with: to 4 GiB [B]
CAUSES = {
    "exposed_tp_s": "tp",
    "exposed_pp_s": "pp",
    "bubble_s": "bubble",
    "exposed_dp_s": "dp",
    "exposed_ep_s": "ep",
    "exposed_cp_s": "cp",
}


def advice(result: Mapping[str, Any]) -> list[str]:
    """What there is to say of a cluster of a ranking, the layout first and what to do last."""
    estimate, offer = result["estimate"], result["offer"]
    if not _talks(estimate):
        return list(_alone(estimate))
    return [
        *_layout(estimate, offer),
        *_crossing(estimate),
        *_limit(estimate),
        *_cure(estimate, offer),
    ]


def nccl_tests(nodes: int, gpus: int, expected: Sequence[tuple[int, float]]) -> dict[str, Any]:
    """The command that shows on day one what the cluster does, and what it should print."""
    sizes = f"-b {SIZES[0]} -e {SIZES[-1]} -f {SIZES[1] // SIZES[0]}"
    test = f"./build/all_reduce_perf {sizes}"
    start = (
        f"mpirun -np {gpus} -N {gpus // nodes} {test} -g 1" if nodes > 1 else f"{test} -g {gpus}"
    )
    return {
        "command": start,
        "column": "busbw",
        "expect": [{"bytes": size, "bus_gbytes_per_s": rate / 1e9} for size, rate in expected],
    }


def _talks(estimate: Mapping[str, Any]) -> bool:
    """Whether GPUs exchange anything that could be waited for."""
    return estimate["gpus"] > 1 and any(c["ranks"] > 1 for c in estimate["collectives"])


def _alone(estimate: Mapping[str, Any]) -> Iterator[str]:
    if estimate["gpus"] == 1:
        yield gettext("The job runs on one GPU: no link is ever used.")
    else:
        yield gettext("No GPU ever waits for another: the job falls into parts that do not talk.")
    yield gettext(
        "NVLink and InfiniBand are money wasted on it: take the cheapest GPU that is fast enough."
    )


def _layout(estimate: Mapping[str, Any], offer: Mapping[str, Any]) -> Iterator[str]:
    layout, near = estimate["layout"], _near(offer)
    tp, pp, ep, cp, dp = (layout[name] for name in ("tp", "pp", "ep", "cp", "dp"))
    numbers = {"tp": tp, "pp": pp, "ep": ep, "cp": cp, "dp": dp, "near": near}
    if tp * pp * cp * ep == 1 and layout["zero_stage"] < 3 and estimate["tokens_per_s"]:
        yield gettext("One GPU holds the model, so it is not split: %(dp)s copies.") % numbers
    if tp > 1 and tp <= near:
        yield (
            gettext(
                "TP %(tp)s stays inside the %(near)s GPUs that share fast links: it talks most."
            )
            % numbers
        )
    elif tp > 1:
        yield (
            gettext(
                "TP %(tp)s reaches beyond the %(near)s GPUs that share fast links: nothing that "
                "fits is faster, and it pays for each layer."
            )
            % numbers
        )
    if cp > 1:
        yield gettext("CP %(cp)s cuts the sequence, whose activations fill the memory.") % numbers
    if ep > 1:
        where = (
            gettext("EP %(ep)s keeps the exchange of tokens on fast links.")
            if ep <= near
            else gettext("EP %(ep)s sends tokens over the fabric to their experts.")
        )
        yield where % numbers
    if pp > 1:
        yield (
            gettext("PP %(pp)s cuts the layers into stages: of all splits it sends least.")
            % numbers
        )
    if layout["zero_stage"] >= 3:
        yield gettext(
            "ZeRO-3 shards the weights over %(dp)s GPUs instead: each layer is gathered when due."
        ) % {"dp": dp * cp}


def _crossing(estimate: Mapping[str, Any]) -> Iterator[str]:
    sent = [(c["purpose"], c["crossing_bytes"]) for c in estimate["collectives"]]
    total = sum(size for _purpose, size in sent)
    if not total:
        yield gettext("Nothing leaves the fast links: the fabric is not used.")
        return
    most = max(sent, key=lambda each: each[1])
    yield gettext(
        "Each GPU sends at least %(total)s over the fabric in a step of %(seconds)s s; "
        "%(share)s %% of it for %(purpose)s."
    ) % {
        "total": _size(total),
        "seconds": f"{estimate['step_time_s']:.3g}",
        "share": round(100 * most[1] / total),
        "purpose": purpose(most[0]),
    }


def _limit(estimate: Mapping[str, Any]) -> Iterator[str]:
    share, efficiency = estimate["exposed_share"], estimate["fabric_efficiency"]
    yield gettext(
        "GPUs wait %(share)s %% of the time, for messages and in the pipeline; one domain for all "
        "would gain %(gain)s %%."
    ) % {
        "share": round(100 * share),
        "gain": round(100 * (1 / efficiency - 1)) if efficiency else 0,
    }


def _cure(estimate: Mapping[str, Any], offer: Mapping[str, Any]) -> Iterator[str]:
    time, step = estimate["time"], estimate["step_time_s"]
    cause = max(CAUSES, key=lambda name: time.get(name) or 0.0)
    share = (time.get(cause) or 0.0) / step
    if share < LITTLE:
        yield gettext("A faster network gains next to nothing: pay for GPUs, not for links.")
        return
    said = {
        "inside": gettext("What helps: faster links in the domain, or software that overlaps TP."),
        "tp": gettext("What helps: a larger domain, or a smaller TP with memory freed otherwise."),
        "pp": gettext("What helps: a faster fabric, or fewer stages."),
        "bubble": gettext("What helps: a larger global batch, or more chunks of layers a stage."),
        "dp": gettext("What helps: a faster fabric, or a larger batch for each exchange."),
        "ep": gettext("What helps: a domain that holds the whole expert group, as of 72 GPUs."),
        "cp": gettext("What helps: context parallelism inside the domain, or shorter sequences."),
    }
    inside = cause == "exposed_tp_s" and estimate["layout"]["tp"] <= _near(offer)
    yield said["inside" if inside else CAUSES[cause]]
    if share < MUCH:
        yield gettext("It is under a tenth of the time: a cheaper network may be the better buy.")


def purpose(name: str) -> str:
    """What a message is for, for the middle of a sentence."""
    return {
        "tensor parallel": gettext("tensor parallelism"),
        "expert dispatch": gettext("experts"),
        "context parallel": gettext("context parallelism"),
        "pipeline": gettext("the pipeline"),
        "data parallel": gettext("gradients and weights"),
        "message": gettext("the code's own messages"),
    }.get(name, name)


def _near(offer: Mapping[str, Any]) -> int:
    return int(max(float(offer["scale_up_domain_gpus"] or 1), float(offer["gpu_count"] or 1)))


def _size(size: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:,.3g} {unit}"
    return f"{size:.0f} B"

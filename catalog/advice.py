"""An estimate in words: why this layout, what leaves the domain, what limits, what to do.

Sentences are made of the numbers of the estimate alone; nothing here computes time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext

MUCH, LITTLE = 0.10, 0.02  # shares of a step from which waiting is worth an answer, and is none
SIZES = (1 << 20, 1 << 26, 1 << 32)  # of a buffer that nccl-tests is run with: to 4 GiB [B]
# A part of the step that is waited for: its word here, and the purposes of its messages.
CAUSES = {
    "exposed_tp_s": ("tp", ("tensor parallel",)),
    "exposed_pp_s": ("pp", ("pipeline",)),
    "bubble_s": ("bubble", ()),
    "exposed_dp_s": ("dp", ("data parallel", "message")),
    "exposed_ep_s": ("ep", ("expert dispatch",)),
    "exposed_cp_s": ("cp", ("context parallel",)),
}
# Collectives that another test than an all-reduce speaks for: of its two halves, an all-gather and
# a reduce-scatter, the bus bandwidth is its own.
TESTS = {"all_to_all": "all_to_all", "send_recv": "send_recv"}


@dataclass(frozen=True, slots=True)
class Links:
    """How many GPUs share the fast links, and how many reach each other without the fabric."""

    domain: int
    near: int


def advice(result: Mapping[str, Any], links: Links) -> list[str]:
    """What there is to say of a cluster of a ranking, the layout first and what to do last."""
    estimate = result["estimate"]
    if not _talks(estimate):
        return list(_alone(estimate))
    return [
        *_layout(estimate, links),
        *_crossing(estimate, links),
        *_limit(estimate),
        *_cure(estimate, links),
    ]


def heaviest(estimate: Mapping[str, Any]) -> str | None:
    """The test of nccl-tests that is like most of what a job sends; None where it sends nothing.

    What crosses the fabric counts before what stays inside; then what is waited for longest.
    """
    weights: dict[str, tuple[bool, float]] = {}
    for sent in estimate["collectives"]:
        test = TESTS.get(sent["kind"], "all_reduce")
        crossing, exposed = weights.get(test, (False, 0.0))
        weights[test] = crossing or sent["crossing_bytes"] > 0, exposed + sent["exposed_s"]
    return max(weights, key=lambda test: weights[test], default=None)


def nccl_tests(
    test: str, nodes: int, gpus: int, expected: Sequence[tuple[int, float]]
) -> dict[str, Any]:
    """The command that shows on day one what the cluster does, and what it should print."""
    program = (
        f"./build/{test.replace('all_to_all', 'alltoall').replace('send_recv', 'sendrecv')}_perf"
    )
    sizes = f"-b {SIZES[0]} -e {SIZES[-1]} -f {SIZES[1] // SIZES[0]}"
    start = f"{program} {sizes} -g {gpus}"
    if nodes > 1:
        start = f"mpirun -np {gpus} -N {-(-gpus // nodes)} {program} {sizes} -g 1"
    return {
        "command": start,
        "collective": test,
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


def _layout(estimate: Mapping[str, Any], links: Links) -> Iterator[str]:
    layout = estimate["layout"]
    tp, pp, ep, cp, dp = (layout[name] for name in ("tp", "pp", "ep", "cp", "dp"))
    numbers = {"tp": tp, "pp": pp, "ep": ep, "cp": cp, "dp": dp}
    numbers |= {"near": links.near, "domain": links.domain}
    if tp * pp * cp * ep == 1 and layout["zero_stage"] < 3 and estimate["tokens_per_s"]:
        yield gettext("One GPU holds the model, so it is not split: %(dp)s copies.") % numbers
    if tp > links.near:
        said = gettext(
            "TP %(tp)s reaches beyond the %(near)s GPUs that need no fabric: nothing that fits is "
            "faster, and it pays for each layer."
        )
        yield said % numbers
    elif tp > links.domain:
        said = gettext(
            "TP %(tp)s talks most, and runs over PCIe inside the instance: it pays for each layer."
        )
        yield said % numbers
    elif tp > 1:
        said = gettext(
            "TP %(tp)s stays inside the %(domain)s GPUs that share fast links: it talks most."
        )
        yield said % numbers
    if cp > 1:
        yield gettext("CP %(cp)s cuts the sequence, whose activations fill the memory.") % numbers
    if ep > 1:
        if ep > links.near:
            said = gettext("EP %(ep)s sends tokens over the fabric to their experts.")
        elif ep > links.domain:
            said = gettext("EP %(ep)s sends tokens over PCIe to their experts.")
        else:
            said = gettext("EP %(ep)s keeps the exchange of tokens on fast links.")
        yield said % numbers
    if pp > 1:
        yield (
            gettext("PP %(pp)s cuts the layers into stages: of all splits it sends least.")
            % numbers
        )
    if layout["zero_stage"] >= 3:
        yield gettext(
            "ZeRO-3 shards the weights over %(dp)s GPUs instead: each layer is gathered when due."
        ) % {"dp": dp * cp}


def _crossing(estimate: Mapping[str, Any], links: Links) -> Iterator[str]:
    sent = [(c["purpose"], c["crossing_bytes"]) for c in estimate["collectives"]]
    total = sum(size for _purpose, size in sent)
    if not total:
        yield (
            gettext("Nothing leaves the fast links: the fabric is not used.")
            if links.domain >= links.near
            else gettext("Nothing leaves the instance: the fabric is not used.")
        )
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


def _cure(estimate: Mapping[str, Any], links: Links) -> Iterator[str]:
    time, step = estimate["time"], estimate["step_time_s"]
    cause = max(CAUSES, key=lambda name: time.get(name) or 0.0)
    share = (time.get(cause) or 0.0) / step
    if share < LITTLE:
        yield gettext("A faster network gains next to nothing: pay for GPUs, not for links.")
        return
    kind, purposes = CAUSES[cause]
    mine = [sent for sent in estimate["collectives"] if sent["purpose"] in purposes]
    crosses = any(sent["crossing_bytes"] > 0 for sent in mine)
    yield _helps(kind, max((sent["ranks"] for sent in mine), default=1), links, crosses=crosses)
    if crosses and sum(time.get(name) or 0.0 for name in CAUSES) / step < MUCH:
        yield gettext("It is under a tenth of the time: a cheaper network may be the better buy.")


def _helps(kind: str, ranks: int, links: Links, *, crosses: bool) -> str:
    """What shortens the waiting of a kind, by where its messages go."""
    if kind == "bubble":
        return gettext("What helps: a larger global batch, or more chunks of layers a stage.")
    if kind == "tp" and ranks > links.domain:
        return gettext("What helps: a larger domain, or a smaller TP with memory freed otherwise.")
    if kind == "tp":
        return gettext("What helps: faster links in the domain, or software that overlaps TP.")
    if kind == "ep" and ranks > links.domain:
        return gettext("What helps: a domain that holds the whole expert group of %(n)s GPUs.") % {
            "n": ranks
        }
    if kind == "ep":
        return gettext(
            "What helps: faster links in the domain, or software that overlaps the exchange."
        )
    if not crosses:
        return gettext("What helps: faster links between the GPUs of one domain or instance.")
    return {
        "pp": gettext("What helps: a faster fabric, or fewer stages."),
        "dp": gettext("What helps: a faster fabric, or a larger batch for each exchange."),
        "cp": gettext("What helps: context parallelism inside the domain, or shorter sequences."),
    }[kind]


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


def _size(size: float) -> str:
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= factor:
            return f"{size / factor:,.3g} {unit}"
    return f"{size:.0f} B"

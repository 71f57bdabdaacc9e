"""What a run of nccl-tests comes to, in sentences: the most telling first.

run = read_run(text);  held = check_run(run, fields);  verdict(held)  →  every figure, plain
"""

from collections.abc import Iterator, Sequence
from typing import Any

from scoring.machines import gpu_slug
from scoring.nccl_check import Held, Point
from scoring.nccl_log import signs
from scoring.said import Said

FAULT_WORDS = {
    "rdma_off": "It looks like GPUDirect RDMA off.",
    "rdma_partly_off": "It looks like GPUDirect RDMA off on a part of the channels.",
    "fewer_nics": "It looks like fewer NICs than the node has.",
    "domain_off": "It looks as if the nodes are not in one NVLink domain, or IMEX is not running.",
    "sharp_off": "It looks as if the switches do not sum (SHARP): NCCL asks them to only where "
    "NCCL_COLLNET_ENABLE=1 is set and its plugin is there.",
    "sockets": "It looks like TCP sockets instead of RDMA.",
    "half_the_nics": "It looks like half of the NICs.",
    "oversubscribed_2_to_1": "It looks like a fabric oversubscribed 2:1, or shared with others.",
    "links_off": "It looks like the links between the GPUs are off (PCIe only).",
}
# What speaks against a paste: its figures do not add up, or are of something else.
SPOILT = frozenset(("failed", "algbw", "busbw", "count", "corrupt", "columns", "figure", "time"))
# Of line rate: more than rounding, and more than sums on the way can save: an all-reduce sends
# 2(n−1)/n of its buffer around a ring, and no way of summing less than once.
OVER, IMPOSSIBLE = 1.02, 2.0


def verdict(held: Held) -> dict[str, Any]:
    """Everything, plain; sentences in English with their codes and lines."""
    run, across = held.run, held.across
    judged = not contradictions(held)
    return {
        "collective": run.kind,
        "ranks": run.ranks,
        "nodes": held.nodes,
        "gpus": list(run.gpus),
        "nccl_version": run.log.version,
        "gpudirect_rdma_seen": run.log.direct if across else None,
        "sockets_seen": run.log.sockets if across and run.log.direct is not None else None,
        "peak": {"bytes": run.peak.size, "bus_gbytes_per_s": run.peak.bus_gbytes_per_s},
        "line_rate_gbytes_per_s": held.line_rate_gbytes_per_s,
        "of_line_rate": held.of_line_rate if judged else None,
        "of_prediction": held.largest.of_prediction if judged else None,
        "judged_by_gbytes_per_s": list(held.judged_by) if judged else None,
        "looks_like": list(held.looks_like) if judged else [],
        "verdict": [plain(each) for each in sentences(held)],
        "problems": [plain(each) for each in run.problems],
        "inferred": [str(each) for each in run.inferred],
        "rows": [point.as_json() for point in held.points],
        "peers": [peer.as_json() for peer in held.peers],
        "assumptions": list(held.cluster.assumptions),
    }


def plain(said: Said) -> dict[str, Any]:
    """A sentence with its code and its line."""
    return {"code": said.code, "text": str(said), "line": said.line}


def sentences(held: Held) -> Iterator[Said]:
    """What there is to say of a run: of its speed only where nothing contradicts it."""
    if against := contradictions(held):
        yield _not_judged(against)
        yield from (said for said in against if said not in held.run.problems)
    else:
        yield from _of_speed(held)
    linked = held.cluster.scale_up not in ("pcie", "none")
    yield from signs(held.run.log, across=held.across, linked=linked, nics=held.nics)


def contradictions(held: Held) -> list[Said]:
    """What speaks against a run: it contradicts itself, or the type that it is said to be of."""
    against = [*_other_gpus(held), *_impossible(held)]
    return [*against, *(said for said in held.run.problems if said.code in SPOILT)]


def _not_judged(against: Sequence[Said]) -> Said:
    text = "The paste contradicts itself, or this type: nothing is said of its speed."
    line = min((said.line for said in against if said.line), default=None)
    return Said("contradicted", text, line=line)


def _of_speed(held: Held) -> Iterator[Said]:
    yield _of_line_rate(held)
    yield _of_prediction(held)
    if len(held.looks_like) > 1:
        text = "More than one fault looks like this; the log of NCCL_DEBUG=INFO may tell which."
        yield Said("alike", text)
    for fault in held.looks_like:
        yield Said(fault, FAULT_WORDS[fault])
    if held.slow and not held.looks_like:
        text = "None of the usual faults looks like this: show the provider these figures."
        yield Said("no_fault", text)
    if (dip := held.dip) and dip is not held.largest:
        yield _of_dip(dip)
    if held.peers:
        yield _of_peers(held)


def _impossible(held: Held) -> Iterator[Said]:
    share, rate = held.of_line_rate, held.line_rate_gbytes_per_s
    if share is None or rate is None or share <= IMPOSSIBLE:
        return
    peak = held.run.peak
    said = {"rate": _rate(peak.bus_gbytes_per_s), "line": _rate(rate)}
    said["size"] = written(peak.size)
    text = (
        "It reaches %(rate)s GB/s at %(size)s, and line rate is %(line)s GB/s: this is another "
        "cluster, or a fact of it is wrong."
    )
    yield Said("impossible", text, said, peak.line)


def _of_line_rate(held: Held) -> Said:
    peak, share, rate = held.run.peak, held.of_line_rate, held.line_rate_gbytes_per_s
    said = {"rate": _rate(peak.bus_gbytes_per_s), "size": written(peak.size)}
    if share is None or rate is None:
        text = (
            "It reaches %(rate)s GB/s at %(size)s; line rate is unknown: nobody states the link's."
        )
        return Said("line_rate_unknown", text, said)
    said |= {"percent": f"{100 * share:.0f}", "line": _rate(rate)}
    if share > OVER and not held.inside_limits:
        text = (
            "It reaches %(rate)s GB/s at %(size)s, %(percent)s %% of the line rate of a ring over "
            "the NICs (%(line)s GB/s): sums inside the nodes, or in the switches, send less."
        )
        return Said("over_line_rate", text, said)
    if share > OVER:
        text = (
            "It reaches %(rate)s GB/s at %(size)s, %(percent)s %% of the line rate of a ring "
            "(%(line)s GB/s): the switch does the sum."
        )
        return Said("over_line_rate", text, said)
    if not held.inside_limits:
        text = (
            "It reaches %(rate)s GB/s at %(size)s, %(percent)s %% of the line rate of the fabric "
            "(%(line)s GB/s)."
        )
    else:
        text = (
            "It reaches %(rate)s GB/s at %(size)s, %(percent)s %% of the line rate of the links "
            "inside (%(line)s GB/s)."
        )
    return Said("line_rate", text, said)


def _of_prediction(held: Held) -> Said:
    point, (low, high) = held.largest, held.judged_by
    rate = point.measured_gbytes_per_s
    said = _beside(point) | {"low": _rate(low), "high": _rate(high), "rate": _rate(rate)}
    if rate < low:
        text = (
            "At %(size)s it is %(rate)s GB/s, %(percent)s %% of the %(predicted)s GB/s that are "
            "predicted: slower than all that is plausible (%(low)s to %(high)s GB/s)."
        )
        return Said("slower", text, said)
    if rate > high:
        text = (
            "At %(size)s it is %(rate)s GB/s, %(percent)s %% of the %(predicted)s GB/s that are "
            "predicted: faster than all that is plausible (%(low)s to %(high)s GB/s)."
        )
        return Said("faster", text, said)
    text = (
        "At %(size)s it is %(rate)s GB/s, between the %(low)s and %(high)s GB/s that are plausible "
        "(%(predicted)s GB/s are predicted): as it should be."
    )
    return Said("as_predicted", text, said)


def _of_dip(point: Point) -> Said:
    text = (
        "At %(size)s it falls to %(percent)s %% of the %(predicted)s GB/s that are predicted: "
        "jobs send messages of such sizes."
    )
    return Said("dip", text, _beside(point))


def _beside(point: Point) -> dict[str, object]:
    return {
        "percent": f"{100 * point.of_prediction:.0f}",
        "predicted": _rate(point.predicted_gbytes_per_s),
        "size": written(point.size),
    }


def _of_peers(held: Held) -> Said:
    near = held.peers[0]
    said = {
        "rate": _rate(near.bus_gbytes_per_s),
        "ranks": near.ranks,
        "gpu": near.gpu,
        "size": written(near.size),
        "source": near.source,
    }
    text = (
        "The nearest that others measured on a like machine: %(rate)s GB/s on %(ranks)s of "
        "%(gpu)s at %(size)s (%(source)s)."
    )
    return Said("peers", text, said)


def _other_gpus(held: Held) -> Iterator[Said]:
    """A name of a GPU in the paste that is another than the type's."""
    here = held.cluster.gpu.slug
    for name in held.run.gpus:
        slug = gpu_slug({"gpu_model": name})
        if slug and slug.partition("-")[0] != here.partition("-")[0]:
            text = "The paste is of %(name)s, and this type has %(gpu)s."
            yield Said("other_gpu", text, {"name": name, "gpu": here})
            return


def _rate(gbytes_per_s: float) -> str:
    """Four digits, and no exponent however much it is."""
    return f"{gbytes_per_s:.4g}" if gbytes_per_s < 9_999.5 else f"{gbytes_per_s:.0f}"


def written(size: float) -> str:
    """A size in the binary units that the tests are started with."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size:.0f} B"

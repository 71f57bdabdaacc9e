"""The validation page: how far the model was from what others measured, by group and one by one."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import estimates, wording
from catalog.charts import GAP, TICK, WIDTH, Drawing, kept_in, margin, text_width
from catalog.templatetags.quantities import figure, number

KINDS = ("train", "decode", "collective")
BY = ("kind", "software", "gpu", "source")
REPOSITORY = re.compile(r"([\w.-]+/[\w.-]+)(?:@(\w+))?", re.ASCII)
UNITS = {"tokens/s/GPU": "tokens/s/GPU", "tpot_ms": "ms", "busbw_GB/s": "GB/s"}
SOFTWARE = {
    "internevo": "InternEvo", "llama_cpp": "llama.cpp", "megatron": "Megatron-LM, NeMo",
    "megatron-deepspeed": "Megatron-DeepSpeed", "rocm": "ROCm", "sglang": "SGLang",
    "tensorrt_llm": "TensorRT-LLM", "vllm": "vLLM",
}  # fmt: skip


@require_safe
def accuracy(request: HttpRequest) -> HttpResponse:
    """How far the model was from what others measured: the table behind every range."""
    known = estimates.accuracy()
    measured = [
        {"title": measured_title(kind), **said, **percentages(said)}
        for kind, said in known["measured"].items()
    ]
    ranges = [
        (wording.word("job", kind), stratum_title(stratum), f"{low:.2f}", f"{high:.2f}")
        for kind, stratum, low, high in known["ranges"]
    ]
    groups = known["groups"]
    context = {
        "room": "learn",
        "version": known["version"],
        "measured": measured,
        "ranges": ranges,
        "kinds": [of_kind(kind, groups[kind]) for kind in KINDS],
        "grouped_by": groups["version"],
        "grouped_on": groups["measured_on"],
    }
    return render(request, "catalog/accuracy.html", context)


def percentages(said: Mapping[str, Any]) -> dict[str, Any]:
    """Its errors in percent, on rows never fitted too where that is known, and what was covered."""
    unseen = next((value for name, value in said.items() if name.startswith("unseen")), None)
    return {
        "median": f"{100 * said['median_abs_error']:.1f}",
        "p90": f"{100 * said['p90_abs_error']:.1f}",
        "off": f"{100 * said['bias']:+.1f}",
        "unseen": "" if unseen is None else f"{100 * unseen:.1f}",
        "share": said["rows"] / (said["rows"] + said["not_predicted"]),
    }


# --- One kind of measurement --------------------------------------------------------------------


def of_kind(kind: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Its groups, its worst configurations, and predicted against measured as a drawing."""
    return {
        "slug": kind,
        "title": measured_title(kind),
        "unseen": unseen_means(kind),
        "groups": [
            (by_title(by), rows) for by in BY if len(rows := list(grouped(said["group"], by))) > 1
        ],
        "worst": [_worst(each) for each in said["worst"]],
        "metric": metric_title(said["metric"]),
        "unit": UNITS[said["metric"]],
        "drawn": len(said["dot"]),
        "drawn_of": said["drawn_rows"],
        "drawing": predicted_against_measured(said["dot"], metric_title(said["metric"])),
        "bins": [_bin(each) for each in said["bin"]],
    }


def grouped(groups: Sequence[Mapping[str, Any]], by: str) -> Iterator[dict[str, Any]]:
    """The groups of one kind, the largest first, with their errors in percent."""
    mine = (group for group in groups if group["by"] == by)
    for group in sorted(mine, key=lambda group: (-group["n"], group["name"])):
        yield {
            "title": group_title(by, group["name"]),
            "href": source_href(group["name"]) if by == "source" else "",
            "n": group["n"],
            "median": f"{100 * group['median']:.1f}",
            "p90": f"{100 * group['p90']:.1f}",
            "bias": f"{100 * group['bias']:+.1f}",
            "unseen": f"{100 * group['unseen']:.1f}" if "unseen" in group else "",
            "unseen_n": group.get("unseen_n"),
        }


def _worst(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "gpu": wording.gpu(row["gpu"]),
        "href": source_href(row["source"]),
        "measured": figure(row["measured"]),
        "predicted": figure(row["predicted"]),
        "ratio": f"{math.exp(row['error']):.2f}",
        "why": gettext(", ").join(left_open(word) for word in row["open"]),
    }


def _bin(each: Mapping[str, float]) -> dict[str, str]:
    ratios = {name: f"{each[name]:.2f}" for name in ("low", "median", "high")}
    return {
        "from": figure(each["from"]),
        "to": figure(each["to"]),
        "n": number(each["n"]),
        **ratios,
    }


def source_href(name: str) -> str:
    """The repository that a source names, at its commit where it says it."""
    found = REPOSITORY.match(name)
    if found is None:
        return ""
    repository, commit = found.groups()
    return f"https://github.com/{repository}" + (f"/tree/{commit}" if commit else "")


def predicted_against_measured(dots: Sequence[Sequence[float]], metric: str) -> SafeString:
    """Each measurement as a dot: measured to the right, predicted upwards, both on log axes."""
    low = min(min(pair) for pair in dots)
    high = max(max(pair) for pair in dots)
    start, end = math.log10(low) - 0.05, math.log10(high) + 0.05
    ticks = [10.0**power for power in range(math.ceil(start), math.floor(end) + 1)]
    left, right, top = margin(map(number, ticks)), 350, 12
    bottom = top + right - left  # what is as fast as predicted lies on the diagonal

    def at(value: float) -> float:
        return (math.log10(value) - start) / (end - start)

    def x(value: float) -> float:
        return left + (right - left) * min(max(at(value), 0.0), 1.0)

    def y(value: float) -> float:
        return bottom - (bottom - top) * min(max(at(value), 0.0), 1.0)

    paper = Drawing()
    widest = max((text_width(number(value)) for value in ticks), default=0)
    every = math.ceil((widest + GAP) * (end - start) / (right - left))
    for n, value in enumerate(ticks):
        said = number(value)
        paper.line(f"M{x(value):.1f} {top}V{bottom}M{left:g} {y(value):.1f}H{right}", "sl")
        if n % every == 0:
            middle = kept_in(x(value), text_width(said) / 2, WIDTH)
            paper.text(round(middle, 1), bottom + 14, said, "q mid")
        paper.text(left - TICK, round(y(value) + 4, 1), said, "q e")
    for factor, look in ((1.0, "sk"), (1.25, "se dash"), (0.8, "se dash")):
        first, last = max(low, low / factor), min(high, high / factor)
        paper.line(f"M{x(first):.1f} {y(first * factor):.1f}L{x(last):.1f} {y(last * factor):.1f}",
                   look)  # fmt: skip
    paper.shapes.append('<g class="fw">')
    paper.shapes += [
        f'<circle cx="{x(measured):.0f}" cy="{y(predicted):.0f}" r="1.8"/>'
        for measured, predicted in dots
    ]
    paper.shapes.append("</g>")
    paper.text(right, bottom + 30, gettext("measured"), "q e")
    paper.text(left, top - 2, gettext("predicted"), "q")
    near = sum(0.8 <= predicted / measured <= 1.25 for measured, predicted in dots) / len(dots)
    finding = gettext("%(metric)s: %(share)s %% of the predictions are within a quarter") % {
        "metric": metric, "share": round(100 * near),
    }  # fmt: skip
    return paper.svg(bottom + 36, "big", finding)


# --- Words --------------------------------------------------------------------------------------


def measured_title(kind: str) -> str:
    """What was measured, in words."""
    titles = {
        "train": gettext("training: time of a step"),
        "decode": gettext("serving: time of a token, throughput, first token"),
        "collective": gettext("collectives: bus bandwidth and time"),
        "collective_inside": gettext("collectives inside a domain or a node"),
        "collective_across": gettext("collectives across the fabric"),
    }
    return titles.get(kind, kind)


def unseen_means(kind: str) -> str:
    """What "never seen" means for a kind of measurement."""
    return {
        "train": gettext(
            "Never seen: the multiplier of its software comes from other sources alone. Overlaps, "
            "and the few constants that are marked so, saw every row."
        ),
        "decode": gettext(
            "Never seen: fitted anew without that engine, or without that GPU; the time of a token "
            "alone. By source it was not measured."
        ),
        "collective": gettext(
            "Never seen: rows that a measured curve draws, predicted by the formulas without any "
            "curve. The others have no such figure."
        ),
    }[kind]


def by_title(by: str) -> str:
    """What rows are grouped by."""
    return {
        "kind": gettext("Kind"),
        "software": gettext("Software"),
        "gpu": gettext("GPU"),
        "source": gettext("Source"),
    }[by]


def group_title(by: str, name: str) -> str:
    """What a group is called."""
    if by == "gpu":
        return wording.gpu(name, memory=True)
    if by == "software":
        others = {
            "other": gettext("other software"),
            "encoder": gettext("encoders"),
            "encoder-hopper": gettext("encoders, on Hopper"),
        }
        return SOFTWARE.get(name) or others.get(name) or name.replace("megatron-", "Megatron-LM ")
    if by == "kind":
        return kind_title(name.partition(" ")[2] or name)
    return name


def kind_title(name: str) -> str:
    """An operation, or a kind of model."""
    titles = {
        "train": gettext("training"),
        "dense": gettext("dense models"),
        "mixture": gettext("mixtures of experts"),
        "all_reduce": gettext("all-reduce"),
        "custom_all_reduce": gettext("all-reduce of serving engines"),
        "all_gather": gettext("all-gather"),
        "reduce_scatter": gettext("reduce-scatter"),
        "all_to_all": gettext("all-to-all"),
        "expert_exchange": gettext("exchange of experts"),
        "send_recv": gettext("send and receive"),
        "p2p copy unidirectional": gettext("copy between two GPUs"),
        "host_to_device": gettext("copy from host to GPU"),
        "device_to_host": gettext("copy from GPU to host"),
    }
    return titles.get(name, name)


def metric_title(metric: str) -> str:
    """What is drawn."""
    return {
        "tokens/s/GPU": gettext("Training, tokens per second and GPU"),
        "tpot_ms": gettext("Serving, time of a token"),
        "busbw_GB/s": gettext("Collectives, bus bandwidth"),
    }[metric]


def left_open(word: str) -> str:
    """What a row does not say, so that the model had to assume it."""
    return {
        "software": gettext("its software is not known to the model"),
        "precision": gettext("precision not stated"),
        "recompute": gettext("recomputation not stated"),
        "micro_batch": gettext("micro-batch not stated"),
        "layout": gettext("layout not stated"),
        "fabric": gettext("fabric rate not stated"),
        "host": gettext("timed with the host's work, or as a rate of the whole server"),
        "launch": gettext("timed from the host: each launch counts"),
    }[word]


def stratum_title(stratum: str) -> str:
    """GPUs or models whose errors stand together."""
    titles = {
        "moe": gettext("mixtures of experts"),
        "mixture": gettext("mixtures of experts"),
        "dense": gettext("dense models"),
        "other": gettext("other GPUs"),
        "inside": gettext("inside a domain or a node"),
        "across": gettext("across the fabric"),
    }
    return titles.get(stratum, stratum.title())

"""The pages of workloads: the list, and the ranking of clusters by what a job costs on each."""

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from catalog import estimates, phrases, presets, wording
from catalog.charts import shares, whisker
from catalog.left_out import by_kind
from catalog.models import Provider
from catalog.ranking_charts import charts
from catalog.ranking_query import OWN, nearest, readable
from catalog.templatetags.quantities import number, price, whole

OBJECTIVES = {
    "usd_per_mtoken": _("$ per million tokens"),
    "time": _("time"),
    "efficiency": _("scaling efficiency"),
    "gpus": _("fewest GPUs"),
}
PARTS = {
    "compute_s": _("compute"),
    "exposed_tp_s": _("waiting: tensor parallel (TP)"),
    "exposed_pp_s": _("waiting: pipeline (PP)"),
    "bubble_s": _("pipeline bubble"),
    "exposed_dp_s": _("waiting: data parallel (DP)"),
    "exposed_ep_s": _("waiting: experts (EP)"),
    "exposed_cp_s": _("waiting: context parallel (CP)"),
    "optimizer_s": _("optimizer"),
    "jitter_s": _("jitter"),
}
SIZES = (8, 64, 256, 1024)
SHOWN = 50
PATIENCE_S = 1.5  # that a reader waits for the ranking, or else for how far it is
# Each kind of waiting: its ranks, and what stands between two of them; ranks fill a domain first
# (scoring.collectives.group).
WAITING: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "exposed_tp_s": ("tp", ()),
    "exposed_ep_s": ("ep", ()),
    "exposed_cp_s": ("cp", ("tp",)),
    "exposed_dp_s": ("dp", ("tp", "cp")),
    "exposed_pp_s": ("pp", ("tp", "cp", "dp")),
}
IDLE = ("bubble_s", "jitter_s")
COMPUTE = ("compute_s", "optimizer_s")
ORDER = (*COMPUTE, *WAITING, *IDLE)
OVER = 1.005  # scaling that reads as more than 100 %
RECOMPUTE = ("none", "selective", "full")  # more and more of the forward pass


@require_safe
def workloads(request: HttpRequest) -> HttpResponse:
    """Every workload that can be ranked; a form's choice leads on to its page."""
    context = {
        "room": "workloads",
        "workloads": [described(workload) for workload in estimates.workloads()],
        "sizes": SIZES,
        "passed": f"?{passed}" if (passed := urlencode(presets.state(request.GET))) else "",
        "passed_on": f"&{passed}" if passed else "",
    }
    return render(request, "catalog/workloads.html", context)


@require_safe
def ranking(request: HttpRequest, slug: str) -> HttpResponse:
    """Clusters for one workload, best first, with those left out and why."""
    chosen = next((w for w in estimates.workloads() if w["slug"] == slug), None)
    if chosen is None:
        raise Http404
    path = request.path
    has_tokens = chosen["kind"] != "custom"
    now, query, own, problems = readable(request.GET, path, has_tokens=has_tokens)
    title = heading(chosen["title"], own["gpus"], own["nodes"])
    too_much = ""
    until = time.monotonic() + PATIENCE_S
    try:
        result = estimates.rank(slug, query=query, scenarios=True, until=until, **own)
    except estimates.Unfinished as far:
        return waiting(request, title, far)
    except estimates.TooMuch as cap:
        too_much, result = str(cap), {"results": [], "left_out": []}
    first: dict[str, Any] = next(iter(result["results"]), {})
    titles = dict(Provider.objects.values_list("slug", "title"))
    rows = [row_of(each) for each in result["results"][:SHOWN]]
    axis = axis_of(rows)
    for row in rows:
        row["whisker"] = whisker(row["low"], row["value"], row["high"], axis) if axis else ""
    priced = [row for row in rows if row["priced"]]
    dated = bool(priced) and all(row["offer"]["outdated"] for row in priced)
    context = {
        "room": "workloads",
        "workload": described(chosen),
        **{name: own[name] for name in own if name != "what_if"},
        "heading": title,
        "amounts": amounts(now, has_tokens=has_tokens),
        "supposed": own["what_if"],
        "scenarios": [(name, scenario_title(name)) for name in estimates.SCENARIOS],
        "objectives": OBJECTIVES.items(),
        "chips": list(presets.chips(path, now, query, titles)),
        "too_much": too_much,
        "narrow": list(narrower(path, now)),
        "per": per(result["results"]),
        "kept": [pair for pair in now.items() if pair[0] not in OWN],
        "saved_as": presets.link("", {"workload": slug, **_counted(own), **_saved(now)}),
        "problems": problems,
        "rows": rows,
        "all_rows": len(result["results"]),
        "finding": finding(rows, own["objective"]),
        "settled_by": settling(result.get("doubt")),
        "wish": result.get("wish"),
        "nearest": nearest(result.get("nearest"), path, now),
        "what_if": [change(each, path, now) for each in first.get("what_if", ())],
        "advice": first.get("advice"),
        "nccl_tests": first.get("nccl_tests"),
        "dated": dated,
        **charts(result, rows),
        "left_out": by_kind(result["left_out"]),
        "left_out_count": len(result["left_out"]),
        "validation": errors(result.get("validation")),
        "model_version": result.get("model_version"),
    }
    status = 422 if too_much else 400 if problems else 200
    return render(request, "catalog/ranking.html", context, status=status)


def waiting(request: HttpRequest, title: str, far: estimates.Unfinished) -> HttpResponse:
    """How far the ranking is. The browser asks again by itself, and what was computed is kept."""
    context = {"room": "workloads", "heading": title, "done": far.done, "of": far.of}
    response = render(request, "catalog/ranking_wait.html", context)
    response["Refresh"] = "0"
    response["Cache-Control"] = "no-store"
    return response


def _counted(own: Mapping[str, Any]) -> dict[str, str]:
    """The count that is asked for; none where a wish finds it."""
    return {name: str(own[name]) for name in ("gpus", "nodes") if own[name] is not None}


def _saved(now: Mapping[str, str]) -> dict[str, str]:
    """What a comparison keeps of a ranking, besides workload and count: objective and filters."""
    return {name: text for name, text in now.items() if name == "objective" or name not in OWN}


def narrower(path: str, now: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Filters that most rankings want, as one click each."""
    for title, wanted in (presets.PRESETS[2], (_("On demand only"), {"price_model": "on_demand"})):
        if not set(wanted) & set(now) and not (wanted.get("nvlink") and "infiniband" in now):
            yield {"title": str(title), "href": presets.link(path, now, **wanted)}


def described(workload: Mapping[str, Any]) -> dict[str, Any]:
    """A workload with its parameters in one line."""
    job = workload["job"]
    said = [
        gettext("sequence %(n)s") % {"n": number(job["seq_len"])} if job.get("seq_len") else "",
        gettext("prompt %(n)s") % {"n": number(job["prompt_len"])} if job.get("prompt_len") else "",
        gettext("batch %(n)s") % {"n": number(job["global_batch"])}
        if job.get("global_batch")
        else "",
        gettext("at most %(n)s ms a token") % {"n": number(job["max_tpot_ms"])}
        if job.get("max_tpot_ms")
        else "",
        str(job.get("precision", "")).upper(),
    ]
    return {
        **workload,
        "title": phrases.said(workload["title"]),
        "parameters": ", ".join(filter(None, said)),
    }


# --- The form ---------------------------------------------------------------------------------


def heading(title: str, gpus: int | None, nodes: int | None = None) -> str:
    """What is ranked: on a count of GPUs or instances, or on the fewest that do."""
    title = phrases.said(title)
    if nodes is not None:
        return gettext("%(title)s on %(n)s instances") % {"title": title, "n": nodes}
    if gpus is None:
        return gettext("%(title)s: the fewest GPUs that do") % {"title": title}
    return gettext("%(title)s on %(n)s GPUs") % {"title": title, "n": gpus}


def amounts(now: Mapping[str, str], *, has_tokens: bool) -> list[dict[str, str]]:
    """The fields of the form for how much there is to do, by when, for how much."""
    work = ("tokens", gettext("Tokens"), "1T") if has_tokens else ("steps", gettext("Steps"), "1M")
    fields = (
        ("hours", gettext("Hours"), gettext("any")),
        work,
        ("deadline_hours", gettext("Within hours"), "720"),
        ("budget_usd", gettext("Budget, $"), "2M"),
    )
    return [
        {"name": name, "title": title, "hint": hint, "value": now.get(name, "")}
        for name, title, hint in fields
    ]


def scenario_title(name: str) -> str:
    """A scenario in words."""
    titles = {
        "rdma_off": gettext("without GPUDirect RDMA"),
        "sockets": gettext("TCP sockets instead of RDMA"),
        "oversubscribed_2_to_1": gettext("oversubscribed 2:1"),
        "half_the_nics": gettext("half the NICs"),
        "twice_the_fabric": gettext("twice the fabric rate"),
        "roce": gettext("RoCE instead of InfiniBand"),
        "infiniband": gettext("InfiniBand instead"),
        "domain_72": gettext("a domain of 72 GPUs"),
        "domain_8": gettext("domains of 8 GPUs"),
        "second_site": gettext("half of it in another data centre"),
    }
    return titles.get(name, name)


def change(held: Mapping[str, Any], path: str, now: Mapping[str, str]) -> dict[str, Any]:
    """A scenario as its row shows it: time and money beside what they are."""
    ratio = held["time_ratio"]
    return {
        "title": scenario_title(held["scenario"]),
        "href": presets.link(path, now, what_if=held["scenario"]),
        "percent": None if ratio is None else _signed(100 * (ratio - 1), 1),
        "usd_per_mtoken": held["usd_per_mtoken"],
        "even": held["break_even_usd_per_gpu_hour"],
        "premium": None
        if held["premium_usd_per_gpu_hour"] is None
        else _signed(held["premium_usd_per_gpu_hour"], 2),
    }


def _signed(value: float, digits: int) -> str:
    """With its sign; what rounds to nothing has none."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def settling(doubt: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The one fact to ask for, with its name in words."""
    said = (doubt or {}).get("settled_by")
    return said and {**said, "fact": wording.title(said["fact"])}


# --- Rows -------------------------------------------------------------------------------------


def row_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """One cluster as its row shows it."""
    estimate, offer = result["estimate"], result["offer"]
    time = estimate["time"]
    expected = estimate["step_time_s"] or 1
    value, low, high = price_range(result)
    inside, between = waits(estimate, offer)
    crosses = any(sent["crossing_bytes"] for sent in estimate.get("collectives") or ())
    parts_s = (_sum(time, COMPUTE), inside, between, _sum(time, IDLE))
    return {
        "rank": result["rank"],
        "offer": offer,
        "nodes": result["nodes"],
        "estimate": estimate,
        "priced": value is not None,
        "value": value or 0.0,
        "low": low,
        "high": high,
        "lost": result["usd_lost_to_waiting_per_hour"],
        "terms": terms(result),
        "goodput": result["goodput"],
        "starved": starved(estimate),
        "asks": offer["fabric_gbits_per_s_per_gpu"] is None and crosses,
        "besides": besides(result["besides"]),
        "parts_s": parts_s,
        "shares": shares(*parts_s),
        "waiting": (inside + between) / expected,
        "layout": layout_text(estimate.get("layout") or {}),
        "parts": [(kind_title(name), time[name]) for name in ORDER if time.get(name)],
        "collectives": estimate.get("collectives") or [],
    }  # fmt: skip


def starved(estimate: Mapping[str, Any]) -> str:
    """Why a GPU does more here than on the fewest that hold the job; empty where it does not."""
    start = estimate.get("scaling_from")
    if not start or estimate["scaling_efficiency"] < OVER:
        return ""
    levels = [layout.get("recompute", "none") for layout in (start["layout"], estimate["layout"])]
    if RECOMPUTE.index(levels[0]) > RECOMPUTE.index(levels[1]):
        return gettext("over 100: the smallest count, %(n)s GPUs, must recompute") % {
            "n": number(start["gpus"])
        }
    return gettext("over 100: the smallest count, %(n)s GPUs, has little memory to spare") % {
        "n": number(start["gpus"])
    }


def terms(result: Mapping[str, Any]) -> str:
    """What the whole job costs, and the least time that is billed for."""
    least, billed = result["offer"]["minimum_hours"], result["hours_billed"]
    said = []
    if result["usd_for_the_job"] is not None:
        hours = number(billed if billed < 10 else round(billed))
        paid = {"usd": whole(result["usd_for_the_job"]), "hours": hours}
        said.append(gettext("$%(usd)s for %(hours)s h") % paid)
    if least:
        said.append(gettext("%(hours)s h at least") % {"hours": number(least)})
    return ", ".join(said)


def besides(extras: Mapping[str, Any]) -> str:
    """What storage and egress cost besides, as far as anyone says."""
    storage, egress = extras["storage_usd_per_gb_month"], extras["egress_usd_per_gb"]
    said = [
        gettext("storage unknown")
        if storage is None
        else gettext("storage $%(usd)s per GB-month") % {"usd": number(storage)},
        gettext("egress unknown")
        if egress is None
        else gettext("egress free")
        if not egress
        else gettext("egress $%(usd)s per GB") % {"usd": number(egress)},
    ]
    return gettext("Not in the price: %(all)s.") % {"all": ", ".join(said)}


def waits(estimate: Mapping[str, Any], offer: Mapping[str, Any]) -> tuple[float, float]:
    """Seconds of waiting inside the domain (or the instance), and on the fabric.

    A kind waits inside where the whole of each of its groups fits there.
    """
    layout = estimate.get("layout") or {}
    near = max(float(offer["scale_up_domain_gpus"] or 1), float(offer["gpu_count"] or 1))
    inside = between = 0.0
    for kind, (ranks, strides) in WAITING.items():
        span = math.prod(float(layout.get(name) or 1) for name in (ranks, *strides))
        seconds = float(estimate["time"].get(kind) or 0)
        if span <= near:
            inside += seconds
        else:
            between += seconds
    return inside, between


def price_range(result: Mapping[str, Any]) -> tuple[float | None, float, float]:
    """Expected, low and high: of a million tokens, or of 1,000 steps where a job has no tokens."""
    tokens, step = result["usd_per_mtoken"], result.get("usd_per_step")
    expected_usd = tokens if tokens is not None else step and 1000 * step
    if expected_usd is None:
        return None, 0.0, 0.0
    own, expected = result["estimate"]["interval"], result["estimate"]["step_time_s"] or 1
    usd = float(expected_usd)
    low, high = (usd * float(own[end]) / expected for end in ("low", "high"))
    return usd, low, high


def per(results: Sequence[Mapping[str, Any]]) -> str:
    """What a price is of."""
    if any(result["usd_per_mtoken"] is not None for result in results) or not results:
        return gettext("per million tokens")
    return gettext("per 1,000 steps")


def _sum(time: Mapping[str, Any], names: Sequence[str]) -> float:
    return sum(float(time.get(name) or 0) for name in names)


def layout_text(layout: Mapping[str, Any]) -> str:
    """TP 8 · PP 2 · DP 16: only what splits anything, and how."""
    splits = [f"{name.upper()} {layout[name]}" for name in ("tp", "pp", "dp", "cp", "ep")
              if (layout.get(name) or 1) > 1]  # fmt: skip
    said = splits or [gettext("one GPU holds it")]
    if layout.get("micro_batch"):
        said.append(gettext("micro-batch %(n)s") % {"n": layout["micro_batch"]})
    if layout.get("zero_stage"):
        said.append(f"ZeRO-{layout['zero_stage']}")
    return " · ".join(said)


def kind_title(name: str) -> str:
    """A part of the step's time in words."""
    return str(PARTS.get(name, name))


def axis_of(rows: Sequence[Mapping[str, Any]]) -> tuple[float, float] | None:
    """The range that all whiskers of the column share."""
    priced = [row for row in rows if row["priced"]]
    if not priced:
        return None
    return min(row["low"] for row in priced), max(row["high"] for row in priced)


def finding(rows: Sequence[Mapping[str, Any]], objective: str) -> dict[str, Any] | None:
    """What is best, how much of its time it waits, and who could overturn it."""
    if not rows:
        return None
    first, rivals = rows[0], []
    if objective == "usd_per_mtoken" and first["priced"]:
        rivals = [row for row in rows[1:] if row["priced"] and row["low"] < first["high"]]
    return {
        "first": first,
        "price": price(first["value"]),
        "waiting": number(round(100 * first["waiting"])),
        "rivals": rivals[:3],
        "rival_count": len(rivals),
    }


def errors(validation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The model's measured error in whole percent: from ln(predicted / measured)."""
    if not validation or validation.get("median_abs_error") is None:
        return None
    return {
        "median": f"{100 * validation['median_abs_error']:.1f}",
        "p90": f"{100 * validation['p90_abs_error']:.1f}",
        "rows": validation["rows"],
        "configurations": validation.get("configurations", validation["rows"]),
    }

"""The rows of a ranking: as a page shows them, and as a file holds them, of the same figures."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from catalog.charts import shares, whisker
from catalog.currency import Money
from catalog.templatetags.quantities import number, price, whole

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

DOLLARS = Money()


# --- As a page shows them ---------------------------------------------------------------------


def page_of(results: Sequence[Mapping[str, Any]], money: Money) -> list[dict[str, Any]]:
    """These clusters as rows, whose whiskers share an axis."""
    rows = [row_of(result, money) for result in results]
    axis = axis_of(rows)
    for row in rows:
        row["whisker"] = whisker(row["low"], row["value"], row["high"], axis) if axis else ""
    return rows


def row_of(result: Mapping[str, Any], money: Money = DOLLARS) -> dict[str, Any]:
    """One cluster as its row shows it, its amounts in that money."""
    estimate, offer = result["estimate"], result["offer"]
    time = estimate["time"]
    expected = estimate["step_time_s"] or 1
    value, low, high = (money.amount(usd, offer) for usd in price_range(result))
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
        "low": low or 0.0,
        "high": high or 0.0,
        "lost": money.amount(result["usd_lost_to_waiting_per_hour"], offer),
        "terms": terms(result, money),
        "failures_percent": _lost(result["goodput"]["share"]),
        "starved": starved(estimate),
        "rated": offer["fabric_gbits_per_s_per_gpu"] is not None
        or offer["fabric"] not in {None, "none"},
        "asks": offer["fabric_gbits_per_s_per_gpu"] is None and crosses,
        "besides": besides(result["besides"]),
        "over": (estimate["scaling_efficiency"] or 0) >= OVER,
        "parts_s": parts_s,
        "shares": shares(*parts_s),
        "waiting": (inside + between) / expected,
        "layout": layout_text(estimate.get("layout") or {}),
        "parts": [(kind_title(name), time[name]) for name in ORDER if time.get(name)],
        "collectives": estimate.get("collectives") or [],
        "warnings": estimate.get("warnings") or [],
    }  # fmt: skip


def _lost(share: float | None) -> float | None:
    """What failures take of the time, in hundredths; None where an older answer did not keep it."""
    return None if share is None else 100 * (1 - share)


def starved(estimate: Mapping[str, Any]) -> str:
    """Why a GPU does more here than on the fewest that hold the job; empty where it does not."""
    start = estimate.get("scaling_from")
    if not start or (estimate["scaling_efficiency"] or 0) < OVER:
        return ""
    levels = [layout.get("recompute", "none") for layout in (start["layout"], estimate["layout"])]
    count = {"n": number(start["gpus"])}
    if RECOMPUTE.index(levels[0]) > RECOMPUTE.index(levels[1]):
        return (
            ngettext(
                "Scaling is over 100 %%: the smallest count, %(n)s GPU, must recompute.",
                "Scaling is over 100 %%: the smallest count, %(n)s GPUs, must recompute.",
                start["gpus"],
            )
            % count
        )
    return (
        ngettext(
            "Scaling is over 100 %%: the smallest count, %(n)s GPU, has little memory to spare.",
            "Scaling is over 100 %%: the smallest count, %(n)s GPUs, has little memory to spare.",
            start["gpus"],
        )
        % count
    )


def terms(result: Mapping[str, Any], money: Money = DOLLARS) -> str:
    """What the whole job costs, and the least time that is billed for."""
    least, billed = result["offer"]["minimum_hours"], result["hours_billed"]
    said = []
    if result["usd_for_the_job"] is not None:
        hours = number(billed if billed < 10 else round(billed))
        paid = whole(money.amount(result["usd_for_the_job"], result["offer"]))
        said.append(
            gettext("%(amount)s for %(hours)s h") % {"amount": money.said(paid), "hours": hours}
        )
    if least:
        said.append(gettext("%(hours)s h at least") % {"hours": number(least)})
    return gettext(", ").join(said)


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
    return gettext("Not in the price: %(all)s.") % {"all": gettext(", ").join(said)}


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


NAME = ("provider", "instance_type", "tier", "price_model")  # as `doubt` names a rival


def finding(
    rows: Sequence[Mapping[str, Any]], objective: str, doubt: Mapping[str, Any] | None, money: Money
) -> dict[str, Any] | None:
    """What is best, how much of its time it waits, and who could overturn it."""
    if not rows:
        return None
    first, undecided, rivals = rows[0], (doubt or {}).get("rivals") or [], []
    if undecided and objective == "usd_per_mtoken" and first["priced"]:
        names = [{key: each[key] for key in NAME} for each in undecided]
        rivals = [row for row in rows if {key: row["offer"][key] for key in NAME} in names]
    return {
        "first": first,
        "price": price(first["value"], money.code),
        "waiting": number(round(100 * first["waiting"])),
        "rivals": rivals[:3],
        "rival_count": len(undecided),
    }


# --- As a file holds them ---------------------------------------------------------------------


def fields(results: Sequence[Mapping[str, Any]], money: Money) -> tuple[str, ...]:
    """The columns of the file: each is named with its unit."""
    return tuple(record(results[0], money)) if results else ("rank",)


def record(result: Mapping[str, Any], money: Money) -> dict[str, Any]:
    """One cluster, every figure that its row shows; of another currency beside the dollars."""
    estimate, offer, row = result["estimate"], result["offer"], row_of(result)
    compute, inside, between, idle = row["parts_s"]
    return {
        "rank": result["rank"],
        **{name: offer[name] for name in ("provider", "via", "instance_type", "tier", "region",
                                          "price_model")},
        "nodes": result["nodes"],
        "gpus": estimate["gpus"],
        "gpu": offer["gpu"],
        "gpu_count": _whole(offer["gpu_count"]),
        **dict(_amounts(result, money)),
        "collected_at": offer["collected_at"],
        "outdated": offer["outdated"],
        "fabric": offer["fabric"],
        "fabric_gbits_per_s_per_gpu": offer["fabric_gbits_per_s_per_gpu"],
        "tokens_per_s_per_gpu": estimate["tokens_per_s_per_gpu"],
        "scaling_percent": 100 * estimate["scaling_efficiency"],
        "step_time_s": estimate["step_time_s"],
        "compute_s": compute,
        "waiting_inside_s": inside,
        "waiting_on_the_fabric_s": between,
        "bubble_and_jitter_s": idle,
        "limited_by": estimate["limited_by"],
    }  # fmt: skip


def _amounts(result: Mapping[str, Any], money: Money) -> Iterator[tuple[str, float | None]]:
    """What is paid, in dollars and then in the currency asked for, by names as the API has them."""
    has_tokens = result["usd_per_mtoken"] is not None or result["estimate"]["tokens_per_s_per_gpu"]
    unit = "mtoken" if has_tokens else "1000_steps"
    expected, low, high = price_range(result)
    known = expected is not None
    for each in dict.fromkeys((DOLLARS, money)):
        for end, usd in (("", expected), ("_low", low if known else None),
                         ("_high", high if known else None)):  # fmt: skip
            yield f"{each.prefix}_per_{unit}{end}", each.amount(usd, result["offer"])
        lost = each.amount(result["usd_lost_to_waiting_per_hour"], result["offer"])
        yield f"{each.prefix}_lost_to_waiting_per_hour", lost


def _whole(value: Any) -> Any:
    """8.0 GPUs are 8, as in the API."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

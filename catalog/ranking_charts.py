"""What the ranking page draws of its first clusters: growth, serving's frontier, a step's parts.

Each drawing comes with its finding as a sentence and its numbers as a table.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext

from catalog import plots, wording
from catalog.templatetags.cells import gpu_short
from catalog.templatetags.quantities import number

MOST_POINTS = 8  # of one line of serving's table
Curves = Sequence[dict[str, Any]]


def charts(result: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All of them; None for each that has nothing to show."""
    return {
        "growth": growth(result.get("growth") or ()),
        "frontier": frontier(result.get("frontier") or ()),
        "breakdown": breakdown(rows),
    }


def named(curves: Curves) -> Curves:
    """Each with a name; two of one name get their type's as well."""
    names = [_name(curve) for curve in curves]
    return [
        {
            **curve,
            "name": name if names.count(name) == 1 else f"{name} {curve['instance_type']}",
        }
        for curve, name in zip(curves, names, strict=True)
    ]


def _name(offer: Mapping[str, Any]) -> str:
    """H100 InfiniBand 400: what decides its time."""
    fabric = offer["fabric"]
    rate = offer["fabric_gbits_per_s_per_gpu"]
    if fabric is None:
        said = gettext("fabric unknown")
    elif fabric == "none":
        said = gettext("no fabric")
    else:
        said = f"{wording.word('fabric', fabric)} {number(rate) or '?'}"
    return f"{gpu_short(offer['gpu'])} {said}"


# --- As the job grows -------------------------------------------------------------------------


def growth(curves: Curves) -> dict[str, Any] | None:
    """The curves of fabric efficiency, where at least one has two points."""
    curves = list(told_once(named(curves)))
    counts = sorted({point["gpus"] for curve in curves for point in curve["points"]})
    if len(counts) < 2 or not any(p["fits"] for curve in curves for p in curve["points"]):
        return None
    finding = _growth_said(curves)
    rows = []
    for index, curve in enumerate(curves):
        at = {point["gpus"]: point for point in curve["points"]}
        rows.append((index + 1, curve, [at.get(count) for count in counts]))
    return {
        "drawing": plots.scaling(curves, finding),
        "finding": finding,
        "counts": counts,
        "rows": rows,
        "measured": [(curve, run) for curve in curves for run in curve["measured"]],
        "unknown": gettext("; ").join(_open(curve) for curve in curves if curve["unknown"]),
        "unfit": any(not point["fits"] for curve in curves for point in curve["points"]),
    }


def _open(curve: Mapping[str, Any]) -> str:
    """Which facts of a cluster are unknown or disputed."""
    return gettext("%(name)s (%(facts)s)") % {
        "name": curve["name"],
        "facts": gettext(", ").join(wording.title(fact) for fact in curve["unknown"]),
    }


def told_once(curves: Curves) -> Iterator[dict[str, Any]]:
    """The curves, each measured run with the first of them that it belongs to."""
    told = set[tuple[str, int]]()
    for curve in curves:
        new = [run for run in curve["measured"] if (run["series"], run["gpus"]) not in told]
        told |= {(run["series"], run["gpus"]) for run in new}
        yield {**curve, "measured": new}


def _growth_said(curves: Curves) -> str:
    """Who keeps most and who least at the largest count that fits."""
    ends = []
    for curve in curves:
        fitting = [point for point in curve["points"] if point["fits"]]
        if fitting:
            ends.append((fitting[-1]["fabric_efficiency"], fitting[-1]["gpus"], curve["name"]))
    (share, gpus, best), (least, at, worst) = max(ends), min(ends)
    said = ngettext(
        "On %(gpus)s GPU %(name)s keeps %(share)s %% of what one domain would give",
        "On %(gpus)s GPUs %(name)s keeps %(share)s %% of what one domain would give",
        gpus,
    ) % {"gpus": number(gpus), "name": best, "share": round(100 * share)}
    if best == worst:
        return f"{said}{gettext('.')}"
    return gettext("%(said)s, %(name)s on %(gpus)s keeps %(share)s %%.") % {
        "said": said, "name": worst, "gpus": number(at), "share": round(100 * least),
    }  # fmt: skip


# --- Serving ----------------------------------------------------------------------------------


def frontier(curves: Curves) -> dict[str, Any] | None:
    """Throughput of a GPU against speed for one reader."""
    curves = [curve for curve in named(curves) if curve["points"]]
    if not curves:
        return None
    fastest = max(curves, key=lambda curve: curve["points"][0]["tokens_per_s_per_user"])
    most = max(curves, key=lambda curve: curve["points"][-1]["tokens_per_s_per_gpu"])
    finding = gettext(
        "%(fast)s is fastest for one reader, with %(speed)s tokens/s; %(most)s gives most in all, "
        "with %(rate)s tokens/s a GPU."
    ) % {
        "fast": fastest["name"],
        "speed": number(round(fastest["points"][0]["tokens_per_s_per_user"])),
        "most": most["name"],
        "rate": number(round(most["points"][-1]["tokens_per_s_per_gpu"])),
    }
    rows = [(index + 1, curve, thinned(curve["points"])) for index, curve in enumerate(curves)]
    return {"drawing": plots.frontier(curves, finding), "finding": finding, "rows": rows}


def thinned(points: Sequence[Any], most: int = MOST_POINTS) -> list[Any]:
    """Both ends, and some between at even steps."""
    if len(points) <= most:
        return list(points)
    return [points[round(n * (len(points) - 1) / (most - 1))] for n in range(most)]


# --- Where a step goes ------------------------------------------------------------------------


def breakdown(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Of the first clusters that differ in it, the parts of a step in percent."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = _name(row["offer"]), f"{row['estimate']['step_time_s']:.3g}"
        found.setdefault(key, {
            "name": key[0],
            "title": f"{row['offer']['provider_title']} {row['offer']['instance_type']}",
            "step_s": row["estimate"]["step_time_s"],
            "shares": row["shares"],
            "percents": [100 * part / (sum(row["parts_s"]) or 1) for part in row["parts_s"]],
        })  # fmt: skip
    return list(found.values())[:5]

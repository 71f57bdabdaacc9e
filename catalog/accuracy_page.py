"""The page of the model's errors: how far it was from what others measured."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog import estimates, wording


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
    context = {"room": "learn", "version": known["version"], "measured": measured, "ranges": ranges}
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

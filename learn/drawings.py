"""Drawings on the pages of words, each of instance types that are on offer today."""

from collections.abc import Mapping, Sequence
from math import log2
from typing import Any

from django.utils.translation import gettext

from catalog.charts import WIDTH, Drawing, kept_in, text_width
from catalog.templatetags.quantities import number
from catalog.topology import topology
from learn import model
from learn.words import Word

MOST_GPUS = 512  # at the right edge of the cliff's axis
LEFT, RIGHT, TOP, BOTTOM = 34, 350, 22, 150
RACK = "nvlink_domain_gpus_min=32&fabric_gbits_per_s_per_gpu_min=1&scale_up_gbytes_per_s_min=1"


def drawing(word: Word, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What a word is drawn as: one of its examples from links to fabric, or the cliff."""
    if word.drawing == "cliff":
        return cliff(falls())
    known = [row for row in rows if row["scale_up"] and row["gpu_count"]]
    if word.drawing != "topology" or not known:
        return None
    best = max(known, key=lambda row: (row["scale_up_gbytes_per_s"] is not None,
                                       row["fabric_gbits_per_s_per_gpu"] is not None))  # fmt: skip
    return {"svg": topology(best), "of": best}


def falls() -> list[Mapping[str, Any]]:
    """The cheapest box with InfiniBand, and the cheapest of a larger domain, both sides known."""
    offers = (model.cheapest(query) for query in (model.CLUSTER, RACK))
    return [o for o in offers if o and o["cliff"]]


def cliff(offers: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Bandwidth of one GPU to its peers against the GPUs of a job: it falls where a domain ends."""
    if not offers:
        return None
    highest = max(float(offer["scale_up_gbytes_per_s"]) for offer in offers)
    paper = Drawing()

    def x(gpus: float) -> float:
        return LEFT + (RIGHT - LEFT) * (log2(gpus) - 1) / (log2(MOST_GPUS) - 1)

    def y(gbytes_per_s: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * gbytes_per_s / highest

    paper.line(f"M{LEFT} {BOTTOM}H{RIGHT}", "sl")
    for gpus in (2, 8, 32, 128, MOST_GPUS):
        middle = kept_in(x(gpus), text_width(number(gpus)) / 2, WIDTH)
        paper.text(round(middle, 1), BOTTOM + 16, number(gpus), "q mid")
    paper.text(RIGHT, BOTTOM + 32, gettext("GPUs of one job"), "q e")
    paper.text(LEFT, 12, gettext("GB/s of one GPU, one way"), "q")
    said = []
    for index, offer in enumerate(offers):
        domain = min(float(offer["nvlink_domain_gpus"] or offer["gpu_count"]), MOST_GPUS)
        inside = float(offer["scale_up_gbytes_per_s"])
        across = float(offer["fabric_gbits_per_s_per_gpu"]) / 8
        dash = " dash" if index else ""
        paper.line(f"M{x(2):.1f} {y(inside):.1f}H{x(domain):.1f}", "si", 3)
        paper.line(f"M{x(domain):.1f} {y(inside):.1f}V{y(across):.1f}", f"se{dash}")
        paper.line(f"M{x(domain):.1f} {y(across):.1f}H{RIGHT}", f"so{dash}", 3)
        name, place = f"{number(inside)}, ≤ {number(domain)} GPU", (x(domain) + 5, y(inside) + 4)
        if (room := WIDTH - text_width(name, bold=True)) < place[0]:  # else above its own line
            place = room, y(inside) - 5
        paper.text(round(place[0], 1), round(place[1], 1), name, "b")
        said.append(gettext("%(inside)s GB/s up to %(domain)s GPUs, then %(across)s") % {
            "inside": number(inside), "domain": number(domain), "across": number(across),
        })  # fmt: skip
    told = gettext("; ").join(said)
    return {"svg": paper.svg(BOTTOM + 38, "topo", told), "said": told}

"""InfiniBand or Ethernet, asked of the catalog: performance from the model, the rest as stated.

What a buyer weighs besides time and money (lock-in, the Ethernet that is there, power) has no
figure here: each axis says who states what, and where nobody does, that it is unknown.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import Http404
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

import scoring
from catalog.kept import kept_or_made
from catalog.models import InstanceType, Workload
from catalog.offers import of_type
from catalog.query import BadQuery
from catalog.questions import MOST_GPUS, PHYSICS, job_of

USUAL = (1_000, 10_000)
MOST_COUNTS = 6
REFERENCE = "dgx-h100-ndr"  # of scoring's clusters, where no type is named
# Axis, what is said of it, by whom. All read 2026-11-29.
AXES = (
    (
        _("Lock-in"),
        _("SHARP, the sum in the switch, is listed for NVIDIA's InfiniBand switches alone."),
        "https://docs.nvidia.com/networking/display/sharpv3130/general-information",
    ),
    (
        _("Lock-in"),
        _("A consultant's comparison: InfiniBand ties its owner to one vendor's roadmap."),
        "https://introl.com/blog/infiniband-vs-ethernet-gpu-clusters-800g-architecture",
    ),
    (
        _("Existing Ethernet"),
        _(
            "Meta chose RoCE for one of two clusters of 24,000 H100 because it was quick to build "
            "with what it knew, though its largest until then had 4,000 GPUs."
        ),
        "https://sysdesign-wiki.pages.dev/systems/meta-genai-cluster-roce/",
    ),
    (
        _("Existing Ethernet"),
        _("Meta reports both, RoCE and InfiniBand, without network bottlenecks after tuning."),
        "https://itnetworkingprotoday.com/infiniband/network/udp-port",
    ),
    (
        _("Power"),
        _("A port of a Quantum-2 InfiniBand switch takes optics of up to 17 W."),
        "https://docs.nvidia.com/networking/display/QM97X0PUB/Interfaces",
    ),
    (
        _("Power"),
        _("A port of a Spectrum-4 Ethernet switch (SN5600), as fast, takes optics of up to 18 W."),
        "https://docs.nvidia.com/networking/display/sn5000/data+interfaces",
    ),
    (_("Power"), _("What the switches themselves take is unknown here: no source was found."), ""),
)


def answer(
    slug: str, counts: Sequence[int] = USUAL, provider: str = "", name: str = ""
) -> dict[str, Any]:
    """Each network at each count, for a preset workload on the GPUs of one type.

    Raises
    ------
    Http404
        Where there is no such workload or type.
    BadQuery
        Where the type cannot be estimated.
    """
    if not Workload.objects.filter(slug=slug).exists():
        raise Http404(f"There is no workload {slug}.")
    fields, usd = _machine(provider, name) if provider or name else (_reference(), None)
    asked = ("networks", slug, tuple(counts), provider, name)
    made: dict[str, Any] = kept_or_made(asked, lambda: _made(slug, fields, counts, usd))
    return made | {"provider": provider or None, "instance_type": name or None}


def _made(
    slug: str, fields: Mapping[str, Any], counts: Sequence[int], usd: float | None
) -> dict[str, Any]:
    try:
        found = scoring.networks(fields, job_of(slug), counts)
    except scoring.FieldError as problem:
        raise BadQuery({problem.field: [str(problem)]}) from None
    assumed = [
        gettext("Each network at the same rate per GPU, the global batch as the preset has it.")
    ]
    if any(each.gpus != each.wanted for each in found):
        assumed.append(
            gettext(
                "Where the job does not run on a count, the one near it is taken that does best."
            )
        )
    return {
        "workload": slug,
        "gpu": fields["gpu"],
        "fabric_gbits_per_s": _rate(fields),
        "usd_per_gpu_hour": usd,
        "model_version": scoring.MODEL_VERSION,
        "assumptions": assumed,
        "results": [each.as_json(usd) for each in found],
        "axes": [
            {"axis": str(axis), "said": str(said), "source": source} for axis, said, source in AXES
        ],
    }


def _rate(fields: Mapping[str, Any]) -> float:
    """Of one instance, one way. [Gbit/s]"""
    cluster = scoring.Cluster.from_fields(fields)
    return round(cluster.nic_bytes_per_s * cluster.gpu_count * 8 / 1e9, 3)


def _reference() -> dict[str, Any]:
    return dict(scoring.cluster_fields(REFERENCE))


def _machine(provider: str, name: str) -> tuple[dict[str, Any], float | None]:
    """The facts of a type, and what a GPU-hour of it costs at the least on demand."""
    kind = InstanceType.objects.filter(provider=provider, name=name).first()
    if kind is None:
        raise Http404(f"The catalog has no {provider}/{name}.")
    if kind.gpu_id is None or not kind.gpu_count:
        raise BadQuery({"instance_type": ["nobody says which GPUs it has, or how many."]})
    fields = {each: getattr(kind, each) for each in PHYSICS if each != "gpu"}
    prices = [
        float(offer["usd_per_gpu_hour"])
        for offer in of_type(kind.pk)
        if offer["price_model"] == "on_demand" and offer["usd_per_gpu_hour"] is not None
    ]
    return {"gpu": kind.gpu_id, **fields}, min(prices, default=None)


def counts_of(text: str) -> tuple[int, ...]:
    """GPU counts as an address has them: "1000,10000".

    Raises
    ------
    BadQuery
        Where they are no such numbers.
    """
    words = [word.strip() for word in text.split(",") if word.strip()]
    fine = all(word.isascii() and word.isdigit() and len(word) < 7 for word in words)
    if not words or not fine or len(words) > MOST_COUNTS:
        raise BadQuery({"gpus": [f"must be up to {MOST_COUNTS} whole numbers, by commas."]})
    counts = tuple(dict.fromkeys(int(word) for word in words))
    if not all(1 <= count <= MOST_GPUS for count in counts):
        raise BadQuery({"gpus": [f"must each be from 1 to {MOST_GPUS}."]})
    return counts

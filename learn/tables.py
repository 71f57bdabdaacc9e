"""Tables of figures on the pages of words: counts of the catalog, and answers of the cost model."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, log2
from typing import Any

from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from catalog import wording
from catalog.filters import FACETS
from catalog.models import Gpu, InstanceType
from catalog.ranking import scenario_title
from catalog.records import FabricKind, ScaleUp, Support
from catalog.templatetags.cells import instance_href
from catalog.templatetags.quantities import duration, figure, number
from learn import model
from learn.drawings import falls
from learn.figures import counted

Cell = str | SafeString


@dataclass(frozen=True, slots=True)
class Table:
    """A caption, its headings (of the first column, then of numbers), rows, and what to know."""

    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: Cell = ""


def table(name: str) -> Table | None:
    """The table of this name; None where a word has none, or no figure for it today."""
    made = TABLES[name]() if name else None
    return made if made and made.rows else None


# --- Counts of the catalog ----------------------------------------------------------------------


def generations() -> Table:
    """NVLink by generation: GPUs that have so many GB/s, and the offers of them."""
    same: dict[tuple[int, float], list[str]] = defaultdict(list)
    known = Gpu.objects.exclude(nvlink_generation=None).exclude(scale_up_gbytes_per_s=None)
    for gpu in known.order_by("slug"):
        same[int(gpu.nvlink_generation or 0), float(gpu.scale_up_gbytes_per_s or 0)].append(
            gpu.slug
        )
    rows = []
    for (generation, rate), slugs in sorted(same.items()):
        names = ", ".join(dict.fromkeys(wording.gpu(slug) for slug in slugs))
        offers = count_link(f"gpu={','.join(slugs)}")
        rows.append((names, str(generation), number(rate), number(2 * rate), offers))
    headings = (
        gettext("GPU"), gettext("NVLink generation"), gettext("GB/s, one way"),
        gettext("GB/s as printed, both ways"), gettext("Offers"),
    )  # fmt: skip
    return Table(gettext("NVLink of one GPU, to all its peers together"), headings, rows)


def joined() -> Table:
    """Ways of joining the GPUs of an instance, by the offers of several GPUs."""
    return _by_word("scale_up", ScaleUp, gettext("How the GPUs are joined"), "gpu_count_min=2")


def fabrics() -> Table:
    """Networks between instances, by the offers that have them."""
    return _by_word("fabric", FabricKind, gettext("Fabric"), "")


def rdma() -> Table:
    """GPUDirect RDMA: yes, conditional, no, and nobody says."""
    return _by_word("gpudirect_rdma", Support, gettext("GPUDirect RDMA"), "")


def _by_word(field: str, values: Any, title: str, narrowed: str) -> Table:
    unknown = 0
    rows: list[Sequence[Cell]] = []
    for value in values:
        query = "&".join(filter(None, (f"{field}={value.value}", narrowed)))
        rows.append((wording.word(field, value.value), count_link(query)))
        unknown = counted(query).left_out
    rows.append((gettext("unknown"), number(unknown)))
    return Table(gettext("Offers by what they say"), (title, gettext("Offers")), rows)


def domains() -> Table:
    """NVLink domains of at least so many GPUs."""
    name = "nvlink_domain_gpus_min"
    rows = [(f"≥ {size}", count_link(f"{name}={size}")) for size in reversed(FACETS[name])]
    return Table(
        gettext("Offers by the size of their NVLink domain"),
        (gettext("GPUs in the domain"), gettext("Offers")),
        rows,
    )


def infiniband_speeds() -> Table:
    """InfiniBand of at least so many Gb/s for each GPU."""
    name = "fabric_gbits_per_s_per_gpu_min"
    rows = [
        (f"≥ {speed}", count_link(f"infiniband=true&{name}={speed}"))
        for speed in reversed(FACETS[name])
    ]
    return Table(
        gettext("Offers with InfiniBand, by speed"),
        (gettext("Gb/s per GPU, one way"), gettext("Offers")),
        rows,
        gettext("An offer whose speed nobody states is in none of the rows."),
    )


def rails() -> Table:
    """What is known of the wiring of fabrics: instance types, by what is said."""
    with_fabric = InstanceType.objects.exclude(fabric=None).exclude(fabric="none")
    rows = []
    for field, title in (
        ("rail_optimised", gettext("Rail-optimised wiring")),
        ("oversubscription", gettext("Oversubscription")),
        ("adaptive_routing", gettext("Adaptive routing")),
    ):
        known = with_fabric.exclude(**{field: None}).count()
        rows.append((title, number(known), number(with_fabric.count() - known)))
    return Table(
        gettext("Instance types with a fabric, by what is known of its wiring"),
        (gettext("Fact"), gettext("known"), gettext("unknown")),
        rows,
    )


def count_link(query: str) -> SafeString:
    """How many offers a query lists, as a link to them."""
    return _link(f"/?{query}", number(counted(query).rows))


# --- Arithmetic ---------------------------------------------------------------------------------


def ring_and_tree() -> Table:
    """Messages that follow one another, and bytes that a GPU sends, in a ring and in two trees."""
    rows = [
        (
            number(n),
            number(2 * (n - 1)),
            number(2 * ceil(log2(n))),
            f"{2 * (n - 1) / n:.3f} S",
            "2 S",
        )
        for n in (4, 8, 64, 512, 4096)
    ]
    headings = (
        gettext("GPUs n"), gettext("Ring: steps 2(n−1)"), gettext("Tree: steps 2⌈log₂ n⌉"),
        gettext("Ring: a GPU sends 2(n−1)/n S"), gettext("Double tree: a GPU sends at most"),
    )  # fmt: skip
    return Table(gettext("An all-reduce of S bytes"), headings, rows)


# --- Answers of the cost model ------------------------------------------------------------------


def bus_bandwidth() -> Table:
    """What nccl-tests should print for an all-reduce in a domain, across the fabric, on PCIe."""
    asked = (
        (gettext("8 GPUs, one domain"), "llama3-8b-pretrain", 8, model.CLUSTER),
        (gettext("64 GPUs, InfiniBand"), "llama3-8b-pretrain", 64, model.CLUSTER),
        (gettext("8 GPUs, PCIe only"), "llama3-8b-lora", 8, model.PCIE),
    )
    answers = [
        (title, found)
        for title, job, gpus, query in asked
        if (found := model.estimated(job, gpus, query)) and found.get("nccl_tests")
    ]
    columns = [found["nccl_tests"]["expect"] for _title, found in answers]
    rows = [
        (_bytes(at[0]["bytes"]), *(figure(each["bus_gbytes_per_s"]) for each in at))
        for at in zip(*columns, strict=True)
    ]
    return Table(
        gettext("Bus bandwidth of an all-reduce by the cost model, GB/s"),
        (gettext("Bytes"), *(title for title, _found in answers)),
        rows,
        _clusters(found for _title, found in answers),
    )


def waiting() -> Table:
    """How the share of waiting grows with the GPUs of one job, its batch kept."""
    job, rows, answers = "llama3-8b-pretrain", [], []
    for gpus in (64, 256, 1024, 4096):
        if not (found := model.estimated(job, gpus, model.CLUSTER)):
            continue
        answers.append(found)
        told, step = found["estimate"], found["estimate"]["step_time_s"]
        time = told["time"]
        parts = (time["exposed_tp_s"], time["exposed_dp_s"],
                 time["exposed_pp_s"] + time["bubble_s"])  # fmt: skip
        link = _link(model.page_of(job, gpus, found["offer"]), number(gpus))
        rows.append((link, duration(step), _percent(told["exposed_share"]),
                     *(_percent(part / step) for part in parts)))  # fmt: skip
    headings = (
        gettext("GPUs"), gettext("Step"), gettext("Waiting and bubble, %"),
        gettext("tensor parallel, %"), gettext("data parallel, %"),
        gettext("pipeline and its bubble, %"),
    )  # fmt: skip
    return Table(
        gettext("Pre-training 8 billion parameters on one batch, by the cost model"),
        headings, rows, _clusters(answers[:1]),
    )  # fmt: skip


def scenarios() -> Table:
    """One cluster with InfiniBand, and what other networks would do to its step."""
    asked = (
        (gettext("70 billion parameters, 64 GPUs"), "llama3-70b-pretrain", 64),
        (gettext("70 billion parameters, 2,048 GPUs"), "llama3-70b-pretrain", 2048),
        (gettext("mixture of 8 × 7 billion, 512 GPUs"), "mixtral-8x7b-pretrain", 512),
    )
    found = [
        (title, each)
        for title, job, gpus in asked
        if (each := model.estimated(job, gpus, model.CLUSTER, scenarios=True))
    ]
    changes: dict[str, dict[str, str]] = defaultdict(dict)
    for title, each in found:
        for told in each.get("what_if", ()):
            if told["time_ratio"] is not None:
                changes[told["scenario"]][title] = f"{100 * (told['time_ratio'] - 1):+.1f}"
    rows = [
        (scenario_title(name), *(changes[name].get(title, "—") for title, _ in found))
        for name in NETWORKS
        if name in changes
    ]
    return Table(
        gettext("Change of the time of a step, %, by the cost model; all else is kept"),
        (gettext("Instead"), *(title for title, _ in found)),
        rows,
        _clusters(each for _, each in found[:1]),
    )


NETWORKS = ("roce", "oversubscribed_2_to_1", "half_the_nics", "rdma_off", "sockets")


def messages() -> Table:
    """The same model trained and served: how large its messages are, and how often."""
    asked = (
        (gettext("training a step"), "llama3-70b-pretrain", 64),
        (gettext("serving a token"), "llama3-70b-decode", 8),
    )
    rows, answers = [], []
    for title, job, gpus in asked:
        found = model.estimated(job, gpus, model.CLUSTER)
        if not found:
            continue
        answers.append(found)
        told = found["estimate"]
        first = next((c for c in told["collectives"] if c["purpose"] == "tensor parallel"), None)
        rows.append((
            _link(model.page_of(job, gpus, found["offer"]), title), number(gpus),
            duration(told["step_time_s"]), _bytes(first["bytes"]) if first else "—",
            figure(first["bus_gbytes_per_s"]) if first else "—", _percent(told["exposed_share"]),
        ))  # fmt: skip
    headings = (
        gettext("Job"), gettext("GPUs"), gettext("Time"),
        gettext("Bytes of a tensor-parallel message"), gettext("Its bus bandwidth, GB/s"),
        gettext("Waiting and bubble, %"),
    )  # fmt: skip
    return Table(
        gettext("The same 70 billion parameters trained and served, by the cost model"),
        headings, rows, _clusters(answers[:1]),
    )  # fmt: skip


def utilisation() -> Table:
    """MFU of a few jobs on the same cluster."""
    rows, answers = [], []
    for job, title, gpus in (
        ("llama3-8b-pretrain", gettext("8 billion parameters, pre-training"), 64),
        ("llama3-70b-pretrain", gettext("70 billion parameters, pre-training"), 64),
        ("llama3-70b-pretrain", gettext("70 billion parameters, pre-training"), 1024),
        ("llama3-70b-decode", gettext("70 billion parameters, serving"), 8),
    ):
        if found := model.estimated(job, gpus, model.CLUSTER):
            answers.append(found)
            told = found["estimate"]
            rows.append((_link(model.page_of(job, gpus, found["offer"]), title), number(gpus),
                         f"{100 * told['mfu']:.1f}", told["precision"].upper()))  # fmt: skip
    headings = (gettext("Job"), gettext("GPUs"), gettext("MFU, %"), gettext("Peak of"))
    return Table(gettext("MFU by the cost model"), headings, rows, _clusters(answers[:1]))


def _clusters(answers: Any) -> Cell:
    """Which instance types the figures are of: the cheapest that has what the word is about."""
    links = dict.fromkeys(
        _link(instance_href(a["offer"]), f"{a['offer']['provider']} {a['offer']['instance_type']}")
        for a in answers
    )
    said = escape(gettext("On the cheapest of its kind today: %(types)s."))
    return mark_safe(said % {"types": gettext(", ").join(links)})  # noqa: S308 -- escaped


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _bytes(size: float) -> str:
    """In powers of 1,024 where it is one, as the sizes of nccl-tests are; else in powers of ten."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size % factor == 0:
            return f"{size / factor:,.0f} {unit}"
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{figure(size / factor)} {unit}"
    return f"{size:.0f} B"


def _link(href: str, text: str) -> SafeString:
    return mark_safe(f'<a href="{escape(href)}">{escape(text)}</a>')  # noqa: S308 -- escaped


def cliffs() -> Table:
    """The two falls that are drawn, as numbers."""
    rows = [
        (
            _link(instance_href(o), f"{o['provider_title']} {o['instance_type']}"),
            number(o["nvlink_domain_gpus"]), number(o["scale_up_gbytes_per_s"]),
            number(float(o["fabric_gbits_per_s_per_gpu"]) / 8), f"{float(o['cliff']):.1f}×",
        )
        for o in falls()
    ]  # fmt: skip
    headings = (
        gettext("Instance type"), gettext("GPUs in the domain"), gettext("Inside, GB/s"),
        gettext("Across, GB/s"), gettext("Cliff"),
    )  # fmt: skip
    return Table(gettext("What is drawn, per GPU and one way"), headings, rows)


TABLES: Mapping[str, Callable[[], Table]] = {
    made.__name__: made
    for made in (
        generations, joined, fabrics, rdma, domains, infiniband_speeds, rails, ring_and_tree,
        bus_bandwidth, waiting, scenarios, messages, utilisation, cliffs,
    )
}  # fmt: skip
